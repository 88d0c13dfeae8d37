#include "runtime/collected_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "runtime/read_some.hpp"

namespace fenceline {
namespace {

ReadEnd collect_some(int fd, const CollectRequest& request, Collected& collected) {
  return read_some(fd, [&](std::string_view text) {
    const std::size_t room = request.bytes_max - std::min(collected.output.size(), request.bytes_max);
    collected.output.append(text.substr(0, room));
    collected.too_large = collected.too_large || text.size() > room;
  });
}

// Until the child has ended. What it left behind may write on, and is not waited for.
void read_until_end(int output, int exited, const CollectRequest& request, Collected& collected) {
  for (bool ended = false, open = true; !ended;) {
    std::array<pollfd, 2> fds{{{open ? output : -1, POLLIN, 0}, {exited, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) open = collect_some(output, request, collected) != ReadEnd::closed;
    ended = exited >= 0 ? fds[1].revents != 0 : !open;  // without a descriptor of it, its last words are its end
  }
  while (collect_some(output, request, collected) == ReadEnd::open) {
  }
}

}  // namespace

Result<Collected> collect(const CollectRequest& request) {
  Result<Pipe> output = make_pipe();
  if (!output) return std::unexpected(output.error());
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnRequest spawn{.program = request.command.front(),
                     .arguments = request.command,
                     .environment = environment_with(request.variables),
                     .dies_with_us = true};
  spawn.descriptors.emplace_back(output->write.get(), STDOUT_FILENO);
  if (!request.takes_input) spawn.descriptors.emplace_back(nothing.get(), STDIN_FILENO);
  const Result<ChildProcess> child = spawn_child(spawn);
  if (!child) return std::unexpected(child.error());
  output->write.reset();
  set_nonblocking(output->read.get());
  Collected collected;
  {
    const std::stop_callback pass_on(request.stop, [&] {
      const int signal = request.stop_signal != nullptr ? request.stop_signal() : 0;
      ::kill(-child->pid, signal != 0 ? signal : SIGTERM);
    });
    read_until_end(output->read.get(), child->exited.get(), request, collected);
  }
  collected.status = reap(*child);
  return collected;
}

}  // namespace fenceline
