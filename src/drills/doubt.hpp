// A store whose first claim is applied but never answered: what a worker sees when the reply is lost for good.
#pragma once

#include <mutex>
#include <string>

#include "store/forwarding_store.hpp"

namespace fenceline::cli {

class DoubtfulStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      if (doubted_.empty()) doubted_ = request.request;
    }
    Result<ClaimReply> reply = inner_.claim(request);
    const std::lock_guard lock(mutex_);
    if (request.request == doubted_) return fail(Code::in_doubt, "the drill dropped the reply");
    return reply;
  }

 private:
  std::mutex mutex_;
  std::string doubted_;  // request id of the claim whose replies are lost
};

}  // namespace fenceline::cli
