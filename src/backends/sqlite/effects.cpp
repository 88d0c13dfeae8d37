// The ledger: what of a job's side effects has happened, and what becomes of a job when nobody can tell.
#include <string>
#include <utility>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/finish.hpp"
#include "backends/sqlite/verbs.hpp"
#include "backends/sqlite/waiting.hpp"

namespace fenceline::sqlite {
namespace {

// Of a delivery that is over and whose handler may still be at work.
constexpr const char* kSlotOfDelivery = "SELECT 1 FROM slot WHERE seq = ?1 AND fence = ?2 AND lease_end > ?3";

// The job that a request is about, as it stands.
struct Found {
  std::int64_t ns_id = 0;
  std::optional<Delivery> job;

  Fence fence() const { return job ? job->fence : 0; }
};

Found look_for(Call& call, const std::string& ns, const JobId& id) {
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return {};
  const auto seq = find_seq(call, *ns_id, id);
  return {*ns_id, seq ? std::optional(find_delivery(call, *seq)) : std::nullopt};
}

// Why the caller may not begin: it does not hold the job by a live lease.
Reason not_held(Call& call, const Found& found, Fence sent) {
  if (!found.job) return Reason::not_found;
  if (found.job->fence != sent) return Reason::superseded;
  if (is_finished(found.job->state)) return Reason::finished;
  if (found.job->state != JobState::running) return Reason::settled;
  if (found.job->lease_end <= call.now_us()) return Reason::expired;
  return Reason::none;
}

// Whether the job waits for this effect under this fence: whoever asks again is told so.
bool waits_for_it(Call& call, const Found& found, const BeginEffectRequest& request) {
  if (!found.job || found.job->state != JobState::waiting || found.job->fence != request.fence) return false;
  const auto row = find_effect(call, found.job->seq, request.name);
  return row && row->effect.held;
}

void begin(Call& call, std::int64_t ns_id, const BeginEffectRequest& request, EffectRow& row) {
  Effect& effect = row.effect;
  effect.state = EffectState::intent;
  effect.policy = request.in_doubt;
  effect.digest = request.digest;
  effect.fence = request.fence;
  effect.call = request.call;
  effect.actor = request.actor;
  effect.began_at = call.wall;
  effect.ended_at.reset();
  effect.exit_status.reset();
  effect.result.clear();
  effect.resolved_by.clear();
  write_effect(call, ns_id, row);
}

Result<BeginEffectReply> begin_first(Call& call, const Found& found, const BeginEffectRequest& request) {
  if (count_effects(call, found.job->seq) >= kEffectsOfAJobMost)
    return fail(Code::refused,
                "job " + to_string(request.job) + " has " + std::to_string(kEffectsOfAJobMost) + " effects already");
  EffectRow row{.number = 0, .seq = found.job->seq, .effect = {}};
  row.effect.name = request.name;
  begin(call, found.ns_id, request, row);
  return BeginEffectReply{.verdict = EffectVerdict::act};
}

// The caller holds the job, and its effect was begun before.
Result<BeginEffectReply> meet(Call& call, Found& found, const BeginEffectRequest& request, EffectRow& row) {
  Effect& effect = row.effect;
  const std::string of_job = "effect " + request.name + " of job " + to_string(request.job);
  if (effect.state == EffectState::none) {
    if (effect.call == request.call)
      return fail(Code::refused, "this call of " + of_job + " ended without effect; begin again with a new call");
    effect.doubts = 0;
    begin(call, found.ns_id, request, row);
    return BeginEffectReply{.verdict = EffectVerdict::act};
  }
  if (effect.digest != request.digest)
    return fail(Code::conflict, of_job + " was " + (effect.state == EffectState::done ? "done" : "begun") +
                                    " for another command or request; give this one another name");
  if (effect.state == EffectState::done)
    return BeginEffectReply{
        .verdict = EffectVerdict::done, .result = std::move(effect.result), .exit_status = effect.exit_status};
  const EffectVerdict in_its_way = request.in_doubt == InDoubt::probe ? EffectVerdict::probe : EffectVerdict::again;
  const bool under_this_fence = effect.fence == request.fence;
  if (under_this_fence && effect.call == request.call)
    return BeginEffectReply{.verdict = effect.doubts == 0 ? EffectVerdict::act : in_its_way};
  if (under_this_fence && effect.call != request.dead_call)
    return BeginEffectReply{.verdict = EffectVerdict::busy, .call = effect.call, .actor = effect.actor};
  if (request.in_doubt == InDoubt::hold) {
    effect.held = true;
    write_effect(call, found.ns_id, row);
    hold(call, found.ns_id, request.ns, *found.job);
    return BeginEffectReply{.verdict = EffectVerdict::held};
  }
  effect.doubts += 1;
  begin(call, found.ns_id, request, row);
  return BeginEffectReply{.verdict = in_its_way};
}

// It is known what became of it: whoever waited for that goes on.
void end_effect(Call& call, Found& found, EffectRow& row, EffectState state) {
  const bool was_open = row.effect.state == EffectState::intent;
  row.effect.state = state;
  row.effect.ended_at = call.wall;
  const bool waited = row.effect.held;  // else the job, if it waits, does so for a gate
  row.effect.held = false;
  write_effect(call, found.ns_id, row);
  Delivery& job = *found.job;
  if (waited && job.state == JobState::waiting && waited_for(call, job.seq).empty()) release(call, job);
  if (was_open && is_finished(job.state) && !has_intent(call, job.seq)) {
    add_place(call, job);
    look_again(call, job);
  }
}

// The caller's own intent: nobody knows.
void end_as_held(Call& call, const std::string& ns, Found& found, EffectRow& row) {
  const bool waits = found.job->state == JobState::waiting && !waited_for(call, found.job->seq).empty();
  if (found.job->state != JobState::running && !waits) return;
  if (row.effect.held) return;
  row.effect.held = true;
  write_effect(call, found.ns_id, row);
  if (found.job->state == JobState::running) hold(call, found.ns_id, ns, *found.job);
}

}  // namespace

Result<BeginEffectReply> begin_effect(Call& call, const BeginEffectRequest& request) {
  Found found = look_for(call, request.ns, request.job);
  if (const Reason reason = not_held(call, found, request.fence); reason != Reason::none) {
    if (waits_for_it(call, found, request)) return BeginEffectReply{.verdict = EffectVerdict::held};
    return BeginEffectReply{.verdict = EffectVerdict::lost,
                            .refusal = Refusal{request.job, request.fence, found.fence(), reason}};
  }
  std::optional<EffectRow> row = find_effect(call, found.job->seq, request.name);
  return row ? meet(call, found, request, *row) : begin_first(call, found, request);
}

Result<FinishEffectReply> finish_effect(Call& call, const FinishEffectRequest& request) {
  Found found = look_for(call, request.ns, request.job);
  const auto refused = [&](Reason reason) {
    return FinishEffectReply{.refusal = Refusal{request.job, request.fence, found.fence(), reason}};
  };
  if (!found.job) return refused(Reason::not_found);
  if (found.job->fence != request.fence) return refused(Reason::superseded);
  std::optional<EffectRow> row = find_effect(call, found.job->seq, request.name);
  if (!row || row->effect.call != request.call || row->effect.fence != request.fence)
    return refused(Reason::other_call);
  Effect& effect = row->effect;
  const bool known_better =
      effect.state == EffectState::none && !effect.resolved_by.empty() && request.end == EffectEnd::done;
  if (effect.state != EffectState::intent && !known_better) {
    const bool same =
        request.end != EffectEnd::held && (effect.state == EffectState::done) == (request.end == EffectEnd::done);
    return same && effect.resolved_by.empty() ? FinishEffectReply{} : refused(Reason::other_call);
  }
  if (request.end == EffectEnd::held) {
    end_as_held(call, request.ns, found, *row);
    return FinishEffectReply{};
  }
  if (request.end == EffectEnd::done) {
    effect.result = request.result;
    effect.exit_status = request.exit_status;
    effect.resolved_by.clear();
  }
  end_effect(call, found, *row, request.end == EffectEnd::done ? EffectState::done : EffectState::none);
  if (known_better)
    enter_in_trail(call, request.ns, {"worker", "its own call reported so"}, "effect_resolved",
                   to_string(request.job) + " " + request.name + " done");
  return FinishEffectReply{};
}

Result<void> resolve_effect(Call& call, const ResolveEffectRequest& request) {
  Found found = look_for(call, request.ns, request.job);
  if (!found.job) return fail(Code::not_found, "there is no job " + to_string(request.job));
  const std::string of_job = "effect " + request.name + " of job " + to_string(request.job);
  std::optional<EffectRow> row = find_effect(call, found.job->seq, request.name);
  if (!row) return fail(Code::not_found, "there is no " + of_job);
  Effect& effect = row->effect;
  const EffectState wanted = request.done ? EffectState::done : EffectState::none;
  if (effect.state == wanted) return {};
  if (effect.state != EffectState::intent)
    return fail(Code::refused, of_job + " is not in doubt: it is " + std::string(to_string(effect.state)));
  if (!request.call.empty() && request.call != effect.call)
    return fail(Code::refused, of_job + " was begun again by another call; look again");
  if (!is_in_doubt(call, *found.job, effect))
    return fail(Code::refused,
                of_job + " is not in doubt: its holder is still working on it; cancel the job first, or wait");
  if (call.db.number(kSlotOfDelivery, found.job->seq, effect.fence, call.now_us()))
    return fail(Code::refused,
                of_job + ": its holder may still be running; wait until its worker has stopped or its lease has ended");
  effect.resolved_by = request.act.actor;
  effect.result = request.result;
  end_effect(call, found, *row, wanted);
  enter_in_trail(call, request.ns, request.act, "effect_resolved",
                 to_string(request.job) + " " + request.name + " " + std::string(to_string(wanted)));
  return {};
}

Result<EffectsReply> effects(Call& call, const EffectsRequest& request) {
  EffectsReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  EffectSearch search{.ns_id = *ns_id,
                      .seq = {},
                      .intents = request.in_doubt,
                      .after = request.after,
                      .with_result = request.with_result};
  if (request.job) {
    search.seq = find_seq(call, *ns_id, *request.job);
    if (!search.seq) return reply;
  }
  std::int64_t last = request.after;
  std::optional<Delivery> job;  // of the one before
  each_effect(call, search, [&](EffectRow row) {
    if (!job || job->seq != row.seq) job = find_delivery(call, row.seq);
    row.effect.in_doubt = is_in_doubt(call, *job, row.effect);
    if (request.in_doubt && !row.effect.in_doubt) return true;
    if (reply.effects.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = last;
      return false;
    }
    last = row.number;
    row.effect.job = id_of(call, row.seq);
    reply.effects.push_back(std::move(row.effect));
    return true;
  });
  return reply;
}

}  // namespace fenceline::sqlite
