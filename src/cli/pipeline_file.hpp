// A pipeline as people write it: a file of its own, in TOML.
#pragma once

#include <string>

#include "base/result.hpp"
#include "model/pipeline.hpp"

namespace fenceline::cli {

// Pure; `path` is for messages only. Errors: invalid, with the line; an unknown key with the one that was probably meant.
Result<PipelineSpec> parse_pipeline_file(const std::string& path, const std::string& text);

// Errors: not_found, invalid.
Result<PipelineSpec> read_pipeline_file(const std::string& path);

}  // namespace fenceline::cli
