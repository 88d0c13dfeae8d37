// One holder of a lock in a drill, in a process of its own. As `beat` it is the command that `fenceline lock` runs: it
// says that it works, and goes on though it was told to end. As `loop` and `writer` it holds the lock itself, as a
// service would, and says each time it acts.
#include "base/duration_text.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "drills/commands.hpp"
#include "drills/lock.hpp"
#include "fenceline/loop_lock.hpp"
#include "services/lock_client.hpp"

namespace fenceline::cli {
namespace {

void say(const Invocation& invocation, Fence fence) {
  print_line(to_line(LockBeat{invocation.argument("WHO"), fence, invocation.runtime->now()}));
  flush_output();
}

// Its end is not its own: it is killed.
Result<int> beat(Invocation& invocation, Duration every) {
  const Fence fence = std::stoll(from_environment("FENCELINE_FENCE").value_or("0"));
  while (invocation.runtime->sleep_for(every, {})) say(invocation, fence);
  return kExitOk;
}

Result<int> loop(Invocation& invocation, LockClient& locks, LockOptions options) {
  LoopLock sweeps(locks, std::move(options));
  // A sweep that lasts until the window is nearly over, so that a kill always meets one.
  const auto sweep = [&](const HeldLock& held) {
    say(invocation, held.fence());
    invocation.runtime->sleep_for(times_of(held).ttl / 2, held.stop());
  };
  const Result<std::int64_t> swept = sweeps.run(sweep, invocation.stop);
  if (!swept) return std::unexpected(swept.error());
  return kExitOk;
}

Result<int> writer(Invocation& invocation, LockClient& locks, LockOptions options) {
  options.wait = kWaitRange.most;
  options.contention = Contention::in_turn;
  while (!invocation.stop.stop_requested()) {
    Result<HeldLock> held = locks.acquire(options, invocation.stop);
    if (!held && held.error().code != Code::held && held.error().code != Code::unavailable &&
        held.error().code != Code::in_doubt)
      return std::unexpected(held.error());
    if (!held) continue;
    do say(invocation, held->fence());
    while (invocation.runtime->sleep_for(options.every, held->stop()));
    [[maybe_unused]] const Result<void> released = held->release();
  }
  return kExitOk;
}

Result<int> run_drill_locker(Invocation& invocation) {
  const Result<Duration> every =
      invocation.duration("--every", std::chrono::milliseconds{20}, Duration{0}, kWaitRange.most);
  if (!every) return std::unexpected(every.error());
  const std::string role = invocation.argument("ROLE");
  if (role == "beat") return beat(invocation, *every);
  std::optional<LockOptions> options = lock_preset(role);
  if (!options) return std::unexpected(usage_error("unknown role"));
  options->names = {invocation.argument("KEY")};
  if (invocation.has("--ttl")) {
    const Result<Duration> ttl = invocation.duration("--ttl", options->ttl, kTtlRange.least, kTtlRange.most);
    if (!ttl) return std::unexpected(ttl.error());
    options->every = *ttl / 2;  // as the presets have it
    options->ttl = *ttl;
    options->renew_every = Duration{0};
  }
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  LockClient locks(make_lock_parts(*invocation.runtime, Log(*invocation.log_sink), **store,
                                   {.ns = invocation.ns, .place = lock_place()}));
  return role == "loop" ? loop(invocation, locks, *options) : writer(invocation, locks, *options);
}

}  // namespace

CommandSpec drill_locker_command() {
  return {.name = "drill-locker",
          .summary = "Be one lock holder of a drill",
          .arguments = {{"ROLE", "beat, loop or writer"}, {"WHO", "its name"}, {"KEY", "the lock", false}},
          .options = {{"--ttl", "DURATION", "ttl instead of the preset's"},
                      {"--every", "DURATION", "time between two beats"},
                      history_option()},
          .hidden = true,
          .run = run_drill_locker};
}

}  // namespace fenceline::cli
