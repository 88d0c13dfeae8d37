#include "mounts.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fenceline::e2e {

std::string why_no_mounts() {
  static const std::string why = [] {
    if (::geteuid() != 0) return std::string("only root may mount");
    if (::unshare(CLONE_NEWNS) != 0) return std::string("no mount namespace: ") + std::strerror(errno);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return std::string("mounts cannot be made private: ") + std::strerror(errno);
    return std::string();
  }();
  return why;
}

bool mount_small(const std::filesystem::path& folder, std::size_t bytes) {
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
}

bool mount_read_only(const std::filesystem::path& folder) {
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
}

void unmount(const std::filesystem::path& folder) { ::umount2(folder.c_str(), MNT_DETACH); }

}  // namespace fenceline::e2e
