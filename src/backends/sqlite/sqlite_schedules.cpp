// Schedules: accounts of ticks.
#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<SchedulesReply> SqliteStore::schedules(const SchedulesRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<StepReply> SqliteStore::step_ticks(const StepRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<ChangeScheduleReply> SqliteStore::change_schedule(const ChangeScheduleRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<TicksReply> SqliteStore::ticks(const TicksRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }

}  // namespace fenceline
