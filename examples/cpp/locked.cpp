// A lock with a fence, and why the fence matters: one holder stops in the middle of its work, another takes over, and
// what the first one writes late is refused.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fenceline/fenceline.hpp"
#include "fenceline/gated_file.hpp"

using namespace std::chrono_literals;

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "fenceline-locked-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 74;
  int status = 1;
  {
    auto first = fenceline::Client::open({.store = "sqlite:" + folder + "/locked.db"});
    auto second = fenceline::Client::open({.store = "sqlite:" + folder + "/locked.db"});
    if (!first || !second) {
      std::fprintf(stderr, "locked: %s\n", (first ? second : first).error().message.c_str());
      return 69;
    }
    const fenceline::GatedFile report({.path = folder + "/report.txt", .resource = "report"});

    fenceline::Fence old_fence = 0;
    {
      // A handle that goes away without release() is what a process leaves behind that was stopped: its lease runs out.
      const auto held = first->acquire_lock("report", {.ttl = 1s});
      if (!held) {
        std::fprintf(stderr, "locked: %s\n", held.error().message.c_str());
        return 75;
      }
      old_fence = held->fence();
    }

    // The form to prefer: the lock is held while the function runs, renewed, and released after it.
    const auto ran = second->lock("report", {.ttl = 30s, .wait = 30s}, [&](const fenceline::HeldLock& held) {
      const auto answer = report.put({.fence = held.fence(), .content = "by the second\n"});
      if (answer && answer->accepted()) std::printf("the second wrote under a larger fence\n");
    });
    if (!ran) std::fprintf(stderr, "locked: %s\n", ran.error().message.c_str());

    // The first one wakes up, and does not know what happened. The gate does.
    const auto late = report.put({.fence = old_fence, .content = "by the first\n"});
    if (ran && late && !late->accepted()) {
      std::printf("the late write was refused\n");
      status = 0;
    }
  }
  std::filesystem::remove_all(folder);
  return status;
}
