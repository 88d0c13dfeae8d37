// `fenceline drill disk-full`: the disk under a store of real workers fills up, again and again, while they work.
// Nobody fills a user's disk: the store is a scratch one on a small memory disk that only this drill sees.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/fleet.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kDiskSize = "size=32m";  // several times what the write-ahead log takes between two checkpoints
constexpr int kRounds = 4;
constexpr Duration kFull = 1500ms;

std::string error_now() { return std::strerror(errno); }

// A private mount: in the mount namespace of this thread and of the processes it starts from here on. A sentence
// if it cannot be.
std::string mount_small_disk(const std::string& path) {
  if (::geteuid() != 0) return "only root may mount a memory disk; run it as `unshare -Urm fenceline drill disk-full`";
  if (::unshare(CLONE_NEWNS) != 0) return "cannot create a mount namespace: " + error_now();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return "cannot make mounts private: " + error_now();
  if (::mount("tmpfs", path.c_str(), "tmpfs", 0, kDiskSize) != 0) return "cannot mount a memory disk: " + error_now();
  return {};
}

// Takes all the room there is.
void fill(const std::string& path) {
  std::ofstream filler(path, std::ios::binary);
  const std::string block(4096, 'x');
  while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

Result<int> run_drill_disk_full(Invocation& invocation) {
  if (is_on_a_server(invocation.store_url))
    return tell_not_played(
        invocation, "disk-full",
        "a full disk: not played on a server's disk; with --store sqlite:PATH it is played on a scratch store");
  const DrillFolder disk;
  const std::string trouble = mount_small_disk(disk.path());
  if (!trouble.empty()) return tell_not_played(invocation, "disk-full", "a full disk: " + trouble);
  const std::string url = "sqlite:" + disk.path() + "/drill.db";
  int exit = kExitOk;
  {
    Invocation scratch = invocation;
    scratch.store_url = url;
    Result<Session> store = scratch.open_store(true);
    if (!store) return std::unexpected(store.error());
    const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
      const std::string filler = disk.path() + "/filler";
      for (int round = 0; round < kRounds; ++round) {
        if (!fleet.wait(kBetweenFaults)) return false;
        fill(filler);
        const bool whole = fleet.wait(kFull);
        std::filesystem::remove(filler);
        if (!whole) return false;
        ++report.faults;
        fleet.tell_progress(std::to_string(report.faults) + " of " + std::to_string(kRounds) + " times");
      }
      return true;
    };
    const Result<int> played = play_drill(
        scratch, **store, {.name = "disk-full", .store_url = url, .jobs = 80, .environment = {}, .storm = storm});
    if (!played) return played;
    exit = *played;
  }
  ::umount2(disk.path().c_str(), MNT_DETACH);
  return exit;
}

}  // namespace

CommandSpec drill_disk_full_command() {
  return {.name = "drill disk-full",
          .summary = "Fill the disk under a scratch store, and see nothing lost",
          .details = "Real workers run all the time; they continue when there is room again.",
          .arguments = {},
          .options = {},
          .examples = {{"fenceline drill disk-full", "four times, on its own memory disk"}},
          .run = run_drill_disk_full};
}

}  // namespace fenceline::cli
