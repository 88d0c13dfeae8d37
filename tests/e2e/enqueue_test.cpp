// What `fenceline enqueue` can say of a job, and files that are enqueued twice.
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <set>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

std::string numbers(int from, int to) {
  std::string out;
  for (int i = from; i <= to; ++i) out += std::to_string(i) + "\n";
  return out;
}

// A date in summer that is ahead, and by less than a year.
std::string summer_day() {
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  const int year = static_cast<int>(today.year());
  return today.month() < std::chrono::July ? std::to_string(year) + "-07-02" : std::to_string(year + 1) + "-06-15";
}

TEST(Enqueue, AJobCarriesAllThatWasSaidOfIt) {
  const Workplace place;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string day = summer_day();
  const std::string id = enqueue(place, {"--key",         "k 1",
                                         "--key-for",     "1h",
                                         "--group",       "g",
                                         "--limit-key",   "l",
                                         "--at",          day + "T03:04:05Z",
                                         "--timeout",     "5m",
                                         "--backoff",     "2s",
                                         "--backoff-max", "1m",
                                         "--tag",         "b",
                                         "--tag",         "a",
                                         "--tag",         "b",
                                         "--traceparent", trace});
  const Json job = show(place, id);
  EXPECT_EQ(job["key"], "k 1");
  EXPECT_EQ(job["key_for_ms"], 3'600'000);
  EXPECT_EQ(job["group"], "g");
  EXPECT_EQ(job["limit_key"], "l");
  EXPECT_EQ(job["run_at"], day + "T03:04:05.000000Z");
  EXPECT_EQ(job["timeout_ms"], 300'000);
  EXPECT_EQ(job["backoff_ms"], 2000);
  EXPECT_EQ(job["backoff_max_ms"], 60'000);
  EXPECT_EQ(job["tags"], (Json{"a", "b"}));
  EXPECT_EQ(job["traceparent"], trace);
  EXPECT_EQ(job["attempts"], Json::array());
  EXPECT_TRUE(has(place.fenceline({"job", "show", id}).out, "tags\ta,b\n"));
}

TEST(Enqueue, ATraceComesFromTheEnvironmentIfItIsOne) {
  const Workplace place;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(show(place, enqueue(place, {}, {.env = {{"TRACEPARENT", trace}}}))["traceparent"], trace);
  EXPECT_EQ(show(place, enqueue(place, {}, {.env = {{"TRACEPARENT", "nonsense"}}}))["traceparent"], "");
  drain(place, "echo $TRACEPARENT");
  EXPECT_EQ(trimmed(show(place, place.jobs()[0]["id"])["result"]), trace);
}

TEST(Enqueue, ATimeOfThisMachinesZoneIsMeantInIt) {
  const Workplace place;
  const std::string id =
      enqueue(place, {"--at", summer_day() + " 12:00"}, {.env = {{"TZ", "CET-1CEST,M3.5.0,M10.5.0/3"}}});
  EXPECT_EQ(show(place, id)["run_at"], summer_day() + "T10:00:00.000000Z");
}

TEST(Enqueue, J6_TheSameKeyAndPayloadGiveTheFirstOnesId) {
  const Workplace place;
  const std::string first = enqueue(place, {"--key", "k", "--payload", "{\"a\":1,\"b\":2}"});
  const Ended again = place.fenceline({"enqueue", "q", "--key", "k", "--payload", "{\"b\":2, \"a\":1}"});
  EXPECT_EQ(trimmed(again.out), first);
  EXPECT_TRUE(has(again.err, "already exists")) << again.err;
  const Json json = answer(place, {"enqueue", "q", "--key", "k", "--payload", "{\"a\":1,\"b\":2}"});
  EXPECT_EQ(json, (Json{{"ids", {first}}, {"existing", 1}}));
  const Ended other = place.fenceline({"enqueue", "q", "--key", "k", "--payload", "3"});
  EXPECT_EQ(other.status, 65);
  EXPECT_TRUE(one_line(other.err) && has(other.err, first)) << other.err;
  EXPECT_EQ(place.jobs().size(), 1U);
  drain(place, "true");
  EXPECT_NE(enqueue(place, {"--key", "k", "--payload", "3"}), first) << "the key is free when its job is finished";
}

TEST(Enqueue, J6_AKeyThatACancelledJobKeepsIsToldWithTheWayOut) {
  const Workplace place;
  const std::string first = enqueue(place, {"--key", "k", "--key-for", "1d", "--payload", "1"});
  EXPECT_EQ(place.fenceline({"job", "cancel", first}).status, 0);
  const Ended again = place.fenceline({"enqueue", "q", "--key", "k", "--key-for", "1d", "--payload", "1"});
  EXPECT_EQ(trimmed(again.out), first);
  EXPECT_TRUE(one_line(again.err) && has(again.err, "it is cancelled") &&
              has(again.err, "'fenceline job retry " + first + "'"))
      << again.err;
  const Ended other = place.fenceline({"enqueue", "q", "--key", "k", "--payload", "2"});
  EXPECT_EQ(other.status, 65);
  EXPECT_TRUE(one_line(other.err) && has(other.err, first + " (cancelled)") && has(other.err, "'fenceline job retry'"))
      << other.err;
}

TEST(Enqueue, J1_ABatchThatIsRepeatedAddsNothing) {
  const Workplace place;
  const Words words{"enqueue", "q", "--jsonl", "-", "--batch", "monday"};
  const Ended first = place.fenceline(words, {.input = numbers(1, 2500)});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, "2500\n");
  const Json before = place.jobs();
  const Ended again = place.fenceline(words, {.input = numbers(1, 2500)});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.err, "fenceline: 2500 of 2500 jobs already existed\n");
  EXPECT_EQ(place.jobs(), before);
  const Ended longer = place.fenceline(words, {.input = numbers(1, 2600)});
  EXPECT_EQ(longer.err, "fenceline: 2500 of 2600 jobs already existed\n");
  EXPECT_EQ(place.jobs().size(), 2600U);
  EXPECT_EQ(place.fenceline({"enqueue", "q", "--jsonl", "-", "--batch", "tuesday"}, {.input = numbers(1, 10)}).err, "");
  EXPECT_EQ(place.jobs().size(), 2610U);
}

TEST(Enqueue, ABatchThatStoppedAtABadLineContinuesOnceItIsCorrected) {
  const Workplace place;
  const Words words{"enqueue", "q", "--jsonl", "-", "--batch", "monday"};
  const Ended bad = place.fenceline(words, {.input = numbers(1, 1500) + "oops\n" + numbers(1502, 2500)});
  EXPECT_EQ(bad.status, 65);
  EXPECT_TRUE(has(bad.err, "line 1501: ") &&
              has(bad.err, "1000 jobs enqueued (lines 1 to 1000), run it again with the same --batch"))
      << bad.err;
  EXPECT_EQ(place.jobs().size(), 1000U);
  const Ended right = place.fenceline(words, {.input = numbers(1, 2500)});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_EQ(place.jobs().size(), 2500U);
}

TEST(Enqueue, ABatchWithOtherLinesIsRefused) {
  const Workplace place;
  const Words words{"enqueue", "q", "--jsonl", "-", "--batch", "monday"};
  ASSERT_EQ(place.fenceline(words, {.input = numbers(1, 3)}).status, 0);
  const Ended ended = place.fenceline(words, {.input = numbers(2, 4)});
  EXPECT_EQ(ended.status, 65);
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, "use another name")) << ended.err;
  EXPECT_EQ(place.jobs().size(), 3U);
}

TEST(Enqueue, ARefusedBatchSaysWhatIsNewAndDoesNotAdviseToRepeatIt) {
  const Workplace place;
  const Words words{"enqueue", "q", "--jsonl", "-", "--batch", "monday"};
  ASSERT_EQ(place.fenceline(words, {.input = numbers(1, 1600)}).status, 0);
  const Ended other = place.fenceline(words, {.input = numbers(1, 1500) + "0\n"});
  EXPECT_EQ(other.status, 65);
  EXPECT_TRUE(has(other.err, "use another name; 0 new jobs enqueued and 1000 already existed (lines 1 to 1000)\n"))
      << other.err;
  EXPECT_FALSE(has(other.err, "run it again")) << other.err;
  const Ended bad = place.fenceline(words, {.input = numbers(1, 1500) + "oops\n"});
  EXPECT_TRUE(has(bad.err, "0 new jobs enqueued and 1000 already existed (lines 1 to 1000), run it again")) << bad.err;
  EXPECT_EQ(place.jobs().size(), 1600U);
}

TEST(Enqueue, ATimeThatIsPastMeansNow) {
  const Workplace place;
  const std::string first = enqueue(place);
  const std::string past = enqueue(place, {"--at", "2020-01-01T00:00:00Z"});
  EXPECT_GE(show(place, past)["run_at"], show(place, first)["run_at"]) << "it does not overtake";
}

TEST(Enqueue, ABackoffThatWasNotGivenFollowsTheOther) {
  const Workplace place;
  const Json shorter = show(place, enqueue(place, {"--backoff-max", "500ms"}));
  EXPECT_EQ(shorter["backoff_ms"], 500);
  EXPECT_EQ(shorter["backoff_max_ms"], 500);
  const Json longer = show(place, enqueue(place, {"--backoff", "2h"}));
  EXPECT_EQ(longer["backoff_ms"], 7'200'000);
  EXPECT_EQ(longer["backoff_max_ms"], 7'200'000);
}

TEST(Enqueue, OptionsThatDoNotGoTogetherAreRefused) {
  const Workplace place;
  for (const Words& options : std::vector<Words>{{"--delay", "1s", "--at", "2030-01-01T00:00:00Z"},
                                                 {"--at", "2030-02-30T00:00:00Z"},
                                                 {"--at", "2199-01-01T00:00:00Z"},
                                                 {"--at", "soon"},
                                                 {"--at", ""},
                                                 {"--key-for", "1h"},
                                                 {"--key", "k", "--jsonl", "-"},
                                                 {"--batch", "b"},
                                                 {"--timeout", "500ms"},
                                                 {"--backoff", "1h", "--backoff-max", "1m"},
                                                 {"--backoff", "8d"},
                                                 {"--traceparent", "x"}}) {
    const Ended ended = place.fenceline(joined({"enqueue", "q"}, options), {.input = "1\n"});
    EXPECT_EQ(ended.status, 64) << testing::PrintToString(options) << ended.err;
    EXPECT_TRUE(one_line(ended.err) && has(ended.err, "; ")) << ended.err;
  }
  for (const Words& options : std::vector<Words>{{"--key", ""},
                                                 {"--group", ""},
                                                 {"--limit-key", "a\nb"},
                                                 {"--tag", ""},
                                                 {"--group", std::string(300, 'g')},
                                                 {"--jsonl", "-", "--batch", ""}}) {
    const Ended ended = place.fenceline(joined({"enqueue", "q"}, options), {.input = "1\n"});
    EXPECT_EQ(ended.status, 65) << testing::PrintToString(options) << ended.err;
    EXPECT_TRUE(one_line(ended.err) && has(ended.err, "; ")) << ended.err;
  }
  EXPECT_EQ(place.dump(), "(none)") << "what is wrong does not even make a store";
}

TEST(Enqueue, J7_AGroupRunsInOrderOneAtATimeWithFourSlots) {
  const Workplace place;
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += std::to_string(i) + "\n";
  for (const char* group : {"a", "b"}) {
    ASSERT_EQ(
        place.fenceline({"enqueue", "q", "--jsonl", "-", "--group", group, "--tag", group}, {.input = lines}).status,
        0);
  }
  const std::string first_a =
      answer(place, {"jobs", "--tag", "a", "--sort", "oldest", "--limit", "1"})["jobs"][0]["id"];
  EXPECT_EQ(answer(place, {"jobs", "--tag", "a"})["jobs"].size(), 12U);
  EXPECT_FALSE(first_a.empty());
  for (const char* group : {"a", "b"}) std::filesystem::create_directory(place.file(group));
  // Two of one group at once would both find the same folder of its name.
  std::string script = "read n; for g in a b; do if grep -q $FENCELINE_JOB $g.ids; then ";
  script += "mkdir $g/busy || echo $g >> overlaps; echo $n >> $g.order; rmdir $g/busy; fi; done";
  for (const char* group : {"a", "b"}) {
    std::string ids;
    for (const Json& job : Json(answer(place, {"jobs", "--tag", group})["jobs"]))
      ids += job["id"].get<std::string>() + "\n";
    place.write(std::string(group) + ".ids", ids);
  }
  drain(place, script, {"--concurrency", "4"});
  EXPECT_EQ(Workplace::read(place.file("a.order")), lines);
  EXPECT_EQ(Workplace::read(place.file("b.order")), lines);
  EXPECT_FALSE(std::filesystem::exists(place.file("overlaps")));
}

// 100,000 lines are a hundred steps: what grew with the file would show.
TEST(Enqueue, AFileOfManyLinesTakesLessThan64MiB) {
  const Workplace place;
  {
    std::ofstream file(place.file("many.jsonl"));
    for (int i = 0; i < 100'000; ++i) file << "{\"n\":" << i << ",\"text\":\"" << std::string(600, 'x') << "\"}\n";
  }
  const Ended ended =
      place.fenceline({"enqueue", "q", "--jsonl", "many.jsonl"}, {.patience = std::chrono::seconds{250}});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "100000\n");
  rusage used{};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &used), 0);
  EXPECT_LT(used.ru_maxrss, 64 * 1024) << "KiB";
}

}  // namespace
}  // namespace fenceline::e2e
