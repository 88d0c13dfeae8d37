// What a worker calls for each job: a function from a Run to a RunResult.
//
//   fenceline::RunResult send_mail(const fenceline::Run& run) {
//     if (!is_valid(run.job.payload)) return fenceline::RunResult::dead("not a mail");
//     run.progress(10, "connecting");
//     if (run.stop.stop_requested()) return fenceline::RunResult::later();
//     const auto sent = run.effect("send", run.job.payload, ...);  // once, whatever happens: fenceline/effect.hpp
//     if (!sent) return fenceline::RunResult::failed(sent.error().message);
//     return fenceline::RunResult::done(*sent);
//   }
//
// To test a handler of yours, build a Run by hand: `Run{.job = job}` has a job and nothing behind it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "fenceline/effect.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

class TrustDeadline;  // of the worker

// Takes what a handler reports while it works. Safe to call from several threads; never waits for a store.
class RunNotes {
 public:
  virtual ~RunNotes() = default;
  virtual void progress(Progress progress) = 0;
  virtual void log(std::string_view bytes) = 0;
};

// Does the effects of a handler. Safe to call from several threads.
class RunEffects {
 public:
  virtual ~RunEffects() = default;
  virtual Result<std::string> effect(std::string_view name, std::string_view request, const EffectAct& act,
                                     const EffectOptions& options) = 0;
};

// One delivery, as its handler sees it. Valid until the handler returns. All of it may be used from several threads.
struct Run {
  const Job& job;                  // with its fence
  std::stop_token stop = {};       // set when the lease is lost or about to be, the time of the attempt is over, or the
                                   // worker stops: return soon. What a handler returns without its lease is ignored
  TrustDeadline* trust = nullptr;  // for handlers inside the library
  RunNotes* notes = nullptr;       // none: reports go nowhere
  RunEffects* effects = nullptr;   // none: every effect is refused

  // Reports progress, 0 to 100, with a few words; the last report counts. What is out of range or too long is cut.
  void progress(int percent, std::string_view note = {}) const;
  // Adds to the job's log. Both reach the store within about a tenth of a second, and before the outcome.
  void log(std::string_view text) const;
  // Does a side effect once for this job, whatever becomes of this delivery, and answers with its result: the recorded
  // one, if it was done before (fenceline/effect.hpp has an example). `name` follows the rules for a queue's name;
  // `request` is what is asked for: the same name with another request is a conflict. Waits for a call of the same
  // effect that is under way. Errors:
  //   lost         this delivery is over: another worker has the job, or it waits for an operator. Return; the result
  //                does not count
  //   unavailable  it did not happen: return failed or later, and call it again next time
  //   in_doubt     it may have happened: return failed or later; the next call follows the declared policy
  //   held         this run was told to stop before the effect began
  //   conflict, invalid, refused, full, broken
  Result<std::string> effect(std::string_view name, std::string_view request, const EffectAct& act,
                             const EffectOptions& options = {}) const;
};

// How a delivery went.
struct RunResult {
  // The job is finished; the result is bytes, at most kResultBytesMax, and comes back in Job::result.
  static RunResult done(std::string result = {}) { return {.kind = OutcomeKind::done, .result = std::move(result)}; }
  // An attempt is used up: retried after the job's backoff, or dead after the last attempt.
  static RunResult failed(std::string why) { return {.kind = OutcomeKind::failed, .error = std::move(why)}; }
  // To the dead letters at once: no retry can help.
  static RunResult dead(std::string why) { return {.kind = OutcomeKind::dead, .error = std::move(why)}; }
  // Retried later, not counted as a failure: after 1 s, which doubles up to 1 min while it continues; or after `in`, at
  // most 366 days.
  static RunResult later(std::optional<Duration> in = std::nullopt) {
    return {.kind = OutcomeKind::later, .retry_in = in};
  }

  OutcomeKind kind = OutcomeKind::done;
  std::string result = {};                          // for done
  std::string error = {};                           // for failed and dead
  std::optional<int> exit_status = std::nullopt;    // of a command: 128 + n for a signal; what is not 0 to 255 is none
  std::optional<Duration> retry_in = std::nullopt;  // for later
};

// A handler as a program writes it. Called from several threads at once, for different jobs.
using HandlerFunction = std::function<RunResult(const Run&)>;

}  // namespace fenceline
