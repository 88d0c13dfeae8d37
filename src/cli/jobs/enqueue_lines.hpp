// A file of payloads, one a line, in constant memory.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/frame/command.hpp"

namespace fenceline::cli {

// Enqueues a job like `pattern` for each line of the file, - for stdin, in steps of 1000. At a bad line it stops; its
// step does not go in. With --batch the ids are made from the name and the line: a repeat adds nothing.
Result<int> enqueue_lines(Invocation& invocation, const NewJob& pattern, const std::string& path);

}  // namespace fenceline::cli
