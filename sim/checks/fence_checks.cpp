// L2: fences only grow, whatever a store forgets, and end at 2^53-1 without a wrap. And what a store may forget.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

// Over all that ever had this name: the job itself, one of its id that was tidied, its group; and what a lost tail had.
void StoreChecks::see_fence(const Applied& when, const KnownJob& job, Fence fence) {
  const auto above = [&](const auto& fences, const auto& name, std::string_view of) {
    const auto last = fences.find(name);
    if (last != fences.end() && fence <= last->second)
      broken(
          "L2", job.id,
          "has fence " + std::to_string(fence) + " after " + std::to_string(last->second) + " of " + std::string(of));
  };
  const Slots::Name group{job.queue, job.group};
  above(tidied_, job.id, "a job of its name that is gone");
  if (!job.group.empty()) above(group_fences_, group, "its group");
  const bool set_back = when.wall < wall_high_;
  if (set_back && (told_.contains(job.id) || told_of_groups_.contains(group))) tally_.add(Count::fences_excused);
  if (!set_back) {
    above(told_, job.id, "a grant that the store forgot");
    if (!job.group.empty()) above(told_of_groups_, group, "its group that the store forgot");
  }
  if (told_.contains(job.id)) tally_.add(Count::granted_after_loss);
  if (!job.group.empty()) group_fences_[group] = std::max(group_fences_[group], fence);
}

void StoreChecks::see_refused_for_fences(const Applied& when, const Error& error) {
  if (error.code != Code::refused) return;
  tally_.add(Count::fences_refused);
  const bool clock_is_past = when.wall.time_since_epoch().count() > kFenceMax;
  const bool used_up =
      std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.fence >= kFenceMax; });
  if (!clock_is_past && !used_up)
    violations_.add("J8", "a call was refused though there are fences left: " + error.message);
}

void StoreChecks::went_back(const StoreTruth& before, GuaranteeClass guarantee) {
  const auto missing = [&](const JobId& id) { return !before.jobs_.contains(id) && !before.tidied_.contains(id); };
  if (guarantee <= GuaranteeClass::b) {
    for (const JobId& id : acknowledged_) {
      if (missing(id) && !forgotten_jobs_.contains(id)) broken("J1", id, "was acknowledged and is gone after a crash");
    }
  } else {
    for (const auto& [id, job] : jobs_) {
      if (missing(id)) forgotten_jobs_.insert(id);
      if (job.fence > 0) told_[id] = std::max(told_[id], job.fence);
      const auto same = before.jobs_.find(id);
      const bool as_it_was = same != before.jobs_.end() && same->second.state == JobState::running &&
                             same->second.fence == job.fence && same->second.lease_end == job.lease_end;
      if (job.state == JobState::running && !as_it_was) forgotten_.insert({id, job.fence});
    }
    for (const auto& [id, fence] : tidied_) told_[id] = std::max(told_[id], fence);
    for (const auto& [name, fence] : group_fences_) told_of_groups_[name] = std::max(told_of_groups_[name], fence);
    for (const auto& [delivery, slot] : kept_) forgotten_.insert(delivery);
  }
  static_cast<StoreTruth&>(*this) = before;
}

}  // namespace fenceline::sim
