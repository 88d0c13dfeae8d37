// What drills that take the server of a store down know of it.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace fenceline::cli {

// The data folder of a server that script/with_postgres started, by the variable it sets; nothing if it set none.
std::optional<std::string> data_folder_of_tests();

// pg_ctl on a data folder, for a shell: by the server's own user, and waiting until it is done. Errors: invalid (no server was started there).
Result<std::string> control_command(const std::string& data);

// Runs a line in a shell; false if it failed. Its words go nowhere: a server that it starts would keep them open.
bool run_in_shell(const std::string& line);

}  // namespace fenceline::cli
