#include "gates/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fenceline {
namespace {

constexpr mode_t kOfANewFile = 0666;  // less the umask
constexpr mode_t kModeBits = 07777;
constexpr mode_t kSetIdBits = 06000;

// The mode comes last: a change of owner takes set-id bits away.
Result<void> keep_looks(int fd, const std::string& path, const struct stat& old) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return std::unexpected(file_error(path, "cannot be read", errno));
  const auto kept = [&](uid_t user, gid_t group) { return ::fchown(fd, user, group) == 0; };
  const bool same_group = now.st_gid == old.st_gid || kept(static_cast<uid_t>(-1), old.st_gid);
  const bool same_user = now.st_uid == old.st_uid || kept(old.st_uid, static_cast<gid_t>(-1));
  const mode_t mode = old.st_mode & kModeBits & ~(same_group && same_user ? mode_t{0} : kSetIdBits);
  if (::fchmod(fd, mode) != 0) return std::unexpected(file_error(path, "cannot be given the old file's mode", errno));
  return {};
}

}  // namespace

Error file_error(const std::string& path, std::string_view what, int number) {
  const std::string text = path + " " + std::string(what) + ": " + std::strerror(number);
  switch (number) {
    case ENOSPC:
    case EDQUOT: return {Code::full, text + "; make room on the disk and try again"};
    case ENOENT:
    case ENOTDIR: return {Code::not_found, text + "; check the name of its folder"};
    case ELOOP: return {Code::invalid, path + " is a symbolic link; name the file that it points to"};
    case EISDIR: return {Code::invalid, path + " is a folder; name a file"};
    case ENAMETOOLONG: return {Code::invalid, text + "; choose a shorter name"};
    default: return {Code::broken, text + "; check the file and your permissions"};
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> sync_folder(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    Error error = file_error(folder, "cannot be synced to disk", errno);
    error.code = Code::broken;  // what was renamed in it may or may not outlive a power cut
    return std::unexpected(error);
  }
  return {};
}

Result<void> make_folders(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) return sync_folder(folder_of(folder));
  if (errno == EEXIST) return {};
  if (errno != ENOENT || folder_of(folder) == folder)
    return std::unexpected(file_error(folder, "cannot be made", errno));
  if (auto ok = make_folders(folder_of(folder)); !ok) return ok;
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return std::unexpected(file_error(folder, "cannot be made", errno));
  return sync_folder(folder_of(folder));
}

Result<void> check_replaceable(const std::string& target) {
  struct stat old {};
  if (::lstat(target.c_str(), &old) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(file_error(target, "cannot be read", errno));
  }
  if (S_ISLNK(old.st_mode)) return std::unexpected(file_error(target, "", ELOOP));
  if (S_ISDIR(old.st_mode)) return std::unexpected(file_error(target, "", EISDIR));
  if (!S_ISREG(old.st_mode))
    return fail(Code::invalid, target + " is not a regular file; a device or pipe cannot be replaced");
  return {};
}

Result<void> write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(file_error(path, "cannot be written", errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

StagedFile::StagedFile(std::string target, std::string temp, UniqueFd fd)
    : target_(std::move(target)), temp_(std::move(temp)), fd_(std::move(fd)) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : target_(std::move(other.target_)), temp_(std::exchange(other.temp_, std::string())), fd_(std::move(other.fd_)) {}

StagedFile::~StagedFile() {
  if (!temp_.empty()) ::unlink(temp_.c_str());
}

Result<StagedFile> StagedFile::begin(std::string target, std::string temp) {
  if (auto ok = check_replaceable(target); !ok) return std::unexpected(ok.error());
  struct stat old {};
  const bool there = ::lstat(target.c_str(), &old) == 0;
  if (::unlink(temp.c_str()) != 0 && errno != ENOENT)
    return std::unexpected(file_error(temp, "is a leftover and cannot be removed", errno));
  UniqueFd fd(::open(temp.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, there ? 0600 : kOfANewFile));
  if (!fd) return std::unexpected(file_error(temp, "cannot be made", errno));
  StagedFile staged(std::move(target), std::move(temp), std::move(fd));
  if (there) {
    if (auto ok = keep_looks(staged.descriptor(), staged.temp_, old); !ok) return std::unexpected(ok.error());
  }
  return staged;
}

Result<void> StagedFile::append(std::string_view bytes) { return write_all(fd_.get(), temp_, bytes); }

Result<void> StagedFile::sync() {
  if (::fsync(fd_.get()) != 0) return std::unexpected(file_error(temp_, "cannot be synced to disk", errno));
  return {};
}

Result<void> StagedFile::take_place() {
  if (::rename(temp_.c_str(), target_.c_str()) != 0)
    return std::unexpected(file_error(target_, "cannot be replaced", errno));
  temp_.clear();
  return {};
}

Result<void> StagedFile::take_free_place() {
  if (::renameat2(AT_FDCWD, temp_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST)
      return fail(Code::conflict, target_ + " was made by somebody else meanwhile; name another file");
    return std::unexpected(file_error(target_, "cannot be given its name", errno));
  }
  temp_.clear();
  return {};
}

}  // namespace fenceline
