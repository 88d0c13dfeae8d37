#include "services/backoff.hpp"

#include <gtest/gtest.h>

#include "model/trust.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesUpToItsMost) {
  EXPECT_EQ(backoff(0, 10s, 0), 25ms);
  EXPECT_EQ(backoff(1, 10s, 0), 50ms);
  EXPECT_EQ(backoff(3, 10s, 0), 200ms);
  EXPECT_EQ(backoff(1000, 10s, 0), 5s);
}

TEST(Backoff, StaysInItsUpperHalfWhateverChanceSays) {
  for (std::uint64_t random = 0; random < 10'000; random += 7) {
    const Duration pause = backoff(4, 10s, random * 1'000'003);
    EXPECT_GE(pause, 400ms);
    EXPECT_LE(pause, 800ms);
  }
  EXPECT_LE(backoff(4, 10s, ~std::uint64_t{0}), 800ms);
}

TEST(LeaseTimes, L5_TheLastRenewalHasFailedWhenTheWorkIsToldToStop) {
  for (const Duration ttl : {Duration{1s}, Duration{30s}, Duration{60s}, Duration{24h}}) {
    const LeaseTimes times = LeaseTimes::of(ttl);
    const Instant asked{1h};
    const Instant trusted = trusted_until(asked, asked, {.left = ttl, .waited = Duration{0}}, times);
    Duration last{0};
    for (int n = 0; n < kRenewalTries; ++n) {
      ASSERT_TRUE(renewal_try(n, times));
      EXPECT_GT(*renewal_try(n, times), last);
      last = *renewal_try(n, times);
    }
    EXPECT_FALSE(renewal_try(kRenewalTries, times));
    EXPECT_LE(asked + last + times.call_timeout, stop_work_at(trusted, times));
    EXPECT_LT(trusted, asked + ttl);
  }
}

}  // namespace
}  // namespace fenceline
