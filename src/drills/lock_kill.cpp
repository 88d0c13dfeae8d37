// `fenceline drill lock-loop` and `lock-writer`: three replicas share a lock, the one that has it is killed with
// SIGKILL, and it is measured how long it takes until another acts. Of a loop that is one window, and at most one try
// more; of a writer it is its lease, and at most one act more.
#include <csignal>

#include "base/duration_text.hpp"
#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/lock.hpp"
#include "services/lock_options.hpp"

namespace fenceline::cli {
namespace {

constexpr int kReplicas = 3;
constexpr Duration kLook = std::chrono::milliseconds{20};
constexpr const char* kSweptKey = "sweep";

struct Times {
  Duration ttl;
  Duration every;
};

class Replicas {
 public:
  Replicas(LockDrill& drill, std::string role, Times times, bool shortened)
      : drill_(drill), runtime_(drill.runtime()), role_(std::move(role)), times_(times), shortened_(shortened) {}

  // A sentence if it cannot be.
  std::string start() {
    for (int i = 0; i < kReplicas; ++i) {
      std::vector<std::string> words{"drill-locker", role_, name_of(i), kSweptKey};
      if (shortened_) words.insert(words.end(), {"--ttl", format_duration(times_.ttl)});
      auto started = drill_.start(name_of(i), words);
      if (!started) return started.error().message;
      replicas_.push_back(std::move(*started));
    }
    return {};
  }

  // The next act of any, and whose it is.
  std::optional<std::pair<int, LockBeat>> next_act(Instant deadline) {
    while (runtime_.now() < deadline) {
      for (int i = 0; i < kReplicas; ++i) {
        if (!replicas_[static_cast<std::size_t>(i)]) continue;
        if (auto act = LockDrill::next_beat(*replicas_[static_cast<std::size_t>(i)], runtime_.now() + kLook))
          return std::pair{i, *act};
      }
      if (!drill_.wait(Duration{0})) return std::nullopt;
    }
    return std::nullopt;
  }

  Instant kill(int number) {
    const Instant at = runtime_.now();
    ::kill(replicas_[static_cast<std::size_t>(number)]->pid(), SIGKILL);
    replicas_[static_cast<std::size_t>(number)].reset();
    return at;
  }

  std::string said() const {
    std::string all;
    for (int i = 0; i < kReplicas; ++i) all += drill_.said_by(name_of(i));
    return all;
  }

 private:
  static std::string name_of(int number) { return "R" + std::to_string(number + 1); }

  LockDrill& drill_;
  Runtime& runtime_;
  const std::string role_;
  const Times times_;
  const bool shortened_;
  std::vector<std::unique_ptr<OwnProcess>> replicas_;
};

// Kills the acting holder, and waits for the next one. The time is counted from its last act: it began the window, or
// renewed the lease before it.
std::string play(LockDrill& drill, Replicas& replicas, const Times& times, bool is_loop) {
  if (std::string fault = replicas.start(); !fault.empty()) return fault;
  const auto first = replicas.next_act(drill.runtime().now() + kSlack);
  if (!first) return "no process got the lock" + replicas.said();
  const Instant killed_at = replicas.kill(first->first);
  const auto next = replicas.next_act(killed_at + times.ttl + times.every + kSlack);
  if (!next) return "no process took over" + replicas.said();
  const Duration took = next->second.at - killed_at;
  const Duration window = next->second.at - first->second.at;
  drill.measured("fail_over", took);
  if (next->second.fence <= first->second.fence)
    return "L2: the next holder's fence " + std::to_string(next->second.fence) + " is not larger than " +
           std::to_string(first->second.fence);
  // The act was said a moment after the grant, so that the window as it is seen from here may be as much shorter.
  constexpr Duration kSaid = std::chrono::milliseconds{500};
  if (is_loop && window < times.ttl - kSaid)
    return "L6: the lock was granted again " + in_seconds(window) + " after it, inside its window of " +
           format_duration(times.ttl);
  constexpr Duration kBusy = std::chrono::seconds{2};
  const Duration most = times.ttl + times.every + (is_loop ? kBusy : Duration{0});
  if (took > most)
    return "it took " + in_seconds(took) + " until another process acted, more than " + format_duration(most);
  return {};
}

Result<int> run_lock_kill(Invocation& invocation, const std::string& role) {
  const LockOptions preset = *lock_preset(role);
  Times times{preset.ttl, preset.every};
  const bool shortened = invocation.has("--ttl");
  if (shortened) {
    const Result<Duration> ttl =
        invocation.duration("--ttl", preset.ttl, std::chrono::seconds{2}, std::chrono::minutes{10});
    if (!ttl) return std::unexpected(ttl.error());
    times = {*ttl, *ttl / 2};
  }
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  LockDrill drill(invocation, **store, "lock-" + role);
  const bool is_loop = role == "loop";
  {
    Replicas replicas(drill, role, times, shortened);
    if (std::string fault = play(drill, replicas, times, is_loop); !fault.empty()) drill.fault(fault);
  }
  const std::string lease =
      is_loop ? "the window is " + format_duration(times.ttl) + ", tried every " + format_duration(times.every)
              : "the lease is " + format_duration(times.ttl) + ", at most " + format_duration(times.ttl + times.every);
  return drill.finish("every promise held: " + drill.figures() + " after kill -9; " + lease);
}

}  // namespace

CommandSpec drill_lock_loop_command() {
  return {.name = "drill lock-loop",
          .summary = "Kill the holder of a loop lock; another takes its turn",
          .details = "Uses the lock class loop: another replica runs when the window is over, and not before.",
          .options = {{"--ttl", "DURATION",
                       "window, 2s to 10m; each replica tries twice per window; default the preset's 60s"}},
          .examples = {{"fenceline drill lock-loop", "with the preset's own window, in one to two minutes"},
                       {"fenceline drill lock-loop --ttl 4s", "the same in a few seconds"}},
          .run = [](Invocation& invocation) { return run_lock_kill(invocation, "loop"); }};
}

CommandSpec drill_lock_writer_command() {
  return {.name = "drill lock-writer",
          .summary = "Kill the holder of a writer lock; another takes over",
          .details = "Uses the lock class writer: another holder writes within 15s.",
          .options = {{"--ttl", "DURATION",
                       "ttl of the lease, 2s to 10m; the holder writes twice per ttl; default the preset's 10s"}},
          .examples = {{"fenceline drill lock-writer", "with the preset's own lease"}},
          .run = [](Invocation& invocation) { return run_lock_kill(invocation, "writer"); }};
}

}  // namespace fenceline::cli
