// Items that many change at once on a real server: one decision upon a record wins, nobody waits crosswise, and in the
// end all that is counted is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <map>
#include <random>

#include "backends/postgres/pipeline_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresPipelineStorm : public testing::Test, protected PipelineServer {};

TEST_F(PostgresPipelineStorm, P1_OfManyWhoDecideUponOneRecordOneIsFirst) {
  constexpr int kPersons = 6;
  constexpr int kItems = 15;
  constexpr int kRounds = 12;
  const std::int64_t deadlocks_before = deadlocks();
  const std::vector<JobId> ids = items_at("gate:two", kItems);
  std::vector<std::atomic<int>> first(kItems * kRounds);
  std::atomic<int> late = 0;
  std::vector<std::string> errors(kPersons);
  std::barrier<> together(kPersons);
  const auto decide = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::size_t> order(kItems);
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      std::vector<ItemChange> changes;
      // To a stage that is new to the queue in each round, so that all make it at once.
      for (const std::size_t i : order)
        changes.push_back(moving(ids[i], 1 + round, "round" + std::to_string(round),
                                 round % 2 == 0 ? JobState::ready : JobState::waiting));
      together.arrive_and_wait();
      const Result<ChangeItemsReply> reply = store->change_items(asking(std::move(changes)));
      together.arrive_and_wait();
      if (!reply) {
        errors[me] = reply.error().message;
        continue;
      }
      std::vector<bool> mine(kItems, true);
      for (const ItemRefusal& refusal : reply->refused) {
        mine[static_cast<std::size_t>(std::ranges::find(ids, refusal.id) - ids.begin())] = false;
        if (refusal.reason != Reason::changed || refusal.revision != 2 + round)
          errors[me] = std::string(to_string(refusal.reason)) + " " + std::to_string(refusal.revision);
        ++late;
      }
      for (std::size_t i = 0; i < mine.size(); ++i)
        first[static_cast<std::size_t>(round) * kItems + i] += mine[i] ? 1 : 0;
    }
  };
  {
    std::vector<Task> all;
    for (std::size_t i = 0; i < kPersons; ++i)
      all.push_back(runtime_.spawn("person", [&, i](const std::stop_token&) { decide(i); }));
    for (Task& one : all) one.join();
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  for (const std::atomic<int>& count : first) EXPECT_EQ(count, 1);
  EXPECT_EQ(late, (kPersons - 1) * kItems * kRounds);
  EXPECT_EQ(deadlocks(), deadlocks_before);
  EXPECT_EQ(number("select count(*) from " + ours("trail") + " where act = 'item_moved'"), kItems * (kRounds + 1));
}

// Workers who advance what they hold, persons who move anything anywhere, others who cancel and retry; of groups, limit
// keys and unique keys.
TEST_F(PostgresPipelineStorm, P2_AfterAStormAllThatIsCountedIsRightAndNobodyMetADeadlock) {
  constexpr int kItems = 80;
  const std::vector<std::string> stages{"", "one", "two", "gate:two", "three"};
  const std::int64_t deadlocks_before = deadlocks();
  must(store_->set_queue(
      {.ns = "default", .queue = "q", .change = {.limit = 12, .limit_per_key = 2}, .act = {"ana", ""}}));
  std::vector<JobId> ids;
  for (int i = 0; i < kItems; ++i) {
    NewJob job;
    if (i % 4 == 0) job.group = "g" + std::to_string(i % 3);
    if (i % 4 == 1) job.limit_key = "k" + std::to_string(i % 3);
    if (i % 4 == 2) job.key = "u" + std::to_string(i);
    ids.push_back(added(job));
  }
  std::atomic<int> advanced = 0, moved = 0, refusals = 0;
  std::atomic<bool> over = false;
  std::vector<std::string> errors(7);
  const auto record_of = [](Store& store, const std::vector<JobId>& of) {
    std::map<JobId, Item> out;
    for (Item& one : must(store.items({.ns = "default", .ids = of})).items) out.emplace(one.job.id, std::move(one));
    return out;
  };
  const auto send = [&](std::size_t me, Store& store, const ChangeItemsRequest& request, std::atomic<int>& made) {
    const auto reply = store.change_items(request);
    if (!reply) {
      errors[me] = reply.error().message;
      return;
    }
    made += static_cast<int>(request.changes.size() - reply->refused.size());
    refusals += static_cast<int>(reply->refused.size());
  };
  const auto work = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    const std::string owner = "w" + std::to_string(me);
    while (!over) {
      const auto claim = store->claim({.ns = "default",
                                       .queues = {"q"},
                                       .stage = stages[random() % stages.size()],
                                       .owner = owner,
                                       .request = new_request(),
                                       .limit = 5,
                                       .ttl = 30s});
      if (!claim) {
        errors[me] = claim.error().message;
        continue;
      }
      if (const OrdersReply orders = must(store->orders("default", owner)); !orders.revoked.empty())
        must(store->stopped({.ns = "default", .owner = owner, .jobs = orders.revoked}));
      if (claim->jobs.empty()) continue;
      std::vector<JobId> held;
      for (const ClaimedJob& one : claim->jobs) held.push_back(one.job.id);
      const std::map<JobId, Item> known = record_of(*store, held);
      std::vector<ItemChange> changes;
      for (const ClaimedJob& one : claim->jobs) {
        const JobState state = random() % 4 == 0   ? JobState::waiting
                               : random() % 9 == 0 ? JobState::dead
                                                   : JobState::ready;
        changes.push_back(advancing(one.job, known.at(one.job.id).revision, stages[random() % stages.size()], state));
      }
      std::shuffle(changes.begin(), changes.end(), random);
      send(me, *store, asking(std::move(changes), owner), advanced);
    }
  };
  const auto move = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    while (!over) {
      std::vector<JobId> some;
      std::ranges::sample(ids, std::back_inserter(some), 8, random);
      std::shuffle(some.begin(), some.end(), random);
      const std::map<JobId, Item> known = record_of(*store, some);
      std::vector<ItemChange> changes;
      for (const JobId& id : some) {
        const JobState state = random() % 3 == 0   ? JobState::waiting
                               : random() % 9 == 0 ? JobState::cancelled
                                                   : JobState::ready;
        changes.push_back(moving(id, known.at(id).revision, stages[random() % stages.size()], state));
      }
      send(me, *store, asking(std::move(changes)), moved);
    }
  };
  const auto act = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    for (int i = 0; i < 60; ++i) {
      ActRequest request{.ns = "default", .ids = {}, .request = new_request(), .only = {}, .act = {"ana", ""}};
      std::ranges::sample(ids, std::back_inserter(request.ids), 6, random);
      const auto reply = i % 5 == 0 ? store->cancel(request) : store->retry(request);
      if (!reply) errors[me] = reply.error().message;
      if (i % 10 == 0)
        must(store->set_queue({.ns = "default",
                               .queue = "q",
                               .change = {.limit = 10 + i % 3, .limit_per_key = i % 20 == 0 ? 2 : 3},
                               .act = {"ana", ""}}));
      if (i % 10 == 5) must(store->tidy({.ns = "default"}));
      runtime_.sleep_for(20ms, {});
    }
    over = true;
  };
  {
    std::vector<Task> all;
    for (std::size_t i = 0; i < 3; ++i)
      all.push_back(runtime_.spawn("works", [&, i](const std::stop_token&) { work(i); }));
    for (std::size_t i = 3; i < 6; ++i)
      all.push_back(runtime_.spawn("moves", [&, i](const std::stop_token&) { move(i); }));
    all.push_back(runtime_.spawn("acts", [&](const std::stop_token&) { act(6); }));
    for (Task& one : all) one.join();
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_GT(advanced, 20);
  EXPECT_GT(moved, 20);
  EXPECT_GT(refusals, 0);
  EXPECT_EQ(deadlocks(), deadlocks_before);
  // Each job once; an entry for each change; depths, claims and attempts as the jobs have it.
  EXPECT_EQ(number("select (select count(*) from " + ours("job") + ") + (select count(*) from " + ours("done") + ")"),
            kItems);
  EXPECT_EQ(number("select sum(revision)::bigint from " + ours("item")),
            number("select count(*) from " + ours("trail") + " where act in ('item_moved', 'item_advanced')"));
  EXPECT_EQ(advanced + moved,
            number("select count(*) from " + ours("trail") + " where act in ('item_moved', 'item_advanced')"));
  EXPECT_EQ(number("select count(*) from (select q.id, coalesce(sum(d.ready), 0), coalesce(sum(d.running), 0), "
                   "coalesce(sum(d.waiting), 0), coalesce(sum(d.dead), 0), coalesce(sum(d.cancelled), 0) from " +
                   ours("queue") + " q left join " + ours("depth") +
                   " d on d.queue_id = q.id group by q.id except select q.id, (select count(*) from " + ours("job") +
                   " j where j.queue_id = q.id and " + schema_.name() + ".state_of(j) = 0), (select count(*) from " +
                   ours("job") + " j where j.queue_id = q.id and " + schema_.name() +
                   ".state_of(j) = 1), (select count(*) from " + ours("job") + " j where j.queue_id = q.id and " +
                   schema_.name() + ".state_of(j) = 2), (select count(*) from " + ours("done") +
                   " d where d.queue_id = q.id and d.state = 4), (select count(*) from " + ours("done") +
                   " d where d.queue_id = q.id and d.state = 5) from " + ours("queue") + " q) as wrong"),
            0);
  EXPECT_EQ(number("select sum(live)::bigint from " + ours("claim")),
            number("select count(*) from " + ours("job") + " where lease_end is not null"));
  EXPECT_EQ(
      number("select count(*) from " + ours("job") + " j where j.lease_end is not null and not exists (select 1 from " +
             ours("claim") + " c where c.id = j.claim_id and c.live > 0 and c.queue_id = j.queue_id)"),
      0);
  // Whatever is left can be worked off, at whichever stage it stands.
  std::vector<ItemChange> back;
  for (const Item& one : must(store_->items({.ns = "default", .ids = ids})).items) {
    if (!is_finished(one.job.state)) back.push_back(moving(one.job.id, one.revision, "last"));
  }
  ASSERT_FALSE(back.empty());
  const std::size_t left = back.size();
  must(store_->set_queue(
      {.ns = "default", .queue = "q", .change = {.limit = 0, .limit_per_key = 0}, .act = {"ana", ""}}));
  EXPECT_EQ(must(store_->change_items(asking(std::move(back)))).refused.size(), 0u);
  schema_.run("update slot set lease_end = 0; update todo set at = 0 where clock = 0");
  std::size_t done = 0;
  for (int i = 0; i < 200 && done < left; ++i) {
    std::vector<ItemChange> ends;
    for (const ClaimedJob& one : must(store_->claim({.ns = "default",
                                 .queues = {"q"},
                                 .stage = "last",
                                 .owner = "last",
                                 .request = new_request(),
                                 .limit = 20,
                                 .ttl = 30s}))
                                     .jobs)
      ends.push_back(advancing(one.job, item(one.job.id).revision, "last", JobState::done));
    if (ends.empty()) continue;
    done += ends.size();
    EXPECT_EQ(must(store_->change_items(asking(std::move(ends), "last"))).refused.size(), 0u);
  }
  EXPECT_EQ(done, left);
}

}  // namespace
}  // namespace fenceline::test
