#include "cli/jobs/job_list.hpp"

#include <limits>

#include "cli/frame/output.hpp"
#include "cli/frame/pages.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/job_view.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/pipelines/pipeline_view.hpp"

namespace fenceline::cli {
namespace {

// An empty list is a true answer, but a mistyped name must not look like an empty queue.
void tell_if_unknown(const Invocation& invocation, Store& store, const std::string& queue) {
  const Result<QueueRow> row = find_queue(invocation, store, queue);
  if (!row && row.error().code == Code::not_found) tell("fenceline: " + error_text(row.error()));
}

}  // namespace

std::vector<OptionSpec> list_options() {
  return {
      {"--queue", "QUEUE", "only jobs of this queue"},       {"--tag", "TAG", "only jobs with this tag"},
      {"--limit", "N", "page size, 1 to 1000; default 100"}, {"--after", "CURSOR", "continue after a page: its 'next'"},
      {"--cursor", "CURSOR", "the same as --after"},         {"--all", "", "all pages"}};
}

Result<JobsRequest> list_request(const Invocation& invocation) {
  JobsRequest request{.ns = invocation.ns, .queue = invocation.value("--queue")};
  const char* const after_option = invocation.has("--cursor") ? "--cursor" : "--after";
  const Result<int> limit = page_limit(invocation, {"--after", "--cursor"});
  if (!limit) return std::unexpected(limit.error());
  request.limit = *limit;
  if (const auto tag = invocation.value("--tag")) {
    if (auto ok = check_key("tag", *tag); !ok) return std::unexpected(ok.error());
    request.tag = *tag;
  }
  const Result<std::int64_t> after = invocation.number(after_option, 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after)
    return std::unexpected(usage_error(after_option + (" '" + printable(*invocation.value(after_option), 40)) +
                                       "' is not a cursor; use 'next' of the previous page"));
  request.after = *after;
  return request;
}

Result<int> list_jobs(Invocation& invocation, JobsRequest request) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const StageNames stages(**store, invocation.ns);
  const auto ask = [&] {
    Result<JobsReply> reply = (*store)->jobs(request);
    if (!reply) return reply;
    for (Job& job : reply->jobs) stages.name(job);
    if (request.queue && reply->jobs.empty() && request.after == 0)
      tell_if_unknown(invocation, **store, *request.queue);
    return reply;
  };
  return print_pages(invocation, {.list = "jobs"}, request.after, ask, &JobsReply::jobs, job_table,
                     [](const Job& job) { return job_json(job, {}); });
}

}  // namespace fenceline::cli
