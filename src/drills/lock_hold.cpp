// `fenceline drill lock-job` and `lock-run`: a holder is stopped with SIGSTOP for longer than its lease, alone and then
// with its guardian and its command. Another one waits for the lock. Alone: the guardian must have ended the command
// before the other begins. With all: what the late one writes must be refused by its fence at a gate.
#include <algorithm>
#include <csignal>

#include "base/duration_text.hpp"
#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/lock.hpp"
#include "model/trust.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kTtlDefault = std::chrono::seconds{3};
constexpr const char* kHeldKey = "ledger";

class PausedHolder {
 public:
  PausedHolder(LockDrill& drill, std::string preset, Duration ttl)
      : drill_(drill), runtime_(drill.runtime()), preset_(std::move(preset)), ttl_(ttl) {}

  // A sentence if it went wrong.
  std::string play(bool with_all) {
    const std::string form = with_all ? "-all" : "-alone";
    auto a = holder("A" + form);
    if (!a) return a.error().message;
    // Of the play before, a holder was killed and its lease runs out first.
    const std::optional<LockBeat> first_a = LockDrill::next_beat(**a, runtime_.now() + ttl_ * 2 + kSlack);
    if (!first_a) return "A did not get the lock" + drill_.said_by("A" + form);
    auto b = holder("B" + form);
    if (!b) return b.error().message;
    if (!drill_.wait(ttl_ / 2)) return "interrupted";

    const Instant stopped_at = runtime_.now();
    std::vector<pid_t> stopped{(*a)->pid()};
    if (with_all) {
      const std::vector<pid_t> family = descendants_of((*a)->pid());
      stopped.insert(stopped.end(), family.begin(), family.end());
    }
    for (const pid_t pid : stopped) ::kill(pid, SIGSTOP);
    const std::optional<LockBeat> first_b = LockDrill::next_beat(**b, stopped_at + ttl_ * 2 + kSlack);
    if (!first_b) return "B did not take the lock over" + drill_.said_by("B" + form);
    if (first_b->fence <= first_a->fence)
      return "L2: B's fence " + std::to_string(first_b->fence) + " is not larger than A's " +
             std::to_string(first_a->fence);
    drill_.measured(with_all ? "taken_over_from_all" : "taken_over", first_b->at - stopped_at);
    std::string fault = with_all ? late_write(*first_a, *first_b) : ended_before(**a, *first_b);
    for (const pid_t pid : stopped) ::kill(pid, SIGCONT);
    const Exit a_exit = (*a)->finish(runtime_.now() + kSlack);
    if (fault.empty() && a_exit.status != kExitLost)
      fault = "A ended with " + std::to_string(a_exit.status) + " instead of 76" + drill_.said_by("A" + form);
    return fault;
  }

 private:
  Result<std::unique_ptr<OwnProcess>> holder(const std::string& who) {
    const Duration every =
        std::clamp<Duration>(ttl_ / 100, std::chrono::milliseconds{20}, std::chrono::milliseconds{200});
    return drill_.start(who, {"lock", kHeldKey, "--class", preset_, "--ttl", format_duration(ttl_), "--wait",
                              format_duration(ttl_ * 4 + kSlack), "--", "/proc/self/exe", "drill-locker", "beat", who,
                              "--every", format_duration(every)});
  }

  // L5: nothing of A works when B begins.
  std::string ended_before(OwnProcess& a, const LockBeat& first_b) {
    const std::vector<LockBeat> beats = drill_.beats_so_far(a);
    if (beats.empty()) return "A's command printed nothing after it was paused, so nothing was proved";
    const Instant last = beats.back().at;
    if (last >= first_b.at)
      return "L5: A's command kept working " + in_seconds(last - first_b.at) + " after B had begun";
    if (descendants_of(a.pid()).size() > 1) return "L5: a process of A's command still runs while B works";
    drill_.measured("idle_between", first_b.at - last);
    return {};
  }

  // The gate is new, and B has not written yet: the store knows that its grant is the newest.
  std::string late_write(const LockBeat& a, const LockBeat& b) {
    const auto put = [&](Fence fence) {
      return drill_.run("put", {"gate", "put", "-", "-", drill_.folder() + "/target"},
                        {{"FENCELINE_LOCK", kHeldKey}, {"FENCELINE_FENCE", std::to_string(fence)}});
    };
    if (const int status = put(a.fence); status != kExitLost)
      return "a write under A's fence ended with " + std::to_string(status) + " instead of 76" + drill_.said_by("put");
    if (const int status = put(b.fence); status != kExitOk)
      return "a write under B's fence ended with " + std::to_string(status) + " instead of 0" + drill_.said_by("put");
    if (const int status = put(a.fence); status != kExitLost)
      return "a second write under A's fence ended with " + std::to_string(status) + " instead of 76" +
             drill_.said_by("put");
    return {};
  }

  LockDrill& drill_;
  Runtime& runtime_;
  const std::string preset_;
  const Duration ttl_;
};

Result<int> run_hold(Invocation& invocation, const std::string& preset) {
  const Result<Duration> ttl =
      invocation.duration("--ttl", kTtlDefault, std::chrono::seconds{2}, std::chrono::minutes{10});
  if (!ttl) return std::unexpected(ttl.error());
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  LockDrill drill(invocation, **store, "lock-" + preset);
  PausedHolder pause(drill, preset, *ttl);
  for (const bool with_all : {false, true}) {
    if (std::string fault = pause.play(with_all); !fault.empty())
      drill.fault((with_all ? "paused with its command: " : "paused alone: ") + fault);
  }
  return drill.finish("every promise held, with a ttl of " + format_duration(*ttl) + ": " + drill.figures() +
                      "; late writes were refused by their fence");
}

CommandSpec spec(const std::string& preset, const std::string& summary, const std::string& details) {
  return {.name = "drill lock-" + preset,
          .summary = summary,
          .details = details,
          .options = {{"--ttl", "DURATION", "ttl of the leases, 2s to 10m; default 3s"}},
          .sections = {{"What is printed",
                        {{"taken_over", "time from the pause of the holder to the first write of the next"},
                         {"idle_between",
                          "time from the last write of the paused holder's command, which its guardian stopped, to the "
                          "first write of the next"},
                         {"taken_over_from_all", "the same as taken_over, with guardian and command paused too"}}}},
          .examples = {{"fenceline drill lock-" + preset, "on this store, in about 20 s"}},
          .run = [preset](Invocation& invocation) { return run_hold(invocation, preset); }};
}

}  // namespace

CommandSpec drill_lock_job_command() {
  return spec(
      "job", "Pause the holder of a job lock past its lease",
      "Uses the lock class job: the holder's command is stopped before another begins, and late writes are refused.");
}
CommandSpec drill_lock_run_command() {
  return spec("run", "Pause the holder of a run lock past its lease",
              "Uses the lock class run; otherwise the same as 'drill lock-job'.");
}

}  // namespace fenceline::cli
