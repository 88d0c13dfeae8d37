// A file that only the newest holder may write: each write carries the fence of its lease, and one under an older fence
// than any before is refused, however late it comes.
//
//   const fenceline::GatedFile report({.path = "report.csv", .resource = "reports"});
//   const auto answer = report.put({.fence = run.job.fence, .content = text});
//   if (!answer || !answer->accepted()) return fenceline::RunResult::failed("the report is stale");
//
// The file is replaced whole or not at all, and is on the disk when put() returns. What the gate remembers lies beside
// it, in `report.csv.gate`, and not in a store: so it outlives a store that is restored from a backup.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "fenceline/fence.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr std::size_t kGatedContentBytesMax = std::size_t{64} << 20;

enum class GateVerdict {
  accepted,  // no larger fence was ever here
  stale,     // a larger fence has passed: another holder has the lease now
  behind,    // a larger one was, though the store knows no newer grant: the store was set back
};

std::string_view to_string(GateVerdict verdict);

struct GateAnswer {
  GateVerdict verdict = GateVerdict::stale;
  Fence remembered = 0;                        // the largest one that was let through, this one included; 0: none
  std::optional<Fence> newest = std::nullopt;  // of the store, if it was asked and knows the resource

  bool accepted() const { return verdict == GateVerdict::accepted; }
  bool operator==(const GateAnswer&) const = default;
};

// The rule of every gate: equal or larger than all before passes. Where the store at hand knows the resource, its
// newest grant counts too: below it is stale, and equal to it but below what the gate remembers is behind. Pure.
GateAnswer judge_fence(Fence fence, Fence remembered, std::optional<Fence> newest);

// Asks a store for the newest fence of the resource; empty if it knows none. Called while the gate is held.
using AskNewest = std::function<Result<std::optional<Fence>>()>;

struct GatedFileOptions {
  std::string path;                          // of the file; its folder must be there
  std::string resource;                      // whose fences these are, 1 to 256 bytes; the gate refuses another one's
  Duration wait = std::chrono::seconds{10};  // for one who holds the gate
};

struct GatedPut {
  Fence fence = 0;           // 1 to kFenceMax
  std::string_view content;  // at most kGatedContentBytesMax
  AskNewest newest = {};     // none: the gate's memory alone decides
  std::stop_token stop = {};
};

// Holds nothing between calls. Safe to use from several threads and processes of one machine, on a local disk.
class GatedFile {
 public:
  explicit GatedFile(GatedFileOptions options) : options_(std::move(options)) {}

  // Replaces the content if the fence passes. The gate is held from the comparison to the end, and remembers the fence
  // before the content changes: a crash in between leaves the old content, refuses what is older, and lets the same
  // fence do it again. A file that is there keeps its mode and, as far as this process may, its owner. Errors: invalid
  // (a fence or content out of its limits; a path that is a link, a folder or no plain file; a memory that is none),
  // conflict (the gate is of another resource), held (another process holds the gate for longer than `wait`, or a
  // stop), not_found (no such folder), full, broken, and what `newest` says. After full nothing has changed.
  Result<GateAnswer> put(const GatedPut& request) const;

  // The largest fence that was let through; empty if none was. Errors: invalid, broken.
  Result<std::optional<Fence>> remembered() const;

  static std::string memory_path(const std::string& path) { return path + ".gate"; }

 private:
  GatedFileOptions options_;
};

}  // namespace fenceline
