#include "cli/drill_server.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/child_process.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::cli {
namespace {

constexpr const char* kDataOfTests = "FENCELINE_TEST_POSTGRES_DATA";  // set by script/with_postgres

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

}  // namespace

std::optional<std::string> data_folder_of_tests() {
  const char* const data = std::getenv(kDataOfTests);
  return data == nullptr ? std::nullopt : std::optional<std::string>(data);
}

Result<std::string> control_command(const std::string& data) {
  const Result<std::string> program = control_program(data);
  if (!program) return std::unexpected(program.error());
  return as_owner_of(data) + quoted(*program) + " -D " + quoted(data) + " -s -w ";
}

bool run_in_shell(const std::string& line) {
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto child = spawn_child({.program = "/bin/sh",
                                  .arguments = {"sh", "-c", line},
                                  .descriptors = {{nowhere.get(), STDIN_FILENO}, {nowhere.get(), STDOUT_FILENO}, {nowhere.get(), STDERR_FILENO}}});
  return child && reap(*child) == ExitStatus{};
}

}  // namespace fenceline::cli
