// The rows of schedules, of their ticks that fired and of ranges that were skipped. What a row means is said in
// schedule_store.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

inline std::int64_t us(WallTime at) { return at.time_since_epoch().count(); }

// A request that is known again, with the ticks that were duplicates in its step.
struct KnownRequest {
  std::string id;
  std::vector<WallTime> duplicates;
};

struct ScheduleRecord {
  ScheduleRow row;         // without spec and unfinished, unless it was asked for
  KnownRequest changed;    // the last change
  KnownRequest moved;      // the last that moved the account
  std::int64_t ticks = 0;  // rows that it has of ticks and ranges
};

// All only read.
std::optional<ScheduleRecord> find_schedule(Call& call, std::int64_t ns_id, const std::string& name);
std::string spec_of(Call& call, std::int64_t ns_id, const std::string& name);
// What changed after that version, by version; and those that are there, by name after that one. With their specs; at
// most so many.
std::vector<ScheduleRecord> changed_schedules(Call& call, std::int64_t ns_id, std::int64_t after, std::int64_t most);
std::vector<ScheduleRecord> schedules_after(Call& call, std::int64_t ns_id, const std::string& after,
                                            std::int64_t most);

// The namespace's count of changes, and the bar of names without a row.
struct ScheduleCount {
  std::int64_t version = 0;
  WallTime bar{};
};
ScheduleCount schedule_count(Call& call, std::int64_t ns_id);
void put_schedule_count(Call& call, std::int64_t ns_id, const ScheduleCount& count);

void put_schedule(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule);
void put_spec(Call& call, std::int64_t ns_id, const std::string& name, const std::string& spec);
// Of one that is there: resolved_to, fired_to, the last that moved it, and how many rows it has.
void put_account(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule);

// Who writes a row of a tick.
struct TickWriter {
  std::string request;
  std::string owner;
  std::string place;
};

// Why a step from here is not taken, as StepAnswer says; none: it may be. Only reads.
Reason refusal_of(Call& call, std::int64_t ns_id, const ScheduleRecord& schedule, const TickStep& step);
// Takes it: writes its rows, moves the account in `schedule`, which the caller writes, and adds the jobs that are to be
// enqueued.
void take_step(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, const TickStep& step, const TickWriter& writer,
               std::vector<NewJob>& jobs);
// Enqueues them. Errors: conflict (one of them is there already).
Result<void> enqueue_all(Call& call, const std::string& ns, std::vector<NewJob> jobs);

// Takes ranges back, and parts of them, that lie after the moment. `kept`: what stays of the range that goes over it.
// False: that does not fit, and nothing was changed.
bool open_ranges_after(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, WallTime to,
                       const std::optional<SkippedTicks>& kept);
// Takes ranges back that end after the moment.
void drop_ranges_beyond(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, WallTime at);

// The part of tidy() that concerns ticks and schedules that were removed.
TidyReply tidy_ticks(Call& call, std::int64_t ns_id, int limit);

}  // namespace fenceline::sqlite
