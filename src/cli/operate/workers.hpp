// Workers as operators see them.
#pragma once

#include <optional>
#include <string>

#include "cli/frame/command.hpp"
#include "doctor/state.hpp"

namespace fenceline::cli {

// Whether the process of a worker lives, if it is one of this machine; empty: who knows.
std::optional<bool> lives_here(const WorkerRow& row);

// Whether that process of this machine is stopped, and not younger than that: else its number was given to another.
bool stopped_here(const std::string& host, std::int64_t pid, Duration age);

// One JSON object on one line.
std::string worker_json(const WorkerRow& row);

}  // namespace fenceline::cli
