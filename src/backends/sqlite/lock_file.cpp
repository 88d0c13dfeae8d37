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
#include <ctime>
#include <mutex>
#include <optional>
#include <string_view>

namespace fenceline::sqlite {
namespace {

constexpr off_t kLockByte = 0;
constexpr off_t kTopStep = 4;
constexpr off_t kPresenceByte = 5;
constexpr off_t kPidAt = 16;
constexpr std::size_t kPidBytes = 16;
constexpr off_t kMarkAt = 128;
constexpr std::string_view kMark = "a fenceline store was set up here\n";
constexpr int kNapMillis = 1;
constexpr int kTickMillis = 250;
// From which age on, in ticks, a step may be gone to at once: after half a second the third, then the second, the
// first, and after 4 s the lock itself, which alone keeps writers apart.
constexpr std::array<int, 5> kOldEnough{16, 8, 4, 2, 0};

struct flock bytes(off_t first, off_t count, int type) {
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}
struct flock one_byte(off_t byte, int type) {
  return bytes(byte, 1, type);
}

off_t pid_at(off_t step) { return kPidAt + step * static_cast<off_t>(kPidBytes); }

bool try_lock(int file, off_t byte, int type) {
  struct flock lock = one_byte(byte, type);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

// The lock and the whole stair at once: only if nobody has any of it. Then the stair is free again.
bool try_alone(int file) {
  struct flock all = bytes(kLockByte, kTopStep + 1, F_WRLCK);
  if (::fcntl(file, F_OFD_SETLK, &all) != 0) return false;
  struct flock stair = bytes(1, kTopStep, F_UNLCK);
  ::fcntl(file, F_OFD_SETLK, &stair);
  return true;
}

// Interrupts the calling thread's waits every tick, so that it can look how long it has waited.
class Ticks {
 public:
  Ticks() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGURG;
    event._sigev_un._tid = ::gettid();  // the C library has no name for it before 2.41
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
    made_ = true;
    const timespec tick{.tv_sec = 0, .tv_nsec = kTickMillis * 1'000'000L};
    const itimerspec every{.it_interval = tick, .it_value = tick};
    ::timer_settime(timer_, 0, &every, nullptr);
  }
  ~Ticks() {
    if (made_) ::timer_delete(timer_);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  timer_t timer_{};
  bool made_ = false;
};

void ignore_signal(int) {}

// A wait for a lock has no time-out; only a signal ends it. SIGURG is ignored by default and so free to use, unless
// the application has a use for it. False: it does, and its handler lets the wait go on.
bool make_waits_interruptible() {
  // Looked at each time: the application may have taken the signal since.
  struct sigaction there {};
  ::sigaction(SIGURG, nullptr, &there);
  const bool is_ours_to_set =
      (there.sa_flags & SA_SIGINFO) == 0 && (there.sa_handler == SIG_DFL || there.sa_handler == SIG_IGN);
  if (!is_ours_to_set) return (there.sa_flags & SA_RESTART) == 0;
  struct sigaction wake {};
  wake.sa_handler = ignore_signal;
  return ::sigaction(SIGURG, &wake, nullptr) == 0;
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

Result<LockFile::Waited> LockFile::wait_for(off_t byte, int old_at, int& age, std::stop_token stop) {
  if (try_lock(file_, byte, F_WRLCK)) return Waited::got;
  const bool interruptible = make_waits_interruptible();
  std::optional<Ticks> ticks;
  if (interruptible && old_at > 0) ticks.emplace();
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
  Result<Waited> ended = Waited::stopped;
  for (int naps = 1; !stop.stop_requested(); ++naps) {
    struct flock lock = one_byte(byte, F_WRLCK);
    if (::fcntl(file_, interruptible ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0) {
      ended = Waited::got;
      break;
    }
    if (errno != EINTR && errno != EAGAIN && errno != EACCES) {
      ended = fail(Code::broken, "store lock " + path_ + " failed: " + std::strerror(errno));
      break;
    }
    if (interruptible || naps % (kTickMillis / kNapMillis) == 0) age += 1;
    if (old_at > 0 && age >= old_at) {
      ended = Waited::grown_old;
      break;
    }
    if (!interruptible) ::poll(nullptr, 0, kNapMillis);
  }
  left = true;
  return ended;
}

// Down the stair, one step after the other, or further at once when old enough.
Result<bool> LockFile::come_down(std::stop_token stop) {
  off_t on = kTopStep + 1;  // in front of it
  off_t next = kTopStep;
  int age = 0;
  while (on > kLockByte) {
    const int old_at = next > kLockByte ? kOldEnough[static_cast<std::size_t>(next - 1)] : 0;
    Result<Waited> waited = wait_for(next, old_at, age, stop);
    if (waited && *waited == Waited::grown_old) {
      next -= 1;
      continue;
    }
    if (on <= kTopStep) try_lock(file_, on, F_UNLCK);
    if (!waited) return std::unexpected(waited.error());
    if (*waited == Waited::stopped) return false;
    on = next;
    next -= 1;
    write_pid(on);
  }
  return true;
}

Result<bool> LockFile::take_turn(std::stop_token stop) {
  sigset_t wake;
  ::sigemptyset(&wake);
  ::sigaddset(&wake, SIGURG);
  ::pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
  if (!try_alone(file_)) {
    const Result<bool> down = come_down(stop);
    return down;
  }
  write_pid(kLockByte);
  return true;
}

// Only for people: on a full disk the turn is as good without.
void LockFile::write_pid(off_t step) const {
  std::array<char, kPidBytes> text{};
  std::to_chars(text.data(), text.data() + text.size(), ::getpid());
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, text.data(), text.size(), pid_at(step));
}

bool LockFile::try_turn() {
  if (!try_alone(file_)) return false;
  write_pid(kLockByte);
  return true;
}

void LockFile::end_turn() { try_lock(file_, kLockByte, F_UNLCK); }

std::optional<pid_t> LockFile::turn_holder() const {
  // A description of its own: one does not see its own locks.
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<pid_t> holder;
  // Nobody may have it, and one who was stopped on the last step be in the way of the others.
  for (off_t step = kLockByte; step <= 1 && !holder; ++step) {
    struct flock lock = one_byte(step, F_WRLCK);
    if (::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) continue;
    std::array<char, kPidBytes> text{};
    const ssize_t got = ::pread(file, text.data(), text.size(), pid_at(step));
    pid_t pid = 0;
    if (got > 0) std::from_chars(text.data(), text.data() + got, pid);
    holder = pid;
  }
  ::close(file);
  return holder;
}

bool LockFile::remembers_store() const {
  std::array<char, kMark.size()> text{};
  return ::pread(file_, text.data(), text.size(), kMarkAt) == static_cast<ssize_t>(kMark.size()) &&
         std::string_view(text.data(), text.size()) == kMark;
}

// On a full disk the store is as good without.
void LockFile::remember_store() {
  if (remembers_store()) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, kMark.data(), kMark.size(), kMarkAt);
}

bool LockFile::share_presence() { return try_lock(file_, kPresenceByte, F_RDLCK); }
bool LockFile::own_presence() { return try_lock(file_, kPresenceByte, F_WRLCK); }
void LockFile::leave_presence() { try_lock(file_, kPresenceByte, F_UNLCK); }

}  // namespace fenceline::sqlite
