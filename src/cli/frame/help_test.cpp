#include "cli/frame/help.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/commands.hpp"

namespace fenceline::cli {
namespace {

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

std::size_t line_count(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

TEST(Help, FitsATerminalOf80Columns) {
  EXPECT_LE(longest_line(overview_text()), 80U) << overview_text();
  EXPECT_LE(longest_line(program_help(command_groups())), 80U) << program_help(command_groups());
  for (const HelpTopic& topic : help_topics()) EXPECT_LE(longest_line(topic.text()), 80U) << topic.text();
  for (const CommandSpec& command : all_commands())
    EXPECT_LE(longest_line(command_help(command)), 80U) << command_help(command);
}

TEST(Help, TheProgramsHelpHasAtMost45LinesAndTheShortForm15) {
  EXPECT_LE(line_count(program_help(command_groups())), 45U) << program_help(command_groups());
  EXPECT_LE(line_count(overview_text()), 15U) << overview_text();
}

TEST(Help, TheProgramsHelpNamesTheFirstWordOfEveryCommand) {
  const std::string text = program_help(command_groups());
  for (const CommandGroup& group : command_groups()) {
    EXPECT_NE(text.find("\n" + group.title + ":\n"), std::string::npos) << group.title;
    for (const CommandFamily& family : group.families) {
      for (const CommandSpec& command : family.commands)
        EXPECT_NE(text.find(command.name.substr(0, command.name.find(' '))), std::string::npos) << command.name;
    }
  }
}

TEST(Help, SummariesAreOneShortImperativeLine) {
  const auto is_short = [](const std::string& summary) {
    return !summary.empty() && summary.size() <= 60 && std::isupper(static_cast<unsigned char>(summary.front())) != 0 &&
           !summary.ends_with('.');
  };
  for (const CommandSpec& command : all_commands()) {
    EXPECT_TRUE(is_short(command.summary)) << command.name << ": " << command.summary;
    const std::string verb = command.summary.substr(0, command.summary.find(' '));
    EXPECT_FALSE(verb.ends_with('s')) << command.name << ": " << command.summary;
  }
}

TEST(Help, EveryCommandAndEveryGroupHasExamples) {
  const std::vector<CommandSpec> commands = all_commands();
  for (const CommandSpec& command : commands) {
    if (command.hidden) continue;
    EXPECT_NE(command_help(command).find("\nExamples:\n"), std::string::npos) << command.name;
    const std::string first = command.name.substr(0, command.name.find(' '));
    if (first == command.name) continue;
    EXPECT_NE(group_help(commands, first).find("\nExamples:\n"), std::string::npos) << first;
  }
}

TEST(Help, HeadingsAreBoldAtATerminalAndNothingElseChanges) {
  EXPECT_EQ(with_bold_headings("Usage: fenceline x\n\nOptions:\n  --a  b:\n"),
            "\x1b[1mUsage:\x1b[0m fenceline x\n\n\x1b[1mOptions:\x1b[0m\n  --a  b:\n");
  EXPECT_EQ(with_bold_headings("plain"), "plain");
}

TEST(Help, LosesNoWordWhenItBreaksALine) {
  const CommandSpec command{
      .name = "x", .summary = "s", .options = {{"--long", "V", std::string(50, 'a') + " " + std::string(50, 'b')}}};
  const std::string text = command_help(command);
  EXPECT_NE(text.find("  --long V  " + std::string(50, 'a') + "\n            " + std::string(50, 'b') + "\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace fenceline::cli
