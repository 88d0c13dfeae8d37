// What a command can tell its worker beside its result: progress, words for the log, an end that means something.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "program.hpp"

namespace fenceline::e2e {
namespace {

std::string enqueue_for_handler(const Workplace& place) {
  const Ended ended = place.fenceline({"enqueue", "q", "--max-attempts", "1", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  return Json::parse(ended.out)["ids"][0];
}

// As a dump shows bytes.
std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    for (const int digit : {c >> 4, c & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

TEST(HandlerProgress, IsTakenFromInsideTheCommandWhereverItWorks) {
  const Workplace place;
  enqueue_for_handler(place);
  const Ended ended = place.fenceline(
      {"work", "q", "--drain", "--json", "--", "sh", "-c", "cd / && exec " + program() + " progress 40 'page 4'"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["done"], 1) << ended.err;
  EXPECT_NE(place.dump().find("page 4"), std::string::npos);
}

TEST(HandlerProgress, UnderAnOlderFenceIsRefusedWithTheStatusForThat) {
  const Workplace place;
  const std::string id = enqueue_for_handler(place);
  ASSERT_EQ(place.fenceline({"work", "q", "--drain", "--", "true"}).status, 0);
  const Ended stale = place.fenceline({"progress", "50"}, {.env = {{"FENCELINE_JOB", id}, {"FENCELINE_FENCE", "5"}}});
  EXPECT_EQ(stale.status, 76);
  EXPECT_TRUE(one_line(stale.err)) << stale.err;
}

TEST(HandlerProgress, BadInputGetsOneLineAndChangesNothing) {
  const Workplace place;
  const std::string id = enqueue_for_handler(place);
  const std::string before = place.dump();
  const Setting inside{.env = {{"FENCELINE_JOB", id}, {"FENCELINE_FENCE", "5"}}};
  for (const Words& words :
       {Words{"progress", "101"}, {"progress", "-1"}, {"progress", "x"}, {"progress", ""}, {"progress"}}) {
    const Ended ended = place.fenceline(words, inside);
    EXPECT_EQ(ended.status, 64) << words.back();
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
  }
  EXPECT_EQ(place.fenceline({"progress", "5", std::string(2000, 'x')}, inside).status, 65);
  EXPECT_EQ(place.fenceline({"progress", "5"}).status, 64);  // not inside a command
  EXPECT_EQ(place.fenceline({"progress", "5"}, {.env = {{"FENCELINE_JOB", "x"}, {"FENCELINE_FENCE", "5"}}}).status, 64);
  EXPECT_EQ(place.dump(), before);
}

TEST(HandlerEnds, MeanWhatTheCommandLineSays) {
  const Workplace place;
  enqueue_for_handler(place);
  enqueue_for_handler(place);
  const Ended ended =
      place.fenceline({"work", "q", "--drain", "--json", "--concurrency", "1", "--on", "3=done", "--on", "signal=later",
                       "--", "sh", "-c", "test -e once && kill -9 $$; touch once; echo fine; exit 3"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  EXPECT_EQ(report["done"], 1);
  EXPECT_EQ(report["later"], 1);
}

TEST(HandlerEnds, J5_AStopOfTheWorkerIsNotJudgedByThem) {
  const Workplace place;
  const std::string id = enqueue_for_handler(place);
  for (const char* rule : {"signal=done", "signal=dead", "other=dead"}) {
    const auto worker = place.start({"work", "q", "--on", rule, "--drain-timeout", "0s", "--ttl", "5s", "--", "sh",
                                     "-c", "touch begun; exec sleep 1000"});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("begun")); })) << worker->err();
    worker->signal(SIGTERM);
    EXPECT_EQ(worker->wait().status, 0);
    const Json job = Json::parse(place.fenceline({"job", "show", id, "--json"}).out);
    EXPECT_EQ(job["state"], "ready") << rule;
    EXPECT_EQ(job["failures"], 0) << rule;
    std::filesystem::remove(place.file("begun"));
  }
}

TEST(HandlerEnds, ACommandThatFinishesWhenItsTimeIsOverIsDone) {
  const Workplace place;
  const Ended enqueued = place.fenceline({"enqueue", "q", "--max-attempts", "1", "--timeout", "1s", "--json"});
  ASSERT_EQ(enqueued.status, 0) << enqueued.err;
  const Ended worked = place.fenceline({"work", "q", "--drain", "--ttl", "30s", "--on", "timeout=dead", "--", "sh",
                                        "-c", "trap 'echo whole; exit 0' TERM; while :; do sleep 0.05; done"});
  ASSERT_EQ(worked.status, 0) << worked.err;
  const Json job = Json::parse(place.fenceline({"job", "show", Json::parse(enqueued.out)["ids"][0], "--json"}).out);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["result"], "whole\n");
}

TEST(HandlerEnds, AWrongRuleNamesWhatIsAllowed) {
  const Workplace place;
  for (const char* rule : {"0=done", "3", "x=dead", "3=maybe"}) {
    const Ended ended = place.fenceline({"work", "q", "--on", rule, "--", "true"});
    EXPECT_EQ(ended.status, 64);
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    EXPECT_NE(ended.err.find("fail, dead, later or done"), std::string::npos) << ended.err;
  }
  EXPECT_EQ(place.dump(), "(none)");
}

TEST(HandlerTimeout, EndsTheCommandAndCountsAsAFailure) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--max-attempts", "1", "--timeout", "1s"}).status, 0);
  const Ended ended =
      place.fenceline({"work", "q", "--drain", "--", "sh", "-c", "echo slow >&2; echo $$ > pid; exec sleep 1000"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Json job = place.jobs()[0];
  EXPECT_EQ(job["state"], "dead");
  EXPECT_EQ(job["error"], "timed out after 1s: slow");
  EXPECT_NE(::kill(std::stoi(Workplace::read(place.file("pid"))), 0), 0) << "it lives on";
}

TEST(HandlerTimeout, MeansWhatTheCommandLineSays) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--timeout", "1s"}).status, 0);
  const Ended ended =
      place.fenceline({"work", "q", "--drain", "--json", "--on", "timeout=later", "--", "sleep", "1000"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["later"], 1);
  EXPECT_EQ(place.jobs()[0]["failures"], 0);
}

TEST(HandlerLog, StderrOfACommandIsKeptWithItsJob) {
  const Workplace place;
  enqueue_for_handler(place);
  const Ended ended = place.fenceline({"work", "q", "--drain", "--", "sh", "-c", "echo a word for later >&2"});
  ASSERT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find("a word for later"), std::string::npos);
  EXPECT_NE(place.dump().find("X'" + in_hex("a word for later\n") + "'"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::e2e
