// Queues as people and scripts see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

// Items that wait for approval, which the store counts as ready, count as waiting; at most kAheadCounted of a queue are
// looked for. Errors: those of the store.
Result<std::vector<QueueRow>> shown_queues(const Invocation& invocation, Store& store);

// One JSON object on one line.
std::string queue_json(const QueueRow& row);
// `now`: for people at a terminal, who get short times.
Table queue_table(const std::vector<QueueRow>& rows, std::optional<WallTime> now);
// One field a line.
Table queue_card(const QueueRow& row);

// The row of the queue typed as QUEUE. Errors: invalid (no name), not_found, with the nearest name.
Result<QueueRow> find_queue(const Invocation& invocation, Store& store);
Result<QueueRow> find_queue(const Invocation& invocation, Store& store, const std::string& queue);

}  // namespace fenceline::cli
