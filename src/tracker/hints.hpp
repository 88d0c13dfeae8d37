// Items that a webhook says have changed, and when to look at them: for up to three minutes after the webhook the
// tracker may answer "not found" or show the old state. Nothing in a hint is believed, so a lost, duplicate or late one
// does no harm: it costs some reads, or waits for the next poll. Time is an argument.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

inline constexpr std::array<Duration, 5> kHintLooks{std::chrono::seconds{0}, std::chrono::seconds{10},
                                                    std::chrono::seconds{30}, std::chrono::seconds{90},
                                                    std::chrono::seconds{180}};
inline constexpr std::size_t kHintsMost = 1000;  // items at a time; more are left to the lists
inline constexpr int kHintLooksAMinute = 15;     // so that many of them do not use up the budget

// Safe to call from several threads.
class Hints {
 public:
  // From `first` on it is looked at, and looked at again as kHintLooks says. Once more while it is: from the beginning,
  // ten seconds after the last one at the earliest.
  void heard(const ItemId& item, Instant first);
  // Those whose turn it is. Each is to be answered by shown() or forget().
  std::vector<ItemId> due(Instant now);
  // What a look showed; empty: it could not be read. `known`: when it had changed last, as far as was known before.
  // Done with it once it shows something newer than that, or than its first look.
  void shown(const ItemId& item, std::optional<WallTime> updated_at, std::optional<WallTime> known);
  void forget(const ItemId& item);
  // When one is due; Instant::max(): never.
  Instant next(Instant now) const;

 private:
  struct Watched {
    Instant first{};
    std::size_t look = 0;  // the next one
    std::optional<WallTime> known;
  };
  Instant free_at(Instant now) const;

  mutable std::mutex mutex_;
  std::map<ItemId, Watched> items_;
  std::deque<Instant> looks_;  // of the last minute
};

}  // namespace fenceline::tracker
