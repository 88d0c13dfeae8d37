#include "fenceline/election.hpp"

#include <gtest/gtest.h>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct ElectionTest : LocksInVirtualTime {
  const ElectionOptions options{.name = "leader"};
  struct Served {
    std::string who;
    Fence term;
    Instant from;
    Instant to;
  };
  std::vector<Served> served;

  void candidate(Process& process, Duration comes_after) {
    start(process, [this, &process, comes_after](LockClient& locks, std::stop_token stop) {
      sleep(process, comes_after);
      Election election(locks, options);
      EXPECT_TRUE(election.run(
          [&](const Term& term) {
            const Instant from = now();
            process.runtime.sleep_for(1h, term.stop);
            served.push_back({process.place, term.number, from, now()});
          },
          stop));
    });
  }
};

TEST_F(ElectionTest, TheNextOneLeadsAtOnceWhenTheLeaderStopsAndUnderALargerTerm) {
  candidate(a, 0s);
  candidate(b, 1s);
  simulation.at(at(10s), [&] { a.runtime.terminate(); });
  simulation.at(at(20s), [&] { b.runtime.terminate(); });
  run(1min);
  ASSERT_EQ(served.size(), 2u);
  EXPECT_EQ(served[0].who, "a");
  EXPECT_EQ(served[0].to, at(10s));
  EXPECT_EQ(served[1].who, "b");
  EXPECT_LE(served[1].from, at(10s + 10ms));
  EXPECT_GT(served[1].term, served[0].term);
}

TEST_F(ElectionTest, OneThatDiesIsFollowedWhenItsLeaseHasEnded) {
  candidate(a, 0s);
  candidate(b, 1s);
  simulation.at(at(4s), [&] { a.runtime.kill(); });
  simulation.at(at(30s), [&] { b.runtime.terminate(); });
  run(1min);
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].from, at(15s));
}

TEST_F(ElectionTest, OneThatIsPausedFindsItsTermOver) {
  candidate(a, 0s);
  candidate(b, 1s);
  simulation.at(at(4s), [&] { a.runtime.pause(); });
  simulation.at(at(40s), [&] { a.runtime.resume(); });
  simulation.at(at(50s), [&] { b.runtime.terminate(); });
  simulation.at(at(60s), [&] { a.runtime.terminate(); });
  run(2min);
  ASSERT_EQ(served.size(), 3u);
  EXPECT_EQ(served[0].who, "a");
  EXPECT_EQ(served[0].to, at(40s)) << "it is told as soon as it runs again";
  EXPECT_EQ(served[1].who, "b");
  EXPECT_EQ(served[1].from, at(15s));
  EXPECT_EQ(served[2].who, "a");
  EXPECT_LT(served[0].term, served[1].term);
  EXPECT_LT(served[1].term, served[2].term);
}

TEST_F(ElectionTest, WhoStepsDownLetsTheOthersLeadFirst) {
  start(a, [&](LockClient& locks) {
    Election election(locks, options);
    simulation.after(5s, [&] { election.step_down(); });
    EXPECT_EQ(must(election.serve([&](const Term& term) { EXPECT_FALSE(a.runtime.sleep_for(1h, term.stop)); }, {})),
              TermEnd::stepped_down);
    EXPECT_EQ(now(), at(5s));
    election.step_down();  // nobody serves: nothing
    EXPECT_EQ(must(election.serve([&](const Term&) { EXPECT_GE(now(), at(30s)); }, {})), TermEnd::stepped_down);
  });
  candidate(b, 1s);
  simulation.at(at(30s), [&] { b.runtime.terminate(); });
  run(2min);
}

TEST_F(ElectionTest, AnybodyCanAskWhoLeads) {
  candidate(a, 0s);
  start(b, [&](LockClient& locks) {
    EXPECT_FALSE(must(Election::leader(locks, "nobody")));
    sleep(b, 5s);
    const std::optional<Leader> leader = must(Election::leader(locks, "leader"));
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->place, "a");
    EXPECT_EQ(leader->term, row("leader")->fence);
    sleep(b, 10s);
    EXPECT_FALSE(must(Election::leader(locks, "leader")));
  });
  simulation.at(at(10s), [&] { a.runtime.terminate(); });
  run(1min);
}

TEST_F(ElectionTest, AStoreThatIsAwayIsWaitedFor) {
  a.road.fate = [&](const std::string&, int) { return now() < at(1min) ? Fate::refused : Fate::fine; };
  candidate(a, 0s);
  simulation.at(at(2min), [&] { a.runtime.terminate(); });
  run(3min);
  ASSERT_EQ(served.size(), 1u);
  EXPECT_LE(served[0].from, at(1min + 3s));
}

TEST_F(ElectionTest, ACampaignCanBeCancelled) {
  candidate(a, 0s);
  candidate(b, 1s);
  simulation.at(at(5s), [&] { b.runtime.terminate(); });
  run(6s);
  EXPECT_FALSE(b.runtime.alive());
  EXPECT_EQ(waiters("leader"), 0);
  a.runtime.terminate();
  run(1min);
}

}  // namespace
}  // namespace fenceline::test
