// What every store promises about queues as people set and see them: pause, purge, settings, depths; and about what
// explains a job.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(QueueConformance, APausedQueueGrantsNothing) {
  const JobId id = added(new_job());
  added(new_job("r"));
  pause();
  EXPECT_TRUE(claimed(asking("a", 10)).empty());
  ClaimRequest both = asking("a", 10);
  both.queues = {"q", "r"};
  EXPECT_EQ(claimed(both).size(), 1u);
  resume();
  claimed_as_next(id);
}

TEST_P(QueueConformance, APausedQueueGrantsNoTakeoverAndBuriesNobody) {
  const JobId lossy = added(new_job());
  lose(lossy, 4);
  const JobId other = added(new_job());
  claimed_as_next(lossy);
  claimed_as_next(other);
  let_time_pass(kTtl);
  pause();
  EXPECT_TRUE(claimed(asking("b", 10)).empty());
  EXPECT_EQ(look(lossy).state, JobState::running);
  resume();
  EXPECT_EQ(claimed_ids(asking("b", 10)), std::vector{other});
  EXPECT_EQ(look(lossy).state, JobState::dead);
}

TEST_P(QueueConformance, WhatRunsInAPausedQueueGoesOn) {
  added(new_job());
  const ClaimRequest request = asking("a");
  const ClaimedJob claim = claimed(request).at(0);
  pause();
  EXPECT_EQ(extended("a", holding_of(claim)), "");
  EXPECT_EQ(claimed(request).size(), 1u) << "a repeat still returns it";
  EXPECT_EQ(ended(claim), "");
  EXPECT_EQ(look(claim.job.id).state, JobState::done);
}

TEST_P(QueueConformance, TheFirstPauseStays) {
  added(new_job());
  const WallTime at = wall();
  must(store().pause({.ns = "default", .queue = "q", .act = {"ann", "first"}}));
  let_time_pass(1s);
  must(store().pause({.ns = "default", .queue = "q", .act = {"ben", "second"}}));
  EXPECT_EQ(queue_row().paused, (QueuePause{at, "ann", "first"}));
  const WallTime resumed_at = wall();
  must(store().pause({.ns = "default", .queue = "q", .paused = false, .act = {"cem", "over"}}));
  must(store().pause({.ns = "default", .queue = "q", .paused = false, .act = {"cem", "over"}}));
  EXPECT_FALSE(queue_row().paused);
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{{at, "default", "ann", "queue_paused", "q", "first"},
                                              {resumed_at, "default", "cem", "queue_resumed", "q", "over"}}));
}

TEST_P(QueueConformance, AJobThatMustRunAloneIsNotWaitedForInAPausedQueue) {
  const JobId lossy = added(new_job());
  lose(lossy, 2);
  pause();
  ClaimRequest busy = asking("b");
  busy.holds_others = true;
  EXPECT_FALSE(must(store().claim(busy)).alone_waiting);
  resume();
  busy = asking("b");
  busy.holds_others = true;
  EXPECT_TRUE(must(store().claim(busy)).alone_waiting);
}

TEST_P(QueueConformance, SettingsAreKeptAndWhatIsEmptyStays) {
  set_queue({.limit = 3, .limit_per_key = 2, .keep_done = 24h, .keep_dead = 48h});
  set_queue({.limit = 5});
  EXPECT_EQ(queue_row().settings, (QueueSettings{5, 2, 24h, 48h}));
  added(new_job("r"));
  EXPECT_EQ(queue_row("r").settings, QueueSettings{});
  reopen();
  EXPECT_EQ(queue_row().settings, (QueueSettings{5, 2, 24h, 48h}));
}

TEST_P(QueueConformance, OnlyAChangedSettingStandsInTheTrail) {
  const WallTime at = wall();
  set_queue({.limit = 3, .keep_done = 36h});
  set_queue({.limit = 3});
  set_queue({});
  set_queue({.limit_per_key = 1, .keep_dead = 90min + 24h});
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{
                         {at, "default", "ann", "queue_set", "q limit=3 keep_done=36h", "because"},
                         {at, "default", "ann", "queue_set", "q limit_per_key=1 keep_dead=1530m", "because"}}));
}

TEST_P(QueueConformance, InvalidSettingsChangeNothing) {
  const std::vector<QueueChange> bad{{.limit = -1},         {.limit = kLimitMost + 1},
                                     {.limit_per_key = -1}, {.keep_done = 24h - kMoment},
                                     {.keep_dead = 1h},     {.keep_dead = 24h * 3661}};
  for (const QueueChange& change : bad)
    EXPECT_EQ(code_of(store().set_queue({.ns = "default", .queue = "q", .change = change, .act = kAct})),
              Code::invalid);
  EXPECT_EQ(code_of(store().set_queue({.ns = "default", .queue = "", .change = {}, .act = kAct})), Code::invalid);
  EXPECT_EQ(code_of(store().pause({.ns = "default", .queue = "a/b", .act = kAct})), Code::invalid);
  EXPECT_EQ(code_of(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .limit = 0, .act = kAct})),
            Code::invalid);
  EXPECT_EQ(code_of(store().queues("a b")), Code::invalid);
  EXPECT_TRUE(must(store().queues("default")).empty());
  EXPECT_TRUE(trail().empty());
}

TEST_P(QueueConformance, QueuesAreKnownByAJobASettingOrAPause) {
  added(new_job("jobs"));
  set_queue({.limit = 1}, "set");
  set_queue({}, "asked");
  set_queue({.keep_done = kKeepDoneDefault}, "default");
  pause("paused");
  resume("resumed");
  must(store().purge({.ns = "default", .queue = "purged", .up_to = kAllOfThem, .act = kAct}));
  NewJob staged = new_job("jobs");
  staged.stage = "review";
  added(staged);
  std::vector<std::string> names;
  for (const QueueRow& row : must(store().queues("default"))) names.push_back(row.queue);
  EXPECT_EQ(names, (std::vector<std::string>{"jobs", "paused", "set"}));
  EXPECT_TRUE(must(store().queues("other")).empty());
  must(store().remove_namespace("default", kAct));
  EXPECT_TRUE(must(store().queues("default")).empty());
}

TEST_P(QueueConformance, J4_DepthsFollowEveryKindOfAct) {
  const auto depths = [&] {
    const QueueRow row = queue_row();
    return std::vector<std::int64_t>(row.depth.begin(), row.depth.end());
  };
  // ready, running, waiting, done, dead, cancelled
  using Depths = std::vector<std::int64_t>;
  std::vector<JobId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(added(new_job()));
  NewJob staged = new_job();
  staged.stage = "review";
  staged.delay = 1h;
  added(staged);
  EXPECT_EQ(depths(), (Depths{7, 0, 0, 0, 0, 0}));
  const ClaimRequest request = asking("a", 6);
  std::vector<ClaimedJob> claims = claimed(request);
  EXPECT_EQ(depths(), (Depths{1, 6, 0, 0, 0, 0}));
  EXPECT_EQ(ended(claims[0]), "");
  EXPECT_EQ(ended(claims[1], {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(ended(claims[2], {.kind = OutcomeKind::failed, .retry_in = 1h}), "");
  EXPECT_EQ(depths(), (Depths{2, 3, 0, 1, 1, 0}));
  EXPECT_EQ(cancelled(ids[3]), "");
  EXPECT_EQ(retried(ids[4]), "");
  EXPECT_EQ(depths(), (Depths{3, 1, 0, 1, 1, 1}));
  must(give_back(request));
  EXPECT_EQ(depths(), (Depths{4, 0, 0, 1, 1, 1}));
  EXPECT_EQ(retried(ids[1]), "");
  EXPECT_EQ(retried(ids[3]), "");
  EXPECT_EQ(depths(), (Depths{6, 0, 0, 1, 0, 0}));
  must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .limit = 4, .act = kAct}));
  EXPECT_EQ(depths(), (Depths{2, 0, 0, 1, 0, 4}));
  let_time_pass(24h * 7);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(depths(), (Depths{2, 0, 0, 0, 0, 4}));
  let_time_pass(24h * 23);
  EXPECT_EQ(tidied(), 4);
  EXPECT_EQ(depths(), (Depths{2, 0, 0, 0, 0, 0}));
}

TEST_P(QueueConformance, J4_DepthsFollowLossAndBurial) {
  const JobId id = added(new_job());
  lose(id, 5);
  EXPECT_EQ(queue_row().depth_of(JobState::running), 1);
  EXPECT_TRUE(claimed(asking("buries")).empty());
  EXPECT_EQ(queue_row().depth_of(JobState::running), 0);
  EXPECT_EQ(queue_row().depth_of(JobState::dead), 1);
}

TEST_P(QueueConformance, AQueueIsGoneWhenWhatMadeItKnownIsTakenBackOrOver) {
  pause("mistaken");
  resume("mistaken");
  set_queue({.limit = 1}, "set");
  set_queue({.limit = 0}, "set");
  const JobId id = added(new_job("used"));
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(queue_row("used").depth_of(JobState::cancelled), 1);
  EXPECT_EQ(must(store().queues("default")).size(), 1u);
  let_time_pass(kKeepDeadDefault);
  EXPECT_EQ(tidied(), 1);
  EXPECT_TRUE(must(store().queues("default")).empty());
}

TEST_P(QueueConformance, ReadyJobsWhoseTimeLiesAheadAreCountedApart) {
  NewJob late = new_job();
  late.delay = 1h;
  added(late);
  late = new_job();
  late.delay = 2h;
  late.priority = 7;
  late.stage = "review";
  added(late);
  added(new_job());
  EXPECT_EQ(queue_row().depth_of(JobState::ready), 3);
  EXPECT_EQ(queue_row().ahead, 2);
  let_time_pass(1h);
  EXPECT_EQ(queue_row().ahead, 1);
}

TEST_P(QueueConformance, TheOldestReadyJobIsTheOneDueLongestBlockedOnesIncluded) {
  EXPECT_TRUE(must(store().queues("default")).empty());
  NewJob late = new_job();
  late.delay = 1h;
  added(late);
  EXPECT_FALSE(queue_row().oldest_ready_at);
  let_time_pass(1s);
  NewJob due = new_job();
  due.priority = -9;
  added(due);
  const WallTime first = wall();
  let_time_pass(1s);
  added(new_job());
  pause();
  EXPECT_EQ(queue_row().oldest_ready_at, first);
  EXPECT_EQ(cancelled(due.id), "");
  EXPECT_EQ(queue_row().oldest_ready_at, first + 1s);
}

TEST_P(QueueConformance, APurgeCancelsTheOldestReadyJobsOfAllStages) {
  const JobId running = added(new_job());
  claimed_as_next(running);
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    NewJob job = new_job();
    if (i == 1) job.stage = "review";
    if (i == 2) job.delay = 1h;
    job.priority = i;
    ids.push_back(added(job));
  }
  const JobId elsewhere = added(new_job("r"));
  PurgeReply reply = must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .limit = 3, .act = kAct}));
  EXPECT_EQ(reply.cancelled, 3);
  EXPECT_TRUE(reply.more);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(ids[static_cast<std::size_t>(i)]).state, JobState::cancelled);
  EXPECT_EQ(look(ids[3]).state, JobState::ready);
  const WallTime at = wall();
  reply = must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct}));
  EXPECT_EQ(reply.cancelled, 1);
  EXPECT_FALSE(reply.more);
  reply = must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct}));
  EXPECT_EQ(reply.cancelled, 0);
  EXPECT_EQ(look(running).state, JobState::running);
  EXPECT_EQ(look(elsewhere).state, JobState::ready);
  EXPECT_EQ(look(ids[3]).finished_at, at);
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{{at, "default", "ann", "queue_purged", "q: 3 jobs", "because"},
                                              {at, "default", "ann", "queue_purged", "q: 1 jobs", "because"}}));
}

TEST_P(QueueConformance, J1_APurgeLeavesWhatCameAfterItWasDecided) {
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  const std::int64_t newest = queue_row().newest;
  const JobId later = added(new_job());
  const PurgeReply step =
      must(store().purge({.ns = "default", .queue = "q", .up_to = newest, .limit = 1, .act = kAct}));
  EXPECT_EQ(step.cancelled, 1);
  EXPECT_TRUE(step.more);
  for (int repeats = 0; repeats < 2; ++repeats)
    must(store().purge({.ns = "default", .queue = "q", .after = step.next, .up_to = newest, .limit = 1, .act = kAct}));
  EXPECT_EQ(look(first).state, JobState::cancelled);
  EXPECT_EQ(look(second).state, JobState::cancelled);
  EXPECT_EQ(look(later).state, JobState::ready) << "a repeat goes no further either";
}

TEST_P(QueueConformance, J1_APurgedJobIsStillMetByItsRepeat) {
  const NewJob job = new_job();
  added(job);
  must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct}));
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {job}})).existing, 1);
  EXPECT_EQ(look(job.id).state, JobState::cancelled);
}

TEST_P(QueueConformance, ListingsFilterByTag) {
  NewJob red = new_job();
  red.tags = {"blue", "red"};
  added(red);
  NewJob blue = new_job("r");
  blue.tags = {"blue"};
  added(blue);
  added(new_job());
  EXPECT_EQ(ids_of(must(store().jobs({.ns = "default", .tag = "blue"})).jobs), (std::vector{red.id, blue.id}));
  EXPECT_EQ(ids_of(must(store().jobs({.ns = "default", .tag = "red"})).jobs), std::vector{red.id});
  EXPECT_EQ(ids_of(must(store().jobs({.ns = "default", .queue = "r", .tag = "blue"})).jobs), std::vector{blue.id});
  EXPECT_TRUE(must(store().jobs({.ns = "default", .tag = "re"})).jobs.empty());
  EXPECT_EQ(cancelled(red.id), "");
  EXPECT_EQ(ids_of(must(store().jobs({.ns = "default", .state = JobState::cancelled, .tag = "blue"})).jobs),
            std::vector{red.id});
  const JobsReply page = must(store().jobs({.ns = "default", .tag = "blue", .limit = 1}));
  ASSERT_TRUE(page.next);
  EXPECT_EQ(ids_of(must(store().jobs({.ns = "default", .tag = "blue", .after = *page.next})).jobs),
            std::vector{blue.id});
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .tag = "a\nb"})), Code::invalid);
}

TEST_P(QueueConformance, NobodyExplainsAJobThatIsNotThere) {
  EXPECT_EQ(must(store().facts("default", new_id())), std::nullopt);
  EXPECT_TRUE(must(store().attempts("default", new_id())).empty());
  EXPECT_EQ(code_of(store().facts("a b", new_id())), Code::invalid);
  EXPECT_EQ(code_of(store().attempts("a b", new_id())), Code::invalid);
}

TEST_P(QueueConformance, FactsOfAFreeJobNameNoReason) {
  const JobId id = added(new_job());
  JobFacts expected;
  expected.job = look(id);
  EXPECT_EQ(facts(id), expected);
}

TEST_P(QueueConformance, FactsNameTimePauseAndLossesOfAJob) {
  NewJob job = new_job();
  job.delay = 10s;
  added(job);
  EXPECT_EQ(facts(job.id).due_in, 10s);
  let_time_pass(10s);
  EXPECT_FALSE(facts(job.id).due_in);
  const WallTime at = wall();
  pause();
  EXPECT_EQ(facts(job.id).paused, (QueuePause{at, "ann", "because"}));
  resume();
  lose(job.id, 1);
  EXPECT_FALSE(facts(job.id).must_run_alone);
  lose(job.id, 1);
  EXPECT_TRUE(facts(job.id).must_run_alone) << "the loss at hand counts";
  EXPECT_EQ(facts(job.id).job.lease_left, 0s);
}

TEST_P(QueueConformance, FactsNameTheHeadOfTheGroup) {
  NewJob first = new_job();
  NewJob second = new_job();
  first.group = second.group = "g";
  first.delay = 1h;
  added(first);
  added(second);
  EXPECT_FALSE(facts(first.id).group_head);
  EXPECT_EQ(facts(second.id).group_head, first.id);
  EXPECT_FALSE(facts(second.id).group_head_revoked);
  EXPECT_EQ(cancelled(first.id), "");
  EXPECT_FALSE(facts(second.id).group_head);
  EXPECT_FALSE(facts(first.id).group_head) << "a finished job waits for nobody";
}

TEST_P(QueueConformance, FactsNameThoseWhoReachedALimitInTheOrderOfTheirEnqueue) {
  std::vector<JobId> ids;
  for (int i = 0; i < 12; ++i) {
    NewJob job = new_job();
    job.limit_key = "k";
    job.priority = i;
    ids.push_back(added(job));
  }
  NewJob waits = new_job();
  waits.limit_key = "k";
  waits.priority = -1;
  added(waits);
  EXPECT_EQ(claimed(asking("a", 12)).size(), 12u);
  EXPECT_EQ(facts(waits.id).limit, 0);
  set_queue({.limit = 12, .limit_per_key = 3});
  const JobFacts seen = facts(waits.id);
  const std::vector<JobId> ten(ids.begin(), ids.begin() + 10);
  EXPECT_EQ(seen.limit, 12);
  EXPECT_EQ(seen.limit_holders, ten);
  EXPECT_EQ(seen.limit_per_key, 3);
  EXPECT_EQ(seen.limit_key_holders, ten);
  EXPECT_EQ(facts(ids[0]).limit, 0) << "it has its slot";
  set_queue({.limit = 13});
  EXPECT_EQ(facts(waits.id).limit, 0);
  EXPECT_EQ(cancelled(ids[0]), "");
  EXPECT_EQ(facts(waits.id).limit_key_holders.front(), ids[0]) << "a revoked delivery still has its slot";
}

TEST_P(QueueConformance, FactsCountTheWorkersThatServeTheJob) {
  const JobId id = added(new_job());
  const auto report = [&](const std::string& owner, std::vector<std::string> queues, const std::string& stage) {
    must(store().report_worker(
        {.ns = "default", .owner = owner, .queues = std::move(queues), .stage = stage, .ttl = 10s}));
  };
  report("serves", {"r", "q"}, "");
  report("elsewhere", {"r"}, "");
  report("staged", {"q"}, "review");
  report("quiet", {"q"}, "");
  report("stops", {"q"}, "");
  EXPECT_EQ(facts(id).workers, 3);
  must(store().order_worker({.ns = "default", .owner = "quiet", .order = WorkerOrder::quiet, .act = kAct}));
  must(store().order_worker({.ns = "default", .owner = "stops", .order = WorkerOrder::stop, .act = kAct}));
  EXPECT_EQ(facts(id).workers, 1);
  EXPECT_EQ(facts(id).quiet_workers, std::vector<std::string>{"quiet"});
  let_time_pass(10s);
  EXPECT_EQ(facts(id).workers, 1);
  EXPECT_EQ(facts(id).quiet_workers, std::vector<std::string>{"quiet"});
  let_time_pass(kMoment);
  EXPECT_EQ(facts(id).workers, 0);
  EXPECT_TRUE(facts(id).quiet_workers.empty());
}

}  // namespace
}  // namespace fenceline::test
