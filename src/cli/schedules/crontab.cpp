#include "cli/schedules/crontab.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/sha256.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kBlank = " \t\r";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin));
}

// The next word, taken off.
std::string take_word(std::string& text) {
  const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
  const std::string word = text.substr(0, end);
  text = trimmed(std::string_view(text).substr(end));
  return word;
}

std::string unquoted(std::string text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// As cron reads it: \% is a plain one, the first other one begins the input, and each further one is the end of a line
// of it.
struct Command {
  std::string line;
  std::optional<std::string> input;
};
Command command_of(std::string_view text) {
  Command command;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string& out = command.input ? *command.input : command.line;
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '%') out += text[++at];
    else if (text[at] != '%') out += text[at];
    else if (command.input) out += '\n';
    else command.input.emplace();
  }
  return command;
}

std::string payload_of(const Command& command) {
  nlohmann::ordered_json out{{"command", command.line}};
  if (command.input) out["stdin"] = *command.input;
  std::string text = out.dump();
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 3))
    text.insert(at, 1, '$');  // it means the shell's, not ours
  return text;
}

// "backup.sh-3fa91c": what people know it by, and what tells it from others.
std::string name_of(const std::string& command) {
  std::string word = command.substr(0, command.find_first_of(kBlank));
  word = word.substr(word.rfind('/') + 1).substr(0, 40);
  for (char& c : word) {
    if (!is_letter(c) && !is_digit(c) && c != '.' && c != '_') c = '-';
  }
  const auto begin = std::ranges::find_if(word, [](char c) { return is_letter(c) || is_digit(c); });
  word.erase(word.begin(), begin);
  return (word.empty() ? "command" : word) + "-" + sha256_hex(command).substr(0, 6);
}

class Reader {
 public:
  Reader(const std::string& path, const ScheduleSpec& base, bool has_zone)
      : path_(printable(path, 200)), base_(base), has_zone_(has_zone) {}

  Result<Crontab> read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    for (number_ = 1; std::getline(lines, line); ++number_) {
      if (auto ok = read_line(trimmed(line)); !ok) return fail(Code::invalid, here() + ok.error().message);
    }
    return std::move(crontab_);
  }

 private:
  std::string here() const { return path_ + ":" + std::to_string(number_) + ": "; }

  Result<void> read_line(const std::string& line) {
    if (line.empty() || line.front() == '#') return {};
    if (is_letter(line.front()) || line.front() == '_' || line.front() == '"' || line.front() == '\'')
      return read_variable(line);
    return read_entry(line);
  }

  Result<void> read_variable(const std::string& line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos)
      return fail(Code::invalid,
                  "this is neither a schedule nor a variable; write five fields and a command, or NAME=VALUE");
    const std::string name = unquoted(trimmed(line.substr(0, equals))),
                      value = unquoted(trimmed(line.substr(equals + 1)));
    if (name != "CRON_TZ") {
      crontab_.left_out.push_back(here() + printable(name, 40) +
                                  " is ignored: set it where 'fenceline work' is started");
      return {};
    }
    base_.zone = value;
    has_zone_ = true;
    return {};
  }

  Result<void> read_entry(std::string rest) {
    ScheduleSpec spec = base_;
    const bool short_form = rest.front() == '@';
    for (int field = 0; field < (short_form ? 1 : 5); ++field) spec.cron += (field == 0 ? "" : " ") + take_word(rest);
    if (rest.empty())
      return fail(
          Code::invalid,
          short_form
              ? "the command is missing"
              : "the command after the five fields is missing; write minute, hour, day, month, weekday and a command");
    if (!has_zone_)
      return fail(Code::invalid, "the time zone is missing; pass --tz, or write CRON_TZ=ZONE in a line above");
    const Command command = command_of(rest);
    spec.payload = payload_of(command);
    if (auto ok = check_spec(spec); !ok) return ok;
    const std::string name = name_of(rest);
    const int nth = ++seen_[name];
    crontab_.schedules.push_back({nth == 1 ? name : name + "-" + std::to_string(nth), spec});
    return {};
  }

  const std::string path_;
  ScheduleSpec base_;
  bool has_zone_;
  int number_ = 0;
  std::map<std::string, int> seen_;
  Crontab crontab_;
};

}  // namespace

Result<Crontab> parse_crontab(const std::string& path, const std::string& text, const ScheduleSpec& base,
                              bool has_zone) {
  return Reader(path, base, has_zone).read(text);
}

}  // namespace fenceline::cli
