#include "cli/frame/table.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

const Table kTable{
    {{"id"}, {"note", true}, {"count", false, true}, {"error"}},
    {{"a", "x\ty", "7", "one\ntwo\\"}, {"bbbbb", "", "123456", {"a very long text that does not fit", Tone::bad}}}};

TEST(Table, InAPipeEveryColumnIsThereAndCellsCannotBreakLines) {
  EXPECT_EQ(
      render_tsv(kTable),
      "id\tnote\tcount\terror\na\tx\\ty\t7\tone\\ntwo\\\\\nbbbbb\t\t123456\ta very long text that does not fit\n");
  EXPECT_EQ(render_tsv({{{"id"}}, {{"a"}}}, false), "a\n");
}

TEST(Table, OnATerminalTheWidestColumnIsCut) {
  EXPECT_EQ(render_columns(kTable, 30, false),
            "id      count  error\n"
            "a           7  one?two\\\n"
            "bbbbb  123456  a very long t..\n");
}

TEST(Table, WhatPeopleCopyIsNeverCut) {
  const Table table{{{.name = "id", .whole = true}, {.name = "error"}},
                    {{"0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10", "a long story of what went wrong"}}};
  EXPECT_EQ(render_columns(table, 50, false, false), "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10  a long sto..\n");
}

TEST(Table, ABriefTextIsForTerminalsOnly) {
  Cell id("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10");
  id.brief = "0c6f9d10";
  const Table table{{{.name = "id", .whole = true}, {"state"}}, {{id, "dead"}}};
  EXPECT_EQ(render_columns(table, 80, false), "id        state\n0c6f9d10  dead\n");
  EXPECT_EQ(render_tsv(table), "id\tstate\n0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10\tdead\n");
}

TEST(Table, AColumnThatWrapsTakesSeveralLinesAndIsNeverCut) {
  const Table table{{{.name = "id", .whole = true}, {.name = "title", .wraps = true}, {.name = "why", .wraps = true}},
                    {{"1", "a title of several words", "approval of publish by ana"}, {"2", "short", ""}}};
  EXPECT_EQ(render_columns(table, 32, false),
            "id  title          why\n"
            "1   a title of     approval of\n"
            "    several words  publish by\n"
            "                   ana\n"
            "2   short          \n");
  EXPECT_EQ(render_tsv(table, false), "1\ta title of several words\tapproval of publish by ana\n2\tshort\t\n");
}

TEST(Table, ASpareColumnIsThereWhereThereIsRoomAndInAPipe) {
  const Table table{{{"id"}, {.name = "losses", .right = true, .spare = true}, {"error"}}, {{"a", "3", "boom"}}};
  EXPECT_EQ(render_columns(table, 80, false), "id  error\na   boom\n");
  EXPECT_EQ(render_columns(table, 100, false), "id  losses  error\na        3  boom\n");
  EXPECT_EQ(render_tsv(table), "id\tlosses\terror\na\t3\tboom\n");
}

TEST(Table, ColourIsOnlyThereIfWanted) {
  EXPECT_EQ(render_columns(kTable, 100, false).find('\x1b'), std::string::npos);
  EXPECT_NE(render_columns(kTable, 100, true).find("\x1b[31ma very long text that does not fit\x1b[0m"),
            std::string::npos);
}

TEST(Table, AnEmptyCellHasNoColour) {
  const Table table{{{"a"}}, {{Cell("", Tone::warning)}}};
  EXPECT_EQ(render_columns(table, 80, true, false), "\n");
}

TEST(Table, ALineNeverShrinksToNothing) {
  EXPECT_NE(render_columns(kTable, 1, false).find("a very.."), std::string::npos);
}

}  // namespace
}  // namespace fenceline::cli
