#include "cli/frame/current_job.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "cli/frame/command.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

Result<std::string> from_worker(const char* name, std::string_view command) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    return std::unexpected(usage_error(std::string(name) + " is not set; fenceline " + std::string(command) +
                                       " works only in commands that 'fenceline work' runs"));
  return std::string(value);
}

std::optional<Fence> parse_fence(std::string_view text) {
  Fence fence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fence);
  if (error != std::errc{} || end != text.data() + text.size() || fence < 1) return std::nullopt;
  return fence;
}

}  // namespace

Result<Holding> current_job(std::string_view command) {
  const Result<std::string> job = from_worker("FENCELINE_JOB", command);
  if (!job) return std::unexpected(job.error());
  // In a lock that a handler holds, FENCELINE_FENCE is the lock's.
  const char* const of_the_job = std::getenv("FENCELINE_JOB_FENCE");
  const Result<std::string> fence_text =
      from_worker(of_the_job != nullptr && *of_the_job != '\0' ? "FENCELINE_JOB_FENCE" : "FENCELINE_FENCE", command);
  if (!fence_text) return std::unexpected(fence_text.error());
  const std::optional<Uuid> id = parse_uuid(*job);
  if (!id)
    return std::unexpected(usage_error("FENCELINE_JOB '" + printable(*job, 40) +
                                       "' is not a job id; keep the value that 'fenceline work' sets"));
  const std::optional<Fence> fence = parse_fence(*fence_text);
  if (!fence)
    return std::unexpected(usage_error("FENCELINE_FENCE '" + printable(*fence_text, 40) +
                                       "' is not a fence; keep the value that 'fenceline work' sets"));
  return Holding{*id, *fence};
}

}  // namespace fenceline::cli
