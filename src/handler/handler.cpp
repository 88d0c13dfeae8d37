#include "handler/handler.hpp"

#include <algorithm>
#include <utility>

#include "base/valid_text.hpp"

namespace fenceline {

Instant TrustDeadline::until() const {
  const std::lock_guard lock(mutex_);
  return until_locked();
}

Instant TrustDeadline::lease_until() const {
  const std::lock_guard lock(mutex_);
  return lease_until_;
}

std::optional<Cut> TrustDeadline::cut() const {
  const std::lock_guard lock(mutex_);
  return cut_;
}

// The listener is called under the mutex: after `unlisten` returned, nothing of it runs any more.
void TrustDeadline::move_to(Instant lease_until) {
  const std::lock_guard lock(mutex_);
  if (lease_until <= lease_until_) return;
  lease_until_ = lease_until;
  if (listener_) listener_(until_locked());
}

void TrustDeadline::cut_at(Instant when, Cut why) {
  const std::lock_guard lock(mutex_);
  cut_ = why;
  cut_at_ = std::min(when, cut_at_.value_or(when));
  if (listener_) listener_(until_locked());
}

void TrustDeadline::listen(std::function<void(Instant)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_) listener_(until_locked());
}

void TrustDeadline::unlisten() {
  const std::lock_guard lock(mutex_);
  listener_ = nullptr;
}

void Run::progress(int percent, std::string_view note) const {
  if (notes == nullptr) return;
  notes->progress({.percent = std::clamp(percent, 0, 100), .note = as_text(note, kNoteBytesMax)});
}

Stopped why_stopped(const TrustDeadline& trust, const std::stop_token& stop) {
  if (trust.cut() == Cut::timed_out) return Stopped::timed_out;
  return stop.stop_requested() ? Stopped::for_us : Stopped::no;
}

Result<std::string> Run::effect(std::string_view name, std::string_view request, const EffectAct& act,
                                const EffectOptions& options) const {
  if (effects == nullptr) return fail(Code::refused, "effects need a worker that records them");
  return effects->effect(name, request, act, options);
}

void Run::log(std::string_view text) const {
  if (notes != nullptr && !text.empty()) notes->log(text);
}

}  // namespace fenceline
