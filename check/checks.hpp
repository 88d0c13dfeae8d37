// The checks of what one job's calls alone do not show. Each tells what it finds; none stops at the first.
#pragma once

#include <functional>

#include "check/call_log.hpp"
#include "check/deliveries.hpp"
#include "check/job_ops.hpp"
#include "check/violation.hpp"

namespace fenceline::audit {

struct Scene {
  const CallLog& log;
  const JobOps& ops;
  const Deliveries& deliveries;
  std::function<void(Violation)> tell;

  // Tells of calls, and of handlers' events if there are some.
  void broken(std::string promise, std::string sentence, std::vector<CallNumber> calls, std::uint32_t job, Time at,
              const std::vector<const HandlerEvent*>& handlers = {}) const;
};

// J2: no more than was asked for, and a repeat grants nothing else. J5: alone, if it must be. L2: in groups, and above
// a floor. L3: no longer than asked for.
void check_grants(const Scene& scene);
// J7: groups and limits. `pause`: a paused queue grants nothing.
void check_slots(const Scene& scene);
// J1: what an enqueue finds, what a batch is told. J6: unique keys.
void check_enqueues(const Scene& scene);
// E1 and E2: each effect of each job, by its name.
void check_effects(const Scene& scene);
// L1 to L4 and L6 of locks; how many there are, and how many grants.
struct LockSums {
  std::int64_t locks = 0;
  std::int64_t grants = 0;
};
LockSums check_locks(const Scene& scene);
// L5, J5 and J7 on the side of the worker.
void check_handlers(const Scene& scene);

// S1 to S3, which need no times: over all clocks. `whole`: every step of anyone is in one of the logs. How many
// schedules there are, and how many ticks of theirs fired.
struct ScheduleSums {
  std::int64_t schedules = 0;
  std::int64_t ticks = 0;
};
ScheduleSums check_schedules(const std::vector<const CallLog*>& logs, bool whole,
                             const std::function<void(Violation)>& tell);

// P1 and what of P2 needs no times, over all clocks in the same way. How many items of pipelines there are, and how
// many moves of theirs.
struct ItemSums {
  std::int64_t items = 0;
  std::int64_t moves = 0;
};
ItemSums check_items(const std::vector<const CallLog*>& logs, bool whole, const std::function<void(Violation)>& tell);

}  // namespace fenceline::audit
