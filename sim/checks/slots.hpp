// Who takes which slot of a queue, a group and a limit key at one moment (J7), counted anew from the known jobs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/time.hpp"
#include "sim/checks/known_job.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// A slot of a delivery that an operator ended: taken until its worker says stopped, or until `end`.
struct KeptSlot {
  std::string queue;
  std::string group;
  std::string limit_key;
  std::string owner;
  Instant end{};
};

struct KnownQueue {
  QueueSettings settings;
  bool paused = false;
};

// Why a job is not granted. `no`: nothing is in its way.
enum class Blocked { no, not_waiting, paused, not_its_time, own_slot, group, limit, limit_key };

class Slots {
 public:
  using Name = std::pair<std::string, std::string>;  // a queue, and a group or limit key in it

  Slots(const std::map<JobId, KnownJob>& jobs, const std::map<Holding, KeptSlot>& kept,
        const std::map<std::string, KnownQueue>& queues);

  // Of a job that is ready, or whose lease ran out.
  Blocked why(const KnownJob& job, Instant now, WallTime wall) const;
  // It was granted after the count.
  void take(const std::string& queue, const std::string& group, const std::string& limit_key);

 private:
  const std::map<std::string, KnownQueue>& queues_;
  std::map<std::string, int> in_queue_;
  std::map<Name, int> under_key_;
  std::set<Name> groups_taken_;
  std::map<Name, std::int64_t> first_place_;  // of the unfinished jobs of a group
  std::set<JobId> keeps_slot_;
};

}  // namespace fenceline::sim
