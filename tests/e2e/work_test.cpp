// `fenceline work` as people run it: several processes on one store, stopped, killed, woken.
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <set>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

void enqueue_for_work(const Workplace& place, int count, const std::string& payload = "null") {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += payload + "\n";
  const Ended ended = place.fenceline({"enqueue", "q", "--jsonl", "-"}, {.input = lines});
  ASSERT_EQ(ended.status, 0) << ended.err;
}

Json last_event(const std::string& log, const std::string& name) {
  Json found;
  for (const std::string& line : lines_of(log)) {
    const Json event = Json::parse(line, nullptr, false);
    if (event.is_object() && event["event"] == name) found = event;
  }
  return found;
}

TEST(Work, GivesEachJobToACommandAndKeepsItsResult) {
  const Workplace place;
  enqueue_for_work(place, 5, R"({"to":"a"})");
  const Ended ended = place.fenceline({"work", "q", "--drain", "--json", "--", "cat"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  EXPECT_EQ(report["done"], 5);
  EXPECT_EQ(report["claimed"], 5);
  EXPECT_EQ(lines_of(ended.err).back(), "fenceline: 5 done, 0 failed");
  for (const Json& job : place.jobs()) {
    EXPECT_EQ(job["state"], "done");
    EXPECT_EQ(Json::parse(place.fenceline({"job", "show", job["id"], "--json"}).out)["result"], R"({"to":"a"})");
  }
  EXPECT_EQ(place.fenceline({"workers", "list", "--json"}).out.find("\"pid\""), std::string::npos)
      << "it leaves the registry";
}

TEST(Work, AnExitStatusDecides) {
  const Workplace place;
  for (const char* status : {"0", "65", "75", "3"})
    ASSERT_EQ(place.fenceline({"enqueue", "q", "--payload", status, "--max-attempts", "1"}).status, 0);
  const Ended ended =
      place.fenceline({"work", "q", "--drain", "--json", "--", "sh", "-c", "read s; echo why $s >&2; exit $s"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  EXPECT_EQ(report["done"], 1);
  EXPECT_EQ(report["failed"], 2);
  EXPECT_EQ(report["later"], 1);
  EXPECT_EQ(report["ahead"], 1);
  const Json jobs = place.jobs();
  EXPECT_EQ(jobs[0]["state"], "done");
  EXPECT_EQ(jobs[1]["state"], "dead");
  EXPECT_EQ(jobs[1]["error"], "exit status 65: why 65");
  EXPECT_EQ(jobs[2]["state"], "ready");
  EXPECT_EQ(jobs[2]["laters"], 1);
  EXPECT_EQ(jobs[3]["state"], "dead");
  EXPECT_EQ(jobs[3]["error"], "exit status 3: why 3");
}

TEST(Work, J2_SeveralWorkersShareAQueueAndRunEachJobOnce) {
  const Workplace place;
  enqueue_for_work(place, 60);
  std::vector<std::unique_ptr<Running>> workers;
  for (int i = 0; i < 3; ++i)
    workers.push_back(
        place.start({"work", "q", "--drain", "--concurrency", "2", "--", "sh", "-c", "echo $FENCELINE_JOB >> ran"}));
  for (const auto& worker : workers) {
    const Ended ended = worker->wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
  const std::vector<std::string> ran = lines_of(Workplace::read(place.file("ran")));
  EXPECT_EQ(ran.size(), 60U);
  EXPECT_EQ(std::set<std::string>(ran.begin(), ran.end()).size(), 60U);
}

TEST(Work, AnEnqueueOfAnotherProcessWakesAnIdleWorker) {
  const Workplace place;
  enqueue_for_work(place, 1);
  const auto worker = place.start({"work", "q", "--", "sh", "-c", "echo >> ran"});
  ASSERT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("ran"))).size() == 1; }));
  enqueue_for_work(place, 1);
  EXPECT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("ran"))).size() == 2; }));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
}

TEST(Work, AGracefulStopGivesRunningJobsBackUnharmed) {
  const Workplace place;
  enqueue_for_work(place, 3);
  const auto worker = place.start({"work", "q", "--concurrency", "2", "--drain-timeout", "0s", "--ttl", "5s", "--",
                                   "sh", "-c", "echo >> ran; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("ran"))).size() == 2; }));
  worker->signal(SIGTERM);
  const Ended ended = worker->wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(last_event(ended.err, "worker_exit")["status"], "success") << ended.err;
  for (const Json& job : place.jobs()) {
    EXPECT_EQ(job["state"], "ready");
    EXPECT_EQ(job["failures"], 0);
    EXPECT_EQ(job["losses"], 0);
  }
}

TEST(Work, AGracefulStopLetsACommandFinishInTime) {
  const Workplace place;
  enqueue_for_work(place, 1);
  const auto worker = place.start({"work", "q", "--ttl", "2s", "--", "sh", "-c", "echo > ran; sleep 3; echo whole"});
  ASSERT_TRUE(eventually([&] { return !Workplace::read(place.file("ran")).empty(); }));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
  EXPECT_EQ(place.jobs()[0]["state"], "done");
}

TEST(Work, FailOnDeadIsStatus1IfAJobDied) {
  const Workplace place;
  const auto drain = [&](const std::string& status, bool asked) {
    EXPECT_EQ(place.fenceline({"enqueue", "q", "--payload", status, "--max-attempts", "1"}).status, 0);
    Words words{"work", "q", "--drain", "--json"};
    if (asked) words.push_back("--fail-on-dead");
    return place.fenceline(joined(words, {"--", "sh", "-c", "read s; exit $s"}));
  };
  EXPECT_EQ(drain("0", true).status, 0);
  EXPECT_EQ(drain("65", false).status, 0);
  const Ended died = drain("3", true);
  EXPECT_EQ(died.status, 1) << died.err;
  EXPECT_EQ(Json::parse(died.out)["dead"], 1);
  EXPECT_EQ(last_event(died.err, "job_dead")["level"], "warn");
  EXPECT_EQ(last_event(died.err, "job_dead")["exit_status"], 3);
  EXPECT_EQ(drain("65", true).status, 1);
}

// timeout(1) signals the program, and then its group, which it is in.
TEST(Work, TimeoutStopsItGracefully) {
  const Workplace place;
  enqueue(place);
  const Ended ended = place.run(
      {"timeout", "1", program(), "work", "q", "--", "sh", "-c", "echo > ran; sleep 2; echo whole; echo >> ended"});
  EXPECT_EQ(ended.status, 124) << ended.err;
  EXPECT_FALSE(Workplace::read(place.file("ended")).empty()) << ended.err;
  EXPECT_EQ(place.jobs()[0]["state"], "done") << ended.err;
  EXPECT_EQ(last_event(ended.err, "worker_exit")["status"], "success");
}

TEST(Work, ASecondSignalEndsItAtOnceOnlyHalfASecondAfterTheFirst) {
  const Workplace place;
  enqueue(place);
  const auto worker = place.start({"work", "q", "--ttl", "60s", "--", "sh", "-c", "echo > ran; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !Workplace::read(place.file("ran")).empty(); }));
  for (int i = 0; i < 5; ++i) worker->signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return has(worker->err(), "worker_draining"); }));
  const auto is_over = [&] {
    const std::string stat = Workplace::read("/proc/" + std::to_string(worker->pid()) + "/stat");
    return stat.empty() || has(stat, ") Z ");
  };
  EXPECT_FALSE(is_over());
  EXPECT_TRUE(eventually([&] {
    worker->signal(SIGTERM);
    return is_over();
  }));
  EXPECT_EQ(worker->wait().status, 143);
}

TEST(Work, AJobOfAKilledWorkerIsTakenOverUnderALargerFence) {
  const Workplace place;
  enqueue_for_work(place, 1);
  const auto first =
      place.start({"work", "q", "--ttl", "1s", "--", "sh", "-c", "echo $FENCELINE_FENCE >> fences; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !Workplace::read(place.file("fences")).empty(); }));
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait().status, 128 + SIGKILL);
  const Ended second = place.fenceline(
      {"work", "q", "--ttl", "1s", "--drain", "--", "sh", "-c", "echo $FENCELINE_FENCE >> fences; echo done"});
  ASSERT_EQ(second.status, 0) << second.err;
  const std::vector<std::string> fences = lines_of(Workplace::read(place.file("fences")));
  ASSERT_EQ(fences.size(), 2U);
  EXPECT_GT(std::stoll(fences[1]), std::stoll(fences[0]));
  const Json acquired = last_event(second.err, "lease_acquired");
  EXPECT_EQ(acquired["forced"], true) << second.err;
  EXPECT_EQ(acquired["delivery"], 2);
  const Json job = place.jobs()[0];
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(job["losses"], 1);
}

TEST(Work, WhatACommandSaysToStderrArrivesInWholeLines) {
  const Workplace place;
  enqueue_for_work(place, 20);
  const Ended ended = place.fenceline({"work", "q", "--drain", "--concurrency", "4", "--", "sh", "-c",
                                       "printf 'half '; printf 'one ' >&2; printf 'line' >&2"});
  int whole = 0;
  for (const std::string& line : lines_of(ended.err)) {
    if (line == "one line") ++whole;
    else EXPECT_TRUE(line.starts_with("{") || line.starts_with("fenceline: ")) << line;
  }
  EXPECT_EQ(whole, 20);
}

}  // namespace
}  // namespace fenceline::e2e
