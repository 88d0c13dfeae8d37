// fenceline queue purge: cancels what waits in a queue, in steps that can be interrupted.
#include <algorithm>

#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/progress_bar.hpp"
#include "cli/frame/signals.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/queue_view.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPurgeStep = 5000;  // each is one entry in the trail, and blocks other writers for a moment

// A step whose reply was lost may have cancelled jobs that its repeat no longer finds.
Result<int> end(const Invocation& invocation, std::int64_t cancelled, bool at_least = false) {
  const std::string count = std::to_string(cancelled);
  if (invocation.json) print_line("{\"cancelled\":" + count + ",\"at_least\":" + (at_least ? "true" : "false") + "}");
  else
    print_line((at_least ? "at least " : "") +
               (stdout_is_terminal() ? counted(cancelled, "job") + " cancelled" : count));
  return kExitOk;
}

Result<int> run_queue_purge(Invocation& invocation) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<QueueRow> row = find_queue(invocation, **store);
  if (!row) return std::unexpected(row.error());
  const std::int64_t all = row->depth_of(JobState::ready) + row->depth_of(JobState::waiting);
  if (all == 0) return end(invocation, 0);
  const Result<bool> meant =
      confirmed(invocation, "this cancels " + counted(all, "job") + " of queue " + row->queue + ".");
  if (!meant) return std::unexpected(meant.error());
  if (!*meant) return kExitFound;

  ProgressBar progress(*invocation.runtime, "jobs cancelled");
  std::int64_t cancelled = 0;
  bool doubted = false;
  bool more = true;
  std::int64_t after = 0;
  while (more) {
    if (invocation.stop.stop_requested()) {
      progress.end();
      tell("fenceline: interrupted; " + counted(cancelled, "job") + " cancelled; run it again for the rest");
      return interrupted_exit();
    }
    // What comes in after the question stays, whatever workers take meanwhile.
    const PurgeRequest request{.ns = invocation.ns,
                               .queue = row->queue,
                               .after = after,
                               .up_to = row->newest,
                               .limit = kPurgeStep,
                               .act = *act};
    const Result<PurgeReply> reply = store->until_known(
        invocation.stop, [&] { return (*store)->purge(request); }, &doubted);
    if (!reply) {
      progress.end();
      return fail(reply.error().code,
                  error_text(reply.error()) + "; " + counted(cancelled, "job") + " cancelled before that");
    }
    cancelled += reply->cancelled;
    after = reply->next;
    more = reply->more;
    progress.show(cancelled, std::min(1.0, static_cast<double>(cancelled) / static_cast<double>(all)));
  }
  progress.end();
  return end(invocation, cancelled, doubted);
}

}  // namespace

CommandSpec queue_purge_command() {
  return {
      .name = "queue purge",
      .summary = "Cancel all waiting jobs of a queue",
      .details = "Prints how many were cancelled.",
      .arguments = {{"QUEUE", "its name"}},
      .options = with_act_options({{"--yes", "", "do not ask for confirmation"}}),
      .examples = {{"fenceline queue purge mail --reason 'sent by hand'", "shows how many, and asks for confirmation"},
                   {"fenceline queue purge mail --yes", "for a script"}},
      .run = run_queue_purge};
}

}  // namespace fenceline::cli
