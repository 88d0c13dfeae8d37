// Where write gates keep what they remember, and what that is.
#pragma once

#include <optional>
#include <string>

#include "cli/frame/command.hpp"
#include "gates/gate_memory.hpp"

namespace fenceline::cli {

// The memory of a resource in the folder of gates; with --file, of that file. A gate of a file knows its namespace by
// name. Errors: usage (no folder).
Result<GateAt> gate_at(const Invocation& invocation, const std::string& resource);
GateAt gate_of_file(const Invocation& invocation, const std::string& resource, const std::string& file);
// In that folder; a name with a slash has no folder of its own.
std::string gate_path(const std::string& folder, const std::string& resource);
// Where the gates of this namespace lie. Errors: usage.
Result<std::string> gate_folder(const Invocation& invocation);
// The largest fence of a resource that its gate in that folder let in. What a gate that cannot be read remembers is not
// known; 'gate show' says why.
std::optional<Fence> seen_in_folder(const Invocation& invocation, const std::string& resource);

}  // namespace fenceline::cli
