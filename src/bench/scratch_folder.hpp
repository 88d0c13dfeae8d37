// A folder of a bench, on the disk that is to be measured.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace fenceline::bench {

// Removed with all it holds when it goes away.
class ScratchFolder {
 public:
  // A new folder inside `parent`. Errors: refused (it cannot be made), full (less than `room` bytes are free).
  static Result<ScratchFolder> make_in(const std::string& parent, std::int64_t room);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  const std::string& path() const { return path_; }
  // A name in it that was not given out before.
  std::string fresh_path(const std::string& stem);
  // Removes a file of SQLite's with all that belongs to it.
  static void drop(const std::string& database);

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  int given_ = 0;
};

}  // namespace fenceline::bench
