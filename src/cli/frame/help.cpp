#include "cli/frame/help.hpp"

#include <algorithm>
#include <optional>

#include "cli/frame/parse.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

using Rows = HelpRows;

constexpr std::size_t kLine = 80;
constexpr std::size_t kLeftMost = 27;  // longer names get their own line
constexpr std::size_t kOverviewLeftMost = 52;
constexpr std::size_t kGroupExamplesMost = 4;
constexpr std::string_view kUsage = "Usage:";

std::string two_columns(const Rows& rows, std::size_t left_most = kLeftMost) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) {
    if (left.size() <= left_most) width = std::max(width, left.size());
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

// A family's line; empty if it has none.
std::optional<std::pair<std::string, std::string>> family_row(const CommandFamily& family) {
  if (!family.names.empty() && family.summary.empty()) return std::nullopt;
  if (!family.names.empty()) return std::pair{family.names, family.summary};
  return std::pair{family.commands.front().name, family.commands.front().summary};
}

}  // namespace

std::string overview_text() {
  return "fenceline makes each piece of work count once, even if workers pause or crash.\n\n" +
         two_columns({{"fenceline enqueue mail --payload '{\"to\":\"ada\"}'", "Add a job"},
                      {"fenceline work mail -- ./send-mail", "Run a command per job"},
                      {"fenceline jobs", "List jobs"},
                      {"fenceline lock deploy -- ./deploy", "Run under a lock"},
                      {"fenceline schedule add nightly --every 1d --queue q", "Enqueue a job daily"},
                      {"fenceline doctor", "Find problems"}},
                     kOverviewLeftMost) +
         "\n'fenceline help' lists all commands, 'fenceline help COMMAND' explains one.\n";
}

std::string program_help(const std::vector<CommandGroup>& groups) {
  std::vector<Rows> parts;
  std::size_t width = 0;
  for (const CommandGroup& group : groups) {
    Rows& rows = parts.emplace_back();
    for (const CommandFamily& family : group.families) {
      if (const auto row = family_row(family)) rows.push_back(*row);
    }
    for (const auto& [names, summary] : rows) width = std::max(width, names.size());
  }
  std::string out =
      "Make each piece of work count once, even when workers pause, crash or race.\n\n"
      "Usage: fenceline COMMAND [ARGUMENTS] [OPTIONS]\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    out += "\n" + groups[i].title + ":\n";
    for (const auto& [names, summary] : parts[i])
      out += "  " + names + std::string(width - names.size() + 2, ' ') + folded(summary, width + 4, kLine);
  }
  return out +
         "\n'fenceline help COMMAND' shows options and examples. See also: help options,\n"
         "help environment, help exit-codes, config show, version, man, completion.\n";
}

std::string group_help(const std::vector<CommandSpec>& commands, const std::string& group) {
  Rows rows;
  std::vector<ExampleSpec> examples;
  for (const CommandSpec& command : commands) {
    if (command.hidden || !command.name.starts_with(group + " ")) continue;
    rows.emplace_back(command.name, command.summary);
    if (examples.size() < kGroupExamplesMost && !command.examples.empty()) examples.push_back(command.examples.front());
  }
  return "Usage: fenceline " + group + " COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n" + two_columns(rows) +
         (examples.empty() ? "" : example_list(examples)) + "\n'fenceline help " + group +
         " COMMAND' shows the options of one.\n";
}

const std::vector<HelpTopic>& help_topics() {
  static const std::vector<HelpTopic> topics{
      {"options", "Options of every command",
       [] {
         return "Options of every command, before or after it:\n" + two_columns(option_rows(global_options())) +
                "\nfenceline.toml can set the store and the namespace too; 'fenceline config show\n--origin' shows "
                "what is in force.\n";
       }},
      {"environment", "Environment variables",
       [] { return "Environment variables; an option wins over them:\n" + two_columns(environment_rows()); }},
      {"exit-codes", "Exit codes", [] { return "Exit codes:\n" + two_columns(exit_code_rows()); }},
  };
  return topics;
}

std::string with_bold_headings(const std::string& help) {
  std::string out;
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find('\n', at), help.size());
    const std::string line = help.substr(at, end - at);
    const bool is_usage = line.starts_with(kUsage);
    const bool is_heading = !line.starts_with(' ') && line.ends_with(':');
    if (is_usage) out += "\x1b[1m" + std::string(kUsage) + "\x1b[0m" + line.substr(kUsage.size());
    else out += is_heading ? "\x1b[1m" + line + "\x1b[0m" : line;
    if (end < help.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

HelpRows environment_rows() {
  return {{"FENCELINE_STORE", "as --store"},
          {"FENCELINE_NAMESPACE", "as --namespace"},
          {"FENCELINE_CONFIG", "as --config"},
          {"FENCELINE_GATES", "as --gates of the gate commands"},
          {"FENCELINE_LOG",
           "least level to log: debug, info, warn or error; default info for work, warn otherwise; lock and elect log "
           "only if it is set, or with --json"},
          {"TRACEPARENT", "enqueue: W3C trace context, stored with the jobs"},
          {"OTEL_EXPORTER_OTLP_ENDPOINT",
           "enqueue, work: where to send spans (http://HOST:4318); also _TRACES_ENDPOINT, _HEADERS, OTEL_SERVICE_NAME"},
          {"TZ", "enqueue --at: time zone of a time without one"},
          {"COLUMNS", "width of tables, if the terminal does not tell"},
          {"NO_COLOR", "if set, no colours"}};
}

HelpRows exit_code_rows() {
  return {{"0", "success"},
          {"1", "a check found a problem, or the answer is no; job wait: the job is dead or cancelled"},
          {"64", "wrong usage: unknown command or option, or an invalid value of an option"},
          {"65", "invalid input: a name, key, tag, id, payload or file that is malformed or does not fit"},
          {"66", "not found: no such job, queue, lock, worker, file or store"},
          {"69", "the store is unavailable or refused"},
          {"70", "internal error; please report it"},
          {"74", "disk full or I/O error"},
          {"75", "held by another, or try again later; job wait: not finished in time"},
          {"76", "lease lost, or the fence is stale or behind"},
          {"77", "credentials or permissions refused, or the server's certificate is not trusted"},
          {"126, 127", "work, lock, elect, gate run: the command cannot be run, or was not found"},
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
  out += "\n\n" + folded(command.summary + (command.details.empty() ? "" : ". " + command.details), 0, kLine);
  if (!command.arguments.empty()) {
    Rows rows;
    for (const ArgumentSpec& argument : command.arguments) rows.emplace_back(argument.name, argument.help);
    out += "\nArguments:\n" + two_columns(rows);
  }
  if (!command.options.empty()) out += "\nOptions:\n" + two_columns(option_rows(command.options));
  for (const SectionSpec& section : command.sections) out += "\n" + section.title + ":\n" + two_columns(section.rows);
  if (!command.examples.empty()) out += example_list(command.examples);
  std::string shared;
  for (const OptionSpec& option : global_options()) shared += option.name + ", ";
  out += "\n" + folded("Every command also takes " + shared + "--help; see 'fenceline help options'.", 0, kLine);
  return out;
}

}  // namespace fenceline::cli
