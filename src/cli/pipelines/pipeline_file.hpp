// A pipeline as people write it: a file of its own, in TOML.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/pipeline.hpp"

namespace fenceline::cli {

// [tracker]: whom workers on an issue tracker trust, by account id, and which labels they use. Job stores ignore it.
struct TrackerTrust {
  std::vector<std::string> workers = {};  // accounts that workers use
  std::vector<std::string> people = {};   // whose moves are commands and whose approvals count
  bool claim_label = true;                // claim.label
  std::string claimed = {};               // claim.claimed: another name for the label `claimed`
  std::string in_progress = {};           // claim.in_progress: the label or status of an item that is worked on

  bool operator==(const TrackerTrust&) const = default;
};

struct DeclaredPipeline {
  PipelineSpec spec;
  TrackerTrust tracker = {};
};

// Pure; `path` is for messages only. Errors: invalid, with the line; an unknown key with the one that was probably
// meant.
Result<DeclaredPipeline> parse_pipeline_file(const std::string& path, const std::string& text);

// Errors: not_found, invalid.
Result<DeclaredPipeline> read_pipeline_file(const std::string& path);

}  // namespace fenceline::cli
