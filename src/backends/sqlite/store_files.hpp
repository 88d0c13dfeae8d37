// Whether the files of an open store are still those that have its names. Whoever deletes or replaces one of them
// leaves this process with a file that nobody else sees: it would grant leases that others grant as well, and
// acknowledge what is gone with its last descriptor. So it is looked at, by device and inode, before and after each
// commit and before each read; four calls of stat() cost a few microseconds.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fenceline::sqlite {

class StoreFiles {
 public:
  StoreFiles() = default;
  // As they are now: the database, its log, its shared memory and its lock. One that is not there is not looked at.
  explicit StoreFiles(const std::string& path);

  // What became of them, for people; nothing: they are as they were. May be called from any thread.
  std::optional<Error> changed() const;
  // The same of the database alone.
  std::optional<Error> database_changed() const;

 private:
  struct File {
    std::string path;
    std::string what;  // "its log"
    dev_t device;
    ino_t inode;
  };
  std::optional<Error> changed(const File& file) const;

  std::string path_;
  std::vector<File> files_;  // the database first
};

}  // namespace fenceline::sqlite
