#include "backends/sqlite/lock_holders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/text.hpp"

namespace fenceline::sqlite {
namespace {

// Bytes of the file PATH-shm, as SQLite's format says.
constexpr long kWriteByte = 120;
constexpr long kFirstReadByte = 123;
constexpr long kLastReadByte = 127;

// A line of /proc/locks: "1: POSIX  ADVISORY  READ 4711 fd:01:1234567 124 124".
std::vector<pid_t> holders_of_bytes(const std::string& path, const std::string& kind, long first, long last) {
  struct stat file {};
  if (::stat((path + "-shm").c_str(), &file) != 0) return {};
  const std::string inode = ":" + std::to_string(file.st_ino);
  std::vector<pid_t> found;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, how, its_kind, place;
    long pid = 0, from = 0, to = 0;
    if (!(words >> number >> type >> how >> its_kind >> pid >> place >> from >> to)) continue;
    if (its_kind != kind || !place.ends_with(inode) || from > last || to < first || pid <= 0 || pid == ::getpid())
      continue;
    if (std::ranges::find(found, static_cast<pid_t>(pid)) == found.end()) found.push_back(static_cast<pid_t>(pid));
  }
  return found;
}

std::string line_of(pid_t pid, const std::string& file, const std::string& begin) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return "";
}

}  // namespace

std::vector<pid_t> readers_from_outside(const std::string& path) {
  return holders_of_bytes(path, "READ", kFirstReadByte, kLastReadByte);
}
std::vector<pid_t> writers_from_outside(const std::string& path) {
  return holders_of_bytes(path, "WRITE", kWriteByte, kWriteByte);
}

bool is_stopped(pid_t pid) { return line_of(pid, "status", "State:").find('T') != std::string::npos; }

std::string describe_process(pid_t pid) {
  const std::string name = one_line(line_of(pid, "comm", ""));
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + (is_stopped(pid) ? ", stopped)" : ")"));
}

}  // namespace fenceline::sqlite
