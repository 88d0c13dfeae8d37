// A store that passes every call on to another one: override what should go differently.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace fenceline::test {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& inner) : inner_(inner) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override { return inner_.enqueue(request); }
  Result<ClaimReply> claim(const ClaimRequest& request) override { return inner_.claim(request); }
  Result<void> give_back(const GiveBackRequest& request) override { return inner_.give_back(request); }
  Result<ExtendReply> extend(const ExtendRequest& request) override { return inner_.extend(request); }
  Result<SettleReply> settle(const SettleRequest& request) override { return inner_.settle(request); }
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

 protected:
  Store& inner_;
};

}  // namespace fenceline::test
