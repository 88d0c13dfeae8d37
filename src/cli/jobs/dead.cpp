// fenceline dead list and dead redrive: the dead letters.
#include <algorithm>

#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/progress_bar.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/act_report.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/dead_groups.hpp"
#include "cli/jobs/job_list.hpp"
#include "cli/jobs/queue_view.hpp"

namespace fenceline::cli {
namespace {

constexpr std::int64_t kRedriveStep = 1000;
constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::size_t kNamed = 20;  // refusals that are told one by one

constexpr std::int64_t kGroupedMost = 100'000;  // dead jobs that are read for their groups

// The newest kGroupedMost of them, by their errors.
Result<int> group_dead(Invocation& invocation, JobsRequest request) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  bool unknown_queue = false;
  if (request.queue) {
    if (const Result<QueueRow> row = find_queue(invocation, **store, *request.queue); !row) {
      if (row.error().code != Code::not_found) return std::unexpected(row.error());
      tell("fenceline: " + error_text(row.error()));
      unknown_queue = true;
    }
  }
  DeadGroups groups;
  request.limit = kJobsPageMax;
  bool complete = false;
  while (!complete && groups.total() < kGroupedMost && !invocation.stop.stop_requested()) {
    const Result<JobsReply> page = (*store)->jobs(request);
    if (!page) return std::unexpected(page.error());
    for (const Job& job : page->jobs) groups.add(job);
    complete = !page->next;
    request.after = page->next.value_or(0);
  }
  if (invocation.json) {
    print_line(dead_groups_json(groups, complete));
  } else {
    print_list(dead_groups_table(groups.groups(), invocation.runtime->wall_now()),
               unknown_queue ? "" : "no dead jobs match");
    flush_output();
    if (groups.others() > 0)
      tell("fenceline: " + counted(groups.others(), "job") + " with further errors; 'dead list --each' lists them");
  }
  if (invocation.stop.stop_requested()) return interrupted_exit();
  if (!complete)
    tell("fenceline: these are the newest " + std::to_string(groups.total()) + " dead jobs; there are more");
  return kExitOk;
}

Result<int> run_dead_list(Invocation& invocation) {
  Result<JobsRequest> request = list_request(invocation);
  if (!request) return std::unexpected(request.error());
  request->state = JobState::dead;
  if (invocation.has("--each")) return list_jobs(invocation, std::move(*request));
  for (const char* option : {"--sort", "--limit", "--after", "--cursor", "--all"}) {
    if (invocation.has(option))
      return std::unexpected(usage_error(std::string(option) + " needs --each, which lists job by job"));
  }
  return group_dead(invocation, std::move(*request));
}

// Retries dead jobs in steps, and remembers what was refused.
class Redrive {
 public:
  Redrive(Invocation& invocation, Store& store, Act act)
      : invocation_(invocation), store_(store), act_(std::move(act)), progress_(*invocation.runtime, "jobs redriven") {}

  Result<void> these(const std::vector<JobId>& ids) {
    for (auto from = ids.begin(); from != ids.end() && !invocation_.stop.stop_requested();) {
      const auto to = from + std::min<std::ptrdiff_t>(kRedriveStep, ids.end() - from);
      const Result<std::vector<JobId>> others = retry({from, to});
      if (!others) return std::unexpected(others.error());
      for (const JobId& id : *others) refused_.push_back({id, Reason::not_dead, std::nullopt});
      for (auto id = from; id != to; ++id) {
        if (std::ranges::find(refused_, *id, &ActRefusal::id) == refused_.end()) named_.push_back(*id);
      }
      from = to;
    }
    return {};
  }

  // Up to `most` of them, those that are longest in the store first. One that dies again meanwhile is not taken twice:
  // the list goes forward only, and ends after as many as there were. Nor is one that somebody else redrove since it
  // was listed: it is as wanted, only not by us.
  Result<void> all(const JobsRequest& which, std::int64_t most) {
    JobsRequest request = which;
    for (std::int64_t seen = 0; seen < most && !invocation_.stop.stop_requested();) {
      request.limit = static_cast<int>(std::min(kRedriveStep, most - seen));
      const Result<JobsReply> page = store_.jobs(request);
      if (!page) return std::unexpected(page.error());
      std::vector<JobId> ids;
      for (const Job& job : page->jobs) ids.push_back(job.id);
      seen += static_cast<std::int64_t>(ids.size());
      if (!ids.empty()) {
        if (auto others = retry(std::move(ids)); !others) return std::unexpected(others.error());
      }
      progress_.show(done_, static_cast<double>(seen) / static_cast<double>(most));
      if (!page->next) break;
      request.after = *page->next;
    }
    return {};
  }

  Result<int> report(const Result<void>& ended) {
    progress_.end();
    if (!ended)
      return fail(ended.error().code,
                  error_text(ended.error()) + "; " + counted(done_, "job") + " redriven before that");
    if (invocation_.json)
      print_line("{\"redriven\":" + std::to_string(done_) + ids_as_json() + ",\"refused\":" + refusals_json(refused_) +
                 "}");
    else if (stdout_is_terminal()) print_line(counted(done_, "job") + " ready to run again");
    else print_line(std::to_string(done_));
    flush_output();
    for (const JobId& id : named_) tell("fenceline: redrove " + to_string(id));
    for (std::size_t i = 0; i < std::min(kNamed, refused_.size()); ++i)
      tell("fenceline: " + error_text(refusal_error(refused_[i], invocation_.ns)));
    if (refused_.size() > kNamed)
      tell("fenceline: " + counted(static_cast<std::int64_t>(refused_.size() - kNamed), "job") + " more refused");
    if (invocation_.stop.stop_requested()) {
      tell("fenceline: interrupted; " + counted(done_, "job") + " redriven; run it again for the rest");
      return interrupted_exit();
    }
    return refused_.empty() ? kExitOk : exit_code(refusal_error(refused_.front(), invocation_.ns));
  }

 private:
  // Empty if no job was named by its id.
  std::string ids_as_json() const {
    std::string text;
    for (const JobId& id : named_) text += (text.empty() ? ",\"ids\":[\"" : ",\"") + to_string(id) + "\"";
    return text.empty() ? text : text + "]";
  }

  // Returns those that are not dead: the store looks in the same step, since a retry would stop one that runs by now.
  Result<std::vector<JobId>> retry(std::vector<JobId> ids) {
    const ActRequest request{.ns = invocation_.ns,
                             .ids = std::move(ids),
                             .request = fresh_request(*invocation_.runtime),
                             .only = JobState::dead,
                             .act = act_};
    const Result<ActReply> reply =
        retry_until_known(*invocation_.runtime, invocation_.stop, [&] { return store_.retry(request); });
    if (!reply) return std::unexpected(reply.error());
    done_ += static_cast<std::int64_t>(request.ids.size() - reply->refused.size());
    std::vector<JobId> others;
    for (const ActRefusal& refusal : reply->refused) {
      if (refusal.reason == Reason::state) others.push_back(refusal.id);
      else refused_.push_back(refusal);
    }
    return others;
  }

  Invocation& invocation_;
  Store& store_;
  const Act act_;
  ProgressBar progress_;
  std::int64_t done_ = 0;
  std::vector<ActRefusal> refused_;
  std::vector<JobId> named_;  // of those that were named one by one, the redriven
};

// The depths of queues do not know tags, keys, errors and times: such jobs are counted one by one.
Result<std::int64_t> count_dead(const Invocation& invocation, Store& store, JobsRequest which) {
  std::int64_t count = 0;
  if (which.tag.empty() && !asks_for_details(which)) {
    const Result<std::vector<QueueRow>> rows = store.queues(invocation.ns);
    if (!rows) return std::unexpected(rows.error());
    for (const QueueRow& row : *rows) {
      if (!which.queue || row.queue == *which.queue) count += row.depth_of(JobState::dead);
    }
    return count;
  }
  which.limit = static_cast<int>(kRedriveStep);
  for (bool more = true; more && !invocation.stop.stop_requested();) {
    const Result<JobsReply> page = store.jobs(which);
    if (!page) return std::unexpected(page.error());
    count += static_cast<std::int64_t>(page->jobs.size());
    more = page->next.has_value();
    which.after = page->next.value_or(0);
  }
  return count;
}

std::string named(const JobsRequest& which) {
  return (which.queue ? " of queue " + *which.queue : " of all queues") +
         (which.tag.empty() ? "" : " with tag " + printable(which.tag, 60)) +
         (which.key.empty() ? "" : " with key " + printable(which.key, 60)) +
         (which.error.empty() ? "" : " whose error contains " + in_quotes(which.error)) +
         (which.since ? " enqueued since " + format_time(*which.since) : "") +
         (which.before ? " enqueued before " + format_time(*which.before) : "");
}

Result<int> run_dead_redrive(Invocation& invocation) {
  const bool by_id = invocation.arguments.contains("ID");
  std::vector<OptionSpec> exclusive = filter_options();
  exclusive.push_back({"--limit", "", ""});
  for (const OptionSpec& option : exclusive) {
    if (by_id && invocation.has(option.name))
      return std::unexpected(usage_error("ids cannot be combined with " + option.name + "; use one or the other"));
  }
  Result<JobsRequest> filter = filter_request(invocation);
  if (!filter) return std::unexpected(filter.error());
  JobsRequest& which = *filter;
  which.state = JobState::dead;
  which.newest_first = false;
  const Result<std::int64_t> limit = invocation.number("--limit", kMost, 1, kMost);
  if (!limit) return std::unexpected(limit.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());

  if (by_id) {
    const Result<std::vector<JobId>> ids = ids_of(invocation, **store);
    if (!ids) return std::unexpected(ids.error());
    Redrive redrive(invocation, **store, *act);
    return redrive.report(redrive.these(*ids));
  }
  if (which.queue) {
    if (const Result<QueueRow> row = find_queue(invocation, **store, *which.queue); !row)
      return std::unexpected(row.error());
  }
  const Result<std::int64_t> dead = count_dead(invocation, **store, which);
  if (!dead) return std::unexpected(dead.error());
  const std::int64_t most = std::min(*dead, *limit);
  if (most > 0) {
    const Result<bool> meant = confirmed(invocation, "this redrives " + counted(most, "dead job") + named(which) + ".");
    if (!meant) return std::unexpected(meant.error());
    if (!*meant) return kExitFound;
  }
  Redrive redrive(invocation, **store, *act);
  return redrive.report(redrive.all(which, most));
}

}  // namespace

CommandSpec dead_list_command() {
  return {.name = "dead list",
          .summary = "List dead jobs, grouped by error",
          .details = "They stay until a person retries or cancels them. --each lists them one by one.",
          .options = with_options(filter_options(),
                                  with_options({{"--each", "", "job by job instead of by error"}}, page_options())),
          .sections = {{"Columns",
                        {{"jobs", "how many dead jobs have this error"},
                         {"newest", "how long ago the last of them died; in a pipe, when"},
                         {"example", "id of the last of them: 'fenceline job show ID', 'fenceline job logs ID'"},
                         {"error", "ids and numbers of more than three digits are shown as *"}}}},
          .examples = {{"fenceline dead list --queue mail", "dead jobs of one queue, by error"},
                       {"fenceline dead list --each --error 'no route' --since 2h", "the jobs behind one error"},
                       {"fenceline dead list --json | jq -r '.groups[] | [.jobs, .error] | @tsv'", "for a script"}},
          .run = run_dead_list};
}

CommandSpec dead_redrive_command() {
  return {
      .name = "dead redrive",
      .summary = "Run dead jobs again with all their attempts",
      .details = "Prints how many jobs became ready.",
      .arguments =
          {{"ID",
            "jobs to run again, by id or its last 8 characters; without ids all dead jobs of --queue or of all queues",
            false, true}},
      .options = with_act_options(with_options(filter_options(), {{"--limit", "N", "at most N jobs, the oldest first"},
                                                                  {"--yes", "", "do not ask for confirmation"}})),
      .examples = {{"fenceline dead redrive --queue mail --limit 10", "try ten of them"},
                   {"fenceline dead redrive --error 'no route'", "those that died of one error"},
                   {"fenceline dead redrive --queue mail --yes --reason 'server is back'",
                    "all of a queue, for a script"}},
      .run = run_dead_redrive};
}

}  // namespace fenceline::cli
