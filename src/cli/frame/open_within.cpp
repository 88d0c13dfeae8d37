#include "cli/frame/open_within.hpp"

#include <algorithm>

#include "cli/frame/signals.hpp"
#include "services/backoff.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kTryLeast = std::chrono::seconds{1};  // what is shorter says nothing of a server that is only slow

}  // namespace

Result<std::unique_ptr<Store>> open_within(Invocation& invocation, const Log& log, const std::string& lock,
                                           Instant deadline) {
  Runtime& runtime = *invocation.runtime;
  const bool once = deadline <= runtime.now();
  for (int failures = 0;; ++failures) {
    const Instant now = runtime.now();
    Result<std::unique_ptr<Store>> store =
        open_or_make_in_time(invocation, once ? kCallTimeout : std::clamp(deadline - now, kTryLeast, kCallTimeout));
    if (store || !may_repeat(store.error().code)) return store;
    log.warn(
        "lock_acquire_failed",
        {{"lock", lock}, {"owner", ""}, {"code", to_string(store.error().code)}, {"message", store.error().message}});
    const Instant failed_at = runtime.now();
    if (failed_at >= deadline || was_interrupted(invocation.stop)) return store;
    const Duration pause = backoff(failures, kBackoffMost, runtime.random());
    if (!runtime.sleep_until(std::min(deadline, failed_at + pause), invocation.stop)) return store;
  }
}

}  // namespace fenceline::cli
