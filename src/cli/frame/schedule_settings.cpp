#include "cli/frame/schedule_settings.hpp"

#include <algorithm>
#include <functional>

#include "base/duration_text.hpp"
#include "cli/frame/setting_values.hpp"
#include "cli/frame/time_text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kPrefix = "schedule.";

struct ScheduleKey {
  std::string name;
  std::string value;  // in the help
  std::string help;
  SetValue<ScheduleSpec> set;
  bool number = false;
};

ScheduleKey schedule_text(std::string name, std::string ScheduleSpec::*member, std::string value, std::string help) {
  return {std::move(name), std::move(value), std::move(help),
          [member](ScheduleSpec& spec, const std::string& text) -> Result<void> {
            if (text.empty()) return fail(Code::invalid, "is empty; omit it");
            spec.*member = text;
            return {};
          }};
}

ScheduleKey schedule_duration(std::string name, Duration ScheduleSpec::*member, DurationRange range, std::string help) {
  return {std::move(name), "D", std::move(help), set_duration(member, range)};
}

template <class Member>
ScheduleKey schedule_time(std::string name, Member member, std::string help) {
  return {std::move(name), "TIME", std::move(help),
          [member](ScheduleSpec& spec, const std::string& text) -> Result<void> {
            const Result<WallTime> parsed = parse_time(text);
            if (!parsed) return std::unexpected(parsed.error());
            spec.*member = *parsed;
            return {};
          }};
}

ScheduleKey schedule_number(std::string name, int ScheduleSpec::*member, int least, int most, std::string help) {
  return {std::move(name), "N", std::move(help), set_number(member, least, most), true};
}

// One of some words, "a|b|c".
template <class Word>
ScheduleKey schedule_word(std::string name, Word ScheduleSpec::*member, std::optional<Word> (*parse)(std::string_view),
                          const std::string& words, std::string help) {
  return {std::move(name), words, std::move(help), set_word(member, parse, words)};
}

void add_tag(ScheduleSpec& spec, const std::string& tag) {
  const auto place = std::ranges::lower_bound(spec.tags, tag);
  if (place == spec.tags.end() || *place != tag) spec.tags.insert(place, tag);
}

Result<void> set_tags(ScheduleSpec& spec, const std::string& text) {
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    add_tag(spec, text.substr(from, end - from));
    from = end + 1;
  }
  return {};
}

const std::vector<ScheduleKey>& all_schedule_keys() {
  static const std::vector<ScheduleKey> all{
      schedule_text("cron", &ScheduleSpec::cron, "EXPR",
                    "cron expression: minute hour day month weekday, six fields with seconds first, or @hourly and the "
                    "like; see docs/schedules-time.md"),
      schedule_duration("every", &ScheduleSpec::every, {std::chrono::seconds{1}, std::chrono::days{366}},
                        "interval in whole seconds, 1s to 366d, instead of --cron"),
      schedule_time("anchor", &ScheduleSpec::anchor,
                    "point in time that the ticks of an interval are counted from, in both directions; default "
                    "1970-01-01T00:00:00Z"),
      schedule_text("tz", &ScheduleSpec::zone, "ZONE",
                    "time zone of the cron expression, such as Europe/Berlin; default UTC"),
      schedule_text("queue", &ScheduleSpec::queue, "QUEUE", "queue of its jobs"),
      schedule_text("stage", &ScheduleSpec::stage, "STAGE",
                    "stage of its jobs: only workers with the same --stage take them; default none"),
      schedule_text("payload", &ScheduleSpec::payload, "JSON",
                    "payload of each job; ${tick}, ${tick.local}, ${tick.unix} and ${schedule} are replaced in its "
                    "strings; default null"),
      schedule_word(
          "catch_up", &ScheduleSpec::catch_up, parse_catch_up, "all|latest|none",
          "which of the ticks that nobody fired within a minute fire later: all, the latest or none; default latest"),
      schedule_duration("window", &ScheduleSpec::window, {std::chrono::minutes{1}, std::chrono::days{30}},
                        "skip ticks older than this, 1m to 30d; default 1d"),
      schedule_number("cap", &ScheduleSpec::cap, 1, kCatchUpCapMost,
                      "fire at most this many late ticks, the newest, 1 to 1000; default 100"),
      schedule_word("overlap", &ScheduleSpec::overlap, parse_overlap, "allow|skip|queue-one|cancel-running",
                    "what to do with a tick while a job of an earlier tick is unfinished; default allow"),
      schedule_duration("jitter", &ScheduleSpec::jitter, {Duration{0}, std::chrono::hours{24}},
                        "start each job up to this long after its tick, 0s to 24h; default 0s"),
      schedule_time("starts", &ScheduleSpec::starts, "no tick fires before this time"),
      schedule_time("ends", &ScheduleSpec::ends, "no tick fires after this time"),
      schedule_number("priority", &ScheduleSpec::priority, -kPriorityMost, kPriorityMost,
                      "priority of its jobs, -1000 to 1000, larger runs sooner; default 0"),
      schedule_number("max_attempts", &ScheduleSpec::attempts_max, 1, 1000,
                      "failures before a job is dead, 1 to 1000; default 10"),
      schedule_duration("timeout", &ScheduleSpec::timeout, kTimeoutRange,
                        "stop an attempt that takes longer, and count it as a failure, 1s to 30d; default none"),
      schedule_text("group", &ScheduleSpec::group, "GROUP",
                    "group of its jobs, which run one at a time; default none, or its own group for queue-one and "
                    "cancel-running"),
      schedule_text("limit_key", &ScheduleSpec::limit_key, "KEY", "key for --limit-per-key of 'queue set'"),
      {"tags", "TAG", "tag of its jobs, to find them again; at most 15, besides schedule:NAME, which is always set",
       set_tags},
  };
  return all;
}

std::string option_of(const ScheduleKey& key) {
  if (key.name == "tags") return "--tag";
  std::string option = "--" + key.name;
  std::ranges::replace(option, '_', '-');
  return option;
}

}  // namespace

std::vector<std::string> schedule_keys() {
  std::vector<std::string> names;
  for (const ScheduleKey& key : all_schedule_keys()) names.push_back(key.name);
  return names;
}

bool is_schedule_number(std::string_view key) {
  return std::ranges::any_of(all_schedule_keys(),
                             [&](const ScheduleKey& known) { return known.name == key && known.number; });
}

Result<void> set_schedule_value(ScheduleSpec& spec, std::string_view key, const std::string& text) {
  return std::ranges::find(all_schedule_keys(), key, &ScheduleKey::name)->set(spec, text);
}

std::vector<OptionSpec> schedule_options(const std::vector<std::string>& wanted) {
  std::vector<OptionSpec> options;
  for (const ScheduleKey& key : all_schedule_keys()) {
    if (wanted.empty() || std::ranges::find(wanted, key.name) != wanted.end())
      options.push_back({option_of(key), key.value, key.help, key.name == "tags"});
  }
  return options;
}

Result<ScheduleSpec> spec_from_options(const Invocation& invocation, ScheduleSpec spec) {
  for (const ScheduleKey& key : all_schedule_keys()) {
    const std::string option = option_of(key);
    const auto typed = invocation.options.find(option);
    if (typed == invocation.options.end()) continue;
    if (key.name == "tags") {
      for (const std::string& tag : typed->second) add_tag(spec, tag);
    } else if (auto ok = key.set(spec, typed->second.back()); !ok) {
      return std::unexpected(usage_error(option + " " + ok.error().message));
    }
  }
  return spec;
}

Result<std::vector<NamedSpec>> declared_schedules(const Invocation& invocation) {
  std::vector<NamedSpec> found;
  for (const Setting& setting : invocation.settings) {
    if (!setting.name.starts_with(kPrefix)) continue;
    const std::size_t dot = setting.name.rfind('.');
    const std::string name = setting.name.substr(kPrefix.size(), dot - kPrefix.size());
    if (found.empty() || found.back().name != name) found.push_back({name, {}});
    if (auto ok = set_schedule_value(found.back().spec, setting.name.substr(dot + 1), setting.value); !ok)
      return fail(Code::invalid, setting.origin + ": " + setting.name + " " + ok.error().message);
  }
  return found;
}

}  // namespace fenceline::cli
