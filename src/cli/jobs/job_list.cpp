#include "cli/jobs/job_list.hpp"

#include <limits>
#include <utility>

#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/job_view.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/pipelines/pipeline_view.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPage = 100;
constexpr int kPageMost = 1000;

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
      tell("fenceline: more jobs follow; go on with --after " + std::to_string(*next) + ", or use --all");
    }
  }

 private:
  bool json_;
  bool first_ = true;
};

// An empty list is a true answer, but a mistyped name must not look like an empty queue.
void tell_if_unknown(const Invocation& invocation, Store& store, const std::string& queue) {
  const Result<QueueRow> row = find_queue(invocation, store, queue);
  if (!row && row.error().code == Code::not_found) tell("fenceline: " + error_text(row.error()));
}

}  // namespace

std::vector<OptionSpec> list_options() {
  return {{"--queue", "QUEUE", "only jobs of this queue"},
          {"--tag", "TAG", "only jobs with this tag"},
          {"--limit", "N", "how many, 1 to 1000; default 100"},
          {"--after", "CURSOR", "go on where a page ended: its 'next'"},
          {"--cursor", "CURSOR", "the same as --after"},
          {"--all", "", "every page"}};
}

Result<JobsRequest> list_request(const Invocation& invocation) {
  JobsRequest request{.ns = invocation.ns, .queue = invocation.value("--queue")};
  const char* const after_option = invocation.has("--cursor") ? "--cursor" : "--after";
  if (invocation.has("--all") && (invocation.has("--limit") || invocation.has(after_option)))
    return std::unexpected(usage_error("--all goes with neither --limit nor --after; leave one of them out"));
  if (const auto tag = invocation.value("--tag")) {
    if (auto ok = check_key("tag", *tag); !ok) return std::unexpected(ok.error());
    request.tag = *tag;
  }
  const Result<std::int64_t> limit =
      invocation.number("--limit", invocation.has("--all") ? kPageMost : kPage, 1, kPageMost);
  if (!limit) return std::unexpected(limit.error());
  request.limit = static_cast<int>(*limit);
  const Result<std::int64_t> after = invocation.number(after_option, 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after)
    return std::unexpected(usage_error(after_option + (" '" + printable(*invocation.value(after_option), 40)) +
                                       "' is no cursor; use 'next' of the page before"));
  request.after = *after;
  return request;
}

Result<int> list_jobs(Invocation& invocation, JobsRequest request) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  Printer printer(invocation.json);
  const StageNames stages(**store, invocation.ns);
  while (true) {
    Result<JobsReply> reply = (*store)->jobs(request);
    if (!reply) return std::unexpected(reply.error());
    for (Job& job : reply->jobs) stages.name(job);
    if (request.queue && reply->jobs.empty() && request.after == 0)
      tell_if_unknown(invocation, **store, *request.queue);
    if (!printer.page(reply->jobs)) return kExitOk;  // nobody reads on
    if (!invocation.has("--all") || !reply->next) {
      printer.end(reply->next);
      return kExitOk;
    }
    if (invocation.stop.stop_requested()) return interrupted_exit();
    request.after = *reply->next;
  }
}

}  // namespace fenceline::cli
