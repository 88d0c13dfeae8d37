// Renews the leases of locks, all of one ttl in one call.
#pragma once

#include <cstddef>
#include <stop_token>

#include "services/lock_holdings.hpp"

namespace fenceline {

struct LockParts;

class LockKeeper {
 public:
  LockKeeper(LockParts& parts, std::size_t number) : parts_(parts), number_(number) {}

  // Until `stop`: renews at the times that renewal_try() names. What the store refuses is lost at once.
  void keep(std::stop_token stop);

 private:
  void renew(const LockHoldings::Group& group);
  void apply(const LockHoldings::Group& group, const RenewReply& reply, Instant asked_at, Instant answered_at);

  LockParts& parts_;
  const std::size_t number_;
};

}  // namespace fenceline
