#include "backends/sqlite/filesystem.hpp"

#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace fenceline::sqlite {

std::optional<std::string> shared_filesystem(std::int64_t magic) {
  switch (magic & 0xffff'ffff) {
    case 0x6969: return "NFS";
    case 0x517b:
    case 0xff53'4d42:
    case 0xfe53'4d42: return "SMB";
    case 0x0102'1997: return "9p";
    case 0x6573'5546: return "FUSE or virtiofs";
    default: return std::nullopt;
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::string> canonical_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(path, error);
  if (!error) return whole.string();
  if (std::filesystem::is_symlink(path, error))
    return fail(Code::refused, "store " + path + " is a broken symbolic link");
  const std::filesystem::path folder = std::filesystem::canonical(folder_of(path), error);
  if (error) return fail(Code::not_found, "store " + path + ": its folder cannot be used: " + error.message());
  return (folder / std::filesystem::path(path).filename()).string();
}

Result<FilesystemFacts> filesystem_facts(const std::string& path) {
  const std::string folder = folder_of(path);
  struct statfs facts {};
  if (::statfs(folder.c_str(), &facts) != 0) {
    const Code code = errno == ENOENT ? Code::not_found : Code::refused;
    return fail(code, "store " + path + ": its folder cannot be used: " + std::strerror(errno));
  }
  return FilesystemFacts{shared_filesystem(facts.f_type),
                         static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_bsize)};
}

Result<void> check_filesystem(const std::string& path, bool accept_shared) {
  const Result<FilesystemFacts> facts = filesystem_facts(path);
  if (!facts) return std::unexpected(facts.error());
  if (facts->shared && !accept_shared)
    return fail(
        Code::refused,
        "store " + path + " is on " + *facts->shared +
            ", whose locks do not work between machines; move it to a local disk, or allow it with --accept shared-fs");
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0)
    return fail(Code::refused, "store " + path + ": its folder is read-only for you (" + std::strerror(errno) + ")");
  if (::access(path.c_str(), F_OK) == 0 && ::access(path.c_str(), R_OK | W_OK) != 0)
    return fail(Code::refused, "store " + path + " is read-only (" + std::strerror(errno) + ")");
  return {};
}

}  // namespace fenceline::sqlite
