// What a service manager such as systemd hears of its service: datagrams of NAME=VALUE lines to a socket that the
// environment names.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {

class ServiceManager {
 public:
  // `place` is NOTIFY_SOCKET: an absolute path, or @NAME in the abstract namespace. Errors: invalid.
  static Result<ServiceManager> open(std::string place);

  // "READY=1\nSTATUS=...". Never waits; false if nobody took it.
  bool tell(const std::string& words) const;

 private:
  ServiceManager(UniqueFd socket, std::string place) : socket_(std::move(socket)), place_(std::move(place)) {}

  UniqueFd socket_;
  std::string place_;
};

// What WATCHDOG_USEC and WATCHDOG_PID ask of process `pid`: a sign of life at least so often. Empty: nothing is asked
// of it.
std::optional<Duration> watchdog_of(const std::optional<std::string>& usec,
                                    const std::optional<std::string>& watched_pid, int pid);

}  // namespace fenceline
