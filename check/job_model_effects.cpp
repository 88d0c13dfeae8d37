// What effects do to a job: one that is begun needs its holder, one in doubt may make it wait. E2, J3.
#include <algorithm>

#include "check/job_model_at.hpp"

namespace fenceline::audit {

void JobModel::hold(At& at) {
  JobState& s = at.state;
  s.slot_fence = s.fence;  // its delivery is over, its handler not
  s.slot_least = s.lease_least;
  s.life = Life::waiting;
  s.outcome = Outcome::none;
  s.losses_in_row = 0;
  s.ended = at.op.call;
  const auto place = std::lower_bound(s.held.begin(), s.held.end(), at.effect().name);
  if (place == s.held.end() || *place != at.effect().name) s.held.insert(place, at.effect().name);
}

void JobModel::release(At& at) {
  JobState& s = at.state;
  if (std::erase(s.held, at.effect().name) == 0) return;  // what waits for a person is not freed by that
  if (s.life != Life::waiting || !s.held.empty()) return;
  s.life = Life::ready;
  s.ended = at.op.call;
}

bool JobModel::begin_effect(At& at) const {
  JobState& s = at.state;
  const std::string named = "effect " + at.name(at.effect().name);
  const Begun begun = at.effect().begun;
  if (at.op.optional) {
    if (!s.strange && s.life == Life::running && s.fence == at.item().fence && s.bump != 2) hold(at);
    return true;
  }
  if (begun == Begun::lost) return refusal(at, "E2");
  const bool same = s.life == Life::waiting && s.fence == at.item().fence &&
                    std::binary_search(s.held.begin(), s.held.end(), at.effect().name);
  if (begun == Begun::held && same) return true;  // the same again
  s.strange = false;
  const std::string began = "had " + named + " begun";
  if (!older_or_unknown_fence(at, "J3", began.c_str())) return false;
  if (s.life != Life::running)
    return at.no("E2", began + " though it is " + std::string(to_string(s.life)), {s.granted, s.ended});
  if (!has_live_lease(s)) return at.no("E2", began + " after its lease had run out", {s.granted, s.renewed});
  s.bump = 0;
  if (begun == Begun::held) hold(at);
  return true;
}

// Who began it is a matter of the effect; here it counts that the fence is the newest.
bool JobModel::finish_effect(At& at) const {
  JobState& s = at.state;
  const bool holds = at.effect().ended == Ended::held;
  if (at.item().reason == Reason::other_call) return true;
  if (at.item().reason != Reason::none) return refusal(at, "J3");
  if (s.strange) return true;
  if (at.op.optional) {
    if (s.fence != at.item().fence || s.bump == 2) return true;
  } else {
    const std::string ended = "had effect " + at.name(at.effect().name) + " ended";
    if (!older_or_unknown_fence(at, "J3", ended.c_str())) return false;
    s.bump = 0;
  }
  if (!holds) release(at);
  else if (s.life == Life::running) hold(at);
  return true;
}

bool JobModel::resolve_effect(At& at) const {
  if (!at.state.strange) release(at);
  return true;
}

}  // namespace fenceline::audit
