// What makes a request about schedules malformed, the same on every backend.
#include <algorithm>
#include <functional>
#include <set>

#include "base/utf8.hpp"
#include "store/request_checks.hpp"
#include "store/store.hpp"

namespace fenceline {
namespace {

// A job of a schedule has no key: what becomes of a tick while another one's job is there is the schedule's own rule.
Result<void> check_job(const NewJob& job) {
  if (!job.key.empty()) return fail(Code::invalid, "a job of a schedule has no unique key");
  return check_new_job(job);
}

bool in_range(WallTime at) { return at >= WallTime{} && at <= kRunAtMost; }

Result<void> check_range(const SkippedTicks& range) {
  if (range.last < range.first || range.count < 1 || (range.count == 1) != (range.first == range.last))
    return fail(Code::invalid, "a range of ticks has a first and a last one, and all of them are counted");
  if (range.reason.empty() || range.reason.size() > kNameBytesMax || !is_valid_utf8(range.reason))
    return fail(Code::invalid, "a reason must have 1 to 128 bytes of UTF-8");
  return {};
}

// `jobs`: ids that were named before, and those of the step.
Result<void> check_step(const TickStep& step, std::set<JobId>& jobs) {
  if (auto ok = check_schedule_name(step.schedule); !ok) return ok;
  if (step.revision < 1) return fail(Code::invalid, "a step needs the revision of its schedule");
  if (!in_range(step.from) || !in_range(step.to) || step.to <= step.from)
    return fail(Code::invalid, "a step must lead from one instant to a later one, up to the year 2200");
  for (const FiredTick& fired : step.fired) {
    if (fired.tick <= step.from || fired.tick > step.to) return fail(Code::invalid, "a tick lies outside of its step");
    if (auto ok = check_job(fired.job); !ok) return ok;
    if (!jobs.insert(fired.job.id).second)
      return fail(Code::invalid, "job " + to_string(fired.job.id) + " was named twice");
  }
  if (jobs.size() > static_cast<std::size_t>(kBatchMax))
    return fail(Code::invalid, "too many ticks in one call: at most 10000");
  if (std::ranges::adjacent_find(step.fired, std::greater_equal<>{}, &FiredTick::tick) != step.fired.end())
    return fail(Code::invalid, "the ticks of a step must ascend");
  for (const SkippedTicks& range : step.skipped) {
    if (auto ok = check_range(range); !ok) return ok;
    if (range.first <= step.from || range.last > step.to)
      return fail(Code::invalid, "a range of ticks lies outside of its step");
    const auto fired = std::ranges::lower_bound(step.fired, range.first, {}, &FiredTick::tick);
    if (fired != step.fired.end() && fired->tick <= range.last)
      return fail(Code::invalid, "a tick both fires and is skipped");
  }
  const auto overlap = [](const SkippedTicks& a, const SkippedTicks& b) { return b.first <= a.last; };
  if (std::ranges::adjacent_find(step.skipped, overlap) != step.skipped.end())
    return fail(Code::invalid, "the ranges of a step must ascend");
  return {};
}

}  // namespace

Result<void> check_request(const SchedulesRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (request.names.size() > static_cast<std::size_t>(kSchedulesAtOnceMax))
    return fail(Code::invalid, "too many schedules in one call: at most 1000");
  std::set<std::string> seen;
  for (const std::string& name : request.names) {
    if (auto ok = check_schedule_name(name); !ok) return ok;
    if (!seen.insert(name).second) return fail(Code::invalid, "schedule " + name + " was named twice");
  }
  if (!request.after.empty()) {
    if (auto ok = check_schedule_name(request.after); !ok) return ok;
  }
  if (request.changed_after && *request.changed_after < 0) return fail(Code::invalid, "a version is not negative");
  const int ways = (request.names.empty() ? 0 : 1) + (request.changed_after ? 1 : 0) + (request.after.empty() ? 0 : 1);
  if (ways > 1) return fail(Code::invalid, "schedules are asked for by name, by what changed, or all of them");
  return check_limit(request.limit, kSchedulesAtOnceMax);
}

Result<void> check_request(const StepRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_id("owner", request.owner); !ok) return ok;
  if (auto ok = check_id("request", request.request); !ok) return ok;
  if (auto ok = check_note("place", request.place); !ok) return ok;
  if (request.steps.empty() || request.steps.size() > static_cast<std::size_t>(kSchedulesAtOnceMax))
    return fail(Code::invalid, "a call has 1 to 1000 steps");
  std::set<std::string> names;
  std::set<JobId> jobs;
  for (const TickStep& step : request.steps) {
    if (auto ok = check_step(step, jobs); !ok) return ok;
    if (!names.insert(step.schedule).second)
      return fail(Code::invalid, "schedule " + step.schedule + " was named twice");
  }
  return {};
}

Result<void> check_request(const ChangeScheduleRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_schedule_name(request.name); !ok) return ok;
  if (auto ok = check_id("owner", request.owner); !ok) return ok;
  if (auto ok = check_id("request", request.request); !ok) return ok;
  if (auto ok = check_note("place", request.place); !ok) return ok;
  if (auto ok = check_act(request.act); !ok) return ok;
  const bool puts = request.change == ScheduleChange::put;
  const bool rewinds = request.change == ScheduleChange::rewind;
  const bool runs = request.change == ScheduleChange::run;
  if (request.revision < 0 || (request.revision == 0 && !puts))
    return fail(Code::invalid, "a change needs the revision of its schedule");
  if (request.step) {
    if (runs || request.revision == 0) return fail(Code::invalid, "this change has no step");
    if (request.step->schedule != request.name || request.step->revision != request.revision)
      return fail(Code::invalid, "the step is of another schedule or revision");
    std::set<JobId> jobs;
    if (auto ok = check_step(*request.step, jobs); !ok) return ok;
  }
  if (puts != !request.spec.empty() || request.spec.size() > kScheduleSpecBytesMax || !is_valid_utf8(request.spec))
    return fail(Code::invalid, "a schedule's definition must have 1 to 131072 bytes of UTF-8");
  if (rewinds) {
    if (request.step) return fail(Code::invalid, "this change has no step");
    if (!in_range(request.to) || !in_range(request.from) || request.to >= request.from)
      return fail(Code::invalid, "a schedule can only be moved back, to an instant before its current one");
    if (request.kept) {
      if (auto ok = check_range(*request.kept); !ok) return ok;
      if (request.kept->last > request.to)
        return fail(Code::invalid, "ticks to keep lie before the instant that the schedule is moved back to");
    }
  }
  if (runs != request.job.has_value()) return fail(Code::invalid, "only a run has a job, and it needs one");
  return runs ? check_job(*request.job) : Result<void>{};
}

Result<void> check_request(const TicksRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_schedule_name(request.schedule); !ok) return ok;
  return check_limit(request.limit, kSchedulesAtOnceMax);
}

}  // namespace fenceline
