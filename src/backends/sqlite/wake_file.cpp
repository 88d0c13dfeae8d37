#include "backends/sqlite/wake_file.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <ctime>

#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr std::size_t kWakeSlots = 1024;
constexpr std::size_t kBytes = kWakeSlots * sizeof(std::uint32_t);
constexpr std::size_t kEveryQueue = 0;
constexpr timespec kLongestWait{1, 0};

std::size_t slot_of(const QueueName& name) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a: the same in every process
  for (const std::string* part : {&name.ns, &name.queue, &name.stage}) {
    for (const char c : *part) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash = (hash ^ 0xff) * 1099511628211ULL;
  }
  return 1 + hash % (kWakeSlots - 1);
}

// Every byte is written: a hole in the file would be a signal when the disk is full.
bool fill(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return false;
  if (status.st_size >= static_cast<off_t>(kBytes)) return true;
  const std::array<char, kBytes> zeros{};
  return ::pwrite(file, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(kBytes);
}

std::uint32_t load(std::uint32_t* counter) { return std::atomic_ref(*counter).load(); }

}  // namespace

WakeFile::WakeFile(const std::string& path) {
  void* mapped = MAP_FAILED;
  const int file = path.empty() ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) {
    if (fill(file)) mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
  }
  if (mapped == MAP_FAILED)
    mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(mapped != MAP_FAILED, "a page of memory can be had");
  counters_ = static_cast<std::uint32_t*>(mapped);
}

WakeFile::~WakeFile() { ::munmap(counters_, kBytes); }

void WakeFile::bump_slot(std::size_t slot) const {
  std::atomic_ref(*counter(slot)).fetch_add(1);
  ::syscall(SYS_futex, counter(slot), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void WakeFile::bump(const std::set<QueueName>& queues) {
  if (queues.empty()) return;
  for (const QueueName& queue : queues) bump_slot(slot_of(queue));
  bump_slot(kEveryQueue);
}

void WakeFile::follow(const std::vector<QueueName>& queues, std::vector<std::uint32_t> seen, std::stop_token stop,
                      const std::function<void()>& on_change) {
  std::vector<std::size_t> slots;
  for (const QueueName& queue : queues) slots.push_back(slot_of(queue));
  // A futex is one word: who follows several queues wakes for every one, and looks.
  const std::size_t waited_for = slots.size() == 1 ? slots.front() : kEveryQueue;
  // Counting makes a wait that is about to begin return at once; others see a hint too many.
  const std::stop_callback on_stop(stop, [&] { bump_slot(waited_for); });
  while (!stop.stop_requested()) {
    const std::uint32_t before = load(counter(waited_for));
    std::vector<std::uint32_t> now;
    for (const std::size_t slot : slots) now.push_back(load(counter(slot)));
    if (now != seen) {
      seen = std::move(now);
      if (!stop.stop_requested()) on_change();
      continue;
    }
    ::syscall(SYS_futex, counter(waited_for), FUTEX_WAIT, before, &kLongestWait, nullptr, 0);
  }
}

void WakeFile::follow_all(std::stop_token stop, const std::function<void()>& on_change) {
  const std::stop_callback on_stop(stop, [&] { bump_slot(kEveryQueue); });
  while (!stop.stop_requested()) {
    const std::uint32_t before = load(counter(kEveryQueue));
    on_change();
    ::syscall(SYS_futex, counter(kEveryQueue), FUTEX_WAIT, before, &kLongestWait, nullptr, 0);
  }
}

std::uint32_t WakeFile::count(const QueueName& name) const { return load(counter(slot_of(name))); }

std::vector<std::uint32_t> WakeFile::counts(const std::vector<QueueName>& names) const {
  std::vector<std::uint32_t> counts;
  for (const QueueName& name : names) counts.push_back(count(name));
  return counts;
}

}  // namespace fenceline::sqlite
