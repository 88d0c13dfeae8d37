#include "support/disk_calls.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>

namespace fenceline::test {
namespace {

std::atomic<bool> recording{false};
std::mutex record_mutex;
std::string recorded_folder;
std::vector<DiskCall> recorded;

bool is_below(const std::string& path) { return path == recorded_folder || path.starts_with(recorded_folder + "/"); }

void record(DiskCall call) {
  const std::lock_guard lock(record_mutex);
  if (is_below(call.path)) recorded.push_back(std::move(call));
}

std::string path_of(int fd) {
  std::array<char, PATH_MAX> text{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

void record_fd(DiskCall::Kind kind, int fd, std::int64_t at = -1) {
  if (recording) record({kind, path_of(fd), "", at});
}

bool is_there(const char* path) {
  struct stat status {};
  return ::lstat(path, &status) == 0;
}

std::string folder_above(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

DiskCalls::DiskCalls(const std::string& folder) {
  std::array<char, PATH_MAX> real{};
  folder_ = ::realpath(folder.c_str(), real.data()) ? real.data() : folder;
  const std::lock_guard lock(record_mutex);
  recorded_folder = folder_;
  recorded.clear();
  recording = true;
}

DiskCalls::~DiskCalls() { recording = false; }

std::vector<DiskCall> DiskCalls::calls() const {
  const std::lock_guard lock(record_mutex);
  return recorded;
}

std::vector<std::string> DiskCalls::words() const {
  const auto name = [&](const std::string& path) {
    return path == folder_ ? "." : path.substr(std::min(path.size(), folder_.size() + 1));
  };
  std::vector<std::string> words;
  for (const DiskCall& call : calls()) {
    std::string text;
    switch (call.kind) {
      case DiskCall::Kind::made:
      case DiskCall::Kind::made_folder: text = "make " + name(call.path); break;
      case DiskCall::Kind::written: text = "write " + name(call.path); break;
      case DiskCall::Kind::synced: text = "sync " + name(call.path); break;
      case DiskCall::Kind::renamed: text = "rename " + name(call.path) + " " + name(call.to); break;
      case DiskCall::Kind::removed: text = "remove " + name(call.path); break;
    }
    if (words.empty() || words.back() != text || call.kind != DiskCall::Kind::written) words.push_back(text);
  }
  return words;
}

std::vector<std::string> DiskCalls::losses(const std::vector<std::string>& passing) const {
  std::set<std::string> dirty;  // their content is not on the disk
  std::set<std::string> named;  // their names are not
  std::set<std::string> fresh;  // nor are these names, but nothing was written there yet
  std::set<std::string>
      logged;  // SQLite files with a log: it keeps what is not on the disk of them, until it begins anew
  std::vector<std::string> found;
  const auto may_pass = [&](const std::string& path) {
    return std::ranges::any_of(passing, [&](const std::string& ending) { return path.ends_with(ending); });
  };
  for (const DiskCall& call : calls()) {
    const std::string& path = call.path;
    switch (call.kind) {
      case DiskCall::Kind::made: fresh.insert(path); break;
      case DiskCall::Kind::made_folder: named.insert(path); break;
      case DiskCall::Kind::written:
        for (const char* log : {"-wal", "-journal"}) {
          if (dirty.contains(path + log) && !may_pass(path + log))
            found.push_back(path + " was written before its " + log + " was on the disk");
        }
        if (path.ends_with("-wal") && call.at == 0 && dirty.contains(path.substr(0, path.size() - 4)))
          found.push_back(path + " began anew before its pages were on the disk");
        if (path.ends_with("-wal")) logged.insert(path.substr(0, path.size() - 4));
        dirty.insert(path);
        if (fresh.erase(path) > 0) named.insert(path);
        break;
      case DiskCall::Kind::synced:
        dirty.erase(path);
        for (std::set<std::string>* names : {&named, &fresh})
          std::erase_if(*names, [&](const std::string& one) { return folder_above(one) == path; });
        break;
      case DiskCall::Kind::renamed:
        if (dirty.contains(path)) found.push_back(call.to + " has its name before its content is on the disk");
        dirty.erase(path);
        named.erase(path);
        named.insert(call.to);
        break;
      case DiskCall::Kind::removed:
        dirty.erase(path);
        named.erase(path);
        fresh.erase(path);
        break;
    }
  }
  for (const std::string& path : dirty) {
    if (!may_pass(path) && !logged.contains(path)) found.push_back("the content of " + path + " is not on the disk");
  }
  for (const std::string& path : named) {
    if (!may_pass(path)) found.push_back("the name of " + path + " is not on the disk");
  }
  return found;
}

}  // namespace fenceline::test

// In place of the C library's, for everything in the process. Each is recorded once it was done, and only then.
namespace calls = fenceline::test;
using Kind = fenceline::test::DiskCall::Kind;

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  const ssize_t done = ::syscall(SYS_write, fd, bytes, size);
  if (done > 0) calls::record_fd(Kind::written, fd);
  return done;
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  const ssize_t done = ::syscall(SYS_pwrite64, fd, bytes, size, at);
  if (done > 0) calls::record_fd(Kind::written, fd, at);
  return done;
}

extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  return ::pwrite(fd, bytes, size, at);
}

extern "C" int fsync(int fd) {
  const int done = static_cast<int>(::syscall(SYS_fsync, fd));
  if (done == 0) calls::record_fd(Kind::synced, fd);
  return done;
}

extern "C" int fdatasync(int fd) {
  const int done = static_cast<int>(::syscall(SYS_fdatasync, fd));
  if (done == 0) calls::record_fd(Kind::synced, fd);
  return done;
}

extern "C" int rename(const char* from, const char* to) noexcept {
  const int done = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (done == 0 && calls::recording) calls::record({Kind::renamed, from, to});
  return done;
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  const int done = static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
  if (done == 0 && calls::recording) calls::record({Kind::renamed, from, to});
  return done;
}

extern "C" int unlink(const char* path) noexcept {
  const int done = static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  if (done == 0 && calls::recording) calls::record({Kind::removed, path, ""});
  return done;
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  const int done = static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  if (done == 0 && calls::recording) calls::record({Kind::made_folder, path, ""});
  return done;
}

extern "C" int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  const bool may_make = calls::recording && (flags & O_CREAT) != 0 && !calls::is_there(path);
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (fd >= 0 && may_make) calls::record_fd(Kind::made, fd);
  return fd;
}

extern "C" int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return ::open(path, flags | O_LARGEFILE, mode);
}
