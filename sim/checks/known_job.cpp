#include "sim/checks/known_job.hpp"

namespace fenceline::sim {

void KnownJob::settle(const Outcome& accepted, WallTime now) {
  outcome = accepted.kind;
  if (accepted.kind == OutcomeKind::given_back) {
    state = JobState::ready;
    return;
  }
  losses_in_row = 0;
  poisoned_in_row = 0;
  if (accepted.kind == OutcomeKind::failed || accepted.kind == OutcomeKind::dead) failures += 1;
  if (accepted.kind == OutcomeKind::later) laters += 1;
  const bool used_up = accepted.kind == OutcomeKind::failed && failures >= attempts_max;
  if (accepted.kind == OutcomeKind::done) {
    state = JobState::done;
  } else if (accepted.kind == OutcomeKind::dead || used_up) {
    state = JobState::dead;
  } else {
    state = JobState::ready;
    run_at = now + accepted.retry_in;
  }
}

void KnownJob::lose(bool by_a_neighbour) {
  losses += 1;
  losses_in_row += 1;
  if (by_a_neighbour) poisoned_in_row += 1;
}

}  // namespace fenceline::sim
