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
    return fail(Code::not_found, "lock " + resource + " is free, or nothing is known of it in namespace " +
                                     invocation.ns + "; 'fenceline locks list --held' names those that are held");
  // The lock is fine: somebody else has it by now.
  if (!broken && broken.error().code == Code::refused && *only)
    return fail(Code::lost, broken.error().message + "; look again with 'fenceline locks show " + resource + "'");
  if (!broken) return std::unexpected(broken.error());
  if (invocation.json)
    print_line(Json{{"resource", resource}, {"ended", broken->ended}, {"fence", broken->current}}.dump());
  else print_line(resource + " is free; fence " + std::to_string(broken->ended) + " is stale from now on");
  return kExitOk;
}

}  // namespace

CommandSpec locks_break_command() {
  return {
      .name = "locks break",
      .summary = "Force-release a lock; the old holder's writes become stale",
      .details = "Also ends a cooldown or a reservation that keeps the lock from being acquired.",
      .arguments = {{.name = "RESOURCE",
                     .help = "the lock's name; with #2 and so on behind it, a slot of a lock that several may have"}},
      .options = with_act_options({{"--fence", "F", "only if this is still its newest fence: what you saw"}}),
      .sections = {{"What it does",
                    {{"the holder",
                      "learns of it with its next renewal, at the latest; a command of 'fenceline lock' is ended then, "
                      "with 76"},
                     {"until then",
                      "it works on beside the next holder: what must not go wrong goes through a gate, which refuses "
                      "its fence at once"},
                     {"a window", "of the loop pattern, a time to be held at least and a delay end too"},
                     {"the trail", "has lock_broken, with RESOURCE and the fence that was ended"}}},
                   {"Exit status",
                    {{"66", "it is free, or nothing is known of it"},
                     {"76", "its newest fence is another one than --fence"}}}},
      .examples = {{"fenceline locks break deploy --reason 'its host burnt down'", "free it before its lease ends"},
                   {"fenceline locks break deploy --fence 1794776406123456", "not if somebody else has it by now"}},
      .run = run_locks_break};
}

}  // namespace fenceline::cli
