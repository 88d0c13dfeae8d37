// The promises of trackers, checked while they are played: against what was really written and in which order, and
// against what handlers did. Who reads what with how much delay is no excuse but where a promise says so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/violations.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/tracker/tracker_model.hpp"
#include "tracker/ledger.hpp"

namespace fenceline::sim {

struct TrackerCheckOptions {
  bool reads_are_true =
      false;  // nothing is stale and no comment is tampered with: then nobody works beside another (T1)
};

struct TrackerTally {
  std::int64_t claims = 0, renewals = 0, takeovers = 0, withdrawn = 0;
  std::int64_t advances = 0, void_records = 0, returns = 0, moves = 0, restored = 0, contested = 0, failures = 0;
  std::int64_t worked_twice = 0;  // two at the same time, both with trust
  std::int64_t done = 0;
  std::int64_t approved = 0, overdue_in = 0, overdue_back = 0;  // approvals: by people, and because nobody came in time
  std::int64_t sent_back = 0;                                   // by handlers
};

class TrackerChecks {
 public:
  TrackerChecks(const tracker::Protocol& protocol, TrackerModel& model, Violations& violations,
                TrackerCheckOptions options)
      : protocol_(protocol), model_(model), violations_(violations), options_(options) {}

  void happened(const TrackerEvent& event);
  // Which process has which name in its markers.
  void named(const std::string& writer, const std::string& worker) { workers_[writer] = worker; }

  // What handlers do.
  void starts(const tracker::ItemId& item, const std::string& place, SimRuntime& process, Instant trusted);
  void acts(const tracker::ItemId& item, SimRuntime& process, Instant trusted);
  void ends(const tracker::ItemId& item, SimRuntime& process, bool done);
  void died(SimRuntime& process);

  // When all is quiet: what comments and labels say is what happened.
  void at_the_end();
  bool all_done() const;
  std::string undone() const;  // for people: which, and why

  const TrackerTally& tally() const { return tally_; }
  std::string place_of(const tracker::ItemId& item) const { return known(item).place; }
  std::int64_t generation_of(const tracker::ItemId& item) const { return known(item).generation; }
  // As people read it.
  bool is_contested(const tracker::ItemId& item) const { return ledger_of(item).contested.has_value(); }

 private:
  struct Actor {
    SimRuntime* process = nullptr;
    Instant trusted{};
    std::int64_t generation = 0;
    std::string place;
  };
  struct Known {
    std::int64_t generation = 1;
    std::string place;
    bool contested = false;
    bool tampered = false;   // somebody deleted or changed what workers wrote
    WallTime tampered_at{};  // the last time
    std::set<std::pair<std::int64_t, std::string>> worked;
    std::set<std::string> reached;
    std::set<std::string> approvals;  // by trusted people, since it began to wait
    WallTime since{};
    std::vector<Actor> actors;
  };

  Known& known(const tracker::ItemId& item) const;
  void record(const TrackerEvent& event, const tracker::Marker& marker);
  void advance(const TrackerEvent& event, Known& item, const tracker::Marker& marker);
  void returned(const TrackerEvent& event, const Known& item, const tracker::Marker& marker);
  // The condition that it waits for; nullptr: none.
  const StageEntry* entry_of(std::string_view place) const;
  bool is_overdue(const Known& item, const StageEntry& entry, WallTime at) const {
    return entry.within > Duration{0} && at >= item.since + entry.within;
  }
  void erased(const TrackerEvent& event);
  void label_removed(const TrackerEvent& event);
  tracker::Ledger ledger_of(const tracker::ItemId& item) const;
  std::string worker_of(const std::string& writer) const;

  const tracker::Protocol& protocol_;
  TrackerModel& model_;
  Violations& violations_;
  const TrackerCheckOptions options_;
  mutable std::map<tracker::ItemId, Known> items_;
  std::map<std::string, std::string> workers_;
  TrackerTally tally_;
};

}  // namespace fenceline::sim
