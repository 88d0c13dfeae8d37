#include "sim/shrink.hpp"

#include <algorithm>
#include <utility>

namespace fenceline::sim {
namespace {

using std::chrono::milliseconds;

// A change of the plan changes everything that chance decides after it, so each candidate gets some worlds.
constexpr std::uint64_t kWorldsForACandidate = 8;
constexpr std::uint64_t kWorldsAtTheEnd = 60;
constexpr std::int64_t kSlack = 10;

class Shrinker {
 public:
  Shrinker(const Scenario& scenario, std::uint64_t seed, StackPool& stacks, const ShrinkOptions& options)
      : scenario_(scenario), seed_(seed), stacks_(stacks), options_(options) {}

  std::optional<Shrunk> run() {
    const SeedReport first = play(scenario_, seed_, stacks_, options_.seed_options);
    if (first.violations.empty()) return std::nullopt;
    plan_ = plan_of(scenario_, seed_);
    promise_ = first.violations.front().promise;
    take({}, first);
    best_.operations_before = best_.operations;
    bool smaller = true;
    while (smaller && goes_on()) {
      smaller = switch_off();
      if (reduce_sizes()) smaller = true;
    }
    reduce_sizes(kWorldsAtTheEnd);
    look_for_a_better_world();
    cut_the_storm();
    return best_;
  }

 private:
  // One try is left for the end of the storm.
  bool goes_on() const { return best_.tries + 1 < options_.tries_most && !options_.seed_options.stop.stop_requested(); }

  // Whether the change, in some world, breaks the same promise. A simpler plan may cost a few operations: they are won
  // back in a better world.
  bool holds(PlanChange candidate, std::uint64_t worlds = kWorldsForACandidate) {
    for (std::uint64_t i = 0; i < worlds && goes_on(); ++i) {
      if (i > 0) candidate.world = i;
      else candidate.world = best_.change.world;
      const std::int64_t most = std::max(best_.operations_before, 2 * kSlack);
      if (try_out(candidate, std::min(most, best_.operations + std::max(kSlack, best_.operations / 4)))) return true;
    }
    return false;
  }

  bool try_out(const PlanChange& candidate, std::int64_t operations_most) {
    best_.tries += 1;
    SeedOptions options = options_.seed_options;
    options.change = candidate;
    options.operations_most = operations_most;
    const SeedReport report = play(scenario_, seed_, stacks_, options);
    const bool same = !report.stopped && !report.violations.empty() && report.violations.front().promise == promise_;
    if (same) take(candidate, report);
    if (options_.progress) options_.progress(best_.tries, best_.operations);
    return same;
  }

  void take(PlanChange change, const SeedReport& report) {
    best_.change = std::move(change);
    best_.violations = report.violations;
    best_.operations = report.tally.of(Count::operations);
    best_took_ = report.simulated;
  }

  // All at once, then in ever smaller parts.
  bool switch_off() {
    bool any = false;
    const auto on = [&] { return best_.change.switches_on.value_or(switches_on(plan_)); };
    for (std::size_t parts = 1; goes_on();) {
      const auto all = on();
      const std::vector<std::string> names(all.begin(), all.end());
      if (names.empty()) break;
      const std::size_t length = (names.size() + parts - 1) / parts;
      bool found = false;
      for (std::size_t from = 0; from < names.size() && !found && goes_on(); from += length) {
        PlanChange candidate = best_.change;
        candidate.switches_on = all;
        for (std::size_t i = from; i < std::min(names.size(), from + length); ++i)
          candidate.switches_on->erase(names[i]);
        found = holds(candidate);
      }
      any = any || found;
      if (!found && length == 1) break;
      if (!found) parts = std::min(names.size(), parts * 2);
    }
    return any;
  }

  // The least first, then towards what it was.
  bool reduce_sizes(std::uint64_t worlds = kWorldsForACandidate) {
    bool any = false;
    for (const PlanSize& size : plan_sizes()) {
      if (size.name == "storm_ms") continue;
      const auto set = best_.change.sizes.find(size.name);
      const std::int64_t now = set == best_.change.sizes.end() ? size_of(plan_, size.name) : set->second;
      for (std::int64_t to = size.least; to < now && goes_on(); to = std::max(to + 1, to + (now - to) / 2)) {
        PlanChange candidate = best_.change;
        candidate.sizes[std::string(size.name)] = to;
        if (holds(candidate, worlds)) {
          any = true;
          break;
        }
        if (now - to < 2) break;
      }
    }
    return any;
  }

  void look_for_a_better_world() {
    for (std::uint64_t world = 1; world <= kWorldsAtTheEnd && goes_on(); ++world) {
      PlanChange candidate = best_.change;
      candidate.world = world;
      try_out(candidate, best_.operations - 1);
    }
  }

  // Last of all, since a shorter one leaves other worlds less time: what comes after the violation does not matter.
  void cut_the_storm() {
    const std::int64_t until = best_took_ / milliseconds{1} + 1;  // in whole ones, for people
    if (until >= plan_.storm / milliseconds{1}) return;
    PlanChange candidate = best_.change;
    candidate.sizes["storm_ms"] = until;
    try_out(candidate, best_.operations);
  }

  const Scenario& scenario_;
  std::uint64_t seed_;
  StackPool& stacks_;
  const ShrinkOptions& options_;
  Plan plan_;
  std::string promise_;
  Shrunk best_;
  Duration best_took_{0};
};

}  // namespace

std::optional<Shrunk> shrink(const Scenario& scenario, std::uint64_t seed, StackPool& stacks,
                             const ShrinkOptions& options) {
  return Shrinker(scenario, seed, stacks, options).run();
}

std::string repeat_line(const Scenario& scenario, std::uint64_t seed, const PlanChange& change) {
  const std::string line = "fenceline sim --scenario " + std::string(scenario.name) + " --seed " + std::to_string(seed);
  return change.empty() ? line : line + " --shrunk " + to_text(change);
}

}  // namespace fenceline::sim
