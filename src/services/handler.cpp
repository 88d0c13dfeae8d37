#include "services/handler.hpp"

#include <algorithm>
#include <utility>

namespace fenceline {

Instant TrustDeadline::until() const {
  const std::lock_guard lock(mutex_);
  return until_;
}

// The listener is called under the mutex: after `unlisten` returned, nothing of it runs any more.
void TrustDeadline::move_to(Instant until) {
  const std::lock_guard lock(mutex_);
  if (until <= until_) return;
  until_ = until;
  if (listener_) listener_(until_);
}

void TrustDeadline::listen(std::function<void(Instant)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_) listener_(until_);
}

void TrustDeadline::unlisten() {
  const std::lock_guard lock(mutex_);
  listener_ = nullptr;
}

}  // namespace fenceline
