// What is in each pane of `fenceline top`: rows that the filter lets through, in the order that was asked for, each
// with the command that does something about it.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/table.hpp"
#include "cli/operate/top_keys.hpp"
#include "cli/operate/top_state.hpp"

namespace fenceline::cli {

struct SheetRow {
  std::vector<Cell> cells;
  std::string advice;
};

struct Sheet {
  TopPane pane = TopPane::queues;
  std::string name;
  std::string order;  // by what it is sorted
  std::string none;   // shown if there are no rows
  std::vector<Column> columns;
  std::vector<SheetRow> rows;
};

// `pane` is one of them, not all.
Sheet sheet_of(const TopState& state, const TopModel& model, TopPane pane);

}  // namespace fenceline::cli
