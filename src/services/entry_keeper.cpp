#include "services/entry_keeper.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "services/pipeline_acts.hpp"

namespace fenceline {
namespace {

constexpr Duration kEntryLookEvery = std::chrono::seconds{5};
constexpr Duration kEntryTtl = std::chrono::seconds{30};
constexpr int kChecksAtOnce = 4;
constexpr int kLooksAfterEdit = 6;  // half a minute: longer than a call takes

// There is nothing to do but to look: the rules say the rest when it is settled. It opens nothing by itself.
class DeadlineHandler final : public Handler {
 public:
  RunResult run(const Run&) override { return {.kind = OutcomeKind::later}; }
};

// Marks the events of a worker that looks after an entry condition, so that they are not taken for those of the main
// worker.
class EntryLog final : public LogSink {
 public:
  EntryLog(LogSink& inner, std::string stage) : inner_(inner), stage_(std::move(stage)) {}
  void write(const LogEvent& event) override {
    LogEvent marked = event;
    marked.fields.emplace_back("entry_of", stage_);
    inner_.write(marked);
  }

 private:
  LogSink& inner_;
  const std::string stage_;
};

struct EntryPlace {
  std::string queue;
  std::string stage;  // as stored

  auto operator<=>(const EntryPlace&) const = default;
};

struct EntryWorker {
  StageEntry entry;  // as it was when the worker began
  std::unique_ptr<EntryLog> log;
  std::unique_ptr<Handler> handler;
  std::unique_ptr<StageStore> store;  // for that entry condition
  std::unique_ptr<JobWorker> worker;
  std::atomic<bool> ended = false;  // by itself: a store that was broken, say
  Task task;
};

// An edit that was seen, and how often waiting items were looked at since.
struct Seen {
  std::int64_t revision = 0;
  int looks = 0;
};

}  // namespace

EntryKeeper::EntryKeeper(Runtime& runtime, Log log, StageStore& store, WorkerOptions worker, MakeCheck make_check)
    : runtime_(runtime), log_(log), store_(store), options_(std::move(worker)), make_check_(std::move(make_check)) {}

void EntryKeeper::keep(std::stop_token stop) {
  std::map<EntryPlace, EntryWorker> workers;
  std::map<std::string, Seen, std::less<>> looked;  // by queue
  std::vector<std::map<EntryPlace, EntryWorker>::node_type>
      leaving;  // of entry conditions that were edited: nobody waits for what they still run
  while (!stop.stop_requested()) {
    const Result<std::shared_ptr<const KnownPipelines>> known = store_.known();
    std::map<EntryPlace, StageSpec> wanted;
    if (known) {
      for (const auto& [queue, pipeline] : **known) {
        // Once for each edit, some looks after it was seen: by then outcomes under way follow it too.
        Seen& seen = looked[queue];
        if (seen.revision != pipeline.revision) seen = {.revision = pipeline.revision, .looks = 0};
        if (seen.looks <= kLooksAfterEdit && pipeline.readable()) {
          if (PipelineActs(runtime_, store_, options_.ns, stop)
                  .refit_waiting(pipeline.spec, {.actor = "worker", .reason = {}}))
            seen.looks += 1;
        }
        for (std::size_t stage = 1; stage < pipeline.spec.stages.size(); ++stage) {
          if (is_looked_after(pipeline.spec.stages[stage].entry, make_check_ != nullptr))
            wanted.emplace(EntryPlace{queue, stored_entry(pipeline.spec, stage)}, pipeline.spec.stages[stage]);
        }
      }
      for (auto one = workers.begin(); one != workers.end();) {
        const auto found = wanted.find(one->first);
        if (found != wanted.end() && found->second.entry == one->second.entry && !one->second.ended) {
          ++one;
          continue;
        }
        one->second.task.request_stop();
        leaving.push_back(workers.extract(one++));
      }
    }
    std::erase_if(leaving, [](auto& one) {
      if (!one.mapped().ended) return false;
      one.mapped().task.join();
      return true;
    });
    for (const auto& [entry, stage] : wanted) {
      if (workers.contains(entry)) continue;
      EntryWorker& one = workers[entry];
      one.entry = stage.entry;
      one.log = std::make_unique<EntryLog>(log_.sink(), stage.name);
      one.handler = stage.entry.kind == EntryKind::check ? make_check_(stage) : std::make_unique<DeadlineHandler>();
      one.store = std::make_unique<StageStore>(store_, stage.entry);
      WorkerOptions options = options_;
      options.queues = {entry.queue};
      options.stage = entry.stage;
      options.concurrency = stage.entry.kind == EntryKind::check ? std::min(options_.concurrency, kChecksAtOnce) : 1;
      options.prefetch = 0;
      options.ttl = kEntryTtl;
      options.drain = false;
      options.schedules = false;
      options.tidy_every = Duration{0};
      one.worker = std::make_unique<JobWorker>(runtime_, Log(*one.log), *one.store, *one.handler, options);
      one.task = runtime_.spawn("entry", [this, &one, entry](std::stop_token ends) {
        const Result<WorkReport> report = one.worker->run(std::move(ends));
        if (!report)
          log_.warn("entry_keeper_failed", {{"queue", entry.queue},
                                            {"stage", entry.stage},
                                            {"code", to_string(report.error().code)},
                                            {"message", report.error().message}});
        one.ended = true;
      });
    }
    runtime_.sleep_for(kEntryLookEvery, stop);
  }
  for (auto& [entry, one] : workers) one.task.request_stop();
  for (auto& [entry, one] : workers) one.task.join();
  for (auto& one : leaving) one.mapped().task.join();
}

}  // namespace fenceline
