// A TrackerWorker from the claim of an item to its outcome.
#include <algorithm>

#include "base/sha256.hpp"
#include "model/trust.hpp"
#include "tracker/holding.hpp"

namespace fenceline::tracker {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr int kReadBacksMost = 4;
constexpr std::size_t kWorkTimesKept = 21;
constexpr Instant kNever = Instant::max();
constexpr Duration kLateMost = 12 * kVerbTimeout;  // a request that was not answered may still arrive so late

// What a handler gets: the item as people see it.
std::string payload_of(const ItemState& state) {
  std::string text = "{";
  const auto add = [&text](std::string_view key, std::string_view value) {
    text += text.size() > 1 ? "," : "";
    append_json_string(text, key);
    text += ":";
    append_json_string(text, value);
  };
  add("item", state.id);
  add("title", state.title);
  add("body", state.body);
  add("url", state.url);
  add("author", state.author.name);
  return text + "}";
}

// The same for an item wherever it is worked on.
JobId job_id_of(const std::string& place, const ItemId& item) {
  const Sha256 hash = sha256(place + "\n" + item);
  JobId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x80);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace

// At most five requests: the read that it rests on, the claim, its reading back, labels on, the stage's label off. With
// compare-and-swap: the read, the swap, and one to learn the claim's number.
void TrackerWorker::try_claim(const Looked& looked, const Step& step, Cost cost, Instant began) {
  const Protocol& protocol = options_.protocol;
  const ItemState& state = *looked.item.state;
  const std::string nonce = chance_word();
  const Marker marker = signed_off(step.marker, nonce);
  const std::string text = text_of(marker, state.id);
  const Instant asked = runtime_.now();
  bool in_doubt = false;
  if (protocol.can.swap) {
    const std::string status = protocol.claim_label ? protocol.label_of(kProcessing) : state.status;
    const Answer<Swapped> swapped = asking([&] {
      return usual_->swap({.item = state.id, .version = state.version, .status = status, .open = {}, .comment = text});
    });
    cost += swapped ? swapped->served.cost : swapped.error().served.cost;
    in_doubt = !swapped && swapped.error().kind == TroubleKind::in_doubt;
    if (!swapped && !in_doubt) {
      if (swapped.error().kind == TroubleKind::conflict)
        count([](TrackerWorkerCounts& counts) { ++counts.lost_races; });
      return;
    }
  } else {
    const Answer<Comment> posted = asking([&] { return usual_->post(state.id, text); });
    cost += posted ? posted->served.cost : posted.error().served.cost;
    in_doubt = !posted && posted.error().kind == TroubleKind::in_doubt;
    if (!posted && !in_doubt) return;
    if (!runtime_.sleep_for(jittered(options_.read_back), stopping_.get_token())) {
      if (posted) withdraw(state.id, posted->value.id);
      return;
    }
  }
  const std::optional<Looked> back = read_back(state.id, nonce, cost);
  // Never seen: if it turns up, the next look withdraws it.
  if (!back) return;
  const auto mine =
      std::ranges::find_if(back->ledger.claims, [&](const Claim& claim) { return claim.marker.nonce == nonce; });
  if (mine == back->ledger.claims.end()) return;
  if (!back->ledger.holder || back->ledger.holder->id != mine->id) {
    count([](TrackerWorkerCounts& counts) { ++counts.lost_races; });
    withdraw(state.id, mine->id);
    return;
  }
  const LeaseTimes times = LeaseTimes::of(protocol.ttl_of(marker.stage));
  TrackerMoment moment;
  {
    const std::scoped_lock lock(mutex_);
    moment = moment_;
  }
  // From the question on, whatever the clocks say: it was not there before.
  const Instant trusted =
      std::min(moment.safe_until(mine->ends, protocol.can.time_grain), asked + times.ttl - protocol.can.time_grain) -
      times.margin;
  if (stop_work_at(trusted, times) <= runtime_.now()) {
    withdraw(state.id, mine->id);
    return;
  }
  const auto work = std::ranges::find(options_.work, marker.stage, &PlaceWork::place);
  auto holding = std::make_unique<Holding>(state, *mine, *work, trusted, asked);
  if (!protocol.can.swap) {
    ItemState labelled = state;
    for (int writes = 0; writes < 2; ++writes) {  // what else is wrong with them can wait for the end
      const Step label = mirror_step(protocol, labelled, back->ledger);
      if (label.kind == StepKind::nothing || !act_on_labels(labelled, label)) break;
      ++cost.requests;
    }
  }
  const Duration took = runtime_.now() - began;
  count([&](TrackerWorkerCounts& counts) {
    ++counts.claims;
    counts.claim_requests_most = std::max(counts.claim_requests_most, in_doubt ? 0 : cost.requests);
    claim_time_ = std::min(claim_time_, took);
  });
  log_.info("tracker_claimed", {{"item", state.id},
                                {"queue", protocol.pipeline.name},
                                {"stage", marker.stage},
                                {"generation", marker.generation},
                                {"reason", step.reason},
                                {"requests", cost.requests}});
  Job& job = holding->job;
  job.id = job_id_of(driver_.place(), state.id);
  job.queue = protocol.pipeline.name;
  job.stage = marker.stage;
  job.state = JobState::running;
  job.payload = payload_of(state);
  job.owner = worker_;
  job.deliveries = looked.ledger.failures + static_cast<int>(looked.ledger.dead.size()) + 1;
  const std::optional<Position> at = find_place(protocol.pipeline, marker.stage);
  holding->timeout = at ? protocol.pipeline.stages[at->stage].timeout : Duration{0};
  job.timeout = holding->timeout;
  Holding& held = *holding;
  holdings_.push_back(std::move(holding));
  held.task = runtime_.spawn("tracker-item", [this, &held](std::stop_token) {
    hold(held);
    held.finished = true;
    slot_freed_ = true;
    wake_->notify();
  });
}

// Reads until the claim is there: a tracker may show it late, and then it may show those of others late too.
std::optional<TrackerWorker::Looked> TrackerWorker::read_back(const ItemId& item, const std::string& nonce,
                                                              Cost& cost) {
  Duration pause = options_.read_back;
  for (int tries = 0; tries < kReadBacksMost; ++tries) {
    if (tries > 0 && !runtime_.sleep_for(jittered(pause *= 2), stopping_.get_token())) return std::nullopt;
    std::optional<Looked> looked = look({.item = item, .state = options_.protocol.can.swap, .comments = true}, *usual_);
    if (!looked) continue;
    cost += looked->served.cost;
    if (std::ranges::any_of(looked->ledger.claims, [&](const Claim& claim) { return claim.marker.nonce == nonce; }))
      return looked;
  }
  return std::nullopt;
}

void TrackerWorker::hold(Holding& holding) {
  const std::unique_ptr<Event> changed = runtime_.make_event();
  std::atomic<bool> returned = false;
  RunResult result{.kind = OutcomeKind::given_back};
  const Instant began = runtime_.now();
  Task handler = runtime_.spawn("handler", [&](std::stop_token) {
    try {
      result =
          holding.work.handler->run({.job = holding.job, .stop = holding.stop.get_token(), .trust = &holding.trust});
    } catch (const std::exception& thrown) {
      result = {.kind = OutcomeKind::failed, .error = thrown.what()};
    }
    returned = true;
    changed->notify();
  });
  keep(holding, returned, *changed);
  handler.join();
  if (holding.trust.cut() == Cut::timed_out && result.kind == OutcomeKind::given_back)
    result.kind = OutcomeKind::failed;
  if (result.kind == OutcomeKind::done) {
    const std::scoped_lock lock(mutex_);
    work_times_.push_back(runtime_.now() - began);
    if (work_times_.size() > kWorkTimesKept) work_times_.erase(work_times_.begin());
  }
  settle(holding, result, holding.work.sent_back ? holding.work.sent_back(holding.job) : std::nullopt);
}

void TrackerWorker::keep(Holding& holding, const std::atomic<bool>& returned, Event& changed) {
  const Protocol& protocol = options_.protocol;
  const LeaseTimes times = LeaseTimes::of(protocol.ttl_of(holding.claim.marker.stage));
  bool renews = !protocol.signing.key.empty() && protocol.can.edits;
  bool told = false;
  int tries = 0;
  Instant timeout_at = holding.timeout > Duration{0} ? runtime_.now() + holding.timeout : kNever;
  while (!returned) {
    const std::optional<Duration> offset = renews ? renewal_try(tries, times) : std::nullopt;
    const Instant renew_at = offset ? holding.renewed_at + *offset : kNever;
    const Instant tell_at = told ? kNever : stop_work_at(holding.trust.until(), times);
    changed.wait_until(std::min({renew_at, tell_at, timeout_at}));
    if (returned) return;
    const Instant now = runtime_.now();
    if (now >= timeout_at) {
      timeout_at = kNever;
      holding.trust.cut_at(now + times.grace, Cut::timed_out);
      holding.stop.request_stop();
      told = true;
    }
    if (now >= renew_at && now < holding.trust.lease_until()) {
      ++tries;
      if (renew(holding)) tries = 0;
      else if (holding.trust.cut() == Cut::revoked) renews = false;
    } else if (now >= renew_at) {
      renews = false;
    }
    if (!told && runtime_.now() >= stop_work_at(holding.trust.until(), times)) {
      told = true;
      renews = false;
      count([](TrackerWorkerCounts& counts) { ++counts.lost; });
      log_.warn("tracker_claim_lost", {{"item", holding.state.id}, {"stage", holding.claim.marker.stage}});
      holding.stop.request_stop();
    }
  }
}

// One request. False: it was not renewed, or it is gone (then the handler's time is cut).
bool TrackerWorker::renew(Holding& holding) {
  const Protocol& protocol = options_.protocol;
  const LeaseTimes times = LeaseTimes::of(protocol.ttl_of(holding.claim.marker.stage));
  const Instant asked = runtime_.now();
  Marker next = holding.claim.marker;
  ++next.beat;
  {
    const std::scoped_lock lock(mutex_);
    next.at = duration_cast<seconds>(moment_.least_at(asked).time_since_epoch()).count();
  }
  const Answer<Comment> edited =
      asking([&] { return urgent_->edit(holding.state.id, holding.claim.id, text_of(next, holding.state.id)); });
  if (!edited) {
    log_.warn(
        "tracker_renewal_failed",
        {{"item", holding.state.id}, {"trouble", to_string(edited.error().kind)}, {"message", edited.error().message}});
    if (edited.error().kind == TroubleKind::in_doubt) holding.doubts.push_back({WallTime{seconds{next.at}}, asked});
    if (edited.error().kind == TroubleKind::not_found) holding.trust.cut_at(runtime_.now() + times.grace, Cut::revoked);
    return false;
  }
  const WallTime said{seconds{next.at}};
  WallTime began = protocol.can.edit_times && edited->value.edited_at ? std::min(*edited->value.edited_at, said) : said;
  const Duration late_most = std::min(kLateMost, times.ttl * 3 / 5);
  std::erase_if(holding.doubts, [&](const Holding::Doubt& doubt) { return doubt.sent + late_most <= asked; });
  for (const Holding::Doubt& doubt : holding.doubts) began = std::min(began, doubt.said);
  TrackerMoment moment;
  {
    const std::scoped_lock lock(mutex_);
    moment = moment_;
  }
  holding.claim.marker = next;
  holding.claim.ends = began + times.ttl;
  holding.renewed_at = asked;
  // Once more as soon as none of them can arrive any more, which is before the handler would be told.
  if (!holding.doubts.empty())
    holding.renewed_at = std::max(asked, holding.doubts.back().sent + late_most - times.renew_after);
  holding.trust.move_to(std::min(moment.safe_until(holding.claim.ends, protocol.can.time_grain), asked + times.ttl) -
                        times.margin);
  count([&](TrackerWorkerCounts& counts) {
    ++counts.renewals;
    counts.renewal_requests_most = std::max(counts.renewal_requests_most, edited->served.cost.requests);
  });
  return true;
}

// For people, and for whoever works on it next. What a handler says may be anything (X5).
void TrackerWorker::say_why(const ItemId& item, const SentBack& back) {
  const std::string text = neutralised("fenceline: sent back to " + back.to + ": " + back.reason);
  if (const Answer<Comment> said = asking([&] { return urgent_->post(item, text); }); !said) {
    log_.warn("tracker_reason_unsaid",
              {{"item", item}, {"trouble", to_string(said.error().kind)}, {"message", said.error().message}});
  }
}

// Reads, and if the generation is still that of the claim, writes what became of it: until it is known to be there, or
// in vain for a ttl. Then somebody else does the work again.
void TrackerWorker::settle(Holding& holding, const RunResult& result, const std::optional<SentBack>& back) {
  const ItemId& id = holding.state.id;
  const Marker& claim = holding.claim.marker;
  const std::string nonce = chance_word();
  const Instant give_up_at = runtime_.now() + options_.protocol.ttl_of(claim.stage);
  for (Duration pause = seconds{1}; runtime_.now() < give_up_at && !shut_out_;
       pause = std::min(2 * pause, Duration{std::chrono::minutes{1}})) {
    const std::optional<Looked> looked = look({.item = id}, *urgent_);
    if (looked && looked->item.state) {
      const Ledger& ledger = looked->ledger;
      const bool written = std::ranges::any_of(looked->item.comments, [&](const Comment& comment) {
        const ReadMarker read = read_marker(comment.text, id, options_.protocol.signing);
        return read.marker && read.marker->nonce == nonce;
      });
      if (written || ledger.generation != claim.generation || ledger.place != claim.stage || ledger.contested) {
        if (!written) {
          count([](TrackerWorkerCounts& counts) { ++counts.voided; });
          log_.warn("tracker_outcome_void", {{"item", id}, {"stage", claim.stage}, {"generation", claim.generation}});
        }
        mirror(*looked->item.state, ledger);
        withdraw(id, holding.claim.id);
        return;
      }
      // As this worker left them, unless somebody was there.
      Ledger as_held = ledger;
      as_held.holder = holding.claim;
      const bool meddled = mirror_step(options_.protocol, *looked->item.state, as_held).kind != StepKind::nothing;
      const std::optional<Step> asked_for =
          back ? back_step(options_.protocol, ledger, holding.claim, back->to) : std::nullopt;
      Step step = asked_for ? *asked_for : outcome_step(options_.protocol, ledger, holding.claim, result.kind);
      if (meddled && options_.protocol.can.moves) {
        // A trusted person's word, said while this was worked on, goes before what came of it.
        const std::optional<Looked> moved = look({.item = id, .moves = true}, *urgent_);
        if (!moved || !moved->item.state || moved->ledger.generation != claim.generation) continue;
        if (const std::optional<Step> command =
                command_since(options_.protocol, moved->item, ledger, holding.claim.posted))
          step = *command;
      }
      if (step.kind == StepKind::erase || write_record(*looked, step, nonce, *urgent_)) {
        const bool went_back = asked_for && step.marker.kind == MarkerKind::returned;
        count([&](TrackerWorkerCounts& counts) {
          counts.advances += step.marker.kind == MarkerKind::advanced && step.kind == StepKind::record ? 1 : 0;
          counts.sent_back += went_back ? 1 : 0;
        });
        log_.info("tracker_settled", {{"item", id},
                                      {"queue", options_.protocol.pipeline.name},
                                      {"stage", claim.stage},
                                      {"outcome", asked_for ? std::string_view("sent_back") : to_string(result.kind)},
                                      {"to", step.marker.to}});
        withdraw(id, holding.claim.id);
        if (went_back && !back->reason.empty()) say_why(id, *back);
        mirror(id, *urgent_, meddled);
        return;
      }
    }
    runtime_.sleep_for(jittered(pause), {});
  }
  log_.warn("tracker_outcome_unwritten", {{"item", id}, {"stage", claim.stage}});
}

}  // namespace fenceline::tracker
