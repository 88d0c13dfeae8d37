// The part of Holdings that is about deliveries which an operator ended: cancelled, or retried while they ran.
#include <iterator>

#include "services/holdings.hpp"

namespace fenceline {

std::vector<DeliveryPtr> Holdings::revoke(const std::vector<Holding>& revoked, Instant now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unseen_, [&](const auto& entry) { return now >= entry.second; });
  std::vector<DeliveryPtr> changed;
  for (const Holding& holding : revoked) {
    const auto found = all_.find(holding);
    if (found == all_.end()) {
      // Refused, given up or never started here; or the answer to its claim is still on its way.
      stopped_.try_emplace(holding, now + times_.ttl);
      unseen_.try_emplace(holding, now + times_.ttl + kCallTimeout);
      continue;
    }
    const DeliveryPtr delivery = found->second;
    if (delivery->revoked) continue;
    delivery->revoked = true;
    std::erase(late_, delivery);            // its refusal is known
    delivery->ended_by = now + times_.ttl;  // a renewal may have been granted whose answer got lost
    if (!delivery->lost) give_up(delivery, now);
    if (delivery->phase != Phase::running) {  // a handler keeps its place here until it has returned
      all_.erase(holding);
      stopped_[holding] = delivery->ended_by;
    }
    changed.push_back(delivery);
  }
  return changed;
}

std::vector<Holding> Holdings::stopped(Instant now) {
  const std::lock_guard lock(mutex_);
  std::vector<Holding> found;
  for (auto it = stopped_.begin(); it != stopped_.end();) {
    it = now >= it->second ? stopped_.erase(it) : std::next(it);
  }
  for (const auto& [holding, until] : stopped_) found.push_back(holding);
  return found;
}

void Holdings::told_stopped(const std::vector<Holding>& holdings) {
  const std::lock_guard lock(mutex_);
  for (const Holding& holding : holdings) stopped_.erase(holding);
}

}  // namespace fenceline
