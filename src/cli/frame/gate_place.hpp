// Where write gates keep what they remember, and what that is.
//
// The folder of gates has a memory for each resource of `gate run` (www.gate). What `gate put` remembers lies beside
// its file; the folder has a link to it (www.files/5d1c0e7f3a2b4c6d), so that `locks list`, `doctor`, `gate show` and
// `gate rebase` find it. Nothing is decided by these links.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Makes the gate of a file known to the folder. Failures are ignored: the write itself has happened.
void link_file_gate(const Invocation& invocation, const std::string& resource, const std::string& file);
// The memories of files that the folder has links to, by path; those that are gone are left out.
std::vector<std::string> linked_gates(const std::string& folder);

// What a gate that the folder knows has let through.
struct SeenGate {
  Fence fence = 0;
  std::string path;  // of the memory
  bool of_file = false;

  // The command that lifts the store above it.
  std::string rebase(const std::string& resource) const;
};
// The gate of a resource that has let the largest fence in. A gate that cannot be read counts as unknown; 'gate show'
// says why.
std::optional<SeenGate> seen_in_folder(const Invocation& invocation, const std::string& resource);

}  // namespace fenceline::cli
