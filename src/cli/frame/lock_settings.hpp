// Lock classes: what fenceline.toml may say in [lock.NAME], and the presets that are there without it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "services/lock_options.hpp"

namespace fenceline::cli {

// The keys of a class, in the order of the manual: "ttl".
std::vector<std::string> lock_keys();
bool is_lock_number(std::string_view key);

// As written in fenceline.toml or on the command line: "30s", "in_turn", "3". Errors: invalid, without the key's
// name.
std::string lock_value(const LockOptions& options, std::string_view key);
Result<void> set_lock_value(LockOptions& options, std::string_view key, const std::string& text);

// A class as it is before anybody says something of it: a preset, or a plain one.
LockOptions lock_class_base(std::string_view name);

// One value of a file, and its line.
struct LockFileValue {
  std::string value;
  int line = 0;  // kNoLine: the file has the class, and says nothing of this
};
inline constexpr int kNoLine = 0;
// What is in force of every class, by name: presets, and those that a file has ("NAME" -> "ttl" -> "1m"). Of a preset
// only what it changes is shown.
std::vector<Setting> lock_settings(const std::string& path,
                                   const std::map<std::string, std::map<std::string, LockFileValue>>& classes);

// The names that a class declares as a bounded set: those that have a label of their own in metrics.
std::vector<std::string> lock_class_names(const Invocation& invocation, const std::string& name);

// The class of that name: a preset, or one of the file. Errors: not_found.
Result<LockOptions> find_lock_class(const Invocation& invocation, const std::string& name);

}  // namespace fenceline::cli
