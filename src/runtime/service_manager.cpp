#include "runtime/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace fenceline {
namespace {

std::optional<std::int64_t> whole(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<ServiceManager> ServiceManager::open(std::string place) {
  if (place.size() < 2 || place.size() >= sizeof(sockaddr_un::sun_path) || (place[0] != '/' && place[0] != '@'))
    return fail(Code::invalid, "NOTIFY_SOCKET is neither an absolute path nor @NAME of fewer than " +
                                   std::to_string(sizeof(sockaddr_un::sun_path)) + " bytes");
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket)
    return fail(Code::invalid, std::string("cannot open a socket to the service manager: ") + std::strerror(errno));
  return ServiceManager(std::move(socket), std::move(place));
}

bool ServiceManager::tell(const std::string& words) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  place_.copy(address.sun_path, place_.size());
  if (place_[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place_.size());
  const ssize_t sent = ::sendto(socket_.get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  return sent == static_cast<ssize_t>(words.size());
}

std::optional<Duration> watchdog_of(const std::optional<std::string>& usec,
                                    const std::optional<std::string>& watched_pid, int pid) {
  if (!usec || (watched_pid && whole(*watched_pid) != pid)) return std::nullopt;
  const std::optional<std::int64_t> number = whole(*usec);
  if (!number || *number <= 0) return std::nullopt;
  return Duration{*number};
}

}  // namespace fenceline
