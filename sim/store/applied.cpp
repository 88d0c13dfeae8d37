#include "sim/store/applied.hpp"

#include <algorithm>

#include "base/utc_text.hpp"

namespace fenceline::sim {
namespace {

std::string text_of(const JobId& id, Fence fence) { return " " + short_id(id) + "/" + std::to_string(fence); }

std::string text_of(const std::vector<Refusal>& refused) {
  std::string text;
  for (const Refusal& refusal : refused)
    text += " refused" + text_of(refusal.id, refusal.sent) + " " + std::string(to_string(refusal.reason));
  return text;
}

std::string text_of(const std::vector<ActRefusal>& refused) {
  std::string text;
  for (const ActRefusal& refusal : refused)
    text += " refused " + short_id(refusal.id) + " " + std::string(to_string(refusal.reason));
  return text;
}

std::string text_of(const std::vector<JobId>& ids) {
  std::string text;
  for (const JobId& id : ids) text += " " + short_id(id);
  return text;
}

std::string text_of(const std::vector<LockHolding>& locks) {
  std::string text;
  for (const LockHolding& lock : locks)
    text += " " + lock.resource + "/" + std::to_string(lock.fence) + " of " + lock.owner;
  return text;
}

std::string text_of(const std::vector<LockRefusal>& refused) {
  std::string text;
  for (const LockRefusal& refusal : refused)
    text += " refused " + refusal.sent.resource + " of " + refusal.sent.owner + " " +
            std::string(to_string(refusal.reason));
  return text;
}

std::string text_of(const TickStep& step) {
  std::string text = step.schedule + " from " + utc_text(step.from) + " to " + utc_text(step.to);
  for (const FiredTick& fired : step.fired) text += " fires " + short_id(fired.job.id);
  for (const SkippedTicks& range : step.skipped) text += " skips " + std::to_string(range.count) + " " + range.reason;
  return text;
}

struct Describe {
  std::string operator()(const EnqueueCall& call) const {
    std::string text = "enqueue";
    for (const NewJob& job : call.request.jobs) text += " " + short_id(job.id);
    return text + ": " + answer(call, [](const EnqueueReply& reply) {
             return "existing " + std::to_string(reply.existing) + " as" + text_of(reply.ids);
           });
  }
  std::string operator()(const ClaimCall& call) const {
    const std::string asked = "claim " + call.request.owner + " limit " + std::to_string(call.request.limit) +
                              (call.request.holds_others ? " holds_others" : "");
    return asked + ": " + answer(call, [](const ClaimReply& reply) {
             std::string text = std::to_string(reply.jobs.size()) + " granted";
             for (const ClaimedJob& job : reply.jobs)
               text += text_of(job.job.id, job.job.fence) + (job.forced ? " forced" : "");
             return text;
           });
  }
  std::string operator()(const GiveBackCall& call) const {
    return "give_back " + call.request.owner + ": " + said(call);
  }
  std::string operator()(const ExtendCall& call) const {
    std::string text = "extend " + call.request.owner;
    for (const Holding& holding : call.request.jobs) text += text_of(holding.id, holding.fence);
    return text + ": " + answer(call, [](const ExtendReply& reply) { return "ok" + text_of(reply.refused); });
  }
  std::string operator()(const SettleCall& call) const {
    std::string text = "settle " + call.request.owner;
    for (const Settlement& settlement : call.request.settlements)
      text += text_of(settlement.id, settlement.fence) + " " + std::string(to_string(settlement.outcome.kind));
    return text + ": " + answer(call, [](const SettleReply& reply) { return "ok" + text_of(reply.refused); });
  }
  std::string operator()(const RecordCall& call) const {
    std::string text = "record";
    for (const Note& note : call.request.notes)
      text += text_of(note.id, note.fence) + " " + std::to_string(note.log.size()) + " bytes at " +
              std::to_string(note.log_at);
    return text + ": " + answer(call, [](const RecordReply& reply) { return "ok" + text_of(reply.refused); });
  }
  std::string operator()(const BatchCall& call) const { return "open_batch " + call.request.name + ": " + said(call); }
  std::string operator()(const CancelCall& call) const { return "cancel" + acted(call); }
  std::string operator()(const RetryCall& call) const { return "retry" + acted(call); }
  std::string operator()(const PurgeCall& call) const {
    return "purge " + call.request.queue + ": " +
           answer(call, [](const PurgeReply& reply) { return std::to_string(reply.cancelled) + " cancelled"; });
  }
  std::string operator()(const SetQueueCall& call) const {
    const auto number = [](std::string_view name, const std::optional<int>& value) {
      return value ? " " + std::string(name) + " " + std::to_string(*value) : "";
    };
    return "set_queue " + call.request.queue + number("limit", call.request.change.limit) +
           number("limit_per_key", call.request.change.limit_per_key) + ": " + said(call);
  }
  std::string operator()(const PauseCall& call) const {
    return (call.request.paused ? "pause " : "resume ") + call.request.queue + ": " + said(call);
  }
  std::string operator()(const TidyCall& call) const {
    return "tidy: " + answer(call, [](const TidyReply& reply) { return std::to_string(reply.removed) + " removed"; });
  }
  std::string operator()(const OrderCall& call) const {
    return "order_worker " + call.request.owner + " " + std::string(to_string(call.request.order)) + ": " + said(call);
  }
  std::string operator()(const StoppedCall& call) const {
    std::string text = "stopped " + call.request.owner;
    for (const Holding& holding : call.request.jobs) text += text_of(holding.id, holding.fence);
    return text + ": " + said(call);
  }
  std::string operator()(const BeginEffectCall& call) const {
    return "begin_effect " + call.request.name + " by " + call.request.call +
           text_of(call.request.job, call.request.fence) + " " + std::string(to_string(call.request.in_doubt)) + ": " +
           answer(call, [](const BeginEffectReply& reply) {
             return std::string(to_string(reply.verdict)) +
                    (reply.refusal ? " " + std::string(to_string(reply.refusal->reason)) : "");
           });
  }
  std::string operator()(const FinishEffectCall& call) const {
    constexpr std::string_view kEnds[] = {"done", "none", "held"};
    return "finish_effect " + call.request.name + " by " + call.request.call +
           text_of(call.request.job, call.request.fence) + " " +
           std::string(kEnds[static_cast<std::size_t>(call.request.end)]) + ": " +
           answer(call, [](const FinishEffectReply& reply) {
             return reply.refusal ? "refused " + std::string(to_string(reply.refusal->reason)) : std::string("ok");
           });
  }
  std::string operator()(const ResolveEffectCall& call) const {
    return "resolve_effect " + call.request.name + " of " + short_id(call.request.job) + " by " + call.request.call +
           (call.request.done ? " done" : " none") + ": " + said(call);
  }
  std::string operator()(const RaiseFloorCall& call) const {
    return "raise_floor " + std::to_string(call.request.floor) + ": " + said(call);
  }
  std::string operator()(const AcquireCall& call) const {
    const AcquireRequest& request = call.request;
    std::string text = "acquire";
    for (const std::string& name : request.names) text += " " + name;
    text += " for " + request.owner + (request.mode == LockMode::shared ? " shared" : "") +
            (request.to_its_end ? " to its end" : "") + (request.wait ? " waits" : "");
    return text + ": " + answer(call, [](const AcquireReply& reply) {
             if (reply.held)
               return reply.held->resource + " " + std::string(to_string(reply.held->reason)) + ", " +
                      std::to_string(reply.ahead) + " ahead";
             std::string granted = "granted";
             for (const LockGrant& grant : reply.grants)
               granted += " " + grant.resource + "/" + std::to_string(grant.fence);
             return granted;
           });
  }
  std::string operator()(const RenewCall& call) const {
    return "renew" + text_of(call.request.locks) + ": " +
           answer(call, [](const RenewReply& reply) { return "ok" + text_of(reply.refused); });
  }
  std::string operator()(const ReleaseCall& call) const {
    return "release" + text_of(call.request.locks) + ": " +
           answer(call, [](const ReleaseReply& reply) { return "ok" + text_of(reply.refused); });
  }
  std::string operator()(const WithdrawCall& call) const {
    return "withdraw " + call.request.names.front() + " for " + call.request.owner + ": " + said(call);
  }
  std::string operator()(const BreakCall& call) const {
    return "break_lock " + call.request.resource + ": " +
           answer(call, [](const BreakReply& reply) { return "ok, now " + std::to_string(reply.current); });
  }
  std::string operator()(const StepCall& call) const {
    return "step_ticks by " + call.request.owner + ": " + answer(call, [&](const StepReply& reply) {
             std::string all = "ok";
             for (std::size_t i = 0; i < reply.answers.size(); ++i)
               all +=
                   " " + text_of(call.request.steps[i]) +
                   (reply.answers[i].refused == Reason::none ? ""
                                                             : " " + std::string(to_string(reply.answers[i].refused)));
             return all;
           });
  }
  std::string operator()(const ChangeScheduleCall& call) const {
    constexpr std::string_view kChanges[] = {"put", "pause", "resume", "remove", "rewind", "run"};
    const ChangeScheduleRequest& request = call.request;
    return "change_schedule " + request.name + " " + std::string(kChanges[static_cast<std::size_t>(request.change)]) +
           (request.step ? " after " + text_of(*request.step) : "") +
           (request.change == ScheduleChange::rewind ? " to " + utc_text(request.to) : "") + ": " +
           answer(call, [](const ChangeScheduleReply& reply) {
             return "ok, revision " + std::to_string(reply.schedule.revision);
           });
  }

  template <class AnyCall>
  static std::string said(const AnyCall& call) {
    return call.reply ? "ok" : std::string(to_string(call.reply.error().code));
  }
  static std::string acted(const Call<ActRequest, ActReply>& call) {
    return text_of(call.request.ids) + " by " + call.request.request + ": " +
           answer(call, [](const ActReply& reply) { return "ok" + text_of(reply.refused); });
  }
  template <class AnyCall, class Tell>
  static std::string answer(const AnyCall& call, Tell tell) {
    return call.reply ? tell(*call.reply) : std::string(to_string(call.reply.error().code));
  }
};

}  // namespace

std::string short_id(const JobId& id) {
  const std::string text = to_string(id);
  return text.substr(text.size() - 8);
}

std::string describe(const Applied& applied) { return std::visit(Describe{}, applied.call); }

}  // namespace fenceline::sim
