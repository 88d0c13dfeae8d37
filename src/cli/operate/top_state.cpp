#include "cli/operate/top_state.hpp"

#include <algorithm>
#include <chrono>

#include "base/duration_text.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/locks/lock_view.hpp"
#include "cli/operate/doctor_view.hpp"
#include "cli/operate/workers.hpp"
#include "cli/schedules/schedule_view.hpp"
#include "doctor/state.hpp"
#include "services/schedule_steps.hpp"

namespace fenceline::cli {
namespace {

TopSchedule shown(const ScheduleRow& row) {
  const Result<KnownSchedule> schedule = known(row);
  if (!schedule) return {.row = row, .queue = "", .rule = schedule.error().message, .next = std::nullopt};
  const ScheduleSpec& spec = schedule->spec;
  return {.row = row,
          .queue = spec.queue,
          .rule = spec.cron.empty() ? "every " + format_duration(spec.every) : spec.cron,
          .next = due_at(*schedule)};
}

std::int64_t ended(const QueueRow& row) {
  return row.depth_of(JobState::done) + row.depth_of(JobState::dead) + row.depth_of(JobState::cancelled);
}

// What was removed in between, its retention being over, is missing: a rate below nothing is none.
std::map<std::string, double> rates(const std::vector<QueueRow>& before, const std::vector<QueueRow>& now,
                                    Duration between) {
  std::map<std::string, double> found;
  for (const QueueRow& row : now) {
    const auto old = std::ranges::find(before, row.queue, &QueueRow::queue);
    const std::int64_t more = ended(row) - (old == before.end() ? 0 : ended(*old));
    found[row.queue] = static_cast<double>(std::max<std::int64_t>(0, more)) /
                       std::max(0.001, std::chrono::duration<double>(between).count());
  }
  return found;
}

}  // namespace

TopLook::TopLook(Runtime& runtime, Store& store, std::string ns, std::function<std::string(std::string)> paste)
    : runtime_(runtime), store_(store) {
  last_.paste = std::move(paste);
  const StoreProfile profile = store.profile();
  last_.store = profile.url;
  last_.guarantee = std::string(1, letter(profile.guarantee));
  last_.ns = std::move(ns);
  last_.at = runtime.wall_now();
}

TopState TopLook::look() {
  const Instant asked_at = runtime_.now();
  Result<TopState> now = read();
  if (!now) {
    last_.away = now.error().message;
    return last_;
  }
  if (read_at_ != Instant{}) now->finished = rates(last_.queues, now->queues, asked_at - read_at_);
  read_at_ = asked_at;
  return last_ = std::move(*now);
}

Result<TopState> TopLook::read() {
  TopState state{.store = last_.store, .guarantee = last_.guarantee, .ns = last_.ns};
  Result<Looked> looked =
      look_at_state(runtime_, store_, {.ns = last_.ns, .lives = lives_here, .stopped = stopped_here});
  if (!looked) return std::unexpected(looked.error());
  state.queues = std::move(looked->queues);
  state.workers = std::move(looked->workers);
  state.running = std::move(looked->running);
  state.findings = std::move(looked->findings);
  state.cut = looked->cut;
  Result<LocksReply> locks = store_.locks({.ns = last_.ns, .held = true, .limit = kTopLocksMost});
  if (!locks) return std::unexpected(locks.error());
  state.locks = std::move(locks->locks);
  const Result<SchedulesReply> schedules = store_.schedules({.ns = last_.ns, .limit = kTopSchedulesMost});
  if (!schedules) return std::unexpected(schedules.error());
  for (const ScheduleRow& row : schedules->schedules) state.schedules.push_back(shown(row));
  state.cut = state.cut || locks->next.has_value() || schedules->more;
  state.at = schedules->now;
  state.paste = last_.paste;
  return state;
}

std::string top_json(const TopState& state) {
  const auto list = [](const auto& rows, const auto& as_json) {
    std::string text;
    for (const auto& row : rows) text += (text.empty() ? "" : ",") + as_json(row);
    return "[" + text + "]";
  };
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  Json head{{"at", format_time(state.at)},
            {"store", state.store},
            {"class", state.guarantee},
            {"namespace", state.ns},
            {"away", state.away.empty() ? Json(nullptr) : Json(state.away)},
            {"cut", state.cut}};
  Json finished = Json::object();
  for (const auto& [queue, rate] : state.finished) finished[queue] = rate;
  head["finished_per_second"] = finished;
  std::string text = dumped(head);
  text.pop_back();
  text += ",\"queues\":" + list(state.queues, queue_json);
  text += ",\"workers\":" + list(state.workers, [&](const WorkerRow& row) { return worker_json(row, state.running); });
  text += ",\"locks\":" + list(state.locks, [](const LockRow& row) { return lock_json({row, std::nullopt}); });
  text += ",\"schedules\":" + list(state.schedules, [](const TopSchedule& one) { return schedule_json(one.row); });
  text += ",\"findings\":" + list(state.findings, [&](const Finding& finding) {
            return dumped({{"name", finding.name},
                           {"status", status_name(finding.status)},
                           {"detail", finding.detail},
                           {"since", finding.since ? Json(format_time(*finding.since)) : Json(nullptr)},
                           {"why", finding.why},
                           {"remedy", state.pasted(finding.remedy)}});
          });
  return text + "}";
}

}  // namespace fenceline::cli
