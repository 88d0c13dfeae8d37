// `fenceline job ...`: looking, waiting, following, stopping, trying again.
#include <signal.h>

#include <chrono>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUnknown = "01890000-0000-7000-8000-000000000000";

TEST(JobShow, TellsHowEachAttemptWent) {
  const Workplace place;
  const std::string id = enqueue(place, {"--max-attempts", "2", "--backoff", "0s"});
  drain(place, "echo no route >&2; exit 3");
  const Json job = show(place, id);
  EXPECT_EQ(job["state"], "dead");
  EXPECT_EQ(job["exit_status"], 3);
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(job["attempts"][0]["delivery"], 1);
  EXPECT_EQ(job["attempts"][0]["end"], "failed");
  EXPECT_EQ(job["attempts"][0]["exit_status"], 3);
  EXPECT_TRUE(has(job["attempts"][1]["error"], "no route")) << job;
  EXPECT_LT(job["attempts"][0]["fence"].get<std::int64_t>(), job["attempts"][1]["fence"].get<std::int64_t>());
  EXPECT_TRUE(has(place.fenceline({"job", "show", id}).out, "\nattempt 2\t")) << "people see them too";
}

TEST(JobWait, ItsStatusIsTheJobs) {
  const Workplace place;
  const std::string done = enqueue(place, {"--payload", "0"});
  const std::string three = enqueue(place, {"--payload", "3", "--max-attempts", "1"});
  const std::string dead = enqueue(place, {"--payload", "65"});
  const std::string cancelled = enqueue(place, {"--delay", "1h"});
  const std::string ahead = enqueue(place, {"--delay", "1h"});
  ASSERT_EQ(place.fenceline({"job", "cancel", cancelled}).status, 0);
  drain(place, "read s; printf 'result %s' $s; echo why >&2; exit $s");

  const Ended good = place.fenceline({"job", "wait", done});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(good.out, "result 0") << "byte for byte";
  EXPECT_EQ(good.err, "");
  const Ended failed = place.fenceline({"job", "wait", three});
  EXPECT_EQ(failed.status, 3);
  EXPECT_EQ(failed.out, "");
  EXPECT_TRUE(one_line(failed.err) && has(failed.err, "is dead") && has(failed.err, "why")) << failed.err;
  EXPECT_EQ(place.fenceline({"job", "wait", dead}).status, 65);
  EXPECT_EQ(place.fenceline({"job", "wait", cancelled}).status, 1);
  const Ended late = place.fenceline({"job", "wait", ahead, "--timeout", "100ms"});
  EXPECT_EQ(late.status, 75);
  EXPECT_TRUE(one_line(late.err)) << late.err;
  EXPECT_EQ(place.fenceline({"job", "wait", kUnknown}).status, 66);
  EXPECT_EQ(place.fenceline({"job", "wait", ahead, kUnknown}).status, 66) << "a mistyped id does not wait for its turn";
  EXPECT_EQ(place.fenceline({"job", "wait", done, three}).status, 3);
  EXPECT_EQ(answer(place, {"job", "wait", done})["result"], "result 0");
}

TEST(JobWait, EndsWhenTheJobDoes) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto waiting = place.start({"job", "wait", id});
  drain(place, "echo whole");
  const Ended ended = waiting->wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "whole\n");
}

TEST(JobWait, CtrlCEndsIt) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto waiting = place.start({"job", "wait", id}, {.env = {{"FENCELINE_LOG", "debug"}}});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("fenceline.db-wake")); }));
  waiting->signal(SIGINT);
  EXPECT_EQ(waiting->wait().status, 130);
}

TEST(JobCancel, TheProcessOfARunningJobIsStoppedWithinASecondOrSo) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto worker = place.start({"work", "q", "--concurrency", "1", "--drain-timeout", "0s", "--", "sh", "-c",
                                   "echo $$ >> pids; exec sleep 1000"});
  const auto pids = [&] { return lines_of(Workplace::read(place.file("pids"))); };
  ASSERT_TRUE(eventually([&] { return pids().size() == 1; })) << worker->err();
  const std::int64_t fence = show(place, id)["fence"];
  const auto asked = Clock::now();
  const Ended cancelled = place.fenceline({"job", "cancel", id, "--reason", "wrong address", "--as", "ana"});
  EXPECT_EQ(cancelled.status, 0) << cancelled.err;
  EXPECT_EQ(trimmed(cancelled.out), id);
  const Json job = show(place, id);
  EXPECT_EQ(job["state"], "cancelled");
  EXPECT_GT(job["fence"].get<std::int64_t>(), fence) << "its writes are refused from now on";
  EXPECT_TRUE(eventually([&] { return ::kill(std::stoi(pids().at(0)), 0) != 0; })) << "its process lives on";
  EXPECT_LT(Clock::now() - asked, std::chrono::seconds{4}) << "a second, and time for the programs of this test";
  EXPECT_TRUE(eventually([&] { return !explained(place, id).contains("slot"); })) << "its slot is free when it stopped";
  enqueue(place);
  EXPECT_TRUE(eventually([&] { return pids().size() == 2; })) << "the worker goes on";
  const Json trail = answer(place, {"trail"})["trail"];
  EXPECT_EQ(trail.back()["act"], "job_cancelled");
  EXPECT_EQ(trail.back()["actor"], "ana");
  EXPECT_EQ(trail.back()["reason"], "wrong address");
  EXPECT_EQ(trail.back()["subject"], id);
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
}

TEST(JobCancel, FinishedAndUnknownJobsAreRefusedAndTheOthersAreCancelled) {
  const Workplace place;
  const std::string done = enqueue(place);
  drain(place, "true");
  const std::string ready = enqueue(place);
  const Ended finished = place.fenceline({"job", "cancel", done});
  EXPECT_EQ(finished.status, 65);
  EXPECT_TRUE(one_line(finished.err) && has(finished.err, done)) << finished.err;
  EXPECT_EQ(place.fenceline({"job", "cancel", kUnknown}).status, 66);
  EXPECT_EQ(place.fenceline({"job", "cancel", "x"}).status, 65);
  EXPECT_EQ(place.fenceline({"job", "cancel"}).status, 64);
  const Ended both = place.fenceline({"job", "cancel", done, ready, "--json"});
  EXPECT_EQ(both.status, 65);
  const Json json = Json::parse(both.out);
  EXPECT_EQ(json["ids"], (Json{ready}));
  EXPECT_EQ(json["refused"][0]["id"], done);
  EXPECT_EQ(json["refused"][0]["reason"], "finished");
  EXPECT_EQ(show(place, ready)["state"], "cancelled");
  EXPECT_EQ(show(place, done)["state"], "done");
  EXPECT_EQ(place.fenceline({"job", "cancel", ready}).status, 0) << "again: it is as asked for";
}

TEST(JobRetry, ADeadJobStartsAnewAndADelayedOneIsDueNow) {
  const Workplace place;
  const std::string dead = enqueue(place, {"--max-attempts", "1"});
  drain(place, "exit 1");
  const std::string delayed = enqueue(place, {"--delay", "1h"});
  EXPECT_EQ(place.fenceline({"job", "retry", dead, delayed}).out, dead + "\n" + delayed + "\n");
  EXPECT_EQ(show(place, dead)["failures"], 0);
  drain(place, "true");
  EXPECT_EQ(show(place, dead)["state"], "done");
  EXPECT_EQ(show(place, delayed)["state"], "done");
  EXPECT_EQ(place.fenceline({"job", "retry", dead}).status, 65) << "a finished job stays finished";
}

TEST(JobRetry, J6_OntoATakenKeyIsRefusedAndNamesTheHolder) {
  const Workplace place;
  const std::string dead = enqueue(place, {"--key", "k", "--max-attempts", "1"});
  drain(place, "exit 1");
  const std::string holder = enqueue(place, {"--key", "k"});
  ASSERT_NE(holder, dead);
  const Ended ended = place.fenceline({"job", "retry", dead});
  EXPECT_EQ(ended.status, 65);
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, holder)) << ended.err;
  EXPECT_TRUE(has(explained(place, dead)["key_taken"], holder));
}

TEST(JobLogs, ShowsWhatTheHandlerSaidAndFollowsUntilItsEnd) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto following = place.start({"job", "logs", "-f", id});
  const auto worker = place.start({"work", "q", "--drain", "--", "sh", "-c",
                                   "echo first >&2; while ! [ -e go ]; do sleep 0.05; done; echo last >&2"});
  EXPECT_TRUE(eventually([&] { return following->out() == "first\n"; })) << following->out() << following->err();
  place.write("go", "");
  const Ended followed = following->wait();
  EXPECT_EQ(followed.status, 0) << followed.err;
  EXPECT_EQ(followed.out, "first\nlast\n");
  EXPECT_EQ(worker->wait().status, 0);
  EXPECT_EQ(place.fenceline({"job", "logs", id}).out, "first\nlast\n");
  std::string texts;
  for (const std::string& line : lines_of(place.fenceline({"job", "logs", id, "--json"}).out)) {
    const Json chunk = Json::parse(line);
    EXPECT_EQ(chunk["delivery"], 1);
    texts += chunk["text"].get<std::string>();
  }
  EXPECT_EQ(texts, "first\nlast\n");
  EXPECT_EQ(place.fenceline({"job", "logs", kUnknown}).status, 66);
}

TEST(JobShow, TellsHowFarTheHandlerIs) {
  const Workplace place;
  const std::string id = enqueue(place);
  drain(place, "\"" + program() + "\" progress 40 'page 4 of 10'");
  EXPECT_EQ(show(place, id)["progress"], (Json{{"percent", 40}, {"note", "page 4 of 10"}}));
  EXPECT_TRUE(has(place.fenceline({"job", "show", id}).out, "progress\t40% page 4 of 10\n"));
}

TEST(JobExplain, NamesEachReason) {
  const Workplace place;
  const std::string head = enqueue(place, {"--group", "g", "--delay", "1h"});
  const std::string behind = enqueue(place, {"--group", "g"});
  EXPECT_TRUE(has(explained(place, head)["not_yet"], "it is scheduled to run in "));
  EXPECT_TRUE(has(explained(place, behind)["group"], "behind job " + head + " of its group 'g'"));
  EXPECT_TRUE(has(explained(place, behind)["no_worker"], "fenceline work q -- CMD"));

  ASSERT_EQ(place.fenceline({"queue", "pause", "q", "--as", "ana", "--reason", "mail server moves"}).status, 0);
  EXPECT_TRUE(has(explained(place, behind)["paused"], "paused by ana since ")) << explained(place, behind)["paused"];
  EXPECT_TRUE(has(explained(place, behind)["paused"], "(mail server moves)"));
  ASSERT_EQ(place.fenceline({"queue", "resume", "q"}).status, 0);
  EXPECT_FALSE(explained(place, behind).contains("paused"));
  const Ended words = place.fenceline({"job", "explain", behind});
  EXPECT_EQ(lines_of(words.out).front(), "job " + behind + " of queue q is ready");
  EXPECT_TRUE(has(words.out, "\n- it is behind job ")) << words.out;
  EXPECT_EQ(place.fenceline({"job", "explain", kUnknown}).status, 66);
}

TEST(JobExplain, NamesWhoHoldsALeaseAndALimit) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"queue", "set", "q", "--limit", "2", "--limit-per-key", "1"}).status, 0);
  const std::string first = enqueue(place, {"--limit-key", "l"});
  const std::string second = enqueue(place);
  const auto worker = place.start(
      {"work", "q", "--concurrency", "4", "--drain-timeout", "0s", "--", "sh", "-c", "echo >> ran; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("ran"))).size() == 2; })) << worker->err();
  const std::string third = enqueue(place, {"--limit-key", "l"});
  const std::string leased = explained(place, first)["leased"];
  const Json job = show(place, first);
  EXPECT_TRUE(has(leased, "leased by " + job["owner"].get<std::string>() + " under fence " +
                              std::to_string(job["fence"].get<std::int64_t>())))
      << leased;
  const auto reasons = explained(place, third);
  EXPECT_TRUE(has(reasons.at("limit"), first) && has(reasons.at("limit"), second)) << reasons.at("limit");
  EXPECT_TRUE(has(reasons.at("limit_key"), first)) << reasons.at("limit_key");
  EXPECT_FALSE(reasons.contains("no_worker"));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
}

TEST(JobExplain, SaysHowAFinishedJobEnded) {
  const Workplace place;
  const std::string done = enqueue(place, {"--payload", "0"});
  const std::string used_up = enqueue(place, {"--payload", "1", "--max-attempts", "1"});
  const std::string at_once = enqueue(place, {"--payload", "65"});
  const std::string cancelled = enqueue(place, {"--delay", "1h"});
  ASSERT_EQ(place.fenceline({"job", "cancel", cancelled, "--as", "ana", "--reason", "too late"}).status, 0);
  const std::string purged = enqueue(place, {"--delay", "1h", "--tag", "purged"});
  drain(place, "read s; exit $s");
  ASSERT_EQ(place.fenceline({"queue", "purge", "q", "--yes", "--as", "bob"}).status, 0);
  EXPECT_TRUE(has(explained(place, purged)["cancelled"], "it was cancelled by bob at "))
      << explained(place, purged)["cancelled"];
  EXPECT_TRUE(explained(place, done).contains("done"));
  EXPECT_TRUE(has(explained(place, used_up)["attempts_used_up"], "its one attempt is used up"));
  EXPECT_TRUE(explained(place, at_once).contains("dead_at_once"));
  EXPECT_TRUE(has(explained(place, cancelled)["cancelled"], "it was cancelled by ana (too late) at "))
      << explained(place, cancelled)["cancelled"];
}

}  // namespace
}  // namespace fenceline::e2e
