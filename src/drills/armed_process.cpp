#include "drills/armed_process.hpp"

#include "drills/fleet.hpp"
#include "drills/folder.hpp"

namespace fenceline::cli {

Ended run_armed(const Invocation& invocation, std::vector<std::string> arguments, const ArmedProcess& process) {
  const std::map<std::string, std::string> environment{{"FENCELINE_STORE", process.store_url},
                                                       {"FENCELINE_NAMESPACE", process.ns},
                                                       {"FENCELINE_LOG", "info"},
                                                       {"FENCELINE_CRASH_AT", std::string(process.dies_at)},
                                                       {"FENCELINE_CRASH_MARK", process.mark}};
  auto started = OwnProcess::start(*invocation.runtime, accepting(invocation, std::move(arguments)), environment,
                                   process.folder + "/words");
  if (!started) return {{kExitBug, 0}, started.error().message};
  Ended ended;
  ended.exit = (*started)->finish(invocation.runtime->now() + kProcessMost, &ended.output);
  return ended;
}

}  // namespace fenceline::cli
