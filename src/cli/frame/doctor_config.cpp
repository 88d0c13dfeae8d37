#include "cli/frame/doctor_config.hpp"

#include "cli/frame/gate_place.hpp"
#include "doctor/config.hpp"

namespace fenceline::cli {

Result<std::vector<Finding>> config_findings(const Invocation& invocation, Store& store) {
  ConfigOptions options{.ns = invocation.ns};
  constexpr std::string_view kBegin = "lock.", kEnd = ".pattern";
  for (const Setting& setting : invocation.settings) {
    if (setting.name.starts_with(kBegin) && setting.name.ends_with(kEnd) && setting.value == "fenced")
      options.fenced_classes.push_back(
          setting.name.substr(kBegin.size(), setting.name.size() - kBegin.size() - kEnd.size()));
  }
  options.seen_outside = [&](const std::string& resource) -> std::optional<ConfigOptions::SeenOutside> {
    const std::optional<SeenGate> seen = seen_in_folder(invocation, resource);
    if (!seen) return std::nullopt;
    return ConfigOptions::SeenOutside{seen->fence, seen->path, seen->rebase(resource)};
  };
  return look_at_config(*invocation.runtime, store, options);
}

}  // namespace fenceline::cli
