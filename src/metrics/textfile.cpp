#include "metrics/textfile.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "runtime/unique_fd.hpp"

namespace fenceline::metrics {
namespace {

constexpr std::string_view kEnding = ".prom";
constexpr std::uintmax_t kTextMost = std::uintmax_t{4} << 20;  // a larger file is not ours, and is begun anew
constexpr Duration kTurnMost = std::chrono::seconds{5};
constexpr Duration kTurnPause = std::chrono::milliseconds{5};

// One family of a text: its two lines of comment, and its series.
struct TextFamily {
  std::string name;
  std::string comments;
  bool adds_up = false;  // a counter or a histogram
  std::vector<std::pair<std::string, std::string>> series;
};

// "name{labels} value", parted at the last space.
std::optional<std::pair<std::string, std::string>> series_of(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return std::nullopt;
  return std::pair(std::string(line.substr(0, space)), std::string(line.substr(space + 1)));
}

// Nothing if it is not in the format.
std::optional<std::vector<TextFamily>> parse_text(std::string_view text) {
  std::vector<TextFamily> families;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    std::istringstream words(line);
    std::string mark, what, name, kind;
    if (line.front() == '#') {
      words >> mark >> what >> name >> kind;
      if (families.empty() || families.back().name != name)
        families.push_back({.name = name, .comments = {}, .series = {}});
      families.back().comments += line + "\n";
      if (what == "TYPE") families.back().adds_up = kind == "counter" || kind == "histogram";
      continue;
    }
    const auto series = series_of(line);
    if (!series || families.empty()) return std::nullopt;
    families.back().series.push_back(*series);
  }
  return families;
}

std::string sum_of(const std::string& one, const std::string& other) {
  const auto number = [](const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  std::array<char, 64> text{};
  const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), number(one) + number(other));
  return problem == std::errc{} ? std::string(text.data(), end) : one;
}

std::string text_of(const TextFamily& family) {
  std::string text = family.comments;
  for (const auto& [series, value] : family.series) text += series + " " + value + "\n";
  return text;
}

std::string folder_name(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Error textfile_error(const std::string& path, std::string_view what) {
  const int number = errno;
  const Code code = number == ENOENT || number == ENOTDIR                     ? Code::not_found
                    : number == ENOSPC || number == EDQUOT || number == EFBIG ? Code::full
                                                                              : Code::broken;
  return {code, "metrics file " + path + " " + std::string(what) + ": " + std::strerror(number)};
}

std::string read_before(const std::string& path) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (unknown || size > kTextMost) return {};
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Beside it, under a name that the collector does not read.
Result<void> replace_textfile(const std::string& path, const std::string& text) {
  const std::string temp = path + "." + std::to_string(::getpid()) + ".tmp";
  const UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return std::unexpected(textfile_error(path, "cannot be written"));
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t wrote = ::write(fd.get(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      Error error = textfile_error(path, "cannot be written");
      ::unlink(temp.c_str());
      return std::unexpected(std::move(error));
    }
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::rename(temp.c_str(), path.c_str()) == 0) return {};
  Error error = textfile_error(path, "cannot be replaced");
  ::unlink(temp.c_str());
  return std::unexpected(std::move(error));
}

}  // namespace

std::string added_up(std::string_view before, std::string_view now) {
  const std::optional<std::vector<TextFamily>> old = parse_text(before);
  std::optional<std::vector<TextFamily>> fresh = parse_text(now);
  if (!old || !fresh) return std::string(now);
  std::map<std::string, const TextFamily*> earlier;
  for (const TextFamily& family : *old) {
    if (family.adds_up) earlier.emplace(family.name, &family);
  }
  std::string text;
  for (TextFamily& family : *fresh) {
    const auto found = earlier.find(family.name);
    if (found != earlier.end() && family.adds_up) {
      std::map<std::string, std::string> values(found->second->series.begin(), found->second->series.end());
      for (auto& [series, value] : family.series) {
        const auto had = values.find(series);
        if (had == values.end()) continue;
        value = sum_of(value, had->second);
        values.erase(had);
      }
      for (const auto& [series, value] : found->second->series) {
        if (values.contains(series)) family.series.emplace_back(series, value);  // other labels than this run's
      }
      earlier.erase(found);
    }
    text += text_of(family);
  }
  for (const auto& [name, family] : earlier) text += text_of(*family);
  return text;
}

Result<void> check_textfile(const std::string& path) {
  if (!path.ends_with(kEnding) || path.size() == kEnding.size())
    return fail(Code::invalid, "metrics file '" + path + "' must end with .prom: the collector reads no other files");
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder_name(path), unknown))
    return fail(Code::not_found, "the folder of metrics file " + path + " does not exist; make it first");
  return {};
}

Result<void> add_to_textfile(Runtime& runtime, const std::string& path, std::string_view now) {
  const UniqueFd folder(::open(folder_name(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return std::unexpected(textfile_error(path, "cannot be written"));
  const Instant until = runtime.now() + kTurnMost;
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return std::unexpected(textfile_error(path, "cannot be locked"));
    if (runtime.now() >= until)
      return fail(Code::held,
                  "metrics file " + path + " was not written: another process holds the lock of its folder");
    runtime.sleep_for(kTurnPause, {});
  }
  return replace_textfile(path, added_up(read_before(path), now));
}

}  // namespace fenceline::metrics
