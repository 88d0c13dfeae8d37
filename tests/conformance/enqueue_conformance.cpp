// What every store promises about adding jobs.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(JobConformance, J1_AnEnqueuedJobIsThereAsItWasSent) {
  const WallTime before = wall();
  NewJob job = new_job();
  job.stage = "review";
  job.priority = -7;
  job.delay = 90s;
  job.attempts_max = 3;
  added(job);

  const Job stored = look(job.id);
  EXPECT_EQ(stored.id, job.id);
  EXPECT_EQ(stored.queue, "q");
  EXPECT_EQ(stored.stage, "review");
  EXPECT_EQ(stored.payload, job.payload);
  EXPECT_EQ(stored.priority, -7);
  EXPECT_EQ(stored.attempts_max, 3);
  EXPECT_EQ(stored.state, JobState::ready);
  EXPECT_GE(stored.created_at, before);
  EXPECT_EQ(stored.run_at, stored.created_at + 90s);
  EXPECT_EQ(stored.fence, 0);
  EXPECT_EQ(stored.owner, "");
  EXPECT_EQ(stored.deliveries, 0);
  EXPECT_FALSE(stored.finished_at);
  EXPECT_FALSE(stored.lease_left);
  EXPECT_FALSE(stored.last_outcome);
}

TEST_P(JobConformance, J1_ARepeatedEnqueueAddsNothingAndSaysHowManyWereThere) {
  const EnqueueRequest request{.ns = "default", .jobs = {new_job(), new_job()}};
  EXPECT_EQ(must(store().enqueue(request)).existing, 0);
  const std::vector<Job> before = everything();
  let_time_pass(1s);
  EXPECT_EQ(must(store().enqueue(request)).existing, 2);
  EXPECT_EQ(everything(), before);
}

TEST_P(JobConformance, J1_ARepeatDoesNotReviveAFinishedJob) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob claim = claimed_by("a");
  ASSERT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done}), "");
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {job}})).existing, 1);
  EXPECT_EQ(look(job.id).state, JobState::done);
  EXPECT_TRUE(claimed(asking("b")).empty());
}

TEST_P(JobConformance, J1_ARepeatLeavesARunningJobWithItsHolder) {
  const NewJob job = new_job();
  added(job);
  const ClaimedJob claim = claimed_by("a");
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {job}})).existing, 1);
  EXPECT_EQ(extended("a", holding_of(claim)), "");
}

TEST_P(JobConformance, J1_AnIdThatBelongsToAnotherJobIsAConflict) {
  const NewJob first = new_job();
  added(first);
  const std::vector<Job> before = everything();
  NewJob other_payload = first;
  other_payload.payload = "{}";
  NewJob other_queue = first;
  other_queue.queue = "r";
  NewJob other_stage = first;
  other_stage.stage = "s";
  for (const NewJob& other : {other_payload, other_queue, other_stage}) {
    EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {other}})), Code::conflict);
  }
  EXPECT_EQ(everything(), before);
}

TEST_P(JobConformance, J1_PriorityAndDelayOfARepeatDoNotMatter) {
  const NewJob first = new_job();
  added(first);
  NewJob again = first;
  again.priority = 5;
  again.delay = 1h;
  again.attempts_max = 1;
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {again}})).existing, 1);
  EXPECT_EQ(look(first.id).priority, 0);
  EXPECT_EQ(look(first.id).attempts_max, kAttemptsMaxDefault);
}

TEST_P(JobConformance, J1_ABatchWithOneConflictAddsNone) {
  NewJob taken = new_job();
  added(taken);
  taken.payload = "[]";
  const std::vector<Job> before = everything();
  EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {new_job(), taken, new_job()}})), Code::conflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(JobConformance, J1_ABatchWithOneInvalidJobAddsNone) {
  NewJob bad = new_job();
  bad.payload = "{";
  EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {new_job(), bad}})), Code::invalid);
  EXPECT_TRUE(everything().empty());
}

TEST_P(JobConformance, J1_ABatchMayMixNewJobsAndRepeats) {
  const NewJob first = new_job();
  const NewJob second = new_job();
  added(first);
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {second, first}})).existing, 1);
  EXPECT_EQ(ids_of(everything()), (std::vector{first.id, second.id}));
}

TEST_P(JobConformance, J1_AnAcknowledgedJobOutlivesTheProcess) {
  const JobId id = added(new_job());
  const Job before = look(id);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(look(id), before);
}

TEST_P(JobConformance, AnEmptyBatchIsFine) {
  EXPECT_EQ(must(store().enqueue({.ns = "default"})).existing, 0);
  EXPECT_TRUE(everything().empty());
}

TEST_P(JobConformance, ABatchOfTenThousandGoesInAndOneMoreIsTooMany) {
  EnqueueRequest request{.ns = "default"};
  for (int i = 0; i < kBatchMax; ++i) request.jobs.push_back(new_job());
  EXPECT_EQ(must(store().enqueue(request)).existing, 0);
  EXPECT_EQ(everything().size(), static_cast<std::size_t>(kBatchMax));
  request.ns = "other";
  request.jobs.push_back(new_job());
  EXPECT_EQ(code_of(store().enqueue(request)), Code::invalid);
  EXPECT_TRUE(everything("other").empty());
}

TEST_P(JobConformance, InvalidEnqueuesChangeNothing) {
  const auto refused = [&](auto spoil, const std::string& ns = "default") {
    NewJob job = new_job();
    spoil(job);
    EXPECT_EQ(code_of(store().enqueue({.ns = ns, .jobs = {job}})), Code::invalid) << job.queue.substr(0, 20);
  };
  refused([](NewJob& job) { job.queue = ""; });
  refused([](NewJob& job) { job.queue = "../q"; });
  refused([](NewJob& job) { job.queue = std::string("q\0r", 3); });
  refused([](NewJob& job) { job.queue = "q\n"; });
  refused([](NewJob& job) { job.queue = std::string(10'240, 'q'); });
  refused([](NewJob& job) { job.stage = "a b"; });
  refused([](NewJob& job) { job.payload = ""; });
  refused([](NewJob& job) { job.payload = "\"\xff\""; });
  refused([](NewJob& job) { job.payload = "\"" + std::string(kPayloadBytesMax, 'x') + "\""; });
  refused([](NewJob& job) { job.payload = std::string(1'000'000, '['); });
  refused([](NewJob& job) { job.priority = kPriorityMost + 1; });
  refused([](NewJob& job) { job.priority = -kPriorityMost - 1; });
  refused([](NewJob& job) { job.delay = -1us; });
  refused([](NewJob& job) { job.delay = std::chrono::days{366} + 1us; });
  refused([](NewJob& job) { job.attempts_max = 0; });
  refused([](NewJob& job) { job.attempts_max = 1001; });
  refused([](NewJob&) {}, "");
  refused([](NewJob&) {}, "a/b");
  const NewJob twice = new_job();
  EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {twice, twice}})), Code::invalid);
  EXPECT_TRUE(everything().empty());
}

TEST_P(JobConformance, PayloadsAreKeptToTheByte) {
  NewJob odd = new_job();
  odd.payload = " {\"z\" : [1.0, 1e2, \"\\u0000\", \"\xc3\xa9\xf0\x9f\x8c\x8a\"],\n\t\"a\":'x'} ";
  odd.payload.replace(odd.payload.find("'x'"), 3, "\"%s'; DROP TABLE jobs; --\"");
  NewJob large = new_job();
  large.payload = "\"" + std::string(kPayloadBytesMax - 2, 'x') + "\"";
  NewJob deep = new_job();
  deep.payload = std::string(kPayloadDepthMax, '[') + std::string(kPayloadDepthMax, ']');
  for (const NewJob& job : {odd, large, deep}) {
    added(job);
    EXPECT_EQ(look(job.id).payload, job.payload);
  }
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 3));
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].job.payload, odd.payload);
  EXPECT_EQ(jobs[1].job.payload, large.payload);
}

TEST_P(JobConformance, TheLimitsThemselvesAreAllowed) {
  NewJob least = new_job();
  least.queue = std::string(kNameBytesMax, 'q');
  least.stage = "A9._-:";
  least.priority = -kPriorityMost;
  least.attempts_max = 1;
  NewJob most = new_job();
  most.priority = kPriorityMost;
  most.attempts_max = 1000;
  most.delay = std::chrono::days{366};
  added(least);
  added(most);
  EXPECT_EQ(look(least.id).queue, least.queue);
  EXPECT_EQ(look(most.id).run_at, look(most.id).created_at + std::chrono::days{366});
}

}  // namespace
}  // namespace fenceline::test
