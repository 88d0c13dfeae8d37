// Schedules: accounts of ticks.
#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<SchedulesReply> MemoryStore::schedules(const SchedulesRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<StepReply> MemoryStore::step_ticks(const StepRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<ChangeScheduleReply> MemoryStore::change_schedule(const ChangeScheduleRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<TicksReply> MemoryStore::ticks(const TicksRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }

}  // namespace fenceline
