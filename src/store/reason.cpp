#include "store/reason.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace fenceline {
namespace {

struct Row {
  std::string_view word;     // in stores, histories and --json
  std::string_view meaning;  // in a sentence about a job, a lock or a schedule: "job 7 cannot be cancelled: it is ..."
};

constexpr std::array<Row, static_cast<std::size_t>(Reason::other) + 1> kReasons{{
    {"", ""},
    {"not_found", "it does not exist in this namespace"},
    {"superseded", "its newest fence is a different one"},
    {"other_owner", "its fence was granted to another owner"},
    {"other_call", "another call holds it"},
    {"finished", "it is finished"},
    {"settled", "its delivery was settled with another outcome"},
    {"expired", "its lease ran out"},
    {"state", "it is in another state"},
    {"key_taken", "another job has its unique key"},
    {"effect_in_doubt", "it waits for an effect that is in doubt"},
    {"changed", "it was changed since it was read"},
    {"not dead", "it is not dead"},
    {"to_its_end", "it is held to the end of its window"},
    {"released", "it was released"},
    {"held", "it is held"},
    {"barred", "its window is not over"},
    {"delayed", "it is delayed after its holder was lost"},
    {"turn", "others wait for it"},
    {"moved", "another leader advanced it"},
    {"early", "its tick lies ahead of the store's clock"},
    {"covers", "one of its ticks has fired"},
    {"other", "the store refused it for a reason that this version does not know"},
}};

}  // namespace

std::string_view to_string(Reason reason) { return kReasons[static_cast<std::size_t>(reason)].word; }

std::string_view meaning_of(Reason reason) { return kReasons[static_cast<std::size_t>(reason)].meaning; }

Reason reason_from(std::string_view word) {
  const auto found = std::ranges::find(kReasons, word, &Row::word);
  return found == kReasons.end() ? Reason::other : static_cast<Reason>(found - kReasons.begin());
}

std::ostream& operator<<(std::ostream& out, Reason reason) { return out << to_string(reason); }

}  // namespace fenceline
