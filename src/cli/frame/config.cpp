#include "cli/frame/config.hpp"

#include <pwd.h>
#include <sys/ioctl.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "backends/trackers/open_tracker.hpp"
#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/lock_settings.hpp"
#include "cli/frame/schedule_settings.hpp"
#include "cli/frame/text.hpp"
#include "model/job.hpp"
#include "runtime/host.hpp"
#include "services/worker.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

// An empty variable is an unset one: that is how people switch a setting off in a shell.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [stopped, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || stopped != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::size_t kFileMost = 1 << 20;
constexpr std::string_view kUsualFile = "fenceline.toml";

struct NumberRange {
  std::int64_t least, most;
};

// Everything that can be set. A file writes "work.ttl" as ttl in the table [work]; durations and texts are strings
// there.
struct Known {
  enum class Kind { text, duration, number };

  std::string name;      // "work.ttl"
  std::string command;   // whose option it is; empty: of every command
  std::string option;    // "--ttl"
  std::string variable;  // of the environment; empty: none
  std::string otherwise;
  Kind kind = Kind::text;
  DurationRange durations{};
  NumberRange numbers{};
};

const std::vector<Known>& known_settings() {
  using Kind = Known::Kind;
  static const std::vector<Known> all{
      {.name = "store", .option = "--store", .variable = "FENCELINE_STORE", .otherwise = "sqlite:fenceline.db"},
      {.name = "namespace", .option = "--namespace", .variable = "FENCELINE_NAMESPACE", .otherwise = "default"},
      {.name = "gates", .option = "--gates", .variable = "FENCELINE_GATES"},  // default: beside the store
      {.name = "trace.endpoint", .variable = "OTEL_EXPORTER_OTLP_ENDPOINT"},  // none: no traces
      {.name = "trace.service", .variable = "OTEL_SERVICE_NAME", .otherwise = "fenceline"},
      {"work.ttl", "work", "--ttl", "", "30s", Kind::duration, kTtlRange},
      {"work.concurrency",
       "work",
       "--concurrency",
       "",
       std::to_string(std::min(usable_cores(), kConcurrencyMax)),
       Kind::number,
       {},
       {1, kConcurrencyMax}},
      {"work.grace", "work", "--drain-timeout", "", "30s", Kind::duration, kWaitRange},
      {"enqueue.priority", "enqueue", "--priority", "", "0", Kind::number, {}, {-kPriorityMost, kPriorityMost}},
      {"enqueue.max_attempts",
       "enqueue",
       "--max-attempts",
       "",
       std::to_string(kAttemptsMaxDefault),
       Kind::number,
       {},
       {1, 1000}},
      {"enqueue.timeout", "enqueue", "--timeout", "", "", Kind::duration, kTimeoutRange},
      {"enqueue.backoff", "enqueue", "--backoff", "", format_duration(Backoff{}.first), Kind::duration, kBackoffRange},
      {"enqueue.backoff_max", "enqueue", "--backoff-max", "", format_duration(Backoff{}.most), Kind::duration,
       kBackoffRange},
  };
  return all;
}

// Reads one table after another; the first error ends it.
class ProjectFile {
 public:
  explicit ProjectFile(const std::string& path) : path_(printable(path, 200)) {}

  Result<std::map<std::string, FileSetting>> read(const std::string& text) {
    try {
      if (auto ok = read_table("", toml::parse(std::string_view(text))); !ok) return std::unexpected(ok.error());
      if (auto ok = check_backoff(); !ok) return std::unexpected(ok.error());
    } catch (const toml::parse_error& error) {
      return std::unexpected(bad(
          error.source(), "not valid TOML: " + one_line(error.description()) + "; see 'fenceline help config show'"));
    }
    return std::move(settings_);
  }

 private:
  Error bad(const toml::source_region& where, const std::string& what) const {
    return {Code::invalid, path_ + ":" + std::to_string(where.begin.line) + ": " + what};
  }

  Result<void> read_table(const std::string& prefix, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      if (name == "lock") {
        if (auto ok = read_tables(name, "lock class", key.source(), node,
                                  [this](const auto&... told) { return read_lock_class(told...); });
            !ok)
          return ok;
        continue;
      }
      if (name == "schedule") {
        if (auto ok = read_tables(name, "schedule", key.source(), node,
                                  [this](const auto&... told) { return read_schedule(told...); });
            !ok)
          return ok;
        continue;
      }
      if (node.is_table() && is_section(name)) {
        if (auto ok = read_table(name + ".", *node.as_table()); !ok) return ok;
        continue;
      }
      if (is_section(name))
        return std::unexpected(bad(key.source(), name + " is a table; write [" + name + "] and its keys below"));
      const auto known = std::ranges::find(known_settings(), name, &Known::name);
      if (known == known_settings().end()) return std::unexpected(bad(key.source(), unknown(name)));
      if (auto ok = read_value(*known, node); !ok) return ok;
    }
    return {};
  }

  // [lock.NAME] for each class of locks, [schedule.NAME] for each schedule.
  template <class ReadOne>
  Result<void> read_tables(const std::string& section, const std::string& what, const toml::source_region& where,
                           const toml::node& node, ReadOne read_one) {
    const std::string remedy = "; write [" + section + ".NAME] and its keys below";
    if (!node.is_table())
      return std::unexpected(
          bad(where, section + " is a table of " + what + (what.ends_with("s") ? "es" : "s") + remedy));
    for (const auto& [key, table] : *node.as_table()) {
      const std::string name(key.str());
      if (!table.is_table())
        return std::unexpected(bad(key.source(), in_quotes(section + "." + name) + " is not a " + what + remedy));
      if (auto ok = check_name(what, name); !ok) return std::unexpected(bad(key.source(), ok.error().message));
      if (auto ok = read_one(name, static_cast<int>(key.source().begin.line), *table.as_table()); !ok) return ok;
    }
    return {};
  }

  // Reads the keys of one such table, and sets each.
  Result<void> read_keys(const std::string& prefix, const std::vector<std::string>& keys,
                         bool (*numeric)(std::string_view), const std::string& help, const toml::table& table,
                         const std::function<Result<void>(std::string_view key, const std::string& value)>& set) {
    for (const auto& [key, node] : table) {
      const std::string full = prefix + std::string(key.str());
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        const std::optional<std::string> near = nearest(key.str(), keys);
        return std::unexpected(bad(key.source(), "unknown key " + in_quotes(full) + "; " +
                                                     (near ? "did you mean '" + prefix + *near + "'?"
                                                           : "'fenceline help " + help + "' lists all keys")));
      }
      const bool number = numeric(key.str());
      if (number && !node.is_integer())
        return std::unexpected(bad(node.source(), full + " is not a number; write a whole number without quotes"));
      if (!number && !node.is_string()) return std::unexpected(bad(node.source(), full + " must be a quoted string"));
      const std::string value = number ? std::to_string(*node.value<std::int64_t>()) : *node.value<std::string>();
      if (auto ok = set(key.str(), value); !ok)
        return std::unexpected(bad(node.source(), full + " " + ok.error().message));
      settings_[full] = {value, static_cast<int>(node.source().begin.line)};
    }
    return {};
  }

  Result<void> read_lock_class(const std::string& name, int line, const toml::table& table) {
    LockOptions options = lock_class_base(name);
    options.names = {"checked"};
    if (table.contains("ttl")) options.renew_every = Duration{0};  // that of a preset goes with its ttl
    const auto set = [&](std::string_view key, const std::string& value) {
      return set_lock_value(options, key, value);
    };
    if (auto ok = read_keys("lock." + name + ".", lock_keys(), is_lock_number, "lock", table, set); !ok) return ok;
    // Also a class that says nothing is there.
    settings_.try_emplace("lock." + name + ".pattern", FileSetting{lock_value(options, "pattern"), kNoLine});
    // Each is possible by itself; whether they are together is the whole class's.
    if (auto ok = check_options(options); !ok)
      return fail(Code::invalid,
                  path_ + ":" + std::to_string(line) + ": lock class " + name + ": " + ok.error().message);
    return {};
  }

  Result<void> read_schedule(const std::string& name, int line, const toml::table& table) {
    ScheduleSpec spec;
    const auto set = [&](std::string_view key, const std::string& value) {
      return set_schedule_value(spec, key, value);
    };
    if (auto ok = read_keys("schedule." + name + ".", schedule_keys(), is_schedule_number, "schedule add", table, set);
        !ok)
      return ok;
    if (auto ok = check_spec(spec); !ok)
      return fail(Code::invalid, path_ + ":" + std::to_string(line) + ": schedule " + name + ": " + ok.error().message);
    return {};
  }

  // Each is possible by itself.
  Result<void> check_backoff() const {
    const auto first = settings_.find("enqueue.backoff");
    const auto most = settings_.find("enqueue.backoff_max");
    if (first == settings_.end() || most == settings_.end()) return {};
    if (*parse_duration(first->second.value, kBackoffRange) <= *parse_duration(most->second.value, kBackoffRange))
      return {};
    return fail(Code::invalid, path_ + ":" + std::to_string(most->second.line) + ": enqueue.backoff_max " +
                                   most->second.value + " is shorter than enqueue.backoff " + first->second.value +
                                   "; raise enqueue.backoff_max or lower enqueue.backoff");
  }

  static bool is_section(const std::string& name) {
    return std::ranges::any_of(known_settings(),
                               [&](const Known& known) { return known.name.starts_with(name + "."); });
  }

  static std::string unknown(const std::string& name) {
    std::vector<std::string> names{"lock", "schedule"};
    for (const Known& known : known_settings()) {
      names.push_back(known.name);
      const std::size_t dot = known.name.find('.');
      if (dot == std::string::npos) continue;
      names.push_back(known.name.substr(0, dot));
      names.push_back(known.name.substr(dot + 1));  // in the wrong table
    }
    std::optional<std::string> near = nearest(name, names);
    const std::size_t dot = name.find('.');
    if (!near && dot != std::string::npos) near = nearest(name.substr(dot + 1), names);
    for (const Known& known : known_settings()) {
      if (near && known.name.ends_with("." + *near)) near = known.name;
    }
    return "unknown key " + in_quotes(name) + "; " +
           (near ? "did you mean '" + *near + "'?" : "'fenceline config show' lists them");
  }

  Result<void> read_value(const Known& known, const toml::node& node) {
    const auto refuse = [&](const std::string& what) {
      return std::unexpected(bad(node.source(), known.name + " " + what));
    };
    std::string value;
    if (known.kind == Known::Kind::number) {
      const std::optional<std::int64_t> number = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
      if (!number || *number < known.numbers.least || *number > known.numbers.most)
        return refuse("is out of range; write a whole number" +
                      std::string(node.is_string() ? ", without quotes," : "") + " from " +
                      std::to_string(known.numbers.least) + " to " + std::to_string(known.numbers.most));
      value = std::to_string(*number);
    } else {
      const std::optional<std::string> text = node.is_string() ? node.value<std::string>() : std::nullopt;
      if (!text) return refuse("must be a quoted string");
      if (known.kind == Known::Kind::duration) {
        if (const Result<Duration> duration = parse_duration(*text, known.durations); !duration)
          return refuse(duration.error().message);
      }
      value = *text;
    }
    settings_[known.name] = {value, static_cast<int>(node.source().begin.line)};
    return {};
  }

  const std::string path_;
  std::map<std::string, FileSetting> settings_;
};

struct LoadedFile {
  std::string path;  // empty: there is none
  std::map<std::string, FileSetting> settings;
};

Result<LoadedFile> load_file(const Invocation& invocation) {
  std::optional<std::string> path = invocation.value("--config");
  if (!path) path = environment("FENCELINE_CONFIG");
  std::error_code unknown;
  if (!path && !std::filesystem::exists(kUsualFile, unknown)) return LoadedFile{};
  LoadedFile loaded{.path = path.value_or(std::string(kUsualFile))};
  const Result<std::string> text = read_file(loaded.path, kFileMost);
  if (!text && std::filesystem::is_directory(loaded.path, unknown)) return fail(Code::invalid, text.error().message);
  if (!text) return std::unexpected(text.error());
  if (!is_valid_utf8(*text))
    return fail(Code::invalid,
                "file " + in_quotes(loaded.path) + " is not valid UTF-8; see 'fenceline help config show'");
  Result<std::map<std::string, FileSetting>> settings = parse_project_file(loaded.path, *text);
  if (!settings) return std::unexpected(settings.error());
  loaded.settings = std::move(*settings);
  return loaded;
}

// Of a store that a file names: a relative path begins where the file is, not where the program was started.
std::string beside(const std::string& file, const std::string& url) {
  constexpr std::string_view kEmbedded = "sqlite:";
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!url.starts_with(kEmbedded) || url.size() == kEmbedded.size() || folder.empty()) return url;
  const std::filesystem::path path = url.substr(kEmbedded.size());
  return path.is_absolute() ? url : std::string(kEmbedded) + (folder / path).string();
}

// The same for a folder.
std::string folder_beside(const std::string& file, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return path.empty() || folder.empty() || path.starts_with('/') ? path : (folder / path).string();
}

// Gates must survive a restore of the store, so they have their own folder.
std::string gates_of(const std::string& store_url) {
  constexpr std::string_view kEmbedded = "sqlite:";
  if (!store_url.starts_with(kEmbedded) || store_url.size() == kEmbedded.size()) return {};
  return store_url.substr(kEmbedded.size()) + "-gates";
}

Setting in_force(const Known& known, const Invocation& invocation, const LoadedFile& file) {
  if (const auto typed = known.option.empty() ? std::nullopt : invocation.value(known.option))
    return {known.name, *typed, "flag"};
  if (!known.variable.empty()) {
    if (const auto value = environment(known.variable.c_str())) return {known.name, *value, known.variable};
  }
  const auto found = file.settings.find(known.name);
  if (found == file.settings.end()) return {known.name, known.otherwise, "default"};
  const std::string value = known.name == "store"   ? beside(file.path, found->second.value)
                            : known.name == "gates" ? folder_beside(file.path, found->second.value)
                                                    : found->second.value;
  return {known.name, value, file.path + ":" + std::to_string(found->second.line)};
}

// Names what is wrong with a setting, and its file and line unless it comes from the command line.
std::string with_origin(const Setting& setting, const std::string& what) {
  return setting.origin == "flag" || setting.origin == "default" ? what : setting.origin + ": " + what;
}

// A file holds input; flags and variables are how the program is used.
Error bad_store(const Setting& setting, const LoadedFile& file, const Error& error) {
  const bool from_file = !file.path.empty() && setting.origin.starts_with(file.path + ":");
  const std::string text = with_origin(setting, error.message);
  return from_file ? Error{Code::invalid, text} : usage_error(text);
}

bool is_zone_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  return file.read(magic.data(), magic.size()) && std::string_view(magic.data(), magic.size()) == "TZif";
}

// "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3": a zone that explains itself. How it changes is not looked at.
bool is_zone_rule(const std::string& text) {
  static const std::regex rule(
      "([A-Za-z]{3,}|<[-+A-Za-z0-9]{3,}>)[-+]?[0-9]{1,3}(:[0-9]{2}){0,2}(([A-Za-z]{3,}|<[-+A-Za-z0-9]{3,}>).*)?");
  return text.size() < 200 && std::regex_match(text, rule);
}

}  // namespace

std::optional<std::string> unknown_zone() {
  const std::optional<std::string> set = environment("TZ");
  if (!set) return std::nullopt;
  const std::string name = set->starts_with(':') ? set->substr(1) : *set;
  const std::filesystem::path folder = environment("TZDIR").value_or("/usr/share/zoneinfo");
  if (name == "UTC" || name == "GMT" || is_zone_rule(name)) return std::nullopt;
  if (!name.empty() && is_zone_file(folder / name)) return std::nullopt;  // an absolute path stays one
  return *set;
}

bool is_number(const std::string& setting) {
  if (setting.starts_with("lock.")) return is_lock_number(setting.substr(setting.rfind('.') + 1));
  if (setting.starts_with("schedule.")) return is_schedule_number(setting.substr(setting.rfind('.') + 1));
  const auto known = std::ranges::find(known_settings(), setting, &Known::name);
  return known != known_settings().end() && known->kind == Known::Kind::number;
}

Result<std::map<std::string, FileSetting>> parse_project_file(const std::string& path, const std::string& text) {
  return ProjectFile(path).read(text);
}

std::string without_password(const std::string& url) {
  const std::size_t authority = url.find("://");
  if (authority == std::string::npos) return url;
  const std::size_t begin = authority + 3;
  const std::size_t at = url.substr(0, url.find('/', begin)).rfind('@');
  const std::size_t colon = url.find(':', begin);
  if (at == std::string::npos || at < begin || colon == std::string::npos || colon > at) return url;
  return url.substr(0, colon + 1) + "***" + url.substr(at);
}

Result<void> settle_config(const CommandSpec& command, Invocation& invocation) {
  const bool reads_file = !command.hidden && !command.without_config;
  const Result<LoadedFile> file = reads_file ? load_file(invocation) : LoadedFile{};
  if (!file) return std::unexpected(file.error());
  for (const Known& known : known_settings()) {
    Setting setting = in_force(known, invocation, *file);
    if (!is_valid_utf8(setting.value))
      return std::unexpected(
          usage_error(setting.origin + " is not valid UTF-8; use a value such as '" + known.otherwise + "'"));
    if (known.name == "store") {
      if (auto ok = is_tracker_url(setting.value) ? Result<void>{} : check_store_url(setting.value); !ok && reads_file)
        return std::unexpected(bad_store(setting, *file, ok.error()));
      invocation.store_url = setting.value;
      setting.value =
          is_on_a_server(setting.value) ? store_url_in_force(setting.value) : without_password(setting.value);
    } else if (known.name == "namespace") {
      if (auto ok = check_name("namespace", setting.value); !ok)
        return fail(Code::invalid, with_origin(setting, ok.error().message));
      invocation.ns = setting.value;
    } else if (known.name == "gates") {
      if (setting.value.empty()) setting.value = gates_of(invocation.store_url);
      invocation.gates = setting.value;
    } else if (known.name == "trace.endpoint") {
      setting.value = without_password(setting.value);
    } else if (known.command == command.name && file->settings.contains(known.name) && !invocation.has(known.option)) {
      invocation.options[known.option] = {setting.value};
    }
    invocation.settings.push_back(std::move(setting));
  }
  std::map<std::string, std::map<std::string, LockFileValue>> classes;
  for (const auto& [name, setting] : file->settings) {
    const std::size_t dot = name.rfind('.');
    if (name.starts_with("lock."))
      classes[name.substr(5, dot - 5)][name.substr(dot + 1)] = {setting.value, setting.line};
  }
  for (Setting& setting : lock_settings(file->path, classes)) invocation.settings.push_back(std::move(setting));
  for (const auto& [name, setting] : file->settings) {
    if (name.starts_with("schedule."))
      invocation.settings.push_back({name, setting.value, file->path + ":" + std::to_string(setting.line)});
  }
  return {};
}

Result<LogChoice> log_choice(const CommandSpec& command) {
  const std::optional<std::string> text = environment("FENCELINE_LOG");
  if (!text && command.name == "work") return LogChoice{.least = Level::info};
  if (!text) return LogChoice{.least = Level::warn, .deferred = !command.hidden};
  for (const Level level : {Level::debug, Level::info, Level::warn, Level::error}) {
    if (*text == to_string(level)) return LogChoice{.least = level};
  }
  return std::unexpected(
      usage_error("FENCELINE_LOG '" + printable(*text, 40) + "' is not a log level; use debug, info, warn or error"));
}

Result<std::optional<ArmedCrashPoint>> armed_crash_point() {
  const std::optional<std::string> text = environment("FENCELINE_CRASH_AT");
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  const std::optional<CrashPoint> point = find_crash_point(text->substr(0, colon));
  const std::optional<int> nth = colon == std::string::npos ? 1 : whole_number(text->substr(colon + 1));
  if (!point || !nth || *nth < 1)
    return std::unexpected(
        usage_error("FENCELINE_CRASH_AT '" + printable(*text, 40) +
                    "' is not a crash point; use NAME or NAME:NTH from 'fenceline drill kill --list'"));
  return ArmedCrashPoint{*point, *nth, environment("FENCELINE_CRASH_MARK").value_or("")};
}

std::string login_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return printable(found->pw_name, 64);
  return "uid-" + std::to_string(::geteuid());
}

std::optional<std::string> from_environment(const char* name) { return environment(name); }

std::string trace_from_environment() { return environment("TRACEPARENT").value_or(""); }

bool colour_allowed() { return !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb"; }

int terminal_width() {
  if (const auto columns = environment("COLUMNS")) {
    if (const auto number = whole_number(*columns); number && *number >= 20) return *number;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

}  // namespace fenceline::cli
