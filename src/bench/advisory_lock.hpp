// What PostgreSQL has for a lock of its own: of a session, without a lease and without a fence; straight on libpq.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace fenceline::bench {

// One session. One thread uses it.
class AdvisoryLock {
 public:
  virtual ~AdvisoryLock() = default;
  // Waits for it. Errors: unavailable, with what the server said.
  virtual Result<void> lock(std::int64_t key) = 0;
  virtual Result<void> unlock(std::int64_t key) = 0;
};

// Errors: unavailable.
Result<std::unique_ptr<AdvisoryLock>> open_advisory_lock(const std::string& url);

}  // namespace fenceline::bench
