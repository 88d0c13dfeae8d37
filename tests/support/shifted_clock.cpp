// A library for LD_PRELOAD: the wall clock of its process is as many seconds away from the machine's as the file
// FENCELINE_CLOCK_FILE says; whoever replaces the file sets the clock. Nothing else is changed; timers run on other
// clocks, and libraries that lie about those as well stop a server's timeouts. See script/with_postgres.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// No variable that is set up at the start: a process may ask for the time before.
long shift() {
  const char* path = std::getenv("FENCELINE_CLOCK_FILE");
  const int file = path ? static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)) : -1;
  if (file < 0) return 0;
  char text[32] = {};
  ::syscall(SYS_read, file, text, sizeof text - 1);
  ::syscall(SYS_close, file);
  return std::atol(text);
}

int real_time(clockid_t clock, timespec* out) { return static_cast<int>(::syscall(SYS_clock_gettime, clock, out)); }

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const int status = real_time(clock, out);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += shift();
  return status;
}

extern "C" int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
