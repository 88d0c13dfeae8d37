// The promises of effects: a history that breaks each, and one that is close and lawful.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

// The effect `pay` of job j.
class Effects : public HistoryText {
 public:
  Effects() {
    enqueue(0, 1, {.id = "j"});
    claim(10, 12, "a", {.id = "j", .fence = 5});
  }

  Effects& begin(std::int64_t at, std::int64_t fence, const std::string& call, const std::string& verdict,
                 const std::string& policy = "hold", const std::string& digest = "ten", const std::string& reason = "",
                 std::int64_t current = 0) {
    Event reply{.verdict = verdict, .result = verdict == "done" ? "paid" : ""};
    if (!reason.empty()) reply.refused = {{.id = "j", .fence = fence, .reason = reason, .current = current}};
    this->call(at, at + 1,
               {.verb = Verb::begin_effect,
                .request = call,
                .name = "pay",
                .digest = digest,
                .policy = policy,
                .jobs = {{.id = "j", .fence = fence}}},
               std::move(reply));
    return *this;
  }
  Effects& begin_unknown(std::int64_t at, std::int64_t fence, const std::string& call,
                         const std::string& policy = "hold") {
    this->call(at, at + 1,
               {.verb = Verb::begin_effect,
                .request = call,
                .name = "pay",
                .digest = "ten",
                .policy = policy,
                .jobs = {{.id = "j", .fence = fence}}},
               {.kind = Kind::unknown});
    return *this;
  }
  Effects& finish(std::int64_t at, std::int64_t fence, const std::string& call, const std::string& end = "done",
                  const std::string& reason = "", const std::string& result = "paid") {
    Event reply;
    if (!reason.empty()) reply.refused = {{.id = "j", .fence = fence, .reason = reason, .current = fence}};
    this->call(at, at + 1,
               {.verb = Verb::finish_effect,
                .request = call,
                .name = "pay",
                .end = end,
                .jobs = {{.id = "j", .fence = fence}},
                .result = end == "done" ? result : ""},
               std::move(reply));
    return *this;
  }
  Effects& resolve(std::int64_t at, const std::string& end) {
    call(at, at + 1,
         {.verb = Verb::resolve_effect,
          .owner = "op",
          .name = "pay",
          .end = end,
          .jobs = {{.id = "j"}},
          .result = end == "done" ? "paid" : ""});
    return *this;
  }
  Effects& stopped(std::int64_t at, const std::string& owner, std::int64_t fence) {
    call(at, at + 1, {.verb = Verb::stopped, .owner = owner, .jobs = {{.id = "j", .fence = fence}}});
    return *this;
  }
  Effects& taken_over(std::int64_t at, std::int64_t fence) {
    claim(at, at + 1, "b", {.id = "j", .fence = fence, .deliveries = 2, .losses_in_row = 1, .forced = true});
    return *this;
  }
};

TEST(EffectPromises, E1_AnEffectThatIsBegunTwiceIsFound) {
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "act").broken(), "E1");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").begin(30, 5, "c2", "act").broken(), "E1");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").begin(30, 5, "c1", "act").broken(), "");  // the same again
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").finish(25, 5, "c1", "none").begin(30, 5, "c2", "act").broken(), "");
  EXPECT_EQ(Effects().begin_unknown(20, 5, "c1").taken_over(10'020, 6).begin(10'030, 6, "c2", "act").broken(),
            "");  // it may never have arrived
}

TEST(EffectPromises, E1_WhatIsDoneIsNotBegunAgain) {
  Effects done;
  done.begin(20, 5, "c1", "act").finish(30, 5, "c1");
  EXPECT_EQ(Effects(done).begin(40, 5, "c2", "busy").broken(), "E1");
  EXPECT_EQ(Effects(done).taken_over(10'020, 6).begin(10'030, 6, "c2", "again", "repeat").broken(), "E1");
  EXPECT_EQ(Effects(done).finish(40, 5, "c1", "none").broken(), "E1");
  EXPECT_EQ(Effects(done).taken_over(10'020, 6).begin(10'030, 6, "c2", "done").broken(), "");
  EXPECT_EQ(Effects(done).finish(40, 5, "c1").broken(), "");
}

TEST(EffectPromises, E1_WhatIsReplayedIsWhatWasDone) {
  Effects done;
  done.begin(20, 5, "c1", "act").finish(30, 5, "c1", "done", "", "another");
  EXPECT_EQ(Effects(done).begin(40, 5, "c2", "done").broken(), "E1");
  done = Effects();
  done.begin(20, 5, "c1", "act").finish(30, 5, "c1");
  EXPECT_EQ(Effects(done).begin(40, 5, "c2", "done", "hold", "twenty").broken(), "E1");
  EXPECT_EQ(Effects(done).begin(40, 5, "c2", "done").broken(), "");
}

TEST(EffectPromises, E2_BegunOnlyUnderTheNewestFenceAndALiveLease) {
  EXPECT_EQ(Effects().taken_over(10'020, 6).begin(10'030, 5, "c1", "act").broken(), "J3");
  EXPECT_EQ(Effects().begin(10'030, 5, "c1", "act").broken(), "E2");
  EXPECT_EQ(Effects().begin(9'000, 5, "c1", "act").broken(), "");
  EXPECT_EQ(Effects().begin(10'030, 5, "c1", "lost", "hold", "ten", "expired", 5).broken(), "");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "lost", "hold", "ten", "expired", 5).broken(), "E2");
}

TEST(EffectPromises, E2_WhatNobodyBeganIsNotInDoubt) {
  for (const char* verdict : {"again", "probe", "held", "busy"}) {
    const std::string policy = std::string(verdict) == "again"   ? "repeat"
                               : std::string(verdict) == "probe" ? "probe"
                                                                 : "hold";
    EXPECT_NE(Effects().begin(20, 5, "c1", verdict, policy).broken(), "") << verdict;
    EXPECT_EQ(
        Effects().begin(20, 5, "c1", "act").finish(22, 5, "c1", "none").begin(30, 5, "c2", verdict, policy).broken(),
        "E2")
        << verdict;
  }
  EXPECT_EQ(
      Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "again", "repeat").broken(), "");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "probe", "probe").broken(),
            "");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").begin(30, 5, "c2", "busy").broken(), "");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "busy").broken(), "E2");
}

TEST(EffectPromises, E2_NoOtherPolicyThanTheOneDeclared) {
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "again", "hold").broken(),
            "E2");
}

TEST(EffectPromises, E2_AHeldEffectLeavesItsJobWaitingUntilSomebodyKnows) {
  Effects held;
  held.begin(20, 5, "c1", "act").taken_over(10'020, 6).begin(10'030, 6, "c2", "held");
  const auto next = [](std::int64_t fence) { return history::JobPart{.id = "j", .fence = fence, .deliveries = 3}; };
  EXPECT_EQ(Effects(held).claim(10'050, 10'051, "c", next(7)).broken(), "E2");
  EXPECT_EQ(Effects(held).settle(10'050, 10'051, "b", "j", 6).broken(), "J3");
  EXPECT_EQ(Effects(held).act(10'050, 10'051, Verb::retry, "j", "x").broken(), "E2");
  EXPECT_EQ(Effects(held).mark(20'000, Kind::rest).broken(), "J8");
  EXPECT_EQ(Effects(held).refused(10'050, 10'051, Verb::settle, "b", "j", 6, "settled", 6).broken(), "");
  EXPECT_EQ(Effects(held).act(10'050, 10'051, Verb::retry, "j", "x", "effect_in_doubt").broken(), "");
  EXPECT_EQ(Effects(held).begin(10'035, 6, "c2", "held").broken(), "");
  EXPECT_EQ(Effects(held).resolve(10'040, "none").stopped(10'042, "b", 6).claim(10'050, 10'051, "c", next(7)).broken(),
            "");
  EXPECT_EQ(Effects(held)
                .stopped(10'038, "b", 6)
                .resolve(10'040, "done")
                .begin(10'045, 6, "c2", "lost", "hold", "ten", "settled", 6)
                .claim(10'050, 10'051, "c", next(7))
                .broken(),
            "");
  EXPECT_EQ(Effects()
                .begin(20, 5, "c1", "act", "probe")
                .finish(30, 5, "c1", "held")
                .begin(40, 5, "c2", "held", "probe")
                .broken(),
            "");
  Effects by_finish;
  by_finish.begin(20, 5, "c1", "act").finish(30, 5, "c1", "held");
  EXPECT_EQ(Effects(by_finish).extend(40, 41, "a", "j", 5).broken(), "L4");
  EXPECT_EQ(Effects(by_finish)
                .finish(40, 5, "c1")
                .stopped(45, "a", 5)
                .claim(50, 51, "c", {.id = "j", .fence = 7, .deliveries = 2})
                .broken(),
            "");
}

TEST(EffectPromises, J7_AHeldDeliveryKeepsItsSlotUntilItsWorkerStoppedOrItsLeaseWouldHaveEnded) {
  Effects released;
  released.begin(20, 5, "c1", "act").finish(30, 5, "c1", "held").finish(40, 5, "c1");
  const history::JobPart next{.id = "j", .fence = 7, .deliveries = 2};
  EXPECT_EQ(Effects(released).claim(50, 51, "c", next).broken(), "J7");
  EXPECT_EQ(Effects(released).stopped(45, "a", 4).claim(50, 51, "c", next).broken(), "J7");
  EXPECT_EQ(Effects(released).stopped(45, "a", 5).claim(50, 51, "c", next).broken(), "");
  EXPECT_EQ(Effects(released).claim(10'050, 10'051, "c", next).broken(), "");
}

TEST(EffectPromises, J3_AfterACancelOfAWaitingJobItsOldFenceIsNotTheNewest) {
  Effects cancelled;
  cancelled.begin(20, 5, "c1", "act").finish(30, 5, "c1", "held").act(40, 41, Verb::cancel, "j", "x");
  EXPECT_EQ(Effects(cancelled).finish(50, 5, "c1").broken(), "J3");
  EXPECT_EQ(Effects(cancelled).refused(50, 51, Verb::settle, "a", "j", 5, "superseded", 6).broken(), "");
}

TEST(EffectPromises, E2_TheCallItselfMayKnowBetterThanAnOperator) {
  Effects guessed;
  guessed.begin(20, 5, "c1", "act").finish(30, 5, "c1", "held").resolve(10'030, "none");
  EXPECT_EQ(Effects(guessed).finish(10'040, 5, "c1").broken(), "");
  EXPECT_EQ(Effects(guessed).finish(10'040, 5, "c1").resolve(10'050, "none").broken(), "E1");
}

TEST(EffectPromises, E2_EndedOnlyByTheCallThatBegan) {
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").finish(30, 5, "c2").broken(), "E2");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").finish(30, 5, "c1", "done", "other_call").broken(), "E2");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").taken_over(10'020, 6).finish(10'030, 5, "c1").broken(), "J3");
  EXPECT_EQ(Effects().begin(20, 5, "c1", "act").finish(10'030, 5, "c1").broken(),
            "");  // its lease is over, nobody took over
  EXPECT_EQ(
      Effects().begin(20, 5, "c1", "act").begin(30, 5, "c2", "busy").finish(40, 5, "c2", "done", "other_call").broken(),
      "");
}

TEST(EffectPromises, L2_AGrantBelowTheFloorIsFound) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"})
      .call(5, 6, {.verb = Verb::raise_floor, .owner = "op", .floor = 100}, {.floor = 100});
  EXPECT_EQ(HistoryText(history).claim(10, 11, "a", {.id = "j", .fence = 100}).broken(), "L2");
  EXPECT_EQ(HistoryText(history).claim(10, 11, "a", {.id = "j", .fence = 101}).broken(), "");
}

}  // namespace
}  // namespace fenceline::audit
