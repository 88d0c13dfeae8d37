// The suite that every store passes, and the stream that must find no difference from the memory store, on a real
// server.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "backends/memory/memory_store.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/store_testing.hpp"
#include "conformance/conformance.hpp"
#include "conformance/differential.hpp"

namespace fenceline::test {
namespace {

RedisKeys& keys_moved_by_hand() {
  static RedisKeys keys("by_hand");
  return keys;
}

class RedisHarness final : public StoreHarness {
 public:
  RedisHarness() {
    keys_moved_by_hand().empty();
    store_ = keys_moved_by_hand().open(runtime_, clock_);
  }

  Store& store() override { return *store_; }
  void let_time_pass(Duration duration) override { clock_.advance(duration); }
  WallTime wall() override { return clock_.wall_now(); }
  void set_wall(WallTime to) override { clock_.set_wall(to); }
  bool set_server_clock(Duration by) override {
    clock_.set_server_clock(by);
    return true;
  }
  bool reopen() override {
    store_.reset();
    store_ = keys_moved_by_hand().open(runtime_, clock_);
    return true;
  }

 private:
  ThreadRuntime runtime_;
  ManualClock clock_;
  std::unique_ptr<RedisStore> store_;
};

std::unique_ptr<StoreHarness> open_redis() { return std::make_unique<RedisHarness>(); }

std::uint64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

void run_seeds(const DifferentialOptions& options, bool look_for_gaps) {
  AnswersSeen total;
  const std::uint64_t first = number_in("FENCELINE_FIRST_SEED");
  for (std::uint64_t seed = first; seed < first + number_in("FENCELINE_SEEDS"); ++seed) {
    ManualClock clock;
    ThreadRuntime runtime;
    MemoryStore oracle(clock);
    keys_moved_by_hand().empty();
    const auto store = keys_moved_by_hand().open(runtime, clock);
    const DifferentialReport report = run_differential(
        oracle, *store, clock, {.seed = seed, .operations = options.operations, .alike = options.alike});
    ASSERT_FALSE(report.difference) << "seed " << seed << ": " << *report.difference;
    for (const auto& [cell, times] : report.seen) total[cell] += times;
  }
  if (!look_for_gaps) return;
  for (const std::string& gap : gaps_in(total)) ADD_FAILURE() << gap;
  std::cout << table_of(total);
}

// Of a run that asks for it: each verb has been called, by its script. The server keeps all that it was sent.
class EveryVerbAsAScript : public testing::Environment {
  void TearDown() override {
    if (!std::getenv("FENCELINE_EVERY_VERB_AS_A_SCRIPT")) return;
    ThreadRuntime runtime;
    redis::test::Admin admin(runtime);
    ManualClock clock;
    EXPECT_TRUE(keys_moved_by_hand().open(runtime, clock)->examine());  // what no suite asks for
    for (const redis::LuaFile& file : redis::lua_files()) {
      const std::string verb(file.name.substr(file.name.find('_') + 1, file.name.rfind('.') - file.name.find('_') - 1));
      if (!file.text.starts_with("-- needs:") || !redis::script_of(verb).library()) continue;
      EXPECT_EQ(admin(redis::Command("SCRIPT").arg("EXISTS").arg(redis::script_of(verb).sha())).items.at(0).integer, 1)
          << verb << " was not called as a script";
    }
    const std::string stats = admin(redis::Command("INFO").arg("commandstats")).text;
    EXPECT_EQ(stats.find("cmdstat_fcall:calls="), stats.find("cmdstat_fcall:calls=0,"))
        << "a verb was called as a function";
  }
};
[[maybe_unused]] const testing::Environment* const every_verb =
    testing::AddGlobalTestEnvironment(new EveryVerbAsAScript);

TEST(RedisDifferential, AnswersAsTheMemoryStoreDoes) { run_seeds({.operations = 10'000}, true); }

TEST(RedisDifferential, JobsOfOneCallAreAsIfEachHadComeAlone) {
  run_seeds({.operations = 2'000, .alike = true}, false);
}

}  // namespace
}  // namespace fenceline::test

FENCELINE_CONFORMANCE(Redis, &open_redis);
