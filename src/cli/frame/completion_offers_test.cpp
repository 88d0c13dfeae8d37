#include "cli/frame/completion_offers.hpp"

#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "services/fresh_id.hpp"
#include "support/state_fixture.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;
using test::must;

struct Offers : test::StateOnMemory {
  std::vector<std::string> offers(std::string_view kind, const std::string& typed = "") {
    return must(completion_offers(store, options.ns, kind, typed, runtime.wall_now()));
  }
};

TEST_F(Offers, ListNamesOfTheStoreThatStartWithTheTypedText) {
  enqueue({.queue = "mail"});
  enqueue({.queue = "maps"});
  enqueue({.queue = "print"});
  must(store.acquire({.ns = options.ns, .names = {"deploy"}, .owner = "a", .request = fresh_id(runtime), .ttl = kTtl}));
  report("w-1");
  EXPECT_EQ(offers("queues"), (std::vector<std::string>{"mail", "maps", "print"}));
  EXPECT_EQ(offers("queues", "ma"), (std::vector<std::string>{"mail", "maps"}));
  EXPECT_EQ(offers("queues", "x"), std::vector<std::string>{});
  EXPECT_EQ(offers("locks", "d"), std::vector<std::string>{"deploy"});
  EXPECT_EQ(offers("workers", "w"), std::vector<std::string>{"w-1"});
  EXPECT_EQ(offers("schedules"), std::vector<std::string>{});
  EXPECT_EQ(offers("pipelines"), std::vector<std::string>{});
  EXPECT_EQ(offers("nonsense"), std::vector<std::string>{});
}

TEST_F(Offers, ListTheNewestJobsAndAreBounded) {
  const std::string old = to_string(enqueue({}));
  pass(2 * 24h);
  for (std::size_t i = 0; i < kOffersMost + 20; ++i) enqueue({});
  const std::vector<std::string> newest = offers("jobs");
  EXPECT_EQ(newest.size(), kOffersMost);
  EXPECT_EQ(std::ranges::count(newest, old), 0);
  EXPECT_EQ(offers("jobs", old.substr(0, 12)), std::vector<std::string>{old});
  EXPECT_EQ(offers("jobs", "not-an-id"), std::vector<std::string>{});
}

TEST(OfferedKind, EveryArgumentThatNamesAThingOfTheStoreHasOne) {
  EXPECT_EQ(offered_kind("job show", "ID"), "jobs");
  EXPECT_EQ(offered_kind("effects resolve", "JOB"), "jobs");
  EXPECT_EQ(offered_kind("effects resolve", "NAME"), "");
  EXPECT_EQ(offered_kind("jobs", "QUEUE"), "queues");
  EXPECT_EQ(offered_kind("locks break", "RESOURCE"), "locks");
  EXPECT_EQ(offered_kind("schedule pause", "NAME"), "schedules");
  EXPECT_EQ(offered_kind("board", "PIPELINE"), "pipelines");
  for (const CommandSpec& command : all_commands()) {
    const bool of_a_thing = command.name.starts_with("schedule ") || command.name.starts_with("locks ") ||
                            command.name.starts_with("job ") || command.name.starts_with("queue ");
    if (!of_a_thing || command.arguments.empty() || command.arguments.front().name == "FILE") continue;
    EXPECT_NE(offered_kind(command.name, command.arguments.front().name), "") << command.name;
  }
}

}  // namespace
}  // namespace fenceline::cli
