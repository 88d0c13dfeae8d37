#include "bench/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace fenceline::bench {

Result<ScratchFolder> ScratchFolder::make_in(const std::string& parent, std::int64_t room) {
  const std::string folder = parent.empty() ? "." : parent;
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  if (!unknown && static_cast<std::int64_t>(space.available) < room)
    return fail(Code::full, "the bench needs " + std::to_string(room >> 20) + " MiB and " + folder + " has " +
                                std::to_string(space.available >> 20) +
                                "; make room, or name a store elsewhere with --store");
  std::string pattern = (std::filesystem::path(folder) / "fenceline-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return fail(Code::refused, "no folder for the bench can be made in " + folder + ": " + std::strerror(errno) +
                                   "; name a store elsewhere with --store");
  return ScratchFolder(std::filesystem::absolute(pattern, unknown).string());
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), given_(other.given_) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::fresh_path(const std::string& stem) {
  return path_ + "/" + stem + "-" + std::to_string(++given_) + ".db";
}

void ScratchFolder::drop(const std::string& database) {
  std::error_code ignored;
  for (const char* ending : {"", "-wal", "-shm", "-lock", "-wake"}) std::filesystem::remove(database + ending, ignored);
}

}  // namespace fenceline::bench
