// Pipelines on a Redis server: what is particular to it. Jobs that share a list or a batch until they are moved, a
// server that is full, fences that a Lua number could round, answers in several short scripts, and two processes that
// want the same item.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kPipelinesAct{"ann", "because"};
constexpr Duration kPipelinesPatience = 60s;  // on a machine that has much else to do

class RedisPipelines : public testing::Test {
 protected:
  JobId enqueue(NewJob job = {}) {
    job.id = make_uuid7(clock_.wall_now(), 0, ++last_);
    job.queue = "q";
    must(store_->enqueue({.ns = "default", .jobs = {job}}));
    return job.id;
  }
  std::vector<ClaimedJob> claim(const std::string& stage, int limit = 1) {
    return must(store_->claim({.ns = "default",
                               .queues = {"q"},
                               .stage = stage,
                               .owner = "a",
                               .request = next_request(),
                               .limit = limit,
                               .ttl = 30s}))
        .jobs;
  }
  static ItemChange moved(const JobId& id, const std::string& stage, std::int64_t revision = 0) {
    return {.id = id,
            .revision = revision,
            .record = "r",
            .fence = {},
            .only = {},
            .place = Placement{.stage = stage, .result = "", .error = ""},
            .act = "item_moved",
            .about = "",
            .reason = ""};
  }
  static ItemChange advanced(const ClaimedJob& claimed, const std::string& stage, std::int64_t revision = 0) {
    ItemChange change = moved(claimed.job.id, stage, revision);
    change.fence = claimed.job.fence;
    return change;
  }
  ChangeItemsRequest changing(std::vector<ItemChange> changes) {
    return {.ns = "default",
            .owner = "a",
            .request = next_request(),
            .changes = std::move(changes),
            .act = kPipelinesAct,
            .timeout = kPipelinesPatience};
  }
  Result<ChangeItemsReply> change(std::vector<ItemChange> changes) {
    return store_->change_items(changing(std::move(changes)));
  }
  Result<PipelineRow> put(const std::string& name, const std::string& spec, std::int64_t revision) {
    return store_->put_pipeline({.ns = "default",
                                 .name = name,
                                 .spec = spec,
                                 .revision = revision,
                                 .act = kPipelinesAct,
                                 .timeout = kPipelinesPatience});
  }
  Item item(const JobId& id) { return must(store_->items({.ns = "default", .ids = {id}})).items.at(0); }
  std::string next_request() { return "r" + std::to_string(++last_); }
  // Of a key of the namespace.
  std::int64_t asked(const char* command, const std::string& key) {
    return admin_(redis::Command(command).arg(keys_.prefix() + ":{default}:" + key)).integer;
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  RedisKeys keys_{"pipelines"};
  redis::test::Admin admin_{runtime_};
  std::unique_ptr<RedisStore> store_ = keys_.open(runtime_, clock_);
  std::atomic<std::uint64_t> last_{0};
};

TEST_F(RedisPipelines, ARecordAloneLeavesAPlainJobInItsList) {
  const JobId id = enqueue();
  ItemChange change_of_record = moved(id, "");
  change_of_record.place.reset();
  EXPECT_TRUE(must(change({change_of_record})).refused.empty());
  EXPECT_EQ(item(id).record, "r");
  EXPECT_EQ(asked("LLEN", "plain:q/"), 1);
  EXPECT_EQ(asked("HLEN", "state"), 0);
  EXPECT_EQ(claim("").size(), 1u);
}

TEST_F(RedisPipelines, AJobThatLeavesAListOfPlainOnesIsClaimedAtItsNewStageAlone) {
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(enqueue());
  EXPECT_TRUE(must(change({moved(ids[1], "review")})).refused.empty());
  const std::vector<ClaimedJob> first = claim("", 10);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].job.id, ids[0]);
  EXPECT_EQ(first[1].job.id, ids[2]);
  const std::vector<ClaimedJob> second = claim("review", 10);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].job.id, ids[1]);
  EXPECT_EQ(second[0].job.stage, "review");
}

// Many are claimed without their bodies, which the client reads then.
TEST_F(RedisPipelines, P2_JobsOfABatchAreMovedOneByOneAndTheBatchGoesWithTheLast) {
  constexpr int kJobs = 40;
  for (int i = 0; i < kJobs; ++i) enqueue();
  const std::vector<ClaimedJob> claimed = claim("", kJobs);
  ASSERT_EQ(claimed.size(), std::size_t{kJobs});
  EXPECT_EQ(asked("HLEN", "batches"), 1);
  std::vector<ItemChange> changes;
  for (const ClaimedJob& one : claimed) changes.push_back(advanced(one, "review"));
  const std::vector<ItemChange> all_but_one(changes.begin(), changes.end() - 1);
  EXPECT_TRUE(must(change(all_but_one)).refused.empty());
  EXPECT_EQ(asked("HLEN", "batches"), 1);
  EXPECT_TRUE(must(change({changes.back()})).refused.empty());
  EXPECT_EQ(asked("HLEN", "batches"), 0);
  const std::vector<ClaimedJob> again = claim("review", kJobs + 1);
  ASSERT_EQ(again.size(), std::size_t{kJobs});
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].job.id, claimed[i].job.id);
    EXPECT_GT(again[i].job.fence, claimed[i].job.fence);
  }
}

TEST_F(RedisPipelines, AFullServerRefusesAChangeWholeAndStillRemovesAPipeline) {
  const JobId id = enqueue({.priority = 1});
  const ClaimedJob claimed = claim("").at(0);
  const PipelineRow row = must(put("p", "spec", 0));
  {
    const redis::test::Full full(admin_);
    EXPECT_EQ(code_of(change({advanced(claimed, "review")})), Code::full);
    EXPECT_EQ(code_of(put("q", "spec", 0)), Code::full);
    EXPECT_EQ(must(change({advanced(claimed, "review", 7)})).refused.at(0).reason, Reason::changed)
        << "nothing is to be written down";
    EXPECT_EQ(item(id).job.fence, claimed.job.fence) << "looks are answered";
    EXPECT_EQ(must(store_->pipelines("default")), std::vector{row});
    EXPECT_EQ(must(put("p", "", row.revision)).revision, 2);
  }
  EXPECT_EQ(item(id).revision, 0);
  EXPECT_EQ(item(id).job.state, JobState::running);
  EXPECT_EQ(must(store_->trail("default", 100)).back().act, "pipeline_removed");
  EXPECT_TRUE(must(change({advanced(claimed, "review")})).refused.empty());
  EXPECT_TRUE(must(store_->pipelines("default")).empty());
}

// The largest ones of all: a double that was printed short would be another number.
TEST_F(RedisPipelines, L2_FencesAreComparedAndAnsweredToTheLastDigit) {
  constexpr Fence kLast = (Fence{1} << 53) - 1;
  clock_.set_wall(WallTime{Duration{kLast - 3}});
  must(store_->raise_floor({.ns = "default", .floor = kLast - 3, .act = kPipelinesAct}));
  const JobId id = enqueue();
  const ClaimedJob claimed = claim("").at(0);
  ASSERT_EQ(claimed.job.fence, kLast - 2);
  ItemChange wrong = advanced(claimed, "review");
  wrong.fence = kLast - 1;
  const ItemRefusal refused = must(change({wrong})).refused.at(0);
  EXPECT_EQ(refused.reason, Reason::superseded);
  EXPECT_EQ(refused.current, kLast - 2);
  EXPECT_TRUE(must(change({moved(id, "review")})).refused.empty());
  EXPECT_EQ(item(id).job.fence, kLast - 1) << "revoked";
  must(store_->stopped({.ns = "default", .owner = "a", .jobs = {{id, kLast - 2}}}));
  EXPECT_EQ(claim("review").at(0).job.fence, kLast);
  EXPECT_EQ(code_of(change({moved(id, "x", 1)})), Code::refused) << "there is none for it";
  EXPECT_EQ(item(id).revision, 1);
}

TEST_F(RedisPipelines, ItemsWithLargePayloadsComeInSeveralShortScripts) {
  constexpr int kItems = 12;
  std::vector<JobId> ids;
  for (int i = 0; i < kItems; ++i)
    ids.push_back(enqueue({.payload = '"' + std::string(kPayloadBytesMax - 2, 'x') + '"'}));
  std::vector<JobId> asked_for = ids;
  asked_for.insert(asked_for.begin() + 5, make_uuid7(clock_.wall_now(), 1, 1));  // nobody has it
  admin_(redis::Command("CONFIG").arg("RESETSTAT"));
  const ItemsReply reply = must(store_->items({.ns = "default", .ids = asked_for, .timeout = kPipelinesPatience}));
  ASSERT_EQ(reply.items.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(reply.items[i].job.id, ids[i]);
    EXPECT_EQ(reply.items[i].job.payload, "");
  }
  EXPECT_EQ(reply.now, clock_.wall_now());
  const std::string stats = admin_(redis::Command("INFO").arg("commandstats")).text;
  const auto calls = [&](const std::string& command) {
    const std::size_t at = stats.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::strtoll(stats.c_str() + stats.find('=', at) + 1, nullptr, 10);
  };
  EXPECT_EQ(calls("fcall") + calls("evalsha") + calls("eval"), 3) << "four MiB each";
}

// Each reads, decides and changes; who comes too late reads again. No record is lost, and the scripts may be forgotten
// meanwhile.
TEST_F(RedisPipelines, ManyWhoChangeOneItemAllComeToTheirTurn) {
  constexpr int kPeople = 4, kTurns = 25;
  const JobId id = enqueue();
  std::vector<std::unique_ptr<RedisStore>> stores;
  for (int i = 0; i < kPeople; ++i) stores.push_back(keys_.open(runtime_, clock_));
  const auto takes_its_turns = [&](std::size_t person) {
    for (int turn = 0; turn < kTurns;) {
      const Item now =
          must(stores[person]->items({.ns = "default", .ids = {id}, .timeout = kPipelinesPatience})).items.at(0);
      ItemChange next = moved(id, turn % 2 ? "even" : "odd", now.revision);
      next.record = now.record + static_cast<char>('a' + person);
      const std::vector<ItemRefusal> refused = must(stores[person]->change_items(changing({next}))).refused;
      if (refused.empty()) ++turn;
      else if (refused[0].reason != Reason::changed)
        throw std::runtime_error("refused: " + std::string(to_string(refused[0].reason)));
    }
  };
  {
    std::vector<Task> people;
    for (std::size_t person = 0; person < kPeople; ++person)
      people.push_back(runtime_.spawn("person", [&, person](const std::stop_token&) { takes_its_turns(person); }));
    for (int i = 0; i < 5; ++i) {
      admin_(redis::Command("SCRIPT").arg("FLUSH"));
      admin_(redis::Command("FUNCTION").arg("FLUSH"));
    }
  }
  const Item last = item(id);
  EXPECT_EQ(last.revision, kPeople * kTurns);
  for (int person = 0; person < kPeople; ++person)
    EXPECT_EQ(std::ranges::count(last.record, static_cast<char>('a' + person)), kTurns);
  EXPECT_EQ(must(store_->trail("default", 1000)).size(), std::size_t{kPeople * kTurns});
  EXPECT_EQ(claim("odd").size() + claim("even").size(), 1u);
}

TEST_F(RedisPipelines, RetentionAndTheEndOfANamespaceLeaveNothingOfAnItem) {
  const JobId id = enqueue();
  ItemChange end = moved(id, "last");
  end.place->state = JobState::done;
  EXPECT_TRUE(must(change({end})).refused.empty());
  EXPECT_EQ(asked("HLEN", "items"), 1);
  clock_.advance(400 * 24h);
  EXPECT_EQ(must(store_->tidy({.ns = "default", .limit = 100})).removed, 1);
  for (const char* key : {"items", "lanes", "stages:q", "state", "body"}) EXPECT_EQ(asked("EXISTS", key), 0) << key;

  EXPECT_TRUE(must(change({moved(enqueue(), "review")})).refused.empty());
  must(put("p", "spec", 0));
  must(store_->remove_namespace("default", kPipelinesAct));
  std::string left;
  for (const redis::Value& key : admin_(redis::Command("KEYS").arg(keys_.prefix() + ":{default}:*")).items)
    left += key.text.substr(keys_.prefix().size()) + " ";
  EXPECT_EQ(left, ":{default}:trail ");
}

}  // namespace
}  // namespace fenceline::test
