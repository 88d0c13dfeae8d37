// Does an effect once for its job: begins it in the ledger, acts, records what became of it. Whoever has begun it is
// waited for while it lives; what is in doubt goes the way that was declared. The worker's handlers and `fenceline
// effect` both come through here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/effect.hpp"
#include "runtime/actor.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

struct EffectRunnerOptions {
  std::string ns = "default";
  std::string owner;  // for the log
  std::string actor;  // this process, for others (runtime/actor.hpp); empty: nobody can tell whether it lives
  // Waits until the process of `actor` is gone, at most until `until` or a stop. Without it nothing is known of others.
  std::function<ActorLife(const std::string& actor, Instant until, std::stop_token stop)> wait_for_actor = {};
};

struct EffectAsk {
  JobId job;
  Fence fence = 0;
  std::string name;
  std::string digest;  // which command or request it is
  EffectAct act;
  EffectOptions options;
  std::function<Instant()> trusted_until;  // asked again and again: a renewal moves it
  std::stop_token stop;                    // nothing is begun after it; what was begun is recorded all the same
};

struct EffectAnswer {
  enum class Kind {
    done,      // it happened, now or before: `result` and `exit_status`
    none,      // it did not happen, and may be tried again
    in_doubt,  // it may have happened, and stays so until the next call, which goes the way that was declared
    held,      // it may have happened: the job waits for an operator, this delivery is over
    lost,      // the caller holds the job no more
    stopped,   // nothing was begun: the caller was told to stop
  };
  Kind kind = Kind::done;
  bool replayed = false;  // it happened in an earlier call
  std::string result;
  std::optional<int> exit_status;
  std::string why;  // of all but done: what, and what to do
};

class EffectRunner {
 public:
  EffectRunner(Runtime& runtime, Log log, Store& store, EffectRunnerOptions options);

  // One call of one effect; from several threads at once. A store that does not answer is asked again, under the same
  // call id, until the lease can no longer be trusted. Errors: invalid, conflict (the name stands for another request),
  // refused, broken; unavailable, full (nothing was begun), in_doubt (a call of the store never got its answer).
  Result<EffectAnswer> run(const EffectAsk& ask);

 private:
  class Active;

  Result<EffectAnswer> run_as(const EffectAsk& ask, const std::string& call);
  Result<BeginEffectReply> begin(const EffectAsk& ask, const std::string& call, const std::string& dead_call);
  // Waits for whoever is busy with it. True: its process is gone, or the call ended without knowing; false: ask again.
  bool is_gone(const EffectAsk& ask, const BeginEffectReply& busy, int asked);
  Result<EffectAnswer> go_on(const EffectAsk& ask, const std::string& call, const BeginEffectReply& begun);
  Result<EffectAnswer> act(const EffectAsk& ask, const std::string& call, bool again);
  Result<EffectAnswer> probe(const EffectAsk& ask, const std::string& call);
  // Nobody here knows how the act ended: what was declared for that.
  Result<EffectAnswer> doubt(const EffectAsk& ask, const std::string& call, const std::string& why);
  Result<EffectAnswer> finish(const EffectAsk& ask, const std::string& call, EffectEnd end, EffectReport report);
  EffectAnswer held(const EffectAsk& ask, const std::string& why);
  static EffectAnswer stopped(const EffectAsk& ask);
  // Repeats a call of the store, which can be repeated, while that can help and the lease is trusted.
  template <class Call>
  auto repeated(const EffectAsk& ask, Call call) -> decltype(call());
  bool trusted(const EffectAsk& ask) const { return runtime_.now() < ask.trusted_until(); }
  std::vector<LogField> fields(const EffectAsk& ask) const;

  Runtime& runtime_;
  Log log_;
  Store& store_;
  const EffectRunnerOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::shared_ptr<Event>>>
      active_;  // calls of this process, and who waits for their ends
};

// As a handler gets it. Errors: those of run(); unavailable (it did not happen), in_doubt (it may have), lost (this
// delivery is over: return, nothing you return counts), held (the run was told to stop before it began).
Result<std::string> as_result(Result<EffectAnswer> answer);

}  // namespace fenceline
