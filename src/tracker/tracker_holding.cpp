// A TrackerWorker from the claim of an item to its outcome.
#include <algorithm>
#include <utility>

#include "base/sha256.hpp"
#include "model/trust.hpp"
#include "tracker/holding.hpp"
#include "tracker/output_note.hpp"

namespace fenceline::tracker {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr int kReadBacksMost = 4;
constexpr std::size_t kWorkTimesKept = 21;
constexpr std::size_t kSpreadMost = 32;
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
  Marker marker = signed_off(step.marker, nonce);
  const Instant asked = runtime_.now();
  {
    const std::scoped_lock lock(mutex_);
    marker.at = duration_cast<seconds>(moment_.least_at(asked).time_since_epoch()).count();
  }
  const std::string text = text_of(marker, state.id);
  bool in_doubt = false;
  if (protocol.can.swap) {
    const std::string status = protocol.claim_label ? protocol.label_of(kProcessing) : state.status;
    const Answer<Swapped> swapped = asking([&] {
      return prompt_->swap({.item = state.id, .version = state.version, .status = status, .open = {}, .comment = text});
    });
    cost += swapped ? swapped->served.cost : swapped.error().served.cost;
    in_doubt = !swapped && swapped.error().kind == TroubleKind::in_doubt;
    if (!swapped && !in_doubt) {
      if (swapped.error().kind == TroubleKind::conflict) lost_race();
      return;
    }
  } else {
    const Answer<Comment> posted = asking([&] { return prompt_->post(state.id, text); });
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
    lost_race();
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
  spread_ = std::max<std::size_t>(1, spread_ / 2);
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
  job.key = state.id;
  const std::optional<HandedOn> handed = handed_on(protocol, looked.item.comments, looked.ledger);
  job.payload = handed && handed->takes_output ? handed->output : payload_of(state);
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

// Those who go for the same items spread out.
void TrackerWorker::lost_race() {
  spread_ = std::min(2 * spread_, kSpreadMost);
  count([](TrackerWorkerCounts& counts) { ++counts.lost_races; });
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
  Task watching = runtime_.spawn("tracker-watch", [&](std::stop_token over) { watch(holding, std::move(over)); });
  keep(holding, returned, *changed);
  handler.join();
  watching.request_stop();
  if (holding.trust.cut() == Cut::timed_out && result.kind == OutcomeKind::given_back)
    result.kind = OutcomeKind::failed;
  if (result.kind == OutcomeKind::done) {
    const std::scoped_lock lock(mutex_);
    work_times_.push_back(runtime_.now() - began);
    if (work_times_.size() > kWorkTimesKept) work_times_.erase(work_times_.begin());
  }
  settle(holding, result, holding.work.sent_back ? holding.work.sent_back(holding.job) : std::nullopt);
  watching.join();
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
    if (!told && holding.trust.cut() == Cut::revoked) {  // people stopped it
      told = true;
      renews = false;
    }
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
      else if (holding.trust.cut() == Cut::revoked) told = true, renews = false;
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

void TrackerWorker::watch(Holding& holding, std::stop_token over) {
  bool missing = false;
  while (runtime_.sleep_for(jittered(missing ? options_.read_back : options_.poll), over)) {
    const std::optional<std::string> why = why_interrupted(holding.state.id, holding.posted, *hasty_);
    if (!why) continue;
    // A read may be behind: a claim is gone if it is missing twice.
    const bool again = *why == "claim_deleted" && !std::exchange(missing, true);
    if (why->empty()) missing = false;
    if (why->empty() || again) continue;
    interrupt(holding, *why);
    return;
  }
}

std::optional<std::string> TrackerWorker::why_interrupted(const ItemId& item, const Claim& claim,
                                                          PatientTracker& tracker) {
  std::optional<Looked> looked = look({.item = item}, tracker);
  if (!looked || !looked->item.state) return std::nullopt;
  Interruption found = interruption(options_.protocol, looked->item, looked->ledger, claim);
  if (found.read_moves) {
    looked = look({.item = item, .moves = true}, tracker);
    if (!looked || !looked->item.state) return std::nullopt;
    found = interruption(options_.protocol, looked->item, looked->ledger, claim);
  }
  return found.reason;
}

// The handler is told, and gone after its grace. What it comes to does not count.
void TrackerWorker::interrupt(Holding& holding, const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (!holding.stopped_by.empty()) return;
    holding.stopped_by = why;
  }
  const std::string& stage = holding.posted.marker.stage;
  log_.warn("tracker_work_stopped", {{"item", holding.state.id}, {"stage", stage}, {"reason", why}});
  holding.trust.cut_at(runtime_.now() + LeaseTimes::of(options_.protocol.ttl_of(stage)).grace, Cut::revoked);
  holding.stop.request_stop();
}

// One request; where edits leave no trace, a read before it, so that a claim that people deleted does not come back.
// False: it was not renewed, or it is gone (then the handler's time is cut).
bool TrackerWorker::renew(Holding& holding) {
  const Protocol& protocol = options_.protocol;
  const LeaseTimes times = LeaseTimes::of(protocol.ttl_of(holding.claim.marker.stage));
  if (!protocol.can.edit_times) {
    if (const auto why = why_interrupted(holding.state.id, holding.posted, *urgent_); why && !why->empty()) {
      interrupt(holding, *why);
      return false;
    }
  }
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
    if (edited.error().kind == TroubleKind::not_found) interrupt(holding, "claim_deleted");
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

std::optional<std::string> TrackerWorker::hand_on(const Looked& looked, const std::string& stage,
                                                  const std::string& nonce, const std::string& output) {
  for (const Comment& comment : looked.item.comments) {
    if (options_.protocol.is_worker(comment.author) && is_output_note(comment.text, nonce))
      return output_reference(comment);
  }
  const ItemId& item = looked.item.state->id;
  const Answer<Comment> posted = asking([&] { return urgent_->post(item, output_note(stage, nonce, output)); });
  if (!posted) {
    log_.warn("tracker_record_failed",
              {{"item", item}, {"trouble", to_string(posted.error().kind)}, {"message", posted.error().message}});
    return std::nullopt;
  }
  // With compare-and-swap the item has another version now.
  return options_.protocol.can.swap ? std::nullopt : std::optional(output_reference(posted->value));
}

std::optional<Step> TrackerWorker::ending_of(const Looked& looked, Holding& holding, const RunResult& result,
                                             const std::optional<SentBack>& back, const std::string& why,
                                             const std::string& nonce) {
  const Protocol& protocol = options_.protocol;
  const Ledger& ledger = looked.ledger;
  if (!why.empty()) {
    if (std::optional<Step> command = command_since(protocol, looked.item, ledger, holding.posted.posted);
        command && why == "moved")
      return command;
    return outcome_step(protocol, ledger, holding.claim, OutcomeKind::given_back);
  }
  if (back) {
    if (std::optional<Step> asked_for = back_step(protocol, ledger, holding.claim, back->to)) return asked_for;
  }
  Step step = outcome_step(protocol, ledger, holding.claim, result.kind);
  const std::optional<Position> at = find_place(protocol.pipeline, ledger.place);
  if (step.marker.kind != MarkerKind::advanced || !at || at->at_entry || !hands_on(protocol.pipeline, at->stage))
    return step;
  if (const Result<void> good = check_output(result.result); !good) {
    log_.warn("tracker_output_refused",
              {{"item", holding.state.id}, {"stage", ledger.place}, {"message", good.error().message}});
    step = outcome_step(protocol, ledger, holding.claim, OutcomeKind::dead);
    step.marker.why = "output";
    return step;
  }
  const std::optional<std::string> reference = hand_on(looked, ledger.place, nonce, result.result);
  if (!reference) return std::nullopt;
  step.marker.output = *reference;
  return step;
}

// Reads, and if the generation is still that of the claim, writes what became of it: until it is known to be there, or
// in vain for a ttl. Then somebody else does the work again.
void TrackerWorker::settle(Holding& holding, const RunResult& result, const std::optional<SentBack>& back) {
  const Protocol& protocol = options_.protocol;
  const ItemId& id = holding.state.id;
  const Marker& claim = holding.claim.marker;
  const std::string nonce = chance_word();
  const std::string note_nonce = chance_word();
  const Instant give_up_at = runtime_.now() + protocol.ttl_of(claim.stage);
  const auto tell_void = [&](const std::string& why) {
    count([](TrackerWorkerCounts& counts) { ++counts.voided; });
    log_.warn("tracker_outcome_void",
              {{"item", id}, {"stage", claim.stage}, {"generation", claim.generation}, {"reason", why}});
  };
  const auto shut_out = [&] { return shut_out_ || (stopping_.stop_requested() && denied_ >= kDeniedMost); };
  bool missing = false;
  for (Duration pause = seconds{1}; runtime_.now() < give_up_at && !giving_up_.stop_requested() && !shut_out();
       pause = std::min(2 * pause, Duration{std::chrono::minutes{1}})) {
    std::optional<Looked> looked = look({.item = id}, *urgent_);
    Interruption found;
    if (looked && looked->item.state) found = interruption(protocol, looked->item, looked->ledger, holding.posted);
    const bool moves = found.read_moves;
    if (moves) {
      looked = look({.item = id, .moves = true}, *urgent_);
      if (looked && looked->item.state) found = interruption(protocol, looked->item, looked->ledger, holding.posted);
    }
    if (looked && looked->item.state) {
      const Ledger& ledger = looked->ledger;
      const bool written = std::ranges::any_of(looked->item.comments, [&](const Comment& comment) {
        const ReadMarker read = read_marker(comment.text, id, protocol.signing);
        return read.marker && read.marker->nonce == nonce;
      });
      if (written || ledger.generation != claim.generation || ledger.place != claim.stage || ledger.contested) {
        if (!written) tell_void(ledger.contested ? "contested" : "superseded");
        mirror(*looked->item.state, ledger);
        withdraw(id, holding.claim.id);
        return;
      }
      std::string why = found.reason;
      if (why == "claim_deleted" && !std::exchange(missing, true)) {
        runtime_.sleep_for(options_.read_back, giving_up_.get_token());
        continue;
      }
      if (why.empty()) {
        const std::scoped_lock lock(mutex_);
        why = holding.stopped_by;
      }
      const std::optional<Step> step = ending_of(*looked, holding, result, back, why, note_nonce);
      if (!step && protocol.can.swap) continue;
      if (step && (step->kind == StepKind::erase || write_record(*looked, *step, nonce, *urgent_))) {
        const bool asked_back = why.empty() && back && (step->reason == "returned" || step->reason == "loops");
        const bool went_back = asked_back && step->marker.kind == MarkerKind::returned;
        count([&](TrackerWorkerCounts& counts) {
          counts.advances +=
              why.empty() && step->marker.kind == MarkerKind::advanced && step->kind == StepKind::record ? 1 : 0;
          counts.sent_back += went_back ? 1 : 0;
          counts.stopped_by_people += why.empty() ? 0 : 1;
        });
        if (why.empty()) {
          log_.info("tracker_settled", {{"item", id},
                                        {"queue", protocol.pipeline.name},
                                        {"stage", claim.stage},
                                        {"outcome", asked_back                 ? std::string_view("sent_back")
                                                    : step->marker.to == kDead ? to_string(OutcomeKind::dead)
                                                                               : to_string(result.kind)},
                                        {"to", step->marker.to}});
        } else {
          tell_void(why);
        }
        if (why != "claim_deleted") withdraw(id, holding.claim.id);
        if (went_back && !back->reason.empty()) say_why(id, *back);
        if (why == "taken_out") untie(*looked->item.state);
        else mirror(id, *urgent_, moves);
        return;
      }
    }
    runtime_.sleep_for(jittered(pause), giving_up_.get_token());
  }
  log_.warn("tracker_outcome_unwritten", {{"item", id}, {"stage", claim.stage}});
}

// A person took it out of the pipeline: of our labels none is left.
void TrackerWorker::untie(const ItemState& state) {
  const std::string& label = options_.protocol.claimed;
  if (options_.protocol.can.labels && std::ranges::find(state.labels, label) != state.labels.end())
    (void)asking([&] { return urgent_->remove_label(state.id, label); });
}

}  // namespace fenceline::tracker
