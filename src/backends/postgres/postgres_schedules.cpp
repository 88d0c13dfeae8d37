// Schedules: accounts of ticks.
#include "backends/postgres/postgres_store.hpp"

namespace fenceline {

Result<SchedulesReply> PostgresStore::schedules(const SchedulesRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<StepReply> PostgresStore::step_ticks(const StepRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<ChangeScheduleReply> PostgresStore::change_schedule(const ChangeScheduleRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }
Result<TicksReply> PostgresStore::ticks(const TicksRequest& /*request*/) { return fail(Code::refused, "schedules are not kept here yet"); }

}  // namespace fenceline
