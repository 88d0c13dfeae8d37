#include "services/lock_options.hpp"

#include <gtest/gtest.h>

#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;

std::string complaint(const LockOptions& options) {
  const Result<void> ok = check_options(options);
  return ok ? "" : ok.error().message;
}

TEST(LockOptions, ThePresetsAreThoseOfTheContract) {
  const LockOptions job = lock_preset("job").value();
  EXPECT_EQ(job.ttl, 60s);
  EXPECT_EQ(times_of(job).renew_after, 20s);
  EXPECT_EQ(job.renewal_tries, 3);
  const LockOptions loop = lock_preset("loop").value();
  EXPECT_EQ(loop.pattern, LockPattern::loop);
  EXPECT_EQ(loop.every, 30s);
  EXPECT_EQ(loop.ttl, 2 * loop.every);
  const LockOptions run = lock_preset("run").value();
  EXPECT_EQ(run.ttl, 30s);
  EXPECT_EQ(times_of(run).renew_after, 10s);
  const LockOptions writer = lock_preset("writer").value();
  EXPECT_EQ(writer.ttl, 10s);
  EXPECT_EQ(writer.every, 5s);
  EXPECT_FALSE(lock_preset("other"));
  for (const char* name : {"job", "loop", "run", "writer"}) {
    LockOptions preset = lock_preset(name).value();
    preset.names = {"deploy"};
    EXPECT_EQ(complaint(preset), "") << name;
  }
}

TEST(LockOptions, EveryWordIsReadAsItIsWritten) {
  for (const LockPattern p : {LockPattern::item, LockPattern::loop, LockPattern::fenced, LockPattern::layered})
    EXPECT_EQ(parse_lock_pattern(to_string(p)), p);
  for (const Contention c : {Contention::skip, Contention::retry, Contention::in_turn})
    EXPECT_EQ(parse_contention(to_string(c)), c);
  for (const OnStoreError e : {OnStoreError::closed, OnStoreError::open})
    EXPECT_EQ(parse_on_store_error(to_string(e)), e);
  for (const OnReleaseError e : {OnReleaseError::report, OnReleaseError::ignore})
    EXPECT_EQ(parse_on_release_error(to_string(e)), e);
  EXPECT_FALSE(parse_contention("Skip"));
}

TEST(LockOptions, FailsClosedUnlessTold) {
  EXPECT_EQ(LockOptions{}.on_acquire_error, OnStoreError::closed);
  EXPECT_EQ(LockOptions{}.on_renewal_error, OnStoreError::closed);
}

TEST(LockOptions, WhatIsWrongGetsOneLine) {
  const std::vector<std::string> one{"deploy"};
  EXPECT_EQ(complaint({}), "no lock was named");
  EXPECT_EQ(complaint({.names = {"b", "a", "b"}}), "lock b was named twice");
  EXPECT_EQ(complaint({.names = std::vector<std::string>(17, "a")}), "too many locks at once: at most 16");
  for (const Duration ttl : {Duration{0}, Duration{-1s}, Duration{500ms}, Duration{400 * 24h}}) {
    EXPECT_NE(complaint({.names = one, .ttl = ttl}).find("is out of range; use 1s to "), std::string::npos)
        << complaint({.names = one, .ttl = ttl});
  }
  EXPECT_NE(complaint({.names = one, .wait = 25h}), "");
  EXPECT_NE(complaint({.names = one, .wait = -1s}), "");
  EXPECT_NE(complaint({.names = one, .slots = 0}), "");
  EXPECT_NE(complaint({.names = one, .slots = 1001}), "");
  EXPECT_NE(complaint({.names = {"a", "b"}, .slots = 2}), "");
  EXPECT_NE(complaint({.names = one, .mode = LockMode::shared, .slots = 2}), "");
  EXPECT_NE(complaint({.names = one, .mode = LockMode::shared, .hold_at_least = 1s}), "");
  EXPECT_NE(complaint({.names = one, .mode = LockMode::shared, .delay = 1s}), "");
  EXPECT_NE(complaint({.names = one, .mode = LockMode::shared, .pattern = LockPattern::loop}), "");
  EXPECT_NE(complaint({.names = one, .hold_at_least = 1s, .pattern = LockPattern::loop}), "");
  EXPECT_NE(complaint({.names = one, .renewal_tries = 0}), "");
  EXPECT_NE(complaint({.names = one, .renewal_tries = 21}), "");
  EXPECT_EQ(complaint({.names = one, .ttl = 60s, .renew_every = 41s}), "");
  EXPECT_EQ(complaint({.names = one, .ttl = 60s, .renew_every = 42s}),
            "renewal after 42s is too late for a ttl of 1m; use at most 41s");
}

TEST(LockOptions, NamesThatAreNoneAreRefused) {
  for (const std::string& name : {std::string(), std::string("{a}"), std::string("a\0b", 3), std::string("a\nb"),
                                  std::string(65536, 'a'), std::string("deploy#2"), std::string("-a")}) {
    EXPECT_EQ(code_of(check_options({.names = {name}})), Code::invalid) << name.substr(0, 20);
    EXPECT_EQ(complaint({.names = {name}}).find('\n'), std::string::npos);
    EXPECT_LT(complaint({.names = {name}}).size(), 300u);
  }
}

}  // namespace
}  // namespace fenceline
