// Stores that each break one promise of leases or deliveries in one small way, for the tests of the checks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "store/forwarding_store.hpp"

namespace fenceline::sim {

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
      (void)inner_.settle({.ns = request.ns,
                           .owner = job.owner,
                           .settlements = {{job.id, job.fence, {.kind = OutcomeKind::given_back}}}});
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
    if (reply) std::erase_if(reply->refused, [](const Refusal& refusal) { return refusal.reason == Reason::expired; });
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

}  // namespace fenceline::sim
