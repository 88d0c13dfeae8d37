#include "conformance/reply_text.hpp"

#include <algorithm>
#include <functional>
#include <sstream>

namespace fenceline::test {
namespace {

std::string bytes(const std::string& text) {
  constexpr std::size_t kShownMost = 10'000;
  if (text.size() > kShownMost)
    return std::to_string(text.size()) + " bytes, hash " + std::to_string(std::hash<std::string>{}(text));
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 0x0f];
    }
  }
  return out + "'";
}

std::string micros(WallTime time) { return std::to_string(time.time_since_epoch().count()); }
std::string micros(Duration duration) { return std::to_string(duration.count()); }

template <class T>
std::string maybe(const std::optional<T>& value) {
  return value ? micros(*value) : "none";
}

std::string text_of(const std::vector<Refusal>& refused) {
  std::string out;
  for (const Refusal& refusal : refused) {
    out += "\n  refused " + to_string(refusal.id) + " sent " + std::to_string(refusal.sent) + " current " +
           std::to_string(refusal.current) + " " + std::string(to_string(refusal.reason));
  }
  return out;
}

std::string text_of(const std::vector<LockRefusal>& refused) {
  std::string out;
  for (const LockRefusal& refusal : refused) {
    const LockHolding& sent = refusal.sent;
    out += "\n  refused " + sent.resource + "@" + std::to_string(sent.fence) + " of " + bytes(sent.owner) +
           " current " + std::to_string(refusal.current) + " " + std::string(to_string(refusal.reason));
  }
  return out;
}

std::string text_of(const LockRow& row) {
  std::ostringstream out;
  out << row.resource << "@" << row.fence << " " << to_string(row.mode) << " pattern " << bytes(row.pattern)
      << " free_in " << maybe(row.free_in) << " seen at gate " << row.seen_at_gate.value_or(0) << " holders "
      << row.holders_count;
  for (const LockHolder& holder : row.holders)
    out << "\n    " << bytes(holder.owner) << " at " << bytes(holder.place) << " since " << micros(holder.granted_at)
        << " left " << micros(holder.left);
  out << "\n    waiters " << row.waiters_count;
  for (const LockWaiter& waiter : row.waiters)
    out << "\n    " << bytes(waiter.owner) << " at " << bytes(waiter.place) << " since " << micros(waiter.since) << " "
        << to_string(waiter.mode);
  return out.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

std::string number(const std::optional<int>& value) { return value ? std::to_string(*value) : "none"; }

std::string ids(const std::vector<JobId>& ids) {
  std::string out;
  for (const JobId& id : ids) out += " " + to_string(id);
  return out;
}

std::string id_or_none(const std::optional<JobId>& id) { return id ? to_string(*id) : "none"; }

std::string text_of(const std::optional<QueuePause>& pause) {
  return pause ? micros(pause->at) + " by " + bytes(pause->by) + " " + bytes(pause->reason) : "no";
}

std::string moments(const std::vector<WallTime>& duplicates) {
  std::string out;
  for (const WallTime tick : duplicates) out += "\n    duplicate " + micros(tick);
  return out;
}

std::string text_of(const ScheduleRow& row) {
  std::ostringstream out;
  out << row.name << " spec " << bytes(row.spec) << " revision " << row.revision << " version " << row.version
      << " resolved_to " << micros(row.resolved_to) << " counts_from " << micros(row.counts_from) << " fired_to "
      << micros(row.fired_to) << " bar " << micros(row.bar) << " created " << micros(row.created_at) << " changed "
      << micros(row.changed_at) << (row.removed ? " removed" : "");
  if (row.paused)
    out << " paused " << micros(row.paused->at) << " by " << bytes(row.paused->by) << " " << bytes(row.paused->reason);
  for (const UnfinishedRun& run : row.unfinished)
    out << "\n    unfinished " << micros(run.tick) << " " << to_string(run.job) << " " << to_string(run.state);
  return out.str();
}

std::string text_of(const SkippedTicks& range) {
  return micros(range.first) + ".." + micros(range.last) + " x" + std::to_string(range.count) + " " + range.reason;
}

std::string text_of(const TickStep& step) {
  std::string out = step.schedule + " revision " + std::to_string(step.revision) + " from " + micros(step.from) +
                    " to " + micros(step.to);
  for (const FiredTick& fired : step.fired)
    out += "\n    fires " + micros(fired.tick) + " " + to_string(fired.job.id) + " in " + fired.job.queue;
  for (const SkippedTicks& range : step.skipped) out += "\n    skips " + text_of(range);
  return out;
}

}  // namespace

std::string text_of(const Job& job) {
  std::ostringstream out;
  out << to_string(job.id) << " queue " << job.queue << " stage '" << job.stage << "' " << to_string(job.state)
      << " payload " << bytes(job.payload) << " priority " << job.priority << " attempts_max " << job.attempts_max
      << " created " << micros(job.created_at) << " run " << micros(job.run_at) << " finished "
      << maybe(job.finished_at) << " fence " << job.fence << " owner " << bytes(job.owner) << " lease_left "
      << maybe(job.lease_left) << " deliveries " << job.deliveries << " failures " << job.failures << " losses "
      << job.losses << " in_row " << job.losses_in_row << " laters " << job.laters << " last "
      << (job.last_outcome ? to_string(*job.last_outcome) : "none") << " error " << bytes(job.error) << " result "
      << bytes(job.result) << " exit " << number(job.exit_status) << " backoff " << micros(job.backoff.first) << ".."
      << micros(job.backoff.most) << " timeout " << micros(job.timeout) << " key " << bytes(job.key) << " for "
      << micros(job.key_for) << " group " << bytes(job.group) << " limit_key " << bytes(job.limit_key) << " tags "
      << joined(job.tags) << " trace " << job.traceparent;
  if (job.progress) out << " progress " << job.progress->percent << " " << bytes(job.progress->note);
  return out.str();
}

std::string text_of(const std::vector<JobId>& found) { return std::to_string(found.size()) + ids(found); }

std::string text_of(const EnqueueReply& reply) { return "existing " + std::to_string(reply.existing) + ids(reply.ids); }

std::string text_of(const ClaimReply& reply) {
  std::ostringstream out;
  out << "waited " << micros(reply.waited) << " next_due " << maybe(reply.next_due) << " alone_waiting "
      << reply.alone_waiting << (reply.ordered ? " ordered" : "") << " buried " << reply.buried;
  for (const ClaimedJob& claimed : reply.jobs) {
    out << "\n  " << text_of(claimed.job) << " left " << micros(claimed.left) << " forced " << claimed.forced
        << " previous " << bytes(claimed.previous_owner);
  }
  return out.str();
}

std::string text_of(const ExtendReply& reply) {
  return "left " + micros(reply.left) + " waited " + micros(reply.waited) + text_of(reply.refused);
}

std::string text_of(const SettleReply& reply) { return "settled" + text_of(reply.refused); }

std::string text_of(const std::optional<Job>& job) { return job ? text_of(*job) : "none"; }

std::string text_of(const JobsReply& reply) {
  std::string out = reply.next ? "more" : "last";
  for (const Job& job : reply.jobs) out += "\n  " + text_of(job) + " ran_for " + maybe(job.ran_for);
  return out;
}

std::string text_of(const BacklogReply& reply) {
  std::ostringstream out;
  out << "running " << reply.running << " claimable " << reply.claimable << " ahead " << reply.ahead << " blocked "
      << reply.blocked << " next_due " << maybe(reply.next_due);
  return out.str();
}

std::string text_of(const std::vector<WorkerRow>& rows) {
  std::ostringstream out;
  out << rows.size() << " workers";
  for (const WorkerRow& row : rows) {
    const WorkerReport& report = row.report;
    out << "\n  " << report.ns << " " << bytes(report.owner) << " host " << bytes(report.host) << " pid " << report.pid
        << " version " << bytes(report.version) << " queues " << joined(report.queues) << " stage '" << report.stage
        << "' concurrency " << report.concurrency << " ttl " << micros(report.ttl) << " started "
        << micros(row.started_at) << " seen " << micros(row.seen_at) << " order " << to_string(row.order) << " holding";
    for (const Holding& holding : report.holding) out << " " << to_string(holding.id) << "@" << holding.fence;
  }
  return out.str();
}

std::string text_of(const std::vector<TrailEntry>& entries) {
  std::string out = "trail";
  for (const TrailEntry& entry : entries) {
    if (entry.ns.empty()) continue;
    out += "\n  " + micros(entry.at) + " " + entry.ns + " " + entry.actor + " " + entry.act + " " + entry.subject +
           " " + bytes(entry.reason);
  }
  return out;
}

std::string text_of(const BatchReply& reply) { return "first seen " + micros(reply.first_seen); }

std::string text_of(const RecordReply& reply) { return "recorded" + text_of(reply.refused); }

std::string text_of(const std::optional<LogReply>& reply) {
  if (!reply) return "none";
  std::string out = "dropped " + std::to_string(reply->dropped);
  for (const LogChunk& chunk : reply->chunks)
    out += "\n  " + std::to_string(chunk.delivery) + " at " + micros(chunk.at) + " " + bytes(chunk.bytes);
  return out;
}

std::string text_of(const ActReply& reply) {
  std::string out = "acted";
  for (const ActRefusal& refusal : reply.refused)
    out += "\n  " + to_string(refusal.id) + " " + std::string(to_string(refusal.reason)) + " " +
           id_or_none(refusal.holder);
  return out;
}

std::string text_of(const PurgeReply& reply) {
  return "cancelled " + std::to_string(reply.cancelled) + (reply.more ? " more" : "");
}

std::string text_of(const std::vector<QueueRow>& rows) {
  std::ostringstream out;
  out << rows.size() << " queues";
  for (const QueueRow& row : rows) {
    out << "\n  " << row.queue << " limit " << row.settings.limit << " per_key " << row.settings.limit_per_key
        << " keep " << micros(row.settings.keep_done) << " " << micros(row.settings.keep_dead) << " paused "
        << text_of(row.paused) << " oldest " << maybe(row.oldest_ready_at) << " ahead " << row.ahead << " depth";
    for (const std::int64_t depth : row.depth) out << " " << depth;
  }
  return out.str();
}

std::string text_of(const std::optional<JobFacts>& facts) {
  if (!facts) return "none";
  std::ostringstream out;
  out << text_of(facts->job) << "\n  due_in " << maybe(facts->due_in) << " paused " << text_of(facts->paused)
      << " head " << id_or_none(facts->group_head) << (facts->group_head_revoked ? " revoked" : "") << " limit "
      << facts->limit << ids(facts->limit_holders) << " per_key " << facts->limit_per_key
      << ids(facts->limit_key_holders) << " key_holder " << id_or_none(facts->key_holder) << " slot_left "
      << maybe(facts->slot_left) << " alone " << facts->must_run_alone << " workers " << facts->workers << " quiet "
      << joined(facts->quiet_workers) << " effects " << joined(facts->effects_in_doubt);
  return out.str();
}

std::string text_of(const std::vector<Attempt>& attempts) {
  std::ostringstream out;
  out << attempts.size() << " attempts";
  for (const Attempt& attempt : attempts) {
    out << "\n  " << attempt.delivery << "@" << attempt.fence << " " << bytes(attempt.owner) << " "
        << micros(attempt.started_at) << " to " << maybe(attempt.ended_at) << " " << to_string(attempt.end) << " exit "
        << number(attempt.exit_status) << " " << bytes(attempt.error);
  }
  return out.str();
}

std::string text_of(const OrdersReply& reply) {
  std::string out(to_string(reply.order));
  for (const Holding& holding : reply.revoked) {
    const bool held = std::ranges::find(reply.held, holding) != reply.held.end();
    out += "\n  " + to_string(holding.id) + "@" + std::to_string(holding.fence) + (held ? " held" : "");
  }
  return out + (reply.held.size() > reply.revoked.size() ? " and more" : "");
}

std::string text_of(const BeginEffectReply& reply) {
  return std::string(to_string(reply.verdict)) + " result " + bytes(reply.result) + " exit " +
         number(reply.exit_status) + " call " + bytes(reply.call) + " actor " + bytes(reply.actor) +
         (reply.refusal ? text_of(std::vector{*reply.refusal}) : "");
}

std::string text_of(const FinishEffectReply& reply) {
  return reply.refusal ? text_of(std::vector{*reply.refusal}) : "finished";
}

std::string text_of(const EffectsReply& reply) {
  std::ostringstream out;
  out << (reply.next ? "more" : "last");
  for (const Effect& effect : reply.effects) {
    out << "\n  " << to_string(effect.job) << " " << effect.name << " " << to_string(effect.state)
        << (effect.in_doubt ? " in doubt" : "") << (effect.held ? " held" : "") << " " << to_string(effect.policy)
        << " digest " << bytes(effect.digest) << " fence " << effect.fence << " call " << bytes(effect.call)
        << " actor " << bytes(effect.actor) << " doubts " << effect.doubts << " began " << micros(effect.began_at)
        << " ended " << maybe(effect.ended_at) << " exit " << number(effect.exit_status) << " result "
        << bytes(effect.result) << " by " << bytes(effect.resolved_by);
  }
  return out.str();
}

std::string text_of(const AcquireReply& reply) {
  std::ostringstream out;
  out << "left " << micros(reply.left) << " waited " << micros(reply.waited) << " again_in " << maybe(reply.again_in)
      << " ahead " << reply.ahead;
  for (const LockGrant& grant : reply.grants)
    out << "\n  " << grant.resource << "@" << grant.fence << " previous " << bytes(grant.previous_owner);
  if (reply.held)
    out << "\n  not " << reply.held->resource << "@" << reply.held->fence << ": " << reply.held->reason << " owner "
        << bytes(reply.held->owner) << " at " << bytes(reply.held->place);
  return out.str();
}

std::string text_of(const RenewReply& reply) {
  return "left " + micros(reply.left) + " waited " + micros(reply.waited) + text_of(reply.refused);
}

std::string text_of(const ReleaseReply& reply) { return "released" + text_of(reply.refused); }

std::string text_of(const LocksReply& reply) {
  std::string out = reply.next ? "more after " + *reply.next : "last";
  for (const LockRow& row : reply.locks) out += "\n  " + text_of(row);
  return out;
}

std::string text_of(const std::optional<LockRow>& row) { return row ? text_of(*row) : "none"; }

std::string text_of(const BreakReply& reply) {
  return "ended " + std::to_string(reply.ended) + " current " + std::to_string(reply.current);
}

std::string text_of(const SchedulesReply& reply) {
  std::string out =
      "now " + micros(reply.now) + " version " + std::to_string(reply.version) + (reply.more ? " more" : "");
  for (const ScheduleRow& row : reply.schedules) out += "\n  " + text_of(row);
  return out;
}

std::string text_of(const StepReply& reply) {
  std::string out = "now " + micros(reply.now);
  for (const StepAnswer& answer : reply.answers) {
    out += "\n  " + std::string(answer.refused == Reason::none ? "taken" : to_string(answer.refused)) + " revision " +
           std::to_string(answer.revision) + " resolved_to " + micros(answer.resolved_to) + " fired_to " +
           micros(answer.fired_to) + moments(answer.duplicates);
  }
  return out;
}

std::string text_of(const ChangeScheduleReply& reply) {
  return "now " + micros(reply.now) + " " + text_of(reply.schedule) + moments(reply.duplicates);
}

std::string text_of(const TicksReply& reply) {
  std::string out = "next " + maybe(reply.next);
  for (const TickRow& row : reply.ticks) {
    out += "\n  " + micros(row.tick) + ".." + micros(row.last) + " count " + std::to_string(row.count) + " reason " +
           bytes(row.reason) + " job " + id_or_none(row.job) + " at " + micros(row.at) + " by " + bytes(row.owner) +
           " at " + bytes(row.place);
  }
  return out;
}

std::string text_of(const PipelineRow& row) {
  return row.name + " spec " + bytes(row.spec) + " revision " + std::to_string(row.revision) + " changed " +
         micros(row.changed_at);
}

std::string text_of(const std::vector<PipelineRow>& rows) {
  std::string out = "pipelines";
  for (const PipelineRow& row : rows) out += "\n  " + text_of(row);
  return out;
}

std::string text_of(const ItemsReply& reply) {
  std::string out = "now " + micros(reply.now);
  for (const Item& item : reply.items)
    out +=
        "\n  revision " + std::to_string(item.revision) + " record " + bytes(item.record) + " of " + text_of(item.job);
  return out;
}

std::string text_of(const ChangeItemsReply& reply) {
  std::string out = "changed";
  for (const ItemRefusal& refusal : reply.refused)
    out += "\n  " + to_string(refusal.id) + " " + std::string(to_string(refusal.reason)) + " current " +
           std::to_string(refusal.current) + " revision " + std::to_string(refusal.revision);
  return out;
}

std::string text_of(Fence fence) { return "fence " + std::to_string(fence); }

std::string text_of(const EnqueueRequest& request) {
  std::string out = "ns " + request.ns;
  for (const NewJob& job : request.jobs) {
    out += "\n  " + to_string(job.id) + " queue " + job.queue + " stage '" + job.stage + "' priority " +
           std::to_string(job.priority) + " delay " + micros(job.delay) + " at " + maybe(job.at) + " key " +
           bytes(job.key) + " group " + bytes(job.group) + " limit_key " + bytes(job.limit_key) + " payload " +
           bytes(job.payload);
  }
  return out;
}

std::string text_of(const ClaimRequest& request) {
  return "ns " + request.ns + " queues " + joined(request.queues) + " stage '" + request.stage + "' owner " +
         request.owner + " request " + request.request + " limit " + std::to_string(request.limit) + " ttl " +
         micros(request.ttl) + (request.holds_others ? " holds_others" : "");
}

std::string text_of(const ExtendRequest& request) {
  std::string out = "ns " + request.ns + " owner " + request.owner + " ttl " + micros(request.ttl);
  for (const Holding& holding : request.jobs)
    out += "\n  " + to_string(holding.id) + "@" + std::to_string(holding.fence);
  return out;
}

std::string text_of(const SettleRequest& request) {
  std::string out = "ns " + request.ns + " owner " + request.owner;
  for (const Settlement& settlement : request.settlements) {
    out += "\n  " + to_string(settlement.id) + "@" + std::to_string(settlement.fence) + " " +
           std::string(to_string(settlement.outcome.kind)) + " retry_in " + micros(settlement.outcome.retry_in);
  }
  return out;
}

std::string text_of(const RecordRequest& request) {
  std::string out = "ns " + request.ns;
  for (const Note& note : request.notes) {
    out += "\n  " + to_string(note.id) + "@" + std::to_string(note.fence) + " log " + std::to_string(note.log.size()) +
           " bytes at " + std::to_string(note.log_at) + (note.progress ? " progress" : "");
  }
  return out;
}

std::string text_of(const ActRequest& request) {
  return "ns " + request.ns + " request " + request.request +
         (request.only ? " only " + std::string(to_string(*request.only)) : "") + ids(request.ids);
}

std::string text_of(const AcquireRequest& request) {
  return "ns " + request.ns + " names " + joined(request.names) + " owner " + request.owner + " request " +
         request.request + " " + std::string(to_string(request.mode)) + " slots " + std::to_string(request.slots) +
         " ttl " + micros(request.ttl) + (request.to_its_end ? " to_its_end" : "") + " at least " +
         micros(request.hold_at_least) + " delay " + micros(request.delay) + (request.wait ? " wait" : "");
}

std::string text_of(const SchedulesRequest& request) {
  return "ns " + request.ns + " names " + joined(request.names) + " after '" + request.after + "' changed_after " +
         (request.changed_after ? std::to_string(*request.changed_after) : "none") + " limit " +
         std::to_string(request.limit) + (request.unfinished ? " unfinished" : "");
}

std::string text_of(const StepRequest& request) {
  std::string out =
      "ns " + request.ns + " request " + request.request + " owner " + request.owner + " place " + bytes(request.place);
  for (const TickStep& step : request.steps) out += "\n  " + text_of(step);
  return out;
}

std::string text_of(const ChangeScheduleRequest& request) {
  static const std::vector<std::string> kinds{"put", "pause", "resume", "remove", "rewind", "run"};
  std::string out = kinds.at(static_cast<std::size_t>(request.change)) + " " + request.ns + " " + request.name +
                    " revision " + std::to_string(request.revision) + " request " + request.request + " spec " +
                    bytes(request.spec) + " from " + micros(request.from) + " to " + micros(request.to);
  if (request.kept) out += " kept " + text_of(*request.kept);
  if (request.job) out += " job " + to_string(request.job->id);
  if (request.step) out += "\n  step " + text_of(*request.step);
  return out;
}

std::string text_of(const ChangeItemsRequest& request) {
  std::string out = "ns " + request.ns + " owner " + request.owner + " request " + request.request;
  for (const ItemChange& change : request.changes) {
    out += "\n  " + to_string(change.id) + " revision " + std::to_string(change.revision) +
           (change.fence ? " fence " + std::to_string(*change.fence) : "") +
           (change.only ? " only " + std::string(to_string(*change.only)) : "");
    if (const auto& place = change.place; place)
      out += " stage '" + place->stage + "' " + std::string(to_string(place->state)) + " delay " +
             micros(place->delay) + (place->fresh ? " fresh" : "") + " result " + bytes(place->result) + " error " +
             bytes(place->error);
  }
  return out;
}

std::string text_of(const std::vector<LockHolding>& locks) {
  std::string out;
  for (const LockHolding& lock : locks)
    out += " " + lock.resource + "@" + std::to_string(lock.fence) + " of " + lock.owner;
  return out;
}

}  // namespace fenceline::test
