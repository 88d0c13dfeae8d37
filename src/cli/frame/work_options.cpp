#include "cli/frame/work_options.hpp"

namespace fenceline::cli {

Result<EndPolicy> ends_from(const Invocation& invocation) {
  const auto rules = invocation.options.find("--on");
  if (rules == invocation.options.end()) return EndPolicy{};
  Result<EndPolicy> ends = EndPolicy::parse(rules->second);
  if (!ends) return std::unexpected(usage_error("--on " + ends.error().message));
  return ends;
}

}  // namespace fenceline::cli
