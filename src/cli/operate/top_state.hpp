// What `fenceline top` shows, read from a store by bounded looks: the totals that a store keeps, and first pages.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "doctor/state.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

struct TopSchedule {
  ScheduleRow row;
  std::string queue;
  std::string rule;              // "30 2 * * *", "every 5m"; of one that cannot be read here, why
  std::optional<WallTime> next;  // empty: it is paused, or has none
};

struct TopState {
  std::string store;  // as a user may see it
  std::string guarantee;
  std::string ns;
  WallTime at{};     // on the store's clock: all but `away` is of then
  std::string away;  // why the last look failed; empty: it did not
  bool cut = false;  // there may be more than is shown
  std::vector<QueueRow> queues;
  std::map<std::string, double> finished;  // jobs a second, by queue, since the look before; none at the first
  std::vector<WorkerRow> workers;
  RunningByOwner running;
  std::vector<LockRow> locks;  // that are held, or not available yet
  std::vector<TopSchedule> schedules;
  std::vector<Finding> findings;  // all, ok ones too
  std::function<std::string(std::string)> paste =
      {};  // makes a command what can be pasted: with what was typed to get here. None: it is

  std::string pasted(const std::string& command) const { return paste ? paste(command) : command; }
};

inline constexpr int kTopLocksMost = 200;
inline constexpr int kTopSchedulesMost = 200;

// For one thread.
class TopLook {
 public:
  TopLook(Runtime& runtime, Store& store, std::string ns, std::function<std::string(std::string)> paste);
  // What there is now. If the store does not answer: what there was, and why that is all.
  TopState look();

 private:
  Result<TopState> read();

  Runtime& runtime_;
  Store& store_;
  TopState last_;
  Instant read_at_{};  // when the last one that was answered was asked for
};

// One JSON object on one line.
std::string top_json(const TopState& state);

}  // namespace fenceline::cli
