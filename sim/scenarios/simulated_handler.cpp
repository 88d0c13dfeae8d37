#include "sim/scenarios/simulated_handler.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "sim/scenarios/effect_handler.hpp"

namespace fenceline::sim {

RunResult SimulatedHandler::run(const Run& run) {
  // Also when it throws or its process dies: then it does not run any more either. By then the handler itself may be
  // gone.
  struct Returned {
    HandlerChecks& checks;
    const SimRuntime& process;
    history::Recorder* recorder;
    const Run& run;
    ~Returned() {
      checks.returned(process, run);
      note(recorder, history::Kind::ended, run);
    }
  };
  world_.handlers().started(process_, run);
  note(recorder_, history::Kind::started, run);
  const Returned returned{world_.handlers(), process_, recorder_, run};
  if (world_.options().handler) return world_.options().handler(run, process_, process_.name());

  const Plan& plan = world_.plan();
  Random& random = world_.simulation().random();
  const bool calm = !world_.storm();
  const Duration takes = random.between(Duration{0}, calm ? plan.ttl / 4 : plan.habits.works_most);
  const bool obstinate = !calm && random.chance(plan.habits.obstinate);
  const Instant begun = process_.now();
  if (!work(run, takes, obstinate)) {
    if (world_.checks().revoked_at({run.job.id, run.job.fence})) world_.tally().add(Count::stopped_handlers);
    if (run.job.timeout != Duration{0} && process_.now() - begun >= run.job.timeout)
      world_.tally().add(Count::timeouts);
    return {.kind = random.chance(0.9) ? OutcomeKind::failed : OutcomeKind::done, .error = "stopped"};
  }
  if (takes > 2 * plan.ttl) world_.tally().add(Count::long_runs);
  if (world_.is_poison(run.job.id)) world_.die_of(process_, run);
  if (plan.effects.of_a_job > 0 && !EffectHandler(world_, process_, run).perform_all())
    return {.kind = OutcomeKind::failed, .error = "an effect did not come to its end"};
  if (plan.habits.gated) {
    process_.step();  // it may be stopped here, past its lease
    const GateVerdict verdict = world_.pass_gate(run.job.id, run.job.fence);
    if (verdict == GateVerdict::behind) return {.kind = OutcomeKind::later};
    if (verdict == GateVerdict::stale) return {.kind = OutcomeKind::failed, .error = "a newer holder has passed"};
  }
  return calm ? RunResult{.kind = OutcomeKind::done, .result = "calm"} : result();
}

void SimulatedHandler::act(const Run& run) {
  world_.handlers().acts(process_, run);
  if (std::abs(process_.machine().rate_ppm()) <= world_.plan().drift_promised)
    note(recorder_, history::Kind::acted, run);
  Random& random = world_.simulation().random();
  if (!random.chance(world_.plan().habits.speaks)) return;
  run.progress(static_cast<int>(random.between(0, 100)), "so far");
  run.log("delivery " + std::to_string(run.job.deliveries) + " at " +
          std::to_string(process_.now().time_since_epoch().count()) + "\n");
}

bool SimulatedHandler::work(const Run& run, Duration takes, bool obstinate) {
  const Instant begun = process_.now();
  const Instant end = begun + takes;
  while (true) {
    if (run.stop.stop_requested() && !obstinate) return false;
    // A careful handler looks at the deadline before each act: a paused one cannot be told.
    const Instant trusted = run.trust->until();
    if (process_.now() < trusted && !run.stop.stop_requested()) act(run);
    if (process_.now() > trusted && !run.stop.stop_requested()) {
      world_.handlers().untold(process_, run);
      if (!obstinate) return false;
    }
    const bool overdue =
        run.job.timeout != Duration{0} && process_.now() - begun > run.job.timeout + world_.plan().ttl / 6;
    if (overdue && !run.stop.stop_requested()) world_.handlers().overdue(process_, run);
    if (process_.now() >= end) return true;
    const Instant next_act = process_.now() + world_.plan().ttl / 5;
    const Instant past_trust = process_.now() <= trusted ? trusted + Duration{1} : next_act;
    process_.sleep_until(std::min({end, next_act, past_trust}), obstinate ? std::stop_token{} : run.stop);
  }
}

RunResult SimulatedHandler::result() {
  const Habits& habits = world_.plan().habits;
  Random& random = world_.simulation().random();
  if (random.chance(habits.throws)) throw std::runtime_error("the simulated handler throws");
  if (random.chance(habits.fails)) return {.kind = OutcomeKind::failed, .error = "the simulated handler fails"};
  if (random.chance(habits.dies)) return {.kind = OutcomeKind::dead, .error = "the simulated handler gives up"};
  if (random.chance(habits.later)) return {.kind = OutcomeKind::later};
  return {.kind = OutcomeKind::done, .result = "done"};
}

}  // namespace fenceline::sim
