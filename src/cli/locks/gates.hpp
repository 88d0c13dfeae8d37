// What the commands of write gates have in common: whose gate, under which fence, where its memory lies, and what the
// store at hand says of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/gate_place.hpp"
#include "fenceline/gated_file.hpp"
#include "gates/gate_memory.hpp"

namespace fenceline::cli {

inline constexpr const char* kGateResourceHelp =
    "resource whose fences are compared: a lock, a job's id, any name, group:QUEUE/GROUP; - for the current lock "
    "(FENCELINE_LOCK), or the group of the current job (FENCELINE_QUEUE, FENCELINE_GROUP)";
inline constexpr const char* kGateFenceHelp = "fence of the writer's lease; - for the current one (FENCELINE_FENCE)";

OptionSpec gates_option();
OptionSpec gate_wait_option();

// Errors: usage (not a fence; - outside of a handler; - in a job without a group), invalid (not a valid resource).
struct GateClaim {
  std::string resource;
  Fence fence = 0;
  std::string rebase{};  // the command that lifts the store above this gate
};
Result<GateClaim> gate_claim(const Invocation& invocation);
Result<std::string> gate_resource(const Invocation& invocation);
Result<Duration> gate_wait(const Invocation& invocation);

// Asks the current store for the newest fence of a resource that is the id of one of its jobs, or the current lock; for
// another resource, for that of the current lock or job if resource or fence are taken from it. Whether there is such a
// store is found out at once; it is asked later, when the gate is held.
class NewestGrant {
 public:
  // Errors: as opening the store, but one that is not there is none.
  static Result<NewestGrant> of(Invocation& invocation, const std::string& resource);
  Result<std::optional<Fence>> ask() const;
  bool asks() const { return store_.has_value(); }
  // How its holder gets a new grant, and with it a larger fence.
  std::string again() const;

 private:
  std::optional<Session> store_;  // none: it is not asked
  std::string ns_;
  JobId job_{};
  std::string lock_;  // empty: it is about the job
};

// Why a fence was refused: stale and behind apart, with what to do.
Error gate_refusal(const GateClaim& claim, const NewestGrant& store, const GateAnswer& answer);

// With --json, one object: {"resource":…,"fence":…,"verdict":…,"remembered":…,"newest":…}, and a refusal as an error.
Result<int> tell_gate(const Invocation& invocation, const GateClaim& claim, const NewestGrant& store,
                      const GateAnswer& answer);

}  // namespace fenceline::cli
