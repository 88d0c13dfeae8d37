#include "runtime/actor.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "runtime/host.hpp"
#include "runtime/thread_runtime.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kParts = 5;
constexpr std::size_t kHostBytesMost = 64;  // what a kernel takes
constexpr int kStartAfterName = 20;         // fields between the name and the start in /proc/PID/stat

// From /proc/PID/stat: "pid (name) state ppid ...", where the name may hold anything, also ')'. Empty if there is no
// such process.
std::string start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(text.substr(end + 1));
  std::string field;
  for (int i = 0; i < kStartAfterName; ++i) fields >> field;
  return fields ? field : std::string();
}

std::string pid_space() {
  std::array<char, 64> text{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "";
}

std::string without_slashes(std::string text) {
  std::ranges::replace(text, '/', '-');
  return text.substr(0, kHostBytesMost);
}

std::vector<std::string> parts_of(const std::string& actor) {
  std::vector<std::string> parts;
  std::istringstream in(actor);
  for (std::string part; std::getline(in, part, '/');) parts.push_back(part);
  return parts;
}

std::string actor_of(const Clock& clock, pid_t pid) {
  return clock.boot_id() + "/" + std::to_string(pid) + "/" + start_of(pid) + "/" + without_slashes(host_name()) + "/" +
         pid_space();
}

// Of a process that can be judged from here.
std::optional<pid_t> pid_of(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  if (theirs.size() != kParts || ours.size() != kParts) return std::nullopt;
  for (const std::size_t place : {0, 3, 4}) {
    if (theirs[place] != ours[place] || theirs[place].empty()) return std::nullopt;
  }
  pid_t pid = 0;
  const std::string& text = theirs[1];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0 || theirs[2].empty()) return std::nullopt;
  return pid;
}

}  // namespace

std::optional<Duration> process_age(pid_t pid) {
  const std::string start = start_of(pid);
  std::int64_t ticks = 0;
  double up = 0;
  if (start.empty() || std::from_chars(start.data(), start.data() + start.size(), ticks).ec != std::errc{} ||
      !(std::ifstream("/proc/uptime") >> up))
    return std::nullopt;
  const std::chrono::duration<double> age(up -
                                          static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return std::chrono::duration_cast<Duration>(age);
}

std::string this_actor(const Clock& clock) { return actor_of(clock, ::getpid()); }

ActorLife wait_for_actor(const Clock& clock, const std::string& actor, Instant until, std::stop_token stop) {
  const std::vector<std::string> theirs = parts_of(actor);
  const std::optional<pid_t> pid = pid_of(theirs, parts_of(this_actor(clock)));
  if (!pid) return ActorLife::unknown;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (!process) return errno == ESRCH || errno == EINVAL ? ActorLife::gone : ActorLife::unknown;
  // The number may have gone to another one before it was opened. Where /proc hides it from us, nobody can tell.
  const std::string start = start_of(*pid);
  if (start.empty()) return ActorLife::unknown;
  if (start != theirs[2]) return ActorLife::gone;
  const UniqueFd stopped(::eventfd(0, EFD_CLOEXEC));
  const std::stop_callback wake(stop, [&] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stopped.get(), &one, sizeof one);
  });
  std::array<pollfd, 2> fds{{{process.get(), POLLIN, 0}, {stopped.get(), POLLIN, 0}}};
  for (;;) {
    const Duration left = std::clamp(until - clock.now(), Duration{0}, Duration{kWaitSlice});
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(fds.data(), fds.size(), static_cast<int>(milliseconds)) < 0 && errno != EINTR) return ActorLife::unknown;
    if (fds[0].revents != 0) return ActorLife::gone;
    if (fds[1].revents != 0 || clock.now() >= until) return ActorLife::lives;
  }
}

}  // namespace fenceline
