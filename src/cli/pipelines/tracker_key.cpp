// fenceline tracker key: a secret that the workers of one issue tracker share.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/commands.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kKeyBytes = 32;

// The runtime's chance is the system's own (getrandom).
std::string fresh_key(Runtime& runtime) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key;
  while (key.size() < 2 * kKeyBytes) {
    std::uint64_t chance = runtime.random();
    for (int digit = 0; digit < 16; ++digit, chance >>= 4) key += kDigits[chance & 15];
  }
  return key;
}

// Never over a file that is there: its key may be in use.
Result<void> write_key(const std::string& path, const std::string& key) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    const std::string shown = printable(path, 200);
    if (errno == EEXIST)
      return fail(Code::invalid, "file " + shown + " already exists, and its key may be in use; name another file");
    return fail(Code::invalid, "cannot create " + shown + ": " + std::strerror(errno));
  }
  const std::string line = key + "\n";
  if (::fchmod(file.get(), 0600) != 0 ||
      ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) || ::fsync(file.get()) != 0) {
    const int why = errno;
    ::unlink(path.c_str());
    return fail(Code::full, "cannot write " + printable(path, 200) + ": " + std::strerror(why));
  }
  return {};
}

Result<int> run_tracker_key(Invocation& invocation) {
  const std::string key = fresh_key(*invocation.runtime);
  const std::optional<std::string> path = invocation.value("--out");
  if (!path) {
    print_line(invocation.json ? Json{{"key", key}}.dump() : key);
    return kExitOk;
  }
  if (auto ok = write_key(*path, key); !ok) return std::unexpected(ok.error());
  print_line(invocation.json ? Json{{"file", *path}}.dump()
                             : "wrote a new key to " + printable(*path, 200) +
                                   "; set FENCELINE_TRACKER_KEY_FILE=" + printable(*path, 200) + " for every worker");
  return kExitOk;
}

}  // namespace

CommandSpec tracker_key_command() {
  return {.name = "tracker key",
          .summary = "Make a key for the workers of an issue tracker",
          .details = "Workers sign their claims and records with it. All workers of one tracker need the same key.",
          .options = {{"--out", "FILE", "create FILE with mode 0600 for the key; printed if not given"}},
          .examples = {{"fenceline tracker key --out tracker.key", "then FENCELINE_TRACKER_KEY_FILE=tracker.key"}},
          .run = run_tracker_key};
}

}  // namespace fenceline::cli
