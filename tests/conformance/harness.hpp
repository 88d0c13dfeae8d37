// How the conformance suite holds a store: it opens one, uses it, and lets time pass for it. A store that
// lives in this process is given a clock that moves by hand; one with a clock of its own really waits.
#pragma once

#include <memory>

#include "base/time.hpp"
#include "store/store.hpp"

namespace fenceline::test {

class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual Store& store() = 0;
  virtual void let_time_pass(Duration duration) = 0;
  // The store's wall clock, and someone who sets it. Leases do not notice.
  virtual WallTime wall() = 0;
  virtual void set_wall(WallTime to) = 0;
  // Someone sets the server's clock, by which leases run too. False: leases run on a clock that nobody can set.
  virtual bool set_server_clock(Duration) { return false; }
  // Closes the store and opens it again, as another process would. False: it keeps nothing.
  virtual bool reopen() { return false; }
};

// An empty store of its own for each call.
using OpenHarness = std::unique_ptr<StoreHarness> (*)();

}  // namespace fenceline::test
