// fenceline board: where the items of pipelines are, and what each waits for.
#include <algorithm>
#include <map>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/board_view.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/pipelines/pipeline_view.hpp"
#include "cli/pipelines/tracker_place.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPage = 1000;
constexpr std::int64_t kRowsDefault = 1000;
constexpr std::int64_t kRowsMost = 100'000;
constexpr std::size_t kHintLongest = 200;

// "host:pid" of those who say that they work here.
std::map<std::string, std::string> holders(Store& store, const std::string& ns) {
  std::map<std::string, std::string> names;
  const Result<std::vector<WorkerRow>> workers = store.workers(ns);
  if (!workers) return names;
  for (const WorkerRow& row : *workers)
    names[row.report.owner] = row.report.host + ":" + std::to_string(row.report.pid);
  return names;
}

std::string title_of(const Job& job, bool with_payload) {
  if (with_payload) return printable(compact_json(job.payload), kHintLongest);
  if (!job.key.empty()) return job.key;
  return joined(job.tags);
}

std::string state_of(const PipelineSpec& spec, const ItemNow& item) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (is_finished(item.state)) return std::string(to_string(item.state));
  if (item.state == JobState::running) return at && at->at_entry ? "checking" : "running";
  if (item.record.hold) return "on_hold";
  return at && at->at_entry ? "waiting" : std::string(to_string(item.state));
}

BoardRow row_of(const PipelineSpec& spec, const Job& job, const ItemNow& item) {
  const std::optional<Position> at = position_of(spec, item.stage);
  return {.id = to_string(job.id),
          .title = {},
          .stage = at ? spec.stages[at->stage].name : item.stage,
          .at_entry = at && at->at_entry,
          .state = state_of(spec, item),
          .holder = job.state == JobState::running ? job.owner : "",
          .waits_for = waits_for(spec, item),
          .generation = item.record.generation,
          .returns = item.record.returns};
}

// A page of jobs, each with what is known of it.
Result<void> add_page(Store& store, const Invocation& invocation, const PipelineSpec& spec,
                      const std::vector<Job>& jobs, Board& board) {
  if (jobs.empty()) return {};
  ItemsRequest wanted{.ns = invocation.ns, .ids = {}};
  std::map<JobId, const Job*> listed;
  for (const Job& job : jobs) {
    wanted.ids.push_back(job.id);
    listed[job.id] = &job;
  }
  const Result<ItemsReply> read = store.items(wanted);
  if (!read) return std::unexpected(read.error());
  for (const Item& item : read->items) {
    const Result<ItemNow> now_item = item_now(item);
    if (!now_item) return std::unexpected(now_item.error());
    board.rows.push_back(row_of(spec, item.job, *now_item));
    board.rows.back().title = title_of(*listed.at(item.job.id), invocation.has("--payload"));
  }
  return {};
}

Result<Board> board_of(Store& store, const Invocation& invocation, const PipelineSpec& spec, std::int64_t limit) {
  Board board{.pipeline = spec.name, .stages = spec.names(), .rows = {}};
  const Result<std::vector<QueueRow>> queues = store.queues(invocation.ns);
  if (!queues) return std::unexpected(queues.error());
  if (const auto queue = std::ranges::find(*queues, spec.name, &QueueRow::queue); queue != queues->end()) {
    board.done = queue->depth_of(JobState::done);
    board.cancelled = queue->depth_of(JobState::cancelled);
  }
  std::vector<JobState> states{JobState::ready, JobState::running, JobState::waiting, JobState::dead};
  if (invocation.has("--all")) states.insert(states.end(), {JobState::done, JobState::cancelled});
  for (const JobState state : states) {
    JobsRequest request{.ns = invocation.ns,
                        .queue = spec.name,
                        .state = state,
                        .tag = {},
                        .limit = kPage,
                        .with_payload = invocation.has("--payload")};
    while (true) {
      const std::int64_t room = limit - static_cast<std::int64_t>(board.rows.size());
      request.limit = static_cast<int>(std::clamp<std::int64_t>(room, 1, kPage));
      const Result<JobsReply> page = store.jobs(request);
      if (!page) return std::unexpected(page.error());
      if (room <= 0) {
        board.more = board.more || !page->jobs.empty() || page->next;
        break;
      }
      if (auto ok = add_page(store, invocation, spec, page->jobs, board); !ok) return std::unexpected(ok.error());
      if (!page->next) break;
      request.after = *page->next;
    }
  }
  // One that moved while we read was seen twice: its last place counts.
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < board.rows.size(); ++i) last[board.rows[i].id] = i;
  std::size_t at = 0;
  std::erase_if(board.rows, [&](const BoardRow& row) { return last[row.id] != at++; });
  return board;
}

Result<int> run_board(Invocation& invocation) {
  if (is_tracker_url(invocation.store_url)) return board_of_tracker(invocation);
  const Result<std::int64_t> limit = invocation.number("--limit", kRowsDefault, 1, kRowsMost);
  if (!limit) return std::unexpected(limit.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  std::vector<PipelineSpec> specs;
  if (const std::string name = invocation.argument("PIPELINE"); !name.empty()) {
    Result<FoundPipeline> found = find_pipeline(invocation, **store, name);
    if (!found) return std::unexpected(found.error());
    specs.push_back(std::move(found->spec));
  } else {
    Result<KnownPipelines> known = read_pipelines(**store, invocation.ns);
    if (!known) return std::unexpected(known.error());
    for (auto& [queue, pipeline] : *known) specs.push_back(std::move(pipeline.spec));
  }
  const std::map<std::string, std::string> names = holders(**store, invocation.ns);
  for (const PipelineSpec& spec : specs) {
    Result<Board> board = board_of(**store, invocation, spec, *limit);
    if (!board) return std::unexpected(board.error());
    for (BoardRow& row : board->rows) {
      if (const auto name = names.find(row.holder); name != names.end()) row.holder = name->second;
    }
    if (invocation.json) {
      print_line(board_json(*board));
      continue;
    }
    if (&spec != &specs.front()) print("\n");
    print_table(board_summary(*board));
    if (!board->rows.empty()) {
      print("\n");
      print_table(board_table(*board));
    }
    flush_output();
    if (board->more) tell("fenceline: there are more items; raise --limit to see them");
  }
  if (specs.empty() && !invocation.json)
    tell("fenceline: no pipeline in namespace " + invocation.ns + "; create one with: fenceline pipeline apply FILE");
  return kExitOk;
}

}  // namespace

CommandSpec board_command() {
  return {
      .name = "board",
      .summary = "Show items by stage, who has each and what it waits for",
      .details = "Shows how many items are at each stage, and every item that is unfinished or dead.",
      .arguments = {{.name = "PIPELINE", .help = "name of the pipeline; default all", .required = false}},
      .options = {{"--all", "", "include done and cancelled items"},
                  {"--payload", "", "show the start of each payload as its title, instead of its key or tags"},
                  {"--limit", "N", "show at most N items, 1 to 100000; default 1000"},
                  pipeline_file_option()},
      .sections = {{"States",
                    {{"ready", "waits for a worker of its stage"},
                     {"running", "a worker has it"},
                     {"waiting", "waits for the entry condition of its stage, or for a person"},
                     {"checking", "the check of its entry condition runs"},
                     {"on_hold", "by a person or by a rule; 'fenceline stage release' continues it"},
                     {"dead", "no attempts left; 'fenceline job retry' runs its stage again"}}},
                   {"Exit status", {{"66", "no such pipeline"}}}},
      .examples = {{"fenceline board docs", "one pipeline; without a name, all of them"},
                   {"fenceline board docs --json | jq -c '.items[] | [.id, .waits_for]'", "what each item waits for"}},
      .run = run_board};
}

}  // namespace fenceline::cli
