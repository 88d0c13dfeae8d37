// Stores that each break one promise of keys, groups, limits, acts or retention in one small way.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenarios/broken_stores.hpp"

namespace fenceline::sim {

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
    for (Settlement& settlement : true_one.settlements)
      settlement.fence = truly(request.ns, settlement.id, settlement.fence);
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
    if (reply)
      std::erase_if(reply->refused, [](const Refusal& refusal) { return refusal.reason == Reason::superseded; });
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
    if (reply)
      std::erase_if(reply->refused, [](const ActRefusal& refusal) { return refusal.reason == Reason::key_taken; });
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
      if (job && job->state == JobState::running)
        running.push_back({.ns = request.ns, .owner = job->owner, .jobs = {{id, job->fence}}});
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

// J8: who waits is not told for whom.
class ExplainsNothing final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) override {
    Result<std::optional<JobFacts>> reply = inner_.facts(ns, id);
    if (reply && *reply) **reply = JobFacts{.job = (*reply)->job};
    return reply;
  }
};

class IgnoresAPause final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<void> pause(const PauseRequest&) override { return {}; }
};

// Order: only the worker is told.
class GrantsToTheQuiet final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    Result<ClaimReply> reply = inner_.claim(request);
    if (!reply || !reply->ordered) return reply;
    ClaimRequest anew = request;
    anew.owner += "-unheard";
    return inner_.claim(anew);
  }
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

}  // namespace fenceline::sim
