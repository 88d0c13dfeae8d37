#include "cli/pipelines/board_view.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace fenceline::cli {
namespace {

TEST(BoardView, ShowsTitlesAndWholeReasonsAt80Columns) {
  const Board board{
      .pipeline = "docs",
      .stages = {"ready", "review", "publish"},
      .rows = {{.id = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10",
                .title = "Explain how a gate is put back after the store was restored",
                .stage = "publish",
                .at_entry = true,
                .state = "waiting",
                .waits_for = "approval of publish by ana or bob (0 of 2), until 2026-11-18T10:00:00Z, then reject"},
               {.id = "17", .title = "A short one", .stage = "review", .state = "running", .holder = "box:812"}}};
  const std::string text = render_columns(board_table(board), 80, false);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  std::string words;  // whatever the lines are, no word is cut or lost
  std::istringstream all(text);
  for (std::string word; all >> word;) words += word + " ";
  for (const char* word : {"0c6f9d10 ", "17 ", "Explain", "restored", "approval", "2026-11-18T10:00:00Z,", "reject"})
    EXPECT_NE(words.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_EQ(text.find(".."), std::string::npos) << text;
}

}  // namespace
}  // namespace fenceline::cli
