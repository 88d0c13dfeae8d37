// What can wait, apart from everything that cannot: looks after locks that may have been broken, takes back acquires
// that were not answered, and has free locks removed. A store that hangs delays nothing else here.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stop_token>

#include "services/lock_hints.hpp"
#include "services/lock_holdings.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {

class LockAttendant {
 public:
  explicit LockAttendant(LockParts& parts) : parts_(parts) {}

  void attend(std::stop_token stop);

 private:
  struct Attended {
    LockStatePtr state;
    LockHints::ListenerPtr listener;
    std::int64_t seen = 0;  // hints
    Instant look_again{};   // not before
    bool wanted = true;     // a look
  };

  void begin_attending();
  // When the next look is due.
  std::optional<Instant> look_after();
  void look(Attended& attended);
  std::optional<Instant> take_back(const std::stop_token& stop);
  std::optional<Instant> tidy();

  LockParts& parts_;
  std::map<std::uint64_t, Attended> attended_;
  std::deque<Unanswered> unanswered_;
  Instant take_back_at_{};
  int take_back_tries_ = 0;
  std::optional<Instant> tidy_at_;     // the next one
  std::optional<Instant> tidy_until_;  // what was released last has been free for long enough then
};

}  // namespace fenceline
