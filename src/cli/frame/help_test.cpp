#include "cli/frame/help.hpp"

#include <gtest/gtest.h>

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

TEST(Help, FitsATerminalOf80Columns) {
  const std::vector<CommandSpec> commands = all_commands();
  EXPECT_LE(longest_line(overview_text(commands)), 80U) << overview_text(commands);
  EXPECT_LE(longest_line(program_help(commands)), 80U) << program_help(commands);
  for (const CommandSpec& command : commands)
    EXPECT_LE(longest_line(command_help(command)), 80U) << command_help(command);
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
