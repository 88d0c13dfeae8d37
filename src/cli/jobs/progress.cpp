// fenceline progress: how far a command that `fenceline work` runs is with its job.
#include <charconv>

#include "cli/frame/current_job.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"

namespace fenceline::cli {
namespace {

Result<Note> note_from(const Invocation& invocation) {
  const Result<Holding> job = current_job("progress");
  if (!job) return std::unexpected(job.error());

  const std::string text = invocation.argument("PERCENT");
  int percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc{} || end != text.data() + text.size() || percent < 0 || percent > 100)
    return std::unexpected(
        usage_error("progress '" + printable(text, 40) + "' is not a percentage; use a whole number from 0 to 100"));
  return Note{.id = job->id,
              .fence = job->fence,
              .progress = Progress{.percent = percent, .note = invocation.argument("NOTE")}};
}

Result<int> run_progress(Invocation& invocation) {
  const Result<Note> note = note_from(invocation);
  if (!note) return std::unexpected(note.error());
  const RecordRequest request{.ns = invocation.ns, .notes = {*note}};
  if (const Result<void> ok = check_request(request); !ok) return std::unexpected(ok.error());
  Result<Session> store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  // A handler that says how far it is does not wait long for it.
  const Result<RecordReply> reply =
      retry_until_known(*invocation.runtime, invocation.stop, [&] { return (*store)->record(request); },
                        {.repeats = 2, .pause = Duration{0}});
  if (!reply) return std::unexpected(reply.error());
  if (reply->refused.empty()) return kExitOk;
  const Refusal& refusal = reply->refused.front();
  if (refusal.reason == fenceline::Reason::not_found)
    return fail(Code::not_found, "no job " + to_string(refusal.id) + " in namespace " + invocation.ns);
  return fail(Code::lost, "fence " + std::to_string(refusal.sent) + " is stale: job " + to_string(refusal.id) +
                              " now has fence " + std::to_string(refusal.current) + "; stop working on it");
}

}  // namespace

CommandSpec progress_command() {
  return {.name = "progress",
          .summary = "Report progress of the current job",
          .details = "For commands that 'fenceline work' runs.",
          .arguments = {{.name = "PERCENT", .help = "0 to 100", .required = true},
                        {.name = "NOTE", .help = "short text, at most 1 KiB", .required = false}},
          .options = {},
          .sections = {{"Read from the environment, which 'fenceline work' sets",
                        {{"FENCELINE_JOB, FENCELINE_FENCE", "which job, and under which fence"},
                         {"FENCELINE_STORE, FENCELINE_NAMESPACE", "where the job is"}}}},
          .examples = {{"fenceline progress 40 \"page 4 of 10\"",
                        "shown by 'job show'; exits with 76 if another worker has the job now"}},
          .run = run_progress};
}

}  // namespace fenceline::cli
