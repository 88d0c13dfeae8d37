#include "sim/scenarios/plan_change.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.hpp"
#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kNothing = "nothing";

struct Size {
  PlanSize named;
  std::int64_t (*get)(const Plan&);
  void (*set)(Plan&, std::int64_t);
};

template <auto Member>
Size size(std::string_view name, std::int64_t least) {
  return {{name, least},
          [](const Plan& plan) { return std::int64_t{plan.*Member}; },
          [](Plan& plan, std::int64_t to) { plan.*Member = static_cast<int>(to); }};
}

const std::vector<Size>& sizes() {
  static const std::vector<Size> all{
      size<&Plan::jobs>("jobs", 1),
      size<&Plan::hosts>("hosts", 1),
      size<&Plan::concurrency>("concurrency", 1),
      size<&Plan::prefetch>("prefetch", 0),
      size<&Plan::queues>("queues", 1),
      size<&Plan::producers>("producers", 1),
      size<&Plan::batch_most>("batch", 1),
      {{"storm_ms", 1},
       [](const Plan& plan) { return plan.storm / milliseconds{1}; },
       [](Plan& plan, std::int64_t to) { plan.storm = milliseconds{to}; }},
  };
  return all;
}

struct Switch {
  std::string_view name;
  bool (*is_on)(const Plan&);
  void (*off)(Plan&);
};

// On is whatever differs from its default, which is to do nothing.
template <auto Part, auto Member>
Switch of_part(std::string_view name) {
  return {name, [](const Plan& plan) { return (plan.*Part).*Member != std::decay_t<decltype((plan.*Part).*Member)>{}; },
          [](Plan& plan) { (plan.*Part).*Member = {}; }};
}
template <auto Member>
Switch weather(std::string_view name) {
  return of_part<&Plan::weather, Member>(name);
}
template <auto Member>
Switch habit(std::string_view name) {
  return of_part<&Plan::habits, Member>(name);
}
template <auto Member>
Switch feature(std::string_view name) {
  return of_part<&Plan::features, Member>(name);
}
template <auto Member>
Switch operated(std::string_view name) {
  return of_part<&Plan::operators, Member>(name);
}
template <auto Member>
Switch lock_habit(std::string_view name) {
  return of_part<&Plan::locks, Member>(name);
}
template <auto Member>
Switch scheduled(std::string_view name) {
  return of_part<&Plan::schedules, Member>(name);
}
template <auto Member>
Switch tracked(std::string_view name) {
  return of_part<&Plan::tracker, Member>(name);
}
template <auto Member>
Switch whole(std::string_view name) {
  return {name, [](const Plan& plan) { return plan.*Member != std::decay_t<decltype(plan.*Member)>{}; },
          [](Plan& plan) { plan.*Member = {}; }};
}

const std::vector<Switch>& switches() {
  static const std::vector<Switch> all{
      // faults
      weather<&Weather::drop_request>("drop_request"),
      weather<&Weather::refuse_request>("refuse_request"),
      weather<&Weather::drop_reply>("drop_reply"),
      weather<&Weather::late_request>("late_request"),
      weather<&Weather::duplicate>("duplicate"),
      weather<&Weather::drop_wakeup>("drop_wakeup"),
      weather<&Weather::delay_most>("delay"),
      weather<&Weather::queue_most>("queue"),
      weather<&Weather::kill_every>("kill"),
      weather<&Weather::pause_every>("pause"),
      weather<&Weather::suspend_every>("suspend"),
      weather<&Weather::terminate_every>("terminate"),
      weather<&Weather::wall_jump_every>("wall_jump"),
      weather<&Weather::wall_leap_every>("wall_leap"),
      weather<&Weather::wall_back_every>("wall_back"),
      weather<&Weather::server_ahead_every>("server_ahead"),
      weather<&Weather::fleet_every>("fleet"),
      weather<&Weather::twin>("twin"),
      weather<&Weather::kill_at_step>("kill_at_step"),
      weather<&Weather::pause_at_step>("pause_at_step"),
      weather<&Weather::delay_at_step>("delay_at_step"),
      weather<&Weather::crash_every>("crash"),
      weather<&Weather::restore_every>("restore"),
      weather<&Weather::amnesia_every>("amnesia"),
      whole<&Plan::drift_ppm>("drift"),
      whole<&Plan::wild_clock>("wild_clock"),
      whole<&Plan::poison>("poison"),
      whole<&Plan::healthy_hosts>("lasting"),
      whole<&Plan::fences_end>("fences_end"),
      whole<&Plan::sqlite>("sqlite"),
      // handlers
      habit<&Habits::fails>("fails"),
      habit<&Habits::throws>("throws"),
      habit<&Habits::dies>("dies"),
      habit<&Habits::later>("later"),
      habit<&Habits::obstinate>("obstinate"),
      habit<&Habits::speaks>("speaks"),
      habit<&Habits::gated>("gated"),
      // jobs
      feature<&Features::keyed>("keyed"),
      feature<&Features::other_payload>("other_payload"),
      feature<&Features::key_for_most>("key_for"),
      feature<&Features::grouped>("grouped"),
      feature<&Features::limited>("limited"),
      feature<&Features::dated>("dated"),
      feature<&Features::timed>("timed"),
      feature<&Features::named>("named"),
      feature<&Features::repeated>("repeated"),
      whole<&Plan::delayed>("delayed"),
      // locks
      lock_habit<&LockWork::shared>("shared"),
      lock_habit<&LockWork::several>("several"),
      lock_habit<&LockWork::slotted>("slotted"),
      lock_habit<&LockWork::loops>("loops"),
      lock_habit<&LockWork::elections>("elections"),
      lock_habit<&LockWork::at_least>("at_least"),
      lock_habit<&LockWork::delayed>("lock_delay"),
      lock_habit<&LockWork::skips>("skips"),
      lock_habit<&LockWork::retries>("retries"),
      lock_habit<&LockWork::entered_again>("entered_again"),
      lock_habit<&LockWork::abandons>("abandons"),
      lock_habit<&LockWork::break_every>("breaks"),
      // schedules
      scheduled<&ScheduleWork::act_every>("schedule_acts"),
      scheduled<&ScheduleWork::finish_every>("schedule_jobs_end"),
      scheduled<&ScheduleWork::clock_every>("store_clock"),
      scheduled<&ScheduleWork::far_every>("clock_at_2200"),
      scheduled<&ScheduleWork::strike_at_tick>("strike_at_tick"),
      scheduled<&ScheduleWork::clocks_change>("clocks_change"),
      scheduled<&ScheduleWork::tidy_every>("tidy_often"),
      // trackers
      tracked<&TrackerWork::stale>("stale"),
      tracked<&TrackerWork::torn>("torn"),
      tracked<&TrackerWork::shifted>("shifted"),
      tracked<&TrackerWork::errors>("errors"),
      tracked<&TrackerWork::forge_every>("forge"),
      tracked<&TrackerWork::tamper_every>("tamper"),
      tracked<&TrackerWork::replace_every>("replace"),
      tracked<&TrackerWork::meddle_every>("meddle"),
      tracked<&TrackerWork::command_every>("command"),
      tracked<&TrackerWork::webhooks>("webhooks"),
      tracked<&TrackerWork::sends_back>("sends_back"),
      tracked<&TrackerWork::within>("within"),
      // operators
      operated<&Operators::cancel>("cancel"),
      operated<&Operators::retry>("retry"),
      operated<&Operators::pause>("pause_queue"),
      operated<&Operators::purge>("purge"),
      operated<&Operators::limits>("limits"),
      operated<&Operators::order>("order"),
      operated<&Operators::tidy>("tidy"),
      operated<&Operators::leaves_paused>("leaves_paused"),
  };
  return all;
}

template <class Named>
const Named* find(const std::vector<Named>& all, std::string_view name, auto name_of) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) { return name_of(one) == name; });
  return found == all.end() ? nullptr : &*found;
}
const Size* find_size(std::string_view name) {
  return find(sizes(), name, [](const Size& one) { return one.named.name; });
}
bool is_switch(std::string_view name) {
  return find(switches(), name, [](const Switch& one) { return one.name; }) != nullptr;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

const std::vector<PlanSize>& plan_sizes() {
  static const std::vector<PlanSize> all = [] {
    std::vector<PlanSize> named;
    for (const Size& one : sizes()) named.push_back(one.named);
    return named;
  }();
  return all;
}

std::int64_t size_of(const Plan& plan, std::string_view name) {
  const Size* found = find_size(name);
  check(found, "a plan has a size of this name");
  return found->get(plan);
}

std::vector<std::string> plan_switches() {
  std::vector<std::string> names;
  for (const Switch& one : switches()) names.emplace_back(one.name);
  return names;
}

std::set<std::string, std::less<>> switches_on(const Plan& plan) {
  std::set<std::string, std::less<>> names;
  for (const Switch& one : switches()) {
    if (one.is_on(plan)) names.emplace(one.name);
  }
  return names;
}

void apply(const PlanChange& change, Plan& plan) {
  for (const auto& [name, to] : change.sizes) find_size(name)->set(plan, to);
  if (!change.switches_on) return;
  for (const Switch& one : switches()) {
    if (!change.switches_on->contains(one.name)) one.off(plan);
  }
  const Operators& they = plan.operators;
  if (they.cancel + they.retry + they.pause + they.purge + they.limits + they.order + they.tidy + they.resolve +
          they.rebase ==
      0)
    plan.operators = {};
}

std::string to_text(const PlanChange& change) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + value;
  };
  for (const auto& [name, to] : change.sizes) add(name, std::to_string(to));
  if (change.switches_on) {
    std::string names;
    for (const std::string& name : *change.switches_on) names += (names.empty() ? "" : "+") + name;
    add("on", names.empty() ? std::string(kNothing) : names);
  }
  if (change.world) add("world", std::to_string(*change.world));
  return text;
}

Result<PlanChange> parse_plan_change(std::string_view text) {
  PlanChange change;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (name == "on") {
      change.switches_on.emplace();
      for (const std::string& one : split(value, '+')) {
        if (one == kNothing) continue;
        if (!is_switch(one))
          return fail(Code::invalid,
                      "'" + one + "' is nothing that a plan can leave on; copy the line as it was printed");
        change.switches_on->insert(one);
      }
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < 0)
      return fail(Code::invalid, "'" + part + "' is not a name and a number, as in jobs=3");
    if (name == "world") {
      change.world = static_cast<std::uint64_t>(number);
      continue;
    }
    const Size* found = find_size(name);
    if (!found) return fail(Code::invalid, "a plan has no size '" + name + "'; copy the line as it was printed");
    if (number < found->named.least || number > std::numeric_limits<int>::max())
      return fail(Code::invalid, name + " must be " + std::to_string(found->named.least) + " or more");
    change.sizes[name] = number;
  }
  return change;
}

}  // namespace fenceline::sim
