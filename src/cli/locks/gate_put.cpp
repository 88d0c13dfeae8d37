// fenceline gate put: replaces a file, whole and durably, unless a newer holder has written it.
#include "cli/frame/line_reader.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/gates.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_gate_put(Invocation& invocation) {
  const Result<GateClaim> claim = gate_claim(invocation);
  if (!claim) return std::unexpected(claim.error());
  const Result<Duration> wait = gate_wait(invocation);
  if (!wait) return std::unexpected(wait.error());
  const std::string file = invocation.argument("FILE");
  const std::string from = invocation.value("--from").value_or("-");
  // Before the gate is held: a slow reader must not keep others out.
  const Result<std::string> content = read_file(from, kGatedContentBytesMax);
  if (!content) return std::unexpected(content.error());
  const Result<NewestGrant> store = NewestGrant::of(invocation, claim->resource);
  if (!store) return std::unexpected(store.error());
  const GatedFile gated(
      {.path = file, .resource = gate_of_file(invocation, claim->resource, file).resource, .wait = *wait});
  const Result<GateAnswer> answer = gated.put(
      {.fence = claim->fence, .content = *content, .newest = [&] { return store->ask(); }, .stop = invocation.stop});
  if (!answer) return std::unexpected(answer.error());
  if (answer->accepted() && store->asks()) link_file_gate(invocation, claim->resource, file);
  return tell_gate(invocation, *claim, *store, *answer);
}

}  // namespace

CommandSpec gate_put_command() {
  return {.name = "gate put",
          .summary = "Replace a file durably, unless a newer fence wrote it",
          .arguments = {{"RESOURCE", kGateResourceHelp},
                        {"FENCE", kGateFenceHelp},
                        {"FILE", "the file; its gate is stored beside it, in FILE.gate"}},
          .options = {{"--from", "FILE", "file with the new content, at most 64 MiB; default stdin"},
                      gate_wait_option(),
                      gates_option()},
          .sections = {{"What is kept",
                        {{"a crash, at any step",
                          "leaves the old content or the new, never a mixture; the same fence may write again"},
                         {"mode, owner, group", "kept, as far as you are allowed to set them"},
                         {"links, folders, devices", "refused; hard links to the same file keep the old content"}}}},
          .examples = {{"make-report | fenceline gate put - - report.csv",
                        "under a lock, or in a handler of a job with a group: a late writer is refused with 76"},
                       {"fenceline gate put reports 42 report.csv --from new.csv", "with your own resource and fence"}},
          .run = run_gate_put};
}

}  // namespace fenceline::cli
