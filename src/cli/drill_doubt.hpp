// A store whose first claim is applied but never answered: what a worker sees when the reply is lost for good.
#pragma once

#include <mutex>
#include <string>

#include "store/store.hpp"

namespace fenceline::cli {

class DoubtfulStore final : public Store {
 public:
  explicit DoubtfulStore(Store& store) : store_(store) {}

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      if (doubted_.empty()) doubted_ = request.request;
    }
    Result<ClaimReply> reply = store_.claim(request);
    const std::lock_guard lock(mutex_);
    if (request.request == doubted_) return fail(Code::in_doubt, "the drill swallowed the reply");
    return reply;
  }

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override { return store_.enqueue(request); }
  Result<void> give_back(const GiveBackRequest& request) override { return store_.give_back(request); }
  Result<ExtendReply> extend(const ExtendRequest& request) override { return store_.extend(request); }
  Result<SettleReply> settle(const SettleRequest& request) override { return store_.settle(request); }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override { return store_.job(ns, id); }
  Result<JobsReply> jobs(const JobsRequest& request) override { return store_.jobs(request); }
  Result<BacklogReply> backlog(const BacklogRequest& request) override { return store_.backlog(request); }
  Result<void> report_worker(const WorkerReport& report) override { return store_.report_worker(report); }
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override { return store_.remove_worker(ns, owner); }
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override { return store_.workers(ns); }
  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override { return store_.trail(ns, limit); }
  Result<void> remove_namespace(const std::string& ns, const Act& act) override { return store_.remove_namespace(ns, act); }
  StoreProfile profile() const override { return store_.profile(); }
  Result<std::vector<Finding>> examine() override { return store_.examine(); }
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    return store_.watch(request, std::move(on_change));
  }

 private:
  Store& store_;
  std::mutex mutex_;
  std::string doubted_;  // request id of the claim whose replies are lost
};

}  // namespace fenceline::cli
