// fenceline.toml: found, obeyed, and refused with its line.
#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

std::map<std::string, std::pair<std::string, std::string>> settings(const Workplace& place, const Words& words = {},
                                                                    const Setting& setting = {}) {
  const Ended ended = place.fenceline(joined({"config", "show", "--origin", "--json"}, words), setting);
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::map<std::string, std::pair<std::string, std::string>> out;
  for (const Json& one : Json(Json::parse(ended.out)["settings"]))
    out[one["name"]] = {one["value"].is_string() ? one["value"].get<std::string>() : one["value"].dump(),
                        one["origin"]};
  return out;
}

using Shown = std::pair<std::string, std::string>;

TEST(Config, AFlagWinsOverTheEnvironmentThatOverTheFileThatOverTheDefault) {
  const Workplace place;
  EXPECT_EQ(settings(place)["store"], (Shown{"sqlite:fenceline.db", "default"}));
  place.write("fenceline.toml", "# ours\nstore = \"sqlite:file.db\"\nnamespace = \"team\"\n[work]\nttl = \"45s\"\n");
  EXPECT_EQ(settings(place)["store"], (Shown{"sqlite:file.db", "fenceline.toml:2"}));
  EXPECT_EQ(settings(place)["namespace"], (Shown{"team", "fenceline.toml:3"}));
  EXPECT_EQ(settings(place)["work.ttl"], (Shown{"45s", "fenceline.toml:5"}));
  EXPECT_EQ(settings(place)["work.grace"], (Shown{"30s", "default"}));
  const Setting env{.env = {{"FENCELINE_STORE", "sqlite:env.db"}}};
  EXPECT_EQ(settings(place, {}, env)["store"], (Shown{"sqlite:env.db", "FENCELINE_STORE"}));
  EXPECT_EQ(settings(place, {"--store", "sqlite:flag.db"}, env)["store"], (Shown{"sqlite:flag.db", "flag"}));
  EXPECT_EQ(place.dump(), "(none)") << "showing opens nothing";
  EXPECT_TRUE(has(place.fenceline({"config", "show"}).out, "work.ttl\t45s\n"));

  enqueue(place);
  EXPECT_TRUE(std::filesystem::exists(place.file("file.db")));
  EXPECT_EQ(place.fenceline({"jobs", "--namespace", "default", "--json"}).out, "{\"jobs\":[],\"next\":null}\n");
}

TEST(Config, AFileElsewhereIsNamedByFlagOrEnvironmentAndItsStoreLiesBesideIt) {
  const Workplace place;
  std::filesystem::create_directory(place.file("etc"));
  place.write("etc/other.toml", "store = \"sqlite:s.db\"\n");
  EXPECT_EQ(settings(place, {"--config", "etc/other.toml"})["store"], (Shown{"sqlite:etc/s.db", "etc/other.toml:1"}));
  EXPECT_EQ(settings(place, {}, {.env = {{"FENCELINE_CONFIG", "etc/other.toml"}}})["store"].first, "sqlite:etc/s.db");
  enqueue(place, {"--config", "etc/other.toml"});
  EXPECT_TRUE(std::filesystem::exists(place.file("etc/s.db")));
  const Ended missing = place.fenceline({"enqueue", "q", "--config", "missing.toml"});
  EXPECT_EQ(missing.status, 66);
  EXPECT_TRUE(one_line(missing.err)) << missing.err;
}

TEST(Config, WorkAndEnqueueTakeTheirDefaultsFromIt) {
  const Workplace place;
  place.write("fenceline.toml",
              "[work]\nttl = \"7s\"\nconcurrency = 3\n[enqueue]\nmax_attempts = 4\ntimeout = \"2m\"\npriority = "
              "5\nbackoff = \"3s\"\n");
  Json job = show(place, enqueue(place));
  EXPECT_EQ(job["attempts_max"], 4);
  EXPECT_EQ(job["timeout_ms"], 120'000);
  EXPECT_EQ(job["priority"], 5);
  EXPECT_EQ(job["backoff_ms"], 3000);
  EXPECT_EQ(show(place, enqueue(place, {"--priority", "1"}))["priority"], 1) << "what is typed wins";
  drain(place, "'" + program() + "' workers list --json > seen.$$ && mv seen.$$ seen");  // two run at once
  const Json worker = Json::parse(Workplace::read(place.file("seen")))["workers"][0];
  EXPECT_EQ(worker["ttl_ms"], 7000);
  EXPECT_EQ(worker["concurrency"], 3);
}

TEST(Config, AnErrorIsReportedWithItsLineAndChangesNothing) {
  const Workplace place;
  for (const auto& [text, expected] : std::map<std::string, std::string>{
           {"[work]\ntll = \"1m\"\n",
            "fenceline: fenceline.toml:2: unknown key 'work.tll'; did you mean 'work.ttl'?\n"},
           {"namespace = \"a b\"\n",
            "fenceline: fenceline.toml:1: namespace 'a b' has a character that is not allowed;"},
           {"store = \"x.db\"\n",
            "fenceline: fenceline.toml:1: unknown kind of store 'x.db'; use sqlite:PATH, "
            "postgres://USER@HOST:PORT/DATABASE, redis://HOST:PORT or unix:/PATH (a Redis socket)"},
           {"[enqueue]\nbackoff = \"2h\"\nbackoff_max = \"1h\"\n",
            "fenceline: fenceline.toml:3: enqueue.backoff_max 1h is shorter than enqueue.backoff 2h;"},
           {"[work]\nttl = \"90\"\n", "fenceline: fenceline.toml:2: work.ttl '90' is not a duration"},
           {"store = \n", "fenceline: fenceline.toml:1: not valid TOML: "},
           {"\xff\n", "fenceline: file 'fenceline.toml' is not valid UTF-8"}}) {
    place.write("fenceline.toml", text);
    for (const Words& words :
         std::vector<Words>{{"enqueue", "q"}, {"jobs"}, {"work", "q", "--drain", "--", "true"}, {"config", "show"}}) {
      const Ended ended = place.fenceline(words);
      EXPECT_EQ(ended.status, 65) << ended.err;
      EXPECT_TRUE(ended.err.starts_with(expected) && one_line(ended.err)) << ended.err;
    }
    EXPECT_EQ(place.dump(), "(none)");
    EXPECT_EQ(place.fenceline({"version"}).status, 0) << "what needs no settings works";
    EXPECT_EQ(place.fenceline({"help"}).status, 0);
  }
}

TEST(Config, AnInvalidVariableOrOptionIsNamedByItsOrigin) {
  const Workplace place;
  const auto refused = [&](const Words& words, const Setting& setting, int status, const std::string& expected) {
    const Ended ended = place.fenceline(words, setting);
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("fenceline: " + expected) && one_line(ended.err)) << ended.err;
    EXPECT_EQ(ended.out, "");
  };
  refused({"config", "show"}, {.env = {{"FENCELINE_STORE", "foo"}}}, 64,
          "FENCELINE_STORE: unknown kind of store 'foo'");
  refused({"config", "show", "--store", "foo"}, {}, 64, "unknown kind of store 'foo'");
  refused({"jobs"}, {.env = {{"FENCELINE_NAMESPACE", "a b"}}}, 65,
          "FENCELINE_NAMESPACE: namespace 'a b' has a character");
  refused({"jobs", "--config", "."}, {}, 65, "'.' is a folder; name a text file");
  EXPECT_EQ(place.fenceline({"version"}, {.env = {{"FENCELINE_STORE", "foo"}}}).status, 0);
}

TEST(Config, NumbersAreNumbersInJson) {
  const Workplace place;
  place.write("fenceline.toml", "namespace = \"7\"\n[work]\nconcurrency = 3\n");
  std::map<std::string, Json> values;
  for (const Json& one : Json(answer(place, {"config", "show"})["settings"])) values[one["name"]] = one["value"];
  EXPECT_EQ(values["work.concurrency"], 3);
  EXPECT_EQ(values["enqueue.priority"], 0);
  EXPECT_EQ(values["namespace"], "7");
}

TEST(Config, ASecretIsNeverShown) {
  const Workplace place;
  EXPECT_FALSE(has(place.fenceline({"jobs", "--store", "postgres://ana:hunter2@db/app"}).err, "hunter2"));
  EXPECT_FALSE(
      has(place.fenceline({"config", "show", "--origin", "--store", "postgres://ana:hunter2@db/app"}).out, "hunter2"));
}

}  // namespace
}  // namespace fenceline::e2e
