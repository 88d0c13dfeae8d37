// The suite that every store passes, and the stream that must find no difference from the memory store, on a real
// server.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "backends/memory/memory_store.hpp"
#include "backends/postgres/testing.hpp"
#include "conformance/conformance.hpp"
#include "conformance/differential.hpp"

namespace fenceline::test {
namespace {

class PostgresHarness final : public StoreHarness {
 public:
  PostgresHarness() {
    HandMovedSchema::shared().empty();
    store_ = HandMovedSchema::shared().open(runtime_, clock_);
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
    store_ = HandMovedSchema::shared().open(runtime_, clock_);
    return true;
  }

 private:
  ThreadRuntime runtime_;
  ManualClock clock_;
  std::unique_ptr<PostgresStore> store_;
};

std::unique_ptr<StoreHarness> open_postgres() { return std::make_unique<PostgresHarness>(); }

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
    HandMovedSchema::shared().empty();
    const auto store = HandMovedSchema::shared().open(runtime, clock);
    const DifferentialReport report = run_differential(
        oracle, *store, clock, {.seed = seed, .operations = options.operations, .alike = options.alike});
    ASSERT_FALSE(report.difference) << "seed " << seed << ": " << *report.difference;
    for (const auto& [cell, times] : report.seen) total[cell] += times;
  }
  if (!look_for_gaps) return;
  for (const std::string& gap : gaps_in(total)) ADD_FAILURE() << gap;
  std::cout << table_of(total);
}

TEST(PostgresDifferential, AnswersAsTheMemoryStoreDoes) { run_seeds({.operations = 10'000}, true); }

TEST(PostgresDifferential, JobsOfOneCallAreAsIfEachHadComeAlone) {
  run_seeds({.operations = 2'000, .alike = true}, false);
}

}  // namespace
}  // namespace fenceline::test

FENCELINE_CONFORMANCE(Postgres, &open_postgres);
