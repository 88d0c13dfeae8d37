#include "services/item_acts.hpp"

#include <utility>

#include "base/nearest.hpp"
#include "services/act_patience.hpp"
#include "services/fresh_id.hpp"
#include "services/retry_until_known.hpp"

namespace fenceline {
namespace {

Error refusal_error(const ItemRefusal& refusal, const std::string& ns) {
  const std::string id = to_string(refusal.id);
  if (refusal.reason == Reason::not_found)
    return {Code::not_found, "no job " + id + " in namespace " + ns + "; 'fenceline jobs' lists them"};
  if (refusal.reason == Reason::finished)
    return {Code::conflict,
            "item " + id + " is finished; to run a dead or cancelled one again: fenceline job retry " + id};
  if (refusal.reason == Reason::effect_in_doubt)
    return {Code::conflict, "item " + id + " waits for an effect that may have happened; 'fenceline job explain " + id +
                                "' names it and how to resolve it"};
  return {Code::lost, "the work on item " + id + " is over: its fence is " + std::to_string(refusal.current) +
                          " now, " + std::string(meaning_of(refusal.reason)) + "; stop working on it"};
}

Error overtaken_in_doubt(const JobId& id) {
  return {Code::in_doubt, "the reply was lost, and item " + to_string(id) +
                              " was changed by somebody else since; look at it with 'fenceline job show " +
                              to_string(id) + "' and 'fenceline trail' before you repeat this"};
}

// Where an item was when its person decided: two who reject it at once send it back once.
class FirstLook {
 public:
  Result<void> same(const PipelineSpec& spec, const ItemNow& item) {
    const Look now{item.stage, item.record.generation, item.record.returns};
    if (!first_) first_ = now;
    if (*first_ == now) return {};
    return fail(Code::conflict, "it left '" + stage_words(spec, first_->stage) + "' since you looked, and is at '" +
                                    stage_words(spec, item.stage) + "' now; look again");
  }

 private:
  struct Look {
    std::string stage;
    std::int64_t generation = 0;
    int returns = 0;

    bool operator==(const Look&) const = default;
  };
  std::optional<Look> first_;
};

}  // namespace

Result<std::size_t> stage_named(const PipelineSpec& spec, const std::string& name) {
  if (const std::optional<std::size_t> stage = spec.find(name)) return *stage;
  const std::optional<std::string> near = nearest(name, spec.names());
  std::string all;
  for (const std::string& stage : spec.names()) all += (all.empty() ? "" : ", ") + stage;
  return fail(Code::invalid, "pipeline " + spec.name + " has no stage '" + name.substr(0, kStageBytesMax) + "'; " +
                                 (near ? "did you mean '" + *near + "'?" : "it has " + all));
}

ItemActs::ItemActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop)
    : runtime_(runtime), store_(store), ns_(std::move(ns)), stop_(std::move(stop)) {}

Result<ItemReport> ItemActs::look(const JobId& id) {
  Result<ItemsReply> read = store_.items({.ns = ns_, .ids = {id}});
  if (!read) return std::unexpected(read.error());
  if (read->items.empty()) return std::unexpected(refusal_error({.id = id, .reason = Reason::not_found}, ns_));
  ItemReport report{.item = std::move(read->items.front()), .now = read->now};
  Result<std::optional<KnownPipeline>> pipeline = read_pipeline(store_, ns_, report.item.job.queue);
  if (!pipeline) return std::unexpected(pipeline.error());
  if (!*pipeline)
    return fail(Code::conflict, "job " + to_string(id) + " is in queue " + report.item.job.queue +
                                    ", which has no pipeline; 'fenceline pipeline show' lists the pipelines");
  report.spec = std::move((*pipeline)->spec);
  Result<ItemNow> now_item = item_now(report.item);
  if (!now_item) return std::unexpected(now_item.error());
  report.now_item = std::move(*now_item);
  return report;
}

Result<ItemReport> ItemActs::change(const JobId& id, const Act& act, std::optional<Fence> fence, const Decide& decide) {
  if (!is_persons_name(act.actor))
    return fail(Code::invalid,
                "'" + act.actor + "' is not a valid approver name: it is empty, or begins or ends with a space");
  bool doubted = false;  // a try may have happened whose reply was lost
  for (int n = 0; n < kDecisions; ++n) {
    if (n > 0 && !runtime_.sleep_for(kDecisionPause * n, stop_)) break;
    Result<ItemReport> report = look(id);
    if (!report && doubted) return std::unexpected(error_after_doubt(std::move(report.error())));
    if (!report) return report;
    const Job& job = report->item.job;
    if (fence && report->now_item.record.moved_under == *fence &&
        (job.state != JobState::running || job.fence != *fence))
      return report;  // by a try whose answer got lost
    if (!fence && is_finished(job.state))
      return std::unexpected(refusal_error({.id = id, .reason = Reason::finished}, ns_));
    const MaybeStep step = decide(report->spec, report->now_item, report->now);
    if (doubted && !fence && (!step || *step))
      return std::unexpected(overtaken_in_doubt(id));  // perhaps undone by another
    if (!step) return fail(step.error().code, "item " + to_string(id) + ": " + step.error().message);
    if (!*step) return report;
    ItemChange one = change_of(report->item, **step);
    one.fence = fence;
    // A hold is for what does not run; for what does, it is in force when the delivery ends.
    if (!fence && one.place && job.state != JobState::running) one.only = job.state;
    const ChangeItemsRequest request{
        .ns = ns_, .owner = fence ? job.owner : "", .request = fresh_id(runtime_), .changes = {one}, .act = act};
    const Result<ChangeItemsReply> reply = retry_until_known(
        runtime_, stop_, [&] { return store_.change_items(request); }, {}, &doubted);
    if (!reply) return std::unexpected(reply.error());
    if (reply->refused.empty()) {
      Result<ItemReport> after = look(id);
      if (!after) return std::unexpected(error_after_doubt(std::move(after.error())));  // it did happen
      after->changed = true;
      return after;
    }
    const Reason reason = reply->refused.front().reason;
    if (reason != Reason::changed && reason != Reason::state && !(reason == Reason::settled && fence))
      return std::unexpected(refusal_error(reply->refused.front(), ns_));
  }
  if (doubted) return std::unexpected(overtaken_in_doubt(id));
  return fail(Code::conflict, "too many concurrent changes of item " + to_string(id) + "; try again");
}

Result<ItemReport> ItemActs::approve(const JobId& id, std::optional<std::int64_t> generation, const Act& act) {
  return change(id, act, {}, [&](const PipelineSpec& spec, const ItemNow& item, WallTime now) -> MaybeStep {
    if (!generation) generation = item.record.generation;
    if (*generation != item.record.generation)
      return fail(Code::conflict, "it is in generation " + std::to_string(item.record.generation) + " now, not " +
                                      std::to_string(*generation) + ": it moved on since you looked; look again");
    return approved(spec, item, act.actor, act.reason, now);
  });
}

Result<ItemReport> ItemActs::reject(const JobId& id, const std::string& to, const Act& act) {
  FirstLook look;
  return change(id, act, {}, [&](const PipelineSpec& spec, const ItemNow& item, WallTime now) -> MaybeStep {
    if (auto ok = look.same(spec, item); !ok) return std::unexpected(ok.error());
    std::optional<std::size_t> stage;
    if (!to.empty()) {
      const Result<std::size_t> named = stage_named(spec, to);
      if (!named) return std::unexpected(named.error());
      stage = *named;
    }
    return rejected(spec, item, stage, act.actor, act.reason, now);
  });
}

Result<ItemReport> ItemActs::move(const JobId& id, const std::string& to, const Act& act) {
  FirstLook look;
  return change(id, act, {}, [&](const PipelineSpec& spec, const ItemNow& item, WallTime now) -> MaybeStep {
    const Result<std::size_t> stage = stage_named(spec, to);
    if (!stage) return std::unexpected(stage.error());
    const Result<void> same = look.same(spec, item);
    MaybeStep step = moved(spec, item, *stage, act.actor, act.reason, now);
    if (!same && step && *step)
      return std::unexpected(same.error());  // what is there already, whoever moved it, is as asked for
    return step;
  });
}

Result<ItemReport> ItemActs::hold(const JobId& id, const Act& act) {
  return change(id, act, {}, [&](const PipelineSpec& spec, const ItemNow& item, WallTime now) {
    return held(spec, item, act.actor, act.reason, now);
  });
}

Result<ItemReport> ItemActs::release(const JobId& id, const Act& act) {
  return change(id, act, {},
                [](const PipelineSpec& spec, const ItemNow& item, WallTime now) { return released(spec, item, now); });
}

Result<ItemReport> ItemActs::send_back(const Holding& delivery, const std::string& to, const Act& act) {
  return change(delivery.id, act, delivery.fence,
                [&](const PipelineSpec& spec, const ItemNow& item, WallTime now) -> MaybeStep {
                  const Result<std::size_t> stage = stage_named(spec, to);
                  if (!stage) return std::unexpected(stage.error());
                  return sent_back(spec, item, *stage, delivery.fence, act.actor, act.reason, now);
                });
}

}  // namespace fenceline
