#include "cli/operate/top_state.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::cli {
namespace {

// Queues as the test says, or no answer.
class SteeredStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::vector<QueueRow>> queues(const std::string&) override {
    if (away) return fail(Code::unavailable, "the server is not there");
    QueueRow row{.queue = "mail"};
    row.depth[static_cast<std::size_t>(JobState::done)] = done;
    return std::vector{row};
  }
  bool away = false;
  std::int64_t done = 0;
};

class TopLooks : public testing::Test {
 protected:
  ThreadRuntime runtime;
  MemoryStore memory{runtime};
  SteeredStore store{memory};
  TopLook look{runtime, store, "default", {}};
};

TEST_F(TopLooks, TheLastStateStaysWhileTheStoreIsUnreachable) {
  EXPECT_EQ(look.look().away, "");
  store.away = true;
  const TopState away = look.look();
  EXPECT_EQ(away.away, "the server is not there");
  EXPECT_EQ(away.queues.size(), 1u);
  store.away = false;
  EXPECT_EQ(look.look().away, "");
}

TEST_F(TopLooks, TheRateIsWhatEndedSinceTheLookBefore) {
  EXPECT_TRUE(look.look().finished.empty());
  store.done = 10;
  EXPECT_GT(look.look().finished.at("mail"), 0);
  EXPECT_EQ(look.look().finished.at("mail"), 0);
  store.done = 3;  // retention removed some
  EXPECT_EQ(look.look().finished.at("mail"), 0);
}

TEST_F(TopLooks, JsonHasAllPanes) {
  const nlohmann::json json = nlohmann::json::parse(top_json(look.look()));
  for (const char* key : {"at", "store", "class", "namespace", "away", "cut", "finished_per_second", "queues",
                          "workers", "locks", "schedules", "findings"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["queues"][0]["queue"], "mail");
  EXPECT_FALSE(json["findings"].empty());
}

}  // namespace
}  // namespace fenceline::cli
