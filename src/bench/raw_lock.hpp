// What people write for a lock on a Redis server: SET with NX and PX, and a script that deletes the key if it is still
// theirs. It has a lease and no fence, and nobody waits in turn.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::bench {

// Of one connection. One thread uses it.
class RawLock {
 public:
  virtual ~RawLock() = default;
  // One call: false if it is held. Errors: those of the server.
  virtual Result<bool> take(const std::string& name) = 0;
  // One call: false if it was not ours any more.
  virtual Result<bool> give(const std::string& name) = 0;
};

// Errors: invalid, unavailable. The runtime must outlive it.
Result<std::unique_ptr<RawLock>> open_raw_lock(Runtime& runtime, const std::string& url);

}  // namespace fenceline::bench
