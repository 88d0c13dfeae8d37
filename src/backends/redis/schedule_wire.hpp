// Schedules and their ticks as the scripts keep them (see lua/16_schedule_rows.lua), and as C++ knows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire.hpp"
#include "store/schedule_store.hpp"

namespace fenceline::redis {

// As lua/19_steps.lua takes it.
std::string packed(const TickStep& step);
std::string packed(const SkippedTicks& range);

ScheduleRow schedule_in(const std::string& name, std::string_view row, const std::string& spec);
UnfinishedRun unfinished_in(const Value& run);
TickRow tick_in(std::string_view row);
std::vector<WallTime> walls_in(const Value& list);

}  // namespace fenceline::redis
