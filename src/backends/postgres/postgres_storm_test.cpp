// Many at once on a real server: what one call promises must hold when others run between its statements.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "backends/postgres/testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr int kLimit = 5;
constexpr int kPerKey = 2;
constexpr int kJobs = 300;

class PostgresStorm : public testing::Test {
 protected:
  PostgresStorm() {
    for (int i = 0; i < 2; ++i)
      stores_.push_back(must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url()})));
  }
  Store& store(int i) { return *stores_[static_cast<std::size_t>(i) % stores_.size()]; }
  NewJob job(int i) {
    NewJob job{.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q"};
    if (i % 3 == 0) job.group = "g" + std::to_string(i % 4);
    if (i % 3 == 1) job.limit_key = "k" + std::to_string(i % 4);
    if (i % 5 == 0) job.key = "u" + std::to_string(i);
    job.priority = i % 2;
    job.backoff = {.first = 0s, .most = 0s};
    return job;
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"storm"};
  std::vector<std::unique_ptr<PostgresStore>> stores_;
};

// What threads hold at this moment by their own knowledge: never more than the store may have granted.
class Held {
 public:
  void add(const Job& job) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(ids_.insert(job.id).second) << "a job was granted twice";
    EXPECT_LE(ids_.size(), static_cast<std::size_t>(kLimit)) << "the queue's limit";
    if (!job.group.empty()) {
      EXPECT_LE(++groups_[job.group], 1) << "group " << job.group;
    }
    if (!job.limit_key.empty()) {
      EXPECT_LE(++keys_[job.limit_key], kPerKey) << "limit key " << job.limit_key;
    }
  }
  void remove(const Job& job) {
    const std::lock_guard lock(mutex_);
    ids_.erase(job.id);
    if (!job.group.empty()) --groups_[job.group];
    if (!job.limit_key.empty()) --keys_[job.limit_key];
  }

 private:
  std::mutex mutex_;
  std::set<JobId> ids_;
  std::map<std::string, int> groups_;
  std::map<std::string, int> keys_;
};

TEST_F(PostgresStorm, J7_LimitsAndGroupsHoldAmongManyAndEveryJobIsDoneOnce) {
  must(store(0).set_queue(
      {.ns = "n", .queue = "q", .change = {.limit = kLimit, .limit_per_key = kPerKey}, .act = {"ann", ""}}));
  Held held;
  std::mutex mutex;
  std::map<JobId, int> done;
  std::atomic<int> enqueued{0};
  std::atomic<bool> all_in{false};
  {
    std::vector<std::jthread> workers;
    for (int w = 0; w < 6; ++w) {
      workers.emplace_back([&, w] {
        const std::string owner = "w" + std::to_string(w);
        const Instant end = runtime_.now() + 60s;
        for (int n = 0; runtime_.now() < end; ++n) {
          const ClaimReply reply = must(store(w).claim({.ns = "n",
                                                        .queues = {"q"},
                                                        .stage = "",
                                                        .owner = owner,
                                                        .request = std::to_string(n),
                                                        .limit = 1 + n % 3,
                                                        .ttl = 60s,
                                                        .holds_others = n % 2 == 1}));
          SettleRequest settle{.ns = "n", .owner = owner};
          ExtendRequest extend{.ns = "n", .owner = owner, .ttl = 60s};
          for (const ClaimedJob& claimed : reply.jobs) {
            held.add(claimed.job);
            extend.jobs.push_back({claimed.job.id, claimed.job.fence});
          }
          if (!extend.jobs.empty()) {
            EXPECT_TRUE(must(store(w).extend(extend)).refused.empty());
          }
          for (const ClaimedJob& claimed : reply.jobs) {
            const bool fails = claimed.job.failures == 0 && runtime_.random() % 3 == 0;
            Outcome outcome{.kind = fails ? OutcomeKind::failed : OutcomeKind::done};
            if (!fails) {
              const std::lock_guard lock(mutex);
              ++done[claimed.job.id];
            }
            settle.settlements.push_back({claimed.job.id, claimed.job.fence, outcome});
            held.remove(claimed.job);
          }
          if (!settle.settlements.empty()) {
            EXPECT_TRUE(must(store(w).settle(settle)).refused.empty());
          }
          if (!reply.jobs.empty()) continue;
          const std::lock_guard lock(mutex);
          if (all_in && done.size() == static_cast<std::size_t>(kJobs)) return;
        }
      });
    }
    std::vector<std::jthread> producers;
    for (int p = 0; p < 2; ++p) {
      producers.emplace_back([&, p] {
        for (int i = p * kJobs / 2; i < (p + 1) * kJobs / 2; i += 5) {
          EnqueueRequest request{.ns = "n", .jobs = {}};
          for (int n = i; n < i + 5; ++n) request.jobs.push_back(job(n));
          must(store(p).enqueue(request));
          if ((enqueued += 5) == kJobs) all_in = true;
        }
      });
    }
    // An operator who looks, pauses and resumes, and changes what changes nothing.
    workers.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        must(store(n).pause({.ns = "n", .queue = "q", .paused = n % 2 == 0, .act = {"ann", ""}}));
        must(store(n).set_queue({.ns = "n", .queue = "q", .change = {.limit = kLimit}, .act = {"ann", ""}}));
        must(store(n).queues("n"));
        must(store(n).tidy({.ns = "n"}));
        runtime_.sleep_for(20ms, {});
      }
    });
  }
  EXPECT_EQ(done.size(), static_cast<std::size_t>(kJobs));
  for (const auto& [id, times] : done) EXPECT_EQ(times, 1);
  const std::vector<QueueRow> rows = must(store(0).queues("n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].depth, (std::array<std::int64_t, 6>{0, 0, 0, kJobs, 0, 0}));
}

}  // namespace
}  // namespace fenceline::test
