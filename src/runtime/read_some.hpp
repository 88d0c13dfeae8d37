// One read of a descriptor that may have nothing to say yet.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace fenceline {

enum class ReadEnd { open, blocked, closed };

// Reads once. A pipe that fails has nothing more to say either.
template <class Take>
ReadEnd read_some(int fd, Take take) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    return ReadEnd::open;
  }
  if (count < 0 && errno == EINTR) return ReadEnd::open;
  return count < 0 && errno == EAGAIN ? ReadEnd::blocked : ReadEnd::closed;
}

}  // namespace fenceline
