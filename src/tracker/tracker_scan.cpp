// How a TrackerWorker finds items: by lists, oldest first.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tracker/holding.hpp"

namespace fenceline::tracker {

Answer<std::vector<ItemState>> TrackerWorker::list_of(const ListRequest& request, Cost& cost) {
  Answer<std::vector<ItemState>> items = asking([&] { return usual_->list(request); });
  cost += items ? items->served.cost : items.error().served.cost;
  if (items) {
    for (ItemState& state : items->value) options_.protocol.spell(state.labels);
  }
  if (!items)
    log_.warn(
        "tracker_list_failed",
        {{"label", request.stage}, {"trouble", to_string(items.error().kind)}, {"message", items.error().message}});
  return items;
}

bool TrackerWorker::worth_a_look(const ItemState& state) const {
  const auto seen = seen_.find(state.id);
  if (seen == seen_.end() || seen->second.updated_at != state.updated_at) return true;
  // Of the second in which it was looked at there may be more.
  if (state.updated_at + options_.protocol.can.time_grain >= seen->second.looked_at) return true;
  const std::scoped_lock lock(mutex_);
  return seen->second.again && *seen->second.again <= moment_.least_at(runtime_.now());
}

std::vector<ItemState> TrackerWorker::in_order(std::vector<ItemState> items) {
  // Trackers number items as they are made; shorter numbers are smaller ones.
  std::ranges::sort(items, {}, [](const ItemState& state) { return std::pair(state.id.size(), state.id); });
  for (std::size_t first = 0; spread_ > 1 && first < items.size(); first += spread_) {
    const std::size_t end = std::min(first + spread_, items.size());
    for (std::size_t at = first; at + 1 < end; ++at) std::swap(items[at], items[at + runtime_.random() % (end - at)]);
  }
  return items;
}

bool TrackerWorker::is_unsettled(const Seen& seen) const {
  return (seen.reason == "held" || seen.reason == "in_flux") &&
         std::ranges::find(options_.work, seen.place, &PlaceWork::place) != options_.work.end();
}

bool TrackerWorker::scan(bool sweeps) {
  const Protocol& protocol = options_.protocol;
  std::set<std::string> places;
  for (const PlaceWork& work : options_.work) places.insert(work.place);
  for (const StageSpec& stage : protocol.pipeline.stages) {
    if (stage.entry.kind == EntryKind::approval) places.insert(std::string(kEntryPrefix) + stage.name);
    if (sweeps) places.insert(stage.name);
  }
  if (sweeps) places.insert(std::string(kDead));
  if (sweeps || options_.until_idle) places.insert(std::string(kProcessing));  // a drain waits for what others work on
  Cost cost;
  std::map<ItemId, ItemState> found;
  bool all_listed = true;
  const auto add = [&](const std::string& label, bool closed) {
    const Answer<std::vector<ItemState>> items = list_of({label, closed}, cost);
    all_listed = all_listed && items;
    if (!items) return;
    for (const ItemState& state : items->value) found.emplace(state.id, state);
  };
  for (const std::string& place : places) add(protocol.label_of(place), false);
  if (sweeps) {
    // A bot may have put back any label after the item was closed. A closed one has no status of ours.
    for (const std::string& place : places) {
      if (protocol.can.labels) add(protocol.label_of(place), true);
    }
    if (protocol.can.labels && protocol.claim_label) add(protocol.claimed, false);
  }
  std::vector<ItemState> order;
  for (auto& [id, state] : found) {
    if (!is_held(id) && (sweeps || worth_a_look(state))) order.push_back(state);
  }
  bool busy = !all_listed;
  const bool looks = !order.empty();
  for (const ItemState& state : in_order(std::move(order))) {
    if (stopping_.stop_requested()) return true;
    if (attend(state, false, sweeps)) busy = true;
  }
  if (sweeps && look_for_strays(found, cost)) busy = true;
  // These were in the pipeline and are in no list any more, or were with others when they were looked at last.
  std::vector<ItemId> again;
  for (const auto& [id, seen] : seen_) {
    if (all_listed && !found.contains(id) && (sweeps || (options_.until_idle && is_unsettled(seen))))
      again.push_back(id);
  }
  for (const ItemId& id : again) {
    if (!is_held(id) && !stopping_.stop_requested() && attend(ItemState{.id = id}, true, sweeps)) busy = true;
  }
  for (const auto& [id, seen] : seen_) busy = busy || is_unsettled(seen);
  count([&](TrackerWorkerCounts& counts) {
    ++counts.scans;
    if (looks || busy) return;
    counts.scan_requests += cost.requests;
    counts.scan_charged += cost.charged;
  });
  return busy;
}

bool TrackerWorker::look_for_strays(const std::map<ItemId, ItemState>& found, Cost& cost) {
  TrackerMoment moment;
  {
    const std::scoped_lock lock(mutex_);
    moment = moment_;
  }
  // One that comes new looks back a day; whoever sweeps by hand looks at all.
  if (!strays_after_ && !only_sweeps_) strays_after_ = moment.told - std::chrono::days{1};
  const Answer<std::vector<ItemState>> items = list_of({.stage = {}, .changed_after = strays_after_}, cost);
  if (!items) return true;
  bool busy = false;
  for (const ItemState& state : items->value) {
    if (!found.contains(state.id) && !stopping_.stop_requested() && attend(state, true, true)) busy = true;
  }
  strays_after_ = items->served.now - options_.protocol.settled;
  return busy;
}

}  // namespace fenceline::tracker
