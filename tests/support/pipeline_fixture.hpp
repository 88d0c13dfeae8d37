// A pipeline on a memory store whose clock a test moves by hand, and whose answers it can take away.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_acts.hpp"
#include "services/stage_store.hpp"
#include "store/forwarding_store.hpp"
#include "support/hand_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::test {

// The way to the store: what happens right before a change, and whose answers get lost.
class ItemRoad final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::function<void()> before_change = [] {};
  int replies_lost = 0;                        // of the next changes
  std::function<void()> before_items = [] {};  // once
  int items_refused = 0;                       // of the next looks: the store is away
  int changes = 0;

  Result<ItemsReply> items(const ItemsRequest& request) override {
    if (items_refused > 0) {
      --items_refused;
      return fail(Code::unavailable, "the store is away");
    }
    std::exchange(before_items, [] {})();
    return inner_.items(request);
  }
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    ++changes;
    const std::function<void()> now = std::exchange(before_change, [] {});
    now();
    Result<ChangeItemsReply> reply = inner_.change_items(request);
    if (replies_lost == 0) return reply;
    --replies_lost;
    return fail(Code::in_doubt, "no reply in time");
  }
};

// ready -> review -> publish (approval by ana or bo, within 2d, then reject) -> announce (check)
inline PipelineSpec docs_pipeline() {
  PipelineSpec spec{.name = "docs",
                    .stages = {{.name = "ready"}, {.name = "review"}, {.name = "publish"}, {.name = "announce"}}};
  spec.stages[1].timeout = std::chrono::minutes{5};
  spec.stages[1].attempts = 2;
  spec.stages[2].entry = {.kind = EntryKind::approval,
                          .count = 1,
                          .by = {"ana", "bo"},
                          .within = std::chrono::hours{48},
                          .then = EntryEnd::reject};
  spec.stages[3].entry = {.kind = EntryKind::check, .command = {"./ok"}, .every = std::chrono::minutes{5}};
  return spec;
}

struct PipelineOnMemory : testing::Test {
  PipelineOnMemory() { apply(docs_pipeline()); }

  ManualClock clock;
  HandRuntime runtime{clock};
  MemoryStore memory{clock};
  ItemRoad road{memory};
  StageStore stages{runtime, road, {.ns = "default", .queues = {"docs", "mail"}}};
  ItemActs acts{runtime, road, "default"};
  PipelineActs pipelines{runtime, road, "default"};
  int number = 0;

  const Act ana{.actor = "ana", .reason = "because"};

  ApplyReport apply(const PipelineSpec& spec, bool force = false) { return must(pipelines.apply(spec, force, ana)); }

  JobId enqueue(const std::string& queue = "docs", const std::string& stage = "",
                int attempts_max = kAttemptsMaxDefault) {
    const JobId id = make_uuid7(clock.wall_now(), runtime.random(), runtime.random());
    must(memory.enqueue(
        {.ns = "default", .jobs = {{.id = id, .queue = queue, .stage = stage, .attempts_max = attempts_max}}}));
    return id;
  }
  std::vector<Job> claim(const std::string& stage, const std::string& owner = "w", const std::string& queue = "docs") {
    const ClaimReply reply = must(stages.claim({.ns = "default",
                                                .queues = {queue},
                                                .stage = stage,
                                                .owner = owner,
                                                .request = "claim" + std::to_string(++number),
                                                .limit = 10,
                                                .ttl = std::chrono::seconds{30}}));
    std::vector<Job> jobs;
    for (const ClaimedJob& claimed : reply.jobs) jobs.push_back(claimed.job);
    return jobs;
  }
  SettleReply settle(const Job& job, Outcome outcome = {}, const std::string& owner = "w") {
    return must(
        stages.settle({.ns = "default", .owner = owner, .settlements = {{job.id, job.fence, std::move(outcome)}}}));
  }
  // Its work at a stage is done by somebody.
  void work(const std::string& stage) {
    const std::vector<Job> jobs = claim(stage);
    ASSERT_EQ(jobs.size(), 1U) << "nothing at " << stage;
    EXPECT_TRUE(settle(jobs.front()).refused.empty());
  }
  Job job(const JobId& id) { return must(memory.job("default", id)).value(); }
  ItemRecord record(const JobId& id) {
    return must(parse_record(must(memory.items({.ns = "default", .ids = {id}})).items.at(0).record));
  }
  std::vector<std::string> trail() {
    std::vector<std::string> acts_done;
    for (const TrailEntry& entry : must(memory.trail("default", 1000))) {
      if (entry.act.starts_with("item_"))
        acts_done.push_back(entry.act + " " + entry.subject.substr(std::min<std::size_t>(entry.subject.size(), 37)) +
                            " by " + entry.actor);
    }
    return acts_done;
  }
};

}  // namespace fenceline::test
