// What a user does first: enqueue, look, read it with a script.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::string part;
  for (const char c : text) {
    if (c == at) out.push_back(std::exchange(part, ""));
    else part += c;
  }
  if (!part.empty()) out.push_back(part);
  return out;
}

TEST(RoundTrip, AnEnqueuedJobIsListedAndShown) {
  const Workplace place;
  const Ended enqueued = place.fenceline({"enqueue", "mail", "--payload", "{ \"to\": 12345678901234567890.10 }",
                                          "--priority", "-5", "--delay", "1h", "--max-attempts", "3"});
  ASSERT_EQ(enqueued.status, 0) << enqueued.err;
  EXPECT_EQ(enqueued.err, "fenceline: created a new store: " + place.file("fenceline.db").string() + "\n")
      << "a mistyped path must not look like an empty queue";
  const std::string id = trimmed(enqueued.out);
  EXPECT_EQ(id.size(), 36U);

  const Json jobs = place.jobs();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["id"], id);
  EXPECT_EQ(jobs[0]["queue"], "mail");
  EXPECT_EQ(jobs[0]["stage"], "");
  EXPECT_EQ(jobs[0]["state"], "ready");
  EXPECT_EQ(jobs[0]["priority"], -5);
  EXPECT_EQ(jobs[0]["attempts_max"], 3);
  EXPECT_EQ(jobs[0]["deliveries"], 0);
  EXPECT_FALSE(jobs[0].contains("payload"));
  EXPECT_FALSE(jobs[0].contains("result"));
  EXPECT_GT(jobs[0]["run_at"].get<std::string>(), jobs[0]["created_at"].get<std::string>());

  const Ended shown = place.fenceline({"job", "show", id, "--payload", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("\"payload\":{\"to\":12345678901234567890.10}"), std::string::npos)
      << "a payload keeps every digit: " << shown.out;
  const Ended plain = place.fenceline({"job", "show", id});
  EXPECT_NE(plain.out.find("state\tready\n"), std::string::npos) << plain.out;
  EXPECT_EQ(plain.out.find("payload"), std::string::npos) << "payloads show on request only";
}

TEST(RoundTrip, EnqueueAnswersWithIdsAsJson) {
  const Workplace place;
  const Ended one = place.fenceline({"--json", "enqueue", "q"});
  const Json answer = Json::parse(one.out);
  EXPECT_EQ(answer["ids"].size(), 1U);
  EXPECT_EQ(answer["existing"], 0);
  EXPECT_EQ(answer.size(), 2U);
  EXPECT_TRUE(one_line(one.out));
  const Ended many = place.fenceline({"enqueue", "q", "--jsonl", "-", "--json"}, {.input = "1\n2\r\n\"three\""});
  EXPECT_EQ(Json::parse(many.out)["ids"].size(), 3U) << many.err;
  const Ended none = place.fenceline({"enqueue", "q", "--jsonl", "/dev/null", "--json"});
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(Json::parse(none.out), (Json{{"ids", Json::array()}, {"existing", 0}}));
}

TEST(RoundTrip, APayloadComesFromAFileOrStdin) {
  const Workplace place;
  place.write("p.json", "{\"a\":\n 1}\n");
  const std::string from_file = trimmed(place.fenceline({"enqueue", "q", "--payload-file", "p.json"}).out);
  EXPECT_EQ(Json::parse(place.fenceline({"job", "show", from_file, "--payload", "--json"}).out)["payload"],
            (Json{{"a", 1}}));
  const std::string from_stdin =
      trimmed(place.fenceline({"enqueue", "q", "--payload-file", "-"}, {.input = "[1]"}).out);
  EXPECT_EQ(Json::parse(place.fenceline({"job", "show", from_stdin, "--payload", "--json"}).out)["payload"],
            Json::array({1}));
  const std::string without = trimmed(place.fenceline({"enqueue", "q"}).out);
  EXPECT_TRUE(Json::parse(place.fenceline({"job", "show", without, "--payload", "--json"}).out)["payload"].is_null());
}

TEST(RoundTrip, AFileOfLinesGoesInWholeAndInOrder) {
  const Workplace place;
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += std::to_string(i) + "\n";
  place.write("many.jsonl", lines);
  const Ended ended = place.fenceline({"enqueue", "q", "--jsonl", "many.jsonl"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "2500\n");
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  const Json jobs = place.jobs();
  ASSERT_EQ(jobs.size(), 2500U);
  std::set<std::string> ids;
  for (const Json& job : jobs) ids.insert(job["id"]);
  EXPECT_EQ(ids.size(), 2500U);
  for (const std::size_t i : {0U, 999U, 1000U, 2499U}) {
    EXPECT_EQ(Json::parse(place.fenceline({"job", "show", jobs[i]["id"], "--payload", "--json"}).out)["payload"], i);
  }
}

TEST(RoundTrip, AtABadLineItStopsAndSaysHowManyWentIn) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
  std::string lines;
  for (int i = 1; i <= 2500; ++i) lines += i == 1500 ? "oops\n" : std::to_string(i) + "\n";
  const Ended ended = place.fenceline({"enqueue", "q", "--jsonl", "-"}, {.input = lines});
  EXPECT_EQ(ended.status, 65);
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_NE(ended.err.find("line 1500:"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("1000 jobs enqueued"), std::string::npos) << ended.err;
  EXPECT_EQ(place.jobs().size(), 1000U);
  const Ended json = place.fenceline({"enqueue", "other", "--jsonl", "-", "--json"}, {.input = lines});
  EXPECT_EQ(json.status, 65);
  EXPECT_EQ(Json::parse(json.out)["ids"].size(), 1000U) << "what went in is still told, as whole JSON";
}

TEST(RoundTrip, ListsComeInPages) {
  const Workplace place;
  std::string lines;
  for (int i = 0; i < 250; ++i) lines += "0\n";
  place.fenceline({"enqueue", "q", "--jsonl", "-"}, {.input = lines});
  place.fenceline({"enqueue", "other"});
  std::set<std::string> seen;
  Words words{"jobs", "--json"};
  int pages = 0;
  while (true) {
    const Json page = Json::parse(place.fenceline(words).out);
    EXPECT_LE(page["jobs"].size(), 100U);
    for (const Json& job : page["jobs"]) EXPECT_TRUE(seen.insert(job["id"]).second) << "listed twice";
    ++pages;
    if (page["next"].is_null()) break;
    words = {"jobs", "--json", "--after", page["next"].get<std::string>()};
  }
  EXPECT_EQ(seen.size(), 251U);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(Json::parse(place.fenceline({"jobs", "--queue", "other", "--json"}).out)["jobs"].size(), 1U);
  EXPECT_EQ(Json::parse(place.fenceline({"jobs", "--state", "done", "--json"}).out)["jobs"].size(), 0U);
  EXPECT_EQ(Json::parse(place.fenceline({"jobs", "--limit", "7", "--json"}).out)["jobs"].size(), 7U);
  const Ended cut = place.fenceline({"jobs"});
  EXPECT_NE(cut.err.find("--after"), std::string::npos) << "a list that was cut says so";
}

TEST(RoundTrip, InAPipeListsAreTabSeparatedWithAHeader) {
  const Workplace place;
  place.fenceline({"enqueue", "q"});
  const std::vector<std::string> lines = split(place.fenceline({"jobs"}).out, '\n');
  ASSERT_EQ(lines.size(), 2U);
  const std::vector<std::string> header = split(lines[0], '\t');
  EXPECT_EQ(header.front(), "id");
  EXPECT_EQ(header.back(), "error");
  EXPECT_EQ(std::ranges::count(lines[0], '\t'), std::ranges::count(lines[1], '\t'));
}

TEST(RoundTrip, NamespacesDoNotSeeEachOther) {
  const Workplace place;
  const std::string id = trimmed(place.fenceline({"enqueue", "q", "--namespace", "a"}).out);
  EXPECT_EQ(place.fenceline({"job", "show", id}).status, 66);
  EXPECT_EQ(place.fenceline({"--namespace=a", "job", "show", id}).status, 0);
  EXPECT_EQ(place.fenceline({"job", "show", id}, {.env = {{"FENCELINE_NAMESPACE", "a"}}}).status, 0);
  EXPECT_EQ(place.fenceline({"job", "show", id, "--namespace", "b"}, {.env = {{"FENCELINE_NAMESPACE", "a"}}}).status,
            66)
      << "a flag wins over the environment";
}

TEST(RoundTrip, TheStoreIsNamedByFlagThenEnvironmentThenDefault) {
  const Workplace place;
  const Setting env{.env = {{"FENCELINE_STORE", "sqlite:env.db"}}};
  place.fenceline({"enqueue", "q"});
  EXPECT_TRUE(std::filesystem::exists(place.file("fenceline.db")));
  place.fenceline({"enqueue", "q"}, env);
  EXPECT_TRUE(std::filesystem::exists(place.file("env.db")));
  place.fenceline({"enqueue", "q", "--store", "sqlite:flag.db"}, env);
  EXPECT_TRUE(std::filesystem::exists(place.file("flag.db")));
}

TEST(RoundTrip, AStoreThatIsNotThereIsNamedWithTheCommandThatMakesIt) {
  const Workplace place;
  const Ended ended = place.fenceline({"jobs"});
  EXPECT_EQ(ended.status, 66);
  EXPECT_NE(ended.err.find("fenceline migrate"), std::string::npos) << ended.err;
  EXPECT_EQ(place.dump(), "(none)");
  const Ended first = place.fenceline({"migrate"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(first.out.find(" was empty and is set up now (class ") != std::string::npos) << first.out;
  const std::string made = place.dump();
  const Ended again = place.fenceline({"migrate"});
  EXPECT_EQ(again.status, 0);
  EXPECT_TRUE(again.out.find(" is up to date (class ") != std::string::npos) << again.out;
  EXPECT_EQ(place.dump(), made) << "repeating it does nothing";
  EXPECT_EQ(place.jobs().size(), 0U);
}

TEST(RoundTrip, TheTrailTellsWhoMadeTheStore) {
  const Workplace place;
  place.fenceline({"migrate"});
  const Json trail = Json::parse(place.fenceline({"trail", "--json"}).out)["trail"];
  ASSERT_GE(trail.size(), 1U);
  EXPECT_EQ(trail[0]["act"], "store_created");
  EXPECT_NE(trail[0]["actor"], "");
  EXPECT_TRUE(place.fenceline({"trail"}).out.starts_with("at\tnamespace\tactor\t"));
}

TEST(RoundTrip, WorkersListIsEmptyWithoutWorkers) {
  const Workplace place;
  place.fenceline({"migrate"});
  EXPECT_EQ(Json::parse(place.fenceline({"workers", "list", "--json"}).out), (Json{{"workers", Json::array()}}));
}

TEST(RoundTrip, TheDoctorFindsAFreshStoreWell) {
  const Workplace place;
  place.fenceline({"enqueue", "q"});
  const Ended ended = place.fenceline({"doctor", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.out;
  const Json answer = Json::parse(ended.out);
  EXPECT_EQ(answer["class"], "B");
  EXPECT_TRUE(answer["healthy"]);
  EXPECT_GE(answer["reasons"].size(), 1U);
  std::set<std::string> names;
  for (const Json& finding : answer["findings"]) names.insert(finding["name"]);
  for (const char* name : {"clock", "read", "workers_gone", "stale_jobs"}) EXPECT_TRUE(names.contains(name)) << name;
  const Ended text = place.fenceline({"doctor"});
  EXPECT_NE(text.out.find("class\tok\tB: "), std::string::npos) << text.out;
}

TEST(RoundTrip, TheDoctorSaysWhatIsBad) {
  const Workplace place;
  place.write("fenceline.db", "this is no database, and long enough to be looked at as one; " + std::string(4096, 'x'));
  const Ended ended = place.fenceline({"doctor", "--json"});
  EXPECT_EQ(ended.status, 1);
  const Json answer = Json::parse(ended.out);
  EXPECT_FALSE(answer["healthy"]);
  EXPECT_EQ(answer["findings"][0]["remedy"], "name another file");
}

TEST(RoundTrip, VersionNamesWhatItWasBuiltFrom) {
  const Workplace place;
  const Json answer = Json::parse(place.fenceline({"version", "--json"}).out);
  for (const char* name : {"version", "compiler", "sqlite", "schema", "postgres_schema", "redis_layout"})
    EXPECT_TRUE(answer.contains(name)) << name;
  EXPECT_EQ(place.fenceline({"--version"}).status, 0);
  EXPECT_TRUE(place.fenceline({"version"}).out.find("Redis, layout ") != std::string::npos);
  EXPECT_EQ(place.dump(), "(none)");
}

}  // namespace
}  // namespace fenceline::e2e
