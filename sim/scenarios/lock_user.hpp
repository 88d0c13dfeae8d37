// One of those in a process that want locks: takes one after the other through the lock client, acts under it, and
// gives it back or does not.
#pragma once

#include <stop_token>
#include <string>

#include "services/lock_client.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

class LockUser {
 public:
  // All must outlive it. `number`: among those of its process.
  LockUser(World& world, SimRuntime& process, LockClient& client, int number);

  // Until it is asked to stop.
  void run(std::stop_token stop);

 private:
  void take_one(std::stop_token stop);
  void sweep(std::stop_token stop);
  void lead(std::stop_token stop);

  LockOptions some_options();
  Duration some_work();
  // Acts until its time is over or it is told to end.
  void act_under(const HeldLock& held, Duration takes);
  void act(const HeldLock& held);
  void give_back(HeldLock& held);
  void check_code(const Error& error);
  bool chance(double share);

  World& world_;
  SimRuntime& process_;
  LockClient& client_;
  std::string name_;
};

}  // namespace fenceline::sim
