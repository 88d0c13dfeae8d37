// What of ticks and schedules is forgotten. Of fired ticks that go the largest stays as the bar, so that none of them
// fires again (S1).
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "backends/sqlite/schedule_rows.hpp"

namespace fenceline::sqlite {
namespace {

// Up to where rows of a schedule may go: a bar after its account would end ticks that are open.
#define FENCELINE_GOES_UP_TO "CASE WHEN s.removed THEN 9223372036854775807 ELSE s.resolved_to END"

// A range's age is that of its last tick, its place that of its first. At most one of a schedule is old at its first
// and not at its last.
constexpr const char* kOld = R"sql(
  SELECT tick, schedule, 1 FROM fenceline_tick t INDEXED BY fenceline_tick_age
  WHERE ns_id = ?1 AND tick <= ?2 AND tick <= (SELECT )sql" FENCELINE_GOES_UP_TO
                             R"sql( FROM fenceline_schedule s WHERE s.ns_id = t.ns_id AND s.name = t.schedule)
  UNION ALL
  SELECT first, schedule, 0 FROM fenceline_tick_range INDEXED BY fenceline_tick_range_age WHERE ns_id = ?1
    AND first <= ?2 AND last <= ?2
  ORDER BY 1, 2 LIMIT ?3)sql";
constexpr const char* kFull =
    "SELECT name, ticks, " FENCELINE_GOES_UP_TO
    " FROM fenceline_schedule s INDEXED BY fenceline_schedule_full WHERE ns_id = ?1 AND ticks > 10000";
#undef FENCELINE_GOES_UP_TO
constexpr const char* kNextTick = R"sql(
  SELECT tick, 1 FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick > ?3 AND tick <= ?4
  UNION ALL SELECT first, 0 FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2 AND first > ?3
    ORDER BY 1 LIMIT 1)sql";

constexpr const char* kForgetTick = "DELETE FROM fenceline_tick WHERE ns_id = ?1 AND schedule = ?2 AND tick = ?3";
constexpr const char* kForgetRange =
    "DELETE FROM fenceline_tick_range WHERE ns_id = ?1 AND schedule = ?2 AND first = ?3";
constexpr const char* kRaiseBar = R"sql(
  UPDATE fenceline_schedule SET bar = max(bar, ?3), fired_to = max(fired_to, ?3), ticks = ticks - ?4 WHERE ns_id = ?1
    AND name = ?2)sql";

constexpr const char* kRemnants = R"sql(
  SELECT name, bar FROM fenceline_schedule INDEXED BY fenceline_schedule_removed WHERE ns_id = ?1 AND removed = 1
    AND changed_at <= ?2 AND bar <= ?2 AND ticks = 0 ORDER BY name LIMIT ?3)sql";
constexpr const char* kForgetSchedule = "DELETE FROM fenceline_schedule WHERE ns_id = ?1 AND name = ?2";
constexpr const char* kForgetSpec = "DELETE FROM fenceline_schedule_spec WHERE ns_id = ?1 AND name = ?2";

constexpr std::int64_t kBeforeEveryTick = std::numeric_limits<std::int64_t>::min();

// A row of a tick or a range that may go.
struct OverTick {
  std::int64_t tick;
  std::string schedule;
  bool fired;

  bool operator<(const OverTick& other) const {
    return std::tie(tick, schedule) < std::tie(other.tick, other.schedule);
  }
};

std::optional<OverTick> next_of(Call& call, std::int64_t ns_id, const std::string& schedule, std::int64_t after,
                                std::int64_t up_to) {
  auto row = call.db.query(kNextTick, ns_id, schedule, after, up_to);
  return row.next() ? std::optional(OverTick{row.integer(0), schedule, row.integer(1) != 0}) : std::nullopt;
}

// Of schedules with too many rows the smallest, up to `most` over all of them: a seek for each that is met, and one for
// each such schedule.
void add_excess(Call& call, std::int64_t ns_id, std::size_t most, std::set<OverTick>& over) {
  struct Excess {
    std::int64_t rows;
    std::int64_t up_to;
  };
  std::map<std::string, Excess> too_many;
  {
    auto rows = call.db.query(kFull, ns_id);
    while (rows.next()) too_many[rows.text(0)] = {rows.integer(1) - kTicksKeptMost, rows.integer(2)};
  }
  std::set<OverTick> heads;
  for (const auto& [schedule, excess] : too_many) {
    if (auto first = next_of(call, ns_id, schedule, kBeforeEveryTick, excess.up_to)) heads.insert(std::move(*first));
  }
  for (std::size_t met = 0; met < most && !heads.empty(); ++met) {
    OverTick smallest = std::move(heads.extract(heads.begin()).value());
    Excess& excess = too_many.at(smallest.schedule);
    if (--excess.rows > 0) {
      if (auto next = next_of(call, ns_id, smallest.schedule, smallest.tick, excess.up_to))
        heads.insert(std::move(*next));
    }
    over.insert(std::move(smallest));
  }
}

// The smallest of those that may go, at most so many; and whether there are more.
std::set<OverTick> find_over(Call& call, std::int64_t ns_id, std::size_t most, bool& more) {
  std::set<OverTick> over;
  {
    auto rows = call.db.query(kOld, ns_id, call.wall_us() - Duration{kTicksKeptFor}.count(),
                              static_cast<std::int64_t>(most + 1));
    while (rows.next()) over.insert(over.end(), {rows.integer(0), rows.text(1), rows.integer(2) != 0});
  }
  add_excess(call, ns_id, most + 1, over);
  more = over.size() > most;
  while (over.size() > most) over.erase(std::prev(over.end()));
  return over;
}

void forget_ticks(Call& call, std::int64_t ns_id, const std::set<OverTick>& over) {
  struct Gone {
    std::int64_t bar = 0;
    std::int64_t rows = 0;
  };
  std::map<std::string, Gone> gone;
  for (const OverTick& one : over) {
    call.db.execute(one.fired ? kForgetTick : kForgetRange, ns_id, one.schedule, one.tick);
    Gone& of = gone[one.schedule];
    of.rows += 1;
    if (one.fired) of.bar = one.tick;
  }
  for (const auto& [schedule, of] : gone) call.db.execute(kRaiseBar, ns_id, schedule, of.bar, of.rows);
}

// What is left of schedules that were removed long ago.
std::size_t forget_removed(Call& call, std::int64_t ns_id, std::size_t most, bool& more) {
  std::vector<std::string> names;
  WallTime bar{};
  {
    auto rows = call.db.query(kRemnants, ns_id, call.wall_us() - Duration{kRemovedScheduleKeptFor}.count(),
                              static_cast<std::int64_t>(most + 1));
    while (names.size() < most && rows.next()) {
      names.push_back(rows.text(0));
      bar = std::max(bar, wall_time(rows.integer(1)));
    }
    more = more || (names.size() == most && rows.next());
  }
  if (names.empty()) return 0;
  for (const std::string& name : names) {
    call.db.execute(kForgetSchedule, ns_id, name);
    call.db.execute(kForgetSpec, ns_id, name);
  }
  ScheduleCount count = schedule_count(call, ns_id);
  count.bar = std::max(count.bar, bar);
  put_schedule_count(call, ns_id, count);
  return names.size();
}

}  // namespace

TidyReply tidy_ticks(Call& call, std::int64_t ns_id, int limit) {
  TidyReply reply;
  const auto most = static_cast<std::size_t>(limit);
  const std::set<OverTick> over = find_over(call, ns_id, most, reply.more);
  forget_ticks(call, ns_id, over);
  reply.removed = static_cast<std::int64_t>(over.size() + forget_removed(call, ns_id, most, reply.more));
  return reply;
}

}  // namespace fenceline::sqlite
