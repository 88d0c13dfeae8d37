#include "cli/frame/output.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

std::atomic<int> first_problem = 0;  // errno of the first failed write

bool keep(bool ok) {
  int none = 0;
  if (!ok) first_problem.compare_exchange_strong(none, errno == 0 ? EIO : errno);
  return first_problem == 0;
}

}  // namespace

bool print(std::string_view text) {
  if (first_problem != 0) return false;
  return keep(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

bool print_line(std::string_view text) { return print(text) && print("\n"); }

bool print_foreign(std::string_view bytes) {
  if (!stdout_is_terminal()) return print(bytes);
  std::string line;
  for (const char c : bytes) {
    if (c != '\n' && c != '\t') {
      line += c;
      continue;
    }
    if (!print(printable(line)) || !print(std::string_view(&c, 1))) return false;
    line.clear();
  }
  return print(printable(line));
}

bool flush_output() {
  if (first_problem != 0) return false;
  return keep(std::fflush(stdout) == 0);
}

void tell(std::string_view text) {
  std::string line(text);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // unbuffered: one write
}

Result<void> close_output() {
  flush_output();
  // Others may have written to stdout without us.
  if (first_problem == 0 && std::ferror(stdout) != 0) first_problem = EIO;
  if (first_problem == 0 || first_problem == EPIPE) return {};
  return fail(Code::broken, std::string("cannot write the output: ") + std::strerror(first_problem) +
                                "; the command itself succeeded");
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace fenceline::cli
