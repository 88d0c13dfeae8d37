// fenceline board, stage and tracker whoami on an issue tracker.
#include <map>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/board_view.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/pipelines/tracker_place.hpp"
#include "tracker/ledger.hpp"

namespace fenceline::cli {
namespace {

using tracker::Ledger;
using tracker::Protocol;

constexpr std::size_t kTitleLongest = 300;

std::string tracker_state_of(const Protocol& protocol, const Ledger& ledger) {
  if (ledger.place == tracker::kDone) return "done";
  if (ledger.place == tracker::kDead) return "dead";
  if (ledger.unreadable) return "unreadable";
  if (ledger.contested) return "contested";
  if (ledger.held) return "on_hold";
  const auto at = tracker::find_place(protocol.pipeline, ledger.place);
  if (ledger.holder) return at && at->at_entry ? "checking" : "running";
  return at && at->at_entry ? "waiting" : "ready";
}

// Why the workers stopped, in words; what they write is a short word.
std::string contested_words(const std::string& why) {
  if (why == "moved_again") return "somebody keeps moving its labels";
  if (why == "loops") return "it was sent back too often";
  if (why == "losses") return "too many claims on it expired";
  if (why == "comments") return "it has too many comments";
  if (why == "unknown_stage") return "its stage is not in the pipeline's file";
  if (why == "record_missing") return "a record of the workers was deleted";
  if (why == tracker::kOutputMissing) return "the output of the stage before was deleted or edited";
  if (why == "moves") return "its labels were changed too often";
  return why;
}

std::string waits_for(const Protocol& protocol, const Ledger& ledger) {
  if (ledger.unreadable) return "a worker with the same key: its comments are signed with another one";
  if (ledger.contested) return "a person: " + contested_words(ledger.contested_why);
  if (ledger.place == tracker::kDead) return "a person: no attempts are left";
  if (ledger.held) return "a person's /release";
  const auto at = tracker::find_place(protocol.pipeline, ledger.place);
  if (!at || !at->at_entry) return "";
  return entry_words(protocol.pipeline.stages[at->stage].entry) + " (" + std::to_string(ledger.approvals.size()) +
         " so far)";
}

// Copies of claims and records decide nothing, and people should know where they are.
std::string copies_words(const Ledger& ledger) {
  if (ledger.copies.empty()) return "";
  std::string ids;
  for (const tracker::CommentId& id : ledger.copies) ids += (ids.empty() ? "" : ", ") + id;
  return (ledger.copies.size() == 1 ? "comment " + ids + " is a copy" : "comments " + ids + " are copies") +
         " of a claim or record, and ignored";
}

BoardRow tracker_row_of(const Protocol& protocol, const tracker::ItemState& state, const Ledger& ledger) {
  const auto at = tracker::find_place(protocol.pipeline, ledger.place);
  std::string waits = waits_for(protocol, ledger);
  if (const std::string copies = copies_words(ledger); !copies.empty()) waits += (waits.empty() ? "" : "; ") + copies;
  const auto holder = [&] {
    if (!ledger.holder) return std::string();
    const tracker::Marker& marker = ledger.holder->marker;
    return marker.name.empty() ? marker.worker : marker.name + " (" + marker.worker + ")";
  };
  return {.id = state.id,
          .title = printable(state.title, kTitleLongest),
          .stage = at ? protocol.pipeline.stages[at->stage].name : protocol.pipeline.stages.back().name,
          .at_entry = at && at->at_entry,
          .state = tracker_state_of(protocol, ledger),
          .holder = holder(),
          .waits_for = waits,
          .generation = ledger.generation,
          .returns = ledger.returns};
}

}  // namespace

std::vector<std::string> labels_of(const Protocol& protocol) {
  std::vector<std::string> labels{protocol.label_of(tracker::kProcessing), protocol.label_of(tracker::kDead)};
  for (const StageSpec& stage : protocol.pipeline.stages) {
    labels.push_back(protocol.label_of(stage.name));
    if (stage.entry.kind != EntryKind::automatic)
      labels.push_back(protocol.label_of(std::string(tracker::kEntryPrefix) + stage.name));
  }
  return labels;
}

Result<int> board_of_tracker(Invocation& invocation) {
  Result<TrackerPlace> place = open_tracker_place(invocation, invocation.argument("PIPELINE"));
  if (!place) return std::unexpected(place.error());
  const Protocol& protocol = place->protocol;
  Board board{.pipeline = protocol.pipeline.name, .stages = protocol.pipeline.names(), .rows = {}};
  std::map<tracker::ItemId, tracker::ItemState> found;
  for (const std::string& label : labels_of(protocol)) {
    const tracker::Answer<std::vector<tracker::ItemState>> items = place->tracker->list({.stage = label});
    if (!items) return std::unexpected(error_of(items.error()));
    for (const tracker::ItemState& item : items->value) found.insert_or_assign(item.id, item);
  }
  for (const auto& [id, state] : found) {
    const tracker::Answer<tracker::Item> item = place->tracker->read({.item = id});
    if (!item) return std::unexpected(error_of(item.error()));
    board.rows.push_back(
        tracker_row_of(protocol, *item->value.state,
                       tracker::read_ledger(protocol, id, item->value.comments, place->self, item->served.now)));
  }
  if (invocation.json) {
    print_line(board_json(board));
    return kExitOk;
  }
  print_table(board_summary(board));
  if (!board.rows.empty()) {
    print("\n");
    print_table(board_table(board));
  }
  return kExitOk;
}

Result<int> say_on_tracker(Invocation& invocation, const std::string& command) {
  Result<TrackerPlace> place = open_tracker_place(invocation, "");
  if (!place) return std::unexpected(place.error());
  const std::string id = invocation.argument("ID");
  if (place->protocol.is_worker(place->self))
    return fail(Code::denied, "account " + place->self.name + " (" + place->self.id +
                                  ") belongs to the workers, so its word does not count; use the token of a person");
  if (!place->protocol.is_trusted(place->self))
    return fail(Code::denied, "account " + place->self.name + " (" + place->self.id +
                                  ") is not listed in the pipeline's file, so its word does not count; add its id to "
                                  "[tracker] people");
  const tracker::Answer<tracker::Comment> said = place->tracker->post(id, command);
  if (!said) return std::unexpected(error_of(said.error()));
  if (invocation.json) {
    print_line(Json{{"item", id}, {"said", command}, {"comment", said->value.id}}.dump());
  } else {
    print_line("commented '" + command + "' on " + id + "; a worker acts on it at its next poll");
  }
  return kExitOk;
}

Result<int> run_tracker_whoami(Invocation& invocation) {
  const Result<std::unique_ptr<tracker::Tracker>> opened =
      open_tracker(*invocation.runtime, invocation.store_url, this_environment);
  if (!opened) return std::unexpected(opened.error());
  const tracker::Answer<tracker::Account> self = (*opened)->who_am_i();
  if (!self) return std::unexpected(error_of(self.error()));
  print_line(invocation.json ? Json{{"id", self->value.id}, {"name", self->value.name}}.dump()
                             : self->value.id + "\t" + self->value.name);
  return kExitOk;
}

CommandSpec tracker_whoami_command() {
  return {.name = "tracker whoami",
          .summary = "Print the account that the tracker's token belongs to",
          .details = "Prints the id and the name, in the form that pipeline files use.",
          .examples = {{"fenceline tracker whoami --store github:acme/docs", "41898282  docs-bot"}},
          .run = run_tracker_whoami};
}

}  // namespace fenceline::cli
