// Faults of locks.
#include <csignal>
#include <fstream>

#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

using bench::StoreKind;

const std::string kSceneLock = "deploy";

void until_held(OperatorScene& scene) {
  scene.until("the lock is held", [&] {
    return scene.run({"locks", "list", "--held", "--json"}).find(kSceneLock) != std::string::npos;
  });
}

OperatorFault holder_killed() {
  return {.name = "lock_debt",
          .what = "the holder of a lock is killed, and no one asks for it again",
          .metric = "fenceline_lock_debt",
          .check = "lock_debt",
          .command = "fenceline lock KEY -- true",
          .bring_about = [](OperatorScene& scene) {
            const int holder = scene.start({"lock", kSceneLock, "--ttl", "1s", "--", "/bin/sleep", "300"}, "holder");
            until_held(scene);
            scene.kill(holder);
          }};
}

// The waiter is backdated by five minutes, so that the drill need not wait.
void set_back_the_waiter(OperatorScene& scene) {
  if (scene.kind() == StoreKind::sqlite) scene.by_hand({"UPDATE fenceline_lock_waiter SET since = since - 300000000"});
  if (scene.kind() == StoreKind::postgres) scene.by_hand({"update lock_waiter set since = since - 300000000"});
  if (scene.kind() == StoreKind::redis)
    scene.by_hand({"EVAL",
                   "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*:waiter')) do local all = "
                   "redis.call('HGETALL', key) for i = 1, #all, 2 do local w = cmsgpack.unpack(all[i + 1]) "
                   "w[4] = w[4] - 300000000 redis.call('HSET', key, all[i], cmsgpack.pack(w)) end end return 1",
                   "0", scene.prefix()});
}

// Here the command of the holder is told to end. Not while that is stopped: the kernel would wake it.
std::string go(const OperatorScene& scene) { return scene.folder() + "/go"; }

OperatorFault holder_stopped() {
  return {.name = "lock_wait",
          .what =
              "the holder of a lock is paused (SIGSTOP) under a long lease; another process waits (its wait is "
              "backdated by hand)",
          .metric = "fenceline_finding{check=\"lock_wait\"}",
          .check = "lock_wait",
          .command = "kill -CONT PID",
          .bring_about =
              [](OperatorScene& scene) {
                const std::string held = scene.folder() + "/held";
                const int holder =
                    scene.start({"lock", kSceneLock, "--ttl", "30m", "--", "/bin/sh", "-c",
                                 "touch " + held + "; until [ -e " + go(scene) + " ]; do sleep 0.05; done"},
                                "holder");
                scene.until("the command runs", [&] { return std::ifstream(held).good(); });
                // One that is stopped in the middle of a write may keep everybody from writing, which is another fault.
                scene.until("the holder is paused", [&] {
                  scene.signal(holder, SIGSTOP);
                  if (scene.succeeds({"queue", "set", "aside", "--limit", "1"})) return true;
                  scene.signal(holder, SIGCONT);
                  return false;
                });
                scene.start({"lock", kSceneLock, "--wait", "10m", "--", "/bin/true"}, "waiter");
                scene.until("a process waits", [&] {
                  return scene.run({"locks", "show", kSceneLock, "--json"}).find("\"waiters\":[{") != std::string::npos;
                });
                set_back_the_waiter(scene);
              },
          .then = [](OperatorScene& scene) { std::ofstream{go(scene)}; }};
}

OperatorFault without_a_gate() {
  return {.name = "lock_gates",
          .what = "a lock of the pattern fenced is used, and nothing checks its fence",
          .metric = "fenceline_finding{check=\"lock_gates\"}",
          .check = "lock_gates",
          .command = "fenceline gate run KEY FENCE -- CMD",
          .bring_about =
              [](OperatorScene& scene) {
                scene.run({"lock", kSceneLock, "--pattern", "fenced", "--", "/bin/true"});
              },
          .seen_at_start = true};
}

}  // namespace

std::vector<OperatorFault> lock_faults() { return {holder_killed(), holder_stopped(), without_a_gate()}; }

}  // namespace fenceline::cli
