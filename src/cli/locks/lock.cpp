// fenceline lock: runs a command while it holds a lock.
#include <charconv>
#include <cmath>

#include "base/duration_text.hpp"
#include "base/verdict_text.hpp"
#include "cli/frame/lock_settings.hpp"
#include "cli/frame/measured.hpp"
#include "cli/frame/open_within.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/locked_command.hpp"
#include "services/lock_client.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kWaitDefault = std::chrono::seconds{10};
constexpr int kStatusMost = 255;

// As flock takes it: seconds, with a fraction if need be; with a unit, as --wait takes it.
Result<Duration> seconds_of(const std::string& text) {
  if (const Result<Duration> with_unit = parse_duration(text, kWaitRange)) return *with_unit;
  double seconds = 0;
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  const double most = std::chrono::duration<double>(kWaitRange.most).count();
  if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(seconds) || seconds < 0 ||
      seconds > most)
    return std::unexpected(usage_error(
        "-w '" + printable(text, 40) +
        "' is not valid; use a number of seconds from 0 to 86400, or a duration such as 1.5s or 10m, at most 24h"));
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// How long to wait, in the first of the three ways that was used.
Result<void> read_wait(const Invocation& invocation, LockOptions& options) {
  if (invocation.has("--nonblock") + invocation.has("--wait") + invocation.has("-w") > 1)
    return std::unexpected(usage_error("-n, -w and --wait exclude each other; pass one"));
  if (invocation.has("--nonblock")) {
    options.wait = Duration{0};
    options.contention = Contention::skip;
    return {};
  }
  const Result<Duration> wait = invocation.has("-w")
                                    ? seconds_of(*invocation.value("-w"))
                                    : invocation.duration("--wait", options.wait, kWaitRange.least, kWaitRange.most);
  if (!wait) return std::unexpected(wait.error());
  // An explicit wait applies whatever the class does on contention.
  if ((invocation.has("-w") || invocation.has("--wait")) && *wait > Duration{0} &&
      options.contention == Contention::skip)
    options.contention = Contention::in_turn;
  options.wait = *wait;
  return {};
}

Result<LockOptions> class_of(const Invocation& invocation) {
  const std::optional<std::string> name = invocation.value("--class");
  const std::optional<std::string> pattern = invocation.value("--pattern");
  if (name && pattern)
    return std::unexpected(usage_error("--class and --pattern exclude each other; a class has its own pattern"));
  if (name) return find_lock_class(invocation, *name);
  LockOptions options{.wait = kWaitDefault};
  if (!pattern) return options;
  const std::optional<LockPattern> parsed = parse_lock_pattern(*pattern);
  if (!parsed)
    return std::unexpected(
        usage_error("--pattern '" + printable(*pattern, 40) + "' is not a pattern; use item, loop, fenced or layered"));
  options.pattern = *parsed;
  // Another process does the sweep of this window; it need not be repeated.
  if (options.pattern == LockPattern::loop) {
    options.wait = Duration{0};
    options.contention = Contention::skip;
  }
  return options;
}

// What flock users type. Exclusive is the default, and files are never passed on to the command.
Result<void> check_flock_options(const Invocation& invocation) {
  if (invocation.has("--unlock"))
    return std::unexpected(
        usage_error("fenceline lock has no -u: the lock is freed when its command ends; to end a lock that somebody "
                    "else holds, use 'fenceline locks break " +
                    printable(invocation.argument("KEY"), 128) + "'"));
  if (invocation.has("--exclusive") && (invocation.has("--shared") || invocation.has("--slots")))
    return std::unexpected(usage_error("-x excludes -s, --shared and --slots; give one of them"));
  return {};
}

Result<LockOptions> lock_options(const Invocation& invocation) {
  if (auto ok = check_flock_options(invocation); !ok) return std::unexpected(ok.error());
  Result<LockOptions> options = class_of(invocation);
  if (!options) return options;
  options->names = invocation.arguments.at("KEY");
  for (const std::string& name : options->names) {
    if (auto ok = check_lock_name(name); !ok) return std::unexpected(ok.error());
  }
  const Result<Duration> ttl = invocation.duration("--ttl", options->ttl, kTtlRange.least, kTtlRange.most);
  if (!ttl) return std::unexpected(ttl.error());
  if (*ttl != options->ttl) options->renew_every = Duration{0};  // a class's own goes with its ttl
  options->ttl = *ttl;
  if (auto ok = read_wait(invocation, *options); !ok) return std::unexpected(ok.error());
  const Result<std::int64_t> slots = invocation.number("--slots", 1, 1, kLockSlotsMax);
  if (!slots) return std::unexpected(slots.error());
  if (invocation.has("--shared") && invocation.has("--slots"))
    return std::unexpected(usage_error("--shared and --slots exclude each other; pass one"));
  options->slots = static_cast<int>(*slots);
  if (invocation.has("--shared")) options->mode = LockMode::shared;
  const Result<Duration> hold =
      invocation.duration("--hold-at-least", options->hold_at_least, kWaitRange.least, kWaitRange.most);
  if (!hold) return std::unexpected(hold.error());
  options->hold_at_least = *hold;
  const Result<Duration> delay = invocation.duration("--delay", options->delay, kWaitRange.least, kWaitRange.most);
  if (!delay) return std::unexpected(delay.error());
  options->delay = *delay;
  if (auto ok = check_options(*options); !ok)
    return std::unexpected(usage_error(ok.error().message + "; see 'fenceline help lock'"));
  return options;
}

Result<std::optional<Duration>> timeout_from(const Invocation& invocation) {
  if (!invocation.has("--timeout")) return std::nullopt;
  const Result<Duration> timeout = invocation.duration("--timeout", {}, kTimeoutRange.least, kTimeoutRange.most);
  if (!timeout) return std::unexpected(timeout.error());
  return *timeout;
}

// Not obtained: the status that was asked for, in words.
Result<int> not_obtained(const Invocation& invocation, const LockOptions& options, const Error& error, int status) {
  if (was_interrupted(invocation.stop)) {
    tell("fenceline: interrupted while waiting for the lock; the command was not run");
    return interrupted_exit();
  }
  // The request that had no answer was taken back, or will be, or ends by itself: there is nothing to look for.
  if (error.code == Code::in_doubt)
    return fail(Code::unavailable, without_verdict(error.message) +
                                       "; the command was not run; if the lock was granted, it is free again within " +
                                       format_duration(options.ttl));
  if (error.code != Code::held) return std::unexpected(error);
  // With -E 0, as from cron, no message: it would come every minute.
  if (status != kExitOk && !invocation.has("--quiet")) tell("fenceline: " + error_text(error));
  return status;
}

bool does_not_wait(const LockOptions& options) {
  return options.contention == Contention::skip || options.wait == Duration{0};
}

void tell_that_it_is_open() {
  tell(
      "fenceline: the store is unreachable, and the lock's class says to continue: other holders are not excluded now");
}

// Without a lock and without a fence: the store could not even be opened.
int run_open(Invocation& invocation, const Measured& measured, const MetricsPort& metrics_port,
             const LockOptions& options, std::optional<Duration> timeout) {
  measured.log().warn("lock_failed_open",
                      {{"lock", options.names.front()}, {"owner", ""}, {"fence", 0}, {"at", "acquire"}});
  tell_that_it_is_open();
  TrustDeadline trust(invocation.runtime->now() + kOpenFor);
  const LockedEnd end = run_locked(invocation,
                                   {.resource = options.names.front(),
                                    .grants = {},
                                    .times = times_of(options),
                                    .trust = trust,
                                    .stop = {},
                                    .lost = [] { return false; }},
                                   timeout);
  metrics_port.write_file(invocation, measured.measurement());
  return end.status;
}

Error loss_of(const HeldLock& held) {
  const std::string why = held.why_lost();
  return {Code::lost, "lock " + held.resource() + " was lost" + (why.empty() ? "" : " (" + why + ")") +
                          " while the command ran, so the command was stopped; a gate may refuse its last writes"};
}

// The store is open: takes the lock, runs the command, gives it back.
Result<int> run_held(Invocation& invocation, const Session& session, const LockOptions& options,
                     std::optional<Duration> timeout, int conflict) {
  LockClient locks(
      make_lock_parts(*invocation.runtime, session.log(), *session, {.ns = invocation.ns, .place = lock_place()}));
  Result<HeldLock> held = locks.acquire(options, invocation.stop);
  if (!held) return not_obtained(invocation, options, held.error(), conflict);
  if (held->failed_open()) tell_that_it_is_open();
  record_started(session, *held);
  const LockedEnd end = run_locked(invocation, lease_of(*held), timeout);
  record_ended(session, *held, end.lost);
  const Result<void> released = held->release();
  tidy_now_and_then(invocation, *session);
  if (end.lost || (!released && released.error().code == Code::lost)) return std::unexpected(loss_of(*held));
  if (!released)
    tell("fenceline: " + released.error().message + "; it is free again within " + format_duration(options.ttl));
  return end.status;
}

Result<int> run_lock(Invocation& invocation) {
  const Instant began = invocation.runtime->now();
  Result<LockOptions> options = lock_options(invocation);
  if (!options) return std::unexpected(options.error());
  const Result<std::optional<Duration>> timeout = timeout_from(invocation);
  if (!timeout) return std::unexpected(timeout.error());
  const Result<std::int64_t> conflict = invocation.number("--conflict-exit-code", kExitTryLater, 0, kStatusMost);
  if (!conflict) return std::unexpected(conflict.error());
  if (const std::optional<int> missing = command_missing(invocation)) return *missing;

  Result<MetricsPort> metrics_port = MetricsPort::open(invocation);
  if (!metrics_port) return std::unexpected(metrics_port.error());
  const LockLog log(invocation);
  const Instant deadline = does_not_wait(*options) ? began : began + options->wait;
  Result<std::unique_ptr<Store>> store = open_within(invocation, log.log(), options->names.front(), deadline);
  if (!store && options->on_acquire_error == OnStoreError::open && store_is_away(store.error().code) &&
      !was_interrupted(invocation.stop))
    return run_open(invocation, Measured(invocation, *metrics_port, log.sink()), *metrics_port, *options, *timeout);
  if (!store) return not_obtained(invocation, *options, store.error(), static_cast<int>(*conflict));
  // Reaching the store counts as part of the wait, but one request is always made.
  if (!does_not_wait(*options))
    options->wait = std::max<Duration>(deadline - invocation.runtime->now(), std::chrono::milliseconds{1});

  std::optional<MeasureOptions> measures = metrics_port->measures(invocation);
  if (measures) {
    const std::optional<std::string> name = invocation.value("--class");
    measures->lock_class = name.value_or(std::string(to_string(options->pattern)));
    if (name) measures->lock_names = lock_class_names(invocation, *name);
  }
  const Result<Session> session =
      invocation.session_over(std::move(*store), {.metrics = std::move(measures), .log = &log.sink()});
  if (!session) return std::unexpected(session.error());
  const MetricsPages pages(*invocation.runtime, *metrics_port, session->measurement());
  const Result<int> status = run_held(invocation, *session, *options, *timeout, static_cast<int>(*conflict));
  metrics_port->write_file(invocation, session->measurement());
  return status;
}

}  // namespace

CommandSpec lock_command() {
  return {
      .name = "lock",
      .summary = "Run a command while holding a lock",
      .details = "The command gets the lock's fence. It is stopped before the lock could be lost.",
      .arguments = {{.name = "KEY",
                     .help = "name of the lock: 1 to 128 letters, digits, '.', '_', '-', ':', '/', '@' and '=', such "
                             "as deploy or /var/lock/deploy; several names are acquired all or none",
                     .repeated = true}},
      .options =
          {{"--class", "C", "lock class: job, loop, run, writer, or one that fenceline.toml defines as [lock.C]"},
           {"--pattern", "item|loop|fenced|layered",
            "without a class: release at the end (default), or hold for the whole ttl (loop)"},
           {"--ttl", "DURATION",
            "length of the lease, renewed while the command runs: 1s to 24h; default 30s; with the pattern loop, the "
            "window"},
           {"--wait", "DURATION", "how long to wait for the lock, in order of arrival: 0s to 24h; default 10s"},
           {"-w", "SECONDS", "the same as --wait, as flock has it: seconds, or a duration such as 1.5s"},
           {.name = "--nonblock", .value = "", .help = "do not wait", .letter = "-n"},
           {.name = "--conflict-exit-code",
            .value = "STATUS",
            .help = "exit status if the lock was not acquired, 0 to 255; default 75; with 0 no message is printed",
            .letter = "-E"},
           {.name = "--quiet", .value = "", .help = "print no message if the lock was not acquired", .letter = "-q"},
           {.name = "--shared", .value = "", .help = "shared: together with other shared holders only", .letter = "-s"},
           {.name = "--exclusive", .value = "", .help = "one holder at a time: the default", .letter = "-x"},
           {.name = "--close",
            .value = "",
            .help = "accepted for flock users: the command never inherits the lock's files",
            .letter = "-o"},
           {.name = "--unlock",
            .value = "",
            .help = "refused: the lock is freed when its command ends; see 'fenceline locks break'",
            .letter = "-u"},
           {"--slots", "N", "allow N holders at a time, 1 to 1000; all must use the same N"},
           {"--hold-at-least", "DURATION",
            "hold the lock this long even if the command ends sooner: for short commands started by cron on several "
            "machines; at most 24h"},
           {"--delay", "DURATION",
            "after the lock was lost, wait this long before the next holder gets it, for targets that cannot check a "
            "fence; at most 24h"},
           metrics_option(),
           metrics_file_option(),
           {"--timeout", "DURATION", "stop the command after this long: TERM, and KILL up to 5s later; 1s to 30d"},
           {"--history", "FILE", kHistoryHelp}},
      .sections =
          {{"The command (not run through a shell)",
            {{"stdin, stdout, stderr", "inherited from 'fenceline lock'; other open files are not"},
             {"FENCELINE_LOCK", "the lock's name, or name#3 for one of several slots; of several names the first"},
             {"FENCELINE_FENCE", "its fence: pass it to what you write to, as 'fenceline gate run - - -- CMD' does"},
             {"FENCELINE_LOCKS", "all locks held, as JSON: {\"name\":fence}"},
             {"FENCELINE_STORE, FENCELINE_NAMESPACE", "so that fenceline in the command works on the same store"},
             {"signals",
              "HUP, INT, QUIT, TERM, USR1 and USR2 sent to 'fenceline lock' are forwarded to the command. Ctrl-C at a "
              "terminal, or a signal to the process group, reaches both, so the command gets it twice. Signals that "
              "were ignored at the start, as under nohup, stay ignored"},
             {"out of reach",
              "a command of another user (sudo), or one that makes another process work (docker run), cannot be "
              "stopped: only the fence guards its writes"}}},
           {"Before the lock could be lost",
            {{"renewal fails",
              "TERM to the command and all it started at ttl - ttl/10 - ttl/6, KILL at ttl - ttl/10: before the store "
              "grants the lock to another"},
             {"'fenceline lock' is stopped or killed",
              "its guardian, a separate process, does the same; at once if it was killed"},
             {"'fenceline locks break'", "the same, at the next renewal at the latest"}}},
           {"The pattern loop",
            {{"for", "work that cron starts on many machines at the same time, and one of them should do"},
             {"the window",
              "the ttl: no one gets the lock again before it is over, whether the command succeeded, failed or died"},
             {"contention", "none: a process that does not get the lock exits with 75 (or -E 0)"}}},
           {"Exit status",
            {{"status of the command", "128 + N for signal N; 126 or 127 if it cannot be run or was not found"},
             {"69",
              "the store was unreachable for as long as the lock is waited for; the command was not run, unless its "
              "class has on_acquire_error = \"open\""},
             {"75", "not acquired (or -E); the command was not run"},
             {"76", "the lock was lost, and the command was stopped"}}}},
      .examples = {{"fenceline lock deploy -- ./deploy.sh", "one at a time; waits up to 10s for the lock"},
                   {"fenceline lock sweep --class loop -E 0 -- ./sweep",
                    "from cron on every machine: one of them runs it, once a minute"},
                   {"fenceline lock report -n -- sh -c './report | fenceline gate put - - r.csv'",
                    "a late writer is refused by its fence"},
                   {"fenceline lock gpu --slots 4 -w 600 -- ./train", "four at a time"}},
      .takes_command = true,
      .run = run_lock};
}

}  // namespace fenceline::cli
