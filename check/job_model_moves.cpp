// What moves an item of a pipeline: its record changes, and its job with it, in one step. P2; and P1 where something is
// granted that waits for a person.
#include <algorithm>

#include "check/job_model_at.hpp"

namespace fenceline::audit {

// A copy of it, or one without an answer, may have come to nothing.
bool JobModel::may_change(const At& at) const {
  const JobState& s = at.state;
  const MoveItem& move = at.move();
  if (s.strange || s.life == Life::absent || is_finished(s.life)) return false;
  if (move.revision < s.revision || (log_.about.whole && move.revision != s.revision)) return false;
  if (at.item().fence != 0)
    return s.life == Life::running && s.fence == at.item().fence && s.bump != 2 && s.owner == at.call().owner;
  if (move.only != Life::absent && move.only != s.life) return false;
  return move.to == Life::absent || s.life != Life::waiting || s.held.empty();
}

bool JobModel::change(At& at) const {
  JobState& s = at.state;
  const MoveItem& move = at.move();
  const bool by_holder = at.item().fence != 0;
  const bool whole = log_.about.whole;
  const bool repeated = at.call().request != 0 && s.change == at.call().request;
  if (at.op.optional) {
    if (repeated || !may_change(at)) return true;
  } else {
    if (at.item().reason != Reason::none) return change_refused(at, repeated);
    if (repeated) return true;
    if (move.revision < s.revision)
      return at.no("P2",
                   "was changed by what rests on record " + std::to_string(move.revision) + ", and it had record " +
                       std::to_string(s.revision) + " by then",
                   {s.changed});
    if (move.revision > s.revision && whole && !s.strange)
      return at.no("P2",
                   "was changed by what rests on record " + std::to_string(move.revision) +
                       ", and no change had led beyond record " + std::to_string(s.revision),
                   {s.changed});
    s.strange = false;
    if (by_holder) {
      if (!older_or_unknown_fence(at, "P2", "was moved")) return false;
      if (s.owner != 0 && s.owner != at.call().owner)
        return at.no("P2", "was moved by " + at.name(at.call().owner) + ", its holder is " + at.name(s.owner),
                     {s.granted});
      if (s.life != Life::running)
        return at.no("P2",
                     "was moved by its delivery under fence " + std::to_string(at.item().fence) + ", which had ended",
                     {s.granted, s.ended});
    } else {
      if (!whole && move.only != Life::absent && move.only != s.life) {  // others were at work
        s.life = move.only;
        s.bump = std::max<std::uint8_t>(s.bump, 1);
      }
      if (s.life == Life::done || (whole && (s.life == Life::absent || is_finished(s.life))))
        return at.no("P2", "was changed though it is " + std::string(to_string(s.life)), {s.granted, s.ended});
      if (move.only != Life::absent && move.only != s.life)
        return at.no(
            "P2",
            "was changed as " + std::string(to_string(move.only)) + ", and it is " + std::string(to_string(s.life)),
            {s.granted, s.ended});
    }
  }
  s.change = at.call().request;
  s.changed = at.op.call;
  s.revision = move.revision + 1;
  if (move.to == Life::absent) return true;
  if (by_holder) {
    s.bump = 0;
    s.outcome = at.item().outcome;
    s.losses_in_row = 0;
    if (s.outcome == Outcome::failed) s.failures += 1;
  } else if (s.life == Life::running) {
    revoke(at);
  } else if (move.only == Life::absent && s.life == Life::ready && unseen_left(s, at.op.answered) > 0) {
    s.bump = std::max<std::uint8_t>(s.bump, 1);  // it may have revoked a delivery that nobody saw
  }
  if (move.fresh) s.failures = s.losses_in_row = 0;
  s.stage = at.item().stage;
  s.life = move.to;
  s.ended = at.op.call;
  return true;
}

bool JobModel::change_refused(At& at, bool repeated) const {
  JobState& s = at.state;
  const MoveItem& move = at.move();
  const Reason reason = at.item().reason;
  const bool whole = log_.about.whole;
  if (s.strange) return true;
  const std::string refused = "refused a change that rests on record " + std::to_string(move.revision) + " as " +
                              std::string(to_string(reason));
  if (repeated && whole && reason != Reason::not_found) return at.no("P2", refused + ", and had made it", {s.changed});
  if (reason == Reason::changed) {
    if (move.revision_now < s.revision)
      return at.no(
          "P2",
          refused + ", and has record " + std::to_string(move.revision_now) + " after " + std::to_string(s.revision),
          {s.changed});
    if (whole && (move.revision == s.revision || move.revision_now != s.revision))
      return at.no("P2",
                   refused + ", and has record " + std::to_string(move.revision_now) + ", it must be " +
                       std::to_string(s.revision),
                   {s.changed});
    s.revision = move.revision_now;
    return true;
  }
  if (at.item().fence != 0) return refusal(at, "P2");
  const bool lawful =
      !whole || (reason == Reason::not_found && s.life == Life::absent) ||
      (reason == Reason::finished && is_finished(s.life)) || (reason == Reason::state && s.life != move.only) ||
      (reason == Reason::effect_in_doubt && s.life == Life::waiting && !s.held.empty()) || reason == Reason::other;
  return lawful ||
         at.no(reason == Reason::not_found ? "J1" : "P2", refused + ", and it is " + std::string(to_string(s.life)),
               {s.enqueued, s.granted, s.ended, s.changed});
}

}  // namespace fenceline::audit
