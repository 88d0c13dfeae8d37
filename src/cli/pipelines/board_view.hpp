// A board: where the items of a pipeline are, and what each waits for. Where the rows come from is not said here: a
// store of jobs, or a tracker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/frame/table.hpp"

namespace fenceline::cli {

struct BoardRow {
  std::string id;
  std::string title;      // a few words by which people know it; may be empty
  std::string stage;      // a stage's name
  bool at_entry = false;  // it is not in yet
  std::string state;      // ready, running, checking, waiting, on_hold, done, dead, cancelled
  std::string holder;     // who works on it
  std::string waits_for;  // as text; empty: nothing
  std::int64_t generation = 0;
  std::int64_t returns = 0;

  bool operator==(const BoardRow&) const = default;
};

struct Board {
  std::string pipeline;
  std::vector<std::string> stages;  // in order
  std::vector<BoardRow> rows;       // in any order
  std::int64_t done = 0;            // of all, shown or not
  std::int64_t cancelled = 0;
  bool more = false;  // not all unfinished and dead ones are among the rows
};

// One JSON object on one line.
std::string board_json(const Board& board);
// For each stage how many are where; then the items, by stage.
Table board_summary(const Board& board);
Table board_table(const Board& board);

}  // namespace fenceline::cli
