#include "cli/frame/line_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  const int fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(fd);
    return fail(Code::broken, "'" + printable(path, 200) + "' is a folder; name a text file");
  }
  if (fd >= 0) return InputFile(fd);
  const std::string why = std::strerror(errno);
  const Code code = errno == ENOENT || errno == ENOTDIR ? Code::not_found : Code::broken;
  return fail(code,
              "file '" + printable(path, 200) + "' cannot be opened: " + why + "; check the name and the permissions");
}

InputFile::InputFile(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), read_(other.read_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<bool> InputFile::read_some(std::string& out) {
  const std::size_t before = out.size();
  while (true) {
    if (!wait_readable(fd_)) return fail(Code::held, "interrupted while reading the input; nothing was changed");
    out.resize(before + kChunk);
    const ssize_t count = ::read(fd_, out.data() + before, kChunk);
    out.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count > 0) read_ += count;
    if (count >= 0) return count > 0;
    if (errno != EINTR)
      return fail(Code::broken,
                  std::string("the input cannot be read: ") + std::strerror(errno) + "; name a text file");
  }
}

std::optional<double> InputFile::part_read() const {
  if (size_ == 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(read_) / static_cast<double>(size_));
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return std::unexpected(file.error());
  std::string text;
  while (true) {
    const Result<bool> more = file->read_some(text);
    if (!more) return std::unexpected(more.error());
    if (text.size() > most)
      return fail(Code::invalid,
                  "file '" + printable(path, 200) + "' is too large; at most " + std::to_string(most) + " bytes");
    if (!*more) return text;
  }
}

Result<std::optional<std::string>> LineReader::next() {
  std::size_t searched = begin_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(begin_, end - begin_);
      begin_ = end + 1;
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    if (buffer_.size() - begin_ > longest_ + 1) {  // one more for a \r
      std::string line = buffer_.substr(begin_, longest_ + 1);
      begin_ = buffer_.size();
      return line;
    }
    if (at_end_) {
      std::string line = buffer_.substr(begin_);
      begin_ = buffer_.size();
      if (line.empty()) return std::nullopt;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    const Result<bool> more = file_.read_some(buffer_);
    if (!more) return std::unexpected(more.error());
    at_end_ = !*more;
  }
}

}  // namespace fenceline::cli
