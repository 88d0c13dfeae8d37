// Schedules: accounts of ticks.
#include "backends/redis/redis_store.hpp"

namespace fenceline {

Result<SchedulesReply> RedisStore::schedules(const SchedulesRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<StepReply> RedisStore::step_ticks(const StepRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<ChangeScheduleReply> RedisStore::change_schedule(const ChangeScheduleRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<TicksReply> RedisStore::ticks(const TicksRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }

}  // namespace fenceline
