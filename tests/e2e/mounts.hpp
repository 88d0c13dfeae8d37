// File systems of a test's own: small, full or read-only. In a mount namespace of this process, so that nothing
// is left behind however the test ends.
#pragma once

#include <filesystem>
#include <string>

namespace fenceline::e2e {

// Empty if this process may mount; else why not, for GTEST_SKIP().
std::string why_no_mounts();

// An empty file system of `bytes` at `folder`. False if it was not allowed.
bool mount_small(const std::filesystem::path& folder, std::size_t bytes);

// `folder` as it is, but nobody may write to it: not even root.
bool mount_read_only(const std::filesystem::path& folder);

void unmount(const std::filesystem::path& folder);

}  // namespace fenceline::e2e
