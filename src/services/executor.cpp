#include "services/executor.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/crash_point.hpp"
#include "base/duration_text.hpp"
#include "base/sha256.hpp"
#include "base/valid_text.hpp"

namespace fenceline {
namespace {

// The effects of one delivery, as its handler sees them.
class DeliveryEffects final : public RunEffects {
 public:
  DeliveryEffects(EffectRunner& runner, const Delivery& delivery) : runner_(runner), delivery_(delivery) {}

  Result<std::string> effect(std::string_view name, std::string_view request, const EffectAct& act,
                             const EffectOptions& options) override {
    return as_result(runner_.run({.job = delivery_.job.id,
                                  .fence = delivery_.job.fence,
                                  .name = std::string(name),
                                  .digest = sha256_hex(request),
                                  .act = act,
                                  .options = options,
                                  .trusted_until = [this] { return delivery_.trust.until(); },
                                  .stop = delivery_.stop.get_token()}));
  }

 private:
  EffectRunner& runner_;
  const Delivery& delivery_;
};

// Out of its range a store would refuse it, and the outcomes of others with it.
Duration later_in(const RunResult& result, const Job& job) {
  if (!result.retry_in) return later_delay(job.laters);
  return std::clamp(*result.retry_in, kDelayRange.least, kDelayRange.most);
}

}  // namespace

void Executor::work(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.slots->notify(); });
  while (!stop.stop_requested()) {
    int given_back = 0;
    const DeliveryPtr next = context_.holdings.start_next(context_.runtime.now(), given_back);
    if (given_back > 0) context_.settler->notify();
    // One notification wakes one slot: whoever wakes passes it on.
    if (closed_ || context_.holdings.has_waiting()) context_.slots->notify();
    if (next) {
      run(next);
    } else if (closed_) {
      return;
    } else {
      context_.slots->wait_until(context_.runtime.now() + kUntilNotified);
    }
  }
}

void Executor::close() {
  closed_ = true;
  context_.slots->notify();
}

void Executor::run(const DeliveryPtr& delivery) {
  const Job& job = delivery->job;
  FENCELINE_CRASH_POINT(handler_start_before);
  context_.log.info(
      "execution_started",
      {{"job", to_string(job.id)}, {"owner", context_.owner}, {"queue", job.queue}, {"fence", job.fence}});
  if (job.timeout > Duration{0}) context_.watch->notify();  // its time runs from now on
  const Instant began = context_.runtime.now();
  RunResult result = call_handler(delivery);
  FENCELINE_CRASH_POINT(handler_exit);
  delivery->ran = context_.runtime.now() - began;
  if (result.result.size() > kResultBytesMax)
    context_.log.warn(
        "result_cut",
        {{"job", to_string(job.id)}, {"owner", context_.owner}, {"fence", job.fence}, {"bytes", result.result.size()}});
  const Stopped stopped = why_stopped(delivery->trust, delivery->stop.get_token());
  Outcome outcome = outcome_of(std::move(result), job, stopped, context_.runtime.random());
  context_.log.info("execution_ended", {{"job", to_string(job.id)},
                                        {"owner", context_.owner},
                                        {"fence", job.fence},
                                        {"outcome", to_string(outcome.kind)}});
  if (context_.holdings.returned(delivery, std::move(outcome))) context_.settler->notify();
  else context_.orders->notify();  // if it was revoked, its slot is free now
  context_.fetcher->notify();
}

RunResult Executor::call_handler(const DeliveryPtr& delivery) {
  // Only what a handler may throw: whatever else passes through here is not ours to swallow.
  DeliveryNotes notes(recorder_, delivery);
  DeliveryEffects effects(effects_, *delivery);
  try {
    FENCELINE_CRASH_POINT(handler_start_after);
    return handler_.run({.job = delivery->job,
                         .stop = delivery->stop.get_token(),
                         .trust = &delivery->trust,
                         .notes = &notes,
                         .effects = &effects});
  } catch (const std::exception& thrown) {
    return {.kind = OutcomeKind::failed, .error = std::string("handler threw: ") + thrown.what()};
  }
}

void cut_result(std::string& result) {
  constexpr std::size_t kSequenceMost = 4;
  if (result.size() > kResultBytesMax) result.resize(kResultBytesMax);
  // A letter that was cut in two would make bytes of what is text.
  for (std::size_t back = 1; back < kSequenceMost && back <= result.size(); ++back) {
    const std::size_t at = result.size() - back;
    const auto lead = static_cast<unsigned char>(result[at]);
    if ((lead & 0xc0U) == 0x80U) continue;
    const std::size_t needs = lead >= 0xf0U ? 4 : lead >= 0xe0U ? 3 : lead >= 0xc0U ? 2 : 1;
    if (needs > back) result.resize(at);
    return;
  }
}

Outcome outcome_of(RunResult result, const Job& job, Stopped stopped, std::uint64_t random) {
  const bool unfinished = result.kind == OutcomeKind::failed || result.kind == OutcomeKind::given_back;
  if (stopped == Stopped::for_us && unfinished) return {.kind = OutcomeKind::given_back};
  if (stopped == Stopped::timed_out) {
    if (unfinished) result.kind = OutcomeKind::failed;
    result.error =
        "timed out after " + format_duration(job.timeout) + (result.error.empty() ? "" : ": " + result.error);
  }
  if (result.result.size() > kResultBytesMax) cut_result(result.result);
  if (result.error.size() > kErrorBytesMax) result.error = as_text(result.error, kErrorBytesMax);
  // A store takes no other, and would refuse the outcomes of others with it.
  const bool valid = result.exit_status && *result.exit_status >= 0 && *result.exit_status <= kExitStatusMost;
  const std::optional<int> status = valid ? result.exit_status : std::nullopt;
  switch (result.kind) {
    case OutcomeKind::done:
      return {.kind = OutcomeKind::done, .result = std::move(result.result), .exit_status = status};
    case OutcomeKind::failed:
      return {.kind = OutcomeKind::failed,
              .error = std::move(result.error),
              .retry_in = retry_delay(job.backoff, job.failures, random),
              .exit_status = status};
    case OutcomeKind::dead: return {.kind = OutcomeKind::dead, .error = std::move(result.error), .exit_status = status};
    case OutcomeKind::later:
      return {.kind = OutcomeKind::later, .retry_in = later_in(result, job), .exit_status = status};
    case OutcomeKind::given_back: break;
  }
  return {.kind = OutcomeKind::given_back};
}

}  // namespace fenceline
