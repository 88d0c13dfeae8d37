#include "history/event_parts.hpp"

namespace fenceline::history {

JobPart part(const NewJob& job) {
  return {.id = to_string(job.id),
          .queue = job.queue,
          .stage = job.stage,
          .group = job.group,
          .limit_key = job.limit_key,
          .key = job.key,
          .key_for = job.key_for.count(),
          .digest = json_digest(job.payload),
          .delayed = job.at.has_value() || job.delay > Duration{0},
          .attempts = job.attempts_max};
}

JobPart part(const Holding& holding) { return {.id = to_string(holding.id), .fence = holding.fence}; }
JobPart part(const JobId& id) { return {.id = to_string(id)}; }
JobPart part(const Refusal& refusal) {
  return {.id = to_string(refusal.id),
          .fence = refusal.sent,
          .reason = std::string(to_string(refusal.reason)),
          .current = refusal.current};
}
JobPart part(const ActRefusal& refusal) {
  return {.id = to_string(refusal.id),
          .reason = std::string(to_string(refusal.reason)),
          .holder = refusal.holder ? to_string(*refusal.holder) : ""};
}
JobPart part(const Note& note) { return {.id = to_string(note.id), .fence = note.fence}; }
JobPart part(const Settlement& settlement) {
  return {.id = to_string(settlement.id),
          .fence = settlement.fence,
          .outcome = std::string(to_string(settlement.outcome.kind))};
}
JobPart part(const Job& job) {
  return {.id = to_string(job.id),
          .queue = job.queue,
          .stage = job.stage,
          .group = job.group,
          .limit_key = job.limit_key,
          .attempts = job.attempts_max,
          .fence = job.fence,
          .deliveries = job.deliveries,
          .failures = job.failures,
          .losses = job.losses,
          .losses_in_row = job.losses_in_row};
}
JobPart part(const ClaimedJob& claimed) {
  JobPart granted = part(claimed.job);
  granted.left = claimed.left.count();
  granted.forced = claimed.forced;
  granted.from = claimed.previous_owner;
  return granted;
}

JobPart part(const std::string& name) { return {.id = name}; }
JobPart part(const LockHolding& holding) {
  return {.id = holding.resource, .fence = holding.fence, .holder = holding.owner};
}
JobPart part(const LockGrant& grant) {
  return {.id = grant.resource, .fence = grant.fence, .from = grant.previous_owner};
}
JobPart part(const LockRefusal& refusal) {
  return {.id = refusal.sent.resource,
          .fence = refusal.sent.fence,
          .reason = std::string(to_string(refusal.reason)),
          .current = refusal.current,
          .holder = refusal.sent.owner};
}

JobPart part(const ItemChange& change) {
  JobPart part{.id = to_string(change.id),
               .fence = change.fence.value_or(0),
               .only = change.only ? std::string(to_string(*change.only)) : "",
               .act = change.act,
               .revision = change.revision};
  if (!change.place) return part;
  const Placement& place = *change.place;
  part.stage = place.stage;
  part.state = to_string(place.state);
  part.delayed = place.delay > Duration{0};
  part.fresh = place.fresh;
  if (change.fence) part.outcome = to_string(place.error.empty() ? OutcomeKind::done : OutcomeKind::failed);
  return part;
}

JobPart part(const FiredTick& fired) { return {.id = to_string(fired.job.id), .tick = micros(fired.tick)}; }
JobPart part(const SkippedTicks& range) {
  return {.id = range.reason, .tick = micros(range.first), .last = micros(range.last), .count = range.count};
}

}  // namespace fenceline::history
