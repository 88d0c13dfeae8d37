// fenceline gate run: holds a gate while a command writes. The gate remembers the fence before the command starts, and
// the command inherits the gate's lock: if this process is killed, the gate stays held until the command has ended too.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <csignal>

#include "base/crash_point.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/gates.hpp"
#include "runtime/child_process.hpp"

namespace fenceline::cli {
namespace {

constexpr int kCannotBeRun = 126;
constexpr int kNotThere = 127;
constexpr int kOutOfTheWay = 90;  // descriptors below are the command's own

int cannot_start(const Error& error) {
  tell("fenceline: " + error_text(error));
  return error.code == Code::not_found ? kNotThere : kCannotBeRun;
}

void wait_for_its_end(const ChildProcess& child) {
  pollfd ended{child.exited.get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

// A terminal tells both of us of Ctrl-C; SIGTERM comes to this process alone.
void pass_on(const ChildProcess& child) {
  if (stop_signal() == SIGTERM) ::kill(child.pid, SIGTERM);
}

Result<int> run_under(Invocation& invocation, const GateMemory& gate) {
  const UniqueFd inherited(::fcntl(gate.descriptor(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  if (!inherited) return fail(Code::unavailable, "no file descriptor is free");
  const Result<ChildProcess> child = spawn_child({.program = invocation.command.front(),
                                                  .arguments = invocation.command,
                                                  .descriptors = {{inherited.get(), inherited.get()}},
                                                  .own_group = false});
  if (!child) return cannot_start(child.error());
  FENCELINE_CRASH_POINT(gate_command_started);
  {
    const std::stop_callback stop(invocation.stop, [&] { pass_on(*child); });
    wait_for_its_end(*child);
  }
  FENCELINE_CRASH_POINT(gate_command_ended);
  const ExitStatus status = reap(*child);
  return status.exited ? status.number : 128 + status.number;
}

Result<int> run_gate_run(Invocation& invocation) {
  const Result<GateClaim> claim = gate_claim(invocation);
  if (!claim) return std::unexpected(claim.error());
  const Result<Duration> wait = gate_wait(invocation);
  if (!wait) return std::unexpected(wait.error());
  const Result<GateAt> at = gate_at(invocation, claim->resource);
  if (!at) return std::unexpected(at.error());
  if (const Result<std::string> program = find_program(invocation.command.front()); !program)
    return cannot_start(program.error());
  const Result<NewestGrant> store = NewestGrant::of(invocation, claim->resource);
  if (!store) return std::unexpected(store.error());

  Result<GateMemory> gate = GateMemory::lock(*invocation.runtime, *at, *wait, invocation.stop);
  if (!gate) return std::unexpected(gate.error());
  const Result<std::optional<Fence>> newest = store->ask();
  if (!newest) return std::unexpected(newest.error());
  const GateAnswer answer = judge_fence(claim->fence, gate->remembered(), *newest);
  if (!answer.accepted()) return std::unexpected(gate_refusal(*claim, *store, answer));
  if (claim->fence > gate->remembered()) {
    if (auto ok = gate->raise(claim->fence); !ok) return std::unexpected(ok.error());
  }
  const Result<int> status = run_under(invocation, *gate);
  gate->release();
  return status;
}

}  // namespace

CommandSpec gate_run_command() {
  return {
      .name = "gate run",
      .summary = "Run a command that writes, while holding its gate",
      .details = "The command runs only if no newer fence has passed the gate. Until it ends, no other write passes.",
      .arguments = {{"RESOURCE", kGateResourceHelp}, {"FENCE", kGateFenceHelp}},
      .options = {gate_wait_option(), gates_option()},
      .sections = {{"Exit status",
                    {{"status of the command", "128 + N for signal N; 126 or 127 if it cannot be run or was not found"},
                     {"75", "another process held the gate for longer than --wait; the command was not run"},
                     {"76", "the fence is stale or behind; the command was not run"}}},
                   {"How long the gate is held",
                    {{"one at a time", "from the comparison to the end of the command, no other write passes"},
                     {"if this process is killed", "the command continues and holds the gate until it ends"},
                     {"background processes", "a process that outlives the command no longer holds the gate"}}}},
      .examples = {{"fenceline gate run - - -- rsync -a out/ /srv/www/",
                    "under a lock, or in a handler of a job with a group: a late one is refused before it writes"}},
      .takes_command = true,
      .run = run_gate_run};
}

}  // namespace fenceline::cli
