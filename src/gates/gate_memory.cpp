#include "gates/gate_memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/check.hpp"
#include "base/crash_point.hpp"
#include "gates/durable_file.hpp"

namespace fenceline {
namespace {

// flock() knows no deadline, so it is asked again and again.
constexpr Duration kFirstPause = std::chrono::milliseconds{1};
constexpr Duration kLongestPause = std::chrono::milliseconds{50};

std::string first_path(const std::string& path) { return path + ".first"; }  // of a gate that is being made
std::string next_path(const std::string& path) { return path + ".new"; }     // of one that is being raised

bool try_flock(int fd) {
  int answer = -1;
  do {
    answer = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (answer != 0 && errno == EINTR);
  return answer == 0;
}

bool is_at(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Error held_error(const GateAt& at) {
  const std::optional<pid_t> holder = gate_holder(at.path);
  return {Code::held, "the gate of " + at.resource + " is held" +
                          (holder ? " by process " + std::to_string(*holder) : "") +
                          "; try again later, or stop that process"};
}

}  // namespace

Result<GateMemory> GateMemory::lock(Runtime& runtime, const GateAt& at, Duration wait, std::stop_token stop) {
  if (auto ok = check_gate_resource(at.resource); !ok) return std::unexpected(ok.error());
  const Instant deadline = runtime.now() + wait;
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    Result<std::optional<GateMemory>> taken = try_lock(at);
    if (!taken) return std::unexpected(taken.error());
    if (*taken) return std::move(**taken);
    const Instant now = runtime.now();
    if (now >= deadline) return std::unexpected(held_error(at));
    if (!runtime.sleep_until(std::min(now + pause, deadline), stop))
      return fail(Code::held,
                  "interrupted while the gate of " + at.resource + " was held by another process; nothing was changed");
  }
}

Result<std::optional<GateMemory>> GateMemory::try_lock(const GateAt& at) {
  UniqueFd fd(::open(at.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return try_make(at);
  if (!fd) return std::unexpected(file_error(at.path, "cannot be opened", errno));
  if (!try_flock(fd.get())) {
    if (errno != EWOULDBLOCK) return std::unexpected(file_error(at.path, "cannot be locked", errno));
    return std::nullopt;
  }
  if (!is_at(fd.get(), at.path)) return std::nullopt;  // it was replaced meanwhile: this lock is nobody's any more
  Result<std::optional<GateRecord>> record = look_at_gate(at.path);
  if (!record) return std::unexpected(record.error());
  if (!*record) return std::nullopt;
  if ((*record)->resource != at.resource)
    return fail(Code::conflict, at.path + " is the gate of " + (*record)->resource + ", not of " + at.resource +
                                    "; use that one's gate, or another file");
  for (const std::string& left : {first_path(at.path), next_path(at.path)}) ::unlink(left.c_str());  // by a crash
  return GateMemory(at.path, std::move(**record), std::move(fd));
}

// Several may want to make it at once: the one with the lock of the first file does, and that file becomes the gate. So
// it is held from the start, and nobody sees it without its text.
Result<std::optional<GateMemory>> GateMemory::try_make(const GateAt& at) {
  const std::string first = first_path(at.path);
  if (at.make_folder) {
    if (auto ok = make_folders(folder_of(at.path)); !ok) return std::unexpected(ok.error());
  }
  UniqueFd fd(::open(first.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!fd) return std::unexpected(file_error(first, "cannot be made", errno));
  if (!try_flock(fd.get())) {
    if (errno != EWOULDBLOCK) return std::unexpected(file_error(first, "cannot be locked", errno));
    return std::nullopt;
  }
  if (!is_at(fd.get(), first)) return std::nullopt;
  if (exists(at.path)) {
    ::unlink(first.c_str());
    return std::nullopt;
  }
  GateRecord record{at.resource, 0};
  if (::ftruncate(fd.get(), 0) != 0) return std::unexpected(file_error(first, "cannot be written", errno));
  if (auto ok = write_all(fd.get(), first, gate_text(record)); !ok) return std::unexpected(ok.error());
  if (::fsync(fd.get()) != 0) return std::unexpected(file_error(first, "cannot be synced to disk", errno));
  FENCELINE_CRASH_POINT(gate_made);
  if (::rename(first.c_str(), at.path.c_str()) != 0)
    return std::unexpected(file_error(at.path, "cannot be made", errno));
  if (auto ok = sync_folder(folder_of(at.path)); !ok) return std::unexpected(ok.error());
  return GateMemory(at.path, std::move(record), std::move(fd));
}

Result<void> GateMemory::raise(Fence fence) {
  if (auto ok = check_gate_fence(fence); !ok) return ok;
  check(fence > record_.fence, "a gate's memory only grows");
  const GateRecord next{record_.resource, fence};
  Result<StagedFile> staged = StagedFile::begin(path_, next_path(path_));
  if (!staged) return std::unexpected(staged.error());
  if (auto ok = staged->append(gate_text(next)); !ok) return ok;
  if (auto ok = staged->sync(); !ok) return ok;
  // Before it has the name, so that there is no moment at which another could lock it.
  if (!try_flock(staged->descriptor())) return std::unexpected(file_error(next_path(path_), "cannot be locked", errno));
  FENCELINE_CRASH_POINT(gate_memory_written);
  if (auto ok = staged->take_place(); !ok) return ok;
  fd_ = staged->release();
  FENCELINE_CRASH_POINT(gate_memory_renamed);
  if (auto ok = sync_folder(folder_of(path_)); !ok) return ok;
  record_ = next;
  FENCELINE_CRASH_POINT(gate_raised);
  return {};
}

void GateMemory::release() {
  if (fd_) ::flock(fd_.get(), LOCK_UN);
  fd_.reset();
}

}  // namespace fenceline
