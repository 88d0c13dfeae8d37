// What operators do about effects: they look at what is in doubt, wait until nothing of it can be under way, read the
// provider's own books and say what became of it. And gates: they lift the floor of a store that was restored.
#include <algorithm>

#include "sim/scenarios/effect_handler.hpp"
#include "sim/scenarios/process.hpp"
#include "sim/scenarios/provider.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

using namespace std::chrono_literals;

// Whoever had begun it may act until its lease would have ended, also if an operator revoked it, and its request
// travels on.
Duration World::doubt_is_ripe_after() const { return 2 * plan_.ttl + 1s; }

std::optional<std::string> World::in_the_books(const Effect& effect) const {
  return options_.books ? options_.books(effect) : provider_->receipt(account_of(effect.job, effect.name));
}

Result<void> World::resolve_doubts(Store& store) {
  EffectsRequest look{.ns = std::string(kNamespace), .in_doubt = true, .timeout = kOperatorTimeout};
  while (true) {
    const Result<EffectsReply> page = store.effects(look);
    if (!page) return std::unexpected(page.error());
    for (const Effect& effect : page->effects) {
      const Instant seen =
          doubts_seen_.emplace(std::tuple{effect.job, effect.name, effect.call}, simulation_.now()).first->second;
      if (simulation_.now() - seen < doubt_is_ripe_after()) continue;
      const std::optional<std::string> found = in_the_books(effect);
      const Result<void> resolved = store.resolve_effect({.ns = std::string(kNamespace),
                                                          .job = effect.job,
                                                          .name = effect.name,
                                                          .call = effect.call,
                                                          .done = found.has_value(),
                                                          .result = found.value_or(""),
                                                          .act = {"operator", "as their books say"},
                                                          .timeout = kOperatorTimeout});
      const bool again =
          !resolved && (resolved.error().code == Code::in_doubt || resolved.error().code == Code::unavailable);
      if (again) return resolved;
    }
    if (!page->next) return {};
    look.after = *page->next;
  }
}

// What each effect is called is what its provider did.
void World::books_agree() {
  for (const auto& [id, job] : checks_->jobs()) {
    for (const auto& [name, effect] : job.effects) {
      const std::string account = account_of(id, name);
      const std::optional<std::string> receipt = provider_->receipt(account);
      const bool done = effect.state == EffectState::done;
      if (done != receipt.has_value())
        violations_.add("E1", "effect " + account + " is " + std::string(to_string(effect.state)) +
                                  ", and its provider " + (receipt ? "did it" : "did nothing"));
      if (done && receipt && effect.result != *receipt)
        violations_.add("E1", "effect " + account + " has another result than its provider gave");
    }
  }
}

}  // namespace fenceline::sim
