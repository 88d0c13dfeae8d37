#include "cli/frame/completion.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace fenceline::cli {
namespace {

const std::vector<CommandSpec> kCommands{
    {.name = "jobs", .summary = "Lists what's there.", .options = {{"--state", "ready|done", "only: [these]"}}},
    {.name = "job show",
     .arguments = {{"ID", ""}},
     .options = {{"--payload-file", "FILE", ""}, {"--queue", "QUEUE", ""}}},
    {.name = "guardian", .hidden = true},
};

TEST(Completion, EveryShellHasEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell, kCommands).value_or("");
    for (const char* word : {"jobs", "show", "state", "ready done", "namespace"})
      EXPECT_NE(script.find(word), std::string::npos) << shell << " lacks " << word;
    EXPECT_EQ(script.find("guardian"), std::string::npos) << shell << " offers a hidden command";
    EXPECT_FALSE(std::regex_search(script, std::regex("@[A-Z_]+@"))) << shell << " has a place that was not filled";
  }
}

TEST(Completion, EveryShellAsksTheStoreForNames) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell, kCommands).value_or("");
    for (const char* call : {"_fenceline_offer jobs", "_fenceline_offer queues"})
      EXPECT_NE(script.find(call), std::string::npos) << shell << " lacks " << call;
  }
}

TEST(Completion, AnotherShellHasNone) { EXPECT_EQ(completion_script("tcsh", kCommands), std::nullopt); }

}  // namespace
}  // namespace fenceline::cli
