// The history of one seed, for the checker that shares nothing with the simulator's own checks: what its processes saw,
// or what its store did.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "check/checker.hpp"
#include "history/history_store.hpp"
#include "history/recorder.hpp"
#include "runtime/clock.hpp"
#include "sim/checks/violations.hpp"

namespace fenceline::sim {

enum class Audit {
  by_seed,  // a share of all seeds, some of either kind; which ones depends on the seed alone
  none,
  clients,  // as its processes saw it: between each of them and the bad line to the store
  store,    // as it took effect, call by call
};

class SeedHistory final : public history::Sink {
 public:
  // `truth` tells true time, which is what the store's leases run on, unless they are to be judged by order alone; it
  // must outlive this.
  SeedHistory(Audit audit, const Clock& truth, bool repeats, bool leases_by_order = false)
      : audit_(audit), truth_(truth), repeats_(repeats), leases_by_order_(leases_by_order) {}

  Audit of() const { return audit_; }
  // Lives as long as this.
  history::Recorder& recorder(const std::string& by);
  void write(std::string line) override { lines_.push_back(std::move(line)); }

  // Reads its own lines back and checks them.
  audit::Verdict check() const;
  void tell(Violations& violations) const;
  std::string text() const;

 private:
  Audit audit_;
  const Clock& truth_;
  bool repeats_;
  bool leases_by_order_;
  std::vector<std::unique_ptr<history::Recorder>> recorders_;
  std::vector<std::string> lines_;
};

}  // namespace fenceline::sim
