// What may be said of a schedule: on the command line as options of 'schedule add', and in fenceline.toml as keys of
// [schedule.NAME].
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "model/schedule.hpp"
#include "services/schedule_acts.hpp"

namespace fenceline::cli {

// The keys, in the order of the manual: "catch_up".
std::vector<std::string> schedule_keys();
bool is_schedule_number(std::string_view key);

// As written in fenceline.toml: "90s", "queue-one", "3". Errors: invalid, without the key's name.
Result<void> set_schedule_value(ScheduleSpec& spec, std::string_view key, const std::string& text);

// --catch-up and the like; `keys` names some of them, and none means all.
std::vector<OptionSpec> schedule_options(const std::vector<std::string>& keys = {});
// What they say, beside what `spec` says already. Errors: usage.
Result<ScheduleSpec> spec_from_options(const Invocation& invocation, ScheduleSpec spec = {});

// Those that fenceline.toml has, by name. Errors: invalid.
Result<std::vector<NamedSpec>> declared_schedules(const Invocation& invocation);

}  // namespace fenceline::cli
