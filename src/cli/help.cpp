#include "cli/help.hpp"

#include <algorithm>

#include "cli/parse.hpp"

namespace fenceline::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string two_columns(const Rows& rows) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  std::string out;
  for (const auto& [left, right] : rows) out += "  " + left + std::string(width - left.size() + 2, ' ') + right + "\n";
  return out;
}

std::string shown(const OptionSpec& option) { return option.value.empty() ? option.name : option.name + " " + option.value; }

std::string shown(const ArgumentSpec& argument) {
  const std::string name = argument.name + (argument.repeated ? "..." : "");
  return argument.required ? name : "[" + name + "]";
}

Rows option_rows(const std::vector<OptionSpec>& options) {
  Rows rows;
  for (const OptionSpec& option : options) rows.emplace_back(shown(option), option.help + (option.repeated ? " (may be repeated)" : ""));
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
         "  fenceline enqueue mail --payload '{\"to\":\"ada@example.org\"}'   add a job\n"
         "  fenceline work mail -- ./send-mail                             run jobs, one process each\n"
         "  fenceline jobs                                                 see what became of them\n\n"
         "Commands:\n" +
         command_list(commands) + "\n'fenceline help COMMAND' explains one of them.\n";
}

std::string program_help(const std::vector<CommandSpec>& commands) {
  return "Usage: fenceline COMMAND [ARGUMENTS] [OPTIONS]\n\n"
         "Runs each piece of work once, even when workers pause, crash or race.\n\n"
         "Commands:\n" +
         command_list(commands) + "\nOptions of every command, before or after it:\n" + two_columns(option_rows(global_options())) +
         "\nEnvironment:\n" +
         two_columns({{"FENCELINE_STORE", "as --store"},
                      {"FENCELINE_NAMESPACE", "as --namespace"},
                      {"FENCELINE_LOG", "debug, info, warn or error; default info for work, else warn"},
                      {"NO_COLOR", "no colours"}}) +
         "\nExamples:\n" +
         two_columns({{"fenceline enqueue mail --payload '{\"to\":\"ada@example.org\"}'", "add a job"},
                      {"fenceline work mail --drain -- ./send-mail", "run what waits, then end"},
                      {"fenceline jobs --state dead --json", "what failed for good, for a script"},
                      {"fenceline doctor", "is all well?"}}) +
         "\nExit codes: 0 done, 1 a check found something, 64 usage, 65 bad input, 66 no such job or file, 69 store not reached,\n"
         "70 a bug here, 74 disk full or I/O error, 75 held or try later, 76 lease lost, 77 credentials refused.\n";
}

std::string command_help(const CommandSpec& command) {
  std::string out = "Usage: fenceline " + command.name;
  for (const ArgumentSpec& argument : command.arguments) out += " " + shown(argument);
  if (!command.options.empty()) out += " [OPTIONS]";
  if (command.takes_command) out += " -- CMD ARG...";
  out += "\n\n" + command.summary + "\n";
  if (!command.arguments.empty()) {
    Rows rows;
    for (const ArgumentSpec& argument : command.arguments) rows.emplace_back(argument.name, argument.help);
    out += "\nArguments:\n" + two_columns(rows);
  }
  if (!command.options.empty()) out += "\nOptions:\n" + two_columns(option_rows(command.options));
  out += "\nOptions of every command:\n" + two_columns(option_rows(global_options()));
  if (!command.examples.empty()) {
    out += "\nExamples:\n";
    for (const ExampleSpec& example : command.examples) out += "  " + example.line + "\n      " + example.explains + "\n";
  }
  return out;
}

}  // namespace fenceline::cli
