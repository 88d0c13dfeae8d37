#include "services/pipeline_book.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace fenceline {
namespace {

constexpr Duration kRecent = std::chrono::seconds{2};

Result<KnownPipelines> read_all(Store& store, const std::string& ns, const std::vector<std::string>& queues,
                                bool newer_too) {
  const Result<std::vector<PipelineRow>> rows = store.pipelines(ns);
  if (!rows) return std::unexpected(rows.error());
  KnownPipelines known;
  for (const PipelineRow& row : *rows) {
    if (!queues.empty() && std::ranges::find(queues, row.name) == queues.end()) continue;
    Result<PipelineSpec> spec = parse_pipeline(row.spec);
    if (!spec && !newer_too) return fail(spec.error().code, "pipeline " + row.name + ": " + spec.error().message);
    known.emplace(row.name,
                  KnownPipeline{spec ? std::move(*spec) : PipelineSpec{.name = row.name, .stages = {}}, row.revision});
  }
  return known;
}

}  // namespace

Result<KnownPipelines> read_pipelines(Store& store, const std::string& ns, const std::vector<std::string>& queues) {
  return read_all(store, ns, queues, false);
}

Result<std::optional<KnownPipeline>> read_pipeline(Store& store, const std::string& ns, const std::string& queue) {
  Result<KnownPipelines> known = read_pipelines(store, ns, {queue});
  if (!known) return std::unexpected(known.error());
  if (known->empty()) return std::nullopt;
  return std::move(known->begin()->second);
}

Result<void> check_stage_of_pipeline(Store& store, const std::string& ns, const std::vector<std::string>& queues,
                                     const std::string& stage) {
  if (stage.empty()) return {};
  const Result<KnownPipelines> known = read_pipelines(store, ns, queues);
  if (!known) return std::unexpected(known.error());
  for (const std::string& queue : queues) {
    if (!known->contains(queue))
      return fail(Code::invalid, "queue " + queue + " has no pipeline, so it has no stage '" + shown_briefly(stage) +
                                     "'" + "; leave --stage out, or define its stages: fenceline pipeline apply FILE");
  }
  return {};
}

Result<ItemNow> item_now(const Item& item) {
  Result<ItemRecord> record = parse_record(item.record);
  if (!record) return fail(record.error().code, "item " + to_string(item.job.id) + ": " + record.error().message);
  return ItemNow{
      .stage = item.job.stage, .state = item.job.state, .run_at = item.job.run_at, .record = std::move(*record)};
}

ItemChange change_of(const Item& item, const ItemStep& step) {
  ItemChange change{.id = item.job.id,
                    .revision = item.revision,
                    .record = record_text(step.record),
                    .fence = {},
                    .only = {},
                    .place = {},
                    .act = step.act,
                    .about = step.about,
                    .reason = step.reason};
  if (step.place)
    change.place = Placement{.stage = step.place->stage,
                             .state = step.place->state,
                             .delay = step.place->delay,
                             .fresh = step.place->fresh,
                             .result = {},
                             .error = {}};
  return change;
}

PipelineBook::PipelineBook(Runtime& runtime, Store& store, std::string ns, std::vector<std::string> queues)
    : runtime_(runtime), store_(store), ns_(std::move(ns)), queues_(std::move(queues)) {}

Result<std::shared_ptr<const KnownPipelines>> PipelineBook::recent() {
  {
    const Instant now = runtime_.now();
    const std::lock_guard lock(mutex_);
    if (known_ && now - read_at_ < kRecent) return known_;
  }
  return fresh();
}

Result<std::shared_ptr<const KnownPipelines>> PipelineBook::fresh() {
  const Instant now = runtime_.now();
  Result<KnownPipelines> read = read_all(store_, ns_, queues_, true);
  if (!read) return std::unexpected(read.error());
  const auto known = std::make_shared<const KnownPipelines>(std::move(*read));
  const std::lock_guard lock(mutex_);
  if (known_ && now < read_at_) return known;  // another call was later, and knows more
  known_ = known;
  read_at_ = now;
  return known;
}

}  // namespace fenceline
