// The side of a service manager: the socket that NOTIFY_SOCKET names.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <string>

#include "runtime/unique_fd.hpp"

namespace fenceline::test {

class Manager {
 public:
  explicit Manager(const std::string& place) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    place.copy(address.sun_path, place.size());
    if (place[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size())),
              0);
  }
  std::string heard() const {
    std::array<char, 4096> words{};
    const ssize_t length = ::recv(socket_.get(), words.data(), words.size(), MSG_DONTWAIT);
    return length < 0 ? "(nothing)" : std::string(words.data(), static_cast<std::size_t>(length));
  }

 private:
  UniqueFd socket_;
};

}  // namespace fenceline::test
