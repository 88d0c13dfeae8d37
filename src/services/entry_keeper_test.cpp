// A worker that looks after an entry condition while its pipeline is edited: by hand on the memory store, and the whole
// keeper in virtual time.
#include "services/entry_keeper.hpp"

#include <map>

#include "services/stage_worker.hpp"
#include "sim/store/faulty_store.hpp"
#include "support/pipeline_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct EntryKeeperTest : PipelineOnMemory {
  JobId at_announce_entry() {
    const JobId id = enqueue();
    work("ready");
    work("review");
    must(acts.approve(id, {}, ana));
    work("publish");
    return id;
  }
  ClaimRequest asked(const std::string& stage) {
    return {.ns = "default",
            .queues = {"docs"},
            .stage = stage,
            .owner = "w",
            .request = "gate" + std::to_string(++number),
            .limit = 10,
            .ttl = 30s};
  }
};

TEST_F(EntryKeeperTest, P1_AKeeperOfTheOldEntryIsHandedNothingOfTheNewOne) {
  const JobId id = enqueue();
  work("ready");
  work("review");
  StageStore keeper(stages, docs_pipeline().stages[2].entry);
  EXPECT_TRUE(must(keeper.claim(asked("gate:publish"))).jobs.empty());
  PipelineSpec spec = docs_pipeline();
  spec.stages[2].entry = {.kind = EntryKind::check, .command = {"./audit"}};
  EXPECT_EQ(apply(spec).refitted, 1);
  EXPECT_TRUE(must(keeper.claim(asked("gate:publish"))).jobs.empty()) << "claimed by what it knew, and given back";
  EXPECT_TRUE(must(keeper.claim(asked("gate:publish"))).jobs.empty()) << "it knows by now";
  EXPECT_EQ(job(id).state, JobState::ready);
  EXPECT_EQ(must(StageStore(stages, spec.stages[2].entry).claim(asked("gate:publish"))).jobs.size(), 1U)
      << "its own keeper has it at once";
}

TEST_F(EntryKeeperTest, P1_WhatTheOldCheckSaysOpensNoEditedEntry) {
  for (const OutcomeKind said : {OutcomeKind::done, OutcomeKind::dead}) {
    apply(docs_pipeline());
    const JobId id = at_announce_entry();
    StageStore keeper(stages, docs_pipeline().stages[3].entry);
    const Job held = must(keeper.claim(asked("gate:announce"))).jobs.at(0).job;
    PipelineSpec spec = docs_pipeline();
    spec.stages[3].entry.command = {"./audit"};
    const std::int64_t revision = must(memory.pipelines("default")).at(0).revision;
    must(memory.put_pipeline({.ns = "default",
                              .name = "docs",
                              .spec = pipeline_text(spec),
                              .revision = revision,
                              .act = ana}));  // before anybody looks at the items
    EXPECT_TRUE(
        must(keeper.settle({.ns = "default", .owner = "w", .settlements = {{held.id, held.fence, {.kind = said}}}}))
            .refused.empty());
    EXPECT_EQ(job(id).stage, "gate:announce");
    EXPECT_EQ(job(id).state, JobState::ready);
    StageStore next(stages, spec.stages[3].entry);
    const Job again = must(next.claim(asked("gate:announce"))).jobs.at(0).job;
    must(next.settle({.ns = "default", .owner = "w", .settlements = {{again.id, again.fence, {}}}}));
    EXPECT_EQ(job(id).stage, "announce");
  }
}

// Notes whose check ran for each item.
struct Checks {
  std::map<JobId, std::vector<std::string>> ran;

  struct Check final : Handler {
    Check(Checks& checks, std::string word) : checks_(checks), word_(std::move(word)) {}
    RunResult run(const Run& run) override {
      checks_.ran[run.job.id].push_back(word_);
      return {};
    }
    Checks& checks_;
    const std::string word_;
  };
};

struct Nothing final : Handler {
  RunResult run(const Run&) override { return {}; }
};

TEST(EntryKeeperInTime, P1_AnApprovalThatIsMadeACheckIsCheckedBesideTheKeepersOfTheApproval) {
  sim::StackPool stacks;
  sim::Simulation simulation(7, stacks);
  sim::Machine machine{"m", 0s, 0, std::chrono::hours{24 * 365 * 50}};
  sim::SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  PipelineActs pipelines(server, memory, "n");
  const Act ana{.actor = "ana", .reason = ""};
  PipelineSpec spec{.name = "docs", .stages = {{.name = "write"}, {.name = "publish"}, {.name = "archive"}}};
  spec.stages[1].entry = {.kind = EntryKind::approval, .within = 48h};
  must(pipelines.apply(spec, false, ana));
  std::vector<JobId> items;
  for (int i = 0; i < 5; ++i) {
    items.push_back(make_uuid7(server.wall_now(), server.random(), server.random()));
    must(memory.enqueue({.ns = "n", .jobs = {{.id = items.back(), .queue = "docs"}}}));
  }
  Checks checks;
  std::vector<std::unique_ptr<sim::SimRuntime>> runtimes;
  for (const bool with_checks : {false, false, true}) {
    runtimes.push_back(std::make_unique<sim::SimRuntime>(simulation, machine, "w" + std::to_string(runtimes.size())));
    sim::SimRuntime& its = *runtimes.back();
    its.start([&, with_checks](std::stop_token stop) {
      Nothing work;
      MakeCheck make_check;
      if (with_checks)
        make_check = [&](const StageSpec& stage) {
          return std::make_unique<Checks::Check>(checks, stage.entry.command.front());
        };
      const WorkerOptions options{.ns = "n",
                                  .queues = {"docs"},
                                  .stage = "write",
                                  .drain_grace = 3s,
                                  .schedules = false,
                                  .host = its.name(),
                                  .pid = 1,
                                  .version = "sim"};
      must(work_stages(its, Log(null_log_sink()), memory, work, options, std::move(make_check), stop));
    });
  }
  simulation.run_until(Instant{60s});
  for (const JobId& id : items) EXPECT_EQ(must(memory.job("n", id))->stage, "gate:publish");
  spec.stages[1].entry = {.kind = EntryKind::check, .command = {"audit"}, .every = 1min};
  simulation.at(Instant{61s}, [&] { EXPECT_EQ(must(pipelines.apply(spec, false, ana)).refitted, 5); });
  simulation.run_until(Instant{5min});
  for (const JobId& id : items) {
    EXPECT_EQ(must(memory.job("n", id))->stage, "publish") << "let in";
    EXPECT_EQ(checks.ran[id], std::vector<std::string>{"audit"});
  }
  for (const auto& runtime : runtimes) runtime->terminate();
  simulation.run_until(Instant{6min});
  for (const auto& runtime : runtimes) EXPECT_FALSE(runtime->alive());
}

TEST(EntryKeeperInTime, J8_AnEditWhoseAuthorDiedBeforeItLookedAtItemsKeepsNobodyWaiting) {
  sim::StackPool stacks;
  sim::Simulation simulation(9, stacks);
  sim::Machine machine{"m", 0s, 0, std::chrono::hours{24 * 365 * 50}};
  sim::SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  const Act ana{.actor = "ana", .reason = ""};
  PipelineSpec spec{.name = "docs", .stages = {{.name = "write"}, {.name = "publish"}, {.name = "archive"}}};
  spec.stages[1].entry = {.kind = EntryKind::approval};
  must(PipelineActs(server, memory, "n").apply(spec, false, ana));
  const JobId id = make_uuid7(server.wall_now(), server.random(), server.random());
  must(memory.enqueue({.ns = "n", .jobs = {{.id = id, .queue = "docs"}}}));
  Checks checks;
  sim::SimRuntime its(simulation, machine, "w");
  its.start([&](std::stop_token stop) {
    Nothing work;
    const WorkerOptions options{.ns = "n",
                                .queues = {"docs"},
                                .stage = "write",
                                .drain_grace = 3s,
                                .schedules = false,
                                .host = its.name(),
                                .pid = 1,
                                .version = "sim"};
    must(work_stages(
        its, Log(null_log_sink()), memory, work, options,
        [&](const StageSpec& stage) { return std::make_unique<Checks::Check>(checks, stage.entry.command.front()); },
        stop));
  });
  simulation.run_until(Instant{2min});
  EXPECT_EQ(must(memory.job("n", id))->state, JobState::waiting) << "for an approval";
  spec.stages[1].entry = {.kind = EntryKind::check, .command = {"audit"}, .every = 1min};
  simulation.at(Instant{121s}, [&] {
    must(memory.put_pipeline({.ns = "n", .name = "docs", .spec = pipeline_text(spec), .revision = 1, .act = ana}));
  });
  simulation.run_until(Instant{4min});
  EXPECT_EQ(checks.ran[id], std::vector<std::string>{"audit"});
  EXPECT_EQ(must(memory.job("n", id))->stage, "publish");
  its.terminate();
  simulation.run_until(Instant{5min});
}

TEST(EntryKeeperInTime, J8_ADrainEndsBesideWhatWasRetriedAtAnEntryThatWaitsForPeople) {
  sim::StackPool stacks;
  sim::Simulation simulation(8, stacks);
  sim::Machine machine{"m", 0s, 0, std::chrono::hours{24 * 365 * 50}};
  sim::SimRuntime server{simulation, machine, "store"};
  MemoryStore memory{server};
  const Act ana{.actor = "ana", .reason = ""};
  PipelineSpec spec{.name = "docs", .stages = {{.name = "write"}, {.name = "publish"}}};
  spec.stages[1].entry = {.kind = EntryKind::approval};
  must(PipelineActs(server, memory, "n").apply(spec, false, ana));
  const JobId id = make_uuid7(server.wall_now(), server.random(), server.random());
  must(memory.enqueue({.ns = "n", .jobs = {{.id = id, .queue = "docs"}}}));
  const auto drain = [&](const std::string& stage) {
    sim::SimRuntime its(simulation, machine, stage);
    its.start([&](std::stop_token stop) {
      Nothing work;
      const WorkerOptions options{.ns = "n",
                                  .queues = {"docs"},
                                  .stage = stage,
                                  .drain = true,
                                  .schedules = false,
                                  .host = its.name(),
                                  .pid = 1,
                                  .version = "sim"};
      must(work_stages(its, Log(null_log_sink()), memory, work, options, {}, stop));
    });
    simulation.run_until(simulation.now() + 2min);
    EXPECT_FALSE(its.alive()) << "the drain of " << stage << " has not ended";
  };
  drain("write");
  must(memory.cancel({.ns = "n", .ids = {id}, .request = "c", .only = {}, .act = ana}));
  must(memory.retry({.ns = "n", .ids = {id}, .request = "r", .only = {}, .act = ana}));
  EXPECT_EQ(must(memory.job("n", id))->state, JobState::ready);
  drain("publish");
  EXPECT_EQ(must(memory.job("n", id))->state, JobState::waiting);
}

}  // namespace
}  // namespace fenceline::test
