// Standard output of the program. What cannot be written is noticed: a full disk behind a redirection is an
// error, a reader that went away (`| head -1`) is a quiet end.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace fenceline::cli {

// Writes to stdout, buffered. False once stdout is closed: a caller that prints a lot stops then.
bool print(std::string_view text);

// The same with a newline.
bool print_line(std::string_view text);

// Bytes of a handler: to a pipe as they are, to a terminal without what could steer it.
bool print_foreign(std::string_view bytes);

// Everything so far goes out now: for streams and before something slow.
bool flush_output();

// Words for people, to stderr, with a newline. Never fails.
void tell(std::string_view text);

// Flushes, and says whether all of it went out. A closed pipe counts as ok. Errors: broken.
Result<void> close_output();

// Whether people read stdout or stderr.
bool stdout_is_terminal();
bool stderr_is_terminal();

}  // namespace fenceline::cli
