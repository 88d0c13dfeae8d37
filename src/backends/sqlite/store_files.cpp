#include "backends/sqlite/store_files.hpp"

#include <sys/stat.h>

#include <array>
#include <utility>

namespace fenceline::sqlite {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kFilesOfAStore{
    {{"", ""}, {"-wal", "its log"}, {"-shm", "its shared memory"}, {"-lock", "its lock file"}}};

}  // namespace

StoreFiles::StoreFiles(const std::string& path) : path_(path) {
  for (const auto& [ending, what] : kFilesOfAStore) {
    struct stat status {};
    const std::string file = path + ending;
    if (::stat(file.c_str(), &status) == 0) files_.push_back({file, what, status.st_dev, status.st_ino});
  }
}

std::optional<Error> StoreFiles::changed(const File& file) const {
  struct stat status {};
  const bool there = ::stat(file.path.c_str(), &status) == 0;
  const bool same = there && status.st_dev == file.device && status.st_ino == file.inode;
  const bool emptied = same && file.what.empty() && status.st_size == 0;
  if (same && !emptied) return std::nullopt;
  const std::string which =
      file.what.empty() ? "store " + path_ : "store " + path_ + ": " + file.what + " " + file.path;
  return Error{Code::refused,
               which +
                   (emptied ? " was emptied"
                    : there ? " was replaced by another file"
                            : " was deleted or moved") +
                   " while this process had it open; nothing more is written. Stop every process of this store, put "
                   "the file back or run 'fenceline restore', then start them again"};
}

std::optional<Error> StoreFiles::changed() const {
  for (const File& file : files_) {
    if (auto error = changed(file)) return error;
  }
  return std::nullopt;
}

std::optional<Error> StoreFiles::database_changed() const {
  return files_.empty() ? std::nullopt : changed(files_.front());
}

}  // namespace fenceline::sqlite
