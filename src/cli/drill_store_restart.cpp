// `fenceline drill store-restart`: the server of the store is stopped without a goodbye and started again, under real workers: in
// the middle of commits, and in turn for longer than a lease lasts. What was acknowledged must be there afterwards.
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/postgres_url.hpp"
#include "cli/drill_away.hpp"
#include "cli/output.hpp"
#include "runtime/child_process.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kWhat = "a restart of the server";
constexpr const char* kDataOfTests = "FENCELINE_TEST_POSTGRES_DATA";  // set by script/with_postgres
constexpr Duration kBetween = 1500ms;
constexpr int kJobsOfARound = 32;  // enough for all of it
constexpr int kLonger = 2;  // seconds without a server; the leases are of one

// Who may tell the server to stop: it does not run as root.
std::string as_owner_of(const std::string& folder) {
  struct stat about {};
  if (::geteuid() != 0 || ::stat(folder.c_str(), &about) != 0 || about.st_uid == 0) return {};
  const passwd* const user = ::getpwuid(about.st_uid);
  return user == nullptr ? std::string{} : "runuser -u " + std::string(user->pw_name) + " -- ";
}

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

// The server notes where its program is; its control program lies beside it.
Result<std::string> control_program(const std::string& data) {
  std::ifstream notes(data + "/postmaster.opts");
  std::string line;
  std::getline(notes, line);
  const std::filesystem::path program = line.substr(0, line.find(' '));
  if (!program.is_absolute()) return fail(Code::invalid, std::string(kDataOfTests) + " names no folder of a server that was started");
  return (program.parent_path() / "pg_ctl").string();
}

// How the server is restarted in round `number`, for a shell.
struct RestartPlan {
  std::string at_once;
  std::string after_a_while;
  const std::string& of(int number) const { return number % 2 == 0 ? at_once : after_a_while; }
};

// Nothing if nobody says how.
Result<std::optional<RestartPlan>> find_plan(const Invocation& invocation) {
  if (const auto told = invocation.value("--restart-command")) return RestartPlan{*told, *told};
  const char* const data = std::getenv(kDataOfTests);
  if (data == nullptr) return std::nullopt;
  const Result<std::string> program = control_program(data);
  if (!program) return std::unexpected(program.error());
  const std::string control = as_owner_of(data) + quoted(*program) + " -D " + quoted(data) + " -s -w ";
  return RestartPlan{control + "-m immediate restart", control + "-m immediate stop && sleep " + std::to_string(kLonger) + " && " + control + "start"};
}

// Its words go nowhere: the server it starts keeps them open.
bool run_in_shell(const std::string& line) {
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto child = spawn_child({.program = "/bin/sh",
                                  .arguments = {"sh", "-c", line},
                                  .descriptors = {{nowhere.get(), STDIN_FILENO}, {nowhere.get(), STDOUT_FILENO}, {nowhere.get(), STDERR_FILENO}}});
  return child && reap(*child) == ExitStatus{};
}

Result<int> run(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 4, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  if (!bench::is_postgres_url(invocation.store_url)) return nothing_to_play(invocation, "store-restart", kWhat);
  const Result<std::optional<RestartPlan>> plan = find_plan(invocation);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan) {
    DrillReport report;
    report.not_injected.push_back(std::string(kWhat) + ": nobody says how; give --restart-command 'CMD', which returns when the server is up again");
    return tell_drill(invocation, "store-restart", report);
  }
  Result<std::unique_ptr<Store>> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (int round = 0; round < *rounds; ++round) {
      if (!fleet.wait(kBetween)) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("restart " + std::to_string(round + 1) + ": every job had ended before");
        return true;
      }
      if (!run_in_shell((*plan)->of(round))) {
        report.violations.push_back("the server could not be restarted: `" + (*plan)->of(round) + "` failed");
        return true;
      }
      ++report.faults;
      if (stderr_is_terminal()) tell("store-restart: " + std::to_string(round + 1) + " of " + std::to_string(*rounds) + ", " + std::to_string(fleet.unfinished()) + " jobs left");
    }
    return fleet.wait(kBetween);
  };
  return play_drill(invocation, **store,
                    {.name = "store-restart",
                     .store_url = invocation.store_url,
                     .jobs = static_cast<int>(*rounds) * kJobsOfARound,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_store_restart_command() {
  return {.name = "drill store-restart",
          .summary = "Restarts the server of the store under real workers; an embedded store has none.",
          .arguments = {},
          .options = {{"--restart-command", "CMD", "a line for the shell that restarts the server and returns when it is up again"},
                      {"--repeat", "N", "restarts to play; default 4"}},
          .examples = {{"fenceline drill store-restart --restart-command ./restart-server", "four restarts by a script of yours"}},
          .run = run};
}

}  // namespace fenceline::cli
