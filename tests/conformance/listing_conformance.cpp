// What every store promises to those who look: one state a job, complete listings, a true backlog, no sight of
// another namespace.
#include <algorithm>
#include <limits>
#include <map>

#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr JobState kStates[] = {JobState::ready, JobState::running, JobState::waiting,
                                JobState::done,  JobState::dead,    JobState::cancelled};

BacklogRequest backlog_of_q() { return {.ns = "default", .queues = {"q"}}; }

TEST_P(JobConformance, AJobThatIsNotThereIsAValue) { EXPECT_EQ(must(store().job("default", new_id())), std::nullopt); }

TEST_P(JobConformance, J4_EachJobIsListedUnderExactlyOneState) {
  constexpr OutcomeKind kinds[] = {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later,
                                   OutcomeKind::given_back};
  std::vector<JobId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(added(new_job()));
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 12));
  for (std::size_t i = 0; i < 10; ++i) ASSERT_EQ(settled("a", holding_of(jobs[i]), {.kind = kinds[i % 5]}), "");
  std::map<JobId, int> seen;
  for (const JobState state : kStates) {
    for (const Job& job : must(store().jobs({.ns = "default", .state = state, .limit = 1000})).jobs) {
      EXPECT_EQ(job.state, state);
      seen[job.id] += 1;
    }
  }
  ASSERT_EQ(seen.size(), ids.size());
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1);
  EXPECT_EQ(ids_of(everything()), ids);
}

TEST_P(JobConformance, ACursorBehindTheLastNumberThereCanBeIsRefusedAndChangesNothing) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  added(new_job());
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .after = last})), Code::invalid);
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .error = std::string(kErrorBytesMax + 1, 'e')})), Code::invalid);
  EXPECT_EQ(code_of(store().purge({.ns = "default", .queue = "q", .after = last, .up_to = last, .act = {"ana", ""}})),
            Code::invalid);
  EXPECT_TRUE(must(store().jobs({.ns = "default", .after = last - 1})).jobs.empty());
  EXPECT_EQ(everything().front().state, JobState::ready);
}

TEST_P(JobConformance, IdsAreFoundByTheirBeginningInTheirOrder) {
  const auto id_of = [](std::uint8_t first, std::uint8_t last) {
    JobId id;
    id.bytes.front() = first;
    id.bytes.back() = last;
    return id;
  };
  const auto between = [&](const JobId& first, const JobId& last, int limit) {
    return must(store().ids({.ns = "default", .first = first, .last = last, .limit = limit}));
  };
  for (const auto& [first, last] : {std::pair{3, 1}, {1, 2}, {1, 1}, {2, 9}, {1, 3}}) {
    NewJob job = new_job();
    job.id = id_of(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last));
    added(job);
  }
  EXPECT_EQ(between(id_of(1, 0), id_of(1, 255), 1000), (std::vector{id_of(1, 1), id_of(1, 2), id_of(1, 3)}));
  EXPECT_EQ(between(id_of(1, 2), id_of(2, 9), 1000), (std::vector{id_of(1, 2), id_of(1, 3), id_of(2, 9)}))
      << "both ends count";
  EXPECT_EQ(between(id_of(1, 0), id_of(9, 0), 2), (std::vector{id_of(1, 1), id_of(1, 2)}));
  EXPECT_TRUE(between(id_of(4, 0), id_of(9, 0), 2).empty());
  EXPECT_TRUE(must(store().ids({.ns = "other", .first = {}, .last = id_of(255, 255)})).empty());
  EXPECT_EQ(code_of(store().ids({.ns = "default", .first = {}, .last = {}, .limit = 0})), Code::invalid);
  EXPECT_EQ(code_of(store().ids({.ns = "", .first = {}, .last = {}})), Code::invalid);
}

TEST_P(JobConformance, IdsAreFoundByTheirEnd) {
  const auto ending = [&](const std::string& suffix, int limit = 1000) {
    const JobId last = *parse_uuid("ffffffff-ffff-ffff-ffff-ffffffffffff");
    return must(store().ids({.ns = "default", .first = {}, .last = last, .suffix = suffix, .limit = limit}));
  };
  // A batch, whose ids a store may keep together, and single jobs around it.
  std::vector<NewJob> batch;
  for (int i = 0; i < 20; ++i) {
    batch.push_back(new_job());
    batch.back().id = *parse_uuid("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d" + std::to_string(10 + i));
  }
  NewJob twin = new_job();
  twin.id = *parse_uuid("0298f3c1-0000-7bbd-9f51-3a2f0c6f9d17");
  added(twin);
  must(store().enqueue({.ns = "default", .jobs = batch}));
  NewJob elsewhere = new_job();
  elsewhere.id = *parse_uuid("0398f3c1-0000-7bbd-9f51-3a2f0c6f9d12");
  must(store().enqueue({.ns = "other", .jobs = {elsewhere}}));

  EXPECT_EQ(ending("0c6f9d10"), (std::vector{batch[0].id}));
  EXPECT_EQ(ending("0c6f9d29"), (std::vector{batch[19].id}));
  EXPECT_EQ(ending("0c6f9d12"), (std::vector{batch[2].id})) << "not of another namespace";
  EXPECT_EQ(ending("0c6f9d17"), (std::vector{batch[7].id, twin.id}));
  EXPECT_EQ(ending("7a3e7bbd9f513a2f0c6f9d17"), (std::vector{batch[7].id}));
  EXPECT_EQ(ending("7"), (std::vector{batch[7].id, batch[17].id, twin.id}));
  EXPECT_EQ(ending("7", 2), (std::vector{batch[7].id, batch[17].id}));
  EXPECT_TRUE(ending("0c6f9d30").empty());
  EXPECT_EQ(must(store().ids({.ns = "default", .first = twin.id, .last = twin.id, .suffix = "17"})),
            (std::vector{twin.id}));

  const auto claimed = must(store().claim(
      {.ns = "default", .queues = {"q"}, .owner = "o", .request = "r", .limit = 3, .ttl = std::chrono::seconds{30}}));
  ASSERT_EQ(claimed.jobs.size(), 3u);
  for (const ClaimedJob& one : claimed.jobs) {
    EXPECT_EQ(must(store().settle({.ns = "default",
                                   .owner = "o",
                                   .settlements = {{one.job.id, one.job.fence, Outcome{.kind = OutcomeKind::done}}}}))
                  .refused.size(),
              0u);
  }
  EXPECT_EQ(ending("0c6f9d17"), (std::vector{batch[7].id, twin.id})) << "finished ones too";
  EXPECT_EQ(ending("0c6f9d10"), (std::vector{batch[0].id}));
  for (const std::string bad : {"xyz", "0C6F9D10", "-", "123456789012345678901234567890123"})
    EXPECT_EQ(code_of(store().ids({.ns = "default", .first = {}, .last = {}, .suffix = bad})), Code::invalid) << bad;
}

TEST_P(JobConformance, J4_PagesTogetherAreTheWholeListInOrder) {
  std::vector<JobId> ids;
  for (int i = 0; i < 25; ++i) ids.push_back(added(new_job()));
  for (const int limit : {1, 4, 5, 24, 25, 26}) {
    std::vector<JobId> listed;
    std::optional<std::int64_t> after = 0;
    for (int pages = 0; after && pages < 100; ++pages) {
      const JobsReply page = must(store().jobs({.ns = "default", .after = *after, .limit = limit}));
      EXPECT_LE(page.jobs.size(), static_cast<std::size_t>(limit));
      for (const Job& job : page.jobs) listed.push_back(job.id);
      after = page.next;
    }
    EXPECT_EQ(listed, ids) << limit;
  }
}

TEST_P(JobConformance, J4_ACursorIsNotDisturbedByWhatHappensToJobs) {
  std::vector<JobId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(added(new_job()));
  const JobsReply first = must(store().jobs({.ns = "default", .limit = 3}));
  ASSERT_TRUE(first.next);
  for (const ClaimedJob& job : claimed(asking("a", 6)))
    ASSERT_EQ(settled("a", holding_of(job), {.kind = OutcomeKind::done}), "");
  added(new_job());
  const JobsReply second = must(store().jobs({.ns = "default", .after = *first.next, .limit = 3}));
  EXPECT_EQ(ids_of(second.jobs), std::vector(ids.begin() + 3, ids.end()));
}

TEST_P(JobConformance, ListingsFilterByQueueAndState) {
  const JobId q_ready = added_to("q");
  const JobId r_ready = added_to("r");
  const JobId q_running = added_to("q");
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::failed, .retry_in = 1h}), "");
  ASSERT_EQ(claimed_by("a").job.id, q_running);
  const auto listed = [&](std::optional<std::string> queue, std::optional<JobState> state) {
    return ids_of(must(store().jobs({.ns = "default", .queue = queue, .state = state})).jobs);
  };
  EXPECT_EQ(listed("q", std::nullopt), (std::vector{q_ready, q_running}));
  EXPECT_EQ(listed("q", JobState::ready), std::vector{q_ready});
  EXPECT_EQ(listed(std::nullopt, JobState::ready), (std::vector{q_ready, r_ready}));
  EXPECT_EQ(listed("none", std::nullopt), std::vector<JobId>{});
}

// Walks all pages of a list.
std::vector<JobId> all_pages(Store& store, JobsRequest request) {
  std::vector<JobId> ids;
  for (int page = 0; page < 1000; ++page) {
    const JobsReply reply = must(store.jobs(request));
    for (const Job& job : reply.jobs) ids.push_back(job.id);
    if (!reply.next) return ids;
    request.after = *reply.next;
  }
  ADD_FAILURE() << "the list does not end";
  return ids;
}

TEST_P(JobConformance, J4_NewestFirstIsTheSameListFromItsEnd) {
  constexpr OutcomeKind kinds[] = {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead};
  for (int i = 0; i < 30; ++i) {
    NewJob job = new_job();
    job.queue = i % 3 == 0 ? "r" : "q";
    if (i % 2 == 0) job.tags = {"even"};
    added(job);
  }
  const std::vector<ClaimedJob> jobs = claimed(asking("a", 14));
  for (std::size_t i = 0; i < 9; ++i)
    ASSERT_EQ(settled("a", holding_of(jobs[i]), {.kind = kinds[i % 3], .retry_in = 1h}), "");
  must(store().cancel({.ns = "default", .ids = {jobs[10].job.id}, .request = "c", .act = kAct}));

  std::vector<JobsRequest> lists{{.ns = "default"}, {.ns = "default", .queue = "r"}, {.ns = "default", .tag = "even"}};
  for (const JobState state : kStates) {
    lists.push_back({.ns = "default", .state = state});
    lists.push_back({.ns = "default", .queue = "q", .state = state});
    lists.push_back({.ns = "default", .state = state, .tag = "even"});
  }
  for (JobsRequest& list : lists) {
    list.limit = 1000;
    const std::vector<JobId> oldest_first = all_pages(store(), list);
    list.newest_first = true;
    for (const int limit : {1, 4, 1000}) {
      list.limit = limit;
      std::vector<JobId> reversed = all_pages(store(), list);
      std::reverse(reversed.begin(), reversed.end());
      EXPECT_EQ(reversed, oldest_first) << limit;
    }
  }
  EXPECT_EQ(all_pages(store(), lists.front()).size(), 30u);
}

TEST_P(JobConformance, ListingsFilterByKeyErrorAndTime) {
  NewJob keyed = new_job();
  keyed.key = "order-7";
  const JobId first = added(keyed);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::dead, .error = "smtp: 451 greylisted"}),
            "");
  let_time_pass(10s);
  const WallTime second_at = wall();
  keyed.id = new_id();
  const JobId second = added(keyed);
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::dead, .error = "smtp: 550 no such user"}),
            "");
  let_time_pass(10s);
  const JobId third = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::done}), "");
  let_time_pass(10s);
  const JobId fourth = added(new_job());

  const auto listed = [&](JobsRequest request) {
    request.ns = "default";
    request.limit = 1;
    const std::vector<JobId> ids = all_pages(store(), request);
    request.newest_first = true;
    std::vector<JobId> reversed = all_pages(store(), request);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(reversed, ids);
    return ids;
  };
  EXPECT_EQ(listed({.key = "order-7"}), (std::vector{first, second}));
  EXPECT_EQ(listed({.key = "order"}), std::vector<JobId>{}) << "a key is matched whole";
  EXPECT_EQ(listed({.error = "smtp"}), (std::vector{first, second}));
  EXPECT_EQ(listed({.error = "550"}), std::vector{second});
  EXPECT_EQ(listed({.error = "SMTP"}), std::vector<JobId>{}) << "letter by letter";
  EXPECT_EQ(listed({.state = JobState::dead, .error = "451"}), std::vector{first});
  EXPECT_EQ(listed({.state = JobState::ready, .error = "451"}), std::vector<JobId>{});
  EXPECT_EQ(listed({.since = second_at}), (std::vector{second, third, fourth})) << "from that moment on";
  EXPECT_EQ(listed({.before = second_at}), std::vector{first}) << "before that moment";
  EXPECT_EQ(listed({.since = second_at, .before = second_at + 10s}), std::vector{second});
  EXPECT_EQ(listed({.state = JobState::done, .since = second_at}), std::vector{third});
  EXPECT_EQ(listed({.queue = "q", .key = "order-7", .since = second_at}), std::vector{second});
}

TEST_P(JobConformance, AListSaysHowLongTheLastDeliveryTook) {
  const auto ran_for = [&](const JobId& id) {
    for (const Job& job : must(store().jobs({.ns = "default"})).jobs) {
      if (job.id == id) return job.ran_for;
    }
    return std::optional<Duration>{};
  };
  const JobId id = added(new_job());
  EXPECT_EQ(ran_for(id), std::nullopt) << "never delivered";
  ClaimedJob claim = claimed_by("a");
  let_time_pass(2s);
  EXPECT_EQ(ran_for(id), 2s) << "so far";
  ASSERT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::failed}), "");
  let_time_pass(5s);
  EXPECT_EQ(ran_for(id), 2s) << "ready again";
  claim = claimed_by("b");
  let_time_pass(3s);
  ASSERT_EQ(settled("b", holding_of(claim), {.kind = OutcomeKind::done}), "");
  let_time_pass(5s);
  EXPECT_EQ(ran_for(id), 3s) << "done";
}

TEST_P(JobConformance, PayloadsAndResultsAreListedOnRequestOnly) {
  const JobId id = added(new_job());
  ASSERT_EQ(settled("a", holding_of(claimed_by("a")), {.kind = OutcomeKind::done, .result = "r"}), "");
  const JobsReply without = must(store().jobs({.ns = "default"}));
  EXPECT_EQ(without.jobs.at(0).payload, "");
  EXPECT_EQ(without.jobs.at(0).result, "");
  EXPECT_EQ(everything(), std::vector{look(id)}) << "asked for with payloads";
}

TEST_P(JobConformance, InvalidListingsAndBacklogsAreRefused) {
  EXPECT_EQ(code_of(store().jobs({.ns = ""})), Code::invalid);
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .queue = "a b"})), Code::invalid);
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .after = -1})), Code::invalid);
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .limit = 0})), Code::invalid);
  EXPECT_EQ(code_of(store().jobs({.ns = "default", .limit = 1001})), Code::invalid);
  EXPECT_EQ(code_of(store().job("", new_id())), Code::invalid);
  EXPECT_EQ(code_of(store().backlog({.ns = "", .queues = {"q"}})), Code::invalid);
  EXPECT_EQ(code_of(store().backlog({.ns = "default"})), Code::invalid);
  EXPECT_EQ(code_of(store().backlog({.ns = "default", .queues = {"q", "q"}})), Code::invalid);
}

TEST_P(JobConformance, ABacklogOfNothingIsEmpty) {
  added_to("r");
  const BacklogReply reply = must(store().backlog(backlog_of_q()));
  EXPECT_FALSE(reply.running);
  EXPECT_FALSE(reply.claimable);
  EXPECT_EQ(reply.ahead, 0);
  EXPECT_FALSE(reply.next_due);
}

TEST_P(JobConformance, ABacklogFollowsAJobThroughItsLife) {
  NewJob job = new_job();
  job.delay = 5s;
  added(job);
  BacklogReply reply = must(store().backlog(backlog_of_q()));
  EXPECT_FALSE(reply.claimable);
  EXPECT_EQ(reply.ahead, 1);
  EXPECT_EQ(reply.next_due, 5s);

  let_time_pass(5s);
  reply = must(store().backlog(backlog_of_q()));
  EXPECT_TRUE(reply.claimable);
  EXPECT_EQ(reply.ahead, 0);
  EXPECT_FALSE(reply.next_due);

  const ClaimedJob claim = claimed_by("a");
  reply = must(store().backlog(backlog_of_q()));
  EXPECT_TRUE(reply.running);
  EXPECT_FALSE(reply.claimable);

  let_time_pass(kTtl);
  reply = must(store().backlog(backlog_of_q()));
  EXPECT_FALSE(reply.running) << "run out";
  EXPECT_TRUE(reply.claimable);

  ASSERT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done}), "");
  reply = must(store().backlog(backlog_of_q()));
  EXPECT_FALSE(reply.running);
  EXPECT_FALSE(reply.claimable);
}

TEST_P(JobConformance, ABacklogCountsWhatLiesAheadAndNamesTheFirst) {
  for (const Duration delay : std::vector<Duration>{3s, 1s, 2s}) {
    NewJob job = new_job();
    job.delay = delay;
    added(job);
  }
  NewJob elsewhere = new_job();
  elsewhere.stage = "other";
  added(elsewhere);
  const BacklogReply reply = must(store().backlog(backlog_of_q()));
  EXPECT_EQ(reply.ahead, 3);
  EXPECT_EQ(reply.next_due, 1s);
  EXPECT_FALSE(reply.claimable) << "stages do not cross";
}

TEST_P(JobConformance, ABacklogShowsAJobWhoseFifthLossIsAtHand) {
  const JobId id = added(new_job());
  lose(id, 5);
  EXPECT_TRUE(must(store().backlog(backlog_of_q())).claimable) << "a claim must still bury it";
  EXPECT_TRUE(claimed(asking("a")).empty());
  EXPECT_FALSE(must(store().backlog(backlog_of_q())).claimable);
}

TEST_P(JobConformance, NamespacesNeverCross) {
  const NewJob job = new_job();
  added(job, "one");
  NewJob same_id = job;
  same_id.payload = "\"another\"";
  added(same_id, "two");
  EXPECT_EQ(look(job.id, "one").payload, job.payload);
  EXPECT_EQ(look(job.id, "two").payload, same_id.payload);
  EXPECT_EQ(must(store().job("default", job.id)), std::nullopt);
  EXPECT_TRUE(everything().empty());
  EXPECT_TRUE(claimed(asking("a")).empty());
  EXPECT_FALSE(must(store().backlog(backlog_of_q())).claimable);

  ClaimRequest request = asking("a", 10);
  request.ns = "one";
  const std::vector<ClaimedJob> jobs = claimed(request);
  ASSERT_EQ(jobs.size(), 1u);
  const Job other = look(job.id, "two");
  EXPECT_EQ(settled("a", holding_of(jobs[0]), {.kind = OutcomeKind::done}, "default"), "not_found");
  EXPECT_EQ(settled("a", holding_of(jobs[0]), {.kind = OutcomeKind::done}, "two"), "superseded");
  EXPECT_EQ(extended("a", holding_of(jobs[0]), kTtl, "two"), "superseded");
  EXPECT_TRUE(store().give_back({.ns = "two", .owner = "a", .request = request.request, .ttl = kTtl}));
  EXPECT_EQ(look(job.id, "one").state, JobState::running);
  EXPECT_EQ(look(job.id, "two"), other);
  request.ns = "three";
  EXPECT_TRUE(claimed(request).empty()) << "nor does a request id";
}

}  // namespace
}  // namespace fenceline::test
