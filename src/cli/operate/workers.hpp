// Workers as operators see them.
#pragma once

#include <optional>
#include <string>

#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"
#include "doctor/state.hpp"

namespace fenceline::cli {

// Whether the process of a worker lives, if it is one of this machine; empty: who knows.
std::optional<bool> lives_here(const WorkerRow& row);

// Whether that process of this machine is stopped, and not younger than that: else its number was given to another.
bool stopped_here(const std::string& host, std::int64_t pid, Duration age);

// What of `running` is this worker's.
const std::vector<Holding>& runs_of(const WorkerRow& row, const RunningByOwner& running);

// One JSON object on one line.
std::string worker_json(const WorkerRow& row, const RunningByOwner& running);
Table worker_table(const std::vector<WorkerRow>& rows, const RunningByOwner& running);

}  // namespace fenceline::cli
