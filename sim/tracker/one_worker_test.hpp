// One worker over a tracker that does what a test wants, under virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/runtime/machine.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/tracker/tracker_clock.hpp"
#include "sim/tracker/tracker_model.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::sim::one_worker {

using namespace std::chrono_literals;
using namespace tracker;
using tracker::Item;  // and not an item of a pipeline

inline const Account kAna{"11", "ana"};
inline const Account kRobots{"99", "robots"};

// Works for as long as a test says, unless it is told to stop.
class Hands final : public Handler {
 public:
  explicit Hands(SimRuntime& process) : process_(process) {}
  RunResult run(const Run& run) override {
    ++runs;
    stages.push_back(run.job.stage);
    items.push_back(run.job.key);
    payloads.push_back(run.job.payload);
    trust = run.trust;
    process_.sleep_for(takes, run.stop);
    stopped += run.stop.stop_requested() ? 1 : 0;
    const bool told = run.stop.stop_requested() && !insists;
    return {.kind = told ? OutcomeKind::given_back : OutcomeKind::done, .result = output};
  }
  Duration takes = 10min;
  bool insists = false;  // it says done even if it was told to stop
  std::string output;
  std::vector<std::string> items, payloads;
  int runs = 0, stopped = 0;
  std::vector<std::string> stages;
  const TrustDeadline* trust = nullptr;  // of the last run

 private:
  SimRuntime& process_;
};

// The names of what is logged, with what says why.
class Heard final : public LogSink {
 public:
  void write(const LogEvent& event) override { lines.push_back(format_log_line(event, "")); }
  int count(std::string_view text) const {
    return static_cast<int>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  std::vector<std::string> lines;
};

struct OneWorker {
  explicit OneWorker(TrackerFaults faults = {}, Capabilities can = {})
      : model(clock, simulation.random(), faults, can), door(model.door(kRobots, "w")) {
    options.protocol.pipeline.name = "docs";
    options.protocol.pipeline.stages = {
        {.name = "ready"},
        {.name = "review"},
        {.name = "publish", .entry = {.kind = EntryKind::approval, .count = 1, .by = {"ana"}}}};
    options.protocol.signing = {"key", "model:team/backlog"};
    options.protocol.can = can;
    options.protocol.workers = {kRobots.id};
    options.protocol.people = {kAna.id};
    options.fitness = {.idempotent = true, .work = 10min};
  }
  ~OneWorker() { process.kill(); }

  void start() {
    for (const StageSpec& stage : options.protocol.pipeline.stages) options.work.push_back({stage.name, &hands, back});
    worker = std::make_unique<TrackerWorker>(process, Log(heard), *door, options);
    process.start([this](std::stop_token stop) { ended = worker->run(stop); });
  }
  void pass(Duration time) { simulation.run_until(simulation.now() + time); }
  ItemId make(const std::string& stage = "ready") {
    return options.protocol.can.labels ? model.make_item(kAna, "an item", {"stage:" + stage})
                                       : model.make_item(kAna, "an item", {}, stage);
  }
  std::unique_ptr<Tracker> ana() { return model.door(kAna, "ana"); }
  // As another worker of the same account would write it.
  CommentId mark(const ItemId& item, Marker marker) {
    const Ledger ledger = read_ledger(options.protocol, item, model.truth(item).comments, kRobots, model.now());
    marker.generation = ledger.generation;
    marker.stage = ledger.place;
    marker.worker = "other";
    marker.nonce = "nonce" + std::to_string(++marks);
    marker.ttl = 600;
    return model.door(kRobots, "other")->post(item, marker_text(marker, item, options.protocol.signing))->value.id;
  }
  const Comment* claim_on(const ItemId& item) const {
    for (const Comment& comment : model.truth(item).comments)
      if (comment.text.starts_with("<!-- fenceline/1 claim")) return &comment;
    return nullptr;
  }
  bool is_open(const ItemId& item) const { return model.truth(item).state->open; }
  std::string place(const ItemId& item) const {
    return read_ledger(options.protocol, item, model.truth(item).comments, kRobots, model.now()).place;
  }

  StackPool stacks;
  Simulation simulation{1, stacks};
  Machine machine{"m", Duration{0}, 0, 24h * 365 * 50};
  SimRuntime process{simulation, machine, "w"};
  TrackerClock clock{simulation};
  TrackerModel model;
  std::unique_ptr<Tracker> door;
  Heard heard;
  int marks = 0;
  Hands hands{process};
  std::function<std::optional<SentBack>(const Job&)> back;
  TrackerWorkerOptions options;
  std::unique_ptr<TrackerWorker> worker;
  std::optional<Result<void>> ended;
};

}  // namespace fenceline::sim::one_worker
