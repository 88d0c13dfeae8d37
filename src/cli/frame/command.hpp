// A command of the program as data: what it is called, what it takes, what it does. Help and completion are
// made from these, and one source (parse.cpp) knows the library that reads argv.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "session/session.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

struct OptionSpec {
  std::string name;   // "--payload"
  std::string value;  // "JSON"; empty: a flag
  std::string help;
  bool repeated = false;
  std::string letter{};  // "-f": a short form, of a flag or of an option with a value
};

struct ArgumentSpec {
  std::string name;  // "QUEUE"
  std::string help;
  bool required = true;
  bool repeated = false;
};

struct ExampleSpec {
  std::string line;
  std::string explains;
};

// A section of a command's help with its own title: terms and what they mean.
struct SectionSpec {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

// A setting as it is in force, and where it came from.
struct Setting {
  std::string name;    // "work.ttl"
  std::string value;   // as a user may see it: no secret; empty: none
  std::string origin;  // "flag", "FENCELINE_STORE", "fenceline.toml:3", "default"
};

class Invocation;
class TerminalLog;

struct CommandSpec {
  std::string name;       // "enqueue", "job show"
  std::string summary;    // for lists: imperative, one line, no full stop
  std::string details{};  // what more its own help says: whole sentences
  std::vector<ArgumentSpec> arguments;
  std::vector<OptionSpec> options;
  std::vector<SectionSpec> sections;
  std::vector<ExampleSpec> examples;
  bool takes_command = false;   // `-- CMD ARG...`
  bool hidden = false;          // not for people: no help, no completion
  bool without_config = false;  // it uses no setting, so a broken fenceline.toml does not stop it
  // Returns the exit code; an Error becomes one line on stderr and the exit code of its kind.
  std::function<Result<int>(Invocation&)> run;
};

// One line of the program's help: a command, or several that belong together.
struct CommandFamily {
  std::string names{};    // as the line begins; empty: the name of the only command
  std::string summary{};  // empty: the summary of the only command; without one, the line is left out
  std::vector<CommandSpec> commands;
};

// What people do with the program: "Jobs", "Locks".
struct CommandGroup {
  std::string title;
  std::vector<CommandFamily> families;
};

// What was typed, and what every command needs. Made by main().
class Invocation {
 public:
  // As typed. A missing option is empty; a flag that was given has the value "".
  std::map<std::string, std::vector<std::string>> options;    // by "--name"
  std::map<std::string, std::vector<std::string>> arguments;  // by "NAME"
  std::vector<std::string> command;                           // after `--`

  std::string store_url;
  std::string ns = "default";
  std::string gates;  // the folder of write gates; empty: none
  bool json = false;
  std::vector<Setting> settings;  // all there are, in the order of the manual

  Runtime* runtime = nullptr;
  LogSink* log_sink = nullptr;
  TerminalLog* terminal_log = nullptr;  // if people read the log at a terminal
  std::stop_token stop;                 // Ctrl-C and SIGTERM

  bool has(std::string_view option) const;
  std::optional<std::string> value(std::string_view option) const;  // the last one given
  std::string argument(std::string_view name) const;
  bool accepts(std::string_view what) const;  // --accept WHAT
  // Errors: usage (exit 64), naming the option.
  Result<std::int64_t> number(std::string_view option, std::int64_t otherwise, std::int64_t least,
                              std::int64_t most) const;
  Result<Duration> duration(std::string_view option, Duration otherwise, Duration least, Duration most) const;

  // Opens the store of this invocation, setting an empty one up if `may_create`; with `mends`, putting back what can be
  // of a damaged one. With --history, what it is asked is written down.
  Result<Session> open_store(bool may_create, bool mends = false);

  // The same, setting an empty one up and saying so on stderr: a mistyped path must not look like an empty queue.
  // Namespace and history are this invocation's, whatever is wanted.
  Result<Session> open_or_make_store(SessionOptions wanted = {});

  // The same over a store that is open.
  Result<Session> session_over(std::unique_ptr<Store> store, SessionOptions wanted = {}) const;
};

// For commands whose store is recorded: the session sees to it.
inline OptionSpec history_option() {
  return {"--history", "FILE", "append every call to the store to FILE; see 'fenceline audit'"};
}

// Errors of the command line itself: exit 64 instead of 65.
Error usage_error(std::string message);

// Exit codes, as the help lists them.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFound = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitBadInput = 65;
inline constexpr int kExitNotFound = 66;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitBug = 70;
inline constexpr int kExitIo = 74;
inline constexpr int kExitTryLater = 75;
inline constexpr int kExitLost = 76;
inline constexpr int kExitCredentials = 77;
// Of a command that could not be run, or ended by a signal, as env and timeout have it.
inline constexpr int kExitCannotBeRun = 126;
inline constexpr int kExitNoCommand = 127;
inline constexpr int kExitSignalBase = 128;
int exit_code(const Error& error);

// What people see of an error: one printable line, "what; what to do".
std::string error_text(const Error& error);

}  // namespace fenceline::cli
