// Histories that workers write, and what the checker says of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

constexpr const char* kTwoHolders =
    R"({"e":"recorder","by":"w","history":1,"store":"sqlite","class":"B","clock":"c","store_clock":"c"}
{"e":"invoke","verb":"claim","by":"w","n":1,"at":0,"ns":"n","owner":"a","request":"r","queues":["q"],"limit":1,)"
    R"("ttl":30000000}
{"e":"ok","by":"w","n":1,"at":5,"jobs":[{"id":"j","queue":"q","attempts":10,"fence":41,"left":30000000,"deliveries":1}]}
{"e":"invoke","verb":"claim","by":"w","n":2,"at":90,"ns":"n","owner":"b","request":"s","queues":["q"],"limit":1,)"
    R"("ttl":30000000}
{"e":"ok","by":"w","n":2,"at":95,"jobs":[{"id":"j","queue":"q","attempts":10,"fence":42,"left":30000000,)"
    R"("deliveries":2,"losses_in_row":1,"forced":true}]}
)";

TEST(Audit, TheHistoryOfAGoodDayBreaksNothing) {
  const Workplace place;
  for (int i = 0; i < 3; ++i) enqueue(place);
  drain(place, "exit 0", {"--history", "run.jsonl"});
  enqueue(place);
  drain(place, "exit 65", {"--history", "run.jsonl"});  // added to what is there
  const Json said = answer(place, {"audit", "run.jsonl"});
  EXPECT_EQ(said["violations"], 0);
  EXPECT_EQ(said["recorders"], 2);
  EXPECT_EQ(said["deliveries"], 4);
  EXPECT_EQ(said["class"], "B");
  EXPECT_EQ(said["lease_times"], true);
}

TEST(Audit, WithTheProducersHistoryItIsWhole) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--payload", "1", "--history", "run.jsonl"}).status, 0);
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--jsonl", "-", "--history", "run.jsonl"}, {.input = "2\n3\n"}).status, 0);
  drain(place, "exit 0", {"--history", "run.jsonl"});
  const Json said = answer(place, {"audit", "run.jsonl", "--whole", "--drained"});
  EXPECT_EQ(said["violations"], 0);
  EXPECT_EQ(said["recorders"], 3);
  EXPECT_EQ(said["jobs"], 3);
}

TEST(Audit, HoldersOfLocksWriteWhatTheySawAndAFenceThatWentBackIsFound) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"lock", "deploy", "--history", "locks.jsonl", "--", "true"}).status, 0);
  ASSERT_EQ(place.fenceline({"elect", "deploy", "--history", "locks.jsonl", "--", "true"}).status, 0);
  const Json said = answer(place, {"audit", "locks.jsonl", "--whole"});
  EXPECT_EQ(said["violations"], 0);
  EXPECT_EQ(said["locks"], 1);
  EXPECT_EQ(said["grants"], 2);
  EXPECT_EQ(said["unknown"], 0);

  std::string text = Workplace::read(place.file("locks.jsonl"));
  EXPECT_TRUE(has(text, R"("e":"started")")) << text;
  EXPECT_TRUE(has(text, R"("outcome":"done")")) << text;
  const std::string fence = R"("fence":)";
  const std::string last = text.substr(text.rfind(fence) + fence.size(), 16);
  for (std::size_t at = text.find(last); at != std::string::npos; at = text.find(last, at))
    text.replace(at, last.size(), "7");
  const Ended ended = place.fenceline({"audit", "-"}, {.input = text});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(has(ended.out, "L2 broken: lock deploy was granted under fence 7 after ")) << ended.out << ended.err;
}

TEST(Audit, AProducerAddsNothingIfItsHistoryCannotBeWritten) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
  EXPECT_EQ(place.fenceline({"enqueue", "q", "--history", "."}).status, 74);
  EXPECT_TRUE(place.jobs().empty());
}

TEST(Audit, ABrokenPromiseIsNamedWithTheLinesThatShowIt) {
  const Workplace place;
  const Ended ended = place.fenceline({"audit", "-"}, {.input = kTwoHolders});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(has(ended.out, "L3 broken: job j was granted to b under fence 42 while a held it under fence 41\n"))
      << ended.out << ended.err;
  EXPECT_TRUE(has(ended.out, "stdin:5 ")) << ended.out;
}

TEST(Audit, AFileThatIsNotAHistoryIsBadInputAndAMissingFileIsNotFound) {
  const Workplace place;
  EXPECT_EQ(place.fenceline({"audit", "-"}, {.input = "{\"e\":\"ok\"}\n"}).status, 65);
  EXPECT_EQ(place.fenceline({"audit", "-"}, {.input = ""}).status, 65);
  EXPECT_EQ(place.fenceline({"audit", "nothing.jsonl"}).status, 66);
  EXPECT_EQ(place.fenceline({"audit", "-", "--class", "E"}, {.input = kTwoHolders}).status, 64);
  EXPECT_EQ(place.fenceline({"audit"}).status, 64);
}

TEST(Audit, AWorkerWritesIntoNoFileThatIsNotAHistory) {
  const Workplace place;
  const std::string id = enqueue(place);
  const Ended made = place.fenceline({"work", "q", "--drain", "--history", ".", "--", "true"});
  EXPECT_EQ(made.status, 74) << made.err;
  EXPECT_EQ(show(place, id)["state"], "ready");
}

}  // namespace
}  // namespace fenceline::e2e
