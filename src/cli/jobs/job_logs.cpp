// fenceline job logs: what a job's handler wrote to stderr, and with -f keeps writing.
#include <algorithm>

#include "base/utf8.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "services/job_wait.hpp"

namespace fenceline::cli {
namespace {

constexpr int kLogPage = 100;
constexpr std::int64_t kTailMost = 1'000'000;

// Prints the log from where it stopped the last time.
class LogPrinter {
 public:
  LogPrinter(const Invocation& invocation, Store& store, const JobId& id)
      : invocation_(invocation), store_(store), id_(id) {}

  // Prints the last `tail` lines of the current log first. Errors: not_found.
  Result<void> skip_to_last(std::int64_t lines) {
    std::int64_t all = 0;
    std::int64_t after = 0;
    bool ends_within = false;  // the last line has no end yet, and counts
    while (true) {
      const Result<std::optional<LogReply>> page =
          store_.log({.ns = invocation_.ns, .id = id_, .after = after, .limit = kLogPage});
      if (!page) return std::unexpected(page.error());
      if (!*page) return std::unexpected(no_such_job(id_, invocation_.ns));
      for (const LogChunk& chunk : (*page)->chunks) {
        all += std::ranges::count(chunk.bytes, '\n');
        if (!chunk.bytes.empty()) ends_within = chunk.bytes.back() != '\n';
      }
      after = (*page)->next;
      if ((*page)->chunks.size() < static_cast<std::size_t>(kLogPage)) break;
    }
    skipped_ = std::max<std::int64_t>(0, all + (ends_within ? 1 : 0) - lines);
    return {};
  }

  // Prints all of the current log. False: the reader is gone. Errors: not_found.
  Result<bool> print_new() {
    while (true) {
      const Result<std::optional<LogReply>> page =
          store_.log({.ns = invocation_.ns, .id = id_, .after = after_, .limit = kLogPage});
      if (!page) return std::unexpected(page.error());
      if (!*page) return std::unexpected(no_such_job(id_, invocation_.ns));
      const LogReply& reply = **page;
      if (reply.dropped > 0 && after_ == 0 && skipped_ == 0)
        tell("fenceline: only the end of this log is kept; " + std::to_string(reply.dropped) +
             " earlier bytes were dropped");
      for (LogChunk chunk : reply.chunks) {
        while (skipped_ > 0 && !chunk.bytes.empty()) {
          const std::size_t end = chunk.bytes.find('\n');
          if (end != std::string::npos) skipped_ -= 1;
          chunk.bytes.erase(0, end == std::string::npos ? end : end + 1);
        }
        if (!chunk.bytes.empty() && !print_chunk(chunk)) return false;
      }
      after_ = reply.next;
      if (!flush_output()) return false;
      if (reply.chunks.size() < static_cast<std::size_t>(kLogPage)) return true;
    }
  }

 private:
  bool print_chunk(const LogChunk& chunk) {
    if (invocation_.json) {
      const Json text = is_valid_utf8(chunk.bytes) ? Json(chunk.bytes) : Json{{"base64", base64(chunk.bytes)}};
      return print_line(Json{{"delivery", chunk.delivery}, {"at", format_time(chunk.at)}, {"text", text}}.dump());
    }
    if (delivery_ != 0 && delivery_ != chunk.delivery) {
      flush_output();
      tell("fenceline: delivery " + std::to_string(chunk.delivery) + ", from " + format_time(chunk.at));
    }
    delivery_ = chunk.delivery;
    return print_foreign(chunk.bytes);
  }

  const Invocation& invocation_;
  Store& store_;
  const JobId id_;
  std::int64_t after_ = 0;
  std::int64_t skipped_ = 0;   // lines that are still to be left out
  std::int64_t delivery_ = 0;  // of what was printed last
};

Result<int> run_job_logs(Invocation& invocation) {
  const Result<std::int64_t> tail = invocation.number("--tail", 0, 0, kTailMost);
  if (!tail) return std::unexpected(tail.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<JobId> id = id_of(invocation, **store);
  if (!id) return std::unexpected(id.error());
  LogPrinter printer(invocation, **store, *id);
  if (invocation.has("--tail")) {
    if (auto ok = printer.skip_to_last(*tail); !ok) return std::unexpected(ok.error());
  }
  std::optional<JobLooks> looks;
  while (true) {
    // Asked for before the log is read: what a job says before it ends is then not missed.
    const Result<std::optional<Job>> job = (*store)->job(invocation.ns, *id);
    if (!job) return std::unexpected(job.error());
    if (!*job) return std::unexpected(no_such_job(*id, invocation.ns));
    const Result<bool> read_on = printer.print_new();
    if (!read_on) return std::unexpected(read_on.error());
    if (!*read_on || !invocation.has("--follow") || is_finished((*job)->state)) return kExitOk;
    if (!looks) looks.emplace(*invocation.runtime, **store, invocation.ns, **job, invocation.stop);
    if (!looks->wait()) return interrupted_exit();
  }
}

}  // namespace

CommandSpec job_logs_command() {
  return {
      .name = "job logs",
      .summary = "Print what a job's handler wrote to stderr",
      .details = "The last 1 MiB of it is kept.",
      .arguments = {{"ID", kIdHelp}},
      .options = {{.name = "--follow", .value = "", .help = "follow the log until the job finishes", .letter = "-f"},
                  {.name = "--tail", .value = "N", .help = "start with the last N lines, 0 to 1000000", .letter = ""}},
      .examples = {{"fenceline job logs -f $ID", "watch it while it runs"},
                   {"fenceline job logs --tail 20 $ID", "its last 20 lines"},
                   {"fenceline job logs $ID --json", "with the time and the delivery of each line"}},
      .run = run_job_logs};
}

}  // namespace fenceline::cli
