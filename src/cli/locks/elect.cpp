// fenceline elect: runs a command while this process leads.
#include <atomic>

#include "base/duration_text.hpp"
#include "cli/frame/measured.hpp"
#include "cli/frame/open_within.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/service.hpp"
#include "cli/frame/signals.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/locked_command.hpp"
#include "fenceline/election.hpp"
#include "services/backoff.hpp"
#include "services/lock_client.hpp"

namespace fenceline::cli {
namespace {

Result<ElectionOptions> election_options(const Invocation& invocation) {
  ElectionOptions options{.name = invocation.argument("NAME")};
  if (auto ok = check_lock_name(options.name); !ok) return std::unexpected(ok.error());
  const Result<Duration> ttl = invocation.duration("--ttl", options.ttl, kTtlRange.least, kTtlRange.most);
  if (!ttl) return std::unexpected(ttl.error());
  options.ttl = *ttl;
  const Result<Duration> delay = invocation.duration("--delay", options.delay, kWaitRange.least, kWaitRange.most);
  if (!delay) return std::unexpected(delay.error());
  options.delay = *delay;
  return options;
}

int interrupted() {
  tell("fenceline: interrupted while waiting to be elected; the command was not run");
  return interrupted_exit();
}

Result<int> run_elect(Invocation& invocation) {
  const Result<ElectionOptions> options = election_options(invocation);
  if (!options) return std::unexpected(options.error());
  if (const std::optional<int> missing = command_missing(invocation)) return *missing;
  const LockLog log(invocation);
  Service service(*invocation.runtime, log.log(), invocation.stop, kCallTimeout);
  Result<MetricsPort> metrics_port = MetricsPort::open(invocation);
  if (!metrics_port) return std::unexpected(metrics_port.error());
  Result<std::unique_ptr<Store>> store = open_within(invocation, log.log(), options->name, invocation.runtime->now());
  if (!store && may_repeat(store.error().code) && !was_interrupted(invocation.stop)) {
    tell("fenceline: " + store.error().message + "; waiting for the store");
    store = open_within(invocation, log.log(), options->name, Instant::max());
  }
  if (!store && was_interrupted(invocation.stop)) return interrupted();
  if (!store) return std::unexpected(store.error());

  std::optional<MeasureOptions> measures = metrics_port->measures(invocation);
  if (measures) measures->lock_class = std::string(to_string(LockPattern::election));
  const Result<Session> session =
      invocation.session_over(std::move(*store), {.metrics = std::move(measures), .log = &log.sink()});
  if (!session) return std::unexpected(session.error());
  const MetricsPages pages(*invocation.runtime, *metrics_port, session->measurement());
  LockClient locks(
      make_lock_parts(service.runtime(), session->log(), **session, {.ns = invocation.ns, .place = lock_place()}));
  Election election(locks, *options);
  std::atomic<Fence> term = 0;  // 0: it campaigns
  service.ready();
  const Task attending = service.attend([&] {
    return term == 0 ? "campaigns for " + options->name : "leads " + options->name + ", term " + std::to_string(term);
  });
  const auto campaign = [&]() -> Result<int> {
    while (true) {
      LockedEnd end;
      const auto lead = [&](const Term& now) {
        const WatchedRuntime::Away away;  // for as long as the command takes
        term = now.number;
        record_started(*session, now.held);
        end = run_locked(invocation, lease_of(now.held), std::nullopt);
        record_ended(*session, now.held, end.lost);
        term = 0;
      };
      const Result<TermEnd> served = election.serve(lead, invocation.stop);
      tidy_now_and_then(invocation, **session);
      if (!served && was_interrupted(invocation.stop)) return interrupted();
      if (!served) return std::unexpected(served.error());
      if (end.interrupted || (*served == TermEnd::stepped_down && !end.lost)) return end.status;
      // Somebody wanted an end, and the lead was lost on the way to it.
      if (end.asked_to_end != 0) return 128 + end.asked_to_end;
      if (invocation.has("--once"))
        return fail(Code::lost, "leadership of " + options->name +
                                    " was lost and the command was stopped; another process may lead by now");
      tell("fenceline: leadership of " + options->name +
           " was lost and the command was stopped; waiting to be elected again");
    }
  };
  const Result<int> status = campaign();
  metrics_port->write_file(invocation, session->measurement());
  return status;
}

}  // namespace

CommandSpec elect_command() {
  return {
      .name = "elect",
      .summary = "Run a command while this process is the leader",
      .details = "The candidates share a name; one of them leads. The number of the term is the command's fence.",
      .arguments = {{"NAME", "name of the election: a lock's name"}},
      .options = {{"--ttl", "DURATION",
                   "length of the leader's lease, renewed while the command runs: 1s to 24h; default 15s"},
                  {"--delay", "DURATION",
                   "after a leader was lost, wait this long before the next one leads, for targets that cannot check a "
                   "fence; at most 24h"},
                  {"--once", "", "exit with 76 after a loss, instead of waiting to be elected again"},
                  metrics_option(),
                  metrics_file_option(),
                  {"--history", "FILE", kHistoryHelp}},
      .sections = {{"What happens when",
                    {{"elected",
                      "the command starts, as with 'fenceline lock': FENCELINE_LOCK is the name, FENCELINE_FENCE the "
                      "term; signals are forwarded to it"},
                     {"the command ends", "this process steps down at once and exits with the command's status"},
                     {"leadership is lost",
                      "the command is stopped before another process can lead; without --once, it starts again when "
                      "this process is elected again"},
                     {"INT or TERM while waiting", "leaves the queue and exits with 128 + N"},
                     {"the store is unreachable",
                      "waits as long as it takes, also at the start; a leader that cannot renew in time loses its "
                      "leadership"}}},
                   {"Exit status",
                    {{"status of the command", "128 + N for signal N; 126 or 127 if it cannot be run or was not found"},
                     {"76", "with --once: leadership was lost"}}}},
      .examples = {{"fenceline elect scheduler -- ./scheduler", "on every machine; one of them schedules"},
                   {"fenceline elect primary --ttl 5s --once -- ./serve", "under a supervisor that starts it again"}},
      .takes_command = true,
      .run = run_elect};
}

}  // namespace fenceline::cli
