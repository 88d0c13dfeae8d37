// What befalls a Redis server as a whole while somebody holds locks and jobs there: it forgets everything, or its
// scripts; it is full; a replica that lagged takes over.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>

#include "backends/redis/server_facts.hpp"
#include "backends/redis/store_testing.hpp"
#include "fenceline/gated_key.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Value;

// Generous, for a machine that is busy: nothing here waits for it to pass.
constexpr Duration kTtl = 10min;
constexpr Duration kDrillSoon = 60s;

std::string folder() { return redis::test::from_environment("FENCELINE_TEST_REDIS_FOLDER"); }

// A server of the test's own beside the first one, reached by a socket; alone, or as a replica of the first.
class OtherServer {
 public:
  OtherServer(Runtime& runtime, const std::string& name, bool follows)
      : runtime_(runtime), folder_(folder() + "/" + name) {
    std::filesystem::create_directory(folder_);
    std::string line = "cd \"$1\" && exec redis-server --dir \"$1/" + name + "\" --port 0 --unixsocket \"$1/" + name +
                       "/s\" --save '' --appendonly no --maxmemory-policy noeviction";
    if (follows) line += " --replicaof 127.0.0.1 $(sed -n 's/^port //p' redis.conf) --masterauth $(cat password)";
    // It stands in the first one's folder, by which the script's cleaner knows it.
    child_ = must(spawn_child({.program = "sh",
                               .arguments = {"sh", "-c", line + " >/dev/null 2>&1 </dev/null", "sh", folder()},
                               .dies_with_us = true}));
    while (!redis::Connection::connect(runtime_, must(redis::parse_address(url())), runtime_.now() + kDrillSoon))
      runtime_.sleep_for(1ms, {});
  }
  ~OtherServer() {
    ::kill(child_.pid, SIGKILL);
    reap(child_);
    std::filesystem::remove_all(folder_);
  }
  OtherServer(const OtherServer&) = delete;
  OtherServer& operator=(const OtherServer&) = delete;

  std::string socket() const { return folder_ + "/s"; }
  std::string url() const { return "unix:" + socket(); }
  Value operator()(const Command& command) {
    const auto connection =
        must(redis::Connection::connect(runtime_, must(redis::parse_address(url())), runtime_.now() + kDrillSoon));
    return must(connection->call(command, runtime_.now() + kDrillSoon));
  }
  bool says(const std::string& line) {
    return (*this)(Command("INFO").arg("replication")).text.find(line) != std::string::npos;
  }

 private:
  Runtime& runtime_;
  const std::string folder_;
  ChildProcess child_;
};

class RedisDrills : public testing::Test {
 protected:
  RedisDrills() { admin_(Command("FLUSHALL")); }
  ~RedisDrills() override {
    admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(0));
    admin_(Command("FLUSHALL"));
  }

  std::unique_ptr<RedisStore> open(const std::string& url) {
    return must(RedisStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  std::unique_ptr<RedisStore> open() { return open(redis::test::admin_url()); }
  NewJob new_job(const std::string& payload = "null") {
    return {
        .id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q", .payload = payload};
  }
  JobId added(RedisStore& store) {
    const NewJob job = new_job();
    must(store.enqueue({.ns = "default", .jobs = {job}}));
    return job.id;
  }
  Result<ClaimReply> claim(RedisStore& store, const std::string& owner) {
    return store.claim(
        {.ns = "default", .queues = {"q"}, .owner = owner, .request = std::to_string(++last_), .ttl = kTtl});
  }
  static Result<SettleReply> settle(RedisStore& store, const std::string& owner, const Job& job) {
    return store.settle({.ns = "default",
                         .owner = owner,
                         .settlements = {{job.id, job.fence, {.kind = OutcomeKind::done, .result = "1"}}}});
  }
  Result<AcquireReply> acquire(RedisStore& store, const std::string& name, const std::string& owner) {
    return store.acquire(
        {.ns = "default", .names = {name}, .owner = owner, .request = std::to_string(++last_), .ttl = kTtl});
  }
  Fence granted(RedisStore& store, const std::string& name, const std::string& owner) {
    return must(acquire(store, name, owner)).grants.at(0).fence;
  }
  static bool renewed(RedisStore& store, const std::string& name, const std::string& owner, Fence fence) {
    return must(store.renew({.ns = "default", .locks = {{name, owner, fence}}, .ttl = kTtl})).refused.empty();
  }
  bool until(const std::function<bool()>& is) {
    for (const Instant end = runtime_.now() + kDrillSoon; runtime_.now() < end; runtime_.sleep_for(2ms, {})) {
      if (is()) return true;
    }
    return false;
  }

  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  int last_ = 0;
};

TEST_F(RedisDrills, L2_AfterFlushallALockIsGrantedWithALargerFenceAndTheOldHolderIsRefusedHereAndElsewhere) {
  OtherServer elsewhere(runtime_, "gate", false);
  const auto gate = must(GatedKeys::connect(elsewhere.url()));
  const auto written = [&](Fence fence, const std::string& value) {
    return must(gate->set({.key = "report", .fence = fence, .value = value}));
  };
  const auto store = open();
  const Fence before = granted(*store, "report", "a");
  EXPECT_TRUE(written(before, "of a").accepted());
  const JobId id = added(*store);
  const Job claimed = must(claim(*store, "a")).jobs.at(0).job;

  admin_(Command("FLUSHALL"));

  // L4: nothing of it is known, and nothing comes back by a renewal.
  EXPECT_FALSE(renewed(*store, "report", "a", before));
  const Fence after = granted(*store, "report", "b");
  EXPECT_GT(after, before);
  EXPECT_FALSE(renewed(*store, "report", "a", before));
  EXPECT_EQ(must(store->release({.ns = "default", .locks = {{"report", "a", before}}})).refused.size(), 1u);
  EXPECT_TRUE(renewed(*store, "report", "b", after)) << "the release of another did not end it";
  EXPECT_TRUE(written(after, "of b").accepted());
  EXPECT_EQ(written(before, "late"), (GateAnswer{GateVerdict::stale, after}));
  EXPECT_EQ(elsewhere(Command("GET").key("report")).text, "of b");

  // The same of a job: enqueued anew under its old id it is granted with a larger fence, and the old delivery is
  // refused.
  EXPECT_EQ(
      must(store->extend({.ns = "default", .owner = "a", .jobs = {{id, claimed.fence}}, .ttl = kTtl})).refused.size(),
      1u);
  EXPECT_EQ(must(settle(*store, "a", claimed)).refused.size(), 1u);
  NewJob again = new_job();
  again.id = id;
  EXPECT_EQ(must(store->enqueue({.ns = "default", .jobs = {again}})).existing, 0);
  const Job anew = must(claim(*store, "b")).jobs.at(0).job;
  EXPECT_GT(anew.fence, claimed.fence);
  EXPECT_EQ(must(settle(*store, "a", claimed)).refused.size(), 1u);
  EXPECT_TRUE(must(settle(*store, "b", anew)).refused.empty());
}

TEST_F(RedisDrills, J1_J3_ScriptsAndFunctionsThatAreFlushedInTheMiddleOfAStormLoseAndDoubleNothing) {
  constexpr int kWorkers = 4, kJobsOfEach = 25;
  const auto store = open();
  std::atomic<int> failed{0}, done{0};
  std::vector<Task> tasks;
  for (int worker = 0; worker < kWorkers; ++worker) {
    tasks.push_back(runtime_.spawn("worker", [&, worker](const std::stop_token&) {
      const std::string owner = "w" + std::to_string(worker);
      for (int i = 0; i < kJobsOfEach; ++i) {
        const std::string turn = owner + "-" + std::to_string(i);
        const NewJob job = {.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q"};
        failed += store->enqueue({.ns = "default", .jobs = {job}}) ? 0 : 1;
        const auto lock =
            store->acquire({.ns = "default", .names = {turn}, .owner = turn, .request = turn, .ttl = kTtl});
        const auto claimed =
            store->claim({.ns = "default", .queues = {"q"}, .owner = owner, .request = turn, .ttl = kTtl});
        if (!lock || lock->grants.size() != 1 || !claimed || claimed->jobs.size() != 1) {
          ++failed;
          continue;
        }
        const auto settled = settle(*store, owner, claimed->jobs[0].job);
        done += settled && settled->refused.empty() ? 1 : 0;
        const auto released = store->release({.ns = "default", .locks = {{turn, turn, lock->grants[0].fence}}});
        failed += released && released->refused.empty() ? 0 : 1;
      }
    }));
  }
  std::atomic<bool> over{false};
  Task flusher = runtime_.spawn("flusher", [&](const std::stop_token&) {
    redis::test::Admin operator_of(runtime_);
    for (int i = 0; !over; ++i)
      operator_of(Command(i / 2 % 2 == 0 ? "FUNCTION" : "SCRIPT").arg("FLUSH").arg(i % 2 == 0 ? "SYNC" : "ASYNC"));
  });
  for (Task& task : tasks) task.join();
  over = true;
  flusher.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(done, kWorkers * kJobsOfEach);
  const std::vector<QueueRow> rows = must(store->queues("default"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].depth[static_cast<std::size_t>(JobState::done)], kWorkers * kJobsOfEach);
}

TEST_F(RedisDrills, J1_AServerThatFillsUpSaysFullLosesNothingAndTakesMoreAfterRoomWasMade) {
  const auto store = open();
  const Fence fence = granted(*store, "held", "a");
  added(*store);
  const Job job = must(claim(*store, "a")).jobs.at(0).job;
  const auto memory = [&] {
    return redis::ServerFacts(admin_(Command("INFO").arg("memory")).text).number("used_memory");
  };
  const std::int64_t used = memory();
  admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(used + (std::int64_t{4} << 20)));

  // Up to the brim, by large payloads.
  std::vector<JobId> taken;
  std::optional<Code> refused;
  for (int i = 0; i < 1000 && !refused; ++i) {
    const NewJob large = new_job("\"" + std::string(32 << 10, 'x') + "\"");
    const Result<EnqueueReply> answer = store->enqueue({.ns = "default", .jobs = {large}});
    if (answer) taken.push_back(large.id);
    else refused = answer.error().code;
  }
  EXPECT_EQ(refused, Code::full);
  EXPECT_GT(taken.size(), 10u);

  // Nothing is begun, however small, and what is under way goes on and ends.
  const auto allow = [&](std::int64_t bytes) { admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(bytes)); };
  allow(1);
  EXPECT_EQ(code_of(acquire(*store, "new", "b")), Code::full);
  EXPECT_EQ(must(store->lock("default", "new")), std::nullopt);
  EXPECT_EQ(code_of(claim(*store, "b")), Code::full);
  const auto depth = [&](JobState state) {
    return must(store->queues("default")).at(0).depth[static_cast<std::size_t>(state)];
  };
  EXPECT_EQ(depth(JobState::ready), static_cast<std::int64_t>(taken.size()))
      << "neither the refused job nor the refused claim left a trace";
  EXPECT_EQ(depth(JobState::running), 1);
  EXPECT_TRUE(renewed(*store, "held", "a", fence));
  EXPECT_TRUE(
      must(store->extend({.ns = "default", .owner = "a", .jobs = {{job.id, job.fence}}, .ttl = kTtl})).refused.empty());
  EXPECT_TRUE(must(settle(*store, "a", job)).refused.empty());
  EXPECT_TRUE(must(store->release({.ns = "default", .locks = {{"held", "a", fence}}})).refused.empty());
  for (const JobId& id : taken) EXPECT_TRUE(must(store->job("default", id)).has_value());

  // An operator makes room, on the server or in the store.
  allow(used + (std::int64_t{8} << 20));
  EXPECT_GT(granted(*store, "held", "b"), fence);
  EXPECT_EQ(must(claim(*store, "b")).jobs.size(), 1u);
  allow(memory() - (std::int64_t{1} << 20));
  EXPECT_EQ(code_of(acquire(*store, "new", "b")), Code::full);
  must(store->remove_namespace("default", {"ann", "it is full"}));
  EXPECT_TRUE(until([&] { return acquire(*store, "new", "b").has_value(); }))
      << "memory is given back in the background";
}

// The address stays and another server stands there, as behind a name or a virtual address that is moved.
class RedisFailover : public RedisDrills {
 protected:
  RedisFailover() { point_at(folder() + "/redis.sock"); }
  ~RedisFailover() override {
    admin_(Command("REPLICAOF").arg("NO").arg("ONE"));
    std::filesystem::remove(at_);
  }
  void point_at(const std::string& socket) {
    std::filesystem::remove(at_);
    std::filesystem::create_symlink(socket, at_);
  }
  std::string moving_url() const { return "unix:" + at_ + "?password_file=" + folder() + "/password"; }
  // What the first server was told has arrived.
  void wait_for(OtherServer& replica) {
    ASSERT_TRUE(until([&] { return replica.says("master_link_status:up"); }));
    const auto offset = [](const std::string& text) { return redis::ServerFacts(text).number("master_repl_offset"); };
    const auto info = [](auto& server) { return server(Command("INFO").arg("replication")).text; };
    const std::int64_t wanted = offset(info(admin_));
    ASSERT_TRUE(until([&] { return offset(info(replica)) >= wanted; }));
  }
  // It is a replica still, and hears nothing any more.
  void cut_off(OtherServer& replica) {
    replica(Command("CONFIG").arg("SET").arg("masterauth").arg("another"));
    admin_(Command("CLIENT").arg("KILL").arg("TYPE").arg("replica"));
    ASSERT_TRUE(until([&] { return replica.says("master_link_status:down"); }));
  }
  const std::string at_ = folder() + "/moving.sock";
};

TEST_F(RedisFailover, L2_J1_AReplicaThatLaggedTakesOverWithoutTheTailAndFencesGrow) {
  OtherServer replica(runtime_, "lagging", true);
  ASSERT_TRUE(until([&] { return replica.says("master_link_status:up"); }));
  const auto store = open(moving_url());
  const auto stayed = open();  // somebody who names the first server itself

  // Older than the tail.
  const Fence old_lock = granted(*store, "old", "a");
  const JobId old_waiting_one = added(*store);
  const Job old_running = must(claim(*store, "a")).jobs.at(0).job;
  EXPECT_EQ(old_running.id, old_waiting_one);
  const JobId waiting = added(*store);
  wait_for(replica);
  cut_off(replica);

  // The tail: acknowledged by the first server alone.
  const Fence tail_lock = granted(*store, "tail", "a");
  const Job tail_running = must(claim(*store, "a")).jobs.at(0).job;
  EXPECT_EQ(tail_running.id, waiting);
  const JobId tail_job = added(*store);
  EXPECT_TRUE(must(settle(*store, "a", old_running)).refused.empty());

  // The failover: the first one is no primary any more, and its replica is.
  replica(Command("REPLICAOF").arg("NO").arg("ONE"));
  admin_(Command("REPLICAOF").arg("127.0.0.1").arg(1));
  point_at(replica.socket());

  // Who goes on with the old one waits for a primary there, and changes nothing; who comes now is refused.
  // A last try that was sent, and not answered by the deadline, is in doubt.
  const auto waits = [](std::optional<Code> code) { return code == Code::unavailable || code == Code::in_doubt; };
  EXPECT_PRED1(
      waits,
      code_of(stayed->acquire(
          {.ns = "default", .names = {"anything"}, .owner = "c", .request = "c", .ttl = 30s, .timeout = 500ms})));
  EXPECT_PRED1(waits, code_of(stayed->enqueue({.ns = "default", .jobs = {new_job()}, .timeout = 500ms})));
  EXPECT_EQ(code_of(RedisStore::open(runtime_, Log(null_log_sink()), {.url = redis::test::admin_url()})),
            Code::refused);

  admin_.kill_others();

  // What is older than the tail is as it was: the lock is held and renewed, the jobs are there.
  ASSERT_TRUE(until([&] { return store->lock("default", "old").has_value(); }));
  EXPECT_TRUE(must(acquire(*store, "old", "b")).grants.empty());
  EXPECT_TRUE(renewed(*store, "old", "a", old_lock));
  EXPECT_EQ(must(store->job("default", old_running.id))->state, JobState::running);
  EXPECT_TRUE(must(settle(*store, "a", old_running)).refused.empty())
      << "its outcome was of the tail: told again, it counts";
  EXPECT_EQ(must(store->job("default", waiting))->state, JobState::ready);

  // The tail never happened, and whoever relies on it is refused under its fence; what is granted now has a larger one.
  EXPECT_EQ(must(store->job("default", tail_job)), std::nullopt);
  EXPECT_FALSE(renewed(*store, "tail", "a", tail_lock));
  EXPECT_GT(granted(*store, "tail", "b"), tail_lock);
  EXPECT_FALSE(renewed(*store, "tail", "a", tail_lock));
  EXPECT_EQ(must(store->extend({.ns = "default", .owner = "a", .jobs = {{waiting, tail_running.fence}}, .ttl = kTtl}))
                .refused.size(),
            1u);
  const Job again = must(claim(*store, "b")).jobs.at(0).job;
  EXPECT_EQ(again.id, waiting);
  EXPECT_GT(again.fence, tail_running.fence);
  EXPECT_EQ(must(settle(*store, "a", tail_running)).refused.size(), 1u);
  EXPECT_TRUE(must(settle(*store, "b", again)).refused.empty());
}

}  // namespace
}  // namespace fenceline::test
