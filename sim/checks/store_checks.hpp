// Watches every call that takes effect in the store and says which promise an answer breaks: L1 to L4 and J1 to
// J8, E1 and E2 as far as the store alone can keep them. Keeps for each job what must be true of it. What has no name
// among the promises goes under a word: `pause` (a paused queue grants nothing), `order` (nor does a claim of a worker
// that shall be quiet or stop), `retry` (how long a job waits after an outcome), `history` (of attempts), `notes`
// (progress and log).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/known_job.hpp"
#include "sim/checks/slots.hpp"
#include "sim/checks/store_truth.hpp"
#include "sim/checks/violations.hpp"
#include "sim/store/applied.hpp"
#include "sim/store/tally.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// How long an id stands for another job at least.
inline constexpr Duration kAliasLeast = std::chrono::hours{25};

class StoreChecks final : public StoreObserver, private StoreTruth {
 public:
  // `store` is the real one, to look at without being seen. All must outlive it. `deliveries_from`: where a new job's
  // deliveries begin.
  StoreChecks(std::string ns, Store& store, Violations& violations, Tally& tally, std::int64_t deliveries_from = 0)
      : ns_(std::move(ns)), store_(store), violations_(violations), tally_(tally), deliveries_from_(deliveries_from) {}

  void applied(const Applied& applied) override;

  // Compares the whole store with what must be true (J1, J4, and what a call changed behind our back).
  void compare_all(Instant now);
  // Compares what is told of each job beside its row: history and log.
  void compare_stories();
  // J8: of unfinished jobs, at most so many, the store says what they wait for. `turn`: where to begin.
  void explains_what_waits(Instant now, WallTime wall, std::size_t most, std::size_t turn);

  // A producer was told that these are in, under these ids (J1).
  void acknowledged(const std::vector<NewJob>& jobs, const std::vector<JobId>& ids);

  // How far the store's wall clock is behind what it showed before.
  Duration set_back_by(WallTime now) const { return std::max(Duration{0}, wall_high_ - now); }

  // What must be true now.
  const StoreTruth& truth() const { return *this; }
  // The store is as it was at an earlier moment and knows nothing of what came after. From there on every promise holds
  // again; over the gap those of its class do (the end of section 2 of the design): of class B nothing may be missing
  // that was acknowledged; of class C a fence that someone was told of stays behind all new ones, unless the store's
  // wall clock was set back, and a lease of the lost tail is trusted in vain.
  void went_back(const StoreTruth& before, GuaranteeClass guarantee);
  // A grant or a renewal of this delivery is in a tail that the store lost: its holder cannot know.
  bool is_forgotten(const Holding& delivery) const { return forgotten_.contains(delivery); }

  // Before each tidying that it is told of: so many of what was removed are no jobs.
  void others_tidied(std::int64_t count) { others_tidied_ = count; }

  // The worker that holds this was killed by the handler of another job: if it is lost now, it is by its doing.
  void poisoned(const Holding& neighbour) { poisoned_.insert(neighbour); }

  const KnownJob* find(const JobId& id) const;
  const std::map<JobId, KnownJob>& jobs() const { return jobs_; }
  // Those that retention took, and were not made anew.
  const std::map<JobId, Fence>& tidied() const { return tidied_; }
  std::int64_t unfinished() const { return unfinished_; }
  // Effects in doubt.
  std::int64_t doubts(Instant now) const;
  bool is_paused(const std::string& queue) const;
  // The delivery was revoked, and its slot is still kept.
  bool keeps_slot(const Holding& delivery, Instant now) const;
  // When an operator ended this delivery.
  std::optional<Instant> revoked_at(const Holding& delivery) const;
  bool was_held(const Holding& delivery) const { return held_.contains(delivery); }

 private:
  // What one job of an enqueue must come to.
  struct Expected {
    JobId id;
    bool is_new = false;
    bool by_key = false;
  };

  void see(const Applied& when, const EnqueueCall& call);
  void see(const Applied& when, const ClaimCall& call);
  void see(const Applied& when, const GiveBackCall& call);
  void see(const Applied& when, const ExtendCall& call);
  void see(const Applied& when, const SettleCall& call);
  void see(const Applied& when, const RecordCall& call);
  void see(const Applied& when, const BatchCall& call);
  void see(const Applied& when, const CancelCall& call);
  void see(const Applied& when, const RetryCall& call);
  void see(const Applied& when, const PurgeCall& call);
  void see(const Applied& when, const SetQueueCall& call);
  void see(const Applied& when, const PauseCall& call);
  void see(const Applied& when, const TidyCall& call);
  void see(const Applied& when, const OrderCall& call);
  void see(const Applied& when, const StoppedCall& call);
  void see(const Applied& when, const BeginEffectCall& call);
  void see(const Applied& when, const FinishEffectCall& call);
  void see(const Applied& when, const ResolveEffectCall& call);
  void see(const Applied& when, const RaiseFloorCall& call);
  // Locks are for LockChecks.
  void see(const Applied&, const AcquireCall&) {}
  void see(const Applied&, const RenewCall&) {}
  void see(const Applied&, const ReleaseCall&) {}
  void see(const Applied&, const WithdrawCall&) {}
  void see(const Applied&, const BreakCall&) {}
  // Of schedules only the jobs: the rest is for ScheduleChecks.
  void see(const Applied& when, const StepCall& call);
  void see(const Applied& when, const ChangeScheduleCall& call);
  void add_fired(const Applied& when, const TickStep& step, const std::vector<WallTime>& duplicates);

  // Empty if it must be refused: its key belongs to another payload. `sooner`: keys of the jobs before it in its
  // request.
  std::optional<Expected> expected(const Applied& when, const NewJob& job,
                                   const std::map<Slots::Name, const NewJob*>& sooner) const;
  void add_job(const Applied& when, const NewJob& added);
  void take_key(const KnownJob& job) { keys_[{job.queue, job.key}] = job.id; }
  // What was promised for a day may be forgotten after it, or not.
  void forget_aliases(const Applied& when, const EnqueueCall& call);
  const KnownJob* key_holder(const std::string& queue, const std::string& key, WallTime now) const;

  void see_grant(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed, Slots& slots);
  bool see_slots(const Applied& when, const KnownJob& job, Slots& slots);
  void see_repeat(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed, const ClaimSeen& before);
  // Its claims bring nothing: it was told to be quiet or to stop, and its row is still there.
  std::optional<bool> is_ordered(const std::string& owner) const;
  void see_burials(const Applied& when, const ClaimCall& call, bool does_nothing);
  void see_passed_over(const Applied& when, const ClaimCall& call, const Slots& slots);
  void see_extended(const Applied& when, const ExtendCall& call, KnownJob& job, const Holding& holding);
  void see_settled(const Applied& when, const SettleCall& call, KnownJob& job, const Settlement& settlement);
  void see_refused(const Applied& when, const Refusal& refusal, bool was_rightful, std::string_view verb,
                   std::string_view promise);
  void see_cancelled(const Applied& when, KnownJob& job, const std::string& request);
  void see_retried(const Applied& when, KnownJob& job, const std::string& request);
  void count_loss(KnownJob& job);
  // An operator ended the delivery at hand.
  void revoke(const Applied& when, KnownJob& job, AttemptEnd end);
  // Takes over what an act may choose, within its bounds: the fence, and the owner of a job that does not run.
  void take_over_from_store(const Applied& when, KnownJob& job, bool must_have_grown);
  void see_fence(const Applied& when, const KnownJob& job, Fence fence);
  void see_refused_for_fences(const Applied& when, const Error& error);

  // How a begin must be answered: a verdict, or the code of an error.
  std::string must_begin(const Applied& when, const BeginEffectRequest& request) const;
  void see_begun(const Applied& when, const BeginEffectRequest& request, KnownJob& job, EffectVerdict verdict);
  void compare_effects(Instant now);
  void compare_effect(const KnownJob& job, const Effect& shown, Instant now);
  // After a call about an effect of it.
  void compare_now(const Applied& when, const KnownJob& job);

  KnownJob* known(const JobId& id);
  // What the store shows of one job is what must be true. `promise`: the one a silent change would break.
  void compare(const KnownJob& job, const Job& shown, Instant now, std::string_view promise);
  void compare_queues();
  void compare_facts(const KnownJob& job, Blocked by, const JobFacts& facts);
  void compare_attempts(const KnownJob& job);
  void compare_log(const KnownJob& job);
  void broken(std::string_view promise, const JobId& id, std::string_view what);

  std::string ns_;
  Store& store_;
  Violations& violations_;
  Tally& tally_;
  std::int64_t deliveries_from_;
  std::int64_t others_tidied_ = 0;
  std::set<Holding> poisoned_;
  WallTime wall_high_;  // the largest that the store's wall clock ever showed
  WallTime wall_last_;

  // Not of the store, so it cannot forget them.
  std::set<JobId> acknowledged_;
  std::set<Holding> forgotten_;
  std::set<JobId> forgotten_jobs_;
  std::map<JobId, Fence> told_;  // the newest fence that a lost tail had
  std::map<Slots::Name, Fence> told_of_groups_;
};

}  // namespace fenceline::sim
