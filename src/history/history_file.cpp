#include "history/history_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace fenceline::history {
namespace {

constexpr std::string_view kBegins = "{\"e\":\"recorder\"";

// What a file is, as one look at it tells.
enum class Look { fits, foreign, cut, torn };

Result<Look> look_at(int fd, const std::string& path) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return fail(Code::broken, "cannot look at " + path + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode) || about.st_size == 0) return Look::fits;
  std::string begin(kBegins.size(), '\0');
  const ssize_t got = ::pread(fd, begin.data(), begin.size(), 0);
  if (got < 0 || !kBegins.starts_with(std::string_view(begin).substr(0, static_cast<std::size_t>(got))))
    return Look::foreign;
  if (got != static_cast<ssize_t>(begin.size())) return Look::cut;
  char last = 0;
  return ::pread(fd, &last, 1, about.st_size - 1) == 1 && last == '\n' ? Look::fits : Look::torn;
}

// Whether more may follow what is there already. A file grows page by page, so one look can see half of a line that
// another process is writing: only an end that stays in the middle of a line was left there.
Result<void> check_what_is_there(int fd, const std::string& path, Runtime& runtime) {
  constexpr int kLooks = 100;
  constexpr Duration kBetweenLooks = std::chrono::milliseconds{1};
  Result<Look> look = look_at(fd, path);
  for (int again = 1; again < kLooks && look && (*look == Look::torn || *look == Look::cut); ++again) {
    runtime.sleep_for(kBetweenLooks, {});
    look = look_at(fd, path);
  }
  if (!look) return std::unexpected(look.error());
  if (*look == Look::foreign || *look == Look::cut)
    return fail(Code::invalid, path + " exists and is not a history; name another file");
  if (*look == Look::torn)
    return fail(Code::invalid, path + " ends in the middle of a line, so nothing can be appended; name another file");
  return {};
}

}  // namespace

Result<std::unique_ptr<HistoryFile>> HistoryFile::open(const std::string& path, Runtime& runtime, Log log) {
  int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  // A pipe or a device cannot be read back, and need not.
  if (fd < 0 && errno != ENOENT) fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return fail(Code::broken, "cannot write the history " + path + ": " + std::strerror(errno));
  std::unique_ptr<HistoryFile> file(new HistoryFile(fd, path, log));
  if (const Result<void> ok = check_what_is_there(fd, path, runtime); !ok) return std::unexpected(ok.error());
  return file;
}

HistoryFile::HistoryFile(int fd, std::string path, Log log) : fd_(fd), path_(std::move(path)), log_(log) {}

HistoryFile::~HistoryFile() { ::close(fd_); }

void HistoryFile::write(std::string line) {
  line += '\n';
  std::string_view left = line;
  int error = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!left.empty() && !failed_) {
      const ssize_t written = ::write(fd_, left.data(), left.size());
      if (written >= 0) {
        left.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        error = errno;
        failed_ = true;
      }
    }
  }
  if (error != 0) log_.error("history_failed", {{"file", path_}, {"error", std::strerror(error)}});
}

}  // namespace fenceline::history
