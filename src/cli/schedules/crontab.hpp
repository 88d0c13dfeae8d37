// A crontab as schedules. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/schedule.hpp"
#include "services/schedule_acts.hpp"

namespace fenceline::cli {

struct Crontab {
  std::vector<NamedSpec> schedules;
  std::vector<std::string> left_out;  // lines that say something else: "crontab:2: PATH is left out: ..."
};

// Each line with five fields or an @word, and a command, becomes what `base` says with that rule and the payload
// {"command": ...}; what follows an unescaped % is its "stdin", as cron has it. CRON_TZ=ZONE counts for the lines below
// it; before that the zone is `base`'s, and there must be one. The name is made of the command alone: a line whose time
// was changed stays the same schedule. `path` is for messages. Errors: invalid, with the line.
Result<Crontab> parse_crontab(const std::string& path, const std::string& text, const ScheduleSpec& base,
                              bool has_zone);

}  // namespace fenceline::cli
