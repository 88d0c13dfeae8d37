#include "services/retention.hpp"

namespace fenceline {
namespace {

// A long backlog is no reason to keep the store busy: the rest can wait for the next turn.
constexpr int kCallsInATurn = 10;

Duration part_of(Duration whole, std::uint64_t random) {
  return Duration{static_cast<Duration::rep>(random % static_cast<std::uint64_t>(whole.count() + 1))};
}

}  // namespace

void Retention::tidy(std::stop_token stop) {
  const Duration every = context_.options.tidy_every;
  if (every <= Duration{0}) return;
  Duration pause = part_of(every, context_.runtime.random());
  while (context_.runtime.sleep_for(pause, stop)) {
    tidy_once(stop);
    pause = every * 3 / 4 + part_of(every / 2, context_.runtime.random());
  }
}

void Retention::tidy_once(const std::stop_token& stop) {
  std::int64_t removed = 0;
  bool more = true;
  for (int calls = 0; more && calls < kCallsInATurn && !stop.stop_requested(); ++calls) {
    const Result<TidyReply> reply = context_.store.tidy({.ns = context_.options.ns});
    if (!reply) {
      context_.log.warn(
          "tidy_failed",
          {{"owner", context_.owner}, {"code", to_string(reply.error().code)}, {"message", reply.error().message}});
      break;
    }
    removed += reply->removed;
    more = reply->more;
  }
  if (removed > 0) context_.log.info("jobs_removed", {{"owner", context_.owner}, {"jobs", removed}});
}

}  // namespace fenceline
