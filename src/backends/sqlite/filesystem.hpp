// What the file system below a store must be able to do: locks and shared memory that all processes see alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace fenceline::sqlite {

// The name of a shared file system by its magic number; empty: a local one.
std::optional<std::string> shared_filesystem(std::int64_t magic);

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
