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

// A part of a command's help with a title of its own: words and what they mean.
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

struct CommandSpec {
  std::string name;  // "enqueue", "job show"
  std::string summary;
  std::vector<ArgumentSpec> arguments;
  std::vector<OptionSpec> options;
  std::vector<SectionSpec> sections;
  std::vector<ExampleSpec> examples;
  bool takes_command = false;   // `-- CMD ARG...`
  bool hidden = false;          // not for people: no help, no completion
  bool without_config = false;  // it uses no setting: a broken fenceline.toml is none of its business
  // Returns the exit code; an Error becomes one line on stderr and the exit code of its kind.
  std::function<Result<int>(Invocation&)> run;
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
  std::stop_token stop;  // Ctrl-C and SIGTERM

  bool has(std::string_view option) const;
  std::optional<std::string> value(std::string_view option) const;  // the last one given
  std::string argument(std::string_view name) const;
  // Errors: usage (exit 64), naming the option.
  Result<std::int64_t> number(std::string_view option, std::int64_t otherwise, std::int64_t least,
                              std::int64_t most) const;
  Result<Duration> duration(std::string_view option, Duration otherwise, Duration least, Duration most) const;

  // Opens the store of this invocation, setting an empty one up if `may_create`; with `mends`, putting back what can be
  // of a damaged one.
  Result<std::unique_ptr<Store>> open_store(bool may_create, bool mends = false);

  // The same, setting an empty one up and saying so on stderr: a mistyped path must not look like an empty queue.
  Result<std::unique_ptr<Store>> open_or_make_store();
};

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
int exit_code(const Error& error);

// What people see of an error: one printable line, "what; what to do".
std::string error_text(const Error& error);

// Every command, in the order of the help. One function a file.
CommandSpec enqueue_command();
CommandSpec work_command();
CommandSpec progress_command();
CommandSpec effect_command();
CommandSpec effects_list_command();
CommandSpec effects_resolve_command();
CommandSpec jobs_command();
CommandSpec job_show_command();
CommandSpec job_explain_command();
CommandSpec job_wait_command();
CommandSpec job_logs_command();
CommandSpec job_retry_command();
CommandSpec job_cancel_command();
CommandSpec queue_list_command();
CommandSpec queue_show_command();
CommandSpec queue_set_command();
CommandSpec queue_pause_command();
CommandSpec queue_resume_command();
CommandSpec queue_purge_command();
CommandSpec dead_list_command();
CommandSpec dead_redrive_command();
CommandSpec workers_list_command();
CommandSpec workers_quiet_command();
CommandSpec workers_stop_command();
CommandSpec workers_resume_command();
CommandSpec gate_check_command();
CommandSpec gate_run_command();
CommandSpec gate_put_command();
CommandSpec gate_show_command();
CommandSpec gate_rebase_command();
CommandSpec lock_command();
CommandSpec elect_command();
CommandSpec locks_list_command();
CommandSpec locks_show_command();
CommandSpec locks_break_command();
CommandSpec trail_command();
CommandSpec migrate_command();
CommandSpec doctor_command();
CommandSpec drill_lease_expiry_command();
CommandSpec drill_kill_command();
CommandSpec drill_pause_command();
CommandSpec drill_clock_command();
CommandSpec drill_disk_full_command();
CommandSpec drill_store_restart_command();
CommandSpec drill_store_pause_command();
CommandSpec drill_terminate_command();
CommandSpec drill_cut_command();
CommandSpec drill_lock_job_command();
CommandSpec drill_lock_loop_command();
CommandSpec drill_lock_run_command();
CommandSpec drill_lock_writer_command();
CommandSpec sim_command();
CommandSpec audit_command();
CommandSpec bench_command();
CommandSpec config_show_command();
CommandSpec completion_command();
CommandSpec man_command();
CommandSpec version_command();
CommandSpec guardian_command();      // hidden: the parent of a handler's process
CommandSpec drill_worker_command();  // hidden: one side of a drill
CommandSpec drill_locker_command();  // hidden: one holder of a lock in a drill
CommandSpec bench_part_command();    // hidden: one process of a bench
std::vector<CommandSpec> all_commands();

}  // namespace fenceline::cli
