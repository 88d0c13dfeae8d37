// What the ledger may say of side effects: E1, E2, J3. And the floor that an operator raises: L2.
#include <algorithm>

#include "sim/checks/find_refusal.hpp"
#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

std::string StoreChecks::must_begin(const Applied& when, const BeginEffectRequest& request) const {
  const KnownJob* job = find(request.job);
  if (!job || job->fence != request.fence) return "lost";
  const auto found = job->effects.find(request.name);
  const KnownEffect* effect = found == job->effects.end() ? nullptr : &found->second;
  if (job->state == JobState::waiting && effect && effect->held) return "held";
  if (!job->leased(when.at)) return "lost";
  if (!effect) return "act";
  if (effect->state == EffectState::none) return effect->call == request.call ? "refused" : "act";
  if (effect->digest != request.digest) return "conflict";
  if (effect->state == EffectState::done) return "done";
  const std::string in_its_way = request.in_doubt == InDoubt::probe ? "probe" : "again";
  if (effect->call == request.call) return effect->doubts == 0 ? "act" : in_its_way;
  if (effect->fence == request.fence && effect->call != request.dead_call) return "busy";
  return request.in_doubt == InDoubt::hold ? "held" : in_its_way;
}

void StoreChecks::see(const Applied& when, const BeginEffectCall& call) {
  const BeginEffectRequest& request = call.request;
  const std::string must = must_begin(when, request);
  const std::string is(call.reply ? to_string(call.reply->verdict) : to_string(call.reply.error().code));
  if (is != must) {
    const KnownJob* job = find(request.job);
    const bool older = must == "lost" && job && job->fence != request.fence;
    const bool twice = is == "act" || must == "done" || must == "conflict";
    return broken(older                     ? "J3"
                  : must != "lost" && twice ? "E1"
                                            : "E2",
                  request.job,
                  "had effect " + request.name + " begun with the answer '" + is + "', it must be '" + must + "'");
  }
  if (is == "conflict") return tally_.add(Count::effect_conflicts);
  if (is == "lost") return tally_.add(Count::effects_lost);
  if (!call.reply) return;
  KnownJob& job = *known(request.job);
  const KnownEffect& effect = job.effects[request.name];
  if (is == "done" && (call.reply->result != effect.result || call.reply->exit_status != effect.exit_status))
    return broken("E1", job.id, "had effect " + request.name + " replayed with another result than it had");
  if (is == "busy" && call.reply->call != effect.call)
    return broken("E2", job.id, "names another call than the one that is at effect " + request.name);
  see_begun(when, request, job, call.reply->verdict);
}

void StoreChecks::see_begun(const Applied& when, const BeginEffectRequest& request, KnownJob& job,
                            EffectVerdict verdict) {
  KnownEffect& effect = job.effects[request.name];
  switch (verdict) {
    case EffectVerdict::lost: return;
    case EffectVerdict::done: return tally_.add(Count::effect_replays);
    case EffectVerdict::busy: return tally_.add(Count::effect_busy);
    case EffectVerdict::held:
      if (job.state != JobState::waiting) {
        revoke(when, job, AttemptEnd::held);  // its handler may run on: the slot stays taken
        job.hold(effect);
        tally_.add(Count::effect_holds);
      }
      return compare_now(when, job);
    case EffectVerdict::act:
    case EffectVerdict::again:
    case EffectVerdict::probe: break;
  }
  if (effect.state == EffectState::intent && effect.call == request.call) return;  // the same again
  const bool doubted = effect.state == EffectState::intent;
  tally_.add(doubted ? Count::effect_doubts : Count::effects_begun);
  effect.doubts = doubted ? effect.doubts + 1 : 0;
  effect.state = EffectState::intent;
  effect.policy = request.in_doubt;
  effect.digest = request.digest;
  effect.fence = request.fence;
  effect.call = request.call;
  effect.by_operator = false;
  effect.result.clear();
  effect.exit_status.reset();
}

void StoreChecks::see(const Applied& when, const FinishEffectCall& call) {
  if (!call.reply) return;
  const FinishEffectRequest& request = call.request;
  KnownJob* job = known(request.job);
  const auto found = job ? job->effects.find(request.name) : decltype(job->effects.end()){};
  KnownEffect* effect = job && found != job->effects.end() ? &found->second : nullptr;
  const bool own = effect && effect->call == request.call;
  const bool ended = own && effect->state != EffectState::intent;
  const bool as_said = request.end == (own && effect->state == EffectState::done ? EffectEnd::done : EffectEnd::none);
  const bool again = ended && as_said && !effect->by_operator;
  // What the call itself knows beats what an operator guessed.
  const bool known_better = ended && effect->by_operator && effect->state == EffectState::none &&
                            request.end == EffectEnd::done && effect->fence == request.fence;
  const Reason must = !job                                         ? Reason::not_found
                      : job->fence != request.fence                ? Reason::superseded
                      : !own || (ended && !again && !known_better) ? Reason::other_call
                                                                   : Reason::none;
  const Reason is = call.reply->refusal ? call.reply->refusal->reason : Reason::none;
  if (is != must)
    return broken(must == Reason::superseded ? "J3" : "E2", request.job,
                  "had effect " + request.name + " ended with the answer '" + word_of(is) + "', it must be '" +
                      word_of(must) + "'");
  if (must != Reason::none) return tally_.add(Count::late_finishes);
  if (again) return;
  if (request.end == EffectEnd::held) {
    if (job->state == JobState::running) {
      revoke(when, *job, AttemptEnd::held);
      job->hold(*effect);
      tally_.add(Count::effect_holds);
    } else if (job->state == JobState::waiting) {
      effect->held = true;
    }
  } else {
    const bool done = request.end == EffectEnd::done;
    if (done) {
      effect->result = request.result;
      effect->exit_status = request.exit_status;
      effect->by_operator = false;
    }
    job->end_effect(*effect, done ? EffectState::done : EffectState::none);
    tally_.add(done ? Count::effects_done : Count::effects_none);
  }
  compare_now(when, *job);
}

void StoreChecks::see(const Applied& when, const ResolveEffectCall& call) {
  const ResolveEffectRequest& request = call.request;
  KnownJob* job = known(request.job);
  const auto found = job ? job->effects.find(request.name) : decltype(job->effects.end()){};
  KnownEffect* effect = job && found != job->effects.end() ? &found->second : nullptr;
  const EffectState wanted = request.done ? EffectState::done : EffectState::none;
  const bool as_asked = effect && effect->state == wanted;
  const bool at_it = effect && keeps_slot({job->id, effect->fence}, when.at);  // its handler may be
  const bool about_it = effect && (request.call.empty() || request.call == effect->call);
  const std::string must = !effect                                                               ? "not_found"
                           : as_asked || (about_it && job->in_doubt(*effect, when.at) && !at_it) ? "ok"
                                                                                                 : "refused";
  const std::string is = call.reply ? "ok" : std::string(to_string(call.reply.error().code));
  if (is != must)
    return broken("E2", request.job,
                  "had effect " + request.name + " resolved with the answer '" + is + "', it must be '" + must + "'");
  if (is != "ok" || as_asked) return;
  effect->by_operator = true;
  effect->result = request.result;
  job->end_effect(*effect, wanted);
  tally_.add(Count::effects_resolved);
  compare_now(when, *job);
}

void StoreChecks::see(const Applied&, const RaiseFloorCall& call) {
  if (!call.reply) return;
  if (*call.reply < std::max(floor_, call.request.floor))
    violations_.add("L2", "the floor was raised to " + std::to_string(call.request.floor) + " and stands at " +
                              std::to_string(*call.reply));
  floor_ = *call.reply;
  tally_.add(Count::floors_raised);
}

void StoreChecks::compare_now(const Applied& when, const KnownJob& job) {
  const Result<std::optional<Job>> shown = store_.job(ns_, job.id);
  if (!shown || !*shown) return broken("J1", job.id, "is gone after a call about its effect");
  compare(job, **shown, when.at, "E2");
}

std::int64_t StoreChecks::doubts(Instant now) const {
  std::int64_t count = 0;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [name, effect] : job.effects) count += job.in_doubt(effect, now) ? 1 : 0;
  }
  return count;
}

// Every one is listed as it must be, and every doubt is named to whoever asks for doubts alone.
void StoreChecks::compare_effects(Instant now) {
  std::int64_t known = 0;
  for (const auto& [id, job] : jobs_) known += static_cast<std::int64_t>(job.effects.size());
  if (known == 0) return;
  const auto list = [&](bool in_doubt) {
    std::vector<Effect> all;
    EffectsRequest request{.ns = ns_, .in_doubt = in_doubt, .limit = 1000, .with_result = true};
    while (true) {
      const Result<EffectsReply> page = store_.effects(request);
      if (!page) {
        violations_.add("E2", "the effects cannot be listed: " + page.error().message);
        return all;
      }
      all.insert(all.end(), page->effects.begin(), page->effects.end());
      if (!page->next) return all;
      request.after = *page->next;
    }
  };
  const std::vector<Effect> all = list(false);
  for (const Effect& shown : all) {
    const KnownJob* job = find(shown.job);
    if (!job || !job->effects.contains(shown.name))
      return broken("E2", shown.job, "shows effect " + shown.name + ", which nobody began");
    compare_effect(*job, shown, now);
  }
  if (static_cast<std::int64_t>(all.size()) != known)
    return violations_.add(
        "E2", "there are " + std::to_string(known) + " effects, and " + std::to_string(all.size()) + " are listed");
  const std::size_t named = list(true).size();
  if (static_cast<std::int64_t>(named) != doubts(now))
    violations_.add("E2",
                    std::to_string(doubts(now)) + " effects are in doubt, and " + std::to_string(named) + " are named");
}

void StoreChecks::compare_effect(const KnownJob& job, const Effect& shown, Instant now) {
  const KnownEffect& must = job.effects.at(shown.name);
  const auto wrong = [&](std::string_view promise, const std::string& what) {
    broken(promise, job.id, "shows effect " + shown.name + " " + what);
  };
  if (shown.state != must.state)
    return wrong("E1",
                 "as " + std::string(to_string(shown.state)) + ", it must be " + std::string(to_string(must.state)));
  if (shown.in_doubt != job.in_doubt(must, now))
    return wrong("E2", shown.in_doubt ? "as in doubt, and its holder is at it"
                                      : "as if its holder were at it, and it is in doubt");
  if (job.state == JobState::waiting && shown.held != must.held)
    return wrong("E2", "with a wrong word on whether its job waits for it");
  if (shown.digest != must.digest || shown.fence != must.fence || shown.call != must.call ||
      shown.policy != must.policy)
    return wrong("E2", "begun by another call than it was");
  if (shown.doubts != must.doubts)
    return wrong("E2", "with " + std::to_string(shown.doubts) + " doubts, it must be " + std::to_string(must.doubts));
  if (must.state == EffectState::done && (shown.result != must.result || shown.exit_status != must.exit_status))
    return wrong("E1", "with another result than it had");
}

}  // namespace fenceline::sim
