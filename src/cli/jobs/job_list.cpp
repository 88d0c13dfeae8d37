#include "cli/jobs/job_list.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "cli/frame/output.hpp"
#include "cli/frame/pages.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/time_text.hpp"
#include "cli/jobs/job_view.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/pipelines/pipeline_view.hpp"

namespace fenceline::cli {
namespace {

// An empty list is a true answer, but a mistyped name must not look like an empty queue. Empty: the queue is known.
std::string unknown_queue(const Invocation& invocation, Store& store, const std::optional<std::string>& queue) {
  if (!queue) return "";
  const Result<QueueRow> row = find_queue(invocation, store, *queue);
  return !row && row.error().code == Code::not_found ? error_text(row.error()) : "";
}

// An item that waits for approval is ready in the store, or running while a worker looks at it, and `waiting` here. So
// where pipelines have approvals, jobs are told apart by the state that is shown.
class ShownStates {
 public:
  ShownStates(const StageNames& stages, const JobsRequest& request) : stages_(stages), state_(request.state) {
    apart_ = state_ && !is_finished(*state_) && stages.has_approvals(request.queue);
  }

  Result<JobsReply> page(const Invocation& invocation, Store& store, JobsRequest request) const {
    if (apart_ && state_ == JobState::waiting) request.state = std::nullopt;
    const auto limit = static_cast<std::size_t>(request.limit);
    JobsReply page;
    do {
      request.limit = static_cast<int>(limit - page.jobs.size());
      Result<JobsReply> reply = full_page(invocation, store, request);
      if (!reply) return reply;
      for (Job& job : reply->jobs) {
        stages_.name(job);
        if (!apart_ || job.state == state_) page.jobs.push_back(std::move(job));
      }
      page.next = reply->next;
      request.after = reply->next.value_or(0);
    } while (page.next && page.jobs.size() < limit && !invocation.stop.stop_requested());
    return page;
  }

 private:
  const StageNames& stages_;
  const std::optional<JobState> state_;
  bool apart_ = false;
};

}  // namespace

std::vector<OptionSpec> filter_options() {
  return {{"--queue", "QUEUE", "only jobs of this queue"},
          {"--tag", "TAG", "only jobs with this tag"},
          {"--key", "KEY", "only jobs with this unique key"},
          {"--error", "TEXT", "only jobs whose last error contains this text"},
          {"--since", "WHEN", "only jobs enqueued since then: a time, or how long ago, as in 2h"},
          {"--until", "WHEN", "only jobs enqueued before then"}};
}

std::vector<OptionSpec> page_options() {
  return {{"--sort", "newest|oldest", "which jobs come first; default newest"},
          {"--limit", "N", "page size, 1 to 1000; default 100"},
          {"--after", "CURSOR", "continue after a page: its 'next', with the same filters and --sort"},
          {"--cursor", "CURSOR", "the same as --after"},
          {"--all", "", "all pages"}};
}

std::vector<OptionSpec> with_options(std::vector<OptionSpec> options, const std::vector<OptionSpec>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Result<JobsRequest> filter_request(const Invocation& invocation) {
  JobsRequest request{.ns = invocation.ns, .queue = invocation.value("--queue"), .newest_first = true};
  request.tag = invocation.value("--tag").value_or("");
  request.key = invocation.value("--key").value_or("");
  request.error = invocation.value("--error").value_or("");
  for (const char* option : {"--tag", "--key", "--error"}) {
    if (invocation.value(option) == "")
      return fail(Code::invalid, std::string(option) + " is empty; give a value or leave it out");
  }
  const auto moment = [&](const char* option, std::optional<WallTime>& into) -> Result<void> {
    const auto text = invocation.value(option);
    if (!text) return {};
    const Result<WallTime> at = parse_when(*text, invocation.runtime->wall_now());
    if (!at) return std::unexpected(usage_error(option + (" " + at.error().message)));
    into = *at;
    return {};
  };
  if (auto ok = moment("--since", request.since); !ok) return std::unexpected(ok.error());
  if (auto ok = moment("--until", request.before); !ok) return std::unexpected(ok.error());
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return request;
}

Result<JobsRequest> list_request(const Invocation& invocation) {
  Result<JobsRequest> request = filter_request(invocation);
  if (!request) return request;
  if (const auto sort = invocation.value("--sort")) {
    if (*sort != "newest" && *sort != "oldest")
      return std::unexpected(usage_error("--sort " + in_quotes(*sort) + " is not an order; use newest or oldest"));
    request->newest_first = *sort == "newest";
  }
  const char* const after_option = invocation.has("--cursor") ? "--cursor" : "--after";
  const Result<int> limit = page_limit(invocation, {"--after", "--cursor"});
  if (!limit) return std::unexpected(limit.error());
  request->limit = *limit;
  const Result<std::int64_t> after = invocation.number(after_option, 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after)
    return std::unexpected(usage_error(after_option + (" '" + printable(*invocation.value(after_option), 40)) +
                                       "' is not a cursor; use 'next' of the previous page"));
  request->after = *after;
  return request;
}

Result<JobsReply> full_page(const Invocation& invocation, Store& store, JobsRequest request) {
  const auto limit = static_cast<std::size_t>(request.limit);
  JobsReply page;
  do {
    request.limit = static_cast<int>(limit - page.jobs.size());
    Result<JobsReply> reply = store.jobs(request);
    if (!reply) return reply;
    std::ranges::move(reply->jobs, std::back_inserter(page.jobs));
    page.next = reply->next;
    request.after = reply->next.value_or(0);
  } while (page.next && page.jobs.size() < limit && !invocation.stop.stop_requested());
  return page;
}

Result<int> list_jobs(Invocation& invocation, JobsRequest request) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const StageNames stages(**store, invocation.ns);
  const ShownStates states(stages, request);
  const auto ask = [&]() -> Result<JobsReply> {
    const bool first = request.after == 0;
    Result<JobsReply> reply = states.page(invocation, **store, request);
    if ((invocation.json || !stdout_is_terminal()) && reply && reply->jobs.empty() && first) {
      if (const std::string why = unknown_queue(invocation, **store, request.queue); !why.empty())
        tell("fenceline: " + why);
    }
    return reply;
  };
  const auto none = [&]() -> std::string {
    if (request.after != 0) return "no more jobs";
    const std::string why = unknown_queue(invocation, **store, request.queue);
    return why.empty() ? "no jobs match" : why;
  };
  const auto table = [&](const std::vector<Job>& jobs) { return job_table(jobs, invocation.runtime->wall_now()); };
  return print_pages(invocation, {.list = "jobs", .none = none}, request.after, ask, &JobsReply::jobs, table,
                     [](const Job& job) { return job_json(job, {}); });
}

}  // namespace fenceline::cli
