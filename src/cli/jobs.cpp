// fenceline jobs: the jobs of a namespace, a page at a time or all of them in constant memory.
#include <limits>
#include <utility>

#include "cli/command.hpp"
#include "cli/job_view.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPage = 100;
constexpr int kPageMost = 1000;

Result<JobsRequest> request_of(const Invocation& invocation) {
  JobsRequest request{.ns = invocation.ns, .queue = invocation.value("--queue")};
  if (const auto text = invocation.value("--state")) {
    request.state = parse_job_state(*text);
    if (!request.state)
      return std::unexpected(
          usage_error("--state '" + printable(*text, 40) + "' is no state; use ready, running, waiting, done, dead or cancelled"));
  }
  if (invocation.has("--all") && (invocation.has("--limit") || invocation.has("--cursor")))
    return std::unexpected(usage_error("--all goes with neither --limit nor --cursor; leave one of them out"));
  const Result<std::int64_t> limit = invocation.number("--limit", invocation.has("--all") ? kPageMost : kPage, 1, kPageMost);
  if (!limit) return std::unexpected(limit.error());
  request.limit = static_cast<int>(*limit);
  const Result<std::int64_t> after = invocation.number("--cursor", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after)
    return std::unexpected(
        usage_error("--cursor '" + printable(*invocation.value("--cursor"), 40) + "' is no cursor; use 'next' of the page before"));
  request.after = *after;
  return request;
}

// Prints pages as they come: a list of millions is never in memory.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  bool page(const std::vector<Job>& jobs) {
    if (!json_) {
      const bool header = std::exchange(first_, false);
      return print_table(job_table(jobs), header);
    }
    for (const Job& job : jobs) {
      if (!print((std::exchange(first_, false) ? "{\"jobs\":[" : ",") + job_json(job, {}))) return false;
    }
    return true;
  }

  void end(std::optional<std::int64_t> next) {
    if (json_) {
      if (first_) print("{\"jobs\":[");
      print_line("],\"next\":" + (next ? "\"" + std::to_string(*next) + "\"" : std::string("null")) + "}");
    } else if (next) {
      flush_output();
      tell("more jobs follow; go on with --cursor " + std::to_string(*next) + ", or use --all");
    }
  }

 private:
  bool json_;
  bool first_ = true;
};

Result<int> run(Invocation& invocation) {
  Result<JobsRequest> request = request_of(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  Printer printer(invocation.json);
  while (true) {
    const Result<JobsReply> reply = (*store)->jobs(*request);
    if (!reply) return std::unexpected(reply.error());
    if (!printer.page(reply->jobs)) return kExitOk;  // nobody reads on
    if (!invocation.has("--all") || !reply->next) {
      printer.end(reply->next);
      return kExitOk;
    }
    if (invocation.stop.stop_requested()) return interrupted_exit();
    request->after = *reply->next;
  }
}

}  // namespace

CommandSpec jobs_command() {
  return {.name = "jobs",
          .summary = "Lists jobs in the order in which they were enqueued, 100 at a time.",
          .options = {{"--queue", "QUEUE", "only jobs of this queue"},
                      {"--state", "ready|running|waiting|done|dead|cancelled", "only jobs in this state"},
                      {"--limit", "N", "how many, 1 to 1000; default 100"},
                      {"--cursor", "CURSOR", "go on where a page ended: its 'next'"},
                      {"--all", "", "every page"}},
          .examples = {{"fenceline jobs --queue mail --state dead", "what failed for good in one queue"},
                       {"fenceline jobs --all --json | jq -r '.jobs[] | select(.failures > 0) | .id'",
                        "ids of all jobs that failed at least once"}},
          .run = run};
}

}  // namespace fenceline::cli
