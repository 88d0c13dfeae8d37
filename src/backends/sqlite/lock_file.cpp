#include "backends/sqlite/lock_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>

namespace fenceline::sqlite {
namespace {

constexpr off_t kLockByte = 0;
constexpr off_t kTurnstileByte = 1;
constexpr off_t kPresenceByte = 2;
constexpr off_t kPidAt = 16;
constexpr std::size_t kPidBytes = 16;
constexpr int kNapMillis = 1;

struct flock one_byte(off_t byte, int type) {
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool try_lock(int file, off_t byte, int type) {
  struct flock lock = one_byte(byte, type);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

void ignore_signal(int) {}

// A wait for a lock has no time-out; only a signal ends it. SIGURG is ignored by default and so free to use, unless
// the application has a use for it. False: it does, and its handler lets the wait go on.
bool make_waits_interruptible() {
  static const bool done = [] {
    struct sigaction there {};
    ::sigaction(SIGURG, nullptr, &there);
    const bool is_ours_to_set = (there.sa_flags & SA_SIGINFO) == 0 && (there.sa_handler == SIG_DFL || there.sa_handler == SIG_IGN);
    if (!is_ours_to_set) return (there.sa_flags & SA_RESTART) == 0;
    struct sigaction wake {};
    wake.sa_handler = ignore_signal;
    return ::sigaction(SIGURG, &wake, nullptr) == 0;
  }();
  return done;
}

}  // namespace

Result<std::unique_ptr<LockFile>> LockFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    const Code code = errno == ENOENT ? Code::not_found : errno == ENOSPC ? Code::full : Code::refused;
    return fail(code, "store lock " + path + " cannot be opened: " + std::strerror(errno));
  }
  return std::unique_ptr<LockFile>(new LockFile(path, file));
}

LockFile::~LockFile() { ::close(file_); }

Result<bool> LockFile::wait_for(off_t byte, std::stop_token stop) {
  const bool interruptible = make_waits_interruptible();
  const pthread_t waiter = ::pthread_self();
  std::atomic<bool> left{false};
  // A signal that comes just before the wait is lost, so it is sent until the waiter has left.
  const auto interrupt = [&] {
    while (!left && !::pthread_equal(waiter, ::pthread_self())) {
      if (interruptible) ::pthread_kill(waiter, SIGURG);
      ::poll(nullptr, 0, kNapMillis);
    }
  };
  const std::stop_callback on_stop(stop, interrupt);
  Result<bool> got = false;
  while (!stop.stop_requested()) {
    struct flock lock = one_byte(byte, F_WRLCK);
    if (::fcntl(file_, interruptible ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0) {
      got = true;
      break;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) {
      got = fail(Code::broken, "store lock " + path_ + " failed: " + std::strerror(errno));
      break;
    }
    ::poll(nullptr, 0, kNapMillis);
  }
  left = true;
  return got;
}

Result<bool> LockFile::take_turn(std::stop_token stop) {
  sigset_t wake;
  ::sigemptyset(&wake);
  ::sigaddset(&wake, SIGURG);
  ::pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
  if (auto at_turnstile = wait_for(kTurnstileByte, stop); !at_turnstile || !*at_turnstile) return at_turnstile;
  Result<bool> got = wait_for(kLockByte, stop);
  try_lock(file_, kTurnstileByte, F_UNLCK);
  if (!got || !*got) return got;
  std::array<char, kPidBytes> text{};
  std::to_chars(text.data(), text.data() + text.size(), ::getpid());
  // Only for people: on a full disk the turn is as good without.
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, text.data(), text.size(), kPidAt);
  return true;
}

void LockFile::end_turn() { try_lock(file_, kLockByte, F_UNLCK); }

std::optional<pid_t> LockFile::turn_holder() const {
  // A description of its own: one does not see its own locks.
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct flock lock = one_byte(kLockByte, F_WRLCK);
  const bool held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  std::array<char, kPidBytes> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), kPidAt);
  ::close(file);
  if (!held) return std::nullopt;
  pid_t pid = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, pid);
  return pid;
}

bool LockFile::share_presence() { return try_lock(file_, kPresenceByte, F_RDLCK); }
bool LockFile::own_presence() { return try_lock(file_, kPresenceByte, F_WRLCK); }
void LockFile::leave_presence() { try_lock(file_, kPresenceByte, F_UNLCK); }

}  // namespace fenceline::sqlite
