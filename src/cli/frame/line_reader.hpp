// Lines of a file or of stdin in constant memory, however long a line is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace fenceline::cli {

// An open file that is closed at the end; "-" is stdin. Move only.
class InputFile {
 public:
  // Errors: not_found, broken (a directory, no permission).
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  // Appends up to 64 KiB to `out`; false at the end. Errors: broken, held (a signal asked to stop).
  Result<bool> read_some(std::string& out);

  // How much of it was read, 0 to 1; empty if its length is unknown: a pipe, a terminal.
  std::optional<double> part_read() const;

 private:
  explicit InputFile(int fd);
  int fd_;
  std::int64_t size_ = 0;  // 0: not known
  std::int64_t read_ = 0;
};

// The whole file, at most `most` bytes. Errors: those of InputFile, invalid (too large).
Result<std::string> read_file(const std::string& path, std::size_t most);

class LineReader {
 public:
  // A line longer than `longest` is cut one byte after it: still too long for the caller's check, and bounded in
  // memory.
  LineReader(InputFile& file, std::size_t longest) : file_(file), longest_(longest) {}

  // The next line without its end (\n or \r\n); empty at the end of the file. Errors: those of InputFile.
  Result<std::optional<std::string>> next();

 private:
  InputFile& file_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool at_end_ = false;
};

}  // namespace fenceline::cli
