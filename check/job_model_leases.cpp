// What a job's holders may do: L1 to L4, J2, J3, J5.
#include <algorithm>

#include "check/job_model_at.hpp"

namespace fenceline::audit {
namespace {

constexpr std::int64_t kFenceMost = (std::int64_t{1} << 53) - 1;

}  // namespace

// The answer to a claim that was sent again: what it holds already.
bool JobModel::repeated_grant(At& at) const {
  JobState& s = at.state;
  if (s.request != 0 && at.call().request != 0 && s.request != at.call().request)
    return at.no("J2", "was granted twice under fence " + std::to_string(s.fence) + ", by two claims", {s.granted});
  if (at.item().deliveries != s.deliveries && !s.strange)
    return at.no(
        "J5",
        "counts " + std::to_string(at.item().deliveries) + " deliveries, it must be " + std::to_string(s.deliveries),
        {s.granted});
  if (!log_.about.lease_times) return true;
  s.lease_least = std::max(s.lease_least, s.now + at.item().amount);
  s.lease_most = std::max(s.lease_least, std::min(s.lease_most, at.op.answered + at.item().amount));
  return true;
}

bool JobModel::grant(At& at) const {
  JobState& s = at.state;
  const Item& item = at.item();
  const std::string to = at.name(at.call().owner);
  const std::string fence = std::to_string(item.fence);
  if (s.life == Life::running && s.fence == item.fence && s.bump == 0 && s.owner == at.call().owner)
    return repeated_grant(at);
  if (item.fence > kFenceMost) return at.no("L2", "was granted under fence " + fence + ", past 2^53-1");
  // A grant whose answer was lost, and of which only a refusal told so far: this may be the same one.
  const bool hidden = (s.life == Life::running && s.owner == 0) || (s.told && s.fence == item.fence);
  if (s.fence > item.fence || (s.fence == item.fence && !(hidden && s.bump == 0)))
    return at.no("L2", "was granted to " + to + " under fence " + fence + " after fence " + std::to_string(s.fence),
                 {s.granted});
  if (s.life == Life::absent && !s.strange) return at.no("J2", "was granted to " + to + " and nobody enqueued it");
  const bool may_be_retried = !log_.about.whole && s.life != Life::done;  // by someone who is not in the history
  if (is_finished(s.life) && !may_be_retried)
    return at.no("J3", "was granted to " + to + " though it is " + std::string(to_string(s.life)), {s.ended});
  if (s.life == Life::waiting && !s.strange && log_.about.whole)
    return s.held.empty()
               ? at.no("P1", "was granted to " + to + " though it waits for a person", {s.granted, s.ended, s.changed})
               : at.no("E2", "was granted to " + to + " though it waits for an effect in doubt", {s.granted, s.ended});
  if (item.stage != s.stage && !s.strange && log_.about.whole)
    return at.no("P2",
                 "was granted to " + to + " at stage '" + std::string(log_.text(item.stage)) + "', it must be at '" +
                     std::string(log_.text(s.stage)) + "'",
                 {s.enqueued, s.granted, s.changed});
  if (!log_.about.whole) s.held.clear();
  const bool taken_over = s.life == Life::running && !hidden;
  if (taken_over && at.op.answered < s.lease_least)
    return at.no("L3",
                 "was granted to " + to + " under fence " + fence + " while " + at.name(s.owner) +
                     " held it under fence " + std::to_string(s.fence),
                 {s.granted, s.renewed});
  if (at.op.answered < s.slot_least)
    return at.no("J7", "was granted to " + to + " while its delivery before, which was revoked or held, kept its slot",
                 {s.granted, s.renewed, s.ended});
  const std::int32_t more = item.deliveries - s.deliveries - 1;
  if (!s.strange && log_.about.whole) {
    if (more < 0 || more > unseen_left(s, at.op.answered))
      return at.no(
          "J5",
          "counts " + std::to_string(item.deliveries) + " deliveries, it must be " + std::to_string(s.deliveries + 1),
          {s.granted, s.ended});
    const std::int32_t losses = s.losses_in_row + (taken_over ? 1 : 0);
    if (more == 0 && !hidden && item.forced != taken_over)
      return at.no("L3",
                   std::string("was granted with a wrong word on whether it was taken over: it was ") +
                       (taken_over ? "" : "not "),
                   {s.granted, s.ended});
    const bool counted =
        more == 0 && !hidden ? item.losses_in_row == losses : item.losses_in_row <= losses + more + (hidden ? 1 : 0);
    if (!counted)
      return at.no(
          "J5",
          "counts " + std::to_string(item.losses_in_row) + " losses in a row, it must be " + std::to_string(losses),
          {s.granted, s.ended});
    if (item.failures != s.failures)
      return at.no("J5",
                   "counts " + std::to_string(item.failures) + " failures, it must be " + std::to_string(s.failures),
                   {s.granted, s.ended});
    s.unseen += more;
  }
  if (item.losses_in_row >= kLossesMost)
    return at.no("J5", "was granted after " + std::to_string(item.losses_in_row) + " losses in a row", {s.granted});
  if (taken_over) s.now = std::max(s.now, s.lease_least);
  s.now = std::max(s.now, s.slot_least);
  s.strange = false;
  s.life = Life::running;
  s.bump = 0;
  s.told = false;
  s.outcome = Outcome::none;
  s.run_out = false;
  s.owner = at.call().owner;
  s.request = at.call().request;
  s.fence = item.fence;
  s.stage = item.stage;
  s.slot_least = kAlways;
  s.lease_least = log_.about.lease_times ? s.now + item.amount : kAlways;
  s.lease_most = log_.about.lease_times ? at.op.answered + item.amount : kNever;
  s.deliveries = item.deliveries;
  s.failures = item.failures;
  s.losses_in_row = item.losses_in_row;
  s.granted = at.op.call;
  s.renewed = s.ended = kNoCall;
  return true;
}

bool JobModel::give_back(At& at) const {
  JobState& s = at.state;
  if (s.life != Life::running || s.owner != at.call().owner || s.request != at.call().request) return true;
  settle_as(s, Outcome::given_back);
  s.ended = at.op.call;
  return true;
}

// What a holder says under a fence that is not the newest, or that nobody was granted. False: told why.
bool JobModel::older_or_unknown_fence(At& at, const char* promise, const char* verb) const {
  JobState& s = at.state;
  const std::string sent = std::to_string(at.item().fence);
  if (at.item().fence < s.fence || (at.item().fence == s.fence && s.bump == 2))
    return at.no(promise,
                 std::string(verb) + " under fence " + sent + " after " +
                     (s.bump == 2 ? "an operator or its losses had ended that"
                                  : "fence " + std::to_string(s.fence) + " was granted"),
                 {s.granted, s.ended});
  if (at.item().fence == s.fence) return true;
  if (log_.about.whole)
    return at.no("L1", std::string(verb) + " under fence " + sent + ", which no grant had", {s.granted});
  s.fence = at.item().fence;  // by a grant that is not in the history
  s.life = Life::running;
  s.owner = at.call().owner;
  s.outcome = Outcome::none;
  s.bump = 0;
  s.run_out = false;
  s.lease_least = kAlways;
  s.lease_most = kNever;
  return true;
}

// As far as one knows.
bool JobModel::has_live_lease(const JobState& s) {
  const Time stretch = s.stretch_fence == s.fence ? s.stretch : 0;
  const bool over = s.lease_most != kNever && s.now >= s.lease_most + stretch;
  return !s.run_out && !over;
}

bool JobModel::extend(At& at) const {
  JobState& s = at.state;
  if (at.item().reason != Reason::none) return refusal(at, "L4");
  if (s.strange) s.strange = false;
  if (!older_or_unknown_fence(at, "L4", "was renewed")) return false;
  const std::string who = at.name(at.call().owner);
  if (s.life != Life::running)
    return at.no("L4", "was renewed for " + who + " though it is " + std::string(to_string(s.life)),
                 {s.granted, s.ended});
  if (s.owner != 0 && s.owner != at.call().owner)
    return at.no("L4", "was renewed for " + who + ", its holder is " + at.name(s.owner), {s.granted});
  if (!has_live_lease(s))
    return at.no("L4", "was renewed for " + who + " after its lease had run out", {s.granted, s.renewed});
  s.bump = 0;
  s.renewed = at.op.call;
  if (!log_.about.lease_times) return true;
  s.lease_least = s.now + at.call().left;
  s.lease_most = at.op.answered == kNever ? kNever : at.op.answered + at.call().left;
  if (log_.about.repeats > 0) s.lease_most = std::max(s.lease_most, at.op.asked + log_.about.repeats + at.call().ttl);
  return true;
}

void JobModel::settle_as(JobState& s, Outcome outcome) const {
  s.outcome = outcome;
  s.life = Life::ready;
  if (outcome == Outcome::given_back) return;
  s.losses_in_row = 0;
  if (outcome == Outcome::failed || outcome == Outcome::dead) s.failures += 1;
  const bool used_up = outcome == Outcome::failed && entry_.attempts > 0 && s.failures >= entry_.attempts;
  if (outcome == Outcome::done) s.life = Life::done;
  if (outcome == Outcome::dead || used_up) s.life = Life::dead;
}

bool JobModel::settle(At& at) const {
  JobState& s = at.state;
  const Item& item = at.item();
  if (item.reason != Reason::none) return refusal(at, "J3");
  if (at.op.optional) {  // it may have come too late, or to nothing
    if (s.life != Life::running || s.fence != item.fence || s.bump == 2 || s.owner != at.call().owner) return true;
  } else {
    s.strange = false;
    if (!older_or_unknown_fence(at, "J3", "took an outcome")) return false;
    if (s.owner != 0 && s.owner != at.call().owner && s.life == Life::running)
      return at.no("J3", "took an outcome from " + at.name(at.call().owner) + ", its holder is " + at.name(s.owner),
                   {s.granted});
    if (s.life != Life::running) {
      s.bump = 0;
      if (s.outcome == item.outcome) return true;  // the same again
      return at.no("J3",
                   "took the outcome " + std::string(to_string(item.outcome)) + " under fence " +
                       std::to_string(item.fence) + " after " +
                       (s.outcome == Outcome::none ? "it was " + std::string(to_string(s.life))
                                                   : "the outcome " + std::string(to_string(s.outcome))),
                   {s.granted, s.ended});
    }
  }
  s.bump = 0;
  settle_as(s, item.outcome);
  s.ended = at.op.call;
  return true;
}

bool JobModel::record(At& at) const {
  if (at.op.optional) return true;
  if (at.item().reason != Reason::none) return refusal(at, "J3");
  if (at.state.strange) return true;
  if (!older_or_unknown_fence(at, "J3", "took a note")) return false;
  at.state.bump = 0;
  return true;
}

bool JobModel::refusal(At& at, const char* promise) const {
  JobState& s = at.state;
  const Item& item = at.item();
  if (s.strange) return true;
  const bool whole = log_.about.whole;
  const bool newest = s.fence == item.fence && s.bump != 2;
  const bool held = newest && s.life == Life::running &&
                    (s.owner == at.call().owner || at.call().verb == Verb::record || at.call().effect != 0);
  const std::string refused = "refused the " + at.verb() + " of " + at.name(at.call().owner) + " under fence " +
                              std::to_string(item.fence) + " as " + std::string(to_string(item.reason));
  switch (item.reason) {
    case Reason::not_found:
      if (s.life == Life::absent || !whole) return true;
      return at.no("J1", "is not there any more: " + at.verb() + " was told so", {s.enqueued, s.granted, s.ended});
    case Reason::superseded:
      if (item.amount == 0 && unseen_.removals(at.op.answered)) return true;  // it was removed, and enqueued anew since
      if (item.amount < item.fence)
        return at.no("L1",
                     refused + ", and names fence " + std::to_string(item.amount) + ", older than the one it granted",
                     {s.granted});
      if (item.amount < s.fence)
        return at.no("L2",
                     refused + ", and names fence " + std::to_string(item.amount) + " after " + std::to_string(s.fence),
                     {s.granted});
      if (item.amount == s.fence)
        return s.fence != item.fence && s.bump != 2 ? true : at.no(promise, refused, {s.granted});
      if (s.bump == 0 && whole)
        return at.no(held ? promise : "L1",
                     refused + ", and names fence " + std::to_string(item.amount) + " that no grant had",
                     {s.granted, s.renewed});
      s.fence = item.amount;
      s.bump = 0;
      s.told = true;
      if (!whole && s.life == Life::running) {  // someone else has it, or ended it
        s.owner = 0;
        s.request = 0;
        s.outcome = Outcome::none;
        s.lease_least = kAlways;
        s.lease_most = kNever;
      }
      return true;
    case Reason::expired:
      if (!held)
        return !whole ||
               at.no(promise, refused + ", and it is " + std::string(to_string(s.life)), {s.granted, s.ended});
      if (at.op.answered < s.lease_least)
        return at.no(promise, refused + " though its lease lasted", {s.granted, s.renewed});
      s.now = std::max(s.now, s.lease_least);
      s.run_out = true;
      return true;
    case Reason::finished:
      return (newest && is_finished(s.life)) || !whole ||
             at.no(promise, refused + ", and it is " + std::string(to_string(s.life)), {s.granted, s.ended});
    case Reason::settled:
      return (newest && (s.life == Life::ready || s.life == Life::waiting)) || !whole ||
             at.no(promise, refused + ", and it is " + std::string(to_string(s.life)), {s.granted, s.ended});
    case Reason::other_owner: return !held || at.no(promise, refused + ", and it is the holder", {s.granted});
    default: return true;
  }
}

}  // namespace fenceline::audit
