#include "model/tick_rule.hpp"

#include <algorithm>
#include <variant>

#include "base/duration_text.hpp"
#include "model/cron_civil.hpp"
#include "model/job.hpp"
#include "model/time_zone.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;

constexpr WallTime kTickLeast{};  // 1970
constexpr Duration kIntervalLeast = seconds{1}, kIntervalMost = days{366};

}  // namespace

// The kinds of rules; TickRule has one of them as a part.
namespace tick_kinds {

// (after, until], within the years in which there are ticks.
struct Window {
  WallTime after, until;

  Window(WallTime after_given, WallTime until_given)
      : after(std::max(after_given, kTickLeast - Duration{1})), until(std::min(until_given, kRunAtMost)) {}
  bool empty() const { return after >= until; }
};

class IntervalTicks {
 public:
  IntervalTicks(Duration interval, WallTime anchor) : interval_(interval), anchor_(anchor) {}

  std::optional<WallTime> first(const Window& window) const {
    const WallTime tick = anchor_ + (index_until(window.after) + 1) * interval_;
    return tick <= window.until ? std::optional(tick) : std::nullopt;
  }
  std::optional<WallTime> last(const Window& window) const {
    const WallTime tick = anchor_ + index_until(window.until) * interval_;
    return tick > window.after ? std::optional(tick) : std::nullopt;
  }
  std::int64_t count(const Window& window) const { return index_until(window.until) - index_until(window.after); }

 private:
  // Of the last tick at or before a moment, counted from the anchor.
  std::int64_t index_until(WallTime moment) const {
    const Duration since = moment - anchor_;
    return since / interval_ - (since % interval_ < Duration{0} ? 1 : 0);
  }

  Duration interval_;
  WallTime anchor_;
};

class CronTicks {
 public:
  CronTicks(Cron cron, TimeZone zone) : cron_(cron), zone_(std::move(zone)) {}

  std::optional<WallTime> first(const Window& window) const {
    const auto [begin, end] = whole_seconds(window);
    for (sys_seconds at = begin; at < end;) {
      const Stretch stretch = zone_.at(at);
      if (stretch.begin >= begin && ticks_for_the_gap_before(stretch)) return stretch.begin;
      const auto [from, to] = shown_first_in(stretch, begin, end);
      if (const auto found = first_match(cron_, from, to)) return stretch.instant(*found);
      at = stretch.end;
    }
    return std::nullopt;
  }

  std::optional<WallTime> last(const Window& window) const {
    const auto [begin, end] = whole_seconds(window);
    for (sys_seconds before = end; before > begin;) {
      const Stretch stretch = zone_.at(before - seconds{1});
      const auto [from, to] = shown_first_in(stretch, begin, end);
      if (const auto found = last_match(cron_, from, to)) return stretch.instant(*found);
      if (stretch.begin >= begin && ticks_for_the_gap_before(stretch)) return stretch.begin;
      before = stretch.begin;
    }
    return std::nullopt;
  }

  std::int64_t count(const Window& window) const {
    const auto [begin, end] = whole_seconds(window);
    std::int64_t count = 0;
    for (sys_seconds at = begin; at < end;) {
      const Stretch stretch = zone_.at(at);
      if (stretch.begin >= begin && ticks_for_the_gap_before(stretch)) ++count;
      const auto [from, to] = shown_first_in(stretch, begin, end);
      count += count_matches(cron_, from, to);
      at = stretch.end;
    }
    return count;
  }

 private:
  struct Seconds {
    sys_seconds begin, end;
  };
  struct Shown {
    CivilTime from, to;
  };

  // The window's whole seconds, as [begin, end).
  static Seconds whole_seconds(const Window& window) {
    return {floor<seconds>(window.after) + seconds{1}, floor<seconds>(window.until) + seconds{1}};
  }

  // What the clocks show in the part of the stretch that lies in [begin, end); with named hours, without what they had
  // shown before.
  Shown shown_first_in(const Stretch& stretch, sys_seconds begin, sys_seconds end) const {
    Shown shown{stretch.local(std::max(stretch.begin, begin)), stretch.local(std::min(stretch.end, end))};
    if (!cron_.elapsed) shown.from = std::max(shown.from, stretch.shown);
    return shown;
  }

  // Whether a named hour was left out just before the stretch, and its begin is no tick in any case.
  bool ticks_for_the_gap_before(const Stretch& stretch) const {
    const CivilTime begin = stretch.local(stretch.begin);
    return !cron_.elapsed && first_match(cron_, stretch.shown, begin) && !first_match(cron_, begin, begin + seconds{1});
  }

  Cron cron_;
  TimeZone zone_;
};

}  // namespace tick_kinds

using namespace tick_kinds;

struct TickRule::Parts {
  std::string text, zone;
  std::variant<CronTicks, IntervalTicks> ticks;
};

TickRule::TickRule(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Result<TickRule> TickRule::cron(std::string_view expression, std::string_view zone) {
  if (zone.empty()) zone = "UTC";
  const Result<Cron> sets = parse_cron(expression);
  if (!sets) return std::unexpected(sets.error());
  Result<TimeZone> found = TimeZone::find(zone);
  if (!found) return std::unexpected(found.error());
  return TickRule(std::make_shared<const Parts>(
      Parts{std::string(expression), std::string(zone), CronTicks(*sets, std::move(*found))}));
}

Result<TickRule> TickRule::every(Duration interval, WallTime anchor) {
  if (interval < kIntervalLeast || interval > kIntervalMost)
    return fail(Code::invalid, "interval is out of range; use 1s to 366d");
  if (interval % seconds{1} != Duration{0})
    return fail(Code::invalid, "interval " + format_duration(interval) + " is not in whole seconds");
  if (anchor < kTickLeast || anchor > kRunAtMost)
    return fail(Code::invalid, "the interval's anchor is out of range; use 1970 to 2200");
  const std::string text = "every " + format_duration(interval) + " from " + local_text(anchor, "UTC");
  return TickRule(std::make_shared<const Parts>(Parts{text, "UTC", IntervalTicks(interval, anchor)}));
}

std::optional<WallTime> TickRule::next(WallTime after) const {
  const Window window(after, kRunAtMost);
  if (window.empty()) return std::nullopt;
  return std::visit([&](const auto& ticks) { return ticks.first(window); }, parts_->ticks);
}

std::optional<WallTime> TickRule::last(WallTime after, WallTime until) const {
  const Window window(after, until);
  if (window.empty()) return std::nullopt;
  return std::visit([&](const auto& ticks) { return ticks.last(window); }, parts_->ticks);
}

std::int64_t TickRule::count(WallTime after, WallTime until) const {
  const Window window(after, until);
  if (window.empty()) return 0;
  return std::visit([&](const auto& ticks) { return ticks.count(window); }, parts_->ticks);
}

const std::string& TickRule::zone() const { return parts_->zone; }

const std::string& TickRule::text() const { return parts_->text; }

bool TickRule::operator==(const TickRule& other) const {
  return parts_->text == other.parts_->text && parts_->zone == other.parts_->zone;
}

}  // namespace fenceline
