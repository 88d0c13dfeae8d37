// A gate before the target of a handler's writes: its memory lies beside the target, not in the store, so that a store
// which was restored is seen to be behind. The rule is the production code's; here is what must come of it.
#include <algorithm>

#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

GateVerdict World::pass_gate(const JobId& id, Fence fence) {
  const KnownJob* job = checks_->find(id);
  const std::optional<Fence> newest = job ? std::optional(job->fence) : std::nullopt;
  Fence& remembered = gates_[id];
  const GateVerdict verdict = judge_fence(fence, remembered, newest).verdict;
  const bool overtaken = newest && fence < *newest;
  if (simulation_.trace().on())
    simulation_.trace().write(simulation_.now(), "gate",
                              short_id(id) + "/" + std::to_string(fence) + " " + std::string(to_string(verdict)));
  switch (verdict) {
    case GateVerdict::accepted:
      if (overtaken || fence < remembered)
        violations_.add("gate", "the gate of job " + short_id(id) + " let an older fence through");
      if (behind_.erase(id) > 0) tally_.add(Count::gate_recovered);
      tally_.add(Count::gate_passes);
      remembered = fence;
      break;
    case GateVerdict::stale:
      if (newest && fence == *newest)
        violations_.add("gate", "the gate of job " + short_id(id) + " called its newest holder stale");
      tally_.add(Count::gate_stale);
      break;
    case GateVerdict::behind:
      if (overtaken || fence >= remembered)
        violations_.add("gate", "the gate of job " + short_id(id) + " called a fence behind that is not");
      tally_.add(Count::gate_behind);
      behind_.insert(id);
      break;
  }
  return verdict;
}

// Every fence that is granted from then on is above all that any gate remembers.
Result<void> World::rebase_gates(Store& store) {
  if (behind_.empty()) return {};
  Fence most = 0;
  for (const auto& [id, remembered] : gates_) most = std::max(most, remembered);
  const Result<Fence> raised =
      store.raise_floor({.ns = std::string(kNamespace), .floor = most, .act = {"operator", "the gates remember more"}});
  if (!raised) return std::unexpected(raised.error());
  return {};
}

}  // namespace fenceline::sim
