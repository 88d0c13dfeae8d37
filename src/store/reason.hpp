// Why a store refused something that it was asked for: one word for each reason, the same in replies, in the answers of
// servers, in JSON and in histories. What a reason means for a request stands above the refusal that carries it.
#pragma once

#include <iosfwd>
#include <string_view>

namespace fenceline {

enum class Reason {
  none,  // it was not refused; its word is empty
  not_found,
  superseded,
  other_owner,
  other_call,
  finished,
  settled,
  expired,
  state,
  key_taken,
  effect_in_doubt,
  changed,
  not_dead,  // its word is "not dead": told by `fenceline dead`, not by a store
  // Of locks.
  to_its_end,
  released,
  held,
  barred,
  delayed,
  turn,
  // Of steps of schedules.
  moved,
  early,
  covers,
  other,  // a server that is newer than this program has a reason that it does not know
};

std::string_view to_string(Reason reason);
// What it says to people, to follow a colon: "it waits for an effect that is in doubt".
std::string_view meaning_of(Reason reason);
// A word that is not known is `other`: a refusal stays one, whatever it was for.
Reason reason_from(std::string_view word);
std::ostream& operator<<(std::ostream& out, Reason reason);

}  // namespace fenceline
