// The checks can fail: each of these stores breaks one promise in one small way, and is found out by that name.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "sim/scenarios/scenario.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {
namespace {

// Passes everything on; a broken store overrides one verb.
class PassingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

 protected:
  // The job as it stands; its owner and fence are those of the newest grant.
  std::optional<Job> now(const std::string& ns, const JobId& id) { return inner_.job(ns, id).value_or(std::nullopt); }
};

// Shows every job through `change`, wherever it is shown.
class DistortingStore : public PassingStore {
 public:
  using PassingStore::PassingStore;
  virtual void change(Job& job) = 0;

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    Result<ClaimReply> reply = inner_.claim(request);
    if (reply) {
      for (ClaimedJob& claimed : reply->jobs) change(claimed.job);
    }
    return reply;
  }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override {
    Result<std::optional<Job>> reply = inner_.job(ns, id);
    if (reply && *reply) change(**reply);
    return reply;
  }
  Result<JobsReply> jobs(const JobsRequest& request) override {
    Result<JobsReply> reply = inner_.jobs(request);
    if (reply) {
      for (Job& job : reply->jobs) change(job);
    }
    return reply;
  }
};

// L2: every grant of a job has the fence of its first.
class ReusesTheFence final : public DistortingStore {
 public:
  using DistortingStore::DistortingStore;
  void change(Job& job) override {
    if (job.fence != 0) job.fence = first_.emplace(job.id, job.fence).first->second;
  }
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    ExtendRequest translated = request;
    for (Holding& holding : translated.jobs) holding.fence = newest(request.ns, holding.id);
    return inner_.extend(translated);
  }
  Result<SettleReply> settle(const SettleRequest& request) override {
    SettleRequest translated = request;
    for (Settlement& settlement : translated.settlements) settlement.fence = newest(request.ns, settlement.id);
    return inner_.settle(translated);
  }

 private:
  Fence newest(const std::string& ns, const JobId& id) { return now(ns, id).value_or(Job{}).fence; }
  std::map<JobId, Fence> first_;
};

// L1: the fence that the caller gets is not the one that the store keeps.
class MintsTheFenceApart final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    Result<ClaimReply> reply = inner_.claim(request);
    if (reply) {
      for (ClaimedJob& claimed : reply->jobs) claimed.job.fence += 1;
    }
    return reply;
  }
};

// L3: whoever asks gets what another one holds.
class GrantsWhatIsHeld final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    const Result<JobsReply> held = inner_.jobs({.ns = request.ns, .state = JobState::running, .limit = 1});
    if (held && !held->jobs.empty() && held->jobs.front().owner != request.owner) {
      const Job& job = held->jobs.front();
      (void)inner_.settle({.ns = request.ns, .owner = job.owner, .settlements = {{job.id, job.fence, {.kind = OutcomeKind::given_back}}}});
    }
    return inner_.claim(request);
  }
};

// L4: a renewal that comes late finds its lease again.
class RevivesTheLease final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    Result<ExtendReply> reply = inner_.extend(request);
    if (reply) std::erase_if(reply->refused, [](const Refusal& refusal) { return refusal.reason == "expired"; });
    return reply;
  }
};

// J1: the last of a batch is forgotten.
class ForgetsAnEnqueue final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    EnqueueRequest shorter = request;
    if (shorter.jobs.size() > 1) shorter.jobs.pop_back();
    return inner_.enqueue(shorter);
  }
};

// J1: a repeat is told that it was the first.
class CountsARepeatAsNew final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    Result<EnqueueReply> reply = inner_.enqueue(request);
    if (reply) reply->existing = 0;
    return reply;
  }
};

// J2: one more than was asked for.
class GrantsTooMany final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest larger = request;
    larger.limit += 1;
    return inner_.claim(larger);
  }
};

// J2: the repeat of a claim is a claim.
class GrantsAnewOnARepeat final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest another = request;
    const int calls = ++calls_[request.request];
    if (calls > 1) another.request += "-" + std::to_string(calls);
    return inner_.claim(another);
  }

 private:
  std::map<std::string, int> calls_;
};

// J3: an outcome is accepted from whoever sends it.
class SettlesUnderAnyFence final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<SettleReply> settle(const SettleRequest& request) override {
    for (Settlement settlement : request.settlements) {
      const std::optional<Job> job = now(request.ns, settlement.id);
      if (!job) continue;
      settlement.fence = job->fence;
      (void)inner_.settle({.ns = request.ns, .owner = job->owner, .settlements = {settlement}});
    }
    return SettleReply{};
  }
};

// J4: a page ends too early.
class ListsTooFew final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<JobsReply> jobs(const JobsRequest& request) override {
    Result<JobsReply> reply = inner_.jobs(request);
    if (reply && request.state == JobState::ready && !reply->jobs.empty()) reply->jobs.pop_back();
    return reply;
  }
};

// J5: the loss of a delivery uses up an attempt.
class CountsALossAsFailure final : public DistortingStore {
 public:
  using DistortingStore::DistortingStore;
  void change(Job& job) override { job.failures += job.losses; }
};

// J5: a job that kills its workers goes among others.
class ForgetsWhoMustRunAlone final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest careless = request;
    careless.holds_others = false;
    return inner_.claim(careless);
  }
};

// J5: what is given back at no cost waits until it is lost.
class KeepsWhatIsGivenBack final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<void> give_back(const GiveBackRequest&) override { return {}; }
};

// J1: the line of a file has another id at each opening.
class OpensAFileAnew final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<BatchReply> open_batch(const BatchRequest& request) override {
    Result<BatchReply> reply = inner_.open_batch(request);
    if (reply) reply->first_seen += std::chrono::milliseconds{++calls_};
    return reply;
  }

 private:
  int calls_ = -1;
};

// J1: what has finished is gone with the next tidying, however young it is.
class TidiesTooEarly final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<TidyReply> tidy(const TidyRequest& request) override {
    Result<TidyReply> reply = inner_.tidy(request);
    const Result<JobsReply> done = inner_.jobs({.ns = request.ns, .state = JobState::done, .limit = 1});
    if (reply && done && !done->jobs.empty() && gone_.insert(done->jobs.front().id).second) reply->removed += 1;
    return reply;
  }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override {
    if (gone_.contains(id)) return std::optional<Job>{};
    return inner_.job(ns, id);
  }

 private:
  std::set<JobId> gone_;
};

// L2: a job made anew after it was tidied begins with the fence of its first life.
class ForgetsTheFloor final : public DistortingStore {
 public:
  using DistortingStore::DistortingStore;
  void change(Job& job) override {
    if (job.fence == 0) return;
    const auto [first, is_first] = lives_.emplace(job.id, std::pair{job.created_at, job.fence});
    if (first->second.first != job.created_at) job.fence = first->second.second;
    else first->second.second = job.fence;
  }

 private:
  std::map<JobId, std::pair<WallTime, Fence>> lives_;
};

// L2: every second job of a group has its fences from a clock that is late.
class GivesAGroupOlderFences final : public DistortingStore {
 public:
  using DistortingStore::DistortingStore;
  static Fence late(const JobId& id) { return id.bytes[15] % 2 * 60'000'000; }
  void change(Job& job) override {
    if (!job.group.empty() && job.fence != 0) job.fence -= late(job.id);
  }
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    ExtendRequest true_one = request;
    for (Holding& holding : true_one.jobs) holding.fence = truly(request.ns, holding.id, holding.fence);
    return inner_.extend(true_one);
  }
  Result<SettleReply> settle(const SettleRequest& request) override {
    SettleRequest true_one = request;
    for (Settlement& settlement : true_one.settlements) settlement.fence = truly(request.ns, settlement.id, settlement.fence);
    return inner_.settle(true_one);
  }

 private:
  Fence truly(const std::string& ns, const JobId& id, Fence fence) {
    return now(ns, id).value_or(Job{}).group.empty() ? fence : fence + late(id);
  }
};

// J3: an outcome is accepted though its job was cancelled or retried since.
class AcceptsAnOutcomeAfterACancel final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<SettleReply> settle(const SettleRequest& request) override {
    Result<SettleReply> reply = inner_.settle(request);
    if (reply) std::erase_if(reply->refused, [](const Refusal& refusal) { return refusal.reason == "superseded"; });
    return reply;
  }
};

// J3: what a revoked delivery says still counts.
class TakesNotesUnderAnyFence final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<RecordReply> record(const RecordRequest& request) override {
    Result<RecordReply> reply = inner_.record(request);
    if (reply) reply->refused.clear();
    return reply;
  }
};

// J3: the repeat of a retry is a retry.
class RetriesAnewOnARepeat final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ActReply> retry(const ActRequest& request) override {
    ActRequest another = request;
    another.request += "-" + std::to_string(++calls_);
    return inner_.retry(another);
  }

 private:
  int calls_ = 0;
};

// J4: a depth leaks.
class MiscountsADepth final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::vector<QueueRow>> queues(const std::string& ns) override {
    Result<std::vector<QueueRow>> rows = inner_.queues(ns);
    if (rows && !rows->empty() && rows->front().depth_of(JobState::done) > 0)
      rows->front().depth[static_cast<std::size_t>(JobState::ready)] += 1;
    return rows;
  }
};

// J4: a purge does more than it says.
class PurgesMoreThanItSays final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<PurgeReply> purge(const PurgeRequest& request) override {
    PurgeRequest larger = request;
    larger.limit += 1;
    Result<PurgeReply> reply = inner_.purge(larger);
    if (reply) reply->cancelled = std::min<std::int64_t>(reply->cancelled, request.limit);
    return reply;
  }
};

// Changes what is enqueued before it gets to the store.
class ChangingStore : public PassingStore {
 public:
  using PassingStore::PassingStore;
  virtual void change(NewJob& job) = 0;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    EnqueueRequest other = request;
    for (NewJob& job : other.jobs) change(job);
    return inner_.enqueue(other);
  }
};

// J6: two of one key.
class LetsTwoInUnderOneKey final : public ChangingStore {
 public:
  using ChangingStore::ChangingStore;
  void change(NewJob& job) override { job.key.clear(); }
};

// J6: the key is free at the finish, whatever was asked for.
class FreesTheKeyAtTheFinish final : public ChangingStore {
 public:
  using ChangingStore::ChangingStore;
  void change(NewJob& job) override { job.key_for = Duration{0}; }
};

// J6: who was told the id of another job, is a new one when it asks again.
class ForgetsForWhomAnIdStands final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    EnqueueRequest other = request;
    for (NewJob& job : other.jobs) {
      if (aliases_.contains(job.id)) job.id.bytes[9] ^= static_cast<std::uint8_t>(++calls_ % 250 + 1);
    }
    Result<EnqueueReply> reply = inner_.enqueue(other);
    for (std::size_t i = 0; reply && i < request.jobs.size(); ++i) {
      if (reply->ids[i] != request.jobs[i].id) aliases_.insert(request.jobs[i].id);
    }
    return reply;
  }

 private:
  std::set<JobId> aliases_;
  int calls_ = 0;
};

// J6: a retry onto a taken key is said to be done.
class RetriesOntoATakenKey final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ActReply> retry(const ActRequest& request) override {
    Result<ActReply> reply = inner_.retry(request);
    if (reply) std::erase_if(reply->refused, [](const ActRefusal& refusal) { return refusal.reason == "key_taken"; });
    return reply;
  }
};

// J7: a group runs as many at a time as there are.
class RunsTwoOfAGroup final : public ChangingStore {
 public:
  using ChangingStore::ChangingStore;
  void change(NewJob& job) override { job.group.clear(); }
};

// J7: of one enqueue the last comes first.
class TurnsAGroupRound final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    EnqueueRequest other = request;
    std::reverse(other.jobs.begin(), other.jobs.end());
    Result<EnqueueReply> reply = inner_.enqueue(other);
    if (reply) std::reverse(reply->ids.begin(), reply->ids.end());
    return reply;
  }
};

// J7: one more than the limit.
class ExceedsALimitByOne final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<void> set_queue(const SetQueueRequest& request) override {
    SetQueueRequest larger = request;
    if (larger.change.limit.value_or(0) > 0) *larger.change.limit += 1;
    return inner_.set_queue(larger);
  }
  Result<std::vector<QueueRow>> queues(const std::string& ns) override {
    Result<std::vector<QueueRow>> rows = inner_.queues(ns);
    for (std::size_t i = 0; rows && i < rows->size(); ++i) {
      if ((*rows)[i].settings.limit > 0) (*rows)[i].settings.limit -= 1;
    }
    return rows;
  }
};

// J7: nobody counts by key.
class ForgetsTheLimitOfAKey final : public ChangingStore {
 public:
  using ChangingStore::ChangingStore;
  void change(NewJob& job) override { job.limit_key.clear(); }
};

// J7: the slot of a cancelled delivery is free at once.
class FreesASlotTooEarly final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ActReply> cancel(const ActRequest& request) override {
    std::vector<StoppedRequest> running;
    for (const JobId& id : request.ids) {
      const std::optional<Job> job = now(request.ns, id);
      if (job && job->state == JobState::running) running.push_back({.ns = request.ns, .owner = job->owner, .jobs = {{id, job->fence}}});
    }
    const Result<ActReply> reply = inner_.cancel(request);
    for (const StoppedRequest& stopped : running) (void)inner_.stopped(stopped);
    return reply;
  }
};

// J8: a claim that had room leaves something behind.
class PassesOverAFreeJob final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest smaller = request;
    smaller.limit = std::max(1, request.limit - 1);
    return inner_.claim(smaller);
  }
};

class IgnoresAPause final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<void> pause(const PauseRequest&) override { return {}; }
};

class DropsFromTheHistory final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override {
    Result<std::vector<Attempt>> reply = inner_.attempts(ns, id);
    if (reply && reply->size() > 1) reply->erase(reply->begin());
    return reply;
  }
};

class DoublesTheLog final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::optional<LogReply>> log(const LogRequest& request) override {
    Result<std::optional<LogReply>> reply = inner_.log(request);
    if (reply && *reply && !(*reply)->chunks.empty()) (*reply)->chunks.push_back((*reply)->chunks.back());
    return reply;
  }
};

struct Bug {
  std::string name;
  std::string promise;
  std::string scenario;
  std::function<std::unique_ptr<Store>(Store&)> make;
};

template <class Broken>
Bug bug(std::string name, std::string promise, std::string scenario = "lease-expiry") {
  return {std::move(name), std::move(promise), std::move(scenario), [](Store& inner) { return std::make_unique<Broken>(inner); }};
}

// For the names of tests.
void PrintTo(const Bug& bug, std::ostream* out) { *out << bug.name; }

class BrokenStore : public testing::TestWithParam<Bug> {};

TEST_P(BrokenStore, IsFoundOutByTheNameOfItsPromise) {
  StackPool stacks;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const SeedReport report = play(*find_scenario(GetParam().scenario), seed, stacks, {.wrap_store = GetParam().make});
    if (report.violations.empty()) continue;
    EXPECT_EQ(report.violations.front().promise, GetParam().promise) << report.violations.front().sentence;
    return;
  }
  FAIL() << "300 seeds saw nothing";
}

INSTANTIATE_TEST_SUITE_P(
    Sim, BrokenStore,
    testing::Values(
        bug<MintsTheFenceApart>("MintsTheFenceApart", "L1"), bug<ReusesTheFence>("ReusesTheFence", "L2"),
        bug<ForgetsTheFloor>("ForgetsTheFloor", "L2", "retention"),
        bug<GivesAGroupOlderFences>("GivesAGroupOlderFences", "L2", "groups-and-limits"), bug<GrantsWhatIsHeld>("GrantsWhatIsHeld", "L3"),
        bug<RevivesTheLease>("RevivesTheLease", "L4"), bug<ForgetsAnEnqueue>("ForgetsAnEnqueue", "J1", "job-storm"),
        bug<CountsARepeatAsNew>("CountsARepeatAsNew", "J1", "job-storm"), bug<OpensAFileAnew>("OpensAFileAnew", "J1", "unique-keys"),
        bug<TidiesTooEarly>("TidiesTooEarly", "J1", "retention"), bug<GrantsTooMany>("GrantsTooMany", "J2", "job-storm"),
        bug<GrantsAnewOnARepeat>("GrantsAnewOnARepeat", "J2", "job-storm"),
        bug<SettlesUnderAnyFence>("SettlesUnderAnyFence", "J3", "job-storm"),
        bug<AcceptsAnOutcomeAfterACancel>("AcceptsAnOutcomeAfterACancel", "J3", "cancel-against-completion"),
        bug<TakesNotesUnderAnyFence>("TakesNotesUnderAnyFence", "J3", "cancel-against-completion"),
        bug<RetriesAnewOnARepeat>("RetriesAnewOnARepeat", "J3", "cancel-against-completion"),
        bug<ListsTooFew>("ListsTooFew", "J4", "job-storm"), bug<MiscountsADepth>("MiscountsADepth", "J4", "job-storm"),
        bug<PurgesMoreThanItSays>("PurgesMoreThanItSays", "J4", "cancel-against-completion"),
        bug<CountsALossAsFailure>("CountsALossAsFailure", "J5", "job-storm"),
        bug<ForgetsWhoMustRunAlone>("ForgetsWhoMustRunAlone", "J5", "poison"),
        bug<KeepsWhatIsGivenBack>("KeepsWhatIsGivenBack", "J5", "job-storm"),
        bug<LetsTwoInUnderOneKey>("LetsTwoInUnderOneKey", "J6", "unique-keys"),
        bug<FreesTheKeyAtTheFinish>("FreesTheKeyAtTheFinish", "J6", "unique-keys"),
        bug<ForgetsForWhomAnIdStands>("ForgetsForWhomAnIdStands", "J6", "unique-keys"),
        bug<RetriesOntoATakenKey>("RetriesOntoATakenKey", "J6", "unique-keys"),
        bug<RunsTwoOfAGroup>("RunsTwoOfAGroup", "J7", "groups-and-limits"),
        bug<TurnsAGroupRound>("TurnsAGroupRound", "J7", "groups-and-limits"),
        bug<ExceedsALimitByOne>("ExceedsALimitByOne", "J7", "groups-and-limits"),
        bug<ForgetsTheLimitOfAKey>("ForgetsTheLimitOfAKey", "J7", "groups-and-limits"),
        bug<FreesASlotTooEarly>("FreesASlotTooEarly", "J7", "groups-and-limits"),
        bug<PassesOverAFreeJob>("PassesOverAFreeJob", "J8", "job-storm"), bug<IgnoresAPause>("IgnoresAPause", "pause", "pause-and-resume"),
        bug<DropsFromTheHistory>("DropsFromTheHistory", "history", "retry-storm"),
        bug<DoublesTheLog>("DoublesTheLog", "notes", "cancel-against-completion")),
    [](const auto& chosen) { return chosen.param.name; });

// Trust is a matter of clocks, not of the store: with clocks far off, and taken to be within the promise, handlers
// act too long.
TEST(BrokenClock, L5_AHandlerThatActsPastItsLeaseIsFoundOut) {
  static const Scenario far_off{.name = "far-off", .summary = "clocks off by a quarter", .plan = [](Random& random) {
                                  Plan plan = find_scenario("lease-expiry")->plan(random);
                                  plan.drift_ppm = 250'000;
                                  plan.drift_promised = 250'000;
                                  return plan;
                                }};
  StackPool stacks;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const SeedReport report = play(far_off, seed, stacks);
    if (report.violations.empty()) continue;
    EXPECT_EQ(report.violations.front().promise, "L5") << report.violations.front().sentence;
    return;
  }
  FAIL() << "300 seeds saw nothing";
}

}  // namespace
}  // namespace fenceline::sim
