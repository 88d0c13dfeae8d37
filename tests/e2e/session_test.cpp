// A program in C++ and `fenceline` itself ask a store alike: what both write down is the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "fenceline/fenceline.hpp"
#include "jobs.hpp"
#include "support/results.hpp"

namespace fenceline::e2e {
namespace {

// The calls and what handlers did, in order, each at its first time: how often a worker claims is a matter of time.
std::vector<std::string> told_by(const std::filesystem::path& history) {
  std::vector<std::string> words;
  std::ifstream in(history);
  for (std::string line; std::getline(in, line);) {
    const Json event = Json::parse(line);
    const std::string kind = event["e"];
    if (kind != "invoke" && kind != "started" && kind != "ended") continue;
    const std::string word = kind == "invoke" ? event["verb"].get<std::string>() : kind;
    const bool by_the_clock = word == "tidy" || word == "extend" || word == "step_ticks" || word == "see_pipeline";
    if (!by_the_clock && std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

TEST(Session, AClientAndTheProgramWriteTheSameHistory) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--payload", "1", "--history", "program.jsonl"}).status, 0);
  drain(place, "exit 0", {"--concurrency", "1", "--no-schedules", "--history", "program.jsonl"});

  const std::filesystem::path file = place.file("client.jsonl");
  {
    Result<Client> client = Client::open({.store = "sqlite:" + place.file("client.db").string(), .history = file});
    ASSERT_TRUE(client);
    ASSERT_TRUE(client->enqueue("q", "1"));
    ASSERT_TRUE(client->work({.queues = {"q"}, .concurrency = 1, .drain = true, .schedules = false},
                             [](const fenceline::Run&) { return RunResult{}; }));
  }
  const std::vector<std::string> expected{"enqueue", "claim", "started", "ended", "settle"};
  EXPECT_EQ(told_by(place.file("program.jsonl")), expected);
  EXPECT_EQ(told_by(file), expected);
  EXPECT_EQ(answer(place, {"audit", file.string(), "--whole", "--drained"})["violations"], 0);
}

}  // namespace
}  // namespace fenceline::e2e
