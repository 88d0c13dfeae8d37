// How lists look: columns that fit the terminal for people, tab-separated with a header in a pipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fenceline::cli {

enum class Tone { plain, good, warning, bad, faint };

// What turns a terminal's colour on; empty for plain.
std::string_view colour_of(Tone tone);

struct Cell {
  Cell(std::string shown, Tone how = Tone::plain) : text(std::move(shown)), tone(how) {}
  Cell(const char* shown, Tone how = Tone::plain) : text(shown), tone(how) {}

  std::string text;
  Tone tone = Tone::plain;
  std::string brief = {};  // if not empty: shown on a terminal instead of the text
};

struct Column {
  std::string name;
  bool wide_only = false;  // in a pipe, not on a terminal
  bool right = false;      // numbers
  bool whole = false;      // never cut: what people copy
  bool spare = false;      // not on a terminal of less than 100 columns
  bool wraps = false;      // broken into several lines where others are cut
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each with a cell for every column
};

// Columns side by side, the widest cut so that a line is at most `width` characters, if it can be; control
// characters are shown as '?'.
std::string render_columns(const Table& table, int width, bool colour, bool header = true);

// Every column; tab, newline, return and backslash in a cell become \t \n \r \\.
std::string render_tsv(const Table& table, bool header = true);

// To stdout, as suits it. False once stdout is gone. `header` is false for the later pages of one list.
bool print_table(const Table& table, bool header = true);

// A list. A terminal gets "fenceline: no locks" on stderr in place of an empty one, or nothing if `none` is empty; a
// pipe gets the header.
bool print_list(const Table& table, std::string_view none);

// A table of names and values without its header. People see what there is; a script finds every field in its place.
bool print_card(Table card);

}  // namespace fenceline::cli
