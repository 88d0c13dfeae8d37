// fenceline job show: all that is known of one job.
#include <algorithm>
#include <iterator>

#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/jobs/commands.hpp"
#include "cli/jobs/job_view.hpp"
#include "cli/pipelines/pipeline_view.hpp"

namespace fenceline::cli {
namespace {

// Errors: not_found.
Result<void> show(const Invocation& invocation, Store& store, const JobId& id) {
  Result<std::optional<Job>> job = store.job(invocation.ns, id);
  if (!job) return std::unexpected(job.error());
  if (!*job) return std::unexpected(no_such_job(id, invocation.ns));
  const Result<std::vector<Attempt>> attempts = store.attempts(invocation.ns, id);
  if (!attempts) return std::unexpected(attempts.error());
  if (!attempts->empty()) {
    const Attempt& last = attempts->back();
    (*job)->ran_for = std::max(Duration{0}, last.ended_at.value_or(invocation.runtime->wall_now()) - last.started_at);
  }
  const StageNames stages(store, invocation.ns);
  stages.name(**job);
  const PipelineSpec* const pipeline = stages.of((*job)->queue);
  std::optional<ItemNow> item;
  if (pipeline != nullptr) {
    const Result<ItemsReply> items = store.items({.ns = invocation.ns, .ids = {id}});
    const Result<ItemNow> known =
        items && !items->items.empty() ? item_now(items->items.front()) : fail(Code::not_found, "");
    if (known) item = *known;
  }
  const JobShown shown{.result = true, .payload = invocation.has("--payload")};
  if (invocation.json) {
    std::string text = job_json(**job, shown);
    text.insert(text.size() - 1,
                ",\"attempts\":" + attempts_json(*attempts) + (item ? ",\"item\":" + item_json(*pipeline, *item) : ""));
    print_line(text);
  } else {
    Table card = job_card(**job, *attempts, shown);
    if (item) std::ranges::move(item_fields(*pipeline, *item), std::back_inserter(card.rows));
    print_card(std::move(card));
  }
  return {};
}

Result<int> run_job_show(Invocation& invocation) { return look_at_each(invocation, show); }

}  // namespace

CommandSpec job_show_command() {
  return {.name = "job show",
          .summary = "Show jobs: state, attempts, progress, result",
          .arguments = {{"ID", kIdsHelp, true, true}},
          .options = {{"--payload", "", "include the payload"}},
          .examples = {{"fenceline job show 5c0e91d2",
                        "state, attempts, result; the last 8 characters of an id are enough"},
                       {"fenceline job show --json --payload $ID | jq .payload", "what the producer sent"}},
          .run = run_job_show};
}

}  // namespace fenceline::cli
