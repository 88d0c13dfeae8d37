// fenceline enqueue: one job, or a file of payloads in batches. Ids are made here, before the store is asked, so
// that an answer that got lost is repeated and adds nothing (J1). Input is checked before a store is opened:
// what is wrong does not even create one.
#include "cli/frame/line_reader.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/enqueue_lines.hpp"
#include "cli/jobs/enqueue_options.hpp"
#include "cli/jobs/sender.hpp"

namespace fenceline::cli {
namespace {

Result<std::string> payload_from_options(const Invocation& invocation) {
  if (const auto text = invocation.value("--payload")) return *text;
  const auto file = invocation.value("--payload-file");
  if (!file) return "null";
  Result<std::string> text = read_file(*file, kPayloadBytesMax + 2);  // a newline at its end is the editor's
  if (!text && text.error().code == Code::invalid)
    return fail(Code::invalid, "the payload in '" + printable(*file, 200) +
                                   "' is too large; use at most 1 MiB, and store larger data elsewhere");
  if (text && text->ends_with('\n')) text->pop_back();
  if (text && text->ends_with('\r')) text->pop_back();
  return text;
}

// The job that has the key may be one that will not run again by itself.
std::string there_already(const Invocation& invocation, Store& store, const JobId& id) {
  const std::string there = "a job with this key and payload already exists";
  const Result<std::optional<Job>> job = store.job(invocation.ns, id);
  if (!job || !*job || !is_finished((*job)->state)) return there;
  const std::string state(to_string((*job)->state));
  if ((*job)->state == JobState::done) return there + ": it is done and keeps its key (--key-for)";
  return there + ": it is " + state + "; run it again with 'fenceline job retry " + to_string(id) + "'";
}

Result<int> enqueue_one(Invocation& invocation, NewJob job) {
  Result<std::string> payload = payload_from_options(invocation);
  if (!payload) return std::unexpected(payload.error());
  job.payload = without_byte_order_mark(std::move(*payload));
  if (job.payload.empty()) return fail(Code::invalid, "the payload is empty; write JSON, or omit the option for null");
  if (auto ok = check_payload(job.payload); !ok) return std::unexpected(ok.error());
  Sender sender(invocation);
  job.id = sender.new_id();
  const std::string id = to_string(job.id);
  const Result<std::vector<JobId>> ids = sender.send({std::move(job)});
  sender.write_metrics();
  if (!ids) {
    if (ids.error().code == Code::in_doubt)
      return fail(Code::in_doubt,
                  ids.error().message + "; job " + id + " may have been enqueued; check with 'fenceline job show'");
    if (ids.error().code == Code::conflict && invocation.has("--key"))
      return fail(Code::conflict, ids.error().message +
                                      "; wait until that job has finished and its --key-for is over, run it again with "
                                      "'fenceline job retry', or use another key");
    return std::unexpected(ids.error());
  }
  sender.end();
  if (invocation.json) return kExitOk;
  print_line(to_string(ids->at(0)));
  if (sender.existing() == 0) return kExitOk;
  const Result<Session*> session = sender.session();
  if (session) tell("fenceline: " + there_already(invocation, ***session, ids->at(0)));
  return kExitOk;
}

Result<int> run_enqueue(Invocation& invocation) {
  const int sources =
      int{invocation.has("--payload")} + int{invocation.has("--payload-file")} + int{invocation.has("--jsonl")};
  if (sources > 1)
    return std::unexpected(usage_error("--payload, --payload-file and --jsonl exclude each other; pass one"));
  Result<NewJob> job = job_from_options(invocation);
  if (!job) return std::unexpected(job.error());
  if (const auto name = invocation.value("--batch")) {
    if (!invocation.has("--jsonl"))
      return std::unexpected(usage_error("--batch needs --jsonl FILE; for a single job use --key"));
    if (auto ok = check_key("batch name", *name); !ok) return std::unexpected(ok.error());
  }
  if (const auto file = invocation.value("--jsonl")) return enqueue_lines(invocation, *job, *file);
  return enqueue_one(invocation, std::move(*job));
}

}  // namespace

CommandSpec enqueue_command() {
  std::vector<OptionSpec> options{
      {"--payload", "JSON", "payload, which the handler reads from stdin; default null"},
      {"--payload-file", "FILE", "payload from a file, - for stdin"},
      {"--jsonl", "FILE", "one job for each line of a file, - for stdin; prints how many"},
      {"--batch", "NAME", "with --jsonl: name that makes repeating the same file safe for 24h"},
      history_option(),
      metrics_file_option()};
  for (OptionSpec& option : new_job_options()) options.push_back(std::move(option));
  return {.name = "enqueue",
          .summary = "Add a job to a queue, or one for each line of a file",
          .details = "Prints the id of each job.",
          .arguments = {{"QUEUE", "1 to 128 letters, digits, '.', '_', '-' or ':'"}},
          .options = std::move(options),
          .examples = {{"fenceline enqueue mail --payload '{\"to\":\"ada@example.org\"}'", "one job"},
                       {"fenceline enqueue thumbs --jsonl pictures.jsonl --batch monday",
                        "one job for each line; repeat it if it was interrupted"},
                       {"fenceline enqueue report --at '2026-11-16 06:00' --key report-16",
                        "at a given time, and only once"},
                       {"fenceline enqueue sync --group customer-7 --timeout 5m",
                        "one at a time for this customer, in order"}},
          .run = run_enqueue};
}

}  // namespace fenceline::cli
