// How much room text takes on a terminal: East Asian letters and emoji two columns, combining marks none.
#pragma once

#include <string>
#include <string_view>

namespace fenceline::cli {

// Of text that is valid UTF-8 without control characters (see printable()). What steers colours (ESC [ ... m) takes
// none.
int columns_of(std::string_view text);

// The first `width` columns of it, colours ended, with `end` as the last of them if something was cut off. A letter
// that would stick out is left out.
std::string cut_to_columns(std::string_view text, int width, std::string_view end = "..");

}  // namespace fenceline::cli
