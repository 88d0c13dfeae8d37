// What the file system below a store must be able to do: locks and shared memory that all processes see alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace fenceline::sqlite {

// The name of a shared file system by its magic number; empty: a local one.
std::optional<std::string> shared_filesystem(std::int64_t magic);

// The one name that every process uses for this file and for those beside it, whatever link or folder it came by: two
// names would be two locks. Errors: refused (a link that leads nowhere), not_found (no such folder).
Result<std::string> canonical_path(const std::string& path);

// Errors: refused, for a shared file system (unless accepted), a folder that is missing or read-only, a file that is.
Result<void> check_filesystem(const std::string& path, bool accept_shared);

// "ext4, 12.3 GiB free".
struct FilesystemFacts {
  std::optional<std::string> shared;
  std::int64_t bytes_free = 0;
};
Result<FilesystemFacts> filesystem_facts(const std::string& path);

std::string folder_of(const std::string& path);

}  // namespace fenceline::sqlite
