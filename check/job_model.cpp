#include "check/job_model.hpp"

#include <algorithm>
#include <set>

#include "check/job_model_at.hpp"

namespace fenceline::audit {

bool JobState::same_as(const JobState& o) const {
  return life == o.life && bump == o.bump && outcome == o.outcome && run_out == o.run_out && told == o.told &&
         strange == o.strange && owner == o.owner && request == o.request && act == o.act && fence == o.fence &&
         now == o.now && lease_least == o.lease_least && lease_most == o.lease_most && stretch == o.stretch &&
         stretch_fence == o.stretch_fence && slot_least == o.slot_least && slot_fence == o.slot_fence &&
         deliveries == o.deliveries && failures == o.failures && losses_in_row == o.losses_in_row &&
         unseen == o.unseen && stage == o.stage && change == o.change && revision == o.revision && held == o.held;
}

std::uint64_t JobState::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(life) | static_cast<std::uint64_t>(bump) << 8 |
      static_cast<std::uint64_t>(outcome) << 16 | static_cast<std::uint64_t>(run_out) << 24);
  mix(owner | std::uint64_t{request} << 32);
  mix(act);
  mix(static_cast<std::uint64_t>(fence));
  mix(static_cast<std::uint64_t>(now));
  mix(static_cast<std::uint64_t>(lease_least));
  mix(static_cast<std::uint64_t>(lease_most));
  mix(static_cast<std::uint64_t>(deliveries) << 32 | static_cast<std::uint32_t>(failures));
  mix(static_cast<std::uint64_t>(losses_in_row) << 32 | static_cast<std::uint32_t>(unseen));
  mix(static_cast<std::uint64_t>(slot_least));
  mix(stage | std::uint64_t{change} << 32);
  mix(static_cast<std::uint64_t>(revision));
  for (const Name effect : held) mix(effect);
  return hash;
}

Unseen::Unseen(const CallLog& log) {
  std::set<std::pair<std::uint64_t, Name>> counted;  // a repeat under its request is the same claim
  for (const Call& call : log.calls) {
    const bool removes = call.verb == Verb::remove_namespace ||
                         (call.verb == Verb::tidy && (call.status == Status::unknown || call.left > 0));
    if (removes && call.may_count()) first_removal_ = std::min(first_removal_, call.asked);
    // Where requests may arrive again, an answered claim may grant once more when its ttl is over, or if it had granted
    // nothing.
    const bool open = call.status == Status::unknown || (call.status == Status::ok && log.about.repeats > 0);
    if (call.verb != Verb::claim || !open) continue;
    for (const Name queue : log.queue_lists[call.queues]) {
      if (call.request != 0 && !counted.insert({std::uint64_t{call.owner} << 32 | call.request, queue}).second)
        continue;
      if (claims_.size() <= queue) claims_.resize(queue + 1);
      claims_[queue].push_back(call.asked);
    }
  }
  for (std::vector<Time>& times : claims_) std::sort(times.begin(), times.end());
}

std::int32_t Unseen::claims(Name queue, Time by) const {
  if (queue >= claims_.size()) return 0;
  const std::vector<Time>& times = claims_[queue];
  return static_cast<std::int32_t>(std::upper_bound(times.begin(), times.end(), by) - times.begin());
}

JobState JobModel::start() const {
  JobState state;
  state.strange = !log_.about.whole;
  return state;
}

std::int32_t JobModel::unseen_left(const JobState& state, Time by) const {
  if (!log_.about.whole) return 1'000'000;
  return unseen_.claims(entry_.queue, by) - state.unseen;
}

bool JobModel::may_be_buried(const JobState& state, const JobOp& op) const {
  const bool running = state.life == Life::running;
  if (!running && state.life != Life::ready) return false;
  const std::int32_t unseen = std::max(unseen_left(state, op.answered), 0);
  if (state.losses_in_row + (running ? 1 : 0) + unseen < kLossesMost) return false;
  return running ? op.answered >= state.lease_least : unseen > 0;
}

JobState JobModel::buried(JobState state) const {
  if (state.life == Life::running) state.now = std::max(state.now, state.lease_least);
  state.life = Life::dead;
  state.owner = 0;
  state.outcome = Outcome::none;
  state.bump = 2;
  return state;
}

bool JobModel::may_be_granted_unseen(const JobState& state, const JobOp& op) const {
  if (state.strange || unseen_left(state, op.answered) <= 0) return false;
  return state.life == Life::ready || (state.life == Life::running && op.answered >= state.lease_least);
}

JobState JobModel::granted_unseen(JobState state) const {
  if (state.life == Life::running) state.now = std::max(state.now, state.lease_least);
  state.life = Life::running;
  state.owner = 0;
  state.request = 0;
  state.outcome = Outcome::none;
  state.bump = 2;
  state.run_out = false;
  state.lease_least = kAlways;
  state.lease_most = kNever;
  return state;
}

void JobModel::step(const JobState& state, const JobOp& op, std::vector<JobState>& next, Complaint* why) const {
  const auto attempt = [&](JobState from, Complaint* complaint) {
    At at{log_, job_, op, std::move(from), complaint};
    at.state.now = std::max(at.state.now, at.earliest());
    if (at.state.now > op.answered)
      return at.no("L3",
                   "cannot be brought into one order: a step that must come before " + at.verb() + " comes after it");
    if (!apply(at)) return false;
    next.push_back(std::move(at.state));
    return true;
  };
  const bool lawful = attempt(state, why);
  const Verb verb = op.call == kNoCall ? Verb::none : log_.calls[op.call].verb;
  // What else may have happened shows later, and is looked for then; but these take different things to one end.
  if (lawful && verb != Verb::retry && verb != Verb::enqueue && verb != Verb::give_back) return;
  if (verb != Verb::enqueue && may_be_buried(state, op)) attempt(buried(state), nullptr);
  if (!lawful && may_be_granted_unseen(state, op)) attempt(granted_unseen(state), nullptr);
  if ((!lawful || verb == Verb::enqueue) && is_finished(state.life) && unseen_.removals(op.answered)) {
    JobState gone = state;
    gone.life = Life::absent;
    attempt(std::move(gone), nullptr);
  }
}

void JobModel::stretch(JobState& state, const JobOp& op) const {
  const std::int64_t fence = log_.items[op.item].fence;
  if (fence < state.fence) return;
  if (fence != state.stretch_fence) state.stretch = 0;
  state.stretch_fence = fence;
  state.stretch += log_.calls[op.call].ttl;
}

void JobModel::forget(JobState& state) const {
  const std::int64_t fence = state.fence;
  const Time now = state.now;
  state = JobState{};
  state.strange = true;
  state.fence = fence;
  state.now = now;
}

bool JobModel::apply(At& at) const {
  if (at.op.call == kNoCall) return rest(at);
  switch (at.call().verb) {
    case Verb::enqueue: return enqueue(at);
    case Verb::claim: return grant(at);
    case Verb::give_back: return give_back(at);
    case Verb::extend: return extend(at);
    case Verb::settle: return settle(at);
    case Verb::record: return record(at);
    case Verb::begin_effect: return begin_effect(at);
    case Verb::finish_effect: return finish_effect(at);
    case Verb::resolve_effect: return resolve_effect(at);
    case Verb::cancel: return cancel(at);
    case Verb::retry: return retry(at);
    case Verb::purge: return purge(at);
    case Verb::stopped: return stopped(at);
    case Verb::change_items: return change(at);
    case Verb::look: return look(at);
    default: return true;
  }
}

bool JobModel::enqueue(At& at) const {
  JobState& s = at.state;
  if (s.life != Life::absent || s.strange) {
    // What was removed may be enqueued anew; what it has then shows which it was.
    s.strange = false;
    if (s.life == Life::absent) {
      s.life = Life::ready;
      s.stage = at.item().stage;
    }
    return true;
  }
  s.life = Life::ready;
  s.stage = at.item().stage;
  s.change = 0;
  s.revision = 0;
  s.deliveries = s.failures = s.losses_in_row = s.unseen = 0;
  s.outcome = Outcome::none;
  s.act = 0;
  s.held.clear();
  s.enqueued = at.op.call;
  return true;
}

bool JobModel::rest(At& at) const {
  const JobState& s = at.state;
  if (s.strange || s.life == Life::absent || is_finished(s.life)) return true;
  if (s.deliveries == 0) return at.no("J1", "was acknowledged and never seen again", {s.enqueued});
  return at.no("J8", "is still " + std::string(to_string(s.life)) + " when everything should be finished",
               {s.enqueued, s.granted, s.ended});
}

bool JobModel::look(At& at) const {
  JobState& s = at.state;
  const Call& call = at.call();
  const bool found = call.state != Life::absent;
  if (s.strange) {
    if (!found) return true;
    s.strange = false;
    s.life = call.state;
    s.stage = at.item().stage;
    s.fence = std::max(s.fence, at.item().fence);
    s.bump = 0;
    return true;
  }
  if (!found) return s.life == Life::absent || at.no("J1", "was acknowledged and is not there", {s.enqueued});
  if (at.item().fence < s.fence)
    return at.no("L2", "has fence " + std::to_string(at.item().fence) + " after " + std::to_string(s.fence),
                 {s.granted});
  if (at.item().stage != s.stage) {
    if (log_.about.whole)
      return at.no("P2",
                   "is shown at stage '" + std::string(log_.text(at.item().stage)) + "', it must be at '" +
                       std::string(log_.text(s.stage)) + "'",
                   {s.enqueued, s.changed});
    s.stage = at.item().stage;
  }
  if (call.state == s.life) {
    if (at.item().fence > s.fence && s.bump == 0)
      return !log_.about.whole ||
             at.no("L1", "has fence " + std::to_string(at.item().fence) + " that no grant had", {s.granted});
    return true;
  }
  if (!log_.about.whole) return (s.life = call.state, true);
  return at.no("J4",
               "is shown as " + std::string(to_string(call.state)) + ", it must be " + std::string(to_string(s.life)),
               {s.enqueued, s.granted, s.ended});
}

}  // namespace fenceline::audit
