#include "cli/operate/top_sheets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <functional>

#include "cli/frame/job_ids.hpp"
#include "cli/frame/text.hpp"
#include "cli/locks/lock_view.hpp"
#include "cli/operate/doctor_view.hpp"
#include "cli/operate/workers.hpp"
#include "doctor/state.hpp"
#include "doctor/text.hpp"

namespace fenceline::cli {
namespace {

using doctor::rough;
using doctor::shell_word;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has(const TopModel& model, std::initializer_list<std::string> texts) {
  const std::string wanted = lower(model.filter);
  return std::ranges::any_of(texts,
                             [&](const std::string& text) { return lower(text).find(wanted) != std::string::npos; });
}

template <class Row>
struct Order {
  std::string name;
  std::function<bool(const Row&, const Row&)> before;
};

// The rows in the order that was asked for; those that are alike stay as the store gave them.
template <class Row>
std::vector<Row> sorted(std::vector<Row> rows, const std::vector<Order<Row>>& orders, const TopModel& model,
                        Sheet& sheet) {
  const Order<Row>& order =
      orders[static_cast<std::size_t>(model.sort.at(static_cast<std::size_t>(sheet.pane))) % orders.size()];
  sheet.order = order.name;
  std::ranges::stable_sort(rows, order.before);
  return rows;
}

std::string ago(Duration age) { return rough(std::max(Duration{0}, age)); }

Cell number(std::int64_t value, Tone tone = Tone::plain) {
  return {value == 0 ? "-" : std::to_string(value), value == 0 ? Tone::faint : tone};
}

std::string rate_text(const TopState& state, const std::string& queue) {
  const auto found = state.finished.find(queue);
  if (found == state.finished.end()) return "";
  if (found->second == 0) return "-";
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), found->second < 10 ? "%.1f" : "%.0f", found->second);
  return {text.data(), static_cast<std::size_t>(length)};
}

Sheet queues(const TopState& state, const TopModel& model) {
  Sheet sheet{.pane = TopPane::queues, .name = "queues", .none = "none has a job"};
  sheet.columns = {{.name = "queue"},
                   {.name = "ready", .right = true},
                   {.name = "not due", .right = true, .spare = true},
                   {.name = "running", .right = true},
                   {.name = "waiting", .right = true},
                   {.name = "dead", .right = true},
                   {.name = "done", .right = true, .spare = true},
                   {.name = "done/s", .right = true},
                   {.name = "oldest", .right = true},
                   {.name = "state"}};
  const auto depth = [](JobState job) {
    return [job](const QueueRow& a, const QueueRow& b) { return a.depth_of(job) > b.depth_of(job); };
  };
  const auto rate = [&](const QueueRow& row) {
    const auto found = state.finished.find(row.queue);
    return found == state.finished.end() ? 0.0 : found->second;
  };
  const std::vector<Order<QueueRow>> orders{
      {"name", [](const QueueRow& a, const QueueRow& b) { return a.queue < b.queue; }},
      {"ready", depth(JobState::ready)},
      {"oldest",
       [](const QueueRow& a, const QueueRow& b) {
         return a.oldest_ready_at.value_or(WallTime::max()) < b.oldest_ready_at.value_or(WallTime::max());
       }},
      {"dead", depth(JobState::dead)},
      {"done/s", [&](const QueueRow& a, const QueueRow& b) { return rate(a) > rate(b); }}};
  for (const QueueRow& row : sorted(state.queues, orders, model, sheet)) {
    if (!has(model, {row.queue})) continue;
    const bool due = row.oldest_ready_at && *row.oldest_ready_at <= state.at;
    const std::string name = shell_word(row.queue);
    sheet.rows.push_back(
        {{row.queue, number(row.depth_of(JobState::ready)), number(row.ahead),
          number(row.depth_of(JobState::running), Tone::good), number(row.depth_of(JobState::waiting), Tone::warning),
          number(row.depth_of(JobState::dead), Tone::bad), number(row.depth_of(JobState::done)),
          rate_text(state, row.queue), due ? ago(state.at - *row.oldest_ready_at) : "",
          row.paused ? Cell("paused", Tone::warning) : Cell("")},
         row.paused                         ? "fenceline queue resume " + name
         : row.depth_of(JobState::dead) > 0 ? "fenceline dead list --queue " + name
                                            : "fenceline jobs --queue " + name});
  }
  return sheet;
}

Sheet workers(const TopState& state, const TopModel& model) {
  Sheet sheet{.pane = TopPane::workers, .name = "workers", .none = "none"};
  sheet.columns = {{.name = "worker"},
                   {.name = "host:pid"},
                   {.name = "queues"},
                   {.name = "runs", .right = true},
                   {.name = "jobs", .spare = true},
                   {.name = "seen", .right = true},
                   {.name = "state"}};
  const std::vector<Order<WorkerRow>> orders{
      {"start", [](const WorkerRow& a, const WorkerRow& b) { return a.started_at < b.started_at; }},
      {"last seen", [](const WorkerRow& a, const WorkerRow& b) { return a.unseen > b.unseen; }},
      {"runs", [&](const WorkerRow& a, const WorkerRow& b) {
         return runs_of(a, state.running).size() > runs_of(b, state.running).size();
       }}};
  for (const WorkerRow& row : sorted(state.workers, orders, model, sheet)) {
    const WorkerReport& report = row.report;
    const std::string place = report.host + ":" + std::to_string(report.pid), served = joined(report.queues);
    if (!has(model, {report.owner, place, served})) continue;
    const std::vector<Holding>& runs = runs_of(row, state.running);
    std::vector<std::string> held;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, runs.size()); ++i) held.push_back(short_id(runs[i].id));
    const bool gone = is_gone(row);
    const Cell is = gone                             ? Cell("gone", Tone::bad)
                    : row.order == WorkerOrder::work ? Cell("")
                                                     : Cell(std::string(to_string(row.order)), Tone::warning);
    sheet.rows.push_back(
        {{report.owner, place, served, std::to_string(runs.size()) + "/" + std::to_string(report.concurrency),
          joined(held), ago(row.unseen), is},
         (gone                              ? "fenceline workers forget "
          : row.order == WorkerOrder::quiet ? "fenceline workers resume "
                                            : "fenceline workers quiet ") +
             shell_word(report.owner)});
  }
  return sheet;
}

Sheet locks(const TopState& state, const TopModel& model) {
  Sheet sheet{.pane = TopPane::locks, .name = "locks", .none = "none is held"};
  sheet.columns = {{.name = "lock"},
                   {.name = "state"},
                   {.name = "holder"},
                   {.name = "fence", .right = true, .spare = true},
                   {.name = "held for", .right = true},
                   {.name = "left", .right = true},
                   {.name = "waiters", .right = true},
                   {.name = "waits", .right = true}};
  const auto waits = [](const LockRow& row) {
    const auto first = std::ranges::min_element(row.waiters, {}, &LockWaiter::since);
    return first == row.waiters.end() ? std::optional<WallTime>() : std::optional(first->since);
  };
  const auto granted = [](const LockRow& row) {
    return row.holders.empty() ? WallTime::max() : row.holders.front().granted_at;
  };
  const std::vector<Order<LockRow>> orders{
      {"waiters", [](const LockRow& a, const LockRow& b) { return a.waiters_count > b.waiters_count; }},
      {"name", [](const LockRow& a, const LockRow& b) { return a.resource < b.resource; }},
      {"age", [&](const LockRow& a, const LockRow& b) { return granted(a) < granted(b); }}};
  for (const LockRow& row : sorted(state.locks, orders, model, sheet)) {
    const bool held = !row.holders.empty();
    const std::string holder = !held                               ? ""
                               : row.holders.front().place.empty() ? row.holders.front().owner
                                                                   : row.holders.front().place;
    if (!has(model, {row.resource, holder})) continue;
    const std::string is = lock_state(row);
    const std::string more = row.holders_count > 1 ? " +" + std::to_string(row.holders_count - 1) : "";
    const std::optional<WallTime> since = waits(row);
    sheet.rows.push_back({{row.resource,
                           {is, is == "expired" ? Tone::bad : Tone::plain},
                           holder + more,
                           std::to_string(row.fence),
                           held ? ago(state.at - row.holders.front().granted_at) : "",
                           row.free_in ? ago(*row.free_in) : "",
                           number(row.waiters_count, Tone::warning),
                           since ? ago(state.at - *since) : ""},
                          is == "expired" ? "fenceline lock " + shell_word(row.resource) + " -- true"
                                          : "fenceline locks show " + shell_word(row.resource)});
  }
  return sheet;
}

Sheet schedules(const TopState& state, const TopModel& model) {
  Sheet sheet{.pane = TopPane::schedules, .name = "schedules", .none = "none"};
  sheet.columns = {{.name = "schedule"},
                   {.name = "rule"},
                   {.name = "queue"},
                   {.name = "next"},
                   {.name = "in", .right = true},
                   {.name = "late", .right = true},
                   {.name = "state"}};
  const auto next = [](const TopSchedule& one) { return one.next.value_or(WallTime::max()); };
  const std::vector<Order<TopSchedule>> orders{
      {"next", [&](const TopSchedule& a, const TopSchedule& b) { return next(a) < next(b); }},
      {"name", [](const TopSchedule& a, const TopSchedule& b) { return a.row.name < b.row.name; }}};
  for (const TopSchedule& one : sorted(state.schedules, orders, model, sheet)) {
    if (!has(model, {one.row.name, one.queue})) continue;
    const bool late = one.next && *one.next < state.at;
    const std::string name = shell_word(one.row.name);
    sheet.rows.push_back({{one.row.name, one.rule, one.queue, one.next ? short_time(*one.next, state.at) : "",
                           one.next && !late ? ago(*one.next - state.at) : "",
                           late ? Cell(ago(state.at - *one.next), Tone::warning) : Cell(""),
                           one.row.paused ? Cell("paused", Tone::warning) : Cell("")},
                          (one.row.paused ? "fenceline schedule resume "
                           : late         ? "fenceline schedule history "
                                          : "fenceline schedule show ") +
                              name});
  }
  return sheet;
}

Sheet findings(const TopState& state, const TopModel& model) {
  const auto ok = std::ranges::count(state.findings, FindingStatus::ok, &Finding::status);
  Sheet sheet{.pane = TopPane::findings,
              .name = "findings",
              .none = state.findings.empty() ? "not checked yet" : "all healthy: " + std::to_string(ok) + " checks"};
  sheet.columns = {{.name = "check", .whole = true},
                   {.name = "status", .whole = true},
                   {.name = "since", .right = true},
                   {.name = "what"}};
  const std::vector<Order<Finding>> orders{
      {"status", [](const Finding& a, const Finding& b) { return a.status > b.status; }},
      {"since", [](const Finding& a,
                   const Finding& b) { return a.since.value_or(WallTime::max()) < b.since.value_or(WallTime::max()); }},
      {"check", [](const Finding& a, const Finding& b) { return a.name < b.name; }}};
  for (const Finding& finding : sorted(state.findings, orders, model, sheet)) {
    if (finding.status == FindingStatus::ok || !has(model, {finding.name, finding.detail})) continue;
    sheet.rows.push_back({{finding.name,
                           {std::string(status_name(finding.status)), status_tone(finding.status)},
                           finding.since ? ago(state.at - *finding.since) : "",
                           one_line(finding.detail)},
                          finding.remedy});
  }
  return sheet;
}

}  // namespace

Sheet sheet_of(const TopState& state, const TopModel& model, TopPane pane) {
  switch (pane) {
    case TopPane::all:
    case TopPane::queues: return queues(state, model);
    case TopPane::workers: return workers(state, model);
    case TopPane::locks: return locks(state, model);
    case TopPane::schedules: return schedules(state, model);
    case TopPane::findings: return findings(state, model);
  }
  return queues(state, model);
}

}  // namespace fenceline::cli
