// The pages that list what the program knows are what it prints.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/frame/help.hpp"

namespace fenceline::cli {
namespace {

std::string page(const std::string& name) {
  std::ifstream in(std::string(FENCELINE_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(CommandsPage, ListsEveryCommandWithItsSummary) {
  const std::string text = page("commands.md");
  std::size_t commands = 0;
  for (const CommandGroup& group : command_groups()) {
    for (const CommandFamily& family : group.families) {
      for (const CommandSpec& command : family.commands) {
        const std::string row = "| `" + command.name + "` | " + command.summary + " |";
        EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << "docs/commands.md lacks the row " << row;
        commands += 1;
      }
    }
  }
  EXPECT_GE(commands, 70U);
}

TEST(ExitCodesPage, ListsEveryCodeOfTheHelp) {
  const std::string text = page("exit-codes.md");
  EXPECT_GE(exit_code_rows().size(), 10U);
  for (const auto& [code, meaning] : exit_code_rows()) {
    const std::string row = "| " + code + " | " + meaning + " |";
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << "docs/exit-codes.md lacks the row " << row;
  }
}

}  // namespace
}  // namespace fenceline::cli
