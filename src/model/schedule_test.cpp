#include "model/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/tick_rule.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kTick = std::chrono::sys_days{std::chrono::year{2026} / 3 / 29} + 1h;

ScheduleSpec nightly() {
  ScheduleSpec spec;
  spec.cron = "30 2 * * *";
  spec.zone = "Europe/Berlin";
  spec.queue = "reports";
  return spec;
}

ScheduleSpec full() {
  ScheduleSpec spec = nightly();
  spec.jitter = 5min;
  spec.starts = kTick;
  spec.ends = kTick + 24h;
  spec.catch_up = CatchUp::all;
  spec.window = 2h;
  spec.cap = 7;
  spec.overlap = Overlap::queue_one;
  spec.stage = "build";
  spec.payload = R"({"at": "${tick}", "é": "\u0041"})";
  spec.priority = -3;
  spec.attempts_max = 2;
  spec.timeout = 90s;
  spec.group = "g";
  spec.limit_key = "k";
  spec.tags = {"a", "b"};
  return spec;
}

std::string complaint(const ScheduleSpec& spec) {
  const Result<void> checked = check_spec(spec);
  return checked ? "" : checked.error().message;
}

TEST(Schedule, ItsTextSaysAllOfItInTheSameBytes) {
  ScheduleSpec interval = nightly();
  interval.cron.clear();
  interval.zone = "UTC";
  interval.every = 90s;
  interval.anchor = kTick;
  for (const ScheduleSpec& spec : {nightly(), full(), interval}) {
    const Result<ScheduleSpec> read = parse_spec(spec_text(spec));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, spec);
    EXPECT_EQ(spec_text(*read), spec_text(spec));
    EXPECT_EQ(spec_text(spec).find('\n'), std::string::npos);
  }
}

TEST(Schedule, TextThatIsNoSpecIsRefusedAndSoIsANewerVersion) {
  for (const std::string text : {"", "null", "[]", "{}", "{\"version\":1}", "{\"version\":\"1\"}"})
    EXPECT_FALSE(parse_spec(text)) << text;
  std::string newer = spec_text(nightly());
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  const Result<ScheduleSpec> read = parse_spec(newer);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("newer"), std::string::npos);
  std::string odd = spec_text(nightly());
  odd.replace(odd.find("\"latest\""), 8, "\"maybe\"");
  EXPECT_FALSE(parse_spec(odd));
}

TEST(Schedule, WordsAreReadAsTheyAreWritten) {
  for (const CatchUp value : {CatchUp::all, CatchUp::latest, CatchUp::none})
    EXPECT_EQ(parse_catch_up(to_string(value)), value);
  for (const Overlap value : {Overlap::allow, Overlap::skip, Overlap::queue_one, Overlap::cancel_running})
    EXPECT_EQ(parse_overlap(to_string(value)), value);
  EXPECT_EQ(parse_overlap("queue_one"), std::nullopt);
  EXPECT_EQ(parse_catch_up(""), std::nullopt);
}

TEST(Schedule, EachBadFieldIsNamedInOneLine) {
  EXPECT_EQ(complaint(full()), "");
  const auto says = [](auto change, const std::string& word) {
    ScheduleSpec spec = full();
    change(spec);
    const std::string message = complaint(spec);
    EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' in: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  };
  says([](ScheduleSpec& spec) { spec.cron.clear(); }, "cron expression or an interval");
  says([](ScheduleSpec& spec) { spec.every = 1h; }, "cron expression or an interval");
  says([](ScheduleSpec& spec) { spec.cron.clear(), spec.every = 1h; }, "zone");
  says([](ScheduleSpec& spec) { spec.cron.clear(), spec.every = 1500ms, spec.zone = "UTC"; }, "interval");
  says([](ScheduleSpec& spec) { spec.anchor = kTick; }, "anchor");
  says([](ScheduleSpec& spec) { spec.cron = "61 * * * *"; }, "minute");
  says([](ScheduleSpec& spec) { spec.cron = "0 0 31 2 *"; }, "");
  says([](ScheduleSpec& spec) { spec.zone = "Europe/Berln"; }, "Europe/Berlin");
  says([](ScheduleSpec& spec) { spec.jitter = 25h; }, "jitter");
  says([](ScheduleSpec& spec) { spec.starts = WallTime{-1s}; }, "start");
  says([](ScheduleSpec& spec) { spec.ends = kRunAtMost + 1s; }, "end");
  says([](ScheduleSpec& spec) { spec.ends = *spec.starts - 1s; }, "end");
  says([](ScheduleSpec& spec) { spec.window = 59s; }, "window");
  says([](ScheduleSpec& spec) { spec.cap = 0; }, "cap");
  says([](ScheduleSpec& spec) { spec.payload = "{"; }, "payload");
  says([](ScheduleSpec& spec) { spec.payload = "\"${now}\""; }, "${now}");
  says([](ScheduleSpec& spec) { spec.payload = "\"${tick\""; }, "${tick");
  says([](ScheduleSpec& spec) { spec.queue = ""; }, "queue");
  says([](ScheduleSpec& spec) { spec.stage = "-"; }, "stage");
  says([](ScheduleSpec& spec) { spec.priority = 1001; }, "priority");
  says([](ScheduleSpec& spec) { spec.attempts_max = 0; }, "attempts");
  says([](ScheduleSpec& spec) { spec.timeout = 1ms; }, "timeout");
  says([](ScheduleSpec& spec) { spec.group = "\n"; }, "group");
  says([](ScheduleSpec& spec) { spec.limit_key = "\n"; }, "limit key");
  says([](ScheduleSpec& spec) { spec.tags = {"b", "a"}; }, "tags");
  says(
      [](ScheduleSpec& spec) {
        spec.tags.clear();
        for (char c = 'a'; c < 'a' + 16; ++c) spec.tags.emplace_back(1, c);
      },
      "tags");
}

TEST(Schedule, ATemplateIsFilledInWithItsTick) {
  ScheduleSpec spec = nightly();
  spec.payload = R"({"utc":"${tick}","local":"<${tick.local}>","unix":"${tick.unix}","of":"${schedule}",)"
                 R"("plain":"$${tick} $5 $$","n":1.50})";
  EXPECT_EQ(fill_template(spec, "nightly", kTick),
            R"({"utc":"2026-03-29T01:00:00Z","local":"<2026-03-29T03:00:00+02:00>","unix":"1774746000",)"
            R"("of":"nightly","plain":"${tick} $5 $$","n":1.50})");
}

TEST(Schedule, ATemplateInEscapesIsATemplateAllTheSame) {
  ScheduleSpec spec = nightly();
  spec.payload = R"({"a":"\u0024{tick.unix}","b":"\u0024\u007btick.unix\u007D","c":"${\u0074ick.unix}",)"
                 R"("d":"\\u0024{x}","e":"\u0022\u005c\u00e9\n"})";
  ASSERT_TRUE(check_template(spec.payload));
  EXPECT_EQ(fill_template(spec, "nightly", kTick),
            R"({"a":"1774746000","b":"1774746000","c":"1774746000","d":"\\u0024{x}","e":"\u0022\u005c\u00e9\n"})");
  EXPECT_FALSE(check_template(R"("\u0024{nothing}")")) << "as ${nothing} is refused";
}

TEST(Schedule, EveryTemplateThatIsTakenGivesAPayload) {
  ScheduleSpec spec = nightly();
  spec.payload = "[";
  while (spec.payload.size() < kTemplateBytesMax - 30) spec.payload += "\"${schedule}\",";
  spec.payload += "1]";
  ASSERT_TRUE(check_spec(spec));
  EXPECT_TRUE(check_payload(fill_template(spec, std::string(kNameBytesMax, 's'), kTick)));
  spec.payload = "\"" + std::string(kTemplateBytesMax, 'x') + "\"";
  EXPECT_FALSE(check_template(spec.payload));
}

TEST(Schedule, TheJobOfATickIsTheSameWhoeverFiresIt) {
  ScheduleSpec spec = full();
  const NewJob job = job_of_tick(spec, "nightly", kTick, {});
  EXPECT_EQ(job, job_of_tick(spec, "nightly", kTick, {}));
  EXPECT_TRUE(check_new_job(job));
  EXPECT_EQ(job.queue, "reports");
  EXPECT_EQ(job.stage, "build");
  EXPECT_EQ(job.group, "g");
  EXPECT_EQ(job.tags, (std::vector<std::string>{"a", "b", "schedule:nightly"}));
  EXPECT_EQ(job.key, "");
  EXPECT_GE(*job.at, kTick);
  EXPECT_LE(*job.at, kTick + 5min);
  EXPECT_EQ(job_of_tick(nightly(), "nightly", kTick, {}).at, kTick);
}

TEST(Schedule, JitterSpreadsTicksAndSchedules) {
  ScheduleSpec spec = nightly();
  spec.jitter = 10s;
  std::set<WallTime> of_ticks, of_names;
  Duration sum{0};
  for (int n = 0; n < 1000; ++n) {
    const WallTime tick = kTick + n * 1h;
    const Duration late = *job_of_tick(spec, "nightly", tick, {}).at - tick;
    ASSERT_LE(late, 10s);
    sum += late;
    of_ticks.insert(kTick + late);
    of_names.insert(*job_of_tick(spec, "s" + std::to_string(n), kTick, {}).at);
  }
  EXPECT_GT(of_ticks.size(), 990U);
  EXPECT_GT(of_names.size(), 990U);
  EXPECT_NEAR(static_cast<double>((sum / 1000).count()), 5e6, 5e5);
}

TEST(Schedule, JobsThatMustNotRunAtOnceAreOneGroup) {
  ScheduleSpec spec = nightly();
  for (const Overlap overlap : {Overlap::allow, Overlap::skip, Overlap::queue_one, Overlap::cancel_running}) {
    spec.overlap = overlap;
    EXPECT_EQ(job_of_tick(spec, "nightly", kTick, {}).group, overlap >= Overlap::queue_one ? "schedule:nightly" : "");
  }
}

}  // namespace
}  // namespace fenceline
