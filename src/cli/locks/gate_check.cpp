// fenceline gate check: would a write under this fence pass? It only tells, and the answer may be old by the time it is
// read.
#include "cli/frame/output.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/gates.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_gate_check(Invocation& invocation) {
  const Result<GateClaim> claim = gate_claim(invocation);
  if (!claim) return std::unexpected(claim.error());
  const Result<GateAt> at = gate_at(invocation, claim->resource);
  if (!at) return std::unexpected(at.error());
  const Result<NewestGrant> store = NewestGrant::of(invocation, claim->resource);
  if (!store) return std::unexpected(store.error());
  const Result<std::optional<Fence>> newest = store->ask();
  if (!newest) return std::unexpected(newest.error());
  const Result<std::optional<GateRecord>> record = look_at_gate(at->path);
  if (!record) return std::unexpected(record.error());
  if (*record && (*record)->resource != at->resource)
    return fail(Code::conflict, at->path + " is the gate of " + (*record)->resource + ", not of " + at->resource +
                                    "; use that resource, or another file");
  const Fence remembered = *record ? (*record)->fence : 0;
  GateAnswer answer = judge_fence(claim->fence, remembered, *newest);
  answer.remembered = remembered;  // a look is not remembered
  const Result<int> told = tell_gate(invocation, *claim, *store, answer);
  if (told && !invocation.json)
    print_line("fence " + std::to_string(claim->fence) + " of " + claim->resource + " would pass now");
  return told;
}

}  // namespace

CommandSpec gate_check_command() {
  return {
      .name = "gate check",
      .summary = "Check whether a write under a fence would pass its gate",
      .details = "Changes nothing.",
      .arguments = {{"RESOURCE", kGateResourceHelp}, {"FENCE", kGateFenceHelp}},
      .options = {{"--file", "FILE", "gate of this file, as 'gate put' keeps it"}, gates_option()},
      .sections = {{"Answers",
                    {{"exit 0", "it would pass: no larger fence has passed"},
                     {"exit 76, stale", "another holder has the lease now: stop the work"},
                     {"exit 76, behind",
                      "the store was restored to an older state; the message names the 'fenceline gate rebase' to run"},
                     {"a write after it", "may still be too late: write with 'gate put' or under 'gate run'"}}}},
      .examples = {{"fenceline gate check - - || exit 76", "in a handler: stop early if another worker has the job"}},
      .run = run_gate_check};
}

}  // namespace fenceline::cli
