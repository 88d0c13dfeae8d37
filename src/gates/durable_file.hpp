// A file that is replaced whole or not at all: its new content is written beside it, brought to the disk, and then
// takes its name. Each step is a call of its own, so that whoever takes them can say what is true between two of them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {

// "cannot be opened: No such file or directory", with the code that suits `number`: full, not_found, invalid (a link),
// broken.
Error file_error(const std::string& path, std::string_view what, int number);

// "." for a name without one.
std::string folder_of(const std::string& path);

// What was renamed in it is on the disk. Errors: broken.
Result<void> sync_folder(const std::string& folder);

// Makes it with all above it that is missing, each on the disk. Errors: as file_error.
Result<void> make_folders(const std::string& folder);

// Whether `target` may be replaced: not there, or a plain file. Errors: invalid, and as file_error.
Result<void> check_replaceable(const std::string& target);

// One process at a time uses a `temp`; what a crash left there is removed first.
class StagedFile {
 public:
  // Beside `target` and with its mode, and its owner and group as far as we may; if it is not there, as any new file.
  // A set-id bit goes with an owner that cannot be kept. Errors: as check_replaceable.
  static Result<StagedFile> begin(std::string target, std::string temp);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();  // removes what did not take its place

  Result<void> append(std::string_view bytes);
  // All of it is on the disk.
  Result<void> sync();
  // It takes the name of its target. That is on the disk after sync_folder().
  Result<void> take_place();
  // The same if nothing has that name. Errors: conflict.
  Result<void> take_free_place();

  int descriptor() const { return fd_.get(); }
  UniqueFd release() { return std::move(fd_); }

 private:
  StagedFile(std::string target, std::string temp, UniqueFd fd);

  std::string target_;
  std::string temp_;  // empty: it is in its place
  UniqueFd fd_;
};

Result<void> write_all(int fd, const std::string& path, std::string_view bytes);

}  // namespace fenceline
