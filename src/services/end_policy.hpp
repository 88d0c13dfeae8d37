// What the end of a command says of its job: a table that people may change, `--on 3=dead --on timeout=later`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"
#include "runtime/child_process.hpp"

namespace fenceline {

// Exit statuses that mean something if nobody says otherwise, as in sysexits.h.
inline constexpr int kCommandDead = 65;
inline constexpr int kCommandLater = 75;
// A signal n as shells report it: 128 + n.
inline constexpr int kSignalBase = 128;

class EndPolicy {
 public:
  // Status 65 is dead, 75 is later, every other end but status 0 a failure.
  EndPolicy();

  // Rules "END=OUTCOME" on top of that: END is a status from 1 to 255, `signal`, `timeout`, or `other` for every end
  // that has no rule of its own; OUTCOME is fail, dead, later or done. Of two for the same end the last one counts.
  // Errors: invalid, naming what is allowed.
  static Result<EndPolicy> parse(const std::vector<std::string>& rules);

  // Not for status 0, which is done.
  OutcomeKind of(const ExitStatus& status) const;
  // What a command that was told to end says of its own accord: by status 0, or one that has a rule of its own. None
  // for an end that the telling may have caused: by a signal or, as shells report ours, 143 and 137, and whatever only
  // `other` speaks of.
  std::optional<OutcomeKind> of_told(const ExitStatus& status) const;
  OutcomeKind of_timeout() const { return find("timeout"); }

 private:
  OutcomeKind find(const std::string& end) const;

  std::map<std::string, OutcomeKind, std::less<>> rules_;
};

}  // namespace fenceline
