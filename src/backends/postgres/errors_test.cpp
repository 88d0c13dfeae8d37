#include "backends/postgres/errors.hpp"

#include <gtest/gtest.h>

#include "backends/postgres/claim_cursors.hpp"
#include "backends/postgres/listener.hpp"
#include "support/results.hpp"

namespace fenceline::postgres {
namespace {

constexpr std::string_view kUrl = "postgres://ann@h:5432/app?schema=work";

Code code_of_state(const std::string& state) { return error_of({state, "words", ""}, kUrl).code; }

TEST(PostgresErrors, OurOwnStatesKeepTheirWords) {
  EXPECT_EQ(error_of({"FL001", "the key is taken", ""}, kUrl), (Error{Code::conflict, "the key is taken"}));
  EXPECT_EQ(code_of_state("FL002"), Code::refused);
  EXPECT_EQ(code_of_state("FL003"), Code::not_found);
}

TEST(PostgresErrors, WhatWasRolledBackBecauseOfOthersPasses) {
  for (const char* state : {"40P01", "40001", "55P03", "57014"}) {
    EXPECT_TRUE(passes_by_itself(state)) << state;
    EXPECT_FALSE(ends_the_connection(state)) << state;
    EXPECT_EQ(code_of_state(state), Code::unavailable) << state;
  }
}

TEST(PostgresErrors, AServerThatGoesAwayLeavesItOpenWhatHappened) {
  for (const char* state : {"57P01", "57P02", "57P03", "08006", ""}) EXPECT_TRUE(ends_the_connection(state)) << state;
  EXPECT_EQ(without_answer(CallKind::change, kUrl).code, Code::in_doubt);
  EXPECT_EQ(without_answer(CallKind::look, kUrl).code, Code::unavailable);
}

TEST(PostgresErrors, EachStateHasItsCode) {
  EXPECT_EQ(error_of({"23514", "words", "fences_left"}, kUrl),
            (Error{Code::refused, "no fences are left: the largest is 2^53-1"}));
  EXPECT_EQ(code_of_state("53100"), Code::full);
  EXPECT_EQ(code_of_state("53300"), Code::unavailable);
  EXPECT_EQ(code_of_state("28P01"), Code::denied);
  EXPECT_EQ(code_of_state("FLTLS"), Code::denied);
  EXPECT_EQ(code_of_state("42501"), Code::denied);
  EXPECT_EQ(code_of_state("25006"), Code::refused);
  EXPECT_EQ(code_of_state("22021"), Code::invalid);
  EXPECT_EQ(code_of_state("22P05"), Code::invalid);
  EXPECT_EQ(code_of_state("3D000"), Code::not_found);
  EXPECT_EQ(code_of_state("XX001"), Code::broken);
  for (const char* state : {"3F000", "42P01", "42703", "42883"}) {
    EXPECT_EQ(code_of_state(state), Code::not_found);
    EXPECT_NE(error_of({state, "", ""}, kUrl).message.find("fenceline migrate"), std::string::npos);
  }
}

TEST(PostgresErrors, AMessageIsOneLine) { EXPECT_EQ(one_line("a\nb\t\tc\n"), "a b c"); }

TEST(PostgresListener, ANoticeConcernsItsQueueAndStageOrOrders) {
  const WatchRequest request{.ns = "default", .queues = {"mail", "sms"}, .stage = "", .orders = true};
  EXPECT_TRUE(concerns("work default mail ", "work", request));
  EXPECT_TRUE(concerns("work default", "work", request));
  EXPECT_FALSE(concerns("work default mail late", "work", request));
  EXPECT_FALSE(concerns("work default fax ", "work", request));
  EXPECT_FALSE(concerns("work other mail ", "work", request));
  EXPECT_FALSE(concerns("play default mail ", "work", request));
  EXPECT_FALSE(concerns("work default", "work", {.ns = "default", .queues = {"mail"}, .stage = ""}));
  EXPECT_FALSE(concerns("", "work", request));
}

class PostgresCursors : public testing::Test {
 protected:
  const ClaimRequest request_{.ns = "n", .queues = {"a", "b"}, .stage = "", .owner = "o", .request = "r", .limit = 2};
  const Instant now_ = Instant{} + std::chrono::hours{1};
  const Duration moment_ = std::chrono::milliseconds{1};
  ClaimCursors cursors_;
};

TEST_F(PostgresCursors, ThereAreNoneUntilEveryQueueHasGrantedSomething) {
  EXPECT_TRUE(cursors_.for_claim(request_, now_).empty());
  cursors_.learn(request_, true, false, {{1, 0, 10, 1}}, now_, now_ + moment_);
  EXPECT_TRUE(cursors_.for_claim(request_, now_ + moment_).empty());
}

TEST_F(PostgresCursors, TheyAreTheLargestOfEachRankAndGoOn) {
  cursors_.learn(request_, true, false, {{1, 0, 10, 1}, {1, 0, 10, 3}, {2, 0, 5, 2}, {2, -1, 7, 4}}, now_,
                 now_ + moment_);
  cursors_.learn(request_, false, false, {{1, 0, 9, 9}, {1, 0, 11, 2}}, now_ + moment_, now_ + 2 * moment_);
  EXPECT_EQ(cursors_.for_claim(request_, now_ + 3 * moment_),
            (std::vector<ClaimCursor>{{1, 0, 11, 2}, {2, -1, 7, 4}, {2, 0, 5, 2}}));
}

TEST_F(PostgresCursors, ALookFromTheBeginningMayTakeThemBack) {
  cursors_.learn(request_, true, false, {{1, 0, 10, 1}, {2, 0, 5, 2}}, now_, now_ + moment_);
  cursors_.learn(request_, true, false, {{1, 0, 3, 7}}, now_ + moment_, now_ + 2 * moment_);
  EXPECT_EQ(cursors_.for_claim(request_, now_ + 3 * moment_), (std::vector<ClaimCursor>{{1, 0, 3, 7}, {2, 0, 5, 2}}));
}

TEST_F(PostgresCursors, ALookFromTheBeginningIsDueEverySecondButNotForMoreThanATwentiethOfTheTimeUpToTenSeconds) {
  cursors_.learn(request_, true, false, {{1, 0, 10, 1}, {2, 0, 5, 2}}, now_, now_ + moment_);
  EXPECT_FALSE(cursors_.for_claim(request_, now_ + std::chrono::milliseconds{900}).empty());
  EXPECT_TRUE(cursors_.for_claim(request_, now_ + std::chrono::milliseconds{1100}).empty());
  cursors_.learn(request_, true, false, {}, now_, now_ + std::chrono::seconds{1});
  EXPECT_FALSE(cursors_.for_claim(request_, now_ + std::chrono::seconds{10}).empty());
  EXPECT_TRUE(cursors_.for_claim(request_, now_ + std::chrono::seconds{12}).empty());
}

TEST_F(PostgresCursors, AfterAClaimThatCameShortTheNextOneLooksSoon) {
  cursors_.learn(request_, true, false, {{1, 0, 10, 1}, {2, 0, 5, 2}}, now_, now_ + moment_);
  cursors_.learn(request_, false, true, {}, now_ + moment_, now_ + 2 * moment_);
  EXPECT_FALSE(cursors_.for_claim(request_, now_ + 10 * moment_).empty());
  EXPECT_TRUE(cursors_.for_claim(request_, now_ + 30 * moment_).empty());
}

}  // namespace
}  // namespace fenceline::postgres
