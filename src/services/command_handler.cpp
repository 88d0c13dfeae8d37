#include "services/command_handler.hpp"

#include <csignal>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/crash_point.hpp"
#include "base/utf8.hpp"
#include "base/valid_text.hpp"
#include "runtime/process_tree.hpp"
#include "services/executor.hpp"

namespace fenceline {
namespace {

// What went wrong, then the end of what the command said about it.
std::string error_text(std::string what, std::string_view said) {
  if (what.size() > kErrorBytesMax / 2) what.resize(kErrorBytesMax / 2);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.remove_suffix(1);
  if (said.empty()) return what;
  if (!what.empty()) what += ": ";
  std::string text = as_text(said);
  const std::size_t room = kErrorBytesMax - what.size();
  std::size_t cut = text.size() > room ? text.size() - room : 0;
  while (cut < text.size() && utf8_sequence_length(std::string_view(text).substr(cut)) == 0) ++cut;
  return what + text.substr(cut);
}

}  // namespace

const std::vector<std::string>& command_variables() {
  static const std::vector<std::string> names{"FENCELINE_JOB",
                                              "FENCELINE_KEY",
                                              "FENCELINE_FENCE",
                                              "FENCELINE_GROUP",
                                              "FENCELINE_QUEUE",
                                              "FENCELINE_STAGE",
                                              "FENCELINE_DELIVERY",
                                              "FENCELINE_STORE",
                                              "FENCELINE_NAMESPACE",
                                              "FENCELINE_SENT_BACK",
                                              "FENCELINE_SENT_BACK_TO",
                                              "TRACEPARENT",
                                              "PATH"};
  return names;
}

std::vector<std::string> clean_environment() {
  std::vector<std::string> environment;
  for (const std::string& name : command_variables()) {
    if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
  }
  return environment;
}

RunResult CommandHandler::run(const Run& run) { return this->run(run, options_.command, options_.ends); }

RunResult CommandHandler::run(const Run& run, const std::vector<std::string>& words, const EndPolicy& ends) {
  FENCELINE_CRASH_POINT(guardian_spawn_before);
  const Result<std::unique_ptr<GuardedCommand>> command = start(run, words);
  FENCELINE_CRASH_POINT(guardian_spawn_after);
  if (!command) {
    // No room for a process is nobody's fault: later.
    if (command.error().code == Code::unavailable) return {.kind = OutcomeKind::later};
    return {.kind = OutcomeKind::failed, .error = command.error().message};
  }
  CommandEnd end = attend(**command, run);
  if (end.output_too_large) {
    run.log("fenceline: the output is larger than 1 MiB; its first 1 MiB is kept as the result\n");
    cut_result(end.output);
  }
  ended((*command)->guardian_pid(), end.guardian_died);
  return result_of(std::move(end), ends, why_stopped(*run.trust, run.stop));
}

Result<std::unique_ptr<GuardedCommand>> CommandHandler::start(const Run& run, const std::vector<std::string>& words) {
  const Job& job = run.job;
  GuardedCommandOptions guarded{.guardian = options_.guardian,
                                .output_bytes_max = kResultBytesMax,
                                .errors_bytes_max = kErrorBytesMax,
                                .forward_errors = options_.forward_errors,
                                .on_errors = [run](std::string_view text) { run.log(text); }};
  if (options_.clean_env) guarded.guardian.push_back("--clean-env");
  guarded.guardian.push_back("--");
  guarded.guardian.insert(guarded.guardian.end(), words.begin(), words.end());
  std::vector<std::pair<std::string, std::string>> about_the_job{{"FENCELINE_JOB", to_string(job.id)},
                                                                 {"FENCELINE_FENCE", std::to_string(job.fence)},
                                                                 {"FENCELINE_GROUP", job.group},
                                                                 {"FENCELINE_KEY", job.key},
                                                                 {"FENCELINE_QUEUE", job.queue},
                                                                 {"FENCELINE_STAGE", job.stage},
                                                                 {"FENCELINE_DELIVERY", std::to_string(job.deliveries)},
                                                                 {"FENCELINE_STORE", options_.store_url},
                                                                 {"FENCELINE_NAMESPACE", options_.ns}};
  // A lock that the worker itself runs under is not this job's.
  for (const char* name : {"FENCELINE_LOCK", "FENCELINE_LOCKS", "FENCELINE_JOB_FENCE"}) {
    if (std::getenv(name) != nullptr) about_the_job.emplace_back(name, "");
  }
  if (!job.traceparent.empty()) about_the_job.emplace_back("TRACEPARENT", job.traceparent);
  guarded.environment = environment_with(about_the_job);
  const std::lock_guard lock(mutex_);
  Result<std::unique_ptr<GuardedCommand>> command = GuardedCommand::start(guarded);
  if (command) guardians_.insert((*command)->guardian_pid());
  return command;
}

CommandEnd CommandHandler::attend(GuardedCommand& command, const Run& run) {
  // In this order: the first deadline starts the command, a stop that is there already comes after it.
  const TrustListening listening(*run.trust, [&](Instant until) {
    command.order({GuardianOrder::Kind::trust, until});
  });
  const std::stop_callback stop(run.stop, [&] {
    command.order({GuardianOrder::Kind::term, clock_.now() + options_.grace});
  });
  return command.attend(run.job.payload);
}

// What a dead guardian leaves behind comes to us, and nobody else would end it.
void CommandHandler::ended(pid_t guardian, bool guardian_died) {
  const std::lock_guard lock(mutex_);
  guardians_.erase(guardian);
  if (guardian_died && options_.owns_children) end_strays(guardians_);
}

RunResult result_of(CommandEnd end, const EndPolicy& ends, Stopped stopped) {
  std::optional<int> exit_status;
  if (end.status) exit_status = end.status->exited ? end.status->number : kSignalBase + end.status->number;
  std::optional<OutcomeKind> said;
  if (end.status && !end.stopped) said = ends.of_told(*end.status);
  if (stopped == Stopped::timed_out && (end.stopped || end.status) && said != OutcomeKind::done) {
    if (end.stopped) exit_status = kSignalBase + SIGKILL;
    return {.kind = ends.of_timeout(),
            .result = std::move(end.output),
            .error = error_text("", end.errors),
            .exit_status = exit_status};
  }
  if (end.stopped) return {.kind = OutcomeKind::given_back};  // its time was over: not its fault
  if (end.no_room) return {.kind = OutcomeKind::later};
  if (!end.status) return {.kind = OutcomeKind::failed, .error = error_text(end.trouble, end.errors)};
  const ExitStatus status = *end.status;
  if (stopped == Stopped::for_us && !said) return {.kind = OutcomeKind::given_back};  // it ended because we told it to
  const OutcomeKind kind = said ? *said : ends.of(status);
  if (kind == OutcomeKind::done) {
    return {.kind = OutcomeKind::done, .result = std::move(end.output), .exit_status = exit_status};
  }
  return {.kind = kind, .error = error_text(to_string(status), end.errors), .exit_status = exit_status};
}

}  // namespace fenceline
