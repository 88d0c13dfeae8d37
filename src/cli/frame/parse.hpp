// From argv to a command and what was typed for it. Nothing is opened and nothing is printed here.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

struct HelpTopic;

// Options that stand before or after any command.
const std::vector<OptionSpec>& global_options();

struct Parsed {
  enum class Wish {
    run,       // `command` with `invocation`
    overview,  // nothing was typed
    help,      // of `command`, of the `topic`, of the `group`, else of the whole program
  };
  Wish wish = Wish::run;
  const CommandSpec* command = nullptr;  // one of those given to parse()
  const HelpTopic* topic = nullptr;      // "exit-codes"
  std::string group{};                   // "job": all commands of that first word
  Invocation invocation;                 // options, arguments, command and json are set; the rest is config's
};

// `words` is argv without the program's name. What follows the first `--` belongs to the command that is run
// and is not looked into. Errors: usage, with the command that was probably meant.
Result<Parsed> parse(const std::vector<CommandSpec>& commands, const std::vector<std::string>& words);

}  // namespace fenceline::cli
