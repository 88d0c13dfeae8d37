// fenceline complete: names for a shell that completes a word.
#include "cli/frame/completion_offers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/uuid.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"

namespace fenceline::cli {
namespace {

struct OfferRule {
  std::string_view command;  // the beginning of its name
  std::string_view name;     // of the argument, or of the option's value
  std::string_view kind;
};

// The first that fits.
constexpr std::array kOfferRules{
    OfferRule{"", "QUEUE", "queues"},
    OfferRule{"", "ID", "jobs"},
    OfferRule{"", "JOB", "jobs"},
    OfferRule{"", "PIPELINE", "pipelines"},
    OfferRule{"", "OWNER", "workers"},
    OfferRule{"lock", "KEY", "locks"},
    OfferRule{"elect", "NAME", "locks"},
    OfferRule{"locks", "RESOURCE", "locks"},
    OfferRule{"gate", "RESOURCE", "locks"},
    OfferRule{"schedule ", "NAME", "schedules"},
    OfferRule{"pipeline ", "NAME", "pipelines"},
};

constexpr int kOfferPage = 1000;

// Ids begin with the time of their enqueue: all that do with `typed`, or the newest if nothing is typed.
Result<std::vector<JobId>> job_offers(Store& store, const std::string& ns, const std::string& typed, WallTime now) {
  constexpr std::string_view kFirst = "00000000-0000-0000-0000-000000000000",
                             kLast = "ffffffff-ffff-ffff-ffff-ffffffffffff";
  const std::size_t length = std::min(typed.size(), kFirst.size());
  const std::optional<JobId> last = parse_uuid(typed + std::string(kLast.substr(length)));
  const std::optional<JobId> first = parse_uuid(typed + std::string(kFirst.substr(length)));
  if (!first || !last) return std::vector<JobId>{};
  if (!typed.empty()) return store.ids({.ns = ns, .first = *first, .last = *last, .limit = kOfferPage});
  std::vector<JobId> found;
  for (const Duration age : {Duration{std::chrono::minutes{1}}, Duration{std::chrono::hours{1}},
                             Duration{std::chrono::days{1}}, Duration{std::chrono::days{30}}}) {
    const Result<std::vector<JobId>> page =
        store.ids({.ns = ns, .first = make_uuid7(now - age, 0, 0), .last = *last, .limit = kOfferPage});
    if (!page) return page;
    found = *page;
    if (found.size() >= kOffersMost) break;
  }
  return found;
}

extern "C" void end_quietly(int) { ::_exit(kExitOk); }

Result<int> run_complete(Invocation& invocation) {
  constexpr unsigned kPatienceSeconds = 1;
  handle_signal(SIGALRM, end_quietly);
  ::alarm(kPatienceSeconds);
  const auto store = invocation.open_store(false);
  if (!store) return kExitOk;
  const Result<std::vector<std::string>> names =
      completion_offers(**store, invocation.ns, invocation.argument("KIND"), invocation.argument("TYPED"),
                        invocation.runtime->wall_now());
  if (!names) return kExitOk;
  for (const std::string& name : *names) print_line(name);
  return kExitOk;
}

}  // namespace

std::string_view offered_kind(std::string_view command, std::string_view name) {
  for (const OfferRule& rule : kOfferRules) {
    if (rule.name == name && command.starts_with(rule.command)) return rule.kind;
  }
  return {};
}

Result<std::vector<std::string>> completion_offers(Store& store, const std::string& ns, std::string_view kind,
                                                   const std::string& typed, WallTime now) {
  std::vector<std::string> names;
  const auto take = [&](const auto& rows, const auto& name_of) {
    for (const auto& row : *rows) names.push_back(name_of(row));
  };
  if (kind == "queues") {
    const auto rows = store.queues(ns);
    if (!rows) return std::unexpected(rows.error());
    take(rows, [](const QueueRow& row) { return row.queue; });
  } else if (kind == "jobs") {
    const auto rows = job_offers(store, ns, typed, now);
    if (!rows) return std::unexpected(rows.error());
    take(rows, [](const JobId& id) { return to_string(id); });
    if (names.size() > kOffersMost) names.erase(names.begin(), names.end() - static_cast<std::ptrdiff_t>(kOffersMost));
  } else if (kind == "locks") {
    const auto rows = store.locks({.ns = ns, .prefix = typed, .limit = static_cast<int>(kOffersMost)});
    if (!rows) return std::unexpected(rows.error());
    for (const LockRow& row : rows->locks) names.push_back(row.resource);
  } else if (kind == "schedules") {
    const auto rows = store.schedules({.ns = ns, .limit = kOfferPage});
    if (!rows) return std::unexpected(rows.error());
    for (const ScheduleRow& row : rows->schedules) names.push_back(row.name);
  } else if (kind == "pipelines") {
    const auto rows = store.pipelines(ns);
    if (!rows) return std::unexpected(rows.error());
    take(rows, [](const PipelineRow& row) { return row.name; });
  } else if (kind == "workers") {
    const auto rows = store.workers(ns);
    if (!rows) return std::unexpected(rows.error());
    take(rows, [](const WorkerRow& row) { return row.report.owner; });
  }
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(typed); });
  std::ranges::sort(names);
  if (names.size() > kOffersMost) names.resize(kOffersMost);
  return names;
}

CommandSpec complete_command() {
  return {.name = "complete",
          .summary = "Print names that begin with what was typed, for a shell",
          .arguments = {{"KIND", "queues, jobs, locks, schedules, pipelines or workers"},
                        {"TYPED", "what they begin with", false}},
          .hidden = true,
          .run = run_complete};
}

}  // namespace fenceline::cli
