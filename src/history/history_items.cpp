// The calls about pipelines and their items. What a pipeline is stands there as stages and entry conditions, so that
// whoever reads it need not know how a store keeps it.
#include <algorithm>
#include <utility>

#include "history/event_parts.hpp"
#include "model/pipeline.hpp"

namespace fenceline::history {
namespace {

// One that this version cannot read has no stages: nothing is said of it.
void put_stages(Event& event, const std::string& text) {
  const Result<PipelineSpec> spec = parse_pipeline(text);
  if (!spec) return;
  for (const StageSpec& stage : spec->stages) {
    JobPart& part = event.stages.emplace_back(JobPart{.id = stage.name});
    if (stage.entry.kind == EntryKind::automatic) continue;
    part.gate = to_string(stage.entry.kind);
    if (stage.entry.kind != EntryKind::approval) continue;
    part.count = stage.entry.count;
    if (stage.entry.within > Duration{0}) part.then = to_string(stage.entry.then);
    for (const std::string& person : stage.entry.by) event.people.push_back({.id = person, .stage = stage.name});
  }
}

}  // namespace

bool HistoryStore::is_news(const std::string& ns, const std::string& pipeline, std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  std::int64_t& known = pipelines_[{ns, pipeline}];
  return std::exchange(known, std::max(known, revision)) < revision;
}

Result<PipelineRow> HistoryStore::put_pipeline(const PutPipelineRequest& request) {
  Event asked{.verb = Verb::put_pipeline,
              .ns = request.ns,
              .owner = request.act.actor,
              .name = request.name,
              .revision = request.revision};
  put_stages(asked, request.spec);
  const std::int64_t call = recorder_.invoke(std::move(asked));
  Result<PipelineRow> reply = inner_.put_pipeline(request);
  Event event = as_event(reply);
  if (reply) event.revision = reply->revision;
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<std::vector<PipelineRow>> HistoryStore::pipelines(const std::string& ns) {
  Result<std::vector<PipelineRow>> reply = inner_.pipelines(ns);
  if (!reply) return reply;
  for (const PipelineRow& row : *reply) {
    if (!is_news(ns, row.name, row.revision)) continue;
    Event seen{.verb = Verb::see_pipeline, .ns = ns, .name = row.name, .revision = row.revision};
    put_stages(seen, row.spec);
    const std::int64_t call = recorder_.invoke(std::move(seen));
    recorder_.answer(call, {.kind = Kind::ok, .revision = row.revision});
  }
  return reply;
}

Result<ChangeItemsReply> HistoryStore::change_items(const ChangeItemsRequest& request) {
  Event asked{.verb = Verb::change_items,
              .ns = request.ns,
              .owner = request.owner.empty() ? request.act.actor : request.owner,
              .request = request.request};
  for (const ItemChange& change : request.changes) asked.jobs.push_back(part(change));
  const std::int64_t call = recorder_.invoke(std::move(asked));
  Result<ChangeItemsReply> reply = inner_.change_items(request);
  Event event = as_event(reply);
  if (reply) {
    for (const ItemRefusal& refusal : reply->refused) {
      const auto sent = std::ranges::find(request.changes, refusal.id, &ItemChange::id);
      event.refused.push_back({.id = to_string(refusal.id),
                               .fence = sent == request.changes.end() ? 0 : sent->fence.value_or(0),
                               .reason = std::string(to_string(refusal.reason)),
                               .current = refusal.current,
                               .revision = refusal.revision});
    }
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

}  // namespace fenceline::history
