#include "cli/frame/man_page.hpp"

#include <gtest/gtest.h>

#include "cli/commands.hpp"

namespace fenceline::cli {
namespace {

TEST(ManPage, HasEveryCommandButTheHiddenOnes) {
  const std::string page = man_page(command_groups());
  for (const CommandSpec& command : all_commands()) {
    std::string heading = ".SS fenceline " + command.name;
    for (std::size_t at = heading.find('-'); at != std::string::npos; at = heading.find('-', at + 2))
      heading.insert(at, "\\");
    EXPECT_EQ(page.find(heading + "\n") != std::string::npos || page.find(heading + " ") != std::string::npos,
              !command.hidden)
        << command.name;
  }
}

TEST(ManPage, TextThatLooksLikeARequestStaysText) {
  const std::string page = man_page(
      {{"X", {{.commands = {{.name = "x", .summary = ".so /etc/passwd", .examples = {{"a 'b' \\n `c` --d", "e"}}}}}}}});
  EXPECT_NE(page.find("\n\\&.so /etc/passwd.\n"), std::string::npos);
  EXPECT_NE(page.find("a \\(aqb\\(aq \\en \\(gac\\(ga \\-\\-d\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace fenceline::cli
