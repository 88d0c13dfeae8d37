#include "check/switches.hpp"

#include <algorithm>

namespace fenceline::audit {

std::string_view to_string(Keeps keeps) {
  switch (keeps) {
    case Keeps::always: return "always";
    case Keeps::until_a_crash: return "older than the lost tail";
    case Keeps::not_promised: return "no";
  }
  return "";
}

// Class D forgets everything in a crash, so nothing outlives one there.
const std::vector<PromiseRow>& promises() {
  constexpr Keeps yes = Keeps::always;
  constexpr Keeps tail = Keeps::until_a_crash;
  static const std::vector<PromiseRow> rows{
      {"L1", yes, yes, yes, tail, "what a holder sends, and what a refusal names, is a fence that was granted"},
      {"L2", yes, yes, yes, tail, "fences of a job and of its group, and of a lock, grow in the order of grants"},
      {"L3", yes, yes, tail, tail, "no grant of a job or a lock while another lease lasts for certain"},
      {"L4", yes, yes, yes, tail, "renewals are accepted from the newest live holder alone, and from it always"},
      {"L5", yes, yes, tail, tail,
       "no handler acts when its lease has ended for certain, or a newer fence was granted"},
      {"L6", yes, yes, tail, tail, "no grant of a lock inside a window, nor its renewal or release"},
      {"J1", yes, yes, tail, tail,
       "what was acknowledged is found again; repeats add nothing; a batch has one first moment"},
      {"J2", yes, yes, yes, tail, "no more jobs than asked for; the repeat of a claim grants nothing else"},
      {"J3", yes, yes, tail, tail, "one outcome a fence, none under an older one; what is finished stays so"},
      {"J4", yes, yes, yes, tail, "a job that is looked at is in the state that it must be in"},
      {"J5", yes, yes, yes, tail, "deliveries, failures and losses are counted; jobs that must run alone do"},
      {"J6", yes, yes, yes, tail, "no two unfinished jobs of a key; the same payload is the first one's id"},
      {"J7", yes, yes, yes, tail, "groups one at a time and in order, limits, slots of revoked deliveries"},
      {"J8", yes, yes, yes, tail, "nothing is left unfinished at the rest, if the history says that it rests"},
      {"E1", yes, yes, tail, tail,
       "an effect is begun once, unless it is known not to have happened; what is done is replayed as it was"},
      {"E2", yes, yes, tail, tail,
       "begun under a live lease alone; ended by the call that began; one in doubt is held, repeated or probed as "
       "declared"},
      {"S1", yes, yes, tail, tail, "no tick is fired by two steps that were taken, and each has a job of its own"},
      {"S2", yes, yes, tail, tail,
       "the steps of a schedule that were taken join, none goes over another, and nothing is skipped that fired"},
      {"S3", yes, yes, tail, tail,
       "no step beyond the store's clock is taken; after an account was moved back no tick fires that had fired"},
      {"P1", yes, yes, tail, tail,
       "an item enters a stage when its entry condition is met, and goes on only by an outcome of its work; what "
       "waits for a person is not granted"},
      {"P2", yes, yes, tail, tail,
       "the changes of an item each rest on the one before; none under an older fence, none by a delivery that has "
       "ended, none undone"},
      {"pause", yes, yes, yes, tail, "no grant from a queue that is paused for certain"},
  };
  return rows;
}

Keeps keeps(std::string_view promise, char guarantee) {
  const auto row =
      std::find_if(promises().begin(), promises().end(), [&](const PromiseRow& one) { return one.promise == promise; });
  if (row == promises().end()) return Keeps::not_promised;
  switch (guarantee) {
    case 'A': return row->a;
    case 'B': return row->b;
    case 'C': return row->c;
    default: return row->d;
  }
}

}  // namespace fenceline::audit
