#include "services/effect_runner.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "base/crash_point.hpp"
#include "base/verdict_text.hpp"
#include "services/backoff.hpp"
#include "services/fresh_id.hpp"
#include "services/retry_until_known.hpp"

namespace fenceline {
namespace {

using Kind = EffectAnswer::Kind;

// How often one that waits for another call asks the store all the same: its process may live on after the call.
constexpr Duration kAskAgain = std::chrono::seconds{5};

constexpr std::array<std::string_view, 3> kEnds{"done", "none", "held"};

// What was thrown says nothing of what had happened by then.
EffectReport reported_by(const EffectAct& act, const EffectCall& call) {
  try {
    return act(call);
  } catch (const std::exception& thrown) {
    return EffectReport::unknown(std::string("it threw: ") + thrown.what());
  }
}

std::string named(const EffectAsk& ask) { return "effect " + ask.name + " of job " + to_string(ask.job); }

std::string in_brackets(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

EffectAnswer lost(const EffectAsk& ask, const std::string& reason) {
  return {.kind = Kind::lost,
          .why = "job " + to_string(ask.job) + " is no longer held under fence " + std::to_string(ask.fence) +
                 in_brackets(reason) + "; stop working on it"};
}

}  // namespace

// A call under way in this process. Only end() wakes those who wait for it: where no end comes, the whole process is
// gone.
class EffectRunner::Active {
 public:
  Active(EffectRunner& runner, const std::string& call) : runner_(runner), call_(call) {
    const std::lock_guard lock(runner_.mutex_);
    runner_.active_[call_];
  }
  ~Active() {
    const std::lock_guard lock(runner_.mutex_);
    runner_.active_.erase(call_);
  }
  Active(const Active&) = delete;
  Active& operator=(const Active&) = delete;

  void end() {
    std::vector<std::shared_ptr<Event>> waiting;
    {
      const std::lock_guard lock(runner_.mutex_);
      waiting = std::move(runner_.active_[call_]);
      runner_.active_.erase(call_);
    }
    for (const std::shared_ptr<Event>& event : waiting) event->notify();
  }

 private:
  EffectRunner& runner_;
  const std::string& call_;
};

EffectRunner::EffectRunner(Runtime& runtime, Log log, Store& store, EffectRunnerOptions options)
    : runtime_(runtime), log_(log), store_(store), options_(std::move(options)) {}

std::vector<LogField> EffectRunner::fields(const EffectAsk& ask) const {
  return {{"job", to_string(ask.job)}, {"owner", options_.owner}, {"fence", ask.fence}, {"effect", ask.name}};
}

template <class Call>
auto EffectRunner::repeated(const EffectAsk& ask, Call call) -> decltype(call()) {
  bool in_doubt = false;
  for (int tries = 0;; ++tries) {
    auto reply = call();
    if (reply) return reply;
    const bool over = !may_repeat(reply.error().code);
    if (in_doubt) reply = std::unexpected(error_after_doubt(std::move(reply.error())));
    if (over) return reply;
    in_doubt = in_doubt || reply.error().code == Code::in_doubt;
    const Instant next = runtime_.now() + backoff(tries, kBackoffMost, runtime_.random());
    if (next >= ask.trusted_until()) return reply;
    runtime_.sleep_until(next, {});
  }
}

Result<EffectAnswer> EffectRunner::run(const EffectAsk& ask) {
  if ((ask.options.in_doubt == InDoubt::probe) != static_cast<bool>(ask.options.probe))
    return fail(Code::invalid, named(ask) + ": give both a probe and in_doubt = probe, or neither");
  const std::string call = fresh_id(runtime_);
  Active active(*this, call);
  Result<EffectAnswer> answer = run_as(ask, call);
  active.end();
  return answer;
}

Result<EffectAnswer> EffectRunner::run_as(const EffectAsk& ask, const std::string& call) {
  std::string dead_call;
  for (int asked = 0;; ++asked) {
    if (ask.stop.stop_requested()) return stopped(ask);
    if (!trusted(ask)) return lost(ask, "its lease can no longer be trusted");
    const Result<BeginEffectReply> begun = begin(ask, call, dead_call);
    if (!begun) return std::unexpected(begun.error());
    if (begun->verdict != EffectVerdict::busy) return go_on(ask, call, *begun);
    dead_call = is_gone(ask, *begun, asked) ? begun->call : "";
  }
}

Result<BeginEffectReply> EffectRunner::begin(const EffectAsk& ask, const std::string& call,
                                             const std::string& dead_call) {
  // A call that died in this delivery may have left a process behind that acts after any probe; at the end of the
  // delivery it is gone.
  const BeginEffectRequest request{
      .ns = options_.ns,
      .job = ask.job,
      .fence = ask.fence,
      .name = ask.name,
      .digest = ask.digest,
      .call = call,
      .actor = options_.actor,
      .in_doubt = !dead_call.empty() && ask.options.in_doubt == InDoubt::probe ? InDoubt::hold : ask.options.in_doubt,
      .dead_call = dead_call};
  FENCELINE_CRASH_POINT(effect_begin_before);
  Result<BeginEffectReply> reply = repeated(ask, [&] { return store_.begin_effect(request); });
  FENCELINE_CRASH_POINT(effect_begin_after);
  return reply;
}

bool EffectRunner::is_gone(const EffectAsk& ask, const BeginEffectReply& busy, int asked) {
  const Instant until = std::min(ask.trusted_until(), runtime_.now() + kAskAgain);
  if (busy.actor == options_.actor) {
    const std::shared_ptr<Event> ended = runtime_.make_event();
    {
      const std::lock_guard lock(mutex_);
      const auto found = active_.find(busy.call);
      if (found == active_.end()) return true;  // it ended without knowing
      found->second.push_back(ended);
    }
    const std::stop_callback wake(ask.stop, [&] { ended->notify(); });
    ended->wait_until(until);
    return false;
  }
  const ActorLife life =
      options_.wait_for_actor ? options_.wait_for_actor(busy.actor, until, ask.stop) : ActorLife::unknown;
  if (life == ActorLife::unknown)
    runtime_.sleep_until(std::min(until, runtime_.now() + backoff(asked, kAskAgain, runtime_.random())), ask.stop);
  return life == ActorLife::gone;
}

Result<EffectAnswer> EffectRunner::go_on(const EffectAsk& ask, const std::string& call, const BeginEffectReply& begun) {
  switch (begun.verdict) {
    case EffectVerdict::done:
      log_.info("effect_replayed", fields(ask));
      return EffectAnswer{
          .kind = Kind::done, .replayed = true, .result = begun.result, .exit_status = begun.exit_status};
    case EffectVerdict::held: return held(ask, "");
    case EffectVerdict::act: return act(ask, call, false);
    case EffectVerdict::again: return act(ask, call, true);
    case EffectVerdict::probe: return probe(ask, call);
    case EffectVerdict::busy:
    case EffectVerdict::lost: break;
  }
  return lost(ask, begun.refusal ? std::string(to_string(begun.refusal->reason)) : "");
}

Result<EffectAnswer> EffectRunner::act(const EffectAsk& ask, const std::string& call, bool again) {
  // It took long to begin, and nothing was done: it need not become a doubt.
  if (!trusted(ask) || ask.stop.stop_requested()) {
    if (!again) {
      const Result<EffectAnswer> undone =
          finish(ask, call, EffectEnd::none, EffectReport::none("it did not begin in time"));
      if (!undone) return undone;
    }
    return trusted(ask) ? stopped(ask) : lost(ask, "its lease can no longer be trusted");
  }
  std::vector<LogField> begun = fields(ask);
  begun.push_back({"again", again});
  log_.info("effect_begun", std::move(begun));
  EffectReport report = reported_by(ask.act, {.key = idempotency_key(ask.job, ask.name), .again = again});
  if (report.kind == EffectReport::Kind::done) return finish(ask, call, EffectEnd::done, std::move(report));
  // That this try did nothing says nothing of the one before.
  if (report.kind == EffectReport::Kind::none && !again) return finish(ask, call, EffectEnd::none, std::move(report));
  return doubt(ask, call, report.why);
}

Result<EffectAnswer> EffectRunner::probe(const EffectAsk& ask, const std::string& call) {
  if (!trusted(ask)) return lost(ask, "its lease can no longer be trusted");
  if (ask.stop.stop_requested()) return stopped(ask);
  EffectReport found = reported_by(ask.options.probe, {.key = idempotency_key(ask.job, ask.name), .again = true});
  if (found.kind == EffectReport::Kind::none) return act(ask, call, false);
  if (found.kind == EffectReport::Kind::done) return finish(ask, call, EffectEnd::done, std::move(found));
  return finish(ask, call, EffectEnd::held, std::move(found));
}

Result<EffectAnswer> EffectRunner::doubt(const EffectAsk& ask, const std::string& call, const std::string& why) {
  switch (ask.options.in_doubt) {
    case InDoubt::hold: return finish(ask, call, EffectEnd::held, EffectReport::unknown(why));
    case InDoubt::probe: {
      EffectReport found = reported_by(ask.options.probe, {.key = idempotency_key(ask.job, ask.name), .again = true});
      if (found.kind == EffectReport::Kind::done) return finish(ask, call, EffectEnd::done, std::move(found));
      if (found.kind == EffectReport::Kind::none) return finish(ask, call, EffectEnd::none, EffectReport::none(why));
      return finish(ask, call, EffectEnd::held, EffectReport::unknown(why));
    }
    case InDoubt::repeat: break;
  }
  std::vector<LogField> about = fields(ask);
  about.push_back({"message", why});
  log_.warn("effect_in_doubt", std::move(about));
  return EffectAnswer{.kind = Kind::in_doubt,
                      .why = named(ask) + " may have happened" + in_brackets(why) + "; the next call repeats it"};
}

Result<EffectAnswer> EffectRunner::finish(const EffectAsk& ask, const std::string& call, EffectEnd end,
                                          EffectReport report) {
  if (end == EffectEnd::done && report.result.size() > kEffectResultBytesMax) {
    std::vector<LogField> about = fields(ask);
    about.push_back({"bytes", report.result.size()});
    log_.warn("effect_result_cut", std::move(about));
    report.result.resize(kEffectResultBytesMax);
  }
  const bool done = end == EffectEnd::done;
  const FinishEffectRequest request{.ns = options_.ns,
                                    .job = ask.job,
                                    .fence = ask.fence,
                                    .name = ask.name,
                                    .call = call,
                                    .end = end,
                                    .result = done ? report.result : "",
                                    .exit_status = done ? report.exit_status : std::nullopt};
  FENCELINE_CRASH_POINT(effect_finish_before);
  const Result<FinishEffectReply> reply = repeated(ask, [&] { return store_.finish_effect(request); });
  FENCELINE_CRASH_POINT(effect_finish_after);
  if (!reply || reply->refusal) {
    std::vector<LogField> about = fields(ask);
    about.push_back({"end", kEnds[static_cast<std::size_t>(end)]});
    about.push_back({"reason", std::string(reply ? to_string(reply->refusal->reason) : to_string(reply.error().code))});
    log_.warn("effect_not_recorded", std::move(about));
  }
  if (!reply)
    return fail(done ? Code::in_doubt : reply.error().code,
                named(ask) + (done ? " happened, but that" : " began, but its end") +
                    " could not be recorded: " + without_verdict(reply.error().message));
  if (reply->refusal) return lost(ask, std::string(to_string(reply->refusal->reason)));
  if (end == EffectEnd::held) return held(ask, report.why);
  log_.info(done ? "effect_done" : "effect_none", fields(ask));
  if (!done)
    return EffectAnswer{.kind = Kind::none,
                        .why = named(ask) + " did not happen" + in_brackets(report.why) + "; try again"};
  return EffectAnswer{.kind = Kind::done, .result = std::move(report.result), .exit_status = report.exit_status};
}

EffectAnswer EffectRunner::held(const EffectAsk& ask, const std::string& why) {
  std::vector<LogField> about = fields(ask);
  about.push_back({"message", why.empty() ? "an earlier call did not report how it ended" : why});
  log_.warn("effect_held", std::move(about));
  const std::string command = "'fenceline effects resolve " + to_string(ask.job) + " " + ask.name;
  return {.kind = Kind::held,
          .why = named(ask) + " may have happened" + in_brackets(why) + ", and the job waits; find out, then " +
                 command + " --done' or '... --none'"};
}

EffectAnswer EffectRunner::stopped(const EffectAsk& ask) {
  return {.kind = Kind::stopped, .why = named(ask) + " did not begin: this run was told to stop"};
}

Result<std::string> as_result(Result<EffectAnswer> answer) {
  if (!answer) return std::unexpected(answer.error());
  switch (answer->kind) {
    case Kind::done: return std::move(answer->result);
    case Kind::none: return fail(Code::unavailable, answer->why);
    case Kind::in_doubt: return fail(Code::in_doubt, answer->why);
    case Kind::held:
    case Kind::lost: return fail(Code::lost, answer->why);
    case Kind::stopped: break;
  }
  return fail(Code::held, answer->why);
}

}  // namespace fenceline
