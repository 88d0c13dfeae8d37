#include "model/tick_plan.hpp"

#include <algorithm>

namespace fenceline {
namespace {

constexpr Duration kLeast{1};  // intervals are (after, until]: what ends just before an instant ends so much before it

// The ticks of a schedule in (after, until], and those among them that fired before.
class OpenTicks {
 public:
  OpenTicks(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts)
      : rule_(rule), fired_(facts.fired), after_(facts.resolved_to), until_(facts.now) {
    if (spec.starts) after_ = std::max(after_, *spec.starts - kLeast);
    if (spec.ends) until_ = std::min(until_, *spec.ends);
  }

  WallTime after() const { return after_; }
  WallTime until() const { return until_; }
  std::optional<WallTime> last() const { return after_ < until_ ? rule_.last(after_, until_) : std::nullopt; }

  // The newest ones later than `after` and not later than `until`, at most `most`, ascending. One by one: as many looks
  // as there are such ticks and fired ones between them.
  std::vector<WallTime> newest(WallTime after, WallTime until, std::size_t most) const {
    std::vector<WallTime> ticks;
    for (after = std::max(after, after_), until = std::min(until, until_); ticks.size() < most && after < until;) {
      const std::optional<WallTime> tick = rule_.last(after, until);
      if (!tick) break;
      if (!std::ranges::binary_search(fired_, *tick)) ticks.push_back(*tick);
      until = *tick - kLeast;
    }
    std::ranges::reverse(ticks);
    return ticks;
  }

  // Those in (after, until], as ranges that go over none that fired, and none of `firing`, which ascends.
  void skip(std::vector<SkippedTicks>& ranges, WallTime after, WallTime until, const std::string& reason,
            const std::vector<WallTime>& firing = {}) const {
    after = std::max(after, after_);
    until = std::min(until, until_);
    auto fired = std::ranges::upper_bound(fired_, after);
    auto fires = std::ranges::upper_bound(firing, after);
    while (after < until) {
      const WallTime cut = std::min(
          {fired == fired_.end() ? WallTime::max() : *fired, fires == firing.end() ? WallTime::max() : *fires});
      add_range(ranges, after, std::min(until, cut - kLeast), reason);
      if (cut > until) return;
      if (fired != fired_.end() && *fired == cut) ++fired;
      if (fires != firing.end() && *fires == cut) ++fires;
      after = cut;
    }
  }

 private:
  void add_range(std::vector<SkippedTicks>& ranges, WallTime after, WallTime until, const std::string& reason) const {
    if (after >= until) return;
    const std::optional<WallTime> first = rule_.next(after);
    if (!first || *first > until) return;
    ranges.push_back(
        {.first = *first, .last = *rule_.last(after, until), .count = rule_.count(after, until), .reason = reason});
  }

  const TickRule& rule_;
  const std::vector<WallTime>& fired_;
  WallTime after_, until_;
};

// How many of the ticks that would fire may do so, the newest ones. Of several that are open at once, the newest says
// most about the world as it is now; so it is with every other rule of catch-up.
std::size_t room(Overlap overlap, const PlanFacts& facts) {
  const int unfinished = facts.unfinished_waiting + facts.unfinished_running;
  switch (overlap) {
    case Overlap::allow: break;
    case Overlap::skip: return unfinished > 0 ? 0 : 1;
    case Overlap::queue_one:
      return facts.unfinished_waiting > 0 || unfinished > 1 ? 0 : 1;  // it waits, or runs at once if nothing does
    case Overlap::cancel_running: return 1;
  }
  return static_cast<std::size_t>(kCatchUpCapMost);
}

}  // namespace

TickPlan plan_ticks(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts) {
  const OpenTicks open(spec, rule, facts);
  TickPlan plan{.fire = {}, .skip = {}, .to = open.last()};
  if (!plan.to) return plan;
  const WallTime window_end = facts.now - spec.window - kLeast;  // the last instant that is too old
  const WallTime late_end = facts.now - kTickOnTime - kLeast;    // the last one that is late
  const auto cap = static_cast<std::size_t>(spec.cap);

  const bool late_may_fire = spec.catch_up == CatchUp::all;
  plan.fire = open.newest(late_may_fire ? window_end : std::max(window_end, late_end), open.until(), cap);
  if (plan.fire.empty() && spec.catch_up == CatchUp::latest) plan.fire = open.newest(window_end, late_end, 1);

  // What lies before the first of them, by age; what lies behind it and may not fire after all did so for an overlap.
  const WallTime before_first = plan.fire.empty() ? open.until() : plan.fire.front() - kLeast;
  const std::size_t may_fire = room(spec.overlap, facts);
  if (plan.fire.size() > may_fire)
    plan.fire.erase(plan.fire.begin(), plan.fire.end() - static_cast<std::ptrdiff_t>(may_fire));
  plan.cancel_unfinished = spec.overlap == Overlap::cancel_running && !plan.fire.empty() &&
                           facts.unfinished_waiting + facts.unfinished_running > 0;

  open.skip(plan.skip, open.after(), std::min(window_end, before_first), "window");
  if (!late_may_fire)
    open.skip(plan.skip, window_end, std::min(late_end, before_first),
              spec.catch_up == CatchUp::none ? "missed" : "superseded");
  open.skip(plan.skip, late_may_fire ? window_end : std::max(window_end, late_end), before_first, "cap");
  open.skip(plan.skip, before_first, open.until(), "overlap", plan.fire);
  return plan;
}

TickPlan skip_ticks(const ScheduleSpec& spec, const TickRule& rule, const PlanFacts& facts, std::string reason) {
  const OpenTicks open(spec, rule, facts);
  TickPlan plan{.fire = {}, .skip = {}, .to = open.last()};
  if (plan.to) open.skip(plan.skip, open.after(), open.until(), reason);
  return plan;
}

std::optional<WallTime> next_tick(const ScheduleSpec& spec, const TickRule& rule, WallTime after) {
  if (spec.starts) after = std::max(after, *spec.starts - kLeast);
  const std::optional<WallTime> tick = rule.next(after);
  return tick && spec.ends && *tick > *spec.ends ? std::nullopt : tick;
}

}  // namespace fenceline
