// fenceline queue set, queue pause and queue resume: what holds for all jobs of a queue.
#include "base/duration_text.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/queue_view.hpp"

namespace fenceline::cli {
namespace {

// A setting of a queue that is not there yet may be meant, or mistyped: it is carried out, and said.
void tell_if_new(const Invocation& invocation, Store& store) {
  const Result<QueueRow> row = find_queue(invocation, store);
  if (row || row.error().code != Code::not_found) return;
  const std::string text = error_text(row.error());
  const std::size_t meant = text.find("did you mean");
  tell("fenceline: queue " + invocation.argument("QUEUE") + " is new" +
       (meant == std::string::npos ? "" : "; " + text.substr(meant)));
}

Result<int> print_queue(const Invocation& invocation, Store& store) {
  Result<QueueRow> row = find_queue(invocation, store);
  if (!row && row.error().code != Code::not_found) return std::unexpected(row.error());
  if (!row) {  // all is as in every other queue, and it has no job
    row.emplace();
    row->queue = invocation.argument("QUEUE");
  }
  if (invocation.json) print_line(queue_json(*row));
  else print_card(queue_card(*row));
  return kExitOk;
}

Result<std::optional<int>> slots(const Invocation& invocation, std::string_view option) {
  if (!invocation.has(option)) return std::nullopt;
  const Result<std::int64_t> number = invocation.number(option, 0, 0, kLimitMost);
  if (!number) return std::unexpected(number.error());
  return static_cast<int>(*number);
}

Result<std::optional<Duration>> keep(const Invocation& invocation, std::string_view option) {
  if (!invocation.has(option)) return std::nullopt;
  const Result<Duration> duration = invocation.duration(option, Duration{}, kKeepRange.least, kKeepRange.most);
  if (!duration) return std::unexpected(duration.error());
  return *duration;
}

Result<int> run_queue_set(Invocation& invocation) {
  const auto limit = slots(invocation, "--limit");
  if (!limit) return std::unexpected(limit.error());
  const auto limit_per_key = slots(invocation, "--limit-per-key");
  if (!limit_per_key) return std::unexpected(limit_per_key.error());
  const auto keep_done = keep(invocation, "--keep-done");
  if (!keep_done) return std::unexpected(keep_done.error());
  const auto keep_dead = keep(invocation, "--keep-dead");
  if (!keep_dead) return std::unexpected(keep_dead.error());
  if (!*limit && !*limit_per_key && !*keep_done && !*keep_dead)
    return std::unexpected(usage_error("nothing to set; pass --limit, --limit-per-key, --keep-done or --keep-dead"));
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const SetQueueRequest request{.ns = invocation.ns,
                                .queue = invocation.argument("QUEUE"),
                                .change = {*limit, *limit_per_key, *keep_done, *keep_dead},
                                .act = *act};
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());

  const auto store = invocation.open_or_make_store();
  if (!store) return std::unexpected(store.error());
  tell_if_new(invocation, **store);
  if (auto ok = store->until_known(invocation.stop, [&] { return (*store)->set_queue(request); }); !ok)
    return std::unexpected(ok.error());
  return print_queue(invocation, **store);
}

Result<int> pause(Invocation& invocation, bool paused) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const PauseRequest request{.ns = invocation.ns, .queue = invocation.argument("QUEUE"), .paused = paused, .act = *act};
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<QueueRow> before = find_queue(invocation, **store);
  if (!before && (!paused || before.error().code != Code::not_found)) return std::unexpected(before.error());
  if (!before) tell_if_new(invocation, **store);
  if (auto ok = store->until_known(invocation.stop, [&] { return (*store)->pause(request); }); !ok)
    return std::unexpected(ok.error());
  const bool already = paused && before && before->paused;
  if (already) {
    const QueuePause& pause = *before->paused;
    tell("fenceline: queue " + request.queue + " is already paused by " + printable(pause.by) + " since " +
         format_time(pause.at) + (pause.reason.empty() ? "" : " (" + printable(pause.reason) + ")") +
         "; resume it first to change the reason");
  }
  if (!paused && !before->paused) tell("fenceline: queue " + request.queue + " is not paused; nothing was changed");
  if (invocation.json) return print_queue(invocation, **store);
  print_line(request.queue + (paused ? " is paused" : " is resumed"));
  return kExitOk;
}

const SectionSpec kNewQueues{"A queue that does not exist yet",
                             {{"enqueue, work, queue set, queue pause", "create it; the last two say so"},
                              {"all other commands", "exit with 66; a list of its jobs is empty, with a note"},
                              {"disappears", "when it has no jobs, no pause and default settings"}}};

Result<int> run_queue_pause(Invocation& invocation) { return pause(invocation, true); }
Result<int> run_queue_resume(Invocation& invocation) { return pause(invocation, false); }

}  // namespace

CommandSpec queue_set_command() {
  return {.name = "queue set",
          .summary = "Limit a queue's concurrency, or keep finished jobs longer",
          .arguments = {{"QUEUE", "its name"}},
          .options = with_act_options(
              {{"--limit", "N", "run at most N jobs at a time, over all workers: 1 to 10000; 0 for no limit"},
               {"--limit-per-key", "N", "run at most N jobs of one --limit-key at a time: 1 to 10000; 0 for no limit"},
               {"--keep-done", "D", "remove done jobs after this long, 24h to 3660d; default 7d"},
               {"--keep-dead", "D", "remove dead and cancelled jobs after this long; default 30d"}}),
          .sections = {kNewQueues},
          .examples = {{"fenceline queue set mail --limit 4", "at most four at a time, however many workers there are"},
                       {"fenceline queue set mail --limit-per-key 1", "one at a time for each --limit-key of enqueue"}},
          .run = run_queue_set};
}

CommandSpec queue_pause_command() {
  return {.name = "queue pause",
          .summary = "Stop starting jobs from a queue; running jobs finish",
          .details = "Jobs can still be enqueued.",
          .arguments = {{"QUEUE", "its name"}},
          .options = with_act_options(),
          .sections = {kNewQueues},
          .examples = {{"fenceline queue pause mail --reason 'mail server moves'",
                        "'job explain' names you and the reason"}},
          .run = run_queue_pause};
}

CommandSpec queue_resume_command() {
  return {.name = "queue resume",
          .summary = "Start jobs from a paused queue again",
          .arguments = {{"QUEUE", "its name"}},
          .options = with_act_options(),
          .examples = {{"fenceline queue resume mail", "start its jobs again"}},
          .run = run_queue_resume};
}

}  // namespace fenceline::cli
