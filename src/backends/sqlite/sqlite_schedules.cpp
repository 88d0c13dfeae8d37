// Schedules as calls of the store: each is a call of its namesake in verbs.hpp.
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {

using sqlite::read;
using sqlite::Weight;
using sqlite::write;

namespace {

void add_step(Weight& weight, const TickStep& step) {
  weight.rows += step.fired.size() + step.skipped.size();
  for (const FiredTick& fired : step.fired) weight.bytes += fired.job.payload.size();
}

Weight weight_of(const StepRequest& request) {
  Weight weight{request.steps.size(), 0};
  for (const TickStep& step : request.steps) add_step(weight, step);
  return weight;
}

Weight weight_of(const ChangeScheduleRequest& request) {
  Weight weight{1, request.spec.size()};
  if (request.step) add_step(weight, *request.step);
  if (request.job) weight.bytes += request.job->payload.size();
  return weight;
}

}  // namespace

Result<SchedulesReply> SqliteStore::schedules(const SchedulesRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<SchedulesReply>(*parts_, [&](sqlite::Call& call) { return sqlite::list_schedules(call, request); });
}

Result<StepReply> SqliteStore::step_ticks(const StepRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::step_ticks);
}

Result<ChangeScheduleReply> SqliteStore::change_schedule(const ChangeScheduleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::change_schedule);
}

Result<TicksReply> SqliteStore::ticks(const TicksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<TicksReply>(*parts_, [&](sqlite::Call& call) { return sqlite::list_ticks(call, request); });
}

}  // namespace fenceline
