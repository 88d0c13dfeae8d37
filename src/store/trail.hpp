// What operators did, when and why. Each entry is written in the transaction of its act.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/act.hpp"

namespace fenceline {

struct TrailEntry {
  WallTime at;
  std::string ns;     // empty: the whole store
  std::string actor;  // login name, or --as NAME
  // store_created, store_migrated, boot_changed, namespace_removed; job_cancelled, job_retried (subject: the id);
  // queue_set ("NAME limit=3 keep_done=24h", what was asked for), queue_paused, queue_resumed (NAME), queue_purged
  // ("NAME: 17 jobs"); worker_quiet, worker_stop, worker_work (the owner); effect_resolved ("JOB NAME done" or "none";
  // by the actor "worker": the call itself said done after an operator had said none); floor_raised (the floor);
  // lock_broken ("RESOURCE FENCE", the fence that was ended); schedule_added, schedule_changed, schedule_paused,
  // schedule_resumed, schedule_removed (NAME), schedule_rewound ("NAME TIME"), schedule_run ("NAME JOB");
  // pipeline_applied, pipeline_removed (NAME); item_advanced, item_returned, item_approved, item_rejected, item_moved,
  // item_held, item_released, item_expired ("ID ABOUT")
  std::string act;
  std::string subject;
  std::string reason;

  bool operator==(const TrailEntry&) const = default;
};

inline constexpr int kNamespacesShown = 1000;

class Trail {
 public:
  virtual ~Trail() = default;
  // The newest `limit` entries of the namespace and of the whole store, oldest first.
  virtual Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) = 0;

  // Removes all that a namespace holds, except its trail. The floor is raised in the same step, so that a job of
  // that name enqueued anew never gets an old fence (L2). Repeated: ok.
  virtual Result<void> remove_namespace(const std::string& ns, const Act& act) = 0;

  // Every namespace that ever granted something, perhaps others that were named once; sorted, the first
  // kNamespacesShown.
  virtual Result<std::vector<std::string>> namespaces() = 0;
};

}  // namespace fenceline
