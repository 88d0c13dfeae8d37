// Small texts that several commands print: times, bytes that are not text, what people may see of foreign input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace fenceline::cli {

// RFC 3339 in UTC with microseconds: "2026-11-15T10:26:26.000000Z".
std::string format_time(WallTime time);

// For a column of a table: "10:00:00Z" if it is of today, "11-15 10:00Z" if of this year, else "2025-11-15".
std::string short_time(WallTime time, WallTime now);

// "21:51:03" in the time zone of this machine: for lines that people watch.
std::string local_clock(WallTime time);

// Safe on a terminal and on one line: control characters and invalid UTF-8 become '?'; cut, with "...", after
// `most` characters (0: never).
std::string printable(std::string_view text, std::size_t most = 0);

// User input in a message: 'text', printable and short.
std::string in_quotes(std::string_view text);

// For a column of a table, at most five characters: "25ms", "4.2s", "42s", "12m", "5h", "90d"; negative ones as "0ms".
std::string brief_duration(Duration duration);

// What is not set is shown as nothing.
std::string or_empty(Duration duration);
std::string or_empty(int number);

std::string joined(const std::vector<std::string>& words, std::string_view between = ",");

// Everything in one line: runs of white space become one space.
std::string one_line(std::string_view text);

// Broken between words so that no line is longer than `width`, if a word is not; every line after the first is
// indented. Ends with a newline.
std::string folded(const std::string& text, std::size_t indent, std::size_t width);

std::string base64(std::string_view bytes);

// JSON text without white space between its tokens; the tokens themselves are not touched, so numbers keep
// every digit. `json` must be valid.
std::string compact_json(std::string_view json);

}  // namespace fenceline::cli
