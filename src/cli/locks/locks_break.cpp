// fenceline locks break: an operator ends whatever holds a lock.
#include <charconv>

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/locks/commands.hpp"

namespace fenceline::cli {
namespace {

Result<std::optional<Fence>> seen_fence(const Invocation& invocation) {
  if (!invocation.has("--fence")) return std::nullopt;
  const Result<std::int64_t> fence = invocation.number("--fence", 0, 1, kFenceMax);
  if (!fence) return std::unexpected(fence.error());
  return *fence;
}

Result<int> run_locks_break(Invocation& invocation) {
  const std::string resource = invocation.argument("RESOURCE");
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  const Result<std::optional<Fence>> only = seen_fence(invocation);
  if (!only) return std::unexpected(only.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const BreakRequest request{.ns = invocation.ns,
                             .resource = resource,
                             .only = *only,
                             .request = fresh_request(*invocation.runtime),
                             .act = *act};
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<BreakReply> broken = store->until_known(invocation.stop, [&] { return (*store)->break_lock(request); });
  if (!broken && broken.error().code == Code::not_found)
    return fail(Code::not_found, "lock " + resource + " is free or unknown in namespace " + invocation.ns +
                                     "; 'fenceline locks list --held' lists held locks");
  // Not a fault of the lock: another holder has it by now.
  if (!broken && broken.error().code == Code::refused && *only)
    return fail(Code::lost, broken.error().message + "; see 'fenceline locks show " + resource + "'");
  if (!broken) return std::unexpected(broken.error());
  if (invocation.json)
    print_line(Json{{"resource", resource}, {"ended", broken->ended}, {"fence", broken->current}}.dump());
  else print_line(resource + " is free; fence " + std::to_string(broken->ended) + " is stale now");
  return kExitOk;
}

}  // namespace

CommandSpec locks_break_command() {
  return {
      .name = "locks break",
      .summary = "Force-release a lock; the old holder's writes become stale",
      .details = "Also ends a window, --hold-at-least or --delay that keeps a free lock from being acquired.",
      .arguments = {{.name = "RESOURCE", .help = "name of the lock; NAME#2 and so on for one of several slots"}},
      .options = with_act_options({{"--fence", "F", "only if F is still the newest fence"}}),
      .sections = {{"What it does",
                    {{"the holder",
                      "learns of it at its next renewal at the latest; 'fenceline lock' then stops its command and "
                      "exits with 76"},
                     {"until then", "it keeps working beside the next holder; a write gate refuses its fence at once"},
                     {"a window", "of the loop pattern, --hold-at-least and --delay end too"},
                     {"the trail", "records lock_broken with RESOURCE and the fence"}}},
                   {"Exit status", {{"66", "the lock is free or unknown"}, {"76", "the newest fence is not --fence"}}}},
      .examples = {{"fenceline locks break deploy --reason 'its host burnt down'",
                    "release it before its lease expires"},
                   {"fenceline locks break deploy --fence 1794776406123456", "only if the same holder still has it"}},
      .run = run_locks_break};
}

}  // namespace fenceline::cli
