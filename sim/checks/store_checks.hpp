// Watches every call that takes effect in the store and says which promise an answer breaks: L1 to L4 and J1 to
// J5 as far as the store alone can keep them. Keeps for each job what must be true of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/known_job.hpp"
#include "sim/checks/violations.hpp"
#include "sim/store/applied.hpp"
#include "sim/store/tally.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

class StoreChecks final : public StoreObserver {
 public:
  // `store` is the real one, to look at without being seen. All must outlive it.
  StoreChecks(std::string ns, Store& store, Violations& violations, Tally& tally)
      : ns_(std::move(ns)), store_(store), violations_(violations), tally_(tally) {}

  void applied(const Applied& applied) override;

  // Compares the whole store with what must be true (J1, J4, and what a call changed behind our back).
  void compare_all(Instant now);

  // A producer was told that these are in (J1).
  void acknowledged(const std::vector<NewJob>& jobs);

  // The worker that holds this was killed by the handler of another job: if it is lost now, it is by its doing.
  void poisoned(const Holding& neighbour) { poisoned_.insert(neighbour); }

  const KnownJob* find(const JobId& id) const;
  const std::map<JobId, KnownJob>& jobs() const { return jobs_; }
  std::int64_t unfinished() const { return unfinished_; }

 private:
  // A claim that granted something or was given back: until `end` it may grant nothing more.
  struct ClaimSeen {
    Instant end{};
    std::set<Holding> granted;
  };

  void see(const Applied& when, const EnqueueCall& call);
  void see(const Applied& when, const ClaimCall& call);
  void see(const Applied& when, const GiveBackCall& call);
  void see(const Applied& when, const ExtendCall& call);
  void see(const Applied& when, const SettleCall& call);

  void see_grant(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed);
  void see_repeat(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed, const ClaimSeen& before);
  void see_burials(const Applied& when, const ClaimCall& call, bool is_repeat);
  void see_extended(const Applied& when, const ExtendCall& call, KnownJob& job, const Holding& holding);
  void see_settled(const Applied& when, const SettleCall& call, KnownJob& job, const Settlement& settlement);
  void see_refused(const Applied& when, const Refusal& refusal, bool was_rightful, std::string_view verb, std::string_view promise);
  void count_loss(KnownJob& job);

  KnownJob* known(const JobId& id);
  // What the store shows of one job is what must be true. `promise`: the one a silent change would break.
  void compare(const KnownJob& job, const Job& shown, Instant now, std::string_view promise);
  void broken(std::string_view promise, const JobId& id, std::string_view what);

  std::string ns_;
  Store& store_;
  Violations& violations_;
  Tally& tally_;
  std::map<JobId, KnownJob> jobs_;
  std::map<std::pair<std::string, std::string>, ClaimSeen> claims_;  // by owner and request
  std::set<Holding> poisoned_;
  std::int64_t unfinished_ = 0;
};

}  // namespace fenceline::sim
