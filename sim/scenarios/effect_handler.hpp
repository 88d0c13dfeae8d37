// What one delivery does at the provider, each under a name of the ledger.
#pragma once

#include <string>

#include "base/result.hpp"
#include "handler/handler.hpp"
#include "model/effect.hpp"
#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::sim {

class World;

// What must not happen twice, as the provider knows it.
std::string account_of(const JobId& job, const std::string& name);

class EffectHandler {
 public:
  EffectHandler(World& world, SimRuntime& process, const Run& run) : world_(world), process_(process), run_(run) {}

  // All effects of the job, one after the other. False: it cannot go on with this delivery.
  bool perform_all();

 private:
  InDoubt policy() const;
  bool perform(const std::string& name);
  Result<std::string> effect(const std::string& name);
  EffectReport act(const std::string& name, const EffectCall& call);
  bool is_replayed(const std::string& name, const Result<std::string>& result);

  World& world_;
  SimRuntime& process_;
  const Run& run_;
};

}  // namespace fenceline::sim
