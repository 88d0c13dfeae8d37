#include "cli/frame/config.hpp"

#include <gtest/gtest.h>

#include "cli/frame/lock_settings.hpp"
#include "cli/frame/schedule_settings.hpp"

namespace fenceline::cli {
namespace {

Result<std::map<std::string, FileSetting>> config_parsed(const std::string& text) {
  return parse_project_file("fenceline.toml", text);
}

std::string refusal(const std::string& text) {
  const auto settings = config_parsed(text);
  return settings ? "(accepted)" : settings.error().message;
}

TEST(Config, AFileSetsWhatItNames) {
  const auto settings = config_parsed(
      "store = \"sqlite:a.db\" # mine\n\n[work]\nttl = \"1m\"\nconcurrency = 4\n[enqueue]\nbackoff = \"5s\"\n");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(*settings, (std::map<std::string, FileSetting>{{"store", {"sqlite:a.db", 1}},
                                                           {"work.ttl", {"1m", 4}},
                                                           {"work.concurrency", {"4", 5}},
                                                           {"enqueue.backoff", {"5s", 7}}}));
  EXPECT_TRUE(config_parsed("")->empty());
}

TEST(Config, ALockClassHasWhatItsTableSays) {
  const auto settings =
      config_parsed("[lock.nightly]\nttl = \"5m\"\nfailures = 2\ncontention = \"skip\"\n[lock.plain]\n");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(*settings, (std::map<std::string, FileSetting>{{"lock.nightly.ttl", {"5m", 2}},
                                                           {"lock.nightly.failures", {"2", 3}},
                                                           {"lock.nightly.contention", {"skip", 4}},
                                                           {"lock.nightly.pattern", {"item", kNoLine}},
                                                           {"lock.plain.pattern", {"item", kNoLine}}}));
  EXPECT_EQ(refusal("[lock.x]\nttl = \"1m\"\nwiat = \"1s\"\n"),
            "fenceline.toml:3: unknown key 'lock.x.wiat'; did you mean 'lock.x.wait'?");
  EXPECT_TRUE(refusal("[lock.x]\nttl = \"400d\"\n").starts_with("fenceline.toml:2: lock.x.ttl "))
      << refusal("[lock.x]\nttl = \"400d\"\n");
  EXPECT_TRUE(refusal("[lock.x]\nttl = \"5s\"\nrenewal = \"5s\"\n").starts_with("fenceline.toml:1: lock class x: "))
      << refusal("[lock.x]\nttl = \"5s\"\nrenewal = \"5s\"\n");
}

TEST(Config, AScheduleHasWhatItsTableSays) {
  const auto settings = config_parsed(
      "[schedule.nightly]\ncron = \"30 2 * * *\"\ntz = \"Europe/Berlin\"\nqueue = \"reports\"\ncap = 3\ntags = "
      "\"b,a\"\n");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at("schedule.nightly.cron"), (FileSetting{"30 2 * * *", 2}));
  EXPECT_EQ(settings->at("schedule.nightly.cap"), (FileSetting{"3", 5}));
  Invocation invocation;
  for (const auto& [name, setting] : *settings) invocation.settings.push_back({name, setting.value, "fenceline.toml"});
  const auto declared = declared_schedules(invocation);
  ASSERT_TRUE(declared && declared->size() == 1U);
  EXPECT_EQ(declared->front().name, "nightly");
  EXPECT_EQ(declared->front().spec.zone, "Europe/Berlin");
  EXPECT_EQ(declared->front().spec.cap, 3);
  EXPECT_EQ(declared->front().spec.tags, (std::vector<std::string>{"a", "b"}));
}

TEST(Config, AScheduleThatIsNotPossibleIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("[schedule.x]\ncorn = \"@daily\"\n"),
            "fenceline.toml:2: unknown key 'schedule.x.corn'; did you mean 'schedule.x.cron'?");
  EXPECT_EQ(refusal("[schedule.x]\ncap = \"3\"\n"),
            "fenceline.toml:2: schedule.x.cap is not a number; write a whole number without quotes");
  EXPECT_TRUE(refusal("[schedule.x]\nevery = \"1ms\"\n").starts_with("fenceline.toml:2: schedule.x.every "))
      << refusal("[schedule.x]\nevery = \"1ms\"\n");
  EXPECT_TRUE(
      refusal("\n[schedule.x]\ncron = \"61 * * * *\"\nqueue = \"q\"\n").starts_with("fenceline.toml:2: schedule x: "))
      << refusal("\n[schedule.x]\ncron = \"61 * * * *\"\nqueue = \"q\"\n");
  EXPECT_TRUE(refusal("[schedule.x]\nqueue = \"q\"\n").starts_with("fenceline.toml:1: schedule x: "));
  EXPECT_TRUE(refusal("schedule = 3").starts_with("fenceline.toml:1: schedule is a table of schedules"));
  EXPECT_TRUE(refusal("schedule.x = 3").starts_with("fenceline.toml:1: 'schedule.x' is not a schedule"));
}

TEST(Config, TwoPausesThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(refusal("[enqueue]\nbackoff_max = \"1s\"\nbackoff = \"2s\"\n"),
            "fenceline.toml:2: enqueue.backoff_max 1s is shorter than enqueue.backoff 2s; raise enqueue.backoff_max or "
            "lower enqueue.backoff");
}

TEST(Config, AnUnknownKeyIsRefusedWithItsLineAndTheNearestName) {
  EXPECT_EQ(refusal("[work]\ntll = \"1m\"\n"), "fenceline.toml:2: unknown key 'work.tll'; did you mean 'work.ttl'?");
  EXPECT_EQ(refusal("stroe = \"x\""), "fenceline.toml:1: unknown key 'stroe'; did you mean 'store'?");
  EXPECT_EQ(refusal("\nttl = \"1m\""), "fenceline.toml:2: unknown key 'ttl'; did you mean 'work.ttl'?");
  EXPECT_EQ(refusal("[wrok]\nttl = \"1m\""), "fenceline.toml:1: unknown key 'wrok'; did you mean 'work'?");
  EXPECT_EQ(refusal("[enqueue]\nttl = \"1m\""),
            "fenceline.toml:2: unknown key 'enqueue.ttl'; did you mean 'work.ttl'?");
  EXPECT_EQ(refusal("[serve]\nlisten = 1"),
            "fenceline.toml:1: unknown key 'serve'; 'fenceline config show' lists them");
}

TEST(Config, AValueThatIsNotPossibleIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("[work]\nconcurrency = 0"),
            "fenceline.toml:2: work.concurrency is out of range; write a whole number from 1 to 500");
  EXPECT_EQ(refusal("[work]\nconcurrency = \"4\""),
            "fenceline.toml:2: work.concurrency is out of range; write a whole number, without quotes, from 1 to 500");
  EXPECT_EQ(refusal("[work]\nttl = 30"), "fenceline.toml:2: work.ttl must be a quoted string");
  EXPECT_NE(refusal("[work]\nttl = \"30\"").find("fenceline.toml:2: work.ttl '30' is not a duration"),
            std::string::npos)
      << refusal("[work]\nttl = \"30\"");
  EXPECT_EQ(refusal("store = [1]"), "fenceline.toml:1: store must be a quoted string");
  EXPECT_EQ(refusal("work = 3"), "fenceline.toml:1: work is a table; write [work] and its keys below");
}

TEST(Config, TheNamesOfALockClassAreNamesOfLocksAndFew) {
  EXPECT_EQ(refusal("[lock.nightly]\nnames = \"backup, /var/lock/close\"\n"), "(accepted)");
  EXPECT_TRUE(
      refusal("[lock.nightly]\nnames = \" , \"\n").starts_with("fenceline.toml:2: lock.nightly.names has 0 names"))
      << refusal("[lock.nightly]\nnames = \" , \"\n");
  EXPECT_NE(refusal("[lock.nightly]\nnames = \"-x\"\n").find("starts with a character"), std::string::npos);
}

TEST(Config, AFileThatIsNotTomlIsRefusedWithItsLine) {
  for (const char* text : {"\n\nstore =", "\n\nx", "\n\n[work", "a=1\n\na=2"}) {
    const std::string message = refusal(text);
    EXPECT_TRUE(message.starts_with("fenceline.toml:3: ")) << message;
    EXPECT_NE(message.find("; "), std::string::npos) << message;
  }
}

TEST(Config, APasswordIsNeverShown) {
  EXPECT_EQ(without_password("postgres://ana:secret@db/app"), "postgres://ana:***@db/app");
  EXPECT_EQ(without_password("postgres://ana:se:c@ret@db:5432/a@b"), "postgres://ana:***@db:5432/a@b");
  EXPECT_EQ(without_password("postgres://ana@db:5432/app"), "postgres://ana@db:5432/app");
  EXPECT_EQ(without_password("sqlite:/var/a:b@c.db"), "sqlite:/var/a:b@c.db");
}

}  // namespace
}  // namespace fenceline::cli
