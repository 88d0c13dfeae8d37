// What every store promises about unique keys (J6), the ids that stand for another job, and batch names.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPayload = "{\"to\":\"ann\",\"n\":1}";

NewJob keyed(JobId id, std::string payload = kPayload, Duration key_for = 0s) {
  return {.id = id, .queue = "q", .payload = std::move(payload), .key = "k", .key_for = key_for};
}

EnqueueRequest adding(std::vector<NewJob> jobs) { return {.ns = "default", .jobs = std::move(jobs)}; }

TEST_P(KeyConformance, J6_TheSameKeyAndPayloadIsTheFirstJob) {
  const NewJob first = keyed(new_id());
  EXPECT_EQ(must(store().enqueue(adding({first}))).ids, std::vector{first.id});
  const EnqueueReply again = must(store().enqueue(adding({keyed(new_id())})));
  EXPECT_EQ(again.existing, 1);
  EXPECT_EQ(again.ids, std::vector{first.id});
  EXPECT_EQ(ids_of(everything()), std::vector{first.id});
}

TEST_P(KeyConformance, J6_PayloadsAreComparedAsJsonValues) {
  const JobId first = added(keyed(new_id(), R"({"a":1,"b":[true,"\u00e9"]})"));
  const EnqueueReply again =
      must(store().enqueue(adding({keyed(new_id(), "{ \"b\": [true, \"\xc3\xa9\"], \"a\": 1.0 }")})));
  EXPECT_EQ(again.ids, std::vector{first});
}

TEST_P(KeyConformance, J6_AnotherPayloadIsAConflictThatNamesTheHolder) {
  const JobId first = added(keyed(new_id()));
  const Result<EnqueueReply> refused = store().enqueue(adding({new_job(), keyed(new_id(), "2")}));
  ASSERT_EQ(code_of(refused), Code::conflict);
  EXPECT_NE(refused.error().message.find(to_string(first)), std::string::npos) << refused.error().message;
  EXPECT_EQ(ids_of(everything()), std::vector{first}) << "all or none";
}

TEST_P(KeyConformance, J6_AConflictSaysInWhichStateTheHolderIs) {
  NewJob job = keyed(new_id());
  job.key_for = 1h;
  added(job);
  const auto says = [&](const std::string& state) {
    const Result<EnqueueReply> refused = store().enqueue(adding({keyed(new_id(), "2")}));
    return !refused && refused.error().message.contains(to_string(job.id) + " (" + state + ")");
  };
  EXPECT_TRUE(says("ready"));
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_TRUE(says("running"));
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::dead}), "");
  EXPECT_TRUE(says("dead")) << "its key_for counts after every finish";
  EXPECT_EQ(retried(job.id), "");
  EXPECT_EQ(cancelled(job.id), "");
  EXPECT_TRUE(says("cancelled"));
}

TEST_P(KeyConformance, J6_TwoOfOneKeyInOneBatchAreOneJob) {
  const NewJob first = keyed(new_id());
  const NewJob second = keyed(new_id());
  const NewJob other = new_job();
  const EnqueueReply reply = must(store().enqueue(adding({first, other, second})));
  EXPECT_EQ(reply.existing, 1);
  EXPECT_EQ(reply.ids, (std::vector{first.id, other.id, first.id}));
  EXPECT_EQ(ids_of(everything()), (std::vector{first.id, other.id}));
  EXPECT_EQ(must(store().enqueue(adding({first, other, second}))).ids, reply.ids);
}

TEST_P(KeyConformance, J6_TwoOfOneKeyWithOtherPayloadsInOneBatchAreAConflict) {
  EXPECT_EQ(code_of(store().enqueue(adding({keyed(new_id()), keyed(new_id(), "2")}))), Code::conflict);
  EXPECT_TRUE(everything().empty());
}

TEST_P(KeyConformance, J6_AKeyBelongsToAQueueWithAllItsStages) {
  const JobId first = added(keyed(new_id()));
  NewJob staged = keyed(new_id());
  staged.stage = "review";
  EXPECT_EQ(must(store().enqueue(adding({staged}))).ids, std::vector{first});
  NewJob elsewhere = keyed(new_id());
  elsewhere.queue = "r";
  EXPECT_EQ(must(store().enqueue(adding({elsewhere}))).existing, 0);
  EXPECT_EQ(must(store().enqueue({.ns = "other", .jobs = {keyed(new_id())}})).existing, 0);
}

TEST_P(KeyConformance, J6_ARunningOrDelayedJobHasItsKey) {
  NewJob first = keyed(new_id());
  first.delay = 10s;
  added(first);
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first.id});
  let_time_pass(10s);
  const ClaimedJob claim = claimed_as_next(first.id);
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first.id});
  let_time_pass(kTtl);
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first.id})
      << "a lease that ran out finishes nothing";
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::failed, .retry_in = 1h}), "");
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first.id});
}

TEST_P(KeyConformance, J6_EveryFinishFreesTheKey) {
  const auto add_next = [&] {
    const NewJob next = keyed(new_id());
    EXPECT_EQ(must(store().enqueue(adding({next}))).ids, std::vector{next.id});
    return next.id;
  };
  add_next();
  EXPECT_EQ(ended(claimed_by("a"), {.kind = OutcomeKind::done}), "");
  add_next();
  EXPECT_EQ(ended(claimed_by("a"), {.kind = OutcomeKind::dead}), "");
  EXPECT_EQ(cancelled(add_next()), "");
  add_next();
  must(store().purge({.ns = "default", .queue = "q", .up_to = kAllOfThem, .act = kAct}));
  const JobId buried = add_next();
  lose(buried, 5);
  EXPECT_TRUE(claimed(asking("buries")).empty());
  add_next();
}

TEST_P(KeyConformance, J6_KeyForHoldsTheKeyAfterTheFinishOnTheWallClock) {
  const JobId first = added(keyed(new_id(), kPayload, 10min));
  EXPECT_EQ(ended(claimed_by("a"), {.kind = OutcomeKind::done}), "");
  let_time_pass(10min - kMoment);
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first});
  EXPECT_EQ(code_of(store().enqueue(adding({keyed(new_id(), "2")}))), Code::conflict);
  let_time_pass(kMoment);
  const NewJob second = keyed(new_id(), "2");
  EXPECT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{second.id});
}

TEST_P(KeyConformance, J6_KeyForCountsFromACancelToo) {
  const JobId first = added(keyed(new_id(), kPayload, 10min));
  EXPECT_EQ(cancelled(first), "");
  set_wall(wall() + 9min);
  EXPECT_EQ(must(store().enqueue(adding({keyed(new_id())}))).ids, std::vector{first});
  set_wall(wall() + 1min);
  const NewJob second = keyed(new_id());
  EXPECT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{second.id});
}

TEST_P(KeyConformance, J6_ARetryOntoATakenKeyIsRefusedAndNamesTheHolder) {
  const JobId first = added(keyed(new_id()));
  EXPECT_EQ(cancelled(first), "");
  const JobId second = added(keyed(new_id(), "2"));
  const ActReply reply = must(store().retry({.ns = "default", .ids = {first}, .request = "1", .act = kAct}));
  EXPECT_EQ(reply.refused, (std::vector<ActRefusal>{{first, Reason::key_taken, second}}));
  EXPECT_EQ(look(first).state, JobState::cancelled);
  EXPECT_EQ(facts(first).key_holder, second);
  EXPECT_EQ(cancelled(second), "");
  EXPECT_EQ(retried(first), "");
  EXPECT_EQ(look(first).state, JobState::ready);
  EXPECT_EQ(retried(second), "key_taken");
  EXPECT_EQ(code_of(store().enqueue(adding({keyed(new_id(), "2")}))), Code::conflict) << "the retried job has the key";
}

TEST_P(KeyConformance, J6_OfTwoDeadJobsOfOneKeyOneRetryRevivesOne) {
  const JobId first = added(keyed(new_id()));
  EXPECT_EQ(cancelled(first), "");
  const JobId second = added(keyed(new_id()));
  EXPECT_EQ(cancelled(second), "");
  const ActReply reply = must(store().retry({.ns = "default", .ids = {second, first}, .request = "1", .act = kAct}));
  EXPECT_EQ(reply.refused, (std::vector<ActRefusal>{{first, Reason::key_taken, second}}));
}

TEST_P(KeyConformance, J6_ARetryOntoItsOwnKeyIsFineWhileKeyForLasts) {
  const JobId first = added(keyed(new_id(), kPayload, 1h));
  EXPECT_EQ(cancelled(first), "");
  EXPECT_EQ(facts(first).key_holder, first);
  EXPECT_EQ(retried(first), "");
}

TEST_P(KeyConformance, J1_AnIdThatStoodForAnotherJobAddsNothingAfterThatFinished) {
  const JobId first = added(keyed(new_id()));
  const NewJob second = keyed(new_id());
  ASSERT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{first});
  EXPECT_EQ(ended(claimed_by("a"), {.kind = OutcomeKind::done}), "");
  const EnqueueReply repeat = must(store().enqueue(adding({second})));
  EXPECT_EQ(repeat.existing, 1);
  EXPECT_EQ(repeat.ids, std::vector{first});
  EXPECT_EQ(everything().size(), 1u);
  EXPECT_EQ(must(store().job("default", second.id)), std::nullopt);
}

TEST_P(KeyConformance, J1_AnIdThatStandsForAJobIsNoOther) {
  added(keyed(new_id()));
  const NewJob second = keyed(new_id());
  must(store().enqueue(adding({second})));
  NewJob changed = second;
  changed.payload = "2";
  EXPECT_EQ(code_of(store().enqueue(adding({changed}))), Code::conflict);
  changed = second;
  changed.queue = "r";
  EXPECT_EQ(code_of(store().enqueue(adding({changed}))), Code::conflict);
  EXPECT_EQ(must(store().enqueue({.ns = "other", .jobs = {second}})).ids, std::vector{second.id});
}

TEST_P(KeyConformance, J1_AnIdStandsForItsJobForADayWhateverIsTidied) {
  const JobId first = added(keyed(new_id(), kPayload, 48h));
  EXPECT_EQ(ended(claimed_by("a"), {.kind = OutcomeKind::done}), "");
  set_queue({.keep_done = 24h});
  let_time_pass(47h);
  const NewJob second = keyed(new_id());
  ASSERT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{first});
  let_time_pass(kBatchRepeatableFor);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{first})
      << "a batch may be under way for the last time";
  let_time_pass(1h);
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{second.id}) << "a day and an hour are over";
}

TEST_P(KeyConformance, J1_KeysAndAliasesOutliveTheProcess) {
  const JobId first = added(keyed(new_id(), kPayload, 1h));
  const NewJob second = keyed(new_id());
  must(store().enqueue(adding({second})));
  EXPECT_EQ(cancelled(first), "");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(must(store().enqueue(adding({second, keyed(new_id())}))).ids, (std::vector{first, first}));
  EXPECT_EQ(code_of(store().enqueue(adding({keyed(new_id(), "2")}))), Code::conflict);
}

TEST_P(KeyConformance, J1_AnEnqueuedJobKeepsAllThatItsProducerSaid) {
  NewJob job = new_job();
  job.at = wall() + 1h;
  job.backoff = {2s, 5min};
  job.timeout = 3min;
  job.key = "k \xc3\xa9";
  job.key_for = 7s;
  job.group = "g/1";
  job.limit_key = "host:a";
  job.tags = {"a b", "z"};
  job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  added(job);
  const Job stored = look(job.id);
  EXPECT_EQ(stored.run_at, *job.at);
  EXPECT_EQ(stored.backoff, job.backoff);
  EXPECT_EQ(stored.timeout, job.timeout);
  EXPECT_EQ(stored.key, job.key);
  EXPECT_EQ(stored.key_for, job.key_for);
  EXPECT_EQ(stored.group, job.group);
  EXPECT_EQ(stored.limit_key, job.limit_key);
  EXPECT_EQ(stored.tags, job.tags);
  EXPECT_EQ(stored.traceparent, job.traceparent);
  let_time_pass(1h);
  const ClaimedJob claim = claimed_as_next(job.id);
  Job expected = stored;
  expected.state = JobState::running;
  expected.fence = claim.job.fence;
  expected.owner = "a";
  expected.deliveries = 1;
  expected.lease_left = kTtl;
  EXPECT_EQ(claim.job, expected);
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::dead}), "");
  const Job dead = look(job.id);
  EXPECT_EQ(dead.tags, job.tags);
  EXPECT_EQ(dead.group, job.group);
  EXPECT_EQ(dead.traceparent, job.traceparent);
  EXPECT_EQ(everything(), std::vector{dead});
}

TEST_P(KeyConformance, AJobWithATimeIsClaimedFromThatMomentOfTheWallClock) {
  NewJob job = new_job();
  job.at = wall() + 10s;
  added(job);
  let_time_pass(10s - kMoment);
  EXPECT_TRUE(claimed(asking("a")).empty());
  let_time_pass(kMoment);
  claimed_as_next(job.id);
}

TEST_P(KeyConformance, ATimeThatIsPastIsNow) {
  NewJob job = new_job();
  const NewJob before = new_job();
  added(before);
  job.at = wall() - 1h;
  added(job);
  claimed_as_next(before.id);
  EXPECT_EQ(claimed_as_next(job.id).job.run_at, wall());
}

TEST_P(KeyConformance, J1_ABatchNameIsRepeatableForADayAndFreeAfterThirty) {
  const WallTime first = must(store().open_batch({.ns = "default", .name = "import"})).first_seen;
  EXPECT_EQ(first, wall());
  let_time_pass(24h);
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "import"})).first_seen, first);
  let_time_pass(kMoment);
  EXPECT_EQ(code_of(store().open_batch({.ns = "default", .name = "import"})), Code::refused);
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "other"})).first_seen, wall());
  EXPECT_EQ(must(store().open_batch({.ns = "other", .name = "import"})).first_seen, wall());
  let_time_pass(24h * 28);
  tidied();
  EXPECT_EQ(code_of(store().open_batch({.ns = "default", .name = "import"})), Code::refused);
  let_time_pass(24h);
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "import"})).first_seen, wall());
}

TEST_P(KeyConformance, J1_ABatchNameIsFreeAfterATidyToo) {
  must(store().open_batch({.ns = "default", .name = "import"}));
  let_time_pass(24h * 31);
  tidied();
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "import"})).first_seen, wall());
}

TEST_P(KeyConformance, J1_ABatchNameOutlivesTheProcess) {
  const WallTime first = must(store().open_batch({.ns = "default", .name = "import"})).first_seen;
  let_time_pass(1h);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "import"})).first_seen, first);
}

TEST_P(KeyConformance, InvalidBatchNamesAreRefused) {
  EXPECT_EQ(code_of(store().open_batch({.ns = "default", .name = ""})), Code::invalid);
  EXPECT_EQ(code_of(store().open_batch({.ns = "default", .name = "a\nb"})), Code::invalid);
  EXPECT_EQ(code_of(store().open_batch({.ns = "", .name = "a"})), Code::invalid);
}

TEST_P(KeyConformance, KeysOfARemovedNamespaceAreFree) {
  const NewJob first = keyed(new_id());
  added(first);
  const NewJob second = keyed(new_id());
  must(store().enqueue(adding({second})));
  must(store().open_batch({.ns = "default", .name = "import"}));
  must(store().remove_namespace("default", kAct));
  let_time_pass(1s);
  EXPECT_EQ(must(store().enqueue(adding({second}))).ids, std::vector{second.id});
  EXPECT_EQ(must(store().open_batch({.ns = "default", .name = "import"})).first_seen, wall());
}

}  // namespace
}  // namespace fenceline::test
