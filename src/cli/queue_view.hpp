// Queues as people and scripts see them.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"

namespace fenceline::cli {

// One JSON object on one line.
std::string queue_json(const QueueRow& row);
Table queue_table(const std::vector<QueueRow>& rows);
// One field a line.
Table queue_card(const QueueRow& row);

// The row of the queue typed as QUEUE. Errors: invalid (no name), not_found, with the nearest name.
Result<QueueRow> find_queue(const Invocation& invocation, Store& store);

}  // namespace fenceline::cli
