// Help, made from the commands themselves.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// What `fenceline` alone prints: the short form.
std::string overview_text();

// `fenceline help`: one line for each family of commands, at most 45 lines of 80 columns.
std::string program_help(const std::vector<CommandGroup>& groups);
// `fenceline help COMMAND`.
std::string command_help(const CommandSpec& command);
// `fenceline help job`: all commands of that first word.
std::string group_help(const std::vector<CommandSpec>& commands, const std::string& group);

// `fenceline help exit-codes` and so on: what belongs to no single command.
struct HelpTopic {
  std::string name;
  std::string summary;
  std::string (*text)();
};
const std::vector<HelpTopic>& help_topics();

// The same text for a terminal with colours: headings ("Jobs:", "Usage:") are bold.
std::string with_bold_headings(const std::string& help);

// What help and the manual page both list: a word, and what it means.
using HelpRows = std::vector<std::pair<std::string, std::string>>;
HelpRows environment_rows();
HelpRows exit_code_rows();
std::string usage_line(const CommandSpec& command);  // "fenceline job show ID [OPTIONS]"
std::string shown(const OptionSpec& option);         // "-f, --follow", "--limit N"

}  // namespace fenceline::cli
