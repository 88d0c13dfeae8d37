// Someone outside of the store who really acts: what happens here has happened, whatever becomes of the reply. Some of
// it knows idempotency keys, some does not. Nothing may happen twice (E1).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/checks/violations.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

class Provider {
 public:
  struct Answer {
    enum class Kind { done, refused, nothing };  // refused: it did not happen; nothing: no reply came
    Kind kind = Kind::nothing;
    std::string receipt;
  };

  // All must outlive it and what it has under way.
  Provider(Simulation& simulation, const Effects& terms, Tally& tally, Violations& violations)
      : simulation_(simulation), terms_(terms), tally_(tally), violations_(violations) {}

  // Sends the request in the very moment of the call: whoever looked at its trust before has not been stopped since. By
  // the end of it nothing is under way any more. `account`: what must not happen twice. `key`: by which it would know a
  // repeat; empty: it knows none.
  Answer act(SimRuntime& process, const std::string& account, const std::string& key, bool in_storm);
  // Whether it happened; refused: no.
  Answer ask(SimRuntime& process, const std::string& account, bool in_storm);

  // Its books, for those who can wait until nothing is under way: the receipt of what happened.
  std::optional<std::string> receipt(const std::string& account) const;

 private:
  Answer happen(const std::string& account, const std::string& key);
  Answer send(SimRuntime& process, bool in_storm, const std::function<Answer()>& apply);

  Simulation& simulation_;
  const Effects& terms_;
  Tally& tally_;
  Violations& violations_;
  std::map<std::string, std::string> receipts_;  // by account
  std::set<std::string> keys_;
};

}  // namespace fenceline::sim
