// How much room text takes on a terminal: East Asian letters and emoji two columns, combining marks none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fenceline::cli {

// Of text that is valid UTF-8 without control characters (see printable()). What steers colours (ESC [ ... m) takes
// none.
int columns_of(std::string_view text);

// The first `width` columns of it, colours ended, with `end` as the last of them if something was cut off. A letter
// that would stick out is left out.
std::string cut_to_columns(std::string_view text, int width, std::string_view end = "..");

// The text in lines of at most `width` columns, broken between words; a word that is longer is broken where it must be.
// At least one line, which may be empty.
std::vector<std::string> wrapped_to_columns(std::string_view text, int width);

}  // namespace fenceline::cli
