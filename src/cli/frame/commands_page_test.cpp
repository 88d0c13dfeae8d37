#include "cli/commands.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace fenceline::cli {
namespace {

TEST(CommandsPage, ListsEveryCommandWithItsSummary) {
  std::ifstream in(std::string(FENCELINE_SOURCE_DIR) + "/docs/commands.md");
  std::ostringstream page;
  page << in.rdbuf();
  std::size_t commands = 0;
  for (const CommandGroup& group : command_groups()) {
    for (const CommandFamily& family : group.families) {
      for (const CommandSpec& command : family.commands) {
        const std::string row = "| `" + command.name + "` | " + command.summary + " |";
        EXPECT_NE(page.str().find("\n" + row + "\n"), std::string::npos) << "docs/commands.md lacks the row " << row;
        commands += 1;
      }
    }
  }
  EXPECT_GE(commands, 70U);
}

}  // namespace
}  // namespace fenceline::cli
