#include <algorithm>
#include <map>

#include "check/checks.hpp"
#include "check/limits.hpp"

namespace fenceline::audit {
namespace {

std::string count(std::size_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

void check_claim(const Scene& scene, CallNumber number) {
  const CallLog& log = scene.log;
  const Call& call = log.calls[number];
  if (call.limit >= 0 && call.item_count > static_cast<std::uint32_t>(call.limit))
    scene.broken("J2",
                 "a claim of at most " + count(static_cast<std::size_t>(call.limit), "job") + " returned " +
                     std::to_string(call.item_count),
                 {number}, 0, call.answered);
  for (std::uint32_t i = 0; i < call.item_count; ++i) {
    const Item& item = log.items[call.items + i];
    const std::string job = "job " + log.job_text(item.job);
    if (item.stage != call.stage)
      scene.broken("P1",
                   job + " was granted at stage '" + std::string(log.text(item.stage)) + "' to a claim of stage '" +
                       std::string(log.text(call.stage)) + "'",
                   {number}, item.job, call.answered);
    if (item.amount > call.ttl && call.ttl > 0)
      scene.broken("L3", job + " was granted for longer than its ttl", {number}, item.job, call.answered);
    if (item.losses_in_row < kLossesBeforeAlone) continue;
    if (call.holds_others)
      scene.broken("J5", job + " must run alone and was granted to a worker that holds others", {number}, item.job,
                   call.answered);
    if (call.item_count > 1)
      scene.broken("J5", job + " must run alone and was granted among others", {number}, item.job, call.answered);
  }
}

// A claim that granted something, sent again within its ttl, returns of that and grants nothing.
void check_repeats(const Scene& scene) {
  const CallLog& log = scene.log;
  std::map<std::pair<Name, Name>, std::vector<CallNumber>> claims;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.verb == Verb::claim && call.status == Status::ok && call.request != 0)
      claims[{call.owner, call.request}].push_back(number);
  }
  const auto granted = [&](const Call& call, const Item& item) {
    return std::any_of(log.items_of(call), log.items_of(call) + call.item_count,
                       [&](const Item& one) { return one.job == item.job && one.fence == item.fence; });
  };
  for (auto& [key, numbers] : claims) {
    std::size_t granting = 0;  // from its grant the ttl runs
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const Call& first = log.calls[numbers[granting]];
      const Call& second = log.calls[numbers[i]];
      const bool within =
          log.about.lease_times && first.answered < second.asked && second.answered < first.asked + first.ttl;
      if (first.item_count == 0 || !within) {
        if (second.item_count > 0) granting = i;
        continue;
      }
      for (std::uint32_t k = 0; k < second.item_count; ++k) {
        const Item& item = log.items[second.items + k];
        if (granted(first, item)) continue;
        scene.broken("J2",
                     "job " + log.job_text(item.job) + " was granted by the repeat of a claim that had granted others",
                     {numbers[granting], numbers[i]}, item.job, second.answered);
        break;
      }
    }
  }
}

// Every fence of a group is above all that the group had before.
void check_group_fences(const Scene& scene) {
  std::map<std::pair<Name, Name>, std::vector<const Delivery*>> groups;
  for (const Delivery& delivery : scene.deliveries.all()) {
    const JobEntry& job = scene.log.jobs[delivery.job];
    if (job.group != 0) groups[{job.queue, job.group}].push_back(&delivery);
  }
  for (auto& [key, grants] : groups) {
    std::vector<const Delivery*> by_answer = grants;
    std::sort(by_answer.begin(), by_answer.end(),
              [](const Delivery* a, const Delivery* b) { return a->answered < b->answered; });
    std::sort(grants.begin(), grants.end(), [](const Delivery* a, const Delivery* b) { return a->asked < b->asked; });
    const Delivery* largest = nullptr;
    std::size_t before = 0;
    for (const Delivery* grant : grants) {
      for (; before < by_answer.size() && by_answer[before]->answered < grant->asked; ++before) {
        if (largest == nullptr || by_answer[before]->fence > largest->fence) largest = by_answer[before];
      }
      if (largest == nullptr || largest->fence < grant->fence || largest->job == grant->job) continue;
      scene.broken("L2",
                   "job " + scene.log.job_text(grant->job) + " was granted under fence " +
                       std::to_string(grant->fence) + " after fence " + std::to_string(largest->fence) +
                       " of its group",
                   {largest->call, grant->call}, grant->job, grant->answered);
      break;
    }
  }
}

// Whoever raised the floor was told of it: all that is granted from then on lies above.
void check_floors(const Scene& scene) {
  const CallLog& log = scene.log;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    const bool forgotten =
        std::any_of(log.forgotten.begin(), log.forgotten.end(), [&](Time at) { return at >= call.asked; });
    if (call.verb != Verb::raise_floor || call.status != Status::ok || forgotten) continue;
    for (const Delivery& delivery : scene.deliveries.all()) {
      if (delivery.asked <= call.answered || delivery.fence > call.left) continue;
      scene.broken("L2",
                   "job " + log.job_text(delivery.job) + " was granted under fence " + std::to_string(delivery.fence) +
                       ", below the floor " + std::to_string(call.left),
                   {number, delivery.call}, delivery.job, delivery.answered);
      break;
    }
  }
}

}  // namespace

void check_grants(const Scene& scene) {
  for (CallNumber number = 0; number < scene.log.calls.size(); ++number) {
    const Call& call = scene.log.calls[number];
    if (call.verb == Verb::claim && call.status == Status::ok) check_claim(scene, number);
  }
  check_repeats(scene);
  check_group_fences(scene);
  check_floors(scene);
}

}  // namespace fenceline::audit
