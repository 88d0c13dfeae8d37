// fenceline work: a worker that runs a command for each job, under a guardian.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "backends/trackers/open_tracker.hpp"
#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/measured.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/schedule_settings.hpp"
#include "cli/frame/service.hpp"
#include "cli/frame/terminal_log.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/trace_settings.hpp"
#include "cli/frame/work_options.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/pipelines/tracker_place.hpp"
#include "cli/pipelines/tracker_webhook.hpp"
#include "fenceline/version.hpp"
#include "model/trust.hpp"
#include "runtime/actor.hpp"
#include "runtime/child_process.hpp"
#include "runtime/host.hpp"
#include "runtime/process_tree.hpp"
#include "services/command_handler.hpp"
#include "services/stage_store.hpp"
#include "services/stage_worker.hpp"
#include "services/worker.hpp"
#include "session/handler_chain.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

constexpr rlim_t kFilesForACommand = 8;
constexpr rlim_t kFilesBeside = 128;

// A common limit of 1024 is less than many commands at once need.
void make_room_for_files(int concurrency) {
  rlimit files{};
  const rlim_t needed = static_cast<rlim_t>(concurrency) * kFilesForACommand + kFilesBeside;
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) return;
  files.rlim_cur = std::min(files.rlim_max, needed);
  ::setrlimit(RLIMIT_NOFILE, &files);
}

Result<WorkerOptions> options_from(const Invocation& invocation) {
  const Result<std::int64_t> concurrency =
      invocation.number("--concurrency", std::min(usable_cores(), kConcurrencyMax), 1, kConcurrencyMax);
  if (!concurrency) return std::unexpected(concurrency.error());
  const Result<Duration> ttl = invocation.duration("--ttl", std::chrono::seconds{30}, kTtlRange.least, kTtlRange.most);
  if (!ttl) return std::unexpected(ttl.error());
  const Result<Duration> grace =
      invocation.duration("--drain-timeout", std::chrono::seconds{30}, kWaitRange.least, kWaitRange.most);
  if (!grace) return std::unexpected(grace.error());
  WorkerOptions options{.ns = invocation.ns,
                        .queues = invocation.arguments.at("QUEUE"),
                        .stage = invocation.value("--stage").value_or(""),
                        .concurrency = static_cast<int>(*concurrency),
                        .ttl = *ttl,
                        .drain_grace = *grace,
                        .drain = invocation.has("--drain"),
                        .strict = invocation.has("--strict"),
                        .schedules = !invocation.has("--no-schedules"),
                        .actor = this_actor(*invocation.runtime),
                        .host = host_name(),
                        .pid = ::getpid(),
                        .version = std::string(kVersion)};
  // Here, so that a name that cannot be does not even create a store.
  const WorkerReport as_reported{
      .ns = options.ns, .owner = "checked", .queues = options.queues, .stage = options.stage, .ttl = options.ttl};
  std::vector<std::string> sorted = options.queues;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(Code::invalid, "queue '" + printable(*twice, 60) + "' is named twice; name it once");
  if (const Result<void> ok = check_request(as_reported); !ok) return std::unexpected(ok.error());
  return options;
}

std::string work_as_json(const WorkReport& report) {
  std::string text;
  const auto add = [&](std::string_view name, std::int64_t number) {
    text += (text.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(number);
  };
  add("claimed", report.claimed);
  add("takeovers", report.takeovers);
  add("done", report.done);
  add("moved", report.moved);
  add("failed", report.failed);
  add("dead", report.dead);
  add("later", report.later);
  add("given_back", report.given_back);
  add("refused", report.refused);
  add("lost", report.lost);
  add("revoked", report.revoked);
  add("waiting", report.waiting);
  add("ahead", report.ahead);
  add("blocked", report.blocked);
  return text + "}";
}

std::string work_as_words(const WorkReport& report, bool drained) {
  std::string text = "fenceline: " + std::to_string(report.done - report.moved) + " done, " +
                     (report.moved > 0 ? std::to_string(report.moved) + " moved on, " : "") +
                     std::to_string(report.failed) + " failed";
  const auto add = [&](std::int64_t number, std::string_view what) {
    if (number > 0) text += ", " + std::to_string(number) + " " + std::string(what);
  };
  add(report.dead, "dead");
  add(report.later, "to be retried later");
  add(report.given_back, "returned to the queue");
  add(report.takeovers, "taken over");
  add(report.lost, "leases lost");
  add(report.refused, "late writes refused");
  add(report.revoked, "cancelled or retried while they ran");
  add(report.waiting, "waiting for 'fenceline effects resolve'");
  if (!drained) return text;
  if (report.ahead > 0) text += "; " + std::to_string(report.ahead) + " not due yet";
  if (report.blocked > 0)
    text +=
        (report.ahead > 0 ? ", " : "; ") + std::to_string(report.blocked) + " blocked by a group, a limit or a pause";
  return text;
}

// Runs the check of a gate as the worker's own command is run.
class CheckHandler final : public Handler {
 public:
  CheckHandler(CommandHandler& commands, std::vector<std::string> words)
      : commands_(commands), words_(std::move(words)) {}
  RunResult run(const Run& run) override {
    const WatchedRuntime::Away away;
    return commands_.run(run, words_, EndPolicy{});
  }

 private:
  CommandHandler& commands_;
  const std::vector<std::string> words_;
};

// The same, as a session runs it.
class SessionCheck final : public Handler {
 public:
  SessionCheck(const Session& session, CommandHandler& commands, std::vector<std::string> words)
      : check_(commands, std::move(words)), chain_(session, check_, ChainFor::checks) {}
  RunResult run(const Run& run) override { return chain_.outermost().run(run); }

 private:
  CheckHandler check_;
  HandlerChain chain_;
};

// The schedules that fenceline.toml declares are made what it says. A store that went away is waited for; what else
// keeps one from that is said, and is no reason to leave the jobs undone. Errors: invalid (a declaration).
Result<void> reconcile_schedules(const Invocation& invocation, Store& store) {
  const Result<std::vector<NamedSpec>> declared = declared_schedules(invocation);
  if (!declared) return std::unexpected(declared.error());
  if (declared->empty()) return {};
  ScheduleActs acts(*invocation.runtime, store, {.ns = invocation.ns, .place = lock_place()}, invocation.stop);
  while (true) {
    const Result<ReconcileReport> report =
        acts.reconcile(*declared, {.actor = login_name(), .reason = "declared in fenceline.toml"});
    if (report) {
      if (!report->added.empty() || !report->changed.empty())
        tell("fenceline: schedules of fenceline.toml: " + std::to_string(report->added.size()) + " added, " +
             std::to_string(report->changed.size()) + " changed");
      for (const auto& [name, error] : report->failed)
        tell("fenceline: schedule " + name + " could not be set to what fenceline.toml says: " + error_text(error) +
             "; the worker starts anyway, and the next worker to start tries again");
      return {};
    }
    if (report.error().code == Code::invalid) return std::unexpected(report.error());
    if (report.error().code != Code::unavailable && report.error().code != Code::in_doubt) {
      tell("fenceline: the schedules of fenceline.toml could not be set: " + error_text(report.error()) +
           "; the worker starts anyway, and the next worker to start tries again");
      return {};
    }
    if (!invocation.runtime->sleep_for(std::chrono::seconds{1}, invocation.stop))
      return {};  // asked to stop: the worker ends at once
  }
}

// A worker on a queue that never had a job waits in silence, as one on a mistyped queue would: so it says so, once.
void tell_of_new_queues(const Invocation& invocation, Store& store, const WorkerOptions& options) {
  std::vector<std::string> empty;
  for (const std::string& queue : options.queues) {
    const Result<JobsReply> jobs = store.jobs({.ns = options.ns, .queue = queue, .limit = 1});
    if (jobs && jobs->jobs.empty() && !jobs->next) empty.push_back(queue);
  }
  if (empty.empty()) return;
  const Result<std::vector<QueueRow>> rows = store.queues(options.ns);
  if (!rows) return;
  std::vector<std::string> known;
  for (const QueueRow& row : *rows) known.push_back(row.queue);
  // Queues that a schedule or a pipeline will fill are no slip either.
  if (const Result<SchedulesReply> page = store.schedules({.ns = options.ns})) {
    for (const ScheduleRow& row : page->schedules) {
      if (const Result<ScheduleSpec> spec = parse_spec(row.spec)) known.push_back(spec->queue);
    }
  }
  if (const Result<std::vector<PipelineRow>> pipelines = store.pipelines(options.ns)) {
    for (const PipelineRow& row : *pipelines) known.push_back(row.name);
  }
  std::erase_if(empty, [&](const std::string& queue) { return std::ranges::find(known, queue) != known.end(); });
  if (empty.empty()) return;
  std::vector<std::string> words;
  for (const std::string& queue : empty) {
    const std::optional<std::string> near = nearest(queue, known);
    words.push_back(queue + (near ? " (did you mean '" + *near + "'?)" : ""));
  }
  tell("fenceline: " + std::string(empty.size() == 1 ? "queue " : "queues ") + joined(words, ", ") +
       (empty.size() == 1 ? " has" : " have") + " no jobs yet" +
       (invocation.has("--drain") ? "" : "; waiting for the first one"));
}

// What commands write to stderr, above the last line of a terminal.
std::function<void(std::string_view)> forward_to(TerminalLog* log) {
  if (log == nullptr) return {};
  return [log](std::string_view lines) { log->pass_on(lines); };
}

Result<int> run_work(Invocation& invocation) {
  if (invocation.command.empty())
    return std::unexpected(usage_error("no command was given; write it after --: fenceline work QUEUE -- CMD ARG..."));
  if (is_tracker_url(invocation.store_url)) {
    if (invocation.has("--fail-on-dead"))
      return std::unexpected(usage_error("--fail-on-dead is for stores of jobs; an issue tracker has no dead jobs"));
    return work_on_tracker(invocation);
  }
  if (invocation.has("--webhook"))
    return std::unexpected(usage_error(
        "--webhook works only with GitHub as an issue tracker; other stores notify their workers themselves"));
  if (invocation.has("--name"))
    return std::unexpected(usage_error("--name is for issue trackers, where people read it; leave it out"));
  Result<WorkerOptions> options = options_from(invocation);
  if (!options) return std::unexpected(options.error());
  const Result<EndPolicy> ends = ends_from(invocation);
  if (!ends) return std::unexpected(ends.error());
  if (const Result<std::string> program = find_program(invocation.command.front()); !program) {
    tell("fenceline: " + error_text(program.error()));
    return program.error().code == Code::not_found ? kExitNoCommand : kExitCannotBeRun;
  }
  Service service(*invocation.runtime, Log(*invocation.log_sink), invocation.stop, kCallTimeout);
  if (invocation.has("--metrics-file") && !invocation.has("--drain"))
    return std::unexpected(
        usage_error("--metrics-file is written when the worker ends, so it needs --drain; for a "
                    "worker that goes on use --metrics ADDR"));
  Result<MetricsPort> metrics_port = MetricsPort::open(invocation);
  if (!metrics_port) return std::unexpected(metrics_port.error());
  Result<std::unique_ptr<traces::SpanSink>> spans = open_traces(invocation);
  if (!spans) return std::unexpected(spans.error());
  const Result<Session> session = invocation.open_or_make_store(
      {.metrics = metrics_port->measures(invocation, options->queues), .spans = std::move(*spans)});
  if (!session) return std::unexpected(session.error());
  const MetricsPages pages(*invocation.runtime, *metrics_port, session->measurement());
  if (auto ok = reconcile_schedules(invocation, session->stages()); !ok) return std::unexpected(ok.error());

  const SaidOfWorker said{.ttl = invocation.has("--ttl"), .concurrency = invocation.has("--concurrency")};
  const Result<KnownPipelines> pipelines =
      fit_to_stage(*invocation.runtime, **session, *options, said, invocation.stop);
  if (!pipelines) return std::unexpected(pipelines.error());
  // After the look above, which waits for a store that is away.
  if (const auto stage = invocation.value("--stage"); stage && !invocation.stop.stop_requested()) {
    if (auto ok = check_stage_of_pipeline(**session, invocation.ns, options->queues, *stage); !ok)
      return std::unexpected(ok.error());
  }

  if (!invocation.stop.stop_requested()) tell_of_new_queues(invocation, **session, *options);
  make_room_for_files(options->concurrency);
  CommandHandler handler(*invocation.runtime, {.command = invocation.command,
                                               .store_url = from_any_folder(invocation.store_url),
                                               .ns = invocation.ns,
                                               .ends = *ends,
                                               .clean_env = invocation.has("--clean-env"),
                                               .grace = LeaseTimes::of(options->ttl).grace,
                                               .owns_children = become_subreaper(),
                                               .forward_errors = forward_to(invocation.terminal_log)});
  MakeCheck make_check;
  if (invocation.has("--run-checks")) {
    make_check = [&](const StageSpec& stage) -> std::unique_ptr<Handler> {
      return std::make_unique<SessionCheck>(*session, handler, stage.entry.command);
    };
  }
  const HandlerChain chain(*session, handler);
  ServiceStore service_store(service, **session);
  ServiceHandler service_handler(chain.outermost());
  const Task attending = service.attend([&] { return service_store.describe(); });
  Task live_line;
  if (invocation.terminal_log != nullptr) live_line = invocation.terminal_log->keep_live_line(*invocation.runtime);
  const Result<WorkReport> report = work_stages(service.runtime(), session->log(), service_store, service_handler,
                                                *options, std::move(make_check), invocation.stop);
  live_line = {};
  metrics_port->write_file(invocation, session->measurement());
  if (!report) return std::unexpected(report.error());
  if (invocation.json) print_line(work_as_json(*report));
  tell(work_as_words(*report, options->drain && !invocation.stop.stop_requested()));
  return invocation.has("--fail-on-dead") && report->dead > 0 ? kExitFound : kExitOk;
}

}  // namespace

CommandSpec work_command() {
  return {
      .name = "work",
      .summary = "Run a command for each job in one or more queues",
      .arguments = {{.name = "QUEUE", .help = "queues to serve, round robin", .required = true, .repeated = true}},
      .options = {{"--stage", "S",
                   "serve jobs of this stage; default the first stage of a pipeline, or jobs without a stage"},
                  {"--concurrency", "N",
                   "run at most N jobs at a time; default from the stage, or the number of cores"},
                  {"--ttl", "DURATION",
                   "length of a lease, renewed while a command runs: 1s to 24h; default from the stage, or 30s"},
                  {"--drain", "",
                   "exit when no job is running anywhere and none can be claimed now; schedules do not keep it alive"},
                  {"--fail-on-dead", "", "exit with 1 if a job died in this run"},
                  history_option(),
                  {"--drain-timeout", "DURATION",
                   "how long running commands may take to finish when the worker stops; default 30s"},
                  {"--on", "END=OUTCOME",
                   "outcome of a command: END is a status from 1 to 255, signal, timeout or other; OUTCOME is fail, "
                   "dead, later or done",
                   true},
                  {"--strict", "", "exit if a handler keeps working without its lease"},
                  {"--run-checks", "",
                   "run the check commands of these pipelines; they come from the store, so whoever can write to it "
                   "decides what runs here"},
                  pipeline_file_option(),
                  {"--idempotent", "", "on an issue tracker, required: confirms that doing an item twice does no harm"},
                  {"--expect", "DURATION", "on an issue tracker: how long an item takes; default measured"},
                  {"--name", "NAME", "on an issue tracker: a name that people see in the comment of each claim"},
                  {"--poll", "DURATION", "on an issue tracker: how often to look for items, 1s to 1h; default 30s"},
                  metrics_option(),
                  metrics_file_option(),
                  webhook_option(),
                  {"--no-schedules", "", "do not fire ticks of schedules"},
                  {"--clean-env", "", "pass the command only the variables of its job, and PATH"}},
      .sections =
          {{"The command (one process per job, not run through a shell)",
            {{"stdin", "the job's payload, at most 1 MiB"},
             {"stdout", "becomes the job's result, at most 1 MiB"},
             {"stderr",
              "goes to the worker's stderr and to the job's log (1 MiB); its end becomes the error of a failure"},
             {"environment",
              "FENCELINE_JOB, FENCELINE_KEY (from --key, or the issue's number), FENCELINE_FENCE, FENCELINE_GROUP, "
              "FENCELINE_DELIVERY (1 the first time), "
              "FENCELINE_QUEUE, "
              "FENCELINE_STAGE, FENCELINE_NAMESPACE, FENCELINE_STORE, TRACEPARENT"},
             {"progress", "fenceline progress PERCENT [NOTE], from inside the command"},
             {"side effects", "fenceline effect NAME -- CMD ARG..., from inside the command"},
             {"exit 0", "done"},
             {"exit 65", "dead at once"},
             {"exit 75", "retried later, not counted as a failure: after 1s, doubling to 1m"},
             {"else", "a failure: retried with backoff, dead after --max-attempts of enqueue"},
             {"--timeout of enqueue",
              "TERM at the timeout, KILL up to 5s later; a failure unless it then exits with 0 or --on timeout=... "
              "says otherwise"},
             {"job cancel", "TERM, KILL 0.3s later; its result is ignored"}}},
           {"Signals",
            {{"INT, TERM",
              "claim no more jobs, wait for running commands (--drain-timeout), send them TERM, exit with 0; a job "
              "whose command was ended this way is retried and not counted as a failure, whatever --on says"},
             {"a second one",
              "at least 0.5s later: exit at once; running commands are killed, and their jobs are taken over when "
              "their leases expire"}}}},
      .examples = {{"fenceline work mail -- ./send-mail", "run until a signal"},
                   {"fenceline work mail print --drain --concurrency 4 -- ./handle --verbose",
                    "exit when both queues are empty"},
                   {"fenceline work scan --on 3=done --on timeout=dead -- ./scan",
                    "status 3 counts as done, and a timeout is not retried"},
                   {"fenceline work docs --stage review --run-checks -- ./review",
                    "one stage of a pipeline; exit 0 moves the item to the next stage, 'fenceline stage move --to S "
                    "--reason R' sends it back"}},
      .takes_command = true,
      .run = run_work};
}

}  // namespace fenceline::cli
