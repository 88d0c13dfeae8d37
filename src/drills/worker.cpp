// One side of a drill, in a process of its own: does on the real store what a worker does, and waits at barriers that
// the drill opens by a line on its stdin.
#include "services/worker.hpp"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "base/duration_text.hpp"
#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/doubt.hpp"
#include "drills/trace.hpp"
#include "session/handler_chain.hpp"

namespace fenceline::cli {
namespace {

void trace(TraceEvent event, const std::string& who) {
  event.who = who;
  event.pid = ::getpid();
  print_line(to_json(event));
  flush_output();
}

// Claims until there is something, or the drill is over.
Result<ClaimedJob> claim_one(Invocation& invocation, Store& store, const std::string& owner, Duration ttl) {
  const ClaimRequest request{.ns = invocation.ns,
                             .queues = {invocation.argument("QUEUE")},
                             .owner = owner,
                             .request = owner + "-1",
                             .ttl = ttl};
  for (;;) {
    Result<ClaimReply> reply = store.claim(request);
    // On a busy machine an answer may come too late. The same request again is a repeat: it grants nothing twice.
    const bool unanswered = !reply && (reply.error().code == Code::in_doubt || reply.error().code == Code::unavailable);
    if (!reply && !unanswered) return std::unexpected(reply.error());
    if (reply && !reply->jobs.empty()) return std::move(reply->jobs.front());
    const Duration due =
        reply ? reply->next_due.value_or(std::chrono::milliseconds{20}) : std::chrono::milliseconds{20};
    const Duration wait = std::min<Duration>(due, std::chrono::milliseconds{100});
    if (!invocation.runtime->sleep_for(wait, invocation.stop)) return fail(Code::unavailable, "the drill was stopped");
  }
}

// Takes the job, waits at the barrier with it, then writes its outcome, however late.
Result<int> race(Invocation& invocation, Store& store, const std::string& who, Duration ttl) {
  Runtime& runtime = *invocation.runtime;
  const std::string owner = to_string(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()));
  const Result<ClaimedJob> claimed = claim_one(invocation, store, owner, ttl);
  if (!claimed) return std::unexpected(claimed.error());
  const Fence fence = claimed->job.fence;
  trace({.event = "lease_acquired", .fence = fence, .forced = claimed->forced}, who);
  trace({.event = "execution_started", .fence = fence}, who);

  std::string go;
  if (!std::getline(std::cin, go)) return fail(Code::unavailable, "the drill has ended");

  const Result<SettleReply> settled =
      store.settle({.ns = invocation.ns,
                    .owner = owner,
                    .settlements = {{claimed->job.id, fence, {.kind = OutcomeKind::done, .result = who}}}});
  if (!settled) return std::unexpected(settled.error());
  if (settled->refused.empty()) {
    trace({.event = "worker_exit", .status = "success"}, who);
    return kExitOk;
  }
  const Refusal& refusal = settled->refused.front();
  trace({.event = "stale_write_refused",
         .stale_fence = refusal.sent,
         .current_fence = refusal.current,
         .reason = std::string(to_string(refusal.reason))},
        who);
  trace({.event = "worker_exit", .status = "stale"}, who);
  return kExitLost;
}

struct Echo final : Handler {
  RunResult run(const Run& run) override { return {.kind = OutcomeKind::done, .result = run.job.payload, .error = {}}; }
};

// A real worker whose first claim stays in doubt, so that it gives it back.
Result<int> doubt(Invocation& invocation, Store& store, const std::string& path, Duration ttl) {
  DoubtfulStore doubtful(store);
  const Result<Session> session =
      Session::over(*invocation.runtime, *invocation.log_sink, doubtful, {.ns = invocation.ns, .history = path});
  if (!session) return std::unexpected(session.error());
  Echo echo;
  const HandlerChain chain(*session, echo);
  JobWorker worker(*invocation.runtime, session->log(), **session, chain.outermost(),
                   {.ns = invocation.ns, .queues = {invocation.argument("QUEUE")}, .ttl = ttl, .drain = true});
  const Result<WorkReport> report = worker.run(invocation.stop);
  if (!report) return std::unexpected(report.error());
  return kExitOk;
}

// What `fenceline work -- sh -c 'cat; sleep 0.4'` does, without a process for each job.
class SlowEcho final : public Handler {
 public:
  explicit SlowEcho(Runtime& runtime) : runtime_(runtime) {}
  RunResult run(const Run& run) override {
    if (!runtime_.sleep_for(std::chrono::milliseconds{400}, run.stop))
      return {.kind = OutcomeKind::failed, .result = {}, .error = "told to stop"};
    return {.kind = OutcomeKind::done, .result = run.job.payload, .error = {}};
  }

 private:
  Runtime& runtime_;
};

// A whole worker until it is asked to stop.
Result<int> steady(Invocation& invocation, const Session& session, Duration ttl) {
  SlowEcho echo(*invocation.runtime);
  const HandlerChain chain(session, echo);
  JobWorker worker(*invocation.runtime, session.log(), *session, chain.outermost(),
                   {.ns = invocation.ns, .queues = {invocation.argument("QUEUE")}, .concurrency = 2, .ttl = ttl});
  const Result<WorkReport> report = worker.run(invocation.stop);
  if (!report) return std::unexpected(report.error());
  return kExitOk;
}

Result<int> run_drill_worker(Invocation& invocation) {
  const Result<Duration> ttl = invocation.duration("--ttl", std::chrono::seconds{1}, kTtlRange.least, kTtlRange.most);
  if (!ttl) return std::unexpected(ttl.error());
  const std::string role = invocation.argument("ROLE");
  const std::optional<std::string> path = invocation.value("--history");
  const bool doubts = path && role == "doubt";
  if (doubts) invocation.options.erase("--history");  // the history records what the worker was told
  const Result<Session> session = invocation.open_store(false);
  if (!session) return std::unexpected(session.error());
  if (doubts) return doubt(invocation, **session, *path, *ttl);
  return path && role == "steady" ? steady(invocation, *session, *ttl) : race(invocation, **session, role, *ttl);
}

}  // namespace

CommandSpec drill_worker_command() {
  return {.name = "drill-worker",
          .summary = "Be one worker of a drill",
          .arguments = {{"ROLE", "A, B, doubt or steady"}, {"QUEUE", "the drill's queue"}},
          .options = {{"--ttl", "DURATION", "length of the lease"},
                      {"--history", "FILE", "append every call to the store to FILE"}},
          .hidden = true,
          .run = run_drill_worker};
}

}  // namespace fenceline::cli
