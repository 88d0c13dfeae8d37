#include "cli/frame/gate_place.hpp"

#include <algorithm>
#include <filesystem>

#include "fenceline/gated_file.hpp"
#include "model/job.hpp"
#include "store/store_findings.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kMemoryEnding = ".gate";
constexpr std::string_view kLinksEnding = ".files";
constexpr std::size_t kLinksMost = 1000;  // of one resource

std::string in_folder(const std::string& folder, const std::string& resource) {
  std::string name;
  for (const char c : resource) name += c == '/' ? std::string("%2F") : std::string(1, c);
  return folder + "/" + name;
}

std::string resource_of_file(const Invocation& invocation, const std::string& resource) {
  return invocation.ns == "default" ? resource : invocation.ns + "/" + resource;
}

// What the links of a folder point at, if it is there.
std::vector<std::string> targets_in(const std::filesystem::path& links) {
  std::vector<std::string> targets;
  std::error_code trouble;
  std::filesystem::directory_iterator entries(links, trouble);
  for (; !trouble && entries != std::filesystem::directory_iterator() && targets.size() < kLinksMost;
       entries.increment(trouble)) {
    std::error_code unknown;
    const std::filesystem::path target = std::filesystem::read_symlink(entries->path(), unknown);
    if (!unknown && std::filesystem::exists(target, unknown)) targets.push_back(target.string());
  }
  return targets;
}

std::optional<Fence> fence_at(const std::string& path, const std::string& resource) {
  const Result<std::optional<GateRecord>> record = look_at_gate(path);
  if (!record || !*record || (*record)->resource != resource || (*record)->fence == 0) return std::nullopt;
  return (*record)->fence;
}

}  // namespace

Result<std::string> gate_folder(const Invocation& invocation) {
  if (invocation.gates.empty())
    return std::unexpected(usage_error("no folder for gates is set; pass --gates DIR or set FENCELINE_GATES"));
  return invocation.gates + "/" + invocation.ns;
}

GateAt gate_of_file(const Invocation& invocation, const std::string& resource, const std::string& file) {
  return {GatedFile::memory_path(file), resource_of_file(invocation, resource)};
}

Result<GateAt> gate_at(const Invocation& invocation, const std::string& resource) {
  if (const auto file = invocation.value("--file")) return gate_of_file(invocation, resource, *file);
  const Result<std::string> folder = gate_folder(invocation);
  if (!folder) return std::unexpected(folder.error());
  return GateAt{gate_path(*folder, resource), resource, true};
}

std::string gate_path(const std::string& folder, const std::string& resource) {
  return GatedFile::memory_path(in_folder(folder, resource));
}

void link_file_gate(const Invocation& invocation, const std::string& resource, const std::string& file) {
  const Result<std::string> folder = gate_folder(invocation);
  if (!folder) return;
  std::error_code ignored;
  const std::string memory =
      std::filesystem::absolute(GatedFile::memory_path(file), ignored).lexically_normal().string();
  const std::filesystem::path links = in_folder(*folder, resource) + std::string(kLinksEnding);
  std::filesystem::create_directories(links, ignored);
  std::filesystem::create_symlink(memory, links / bytes_digest(memory), ignored);  // there already: the same
}

std::vector<std::string> linked_gates(const std::string& folder) {
  std::vector<std::string> all;
  std::error_code trouble;
  std::filesystem::directory_iterator entries(folder, trouble);
  for (; !trouble && entries != std::filesystem::directory_iterator(); entries.increment(trouble)) {
    if (!entries->path().string().ends_with(kLinksEnding)) continue;
    for (std::string& target : targets_in(entries->path())) all.push_back(std::move(target));
  }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);  // one file, two resources: an old link
  all.erase(repeated.begin(), repeated.end());
  return all;
}

std::string SeenGate::rebase(const std::string& resource) const {
  if (!of_file) return "fenceline gate rebase " + shell_word(resource);
  return "fenceline gate rebase --file " + shell_word(path.substr(0, path.size() - kMemoryEnding.size()));
}

std::optional<SeenGate> seen_in_folder(const Invocation& invocation, const std::string& resource) {
  const Result<std::string> folder = invocation.gates.empty() ? fail(Code::not_found, "") : gate_folder(invocation);
  if (!folder) return std::nullopt;
  std::optional<SeenGate> seen;
  const auto look = [&](const std::string& path, const std::string& of, bool of_file) {
    const std::optional<Fence> fence = fence_at(path, of);
    if (fence && (!seen || *fence > seen->fence)) seen = SeenGate{*fence, path, of_file};
  };
  look(gate_path(*folder, resource), resource, false);
  for (const std::string& path : targets_in(in_folder(*folder, resource) + std::string(kLinksEnding)))
    look(path, resource_of_file(invocation, resource), true);
  return seen;
}

}  // namespace fenceline::cli
