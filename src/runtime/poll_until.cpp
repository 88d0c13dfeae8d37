#include "runtime/poll_until.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace fenceline {
namespace {

constexpr Duration kPollSlice = std::chrono::seconds{1};  // a wait stands still in suspend, the clock does not
constexpr Duration kHearingSlice = std::chrono::milliseconds{100};  // of a wait that somebody may end

}  // namespace

bool poll_until(const Clock& clock, int socket, short events, Instant deadline, const std::stop_token& stop) {
  const Duration slice = stop.stop_possible() ? kHearingSlice : kPollSlice;
  for (;;) {
    const Duration left = deadline - clock.now();
    if (left <= Duration{0}) return false;
    pollfd waited{socket, events, 0};
    const int found = ::poll(&waited, 1, static_cast<int>(std::min(left, slice).count() / 1000 + 1));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return true;  // the next read says what is wrong
    if (found == 0 && stop.stop_requested()) return false;
  }
}

}  // namespace fenceline
