// The side effects of a simulated handler: run.effect of the worker's own code, at a provider that really acts.
#include "sim/scenarios/effect_handler.hpp"

#include <string>

#include "sim/scenarios/provider.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

constexpr int kTriesOfADelivery = 2;

EffectReport as_report(const Provider::Answer& answer) {
  switch (answer.kind) {
    case Provider::Answer::Kind::done: return EffectReport::done(answer.receipt);
    case Provider::Answer::Kind::refused: return EffectReport::none("the provider declined");
    case Provider::Answer::Kind::nothing: break;
  }
  return EffectReport::unknown("no reply");
}

}  // namespace

std::string account_of(const JobId& job, const std::string& name) { return short_id(job) + "/" + name; }

InDoubt EffectHandler::policy() const {
  constexpr InDoubt kPolicies[] = {InDoubt::hold, InDoubt::repeat, InDoubt::probe};
  return kPolicies[run_.job.id.bytes[15] % 3];
}

// A careful handler looks at its trust in the moment in which it acts: whatever begun it, it may have been stopped
// since.
EffectReport EffectHandler::act(const std::string& name, const EffectCall& call) {
  if (process_.now() >= run_.trust->until() || run_.stop.stop_requested())
    return EffectReport::none("there is no time left");
  world_.handlers().acts(process_, run_);
  const bool knows_keys = policy() == InDoubt::repeat;
  return as_report(
      world_.provider().act(process_, account_of(run_.job.id, name), knows_keys ? call.key : "", world_.storm()));
}

Result<std::string> EffectHandler::effect(const std::string& name) {
  EffectOptions options{.in_doubt = policy()};
  if (policy() == InDoubt::probe)
    options.probe = [&](const EffectCall&) {
      return as_report(world_.provider().ask(process_, account_of(run_.job.id, name), world_.storm()));
    };
  return run_.effect(
      name, run_.job.payload, [&](const EffectCall& call) { return act(name, call); }, options);
}

bool EffectHandler::is_replayed(const std::string& name, const Result<std::string>& result) {
  if (!result) {
    const Code code = result.error().code;
    if (code == Code::invalid || code == Code::conflict || code == Code::refused)
      world_.violations().add("E2", "effect " + account_of(run_.job.id, name) + " was answered " +
                                        std::string(to_string(code)) + ": " + result.error().message);
    return false;
  }
  if (*result != world_.provider().receipt(account_of(run_.job.id, name)))
    world_.violations().add("E1",
                            "effect " + account_of(run_.job.id, name) + " has a result that its provider never gave");
  return true;
}

bool EffectHandler::perform(const std::string& name) {
  Random& random = world_.simulation().random();
  const Effects& plan = world_.plan().effects;
  for (int i = 0; i < kTriesOfADelivery; ++i) {
    Task twin;
    const bool two = world_.storm() && random.chance(plan.in_parallel);
    if (two) twin = process_.spawn("twin", [&](std::stop_token) { is_replayed(name, effect(name)); });
    const Result<std::string> result = effect(name);
    if (two) twin.join();
    if (is_replayed(name, result)) return true;
    const bool may_help = result.error().code == Code::unavailable || result.error().code == Code::in_doubt;
    if (!may_help || run_.stop.stop_requested() || process_.now() >= run_.trust->until()) return false;
  }
  return false;
}

bool EffectHandler::perform_all() {
  Random& random = world_.simulation().random();
  const Effects& plan = world_.plan().effects;
  for (int i = 0; i < plan.of_a_job; ++i) {
    const std::string name = "effect-" + std::to_string(i + 1);
    if (!perform(name)) return false;
    if (!random.chance(plan.other_request)) continue;
    const auto other = run_.effect(name, run_.job.payload + " ", [&](const EffectCall&) {
      world_.violations().add(
          "E1", "effect " + account_of(run_.job.id, name) + " was begun for another request after it was done");
      return EffectReport::none("never");
    });
    if (other)
      world_.violations().add("E1", "effect " + account_of(run_.job.id, name) + " was replayed for another request");
  }
  return true;
}

}  // namespace fenceline::sim
