// fenceline queue rewind: jobs that keep a run time of a clock that was ahead start now.
#include "services/queue_rewind.hpp"

#include <nlohmann/json.hpp>

#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/queue_view.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_queue_rewind(Invocation& invocation) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<QueueRow> row = find_queue(invocation, **store);
  if (!row) return std::unexpected(row.error());
  const bool dry_run = invocation.has("--dry-run");
  const Result<Rewound> rewound = rewind_queue(
      **store, {.ns = invocation.ns, .queue = row->queue, .dry_run = dry_run, .act = *act},
      [&] { return fresh_request(*invocation.runtime); },
      [&](const std::function<Result<ActReply>()>& call) { return store->until_known(invocation.stop, call); },
      invocation.stop);
  if (!rewound) return std::unexpected(rewound.error());
  if (invocation.json) {
    print_line(nlohmann::ordered_json{
        {"queue", row->queue}, {"moved", rewound->moved}, {"delayed", rewound->delayed}, {"dry_run", dry_run}}
                   .dump());
  } else {
    print_line(std::to_string(rewound->moved));
    if (rewound->delayed > 0)
      tell("fenceline: " + counted(rewound->delayed, "delayed job") + " of queue " + row->queue +
           (rewound->delayed == 1 ? " keeps its" : " keep their") +
           " run time. To start one now: fenceline job retry ID");
  }
  if (!invocation.stop.stop_requested()) return kExitOk;
  tell("fenceline: interrupted; run it again for the rest");
  return interrupted_exit();
}

}  // namespace

CommandSpec queue_rewind_command() {
  return {.name = "queue rewind",
          .summary = "Start jobs that a clock that was ahead left waiting",
          .details = "Their enqueue or last failure has a time in the future. Prints how many were started.",
          .arguments = {{"QUEUE", "name of the queue"}},
          .options = with_act_options({{"--dry-run", "", "change nothing; print how many jobs would start"}}),
          .sections = {{"Which jobs",
                        {{"enqueued ahead", "enqueued to run at once, at a time that is still in the future: run now"},
                         {"failed ahead", "failed at a time that is still in the future: retried now"},
                         {"delayed ahead", "enqueued with --delay or --at: unchanged, but counted"},
                         {"all others", "unchanged"}}}},
          .examples = {{"fenceline queue rewind mail --dry-run", "how many jobs are affected"},
                       {"fenceline queue rewind mail --reason 'the clock was an hour ahead'", "run them now"}},
          .run = run_queue_rewind};
}

}  // namespace fenceline::cli
