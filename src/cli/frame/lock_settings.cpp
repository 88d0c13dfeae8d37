#include "cli/frame/lock_settings.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "cli/frame/setting_values.hpp"
#include "cli/frame/text.hpp"
#include "metrics/families.hpp"

namespace fenceline::cli {
namespace {

struct LockKey {
  std::string name;
  std::function<std::string(const LockOptions&)> text;
  SetValue<LockOptions> set;
  bool number = false;
};

LockKey lock_duration(std::string name, Duration LockOptions::*member, DurationRange range) {
  return {std::move(name), [member](const LockOptions& options) { return format_duration(options.*member); },
          set_duration(member, range)};
}

template <class Word>
LockKey lock_word(std::string name, Word LockOptions::*member, std::optional<Word> (*parse)(std::string_view),
                  std::string words) {
  return {std::move(name), [member](const LockOptions& options) { return std::string(to_string(options.*member)); },
          set_word(member, parse, std::move(words))};
}

// "backup, close": apart by commas or spaces.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : std::string(text) + ",") {
    if (c != ',' && c != ' ') name += c;
    else if (!name.empty()) names.push_back(std::exchange(name, {}));
  }
  return names;
}

// They are for metrics alone: the lock that is asked for is named by who asks.
Result<void> check_class_names(LockOptions&, const std::string& text) {
  const std::vector<std::string> names = names_in(text);
  if (names.empty() || names.size() > metrics::kLockNamesMost)
    return fail(Code::invalid, "has " + std::to_string(names.size()) + " names; use 1 to " +
                                   std::to_string(metrics::kLockNamesMost) + ", apart by commas");
  for (const std::string& name : names) {
    if (auto ok = check_lock_name(name); !ok) return ok;
  }
  return {};
}

const std::vector<LockKey>& all_lock_keys() {
  static const std::vector<LockKey> all{
      lock_word("pattern", &LockOptions::pattern, parse_lock_pattern, "item, loop, fenced or layered"),
      lock_duration("ttl", &LockOptions::ttl, kTtlRange),
      lock_duration("renewal", &LockOptions::renew_every, {Duration{0}, kTtlRange.most}),
      {"failures", [](const LockOptions& options) { return std::to_string(options.renewal_tries); },
       set_number(&LockOptions::renewal_tries, 1, kRenewalTriesMax), true},
      lock_duration("wait", &LockOptions::wait, kWaitRange),
      lock_word("contention", &LockOptions::contention, parse_contention, "skip, retry or in_turn"),
      lock_word("on_acquire_error", &LockOptions::on_acquire_error, parse_on_store_error, "closed or open"),
      lock_word("on_renewal_error", &LockOptions::on_renewal_error, parse_on_store_error, "closed or open"),
      lock_word("on_release_error", &LockOptions::on_release_error, parse_on_release_error, "report or ignore"),
      lock_duration("hold_at_least", &LockOptions::hold_at_least, kWaitRange),
      lock_duration("delay", &LockOptions::delay, kWaitRange),
      lock_duration("every", &LockOptions::every, kWaitRange),
      {"names", [](const LockOptions&) { return std::string(); }, check_class_names},
  };
  return all;
}

const LockKey& lock_key_of(std::string_view name) { return *std::ranges::find(all_lock_keys(), name, &LockKey::name); }

const std::vector<std::string>& presets() {
  static const std::vector<std::string> names{"job", "loop", "run", "writer"};
  return names;
}

std::string prefix_of(const std::string& name) { return "lock." + name + "."; }

}  // namespace

std::vector<std::string> lock_keys() {
  std::vector<std::string> names;
  for (const LockKey& key : all_lock_keys()) names.push_back(key.name);
  return names;
}

bool is_lock_number(std::string_view key) {
  return std::ranges::any_of(all_lock_keys(), [&](const LockKey& known) { return known.name == key && known.number; });
}

std::string lock_value(const LockOptions& options, std::string_view key) { return lock_key_of(key).text(options); }

Result<void> set_lock_value(LockOptions& options, std::string_view key, const std::string& text) {
  return lock_key_of(key).set(options, text);
}

LockOptions lock_class_base(std::string_view name) { return lock_preset(name).value_or(LockOptions{}); }

std::vector<Setting> lock_settings(const std::string& path,
                                   const std::map<std::string, std::map<std::string, LockFileValue>>& classes) {
  std::set<std::string> names(presets().begin(), presets().end());
  for (const auto& [name, values] : classes) names.insert(name);
  std::vector<Setting> settings;
  for (const std::string& name : names) {
    const auto of_file = classes.find(name);
    const LockOptions base = lock_class_base(name);
    for (const LockKey& key : all_lock_keys()) {
      const bool always = key.name == "pattern" || key.name == "ttl";
      if (of_file != classes.end()) {
        // The renewal of a preset goes with its ttl.
        if (key.name == "renewal" && of_file->second.contains("ttl") && !of_file->second.contains("renewal")) continue;
        if (const auto value = of_file->second.find(key.name); value != of_file->second.end()) {
          settings.push_back(
              {prefix_of(name) + key.name, value->second.value,
               value->second.line == kNoLine ? "default" : path + ":" + std::to_string(value->second.line)});
          continue;
        }
      }
      if (always || key.text(base) != key.text(LockOptions{}))
        settings.push_back({prefix_of(name) + key.name, key.text(base), "default"});
    }
  }
  return settings;
}

std::vector<std::string> lock_class_names(const Invocation& invocation, const std::string& name) {
  const auto found = std::ranges::find(invocation.settings, prefix_of(name) + "names", &Setting::name);
  return found == invocation.settings.end() ? std::vector<std::string>{} : names_in(found->value);
}

Result<LockOptions> find_lock_class(const Invocation& invocation, const std::string& name) {
  LockOptions options = lock_class_base(name);
  options.renew_every = Duration{0};  // the preset's own value comes with the settings, if it still applies
  bool found = false;
  std::vector<std::string> names;
  for (const Setting& setting : invocation.settings) {
    if (!setting.name.starts_with("lock.")) continue;
    const std::size_t dot = setting.name.rfind('.');
    const std::string of = setting.name.substr(5, dot - 5);
    if (names.empty() || names.back() != of) names.push_back(of);
    if (of != name) continue;
    found = true;
    if (auto ok = set_lock_value(options, setting.name.substr(dot + 1), setting.value); !ok)
      return fail(Code::invalid, setting.origin + ": " + setting.name + " " + ok.error().message);
  }
  if (found) return options;
  const std::optional<std::string> near = nearest(name, names);
  return fail(Code::not_found,
              "unknown lock class '" + printable(name, 40) + "'; " +
                  (near ? "did you mean '" + *near + "'?"
                        : "use job, loop, run, writer or a class that fenceline.toml defines as [lock.NAME]"));
}

}  // namespace fenceline::cli
