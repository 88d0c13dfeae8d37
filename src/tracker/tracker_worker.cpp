#include "tracker/tracker_worker.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "tracker/holding.hpp"

namespace fenceline::tracker {
namespace {

constexpr int kRoundsMost = 8;  // writes about one item in one look: whoever fights with us wins for now
constexpr std::size_t kWorkTimesEnough = 5;
constexpr Duration kHaste = std::chrono::seconds{5};
constexpr std::size_t kCopiesTold = 1000;

}  // namespace

TrackerWorker::TrackerWorker(Runtime& runtime, Log log, Tracker& tracker, TrackerWorkerOptions options)
    : runtime_(runtime),
      log_(log),
      driver_(tracker),
      options_(std::move(options)),
      budget_(options_.budget),
      wake_(runtime.make_event()) {
  options_.protocol.can = tracker.capabilities();
  options_.protocol.signing.place = tracker.place();
  worker_ = chance_word().substr(0, 8);
}

TrackerWorker::~TrackerWorker() = default;

Result<void> TrackerWorker::run(std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] {
    stopping_.request_stop();
    wake_->notify();
  });
  make_patient();
  if (const Result<void> good = greet(stop); !good) return good;
  Result<void> fit;
  Instant next_sweep = runtime_.now() + jittered(shortest_ttl()) / 2;
  Instant next_scan = runtime_.now();
  while (!stop.stop_requested() && fit) {
    const bool has_room = free_slots() > 0;
    if (has_room && (slot_freed_.exchange(false) || runtime_.now() >= next_scan)) {
      const bool sweeps = runtime_.now() >= next_sweep;
      const bool busy = scan(sweeps);
      if (sweeps) next_sweep = runtime_.now() + jittered(shortest_ttl());
      next_scan = runtime_.now() + jittered(options_.poll);
      if (options_.until_idle && !busy && holdings_.empty()) break;
    }
    look_at_hints();
    fit = still_let_in();
    if (!fit) break;
    const Instant until = has_room ? next_scan : runtime_.now() + jittered(options_.poll);
    wake_->wait_until(std::min({until, hints_.next(runtime_.now()), next_probe()}));
    fit = still_fit();
  }
  end_holdings(!fit);
  if (fit && denied_ >= kDeniedMost)
    return std::unexpected(shut_out_error("the token was refused while this worker ended"));
  return fit;
}

void TrackerWorker::end_holdings(bool at_once) {
  if (!at_once) all_finished_by(runtime_.now() + options_.drain_grace);
  for (const auto& holding : holdings_) holding->stop.request_stop();
  all_finished_by(runtime_.now() + kSettleAtStop);
  giving_up_.request_stop();
  for (const auto& holding : holdings_) holding->task.join();
  holdings_.clear();
}

bool TrackerWorker::all_finished_by(Instant when) {
  while (std::ranges::any_of(holdings_, [](const auto& holding) { return !holding->finished; })) {
    if (runtime_.now() >= when) return false;
    wake_->wait_until(when);
  }
  return true;
}

Result<void> TrackerWorker::sweep(std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] { stopping_.request_stop(); });
  make_patient();
  only_sweeps_ = true;
  if (const Result<void> good = greet(stop); !good) return good;
  (void)scan(true);
  return {};
}

void TrackerWorker::make_patient() {
  usual_ = std::make_unique<PatientTracker>(runtime_, driver_, budget_, Patience{.stop = stopping_.get_token()});
  urgent_ = std::make_unique<PatientTracker>(
      runtime_, driver_, budget_,
      Patience{.most = shortest_ttl() / 10, .urgency = Urgency::urgent, .stop = giving_up_.get_token()});
  hasty_ = std::make_unique<PatientTracker>(runtime_, driver_, budget_,
                                            Patience{.most = kHaste, .stop = stopping_.get_token()});
  prompt_ = std::make_unique<PatientTracker>(runtime_, driver_, budget_,
                                             Patience{.most = kVerbTimeout, .stop = stopping_.get_token()});
}

void TrackerWorker::hint(const ItemId& item) {
  // Workers that heard the same do not all come at once; each is as late as its name says.
  const Duration late = std::chrono::milliseconds{std::stoul(worker_, nullptr, 16) % 2000};
  hints_.heard(item, runtime_.now() + late);
  count([](TrackerWorkerCounts& counts) { ++counts.hints; });
  wake_->notify();
}

void TrackerWorker::look_at_hints() {
  for (const ItemId& id : hints_.due(runtime_.now())) {
    if (stopping_.stop_requested()) return;
    if (is_held(id)) {  // before its outcome is written it is read
      hints_.forget(id);
      continue;
    }
    count([](TrackerWorkerCounts& counts) { ++counts.hint_looks; });
    const auto seen = seen_.find(id);
    const std::optional<WallTime> known = seen != seen_.end() && seen->second.updated_at != WallTime{}
                                              ? std::optional(seen->second.updated_at)
                                              : std::nullopt;
    // What a list would have said of it; the rest as if it had.
    ItemState state;
    if (!read_state(id, state, *hasty_)) {
      hints_.shown(id, std::nullopt, known);
      continue;
    }
    hints_.shown(id, state.updated_at, known);
    if (worth_a_look(state)) (void)attend(state, false, false);
    if (is_held(id)) hints_.forget(id);
  }
}

bool TrackerWorker::is_held(const ItemId& item) const {
  return std::ranges::any_of(holdings_, [&](const auto& holding) { return holding->state.id == item; });
}

TrackerWorkerCounts TrackerWorker::counts() const {
  const std::scoped_lock lock(mutex_);
  TrackerWorkerCounts counts = counts_;
  counts.writes = budget_.writes();
  counts.limits = budget_.limits();
  return counts;
}

Result<void> TrackerWorker::greet(std::stop_token stop) {
  const Protocol& protocol = options_.protocol;
  if (const Result<void> good = check_fitness(protocol, options_.fitness); !good) return good;
  for (const PlaceWork& work : options_.work) {
    if (!protocol.has_place(work.place))
      return fail(Code::invalid, "pipeline " + protocol.pipeline.name + " has no stage " + work.place);
  }
  for (int good = 0; !stop.stop_requested();) {
    const Instant asked = runtime_.now();
    const Answer<Account> me = asking([&] { return usual_->who_am_i(); });
    if (me) {
      account_ = me->value;
      if (!protocol.is_worker(account_)) {
        return fail(Code::refused, "account " + account_.id + " (" + account_.name +
                                       ") is not listed in the pipeline's file as a worker of " + driver_.place() +
                                       "; add its id to [tracker] workers, or use another token");
      }
      // As if each of the five requests took as long as this one; the best of three, for one may meet with an accident.
      const Duration claim = 5 * (runtime_.now() - asked) + options_.read_back;
      const std::scoped_lock lock(mutex_);
      claim_time_ = good == 0 ? claim : std::min(claim_time_, claim);
      if (++good == 3) break;
      continue;
    }
    if (me.error().kind == TroubleKind::denied) return fail(Code::denied, me.error().message);
    log_.warn("tracker_unreached", {{"message", me.error().message}});
    if (!runtime_.sleep_for(jittered(options_.poll), stop)) break;
  }
  return protocol.can.labels ? Result<void>{} : know_statuses();
}

// A status that is missing would be noticed when the work is done, and cannot be written.
Result<void> TrackerWorker::know_statuses() {
  const Protocol& protocol = options_.protocol;
  std::vector<std::string> places{std::string(kProcessing), std::string(kDead)};
  for (const StageSpec& stage : protocol.pipeline.stages) {
    places.push_back(stage.name);
    if (stage.entry.kind != EntryKind::automatic) places.push_back(std::string(kEntryPrefix) + stage.name);
  }
  std::string missing;
  for (const std::string& place : places) {
    const Answer<std::vector<ItemState>> items = asking([&] {
      return usual_->list({protocol.label_of(place), false});
    });
    if (!items && items.error().kind == TroubleKind::refused)
      missing += (missing.empty() ? "" : ", ") + protocol.label_of(place);
  }
  if (missing.empty()) return {};
  return fail(Code::refused, driver_.place() + " has no issue status " + missing + ", which pipeline " +
                                 protocol.pipeline.name + " needs; an administrator has to create it");
}

// Measured as it goes: the tracker may be slower, or the work shorter, than was said.
Result<void> TrackerWorker::still_fit() {
  Fitness fitness = options_.fitness;
  {
    const std::scoped_lock lock(mutex_);
    fitness.claim = claim_time_;
    if (!fitness.work && work_times_.size() >= kWorkTimesEnough) fitness.work = median(work_times_);
  }
  return check_fitness(options_.protocol, fitness);
}

Instant TrackerWorker::next_probe() const {
  return denied_ == 0 ? Instant::max() : std::max(denied_since_.load(), probed_at_) + kDeniedFor / 4;
}

// By a list, which is what it lives on: a single item may be closed to us for reasons of its own.
Result<void> TrackerWorker::still_let_in() {
  if (runtime_.now() < next_probe()) return {};
  probed_at_ = runtime_.now();
  const Answer<std::vector<ItemState>> items = asking([&] {
    return hasty_->list({options_.protocol.label_of(options_.protocol.pipeline.first().name), false});
  });
  if (items || items.error().kind != TroubleKind::denied || denied_ < kDeniedMost ||
      runtime_.now() < denied_since_.load() + kDeniedFor)
    return {};
  shut_out_ = true;
  log_.error("tracker_shut_out", {{"message", items.error().message}});
  return std::unexpected(shut_out_error(items.error().message));
}

Error TrackerWorker::shut_out_error(const std::string& message) const {
  return {Code::denied, message + "; the tracker refused the token " + std::to_string(denied_) +
                            " times in a row, so this worker ends: check the token and its rights"};
}

std::optional<TrackerWorker::Looked> TrackerWorker::look(const ReadRequest& request, PatientTracker& tracker,
                                                         TroubleKind* why) {
  Answer<Item> read = asking([&] { return tracker.read(request); });
  if (!read) {
    log_.warn("tracker_read_failed",
              {{"item", request.item}, {"trouble", to_string(read.error().kind)}, {"message", read.error().message}});
    if (why) *why = read.error().kind;
    return std::nullopt;
  }
  options_.protocol.spell(read->value);
  Looked looked{std::move(read->value), {}, read->served};
  looked.ledger = read_ledger(options_.protocol, request.item, looked.item.comments, account_, looked.served.now);
  tell_copies(request.item, looked.ledger);
  return looked;
}

// Once for each.
void TrackerWorker::tell_copies(const ItemId& item, const Ledger& ledger) {
  for (const CommentId& copy : ledger.copies) {
    {
      const std::scoped_lock lock(mutex_);
      if (copies_told_.size() >= kCopiesTold || !copies_told_.insert(item + "#" + copy).second) continue;
    }
    log_.warn("tracker_copy_ignored", {{"item", item}, {"comment", copy}});
  }
}

bool TrackerWorker::attend(ItemState state, bool fresh, bool sweeps) {
  const ItemId id = state.id;
  if (is_held(id)) return false;
  const Instant began = runtime_.now();
  bool listed = !fresh;  // what is known of its labels may be old
  bool moves = false;
  bool acted = false;
  for (int round = 0; round < kRoundsMost && !stopping_.stop_requested(); ++round) {
    TroubleKind why{};
    std::optional<Looked> looked = look(
        {.item = id, .state = fresh || options_.protocol.can.swap, .comments = true, .moves = moves}, *usual_, &why);
    if (!looked) {
      // Too much of it, or gone: not before it changes.
      const bool for_good = why == TroubleKind::refused || why == TroubleKind::not_found;
      if (for_good) seen_[id] = {state.updated_at, "unreadable", std::nullopt, WallTime::max(), {}};
      return !for_good;
    }
    const bool only_comments = !looked->item.state;
    if (only_comments) looked->item.state = state;
    const std::optional<Claim>& holder = looked->ledger.holder;
    if (holder && holder->marker.worker == worker_) {
      // Posted by a request whose outcome was unknown.
      withdraw(id, holder->id);
      fresh = true;
      continue;
    }
    Self self{account_, {}, sweeps};
    const bool has_room = !only_sweeps_ && free_slots() > 0;
    if (has_room) {
      for (const PlaceWork& work : options_.work) self.places.push_back(work.place);
    }
    const auto decide = [&] {
      return next_step(options_.protocol, looked->item, looked->ledger, self, looked->served.now);
    };
    Step step = decide();
    // Before anything but a claim is written all is read again; but mostly only a list was behind.
    if (step.kind != StepKind::nothing && step.kind != StepKind::claim && only_comments &&
        std::exchange(listed, false) && read_state(id, state, *usual_)) {
      looked->item.state = state;
      step = decide();
    }
    if (step.kind == StepKind::nothing) {
      const bool over = step.reason == "done" || step.reason == "closed" || step.reason == "in_no_stage" ||
                        step.reason == "taken_out";
      // What there was no room for is looked at again as soon as there is.
      if (over || !has_room) seen_.erase(id);
      else
        seen_[id] = {looked->item.state->updated_at, step.reason, step.again, looked->served.now, looked->ledger.place};
      if (step.reason == "signed") log_.warn("tracker_item_unreadable", {{"item", id}});
      return acted;
    }
    seen_[id] = {};
    const bool whole = fresh;
    state = *looked->item.state;
    if (step.kind == StepKind::claim) {
      // It rests on a read of its comments, as new as can be.
      fresh = moves = false;
      if (!only_comments && !options_.protocol.can.swap) continue;
      try_claim(*looked, step, looked->served.cost, began);
      return true;
    }
    fresh = true;
    if (step.kind == StepKind::read_moves) {
      moves = true;
    } else if (whole) {
      log_.info("tracker_item_tended", {{"item", id}, {"step", to_string(step.kind)}, {"reason", step.reason}});
      std::optional<ItemState> after;
      if (!act(*looked, step, after)) return true;
      acted = true;
      moves = false;
      if (after) {
        state = *after;
        fresh = false;
      }
    }
  }
  return true;
}

bool TrackerWorker::read_state(const ItemId& item, ItemState& state, PatientTracker& tracker) {
  Answer<Item> read = asking([&] { return tracker.read({.item = item, .state = true, .comments = false}); });
  if (!read || !read->value.state) return false;
  options_.protocol.spell(read->value);
  state = *read->value.state;
  return true;
}

bool TrackerWorker::act(const Looked& looked, const Step& step, std::optional<ItemState>& after) {
  count([&](TrackerWorkerCounts& counts) {
    counts.repairs += step.reason == "half_done" ? 1 : 0;
    counts.contested += step.kind == StepKind::record && step.marker.kind == MarkerKind::contested ? 1 : 0;
  });
  const ItemId& id = looked.item.state->id;
  if (step.kind == StepKind::record) {
    if (!write_record(looked, step, chance_word(), *usual_)) return false;
    if (!step.marker.to.empty()) after = mirror(id, *usual_);
    return true;
  }
  if (step.kind == StepKind::erase) return asking([&] { return usual_->erase(id, step.comment); }).has_value();
  ItemState state = *looked.item.state;
  if (!act_on_labels(state, step)) return false;
  // The tracker has said what its labels are now: what was read before may have been older.
  if (step.reason == "half_done" || step.reason == "put_back") state = mirror(std::move(state), looked.ledger);
  after = std::move(state);
  return true;
}

// One write, and `state` as it is after it.
bool TrackerWorker::act_on_labels(ItemState& state, const Step& step) {
  const auto after = [&](const Answer<LabelsAfter>& answer) {
    if (!answer) return false;
    if (answer->value.labels) {
      state.labels = *answer->value.labels;
      options_.protocol.spell(state.labels);
    } else if (step.kind == StepKind::add_labels) {
      state.labels.insert(state.labels.end(), step.labels.begin(), step.labels.end());
    } else {
      std::erase(state.labels, step.labels.front());
    }
    return true;
  };
  switch (step.kind) {
    case StepKind::add_labels: return after(asking([&] { return usual_->add_labels(state.id, step.labels); }));
    case StepKind::remove_label:
      return after(asking([&] { return usual_->remove_label(state.id, step.labels.front()); }));
    case StepKind::set_status: return put_status(state, step.labels.front());
    case StepKind::close:
      state.open = false;
      return asking([&] { return usual_->set_open(state.id, false); }).has_value();
    default: check(false, "no step for labels"); return false;
  }
}

// Only if it is still as it was read, where the tracker can tell: a person may have closed it.
bool TrackerWorker::put_status(ItemState& state, const std::string& status) {
  if (!options_.protocol.can.swap) {
    state.status = status;
    return asking([&] { return usual_->set_status(state.id, status); }).has_value();
  }
  const Answer<Swapped> swapped = asking([&] {
    return usual_->swap({.item = state.id, .version = state.version, .status = status, .open = {}, .comment = {}});
  });
  if (!swapped) return false;
  state.status = status;
  state.version = swapped->value.version;
  return true;
}

std::optional<ItemState> TrackerWorker::mirror(const ItemId& item, PatientTracker& tracker, bool meddled) {
  const Protocol& protocol = options_.protocol;
  const std::optional<Looked> looked = look({.item = item, .moves = meddled && protocol.can.moves}, tracker);
  if (!looked || !looked->item.state) return std::nullopt;
  const Ledger& ledger = looked->ledger;
  if (looked->item.moves && !ledger.holder && !ledger.contested && ledger.place != kDone &&
      is_fought_over(protocol, looked->item, looked->served.now)) {
    const Step step = contest_step(ledger, "moved_again");
    log_.info("tracker_item_tended", {{"item", item}, {"step", to_string(step.kind)}, {"reason", step.reason}});
    std::optional<ItemState> after;
    (void)act(*looked, step, after);
    return std::nullopt;
  }
  ItemState state = mirror(*looked->item.state, ledger);
  // Its comments stay few while it is worked on, too.
  for (std::size_t erased = 0; erased < std::min<std::size_t>(2, ledger.leftovers.size()); ++erased) {
    if (!asking([&] { return tracker.erase(item, ledger.leftovers[erased]); })) break;
  }
  return state;
}

ItemState TrackerWorker::mirror(ItemState state, const Ledger& ledger) {
  for (int round = 0; round < kRoundsMost; ++round) {
    const Step step = mirror_step(options_.protocol, state, ledger);
    if (step.kind == StepKind::nothing || !act_on_labels(state, step)) break;
  }
  return state;
}

bool TrackerWorker::write_record(const Looked& looked, const Step& step, const std::string& nonce,
                                 PatientTracker& tracker) {
  const ItemState& state = *looked.item.state;
  const std::string text = text_of(signed_off(step.marker, nonce), state.id);
  std::optional<Trouble> failed;
  if (options_.protocol.can.swap && !step.marker.to.empty()) {
    SwapRequest swap{.item = state.id, .version = state.version, .status = {}, .open = {}, .comment = text};
    if (step.marker.to == kDone) swap.open = false;
    else swap.status = options_.protocol.label_of(step.marker.to);
    if (const Answer<Swapped> swapped = asking([&] { return tracker.swap(swap); }); !swapped) failed = swapped.error();
  } else if (const Answer<Comment> posted = asking([&] { return tracker.post(state.id, text); }); !posted) {
    failed = posted.error();
  }
  if (failed)
    log_.warn("tracker_record_failed",
              {{"item", state.id}, {"trouble", to_string(failed->kind)}, {"message", failed->message}});
  return !failed;
}

void TrackerWorker::withdraw(const ItemId& item, const CommentId& claim) {
  if (const Answer<Nothing> erased = asking([&] { return urgent_->erase(item, claim); }); !erased) {
    log_.warn("tracker_withdraw_failed",
              {{"item", item}, {"trouble", to_string(erased.error().kind)}, {"message", erased.error().message}});
  }
}

int TrackerWorker::free_slots() {
  for (const auto& holding : holdings_) {
    if (holding->finished) holding->task.join();
  }
  std::erase_if(holdings_, [](const auto& holding) { return holding->finished.load(); });
  return options_.concurrency - static_cast<int>(holdings_.size());
}

Marker TrackerWorker::signed_off(Marker marker, const std::string& nonce) const {
  marker.worker = worker_;
  marker.nonce = nonce;
  if (marker.kind == MarkerKind::claim) marker.name = options_.name;
  return marker;
}

Duration TrackerWorker::jittered(Duration duration) {
  const auto quarter = static_cast<std::uint64_t>(duration.count() / 4 + 1);
  return duration - duration / 8 + Duration{static_cast<Duration::rep>(runtime_.random() % quarter)};
}

std::string TrackerWorker::chance_word() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word;
  for (std::uint64_t chance = runtime_.random(); word.size() < 16; chance >>= 4) word += kDigits[chance & 15];
  return word;
}

Duration TrackerWorker::shortest_ttl() const {
  Duration shortest = kTtlRange.most;
  for (const StageSpec& stage : options_.protocol.pipeline.stages)
    shortest = std::min(shortest, options_.protocol.ttl_of(stage.name));
  return shortest;
}

}  // namespace fenceline::tracker
