// What must be true of a store at one moment: a value, so that the checks can go back with a store that forgot.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/checks/known_job.hpp"
#include "sim/checks/slots.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

struct StoreTruth {
  // A claim that granted something or was given back: until `end` it may grant nothing more.
  struct ClaimSeen {
    Instant end{};
    std::set<Holding> granted;
  };
  // An id that stands for another job, which has its unique key.
  struct Alias {
    JobId of;
    WallTime since;
    bool may_be_gone = false;  // a tidy found it old enough, whatever the clock was set to later
  };
  // A name of a batch.
  struct BatchSeen {
    WallTime first;
    bool may_be_gone = false;
  };

  std::map<JobId, KnownJob> jobs_;
  std::map<std::string, KnownQueue> queues_;
  std::map<Slots::Name, JobId> keys_;  // by queue and unique key: who took it last
  std::map<JobId, Alias> aliases_;
  std::map<JobId, Fence> tidied_;  // the newest fence of what is gone
  std::map<Slots::Name, Fence> group_fences_;
  std::map<Slots::Name, JobId> group_last_;  // the last job granted of a group
  std::map<std::string, BatchSeen> batches_;
  std::map<Holding, KeptSlot> kept_;
  std::map<Holding, Instant> revoked_;
  std::set<Holding> held_;                                           // those of them that a doubt about an effect ended
  std::map<std::pair<std::string, std::string>, ClaimSeen> claims_;  // by owner and request
  struct GivenOrder {
    WorkerOrder order = WorkerOrder::work;
    WallTime at;
  };
  std::map<std::string, GivenOrder> orders_;  // the last one of each owner that had one
  std::set<std::string> unsure_orders_;       // of these it may be forgotten: the store's wall clock leapt since
  Fence floor_ = 0;                           // that an operator raised
  std::int64_t sequence_ = 0;
  std::int64_t unfinished_ = 0;
};

}  // namespace fenceline::sim
