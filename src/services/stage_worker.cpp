#include "services/stage_worker.hpp"

#include <set>
#include <string>
#include <utility>

#include "services/item_acts.hpp"
#include "services/stage_store.hpp"

namespace fenceline {
namespace {

constexpr Duration kPipelineLookPause = std::chrono::seconds{1};

}  // namespace

Result<KnownPipelines> fit_to_stage(Runtime& runtime, Store& store, WorkerOptions& options, const SaidOfWorker& said,
                                    std::stop_token stop) {
  Result<KnownPipelines> known = read_pipelines(store, options.ns, options.queues);
  while (!known && (known.error().code == Code::unavailable || known.error().code == Code::in_doubt)) {
    if (!runtime.sleep_for(kPipelineLookPause, stop))
      return KnownPipelines{};  // asked to stop: the worker ends at once
    known = read_pipelines(store, options.ns, options.queues);
  }
  if (!known) return known;
  std::set<std::string> stored;
  for (const std::string& queue : options.queues) {
    const auto found = known->find(queue);
    if (found == known->end()) {
      stored.insert(options.stage);
      continue;
    }
    const PipelineSpec& spec = found->second.spec;
    const Result<std::size_t> stage = options.stage.empty() ? 0 : stage_named(spec, options.stage);
    if (!stage) return std::unexpected(stage.error());
    stored.insert(stored_stage(spec, *stage));
    const StageSpec& says = spec.stages[*stage];
    if (says.ttl > Duration{0} && !said.ttl) options.ttl = says.ttl;
    if (says.concurrency > 0 && !said.concurrency) options.concurrency = says.concurrency;
  }
  if (stored.size() > 1)
    return fail(Code::invalid,
                "stage '" + options.stage +
                    "' is the first stage of some of these queues and not of others; start one worker for each queue");
  return known;
}

Result<WorkReport> work_stages(Runtime& runtime, Log log, Store& store, Handler& handler, const WorkerOptions& options,
                               MakeCheck make_check, std::stop_token stop) {
  StageStore stages(runtime, store, {.ns = options.ns, .queues = options.queues, .run_checks = make_check != nullptr});
  EntryKeeper keeper(runtime, log, stages, options, std::move(make_check));
  JobWorker worker(runtime, log, stages, handler, options);
  Task keeping = runtime.spawn("entries", [&](std::stop_token over) { keeper.keep(std::move(over)); });
  Result<WorkReport> report = worker.run(std::move(stop));
  keeping.request_stop();
  keeping.join();
  return report;
}

}  // namespace fenceline
