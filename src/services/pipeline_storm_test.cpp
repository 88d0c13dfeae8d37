// Workers of a pipeline, people and gate keepers in bad weather. What an item passed is judged by what was seen at the store and in handlers, with rules of this file's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "services/gate_keeper.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_acts.hpp"
#include "sim/store/faulty_store.hpp"
#include "store/forwarding_store.hpp"
#include "support/results.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStorm = 10min;
constexpr Duration kWithin = 40s;
const std::string kNs = "n";
const std::vector<std::string> kStages{"write", "review", "publish", "ship"};

// write -> review -> publish (two approvals in time, else back) -> ship (a check)
PipelineSpec pipeline() {
  PipelineSpec spec{.name = "docs", .stages = {}, .loops = 2};
  for (const std::string& name : kStages) spec.stages.push_back({.name = name});
  spec.stages[1].attempts = 50;
  spec.stages[2].gate = {.kind = GateKind::approval, .count = 2, .by = {"ana", "bo", "cy"}, .within = kWithin, .then = GateEnd::reject};
  spec.stages[3].gate = {.kind = GateKind::check, .command = {"check"}, .every = 3s};
  return spec;
}

struct Seen {
  std::int64_t advances = 0, approvals = 0, let_in = 0, returns = 0, expired = 0, holds = 0, moves = 0, refused = 0, kills = 0, pauses = 0, taken_over = 0;
};

// What happened to each item, as the store did it and handlers said it.
class Judge final : public ForwardingStore {
 public:
  Judge(Clock& clock, MemoryStore& memory, Seen& seen) : ForwardingStore(memory), clock_(clock), seen_(seen) {}

  std::vector<std::string> wrong;

  // A handler of a stage, or the check before one, said done.
  void said_done(const Job& job, bool check) { (check ? checked_ : worked_).insert({job.id, job.fence}); }

  // P1: nobody begins at a stage that the item did not come to.
  void begins(const Job& job) {
    const Story& story = stories_[job.id];
    if (test::must(inner_.job(kNs, job.id))->fence != job.fence) return;  // somebody moved it since, and it will hear of that
    if (job.stage != kStages[0] && story.may_be_at != job.stage) complain(job.id, "P1: work began at " + job.stage + ", but it came only to " + story.may_be_at);
  }

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    Result<ClaimReply> reply = inner_.claim(request);
    if (!reply) return reply;
    for (const ClaimedJob& job : reply->jobs) seen_.taken_over += job.forced ? 1 : 0;
    return reply;
  }

  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    std::map<JobId, Item> before;
    for (const ItemChange& change : request.changes) {
      const Result<ItemsReply> items = inner_.items({.ns = kNs, .ids = {change.id}});
      if (items && !items->items.empty()) before[change.id] = items->items[0];
    }
    Result<ChangeItemsReply> reply = inner_.change_items(request);
    if (!reply) return reply;
    for (const ItemChange& change : request.changes) {
      const bool refused = std::ranges::find(reply->refused, change.id, &ItemRefusal::id) != reply->refused.end();
      seen_.refused += refused ? 1 : 0;
      const Item after = test::must(inner_.items({.ns = kNs, .ids = {change.id}})).items.at(0);
      if (!refused && after.revision != before[change.id].revision) changed(request, change, before[change.id], after);
    }
    return reply;
  }

  Result<SettleReply> settle(const SettleRequest& request) override {
    Result<SettleReply> reply = inner_.settle(request);
    if (!reply) return reply;
    for (const Settlement& settlement : request.settlements) {
      const bool refused = std::ranges::any_of(reply->refused, [&](const Refusal& refusal) { return refusal.id == settlement.id && refusal.sent == settlement.fence; });
      if (refused || settlement.outcome.kind != OutcomeKind::done) continue;
      const Job job = *test::must(inner_.job(kNs, settlement.id));
      if (job.stage != kStages.back() || !worked_.contains({job.id, settlement.fence})) complain(job.id, "P1: it was finished at " + job.stage);
    }
    return reply;
  }

 private:
  struct Story {
    std::string may_be_at = kStages[0];
    std::string gate;                 // before which stage it waits
    WallTime entered{};
    std::set<std::string> approvers;  // since then
    std::set<Fence> ended;            // deliveries that moved it
  };

  void complain(const JobId& id, const std::string& what) { wrong.push_back(to_string(id) + ": " + what); }

  static std::string name_of(const std::string& stored) { return stored.empty() ? kStages[0] : stored; }
  static std::size_t number_of(const std::string& stage) { return static_cast<std::size_t>(std::ranges::find(kStages, stage) - kStages.begin()); }

  void changed(const ChangeItemsRequest& request, const ItemChange& change, const Item& before, const Item& after) {
    Story& story = stories_[change.id];
    if (change.act == "item_approved" && !story.approvers.insert(request.act.actor).second) complain(change.id, "P1: " + request.act.actor + " approved twice");
    count(change);
    if (!change.place) return;
    if (after.job.state == JobState::running || after.job.stage != change.place->stage) complain(change.id, "P2: it was moved and not let go in one step");
    if (change.fence && !story.ended.insert(*change.fence).second) complain(change.id, "P2: one delivery moved it twice");
    const std::string to = after.job.stage;
    if (to == before.job.stage) return;
    const bool was_at_gate = before.job.stage.starts_with("gate:");
    const std::string from = was_at_gate ? before.job.stage.substr(5) : name_of(before.job.stage);
    if (to.starts_with("gate:")) {
      const std::string stage = to.substr(5);
      const bool on = !was_at_gate && number_of(stage) == number_of(from) + 1;
      const bool back = number_of(stage) < number_of(from) + (was_at_gate ? 0 : 1);
      if (on && change.fence && !worked_.contains({change.id, *change.fence})) complain(change.id, "P1: " + from + " has no accepted outcome");
      if (!on && !back) complain(change.id, "P1: it came to the gate of " + stage + " from " + from);
      story = {.may_be_at = {}, .gate = stage, .entered = clock_.wall_now(), .approvers = {}, .ended = story.ended};
      return;
    }
    const std::string stage = name_of(to);
    if (was_at_gate && from == stage) {
      const bool approved = stage == "publish" && story.approvers.size() >= 2;
      const bool checked = stage == "ship" && change.fence && checked_.contains({change.id, *change.fence});
      if (!approved && !checked) complain(change.id, "P1: the gate of " + stage + " was not open");
      seen_.let_in += 1;
    } else if (number_of(stage) == number_of(from) + 1 && !was_at_gate) {
      const bool moved = change.act == "item_moved";
      if (!moved && (!change.fence || !worked_.contains({change.id, *change.fence}))) complain(change.id, "P1: " + from + " has no accepted outcome");
      if (pipeline().stages[number_of(stage)].gate.kind != GateKind::automatic) complain(change.id, "P1: past the gate of " + stage);
    } else if (number_of(stage) >= number_of(from)) {
      complain(change.id, "P1: it went from " + from + " to " + stage);
    }
    story = {.may_be_at = stage, .gate = {}, .entered = {}, .approvers = {}, .ended = story.ended};
  }

  void count(const ItemChange& change) {
    seen_.advances += change.act == "item_advanced" ? 1 : 0;
    seen_.approvals += change.act == "item_approved" ? 1 : 0;
    seen_.returns += change.act == "item_returned" || change.act == "item_rejected" ? 1 : 0;
    seen_.expired += change.act == "item_expired" ? 1 : 0;
    seen_.holds += change.act == "item_held" ? 1 : 0;
    seen_.moves += change.act == "item_moved" ? 1 : 0;
  }

  Clock& clock_;
  Seen& seen_;
  std::map<JobId, Story> stories_;
  std::set<std::pair<JobId, Fence>> worked_;
  std::set<std::pair<JobId, Fence>> checked_;
};

struct PipelineStorm {
  explicit PipelineStorm(std::uint64_t seed) : simulation(seed, stacks) {
    weather = {.drop_request = 0.04, .refuse_request = 0.04, .drop_reply = 0.05, .late_request = 0.03, .duplicate = 0.05, .drop_wakeup = 0.2, .delay_most = 100ms};
  }

  // Works for a while, mostly well.
  class Work final : public Handler {
   public:
    Work(PipelineStorm& storm, SimRuntime& runtime, Store& store, bool check) : storm_(storm), runtime_(runtime), store_(store), check_(check) {}
    RunResult run(const Run& run) override {
      if (!check_) storm_.judge.begins(run.job);
      Random& random = storm_.simulation.random();
      runtime_.sleep_for(random.between(Duration{0}, Duration{2s}), run.stop);
      const bool calm = storm_.weather.drop_reply == 0;
      if (!calm && random.chance(0.15)) return {.kind = random.chance(0.5) ? OutcomeKind::failed : OutcomeKind::later, .error = "no"};
      if (!calm && check_ && random.chance(0.2)) return {.kind = OutcomeKind::dead, .error = "not good enough"};
      if (!calm && !check_ && run.job.stage == "review" && random.chance(0.1)) {
        ItemActs acts(runtime_, store_, kNs, run.stop);
        // What it returns does not count then, or it is done if that did not come about.
        if (acts.send_back({run.job.id, run.job.fence}, "write", {.actor = "worker", .reason = "no tests"})) return {};
      }
      storm_.judge.said_done(run.job, check_);
      return {};
    }

   private:
    PipelineStorm& storm_;
    SimRuntime& runtime_;
    Store& store_;
    const bool check_;
  };

  // One process of a stage, or of people.
  void start(std::string stage) {
    auto runtime = std::make_unique<SimRuntime>(simulation, machine, stage + std::to_string(runtimes.size()));
    auto road = std::make_unique<FaultyStore>(*runtime, judge, store_server, weather, tally);
    SimRuntime& its = *runtime;
    FaultyStore& wire = *road;
    runtimes.push_back(std::move(runtime));
    roads.push_back(std::move(road));
    roles.push_back(stage);
    its.start([this, &its, &wire, stage](std::stop_token stop) {
      if (stage == "people") return decide(its, wire, stop);
      StageStore stages(its, wire, {.ns = kNs, .queues = {"docs"}, .run_checks = true});
      Work work(*this, its, wire, false);
      const WorkerOptions options{.ns = kNs, .queues = {"docs"}, .stage = stage, .concurrency = 2, .ttl = 6s, .drain_grace = 3s, .schedules = false, .host = its.name(), .pid = 1, .version = "sim"};
      GateKeeper gates(its, Log(null_log_sink()), stages, options, [&](const StageSpec&) { return std::make_unique<Work>(*this, its, wire, true); });
      Worker worker(its, Log(null_log_sink()), stages, work, options);
      Task keeping = its.spawn("gates", [&](std::stop_token over) { gates.keep(std::move(over)); });
      const Result<WorkReport> report = worker.run(stop);
      if (!report) judge.wrong.push_back(its.name() + " ended: " + report.error().message);
      keeping.request_stop();
      keeping.join();
    });
  }

  void decide(SimRuntime& runtime, Store& store, std::stop_token stop) {
    const std::vector<std::string> people{"ana", "bo", "cy", "eve"};
    ItemActs acts(runtime, store, kNs, stop);
    while (!stop.stop_requested()) {
      Random& random = simulation.random();
      runtime.sleep_for(random.between(Duration{0}, Duration{700ms}), stop);
      const JobId id = items[random.below(items.size())];
      const Act act{.actor = people[random.below(people.size())], .reason = "as I see it"};
      const bool calm = weather.drop_reply == 0;
      const std::size_t what = calm ? random.below(3) : random.below(20);
      if (what <= 1 || what >= 9) (void)acts.approve(id, {}, act);
      else if (what == 2 || what == 3 || what == 4) (void)acts.release(id, act);
      else if (what == 5) (void)acts.reject(id, "", act);
      else if (what == 6 || what == 7) (void)acts.hold(id, act);
      else (void)acts.move(id, kStages[random.below(kStages.size())], act);
    }
  }

  bool all_done() {
    for (const JobId& id : items) {
      if (test::must(memory.job(kNs, id))->state != JobState::done) return false;
    }
    return true;
  }

  void run() {
    PipelineActs pipelines(server, memory, kNs);
    test::must(pipelines.apply(pipeline(), false, {.actor = "ana", .reason = ""}));
    EnqueueRequest request{.ns = kNs, .jobs = {}};
    for (int i = 0; i < 12; ++i) {
      items.push_back(make_uuid7(server.wall_now(), server.random(), server.random()));
      request.jobs.push_back({.id = items.back(), .queue = "docs", .attempts_max = 1000});
    }
    test::must(memory.enqueue(request));
    for (const std::string& stage : kStages) start(stage);
    start(kStages[1]);
    for (int i = 0; i < 3; ++i) start("people");
    for (Duration when = 7s; when < kStorm; when += 7s) {
      simulation.at(Instant{when}, [this] {
        SimRuntime* const paused = runtimes[simulation.random().below(runtimes.size())].get();
        if (!paused->alive()) return;
        paused->pause();
        seen.pauses += 1;
        simulation.after(simulation.random().between(Duration{0}, Duration{12s}), [paused] { paused->resume(); });
      });
    }
    for (Duration when = 11s; when < kStorm; when += 11s) {
      simulation.at(Instant{when}, [this] {
        const std::size_t one = simulation.random().below(runtimes.size());
        if (!runtimes[one]->alive()) return;
        runtimes[one]->kill();
        seen.kills += 1;
        start(roles[one]);
      });
    }
    simulation.run_until(Instant{kStorm});
    weather = {};
    simulation.run_until(Instant{kStorm + 2h}, [this] { return simulation.random().chance(0.01) && all_done(); });
    for (const auto& runtime : runtimes) runtime->terminate();
    simulation.run_until(simulation.now() + 5min);
  }

  StackPool stacks;
  Simulation simulation;
  Machine machine{"m", 0s, 0, std::chrono::hours{24 * 365 * 50}};
  SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  Seen seen;
  Judge judge{server, memory, seen};
  StoreServer store_server;
  Weather weather;
  Tally tally;
  std::vector<JobId> items;
  std::vector<std::string> roles;
  std::vector<std::unique_ptr<FaultyStore>> roads;
  std::vector<std::unique_ptr<SimRuntime>> runtimes;  // go before what their fibers use
};

TEST(PipelineStorm, P1_P2_EveryItemPassesItsStagesAndGatesOnceAndNoneIsStuck) {
  Seen all;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    PipelineStorm storm(seed);
    storm.run();
    EXPECT_EQ(storm.judge.wrong, std::vector<std::string>{}) << "seed " << seed;
    for (const JobId& id : storm.items) {
      const Job job = *test::must(storm.memory.job(kNs, id));
      EXPECT_EQ(job.state, JobState::done) << "seed " << seed << ": " << to_string(id) << " at '" << job.stage << "' is " << to_string(job.state) << " "
                                           << test::must(storm.memory.items({.ns = kNs, .ids = {id}})).items[0].record;
    }
    for (const auto& runtime : storm.runtimes) EXPECT_FALSE(runtime->alive()) << "seed " << seed << ": it does not end when it is told to";
    all.advances += storm.seen.advances;
    all.approvals += storm.seen.approvals;
    all.let_in += storm.seen.let_in;
    all.returns += storm.seen.returns;
    all.expired += storm.seen.expired;
    all.holds += storm.seen.holds;
    all.moves += storm.seen.moves;
    all.refused += storm.seen.refused;
    all.kills += storm.seen.kills;
    all.pauses += storm.seen.pauses;
    all.taken_over += storm.seen.taken_over;
  }
  // Else it has shown nothing.
  for (const std::int64_t count : {all.advances, all.approvals, all.let_in, all.returns, all.expired, all.holds, all.moves, all.refused, all.kills, all.pauses, all.taken_over}) EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace fenceline::sim
