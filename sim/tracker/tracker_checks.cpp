#include "sim/tracker/tracker_checks.hpp"

#include <algorithm>

namespace fenceline::sim {

using namespace tracker;
using tracker::Item;  // and not an item of a pipeline

TrackerChecks::Known& TrackerChecks::known(const ItemId& item) const {
  const auto [found, fresh] = items_.try_emplace(item);
  if (fresh) {
    found->second.place = protocol_.pipeline.stages.front().name;
    found->second.reached = {found->second.place};
  }
  return found->second;
}

Ledger TrackerChecks::ledger_of(const ItemId& item) const {
  return read_ledger(protocol_, item, model_.truth(item).comments, Account{}, model_.now());
}

std::string TrackerChecks::worker_of(const std::string& writer) const {
  const auto found = workers_.find(writer);
  return found == workers_.end() ? "" : found->second;
}

void TrackerChecks::happened(const TrackerEvent& event) {
  using Kind = TrackerEvent::Kind;
  const bool by_worker = protocol_.is_worker(event.by) && workers_.contains(event.writer);
  if (event.kind == Kind::posted && by_worker) {
    if (const ReadMarker read = read_marker(event.comment.text, event.item, protocol_.signing); read.marker)
      record(event, *read.marker);
  } else if (event.kind == Kind::posted && protocol_.is_trusted(event.by)) {
    const std::optional<Command> command = read_command(event.comment.text);
    Known& item = known(event.item);
    const StageEntry* entry = entry_of(item.place);
    // One that comes too late counts only where it is waited for.
    const bool late = entry && entry->then != EntryEnd::hold && is_overdue(item, *entry, event.comment.created_at);
    if (command && command->kind == CommandKind::approve && !late) item.approvals.insert(event.by.id);
  } else if (event.kind == Kind::edited && by_worker) {
    ++tally_.renewals;
  } else if ((event.kind == Kind::edited || event.kind == Kind::erased) && !protocol_.is_worker(event.by)) {
    Known& item = known(event.item);
    item.tampered = true;
    item.tampered_at = model_.now();
    if (item.place != kDone) item.place = ledger_of(event.item).place;
  } else if (event.kind == Kind::erased) {
    erased(event);
  } else if (event.kind == Kind::label_removed && by_worker) {
    label_removed(event);
  } else if (event.kind == Kind::opened && by_worker) {
    violations_.add("T3", event.writer + " opened item " + event.item + ", which was closed");
  } else if (event.kind == Kind::labels_replaced && protocol_.is_worker(event.by)) {
    violations_.add("T3", "a worker wrote the whole set of labels of " + event.item);
  }
}

// The order of arrival is that of the comments, so the first record of a generation is known when it comes.
void TrackerChecks::record(const TrackerEvent& event, const Marker& marker) {
  Known& item = known(event.item);
  if (marker.kind == MarkerKind::claim) {
    ++tally_.claims;
    tally_.takeovers += marker.over.empty() ? 0 : 1;
    if (marker.worker != worker_of(event.writer))
      violations_.add("T2", event.writer + " posted a claim in another's name");
    return;
  }
  if (item.tampered) {
    // What is left of the comments is all that anybody can go by.
    const Ledger ledger = ledger_of(event.item);
    if (marker.kind == MarkerKind::contested) ++tally_.contested;
    if (ledger.place == kDone && item.place != kDone) ++tally_.done;
    item.generation = ledger.generation;
    item.place = ledger.place;
    item.contested = ledger.contested.has_value();
    item.reached.insert(ledger.place);
    return;
  }
  const bool counts = marker.generation == item.generation && marker.stage == item.place &&
                      (!item.contested || marker.kind == MarkerKind::moved);
  if (!counts) {
    ++tally_.void_records;
    return;
  }
  switch (marker.kind) {
    case MarkerKind::advanced: advance(event, item, marker); break;
    case MarkerKind::returned: returned(event, item, marker); break;
    case MarkerKind::failed: ++tally_.failures; break;
    case MarkerKind::moved:
      ++tally_.moves;
      if (!protocol_.is_trusted(Account{marker.by, {}}))
        violations_.add("P1", "item " + event.item + " was moved to " + marker.to + " for account " + marker.by +
                                  ", which is not trusted");
      break;
    case MarkerKind::restored: ++tally_.restored; break;
    case MarkerKind::contested:
      ++tally_.contested;
      item.contested = true;
      break;
    default: break;
  }
  if (marker.to.empty()) return;
  const auto gated = std::ranges::find(protocol_.pipeline.stages, marker.to, &StageSpec::name);
  if (marker.kind != MarkerKind::advanced && marker.to != item.place && gated != protocol_.pipeline.stages.end() &&
      gated->entry.kind != EntryKind::automatic) {
    violations_.add("P1", "item " + event.item + " came to " + marker.to + " past its entry condition");
  }
  item.generation = marker.generation + 1;
  item.place = marker.to;
  item.reached.insert(marker.to);
  item.contested = false;
  item.approvals.clear();
  item.since = event.comment.created_at;
  if (marker.to == kDone) ++tally_.done;
}

void TrackerChecks::advance(const TrackerEvent& event, Known& item, const Marker& marker) {
  ++tally_.advances;
  const std::string what = "item " + event.item + " went from " + marker.stage + " to " + marker.to +
                           " in generation " + std::to_string(marker.generation);
  const std::vector<StageSpec>& stages = protocol_.pipeline.stages;
  const bool at_entry = marker.stage.starts_with(kEntryPrefix);
  const auto stage =
      std::ranges::find(stages, at_entry ? marker.stage.substr(kEntryPrefix.size()) : marker.stage, &StageSpec::name);
  if (stage == stages.end()) {
    violations_.add("P1", what + ", which is no stage");
    return;
  }
  if (at_entry) {
    const bool overdue =
        stage->entry.then == EntryEnd::approve && is_overdue(item, stage->entry, event.comment.created_at);
    const bool approved = static_cast<int>(item.approvals.size()) >= stage->entry.count;
    ++(approved ? tally_.approved : tally_.overdue_in);
    if (marker.to != stage->name || (stage->entry.kind == EntryKind::approval && !approved && !overdue))
      violations_.add("P1", what + " without its approvals");
    return;
  }
  if (!item.worked.contains({marker.generation, marker.stage}))
    violations_.add("P1", what + ", and nobody had done its work");
  const bool last = stage + 1 == stages.end();
  const std::string next =
      last ? std::string(kDone)
           : ((stage + 1)->entry.kind == EntryKind::automatic ? "" : std::string(kEntryPrefix)) + (stage + 1)->name;
  if (marker.to != next) violations_.add("P1", what + ", which is not " + next);
}

const StageEntry* TrackerChecks::entry_of(std::string_view place) const {
  if (!place.starts_with(kEntryPrefix)) return nullptr;
  const auto stage = std::ranges::find(protocol_.pipeline.stages, place.substr(kEntryPrefix.size()), &StageSpec::name);
  return stage == protocol_.pipeline.stages.end() ? nullptr : &stage->entry;
}

void TrackerChecks::returned(const TrackerEvent& event, const Known& item, const Marker& marker) {
  ++tally_.returns;
  const std::string what = "item " + event.item + " went back from " + marker.stage + " to " + marker.to;
  if (marker.why == "overdue") {
    ++tally_.overdue_back;
    const StageEntry* entry = entry_of(item.place);
    if (!entry || entry->then != EntryEnd::reject || !is_overdue(item, *entry, event.comment.created_at))
      violations_.add("P1", what + " though its time was not over");
  }
  if (marker.why != "sent_back") return;
  ++tally_.sent_back;
  const std::optional<Position> from = find_place(protocol_.pipeline, marker.stage);
  const std::optional<Position> to = find_place(protocol_.pipeline, marker.to);
  if (!from || from->at_entry || !to || to->stage >= from->stage)
    violations_.add("P1", what + ", which is not before it");
  if (!item.worked.contains({marker.generation, marker.stage}))
    violations_.add("P1", what + ", and nobody had worked on it");
}

void TrackerChecks::erased(const TrackerEvent& event) {
  const ReadMarker read = read_marker(event.comment.text, event.item, protocol_.signing);
  if (!read.marker) {
    if (workers_.contains(event.writer) && !known(event.item).tampered)
      violations_.add("T3", event.writer + " erased a comment that was none of ours");
    return;
  }
  const Marker& marker = *read.marker;
  if (marker.kind != MarkerKind::claim || marker.worker == worker_of(event.writer)) {
    tally_.withdrawn += marker.kind == MarkerKind::claim ? 1 : 0;
    return;
  }
  // A claim that was void comes to life if the record that ended it is changed: who erased it had not seen that yet, or
  // had asked for it before.
  if (const Known& item = known(event.item);
      item.tampered && model_.now() < item.tampered_at + model_.faults().lag_most + std::chrono::minutes{10})
    return;
  // As if it were there still.
  std::vector<Comment> comments = model_.truth(event.item).comments;
  comments.push_back(event.comment);
  const Ledger ledger = read_ledger(protocol_, event.item, comments, Account{}, model_.now());
  if (ledger.holder && ledger.holder->id == event.comment.id)
    violations_.add("T3", event.writer + " took away the living claim of " + marker.worker + " on item " + event.item);
}

// Who lost leaves the labels that the winner needs.
void TrackerChecks::label_removed(const TrackerEvent& event) {
  const std::string& label = event.labels.front();
  if (label != kClaimedLabel && label != protocol_.label_of(kProcessing)) return;
  const Ledger ledger = ledger_of(event.item);
  const std::string worker = worker_of(event.writer);
  if (!ledger.holder || ledger.holder->marker.worker == worker) return;
  const bool lost = std::ranges::any_of(
      ledger.claims, [&](const Claim& claim) { return claim.marker.worker == worker && !claim.dead; });
  if (lost) violations_.add("T3", event.writer + " lost item " + event.item + " and took off " + label);
}

void TrackerChecks::starts(const ItemId& id, const std::string& place, SimRuntime& process, Instant trusted) {
  Known& item = known(id);
  item.actors.push_back({&process, trusted, item.generation, place});
  if (!item.reached.contains(place) && !item.tampered)
    violations_.add("P1", process.name() + " works at " + place + " on item " + id + ", which is at " + item.place);
}

void TrackerChecks::acts(const ItemId& id, SimRuntime& process, Instant trusted) {
  Known& item = known(id);
  for (Actor& actor : item.actors) {
    if (actor.process == &process) {
      actor.trusted = trusted;
    } else if (actor.process->now() < actor.trusted) {
      ++tally_.worked_twice;
      if (options_.reads_are_true)
        violations_.add("T1",
                        process.name() + " and " + actor.process->name() + " work on item " + id + " at the same time");
    }
  }
}

void TrackerChecks::ends(const ItemId& id, SimRuntime& process, bool done) {
  Known& item = known(id);
  for (const Actor& actor : item.actors) {
    if (actor.process == &process && done) item.worked.insert({actor.generation, actor.place});
  }
  std::erase_if(item.actors, [&](const Actor& actor) { return actor.process == &process; });
}

void TrackerChecks::died(SimRuntime& process) {
  for (auto& [id, item] : items_) {
    std::erase_if(item.actors, [&](const Actor& actor) { return actor.process == &process; });
  }
}

bool TrackerChecks::all_done() const {
  return std::ranges::all_of(model_.items(), [this](const ItemId& id) {
    const ItemState& state = *model_.truth(id).state;
    const bool bare = std::ranges::none_of(state.labels, [this](const std::string& label) {
      return !protocol_.place_of(label).empty() || label == kClaimedLabel;
    });
    if (known(id).tampered && !state.open) return true;  // its last record may be gone
    return known(id).place == kDone && !state.open && bare;
  });
}

std::string TrackerChecks::undone() const {
  std::string text;
  int count = 0;
  for (const ItemId& id : model_.items()) {
    const ItemState& state = *model_.truth(id).state;
    const Known& item = known(id);
    std::string labels = state.status;
    bool bare = true;
    for (const std::string& label : state.labels) {
      labels += " " + label;
      bare = bare && protocol_.place_of(label).empty() && label != kClaimedLabel;
    }
    if (!state.open && (item.tampered || (item.place == kDone && bare))) continue;
    if (++count <= 3)
      text += " [" + id + " at " + item.place + " generation " + std::to_string(item.generation) +
              (item.contested ? " contested" : "") + (state.open ? " open:" : " closed:") + labels + "]";
  }
  return std::to_string(count) + " items:" + text;
}

void TrackerChecks::at_the_end() {
  for (const ItemId& id : model_.items()) {
    const Known& item = known(id);
    const Ledger ledger = ledger_of(id);
    if (!item.tampered && (ledger.generation != item.generation || ledger.place != item.place)) {
      violations_.add("T4", "item " + id + " is at " + item.place + " in generation " +
                                std::to_string(item.generation) + ", and its comments say " + ledger.place + " in " +
                                std::to_string(ledger.generation));
    }
  }
}

}  // namespace fenceline::sim
