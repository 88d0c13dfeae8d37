#include "cli/frame/stderr_log.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

struct Kept final : LogSink {
  void write(const LogEvent& event) override { names.push_back(event.name); }
  std::vector<std::string> names;
};

TEST(StderrLog, PeopleGetOneShortLine) {
  const LogEvent event{
      Level::warn, "lease_lost", {{"name", "deploy"}, {"fence", 7}, {"reason", "a\n b"}, {"forced", true}}};
  EXPECT_EQ(format_log_text(event, WallTime{1'700'000'000'000'000us}),
            "22:13:20 warn lease_lost name=deploy fence=7 reason='a? b' forced=yes");
}

TEST(StderrLog, HeldEventsComeOutOnceAndOnlyWhenReleased) {
  Kept kept;
  DeferredLog held(kept);
  const Log log(held);
  log.warn("first");
  log.error("second");
  EXPECT_TRUE(kept.names.empty());
  held.release();
  held.release();
  EXPECT_EQ(kept.names, (std::vector<std::string>{"first", "second"}));
}

TEST(StderrLog, HeldEventsDoNotGrowWithoutEnd) {
  Kept kept;
  DeferredLog held(kept);
  for (std::size_t i = 0; i < 2 * DeferredLog::kEventsMax; ++i) Log(held).warn("again");
  held.release();
  EXPECT_EQ(kept.names.size(), DeferredLog::kEventsMax);
}

}  // namespace
}  // namespace fenceline::cli
