// Tells holders of locks when their lease is about to end, and gives a lock up when trust ends (L5). Apart from the
// renewals, so that a store that hangs delays nothing here.
#pragma once

#include <stop_token>

namespace fenceline {

struct LockParts;

class LockTrustWatch {
 public:
  explicit LockTrustWatch(LockParts& parts) : parts_(parts) {}

  void watch(std::stop_token stop);

 private:
  LockParts& parts_;
};

}  // namespace fenceline
