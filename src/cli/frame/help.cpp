#include "cli/frame/help.hpp"

#include <algorithm>

#include "cli/frame/parse.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

using Rows = HelpRows;

constexpr std::size_t kLine = 80;
constexpr std::size_t kLeftMost = 27;  // what is longer stands on a line of its own

std::string two_columns(const Rows& rows) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) {
    if (left.size() <= kLeftMost) width = std::max(width, left.size());
  }
  std::string out;
  for (const auto& [left, right] : rows) {
    out += "  " + left +
           (left.size() <= width ? std::string(width - left.size() + 2, ' ') : "\n" + std::string(width + 4, ' '));
    out += folded(right, width + 4, kLine);
  }
  return out;
}

std::string example_list(const std::vector<ExampleSpec>& examples) {
  std::string out = "\nExamples:\n";
  for (const ExampleSpec& example : examples)
    out += "  " + example.line + "\n      " + folded(example.explains, 6, kLine);
  return out;
}

std::string shown(const ArgumentSpec& argument) {
  const std::string name = argument.name + (argument.repeated ? "..." : "");
  return argument.required ? name : "[" + name + "]";
}

Rows option_rows(const std::vector<OptionSpec>& options) {
  Rows rows;
  for (const OptionSpec& option : options)
    rows.emplace_back(shown(option), option.help + (option.repeated ? " (may be repeated)" : ""));
  return rows;
}

std::string command_list(const std::vector<CommandSpec>& commands) {
  Rows rows;
  for (const CommandSpec& command : commands) {
    if (!command.hidden) rows.emplace_back(command.name, command.summary);
  }
  return two_columns(rows);
}

}  // namespace

std::string overview_text(const std::vector<CommandSpec>& commands) {
  return "fenceline runs each piece of work once, even when workers pause, crash or race.\n\n"
         "  fenceline enqueue mail --payload '{\"to\":\"ada\"}'    add a job\n"
         "  fenceline work mail -- ./send-mail                 run jobs, a process each\n"
         "  fenceline jobs                                     see what became of them\n\n"
         "Commands:\n" +
         command_list(commands) + "\n'fenceline help COMMAND' explains one of them.\n";
}

std::string program_help(const std::vector<CommandSpec>& commands) {
  return "Usage: fenceline COMMAND [ARGUMENTS] [OPTIONS]\n\n"
         "Makes each piece of work count once, even when workers pause, crash or race.\n\n"
         "Commands:\n" +
         command_list(commands) + "\nOptions of every command, before or after it:\n" +
         two_columns(option_rows(global_options())) + "\nEnvironment:\n" + two_columns(environment_rows()) +
         example_list({{"fenceline enqueue mail --payload '{\"to\":\"ada@example.org\"}'", "add a job"},
                       {"fenceline work mail --drain -- ./send-mail", "run what waits, then end"},
                       {"fenceline jobs --state dead --json", "what failed for good, for a script"},
                       {"fenceline doctor", "is all well?"}}) +
         "\nExit codes:\n" + two_columns(exit_code_rows());
}

std::string group_help(const std::vector<CommandSpec>& commands, const std::string& group) {
  Rows rows;
  for (const CommandSpec& command : commands) {
    if (!command.hidden && command.name.starts_with(group + " ")) rows.emplace_back(command.name, command.summary);
  }
  return "Usage: fenceline " + group + " COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n" + two_columns(rows) +
         "\n'fenceline help " + group + " COMMAND' explains one of them.\n";
}

HelpRows environment_rows() {
  return {{"FENCELINE_STORE", "as --store"},
          {"FENCELINE_NAMESPACE", "as --namespace"},
          {"FENCELINE_CONFIG", "as --config"},
          {"FENCELINE_GATES", "as --gates of the gate commands"},
          {"FENCELINE_LOG",
           "debug, info, warn or error; default info for work, else warn; lock and elect log only if it is set, or "
           "with --json"},
          {"TRACEPARENT", "enqueue: a W3C trace context that goes with the jobs"},
          {"OTEL_EXPORTER_OTLP_ENDPOINT",
           "enqueue, work: where spans go (http://HOST:4318); also _TRACES_ENDPOINT, _HEADERS, OTEL_SERVICE_NAME"},
          {"TZ", "enqueue --at: the zone of a time that names none"},
          {"COLUMNS", "how wide tables may be, if the terminal does not say"},
          {"NO_COLOR", "no colours"}};
}

HelpRows exit_code_rows() {
  return {{"0", "done"},
          {"1", "a check found something; a question was answered with no; job wait: the job is dead or cancelled"},
          {"64",
           "wrong usage: an unknown command or option, or a value that an option cannot have (number, duration, time, "
           "state, store)"},
          {"65",
           "bad input: a name, key, tag, id, payload or file that is not possible, or does not go with what is there"},
          {"66", "no such job, queue, lock, worker, file or store"},
          {"69", "the store cannot be used"},
          {"70", "a bug here"},
          {"74", "disk full or I/O error"},
          {"75", "held, or try later; job wait: not finished in time"},
          {"76", "lease lost, or a fence that is stale or behind"},
          {"77", "credentials or rights refused, or a server whose certificate is not trusted"},
          {"126, 127", "work, lock, elect, gate run: the command cannot be run, or is not there"},
          {"128 + N", "ended by signal N"}};
}

std::string usage_line(const CommandSpec& command) {
  std::string out = "fenceline " + command.name;
  for (const ArgumentSpec& argument : command.arguments) out += " " + shown(argument);
  if (!command.options.empty()) out += " [OPTIONS]";
  if (command.takes_command) out += " -- CMD ARG...";
  return out;
}

std::string shown(const OptionSpec& option) {
  return (option.letter.empty() ? "" : option.letter + ", ") + option.name +
         (option.value.empty() ? "" : " " + option.value);
}

std::string command_help(const CommandSpec& command) {
  std::string out = "Usage: " + usage_line(command);
  out += "\n\n" + folded(command.summary, 0, kLine);
  if (!command.arguments.empty()) {
    Rows rows;
    for (const ArgumentSpec& argument : command.arguments) rows.emplace_back(argument.name, argument.help);
    out += "\nArguments:\n" + two_columns(rows);
  }
  if (!command.options.empty()) out += "\nOptions:\n" + two_columns(option_rows(command.options));
  for (const SectionSpec& section : command.sections) out += "\n" + section.title + ":\n" + two_columns(section.rows);
  out += "\nOptions of every command:\n" + two_columns(option_rows(global_options()));
  if (!command.examples.empty()) out += example_list(command.examples);
  return out;
}

}  // namespace fenceline::cli
