// fenceline effect: runs a command once for the current job, and prints its recorded output on a retry.
#include <unistd.h>

#include <sstream>

#include "base/duration_text.hpp"
#include "base/sha256.hpp"
#include "cli/frame/current_job.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"
#include "model/trust.hpp"
#include "runtime/actor.hpp"
#include "runtime/collected_child.hpp"
#include "services/effect_runner.hpp"

namespace fenceline::cli {
namespace {

constexpr int kProbeDidNot = 1;
constexpr std::string_view kProbe = "probe=";

struct Declared {
  InDoubt in_doubt = InDoubt::hold;
  std::vector<std::string> probe;
  bool failed_is_none = false;
};

Result<Declared> declared_by(const Invocation& invocation) {
  Declared declared;
  if (const auto failed = invocation.value("--failed")) {
    if (*failed != "none")
      return std::unexpected(usage_error("--failed '" + printable(*failed, 40) +
                                         "' is not valid; use 'none': a command that failed has done nothing"));
    declared.failed_is_none = true;
  }
  const std::string text = invocation.value("--in-doubt").value_or("hold");
  if (text.starts_with(kProbe)) {
    declared.in_doubt = InDoubt::probe;
    std::istringstream words(text.substr(kProbe.size()));
    for (std::string word; words >> word;) declared.probe.push_back(word);
  } else if (const std::optional<InDoubt> policy = parse_in_doubt(text)) {
    declared.in_doubt = *policy;
  } else {
    return std::unexpected(
        usage_error("--in-doubt '" + printable(text, 40) + "' is not valid; use hold, repeat or probe=CMD"));
  }
  if (declared.in_doubt == InDoubt::probe && declared.probe.empty())
    return std::unexpected(
        usage_error("--in-doubt probe needs a command: probe=CMD; CMD exits with 0 if the effect happened and with 1 "
                    "if it did not"));
  return declared;
}

// What makes it this command and no other. No argument holds a zero byte.
std::string digest_of(const Invocation& invocation) {
  std::string text = std::to_string(invocation.command.size()) + '\0';
  for (const std::string& word : invocation.command) text += word + '\0';
  if (const auto request = invocation.value("--request")) text += '\0' + *request;
  return sha256_hex(text);
}

// The command as an act, and how it ended last.
class OnceCommand {
 public:
  OnceCommand(const Invocation& invocation, const Declared& declared) : invocation_(invocation), declared_(declared) {}

  EffectReport act(const EffectCall& call) {
    Result<Collected> ended = collect({.command = invocation_.command,
                                       .variables = variables(call),
                                       .bytes_max = kEffectResultBytesMax,
                                       .stop = invocation_.stop,
                                       .stop_signal = stop_signal});
    if (!ended) {
      status_ = ended.error().code == Code::not_found ? kExitNoCommand
                : ended.error().code == Code::refused ? kExitCannotBeRun
                                                      : kExitTryLater;
      return EffectReport::none(ended.error().message);
    }
    const ExitStatus end = ended->status;
    status_ = end.exited ? end.number : kExitSignalBase + end.number;
    note_size(*ended);
    if (status_ == 0) return {.kind = EffectReport::Kind::done, .result = std::move(ended->output), .exit_status = 0};
    output_ = std::move(ended->output);
    const bool did_nothing =
        end.exited && (end.number == kExitTryLater || end.number == kExitCannotBeRun || end.number == kExitNoCommand);
    if (did_nothing || declared_.failed_is_none) return EffectReport::none(to_string(end));
    return EffectReport::unknown(to_string(end));
  }

  EffectReport probe(const EffectCall& call) {
    Result<Collected> ended = collect({.command = declared_.probe,
                                       .variables = variables(call),
                                       .takes_input = false,  // that is the command's
                                       .bytes_max = kEffectResultBytesMax,
                                       .stop = invocation_.stop,
                                       .stop_signal = stop_signal});
    if (!ended) return EffectReport::unknown("the probe: " + ended.error().message);
    if (!ended->status.exited || ended->status.number > kProbeDidNot)
      return EffectReport::unknown("the probe: " + to_string(ended->status));
    if (ended->status.number == kProbeDidNot) return EffectReport::none("");
    note_size(*ended);
    return {.kind = EffectReport::Kind::done, .result = std::move(ended->output), .exit_status = 0};
  }

  std::optional<int> status() const { return status_; }  // none: it was not run
  const std::string& output() const { return output_; }  // of one that failed

 private:
  static std::vector<std::pair<std::string, std::string>> variables(const EffectCall& call) {
    return {{"FENCELINE_EFFECT_KEY", call.key}, {"FENCELINE_EFFECT_AGAIN", call.again ? "1" : "0"}};
  }
  static void note_size(const Collected& ended) {
    if (ended.too_large)
      tell("fenceline: the output is larger than 1 MiB; only its first 1 MiB is recorded and printed");
  }

  const Invocation& invocation_;
  const Declared& declared_;
  std::optional<int> status_;
  std::string output_;
};

// Nothing of a command that ran is hidden: its status is ours.
Result<int> ended_as(const EffectAnswer& answer, const OnceCommand& command) {
  switch (answer.kind) {
    case EffectAnswer::Kind::done: print(answer.result); return answer.exit_status.value_or(kExitOk);
    case EffectAnswer::Kind::none:
    case EffectAnswer::Kind::in_doubt:
      print(command.output());
      tell("fenceline: " + error_text({Code::unavailable, answer.why}));
      return command.status().value_or(kExitTryLater);
    case EffectAnswer::Kind::held:
    case EffectAnswer::Kind::lost: return fail(Code::lost, answer.why);
    case EffectAnswer::Kind::stopped: break;
  }
  tell("fenceline: " + error_text({Code::held, answer.why}));
  return interrupted_exit();
}

Result<int> run_effect(Invocation& invocation) {
  const Result<Holding> job = current_job("effect");
  if (!job) return std::unexpected(job.error());
  const std::string name = invocation.argument("NAME");
  if (const Result<void> ok = check_effect_name(name); !ok) return std::unexpected(ok.error());
  const Result<Declared> declared = declared_by(invocation);
  if (!declared) return std::unexpected(declared.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());

  Runtime& runtime = *invocation.runtime;
  // Messages are text: our stderr is the handler's.
  EffectRunner runner(runtime, Log(null_log_sink()), **store,
                      {.ns = invocation.ns,
                       .actor = this_actor(runtime),
                       .wait_for_actor = [&](const std::string& actor, Instant until, std::stop_token stop) {
                         return wait_for_actor(runtime, actor, until, std::move(stop));
                       }});
  OnceCommand command(invocation, *declared);
  EffectAsk ask{.job = job->id,
                .fence = job->fence,
                .name = name,
                .digest = digest_of(invocation),
                .act = [&](const EffectCall& call) { return command.act(call); },
                .options = {.in_doubt = declared->in_doubt},
                // The guardian of the handler ends us when its lease can no longer be trusted.
                .trusted_until = [until = runtime.now() + kTtlRange.most] { return until; },
                .stop = invocation.stop};
  if (declared->in_doubt == InDoubt::probe)
    ask.options.probe = [&](const EffectCall& call) { return command.probe(call); };
  const Result<EffectAnswer> answer = runner.run(ask);
  if (!answer) return std::unexpected(answer.error());
  return ended_as(*answer, command);
}

}  // namespace

CommandSpec effect_command() {
  return {
      .name = "effect",
      .summary = "Run a command once as a side effect of the current job",
      .details =
          "If the job is retried, the recorded output is printed and the command does not run again. For commands that "
          "'fenceline work' runs.",
      .arguments = {{.name = "NAME",
                     .help = "name of the effect within the job; 1 to 128 letters, digits, '.', '_', '-' and ':'"}},
      .options =
          {{"--in-doubt", "hold|repeat|probe=CMD",
            "what to do if the effect is in doubt: hold the job for an operator (default), repeat it under the same "
            "key, or ask CMD"},
           {"--failed", "none", "a command that failed has done nothing: it is not in doubt"},
           {"--request", "TEXT",
            "describes the request if the arguments do not; the same name with another command or request is refused"}},
      .sections =
          {{"The command (not run through a shell)",
            {{"stdin, stderr", "inherited from 'fenceline effect'"},
             {"stdout", "recorded if the command exits with 0, and printed again on a retry; at most the first 1 MiB"},
             {"FENCELINE_EFFECT_KEY",
              "idempotency key for the other side: the same on every try of this effect of this job"},
             {"FENCELINE_EFFECT_AGAIN", "1 if the effect may have happened before, else 0"},
             {"exit 0", "it happened"},
             {"exit 75, 126, 127", "it did not happen and may be retried; exits with the same status"},
             {"another status, a signal", "it may have happened, unless --failed none; --in-doubt applies at once"},
             {"INT, TERM", "forwarded to the command"}}},
           {"If the effect is in doubt",
            {{"hold", "the job waits for 'fenceline effects resolve'; exits with 76"},
             {"repeat",
              "exits with the command's status; the next call, in this delivery or a later one, runs the command again "
              "under the same key"},
             {"probe=CMD",
              "CMD, split at spaces, exits with 0 if the effect happened (its stdout is the result) or 1 if it did "
              "not; otherwise the job waits"}}},
           {"Exit status",
            {{"0", "it happened, now or before"},
             {"65", "the name was used for another command or request"},
             {"76", "the job waits, or another worker has it: stop; the handler's result is ignored"},
             {"else", "status of the command"}}}},
      .examples = {{"fenceline effect mail -- ./send-mail ana",
                    "inside a handler: send once, however often the job is retried"},
                   {"fenceline effect charge --in-doubt repeat -- ./charge",
                    "the provider gets $FENCELINE_EFFECT_KEY and charges once"},
                   {"fenceline effect label --in-doubt 'probe=./was-printed' -- ./print-label",
                    "ask the printer before printing again"}},
      .takes_command = true,
      .run = run_effect};
}

}  // namespace fenceline::cli
