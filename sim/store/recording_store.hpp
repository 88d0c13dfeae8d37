// A Store directly around the real one: passes every call on as it is and tells an observer of each that may
// have changed something. It adds no faults, takes no time and calls no Runtime.
#pragma once

#include "runtime/clock.hpp"
#include "sim/store/applied.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

class RecordingStore final : public Store {
 public:
  // All must outlive it; `clock` is the store's own.
  RecordingStore(Clock& clock, Store& inner, StoreObserver& observer) : clock_(clock), inner_(inner), observer_(observer) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override { return recorded<EnqueueCall>(request, inner_.enqueue(request)); }
  Result<ClaimReply> claim(const ClaimRequest& request) override { return recorded<ClaimCall>(request, inner_.claim(request)); }
  Result<void> give_back(const GiveBackRequest& request) override { return recorded<GiveBackCall>(request, inner_.give_back(request)); }
  Result<ExtendReply> extend(const ExtendRequest& request) override { return recorded<ExtendCall>(request, inner_.extend(request)); }
  Result<SettleReply> settle(const SettleRequest& request) override { return recorded<SettleCall>(request, inner_.settle(request)); }

  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override { return inner_.job(ns, id); }
  Result<JobsReply> jobs(const JobsRequest& request) override { return inner_.jobs(request); }
  Result<BacklogReply> backlog(const BacklogRequest& request) override { return inner_.backlog(request); }
  Result<void> report_worker(const WorkerReport& report) override { return inner_.report_worker(report); }
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override { return inner_.remove_worker(ns, owner); }
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override { return inner_.workers(ns); }
  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override { return inner_.trail(ns, limit); }
  Result<void> remove_namespace(const std::string& ns, const Act& act) override { return inner_.remove_namespace(ns, act); }
  StoreProfile profile() const override { return inner_.profile(); }
  Result<std::vector<Finding>> examine() override { return inner_.examine(); }
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    return inner_.watch(request, std::move(on_change));
  }

 private:
  template <class AnyCall, class Request, class Answer>
  Answer recorded(const Request& request, Answer reply) {
    observer_.applied({clock_.now(), clock_.wall_now(), AnyCall{request, reply}});
    return reply;
  }

  Clock& clock_;
  Store& inner_;
  StoreObserver& observer_;
};

}  // namespace fenceline::sim
