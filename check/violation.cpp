#include "check/violation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace fenceline::audit {
namespace {

constexpr std::size_t kLocksTold = 3;

std::string seconds(Time micros) {
  const bool negative = micros < 0;
  const Time most = negative ? -micros : micros;
  std::string digits = std::to_string(most % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  return (negative ? "-" : "") + std::to_string(most / 1'000'000) + "." + digits + "s";
}

const Item* item_of(const CallLog& log, const Call& call, std::uint32_t job) {
  for (std::uint32_t i = 0; i < call.item_count; ++i) {
    if (log.items[call.items + i].job == job) return &log.items[call.items + i];
  }
  return nullptr;
}

}  // namespace

std::string instant(Time at) {
  using namespace std::chrono;
  const sys_time<microseconds> moment{microseconds{at}};
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{moment - day};
  char text[80];
  int length = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                             static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                             static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                             static_cast<int>(time.seconds().count()));
  if (time.subseconds().count() != 0)
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), ".%06d",
                            static_cast<int>(time.subseconds().count()));
  return std::string(text, static_cast<std::size_t>(length)) + "Z";
}

std::string Words::asked(const Call& call, std::uint32_t job) const {
  std::string text = seconds(call.asked) + "  " + owner(call.owner != 0 ? call.owner : call.by) + ": " +
                     std::string(history::to_string(call.verb));
  const Item* item = item_of(log_, call, job);
  if (call.queue != 0) text += " of queue " + std::string(log_.text(call.queue));
  if (call.verb == Verb::pause) text += call.holds_others ? ", on" : ", off";
  if (call.verb == Verb::set_queue && call.limit >= 0) text += ", limit " + std::to_string(call.limit);
  if (call.verb == Verb::set_queue && call.limit_per_key >= 0)
    text += ", limit per key " + std::to_string(call.limit_per_key);
  if (call.verb == Verb::claim) text += " of at most " + std::to_string(call.limit);
  if (call.verb != Verb::claim && item != nullptr) {
    text += " of job " + log_.job_text(job);
    if (item->fence != 0) text += " under fence " + std::to_string(item->fence);
    if (item->outcome != Outcome::none) text += ": " + std::string(to_string(item->outcome));
    if (call.verb == Verb::change_items)
      text += asked_of_item(log_.move_of(call, static_cast<std::uint32_t>(item - log_.items.data())), *item);
  }
  if (call.lock != 0) {
    const LockCall& lock = log_.lock_of(call);
    text += " of lock";
    for (std::size_t i = 0; i < std::min(lock.items.size(), kLocksTold); ++i) {
      text += (i == 0 ? " " : ", ") + log_.lock_text(lock.items[i].resource);
      if (lock.items[i].fence != 0) text += " under fence " + std::to_string(lock.items[i].fence);
    }
    if (lock.items.size() > kLocksTold) text += " and others";
  }
  if (call.schedule != 0) text += " of schedule " + asked_of_schedule(log_.schedule_of(call));
  if (call.effect != 0) {
    text += ", effect " + std::string(log_.text(log_.effect_of(call).name));
    if (log_.effect_of(call).ended != Ended::unsaid) text += ": " + std::string(to_string(log_.effect_of(call).ended));
  }
  if (call.request != 0) text += " (request " + std::string(log_.text(call.request)) + ")";
  return text;
}

std::string Words::asked_of_schedule(const ScheduleCall& schedule) const {
  std::string text = log_.lock_text(schedule.schedule) + ", revision " + std::to_string(schedule.revision);
  if (schedule.from == schedule.to) return text;
  text += ", from " + instant(schedule.from) + (schedule.rewinds ? " back to " : " to ") + instant(schedule.to);
  if (!schedule.fired.empty()) text += ", fires " + std::to_string(schedule.fired.size());
  return schedule.skipped.empty() ? text
                                  : text + ", skips " + std::to_string(schedule.skipped.size()) +
                                        (schedule.skipped.size() == 1 ? " range" : " ranges");
}

std::string Words::asked_of_item(const MoveItem& move, const Item& item) const {
  std::string text =
      ", record " + std::to_string(move.revision) + (move.act == 0 ? "" : ", " + std::string(log_.text(move.act)));
  return move.to == Life::absent
             ? text
             : text + ", to '" + std::string(log_.text(item.stage)) + "', " + std::string(to_string(move.to));
}

std::string Words::answered_about_schedule(const ScheduleCall& schedule) const {
  const auto duplicates =
      std::count_if(schedule.fired.begin(), schedule.fired.end(), [](const TickItem& item) { return item.duplicate; });
  return " answered ok, stands at " + instant(schedule.stands) + ", revision " +
         std::to_string(schedule.revision_then) +
         (duplicates > 0 ? ", " + std::to_string(duplicates) + " had fired before" : "");
}

std::string Words::answered_about_locks(const Call& call) const {
  const LockCall& lock = log_.lock_of(call);
  if (call.verb == Verb::acquire && lock.granted.empty()) return " answered: not granted";
  std::string text = " answered ok";
  if (call.verb == Verb::acquire) {
    text = " granted";
    for (std::size_t i = 0; i < std::min(lock.granted.size(), kLocksTold); ++i)
      text += (i == 0 ? " lock " : ", ") + log_.lock_text(lock.granted[i].resource) + " under fence " +
              std::to_string(lock.granted[i].fence);
    if (lock.granted.front().from != 0) text += ", taken over from " + owner(lock.granted.front().from);
  }
  if (call.verb == Verb::break_lock && !lock.granted.empty())
    text += ", the newest fence is " + std::to_string(lock.granted.front().fence);
  if (const auto refused =
          std::count_if(lock.items.begin(), lock.items.end(), [](const LockItem& item) { return item.refused; });
      refused > 0)
    text += ", " + std::to_string(refused) + " refused";
  return call.left == 0 ? text : text + ", " + seconds(call.left) + " left";
}

std::string Words::answered(const Call& call, std::uint32_t job) const {
  std::string text = seconds(call.answered) + "  " + owner(call.owner != 0 ? call.owner : call.by) + ": " +
                     std::string(history::to_string(call.verb));
  if (call.status == Status::fail) return text + (call.conflict ? " refused as a conflict" : " failed");
  if (call.lock != 0) return text + answered_about_locks(call);
  if (call.schedule != 0) return text + answered_about_schedule(log_.schedule_of(call));
  const Item* item = item_of(log_, call, job);
  if (call.verb == Verb::claim) {
    if (item == nullptr) return text + " answered, " + std::to_string(call.item_count) + " granted";
    text += " granted job " + log_.job_text(job) + " under fence " + std::to_string(item->fence) + ", " +
            seconds(item->amount) + " left, delivery " + std::to_string(item->deliveries);
    if (item->losses_in_row > 0) text += ", " + std::to_string(item->losses_in_row) + " lost in a row";
    return text + (item->forced ? ", taken over" : "");
  }
  if (item != nullptr && item->reason != Reason::none) {
    text += " refused: " + std::string(to_string(item->reason));
    return item->amount == 0 ? text : text + ", the newest fence is " + std::to_string(item->amount);
  }
  if (call.verb == Verb::enqueue && item != nullptr && item->answer != 0 && item->answer != item->job)
    return text + " answered: job " + log_.job_text(item->answer) + " stands for it";
  if (call.verb == Verb::enqueue) return text + " answered, " + std::to_string(call.left) + " were there already";
  if (call.verb == Verb::look) return text + " answered: " + std::string(to_string(call.state));
  if (call.verb == Verb::begin_effect) return text + " answered: " + std::string(to_string(log_.effect_of(call).begun));
  if (call.verb == Verb::extend) return text + " answered, " + seconds(call.left) + " left";
  return text + " answered ok";
}

void Words::add_call(std::vector<ExcerptLine>& to, std::uint32_t number, std::uint32_t job) const {
  const Call& call = log_.calls[number];
  to.push_back({call.asked_line, asked(call, job)});
  if (call.status != Status::unknown) to.push_back({call.answered_line, answered(call, job)});
  else if (call.answered_line.number != 0)
    to.push_back({call.answered_line, owner(call.owner != 0 ? call.owner : call.by) + ": its answer is not known"});
}

void Words::add_handler(std::vector<ExcerptLine>& to, const HandlerEvent& event) const {
  to.push_back({event.line, seconds(event.at) + "  " + owner(event.owner != 0 ? event.owner : event.by) +
                                ": handler of job " + log_.job_text(event.job) + " under fence " +
                                std::to_string(event.fence) + " " + std::string(history::to_string(event.kind))});
}

std::vector<ExcerptLine> excerpt_of(const CallLog& log, std::vector<std::uint32_t> calls, std::uint32_t job) {
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  std::vector<ExcerptLine> lines;
  for (const std::uint32_t call : calls) Words(log).add_call(lines, call, job);
  std::sort(lines.begin(), lines.end(), [](const ExcerptLine& a, const ExcerptLine& b) { return a.line < b.line; });
  return lines;
}

}  // namespace fenceline::audit
