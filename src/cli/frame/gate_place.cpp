#include "cli/frame/gate_place.hpp"

#include "fenceline/gated_file.hpp"

namespace fenceline::cli {

Result<std::string> gate_folder(const Invocation& invocation) {
  if (invocation.gates.empty())
    return std::unexpected(usage_error("no folder for gates is set; pass --gates DIR or set FENCELINE_GATES"));
  return invocation.gates + "/" + invocation.ns;
}

GateAt gate_of_file(const Invocation& invocation, const std::string& resource, const std::string& file) {
  return {GatedFile::memory_path(file), invocation.ns == "default" ? resource : invocation.ns + "/" + resource};
}

Result<GateAt> gate_at(const Invocation& invocation, const std::string& resource) {
  if (const auto file = invocation.value("--file")) return gate_of_file(invocation, resource, *file);
  const Result<std::string> folder = gate_folder(invocation);
  if (!folder) return std::unexpected(folder.error());
  return GateAt{gate_path(*folder, resource), resource, true};
}

std::optional<Fence> seen_in_folder(const Invocation& invocation, const std::string& resource) {
  const Result<GateAt> at = invocation.gates.empty() ? fail(Code::not_found, "") : gate_at(invocation, resource);
  if (!at) return std::nullopt;
  const Result<std::optional<GateRecord>> record = look_at_gate(at->path);
  return record && *record && (*record)->fence != 0 ? std::optional((*record)->fence) : std::nullopt;
}

std::string gate_path(const std::string& folder, const std::string& resource) {
  std::string name;
  for (const char c : resource) name += c == '/' ? std::string("%2F") : std::string(1, c);
  return GatedFile::memory_path(folder + "/" + name);
}

}  // namespace fenceline::cli
