// The ledger: what of a job's side effects has happened.
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

// Why the caller may not begin: it does not hold the job by a live lease.
std::optional<Refusal> MemoryStore::not_held(const Entry* entry, const BeginEffectRequest& request, const Now& now) {
  const auto refused = [&](Reason reason) {
    return Refusal{request.job, request.fence, entry ? entry->job.fence : 0, reason};
  };
  if (!entry) return refused(Reason::not_found);
  if (entry->job.fence != request.fence) return refused(Reason::superseded);
  if (is_finished(entry->job.state)) return refused(Reason::finished);
  if (entry->job.state != JobState::running) return refused(Reason::settled);
  if (expired(*entry, now)) return refused(Reason::expired);
  return std::nullopt;
}

bool MemoryStore::in_doubt(const Entry& entry, const Effect& effect, const Now& now) {
  if (effect.state != EffectState::intent) return false;
  const bool at_it = entry.job.state == JobState::running && entry.job.fence == effect.fence && !expired(entry, now);
  return !at_it;
}

std::vector<std::string> MemoryStore::waited_for(const Entry& entry) {
  std::vector<std::string> names;
  for (const auto& [name, numbered] : entry.effects) {
    if (numbered.effect.held) names.push_back(name);
  }
  return names;
}

void MemoryStore::wait_for_none(Entry& entry) {
  for (auto& [name, numbered] : entry.effects) numbered.effect.held = false;
}

bool MemoryStore::has_doubt(const Entry& entry, const Now& now) {
  return std::any_of(entry.effects.begin(), entry.effects.end(),
                     [&](const auto& one) { return in_doubt(entry, one.second.effect, now); });
}

void MemoryStore::hold(Space& space, Entry& entry, Effect& effect, const Now& now, Changes& changes) {
  effect.held = true;
  entry.revoked = Revoked{entry.job.fence, entry.job.owner, entry.lease_end, entry.ttl};
  changes.orders = true;
  entry.job = held_for_effect(entry.job);
  end_attempt(entry, AttemptEnd::held, {}, now);
  note_free_slot(space, entry, changes);
}

void MemoryStore::end_effect(Space& space, Entry& entry, Effect& effect, EffectState state, const Now& now,
                             Changes& changes) {
  effect.state = state;
  effect.ended_at = now.wall;
  const bool waited = effect.held;  // else the job, if it waits, does so for a gate
  effect.held = false;
  if (!waited || entry.job.state != JobState::waiting || !waited_for(entry).empty()) return;
  entry.job = released_from_hold(entry.job);
  changes.claimable.emplace(entry.job.queue, entry.job.stage);
  note_free_slot(space, entry, changes);
}

void MemoryStore::begin(Effect& effect, const BeginEffectRequest& request, const Now& now) {
  effect.state = EffectState::intent;
  effect.policy = request.in_doubt;
  effect.digest = request.digest;
  effect.fence = request.fence;
  effect.call = request.call;
  effect.actor = request.actor;
  effect.began_at = now.wall;
  effect.ended_at.reset();
  effect.exit_status.reset();
  effect.result.clear();
  effect.resolved_by.clear();
}

// The caller holds the job.
Result<BeginEffectReply> MemoryStore::meet(Space& space, Entry& entry, const BeginEffectRequest& request,
                                           const Now& now, Changes& changes) {
  const auto in_its_way = [&] {
    return request.in_doubt == InDoubt::probe ? EffectVerdict::probe : EffectVerdict::again;
  };
  const auto found = entry.effects.find(request.name);
  if (found == entry.effects.end()) {
    if (static_cast<std::int64_t>(entry.effects.size()) >= kEffectsOfAJobMost)
      return fail(Code::refused, "job " + to_string(request.job) + " has 10000 effects already");
    NumberedEffect& made = entry.effects[request.name];
    made.number = ++last_effect_;
    made.effect.job = request.job;
    made.effect.name = request.name;
    begin(made.effect, request, now);
    return BeginEffectReply{.verdict = EffectVerdict::act};
  }
  Effect& effect = found->second.effect;
  if (effect.state == EffectState::none) {
    if (effect.call == request.call)
      return fail(Code::refused, "this call of effect " + request.name + " of job " + to_string(request.job) +
                                     " ended without effect; begin again with a new call");
    effect.doubts = 0;
    begin(effect, request, now);
    return BeginEffectReply{.verdict = EffectVerdict::act};
  }
  if (effect.digest != request.digest)
    return fail(Code::conflict, "effect " + request.name + " of job " + to_string(request.job) + " was " +
                                    (effect.state == EffectState::done ? "done" : "begun") +
                                    " for another command or request; give this one another name");
  if (effect.state == EffectState::done)
    return BeginEffectReply{.verdict = EffectVerdict::done, .result = effect.result, .exit_status = effect.exit_status};
  const bool under_this_fence = effect.fence == request.fence;
  if (under_this_fence && effect.call == request.call)
    return BeginEffectReply{.verdict = effect.doubts == 0 ? EffectVerdict::act : in_its_way()};
  const bool may_be_at_it = under_this_fence && effect.call != request.dead_call;
  if (may_be_at_it) return BeginEffectReply{.verdict = EffectVerdict::busy, .call = effect.call, .actor = effect.actor};
  if (request.in_doubt == InDoubt::hold) {
    hold(space, entry, effect, now, changes);
    return BeginEffectReply{.verdict = EffectVerdict::held};
  }
  effect.doubts += 1;
  begin(effect, request, now);
  return BeginEffectReply{.verdict = in_its_way()};
}

Result<BeginEffectReply> MemoryStore::begin_effect(const BeginEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Changes changes;
  Result<BeginEffectReply> reply;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    Entry* entry = find_job(space, request.job);
    if (std::optional<Refusal> refusal = not_held(entry, request, now)) {
      const bool same_fence = entry && entry->job.fence == request.fence && entry->job.state == JobState::waiting;
      const auto effect = same_fence ? entry->effects.find(request.name) : decltype(entry->effects)::iterator{};
      if (same_fence && effect != entry->effects.end() && effect->second.effect.held)
        return BeginEffectReply{.verdict = EffectVerdict::held};
      return BeginEffectReply{.verdict = EffectVerdict::lost, .refusal = std::move(refusal)};
    }
    reply = meet(space, *entry, request, now, changes);
  }
  tell(request.ns, changes);
  return reply;
}

Result<FinishEffectReply> MemoryStore::finish_effect(const FinishEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    Entry* entry = find_job(space, request.job);
    const auto refused = [&](Reason reason) {
      return FinishEffectReply{.refusal = Refusal{request.job, request.fence, entry ? entry->job.fence : 0, reason}};
    };
    if (!entry) return refused(Reason::not_found);
    if (entry->job.fence != request.fence) return refused(Reason::superseded);
    const auto found = entry->effects.find(request.name);
    if (found == entry->effects.end() || found->second.effect.call != request.call ||
        found->second.effect.fence != request.fence)
      return refused(Reason::other_call);
    Effect& effect = found->second.effect;
    const bool known_better =
        effect.state == EffectState::none && !effect.resolved_by.empty() && request.end == EffectEnd::done;
    if (effect.state != EffectState::intent && !known_better) {
      const bool same =
          (effect.state == EffectState::done) == (request.end == EffectEnd::done) && request.end != EffectEnd::held;
      return same && effect.resolved_by.empty() ? FinishEffectReply{} : refused(Reason::other_call);
    }
    if (request.end == EffectEnd::held) {
      if (entry->job.state == JobState::running) hold(space, *entry, effect, now, changes);
      else if (entry->job.state == JobState::waiting && !waited_for(*entry).empty()) effect.held = true;
    } else {
      if (request.end == EffectEnd::done) {
        effect.result = request.result;
        effect.exit_status = request.exit_status;
        effect.resolved_by.clear();
      }
      end_effect(space, *entry, effect, request.end == EffectEnd::done ? EffectState::done : EffectState::none, now,
                 changes);
      if (known_better)
        note_act(request.ns, {"worker", "its own call reported so"}, "effect_resolved",
                 to_string(request.job) + " " + request.name + " done", now);
    }
  }
  tell(request.ns, changes);
  return FinishEffectReply{};
}

Result<void> MemoryStore::resolve_effect(const ResolveEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    Entry* entry = find_job(space, request.job);
    const std::string of_job = " of job " + to_string(request.job);
    if (!entry) return fail(Code::not_found, "there is no job " + to_string(request.job));
    const auto found = entry->effects.find(request.name);
    if (found == entry->effects.end()) return fail(Code::not_found, "there is no effect " + request.name + of_job);
    Effect& effect = found->second.effect;
    const EffectState wanted = request.done ? EffectState::done : EffectState::none;
    if (effect.state == wanted) return {};
    if (effect.state != EffectState::intent)
      return fail(Code::refused, "effect " + request.name + of_job + " is not in doubt: it is " +
                                     std::string(to_string(effect.state)));
    if (!request.call.empty() && request.call != effect.call)
      return fail(Code::refused, "effect " + request.name + of_job + " was begun again by another call; look again");
    if (!in_doubt(*entry, effect, now))
      return fail(Code::refused,
                  "effect " + request.name + of_job +
                      " is not in doubt: its holder is still working on it; cancel the job first, or wait");
    if (keeps_slot(*entry, now) && entry->revoked->fence == effect.fence)
      return fail(Code::refused,
                  "effect " + request.name + of_job +
                      ": its holder may still be running; wait until its worker has stopped or its lease has ended");
    effect.resolved_by = request.act.actor;
    effect.result = request.result;
    end_effect(space, *entry, effect, wanted, now, changes);
    note_act(request.ns, request.act, "effect_resolved",
             to_string(request.job) + " " + request.name + " " + std::string(to_string(wanted)), now);
  }
  tell(request.ns, changes);
  return {};
}

Result<EffectsReply> MemoryStore::effects(const EffectsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  EffectsReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  std::map<std::int64_t, Effect> matching;
  for (const auto& [id, entry] : space->jobs) {
    if (request.job && id != *request.job) continue;
    for (const auto& [name, numbered] : entry.effects) {
      Effect effect = numbered.effect;
      effect.in_doubt = in_doubt(entry, effect, now);
      if (numbered.number > request.after && (effect.in_doubt || !request.in_doubt))
        matching.emplace(numbered.number, std::move(effect));
    }
  }
  std::int64_t last = request.after;
  for (auto& [number, effect] : matching) {
    if (reply.effects.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = last;
      break;
    }
    last = number;
    if (!request.with_result) effect.result.clear();
    reply.effects.push_back(std::move(effect));
  }
  return reply;
}

}  // namespace fenceline
