// The suite that every store passes, and the stream that must find no difference from the memory store: once in
// memory, once on a file through the writer's thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/testing.hpp"
#include "conformance/conformance.hpp"
#include "conformance/differential.hpp"

namespace fenceline::test {
namespace {

class SqliteHarness final : public StoreHarness {
 public:
  explicit SqliteHarness(bool on_file) : on_file_(on_file) { open(); }

  Store& store() override { return *store_; }
  void let_time_pass(Duration duration) override { clock_.advance(duration); }
  WallTime wall() override { return clock_.wall_now(); }
  void set_wall(WallTime to) override { clock_.set_wall(to); }
  bool reopen() override {
    if (!on_file_) return false;
    store_.reset();
    open();
    return true;
  }

 private:
  void open() {
    store_ = must(SqliteStore::open(runtime_, clock_, Log(null_log_sink()),
                                    {.path = on_file_ ? folder_ / "store.db" : ":memory:"}));
  }

  bool on_file_;
  TemporaryFolder folder_;
  ThreadRuntime runtime_;
  ManualClock clock_;
  std::unique_ptr<SqliteStore> store_;
};

std::unique_ptr<StoreHarness> open_sqlite_in_memory() { return std::make_unique<SqliteHarness>(false); }
std::unique_ptr<StoreHarness> open_sqlite_on_file() { return std::make_unique<SqliteHarness>(true); }

std::uint64_t seeds_to_run() {
  const char* text = std::getenv("FENCELINE_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 3;
}

// 10,000 operations a seed; every answer of every verb must have been seen.
void run_seeds(std::uint64_t seeds, int operations, bool on_file) {
  AnswersSeen total;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ManualClock clock;
    ThreadRuntime runtime;
    TemporaryFolder folder;
    MemoryStore oracle(clock);
    const auto store = must(
        SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = on_file ? folder / "store.db" : ":memory:"}));
    const DifferentialReport report = run_differential(oracle, *store, clock, {.seed = seed, .operations = operations});
    ASSERT_FALSE(report.difference) << "seed " << seed << ": " << *report.difference;
    for (const auto& [cell, times] : report.seen) total[cell] += times;
  }
  for (const std::string& gap : gaps_in(total)) ADD_FAILURE() << gap;
  std::cout << table_of(total);
}

// Plain jobs of one call share rows, which are parted and put anew as they are claimed, settled, cancelled and removed.
TEST(SqliteDifferential, JobsThatShareARowAreAsIfEachHadItsOwn) {
  for (std::uint64_t seed = 1; seed <= seeds_to_run(); ++seed) {
    ManualClock clock;
    ThreadRuntime runtime;
    MemoryStore oracle(clock);
    const auto store = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = ":memory:"}));
    const DifferentialReport report =
        run_differential(oracle, *store, clock, {.seed = seed, .operations = 3'000, .alike = true});
    ASSERT_FALSE(report.difference) << "seed " << seed << ": " << *report.difference;
  }
}

TEST(SqliteDifferential, InMemoryItAnswersAsTheMemoryStoreDoes) { run_seeds(seeds_to_run(), 10'000, false); }

TEST(SqliteDifferential, OnAFileItAnswersAsTheMemoryStoreDoes) { run_seeds(1, 10'000, true); }

}  // namespace
}  // namespace fenceline::test

FENCELINE_CONFORMANCE(SqliteInMemory, &open_sqlite_in_memory);
FENCELINE_CONFORMANCE(SqliteOnFile, &open_sqlite_on_file);
