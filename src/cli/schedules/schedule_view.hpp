// Schedules and their ticks as people and scripts see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"
#include "services/schedule_steps.hpp"

namespace fenceline::cli {

// One JSON object on one line; with its payload if that was asked for.
std::string schedule_json(const ScheduleRow& row, bool with_payload = false);
// `now`: for people at a terminal, who get short times.
Table schedule_table(const std::vector<ScheduleRow>& rows, std::optional<WallTime> now);
// One field a line, with its payload.
Table schedule_card(const ScheduleRow& row);

// A tick that fired, or a range of those that were skipped.
std::string tick_json(const TickRow& row);
Table tick_table(const std::vector<TickRow>& rows);

// "2026-11-17T01:30:00Z", and behind it what the clocks of its zone show then, if that is not UTC.
std::string tick_words(WallTime tick, const std::string& zone);

// The row of that name. Errors: invalid (no name), not_found, with the nearest name.
struct FoundSchedule {
  ScheduleRow row;
  WallTime now;  // of the store
};
Result<FoundSchedule> find_schedule(const Invocation& invocation, Store& store, const std::string& name);
Result<std::vector<ScheduleRow>> all_schedules(const Invocation& invocation, Store& store);
// The same error for one that an act did not find; any other stays as it is.
Error with_nearest_schedule(const Invocation& invocation, Store& store, const std::string& name, const Error& error);

}  // namespace fenceline::cli
