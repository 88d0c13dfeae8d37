// Claims jobs for a worker: as many as it has room for, when there may be some.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "services/worker_context.hpp"

namespace fenceline {

class Fetcher {
 public:
  explicit Fetcher(WorkerContext& context);

  // Until `stop`, a failure of the worker or, with `drain`, nothing is left. No claim is in doubt when it returns,
  // but for one that the store did not answer about for as long as its ttl.
  void fetch(std::stop_token stop);

 private:
  int room(const Holdings::Load& load, Instant now) const;
  void claim(int limit, bool holds_others, std::stop_token stop);
  void accept(const ClaimRequest& request, const ClaimReply& reply, Instant asked_at, Instant answered_at);
  void plan_next_claim(const ClaimRequest& request, const ClaimReply& reply, Instant answered_at);
  void give_back(const ClaimRequest& request, Instant until, std::stop_token stop);
  // Asks the store; true if there is nothing left to wait for.
  bool is_drained();

  WorkerContext& context_;
  std::vector<std::string> queues_;  // the first one moves to the back with each claim
  Instant claim_at_;                 // not before, unless hinted
  Duration idle_pause_;              // of a worker that finds nothing
  Duration drain_pause_;             // of a draining one that waits for others
  int failures_ = 0;                 // claims in a row that the store did not answer
  std::optional<Instant>
      alone_since_;          // a job that must run alone was first seen waiting, and we have held others ever since
  bool alone_seen_ = false;  // the last claim that was answered saw it
};

}  // namespace fenceline
