#include "sim/store/applied.hpp"

#include <algorithm>

namespace fenceline::sim {
namespace {

std::string text_of(const JobId& id, Fence fence) { return " " + short_id(id) + "/" + std::to_string(fence); }

std::string text_of(const std::vector<Refusal>& refused) {
  std::string text;
  for (const Refusal& refusal : refused) text += " refused" + text_of(refusal.id, refusal.sent) + " " + refusal.reason;
  return text;
}

struct Describe {
  std::string operator()(const EnqueueCall& call) const {
    std::string text = "enqueue";
    for (const NewJob& job : call.request.jobs) text += " " + short_id(job.id);
    return text + ": " + answer(call, [](const EnqueueReply& reply) { return "existing " + std::to_string(reply.existing); });
  }
  std::string operator()(const ClaimCall& call) const {
    const std::string asked = "claim " + call.request.owner + " limit " + std::to_string(call.request.limit) + (call.request.holds_others ? " holds_others" : "");
    return asked + ": " + answer(call, [](const ClaimReply& reply) {
             std::string text = std::to_string(reply.jobs.size()) + " granted";
             for (const ClaimedJob& job : reply.jobs) text += text_of(job.job.id, job.job.fence) + (job.forced ? " forced" : "");
             return text;
           });
  }
  std::string operator()(const GiveBackCall& call) const {
    return "give_back " + call.request.owner + ": " + (call.reply ? "ok" : std::string(to_string(call.reply.error().code)));
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
