#include "sim/tracker/tracker_world.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fenceline::sim {

using namespace tracker;
using tracker::Item;  // and not an item of a pipeline
using namespace std::chrono_literals;

namespace {

const Account kAna{"11", "ana"};      // trusted
const Account kEve{"66", "eve"};      // not
const Account kAdmin{"77", "admin"};  // may edit anything, and is not trusted with moves
const Account kBot{"88", "size-bot"};
const Account kWorkers{"99", "robots"};

Protocol protocol_of(const TrackerPlan& plan) {
  Protocol protocol;
  protocol.pipeline.name = "docs";
  protocol.pipeline.stages = {{.name = "ready"}, {.name = "review"}, {.name = "publish"}};
  if (plan.entry)
    protocol.pipeline.stages.back().entry = {
        .kind = EntryKind::approval, .count = 1, .by = {"ana"}, .within = plan.entry_within, .then = plan.entry_then};
  if (plan.hands_on) protocol.pipeline.stages[1].input = StageInput::previous;
  protocol.signing = {"a key that only workers have", "model:team/backlog"};
  protocol.workers = {kWorkers.id};
  protocol.people = {kAna.id};
  protocol.can = plan.can;
  protocol.claim_label = plan.claim_label;
  return protocol;
}

}  // namespace

// Takes its time, acts now and then, and only while it may.
class TrackerWorld::Hands final : public Handler {
 public:
  Hands(TrackerWorld& world, SimRuntime& process) : world_(world), process_(process) {}

  RunResult run(const Run& run) override {
    const ItemId item = run.job.key;
    const std::string handed = "what ready made of " + item + "\n<!-- fenceline/1 claim -->";
    if (world_.plan_.hands_on && run.job.stage == "review" && !run.job.payload.empty()) {
      ++world_.report_.handed_on;
      if (run.job.payload != handed)
        world_.violations_.add("P1", "review got '" + run.job.payload + "' for item " + item);
    }
    Random& random = world_.random();
    const Instant end =
        process_.now() +
        (world_.storm_ ? random.between(world_.plan_.works_least, world_.plan_.works_most) : world_.plan_.works_least);
    world_.checks_.starts(item, run.job.stage, process_, run.trust->until());
    bool done = true;
    while (process_.now() < end) {
      process_.sleep_until(std::min(end, process_.now() + 20s), run.stop);
      if (run.stop.stop_requested() || process_.now() >= run.trust->until()) {
        done = false;
        break;
      }
      world_.checks_.acts(item, process_, run.trust->until());
    }
    RunResult result{.kind = done ? OutcomeKind::done : OutcomeKind::given_back, .result = handed};
    if (done && world_.storm_ && random.chance(world_.plan_.fails)) result.kind = OutcomeKind::failed;
    if (done && world_.storm_ && random.chance(world_.plan_.later)) result.kind = OutcomeKind::later;
    back_.reset();
    if (result.kind == OutcomeKind::done && run.job.stage != "ready" && world_.storm_ && world_.plan_.sends_back > 0 &&
        random.chance(world_.plan_.sends_back))
      back_ = SentBack{"ready", "/approve\n<!-- fenceline/1 claim -->"};
    world_.checks_.ends(item, process_, result.kind == OutcomeKind::done);
    return result;
  }
  // It works on one item at a time.
  std::optional<SentBack> sent_back() { return std::exchange(back_, std::nullopt); }

 private:
  TrackerWorld& world_;
  SimRuntime& process_;
  std::optional<SentBack> back_;
};

// Its log goes into the trace. `error` means a person should look, so here it fails the run.
struct TrackerWorld::Process final : LogSink {
  Process(TrackerWorld& its_world, Machine& machine, const std::string& name)
      : world(its_world),
        runtime(its_world.simulation_, machine, name),
        door(its_world.model_.door(kWorkers, name)),
        wire(runtime, *door, its_world.wire_),
        hands(its_world, runtime) {}

  void write(const LogEvent& event) override {
    if (runtime.dead()) return;
    if (world.simulation_.trace().on())
      world.simulation_.trace().write(world.simulation_.now(), runtime.name(), format_log_line(event, ""));
    if (event.level == Level::error)
      world.violations_.add("log", runtime.name() + " logged the error " + format_log_line(event, ""));
  }

  TrackerWorld& world;
  SimRuntime runtime;
  std::unique_ptr<Tracker> door;
  SimTracker wire;
  Hands hands;
  std::unique_ptr<TrackerWorker> worker;
};

TrackerWorld::TrackerWorld(std::uint64_t seed, TrackerPlan plan, StackPool& stacks, TrackerProgram program)
    : plan_(plan),
      simulation_(seed, stacks, plan.tracing),
      clock_(simulation_),
      protocol_(protocol_of(plan)),
      model_(clock_, simulation_.random(), plan.faults, plan.can),
      checks_(protocol_, model_, violations_, {plan.reads_are_true}),
      program_(std::move(program)),
      wire_(plan.wire) {
  model_.on_event([this](const TrackerEvent& event) {
    if (simulation_.trace().on()) trace(event);
    checks_.happened(event);
    tell(event);
  });
}

void TrackerWorld::trace(const TrackerEvent& event) {
  constexpr std::array<std::string_view, 10> kKinds{"posted",        "edited",          "erased",     "labels_added",
                                                    "label_removed", "labels_replaced", "status_set", "opened",
                                                    "closed",        "swapped"};
  std::string what = "item " + event.item + " " + std::string(kKinds[static_cast<std::size_t>(event.kind)]);
  for (const std::string& label : event.labels) what += " " + label;
  if (!event.comment.id.empty())
    what += " " + event.comment.id + " " + event.comment.text.substr(0, event.comment.text.find('\n'));
  simulation_.trace().write(simulation_.now(), event.writer, what);
}

// Each worker hears of it by a delivery of its own.
void TrackerWorld::tell(const TrackerEvent& event) {
  if (plan_.webhooks == 0 || protocol_.is_worker(event.by)) return;
  for (const auto& [place, process] : at_) {
    if (!process->worker || !process->runtime.alive()) continue;
    const bool heard = random().chance(plan_.webhooks);
    const int times = !heard ? 0 : random().chance(plan_.webhook_doubled) ? 2 : 1;
    report_.webhooks_lost += heard ? 0 : 1;
    report_.webhooks_doubled += times == 2 ? 1 : 0;
    for (int i = 0; i < times; ++i) {
      simulation_.after(random().between(Duration{0}, plan_.webhook_late_most),
                        [this, to = process, item = event.item] {
                          if (!to->runtime.alive() || to->runtime.paused()) return;
                          ++report_.webhooks_told;
                          to->worker->hint(item);
                        });
    }
  }
}

TrackerWorld::~TrackerWorld() {
  for (const auto& process : processes_) process->runtime.kill();
}

Tracker& TrackerWorld::of(const Account& account) {
  std::unique_ptr<Tracker>& door = doors_[account.id];
  if (!door) door = model_.door(account, account.name);
  return *door;
}

void TrackerWorld::start(int place) {
  Process& process = *processes_.emplace_back(
      std::make_unique<Process>(*this, machines_[static_cast<std::size_t>(place) % machines_.size()],
                                "w" + std::to_string(place) + "." + std::to_string(processes_.size())));
  at_[place] = &process;
  if (program_) {
    checks_.named(process.runtime.name(), process.runtime.name());
    process.runtime.start([this, &process](std::stop_token stop) {
      TrackerHost host{process.runtime, process.wire, process.hands, protocol_, model_, kWorkers};
      program_(host, stop);
    });
    return;
  }
  TrackerWorkerOptions options{
      .protocol = protocol_, .poll = plan_.poll, .fitness = {.idempotent = true, .work = plan_.works_least}};
  for (const StageSpec& stage : protocol_.pipeline.stages)
    options.work.push_back({stage.name, &process.hands, [&process](const Job&) { return process.hands.sent_back(); }});
  process.worker = std::make_unique<TrackerWorker>(process.runtime, Log(plan_.log ? *plan_.log : process), process.wire,
                                                   std::move(options));
  checks_.named(process.runtime.name(), process.worker->name());
  process.runtime.start([this, &process](std::stop_token stop) {
    if (const Result<void> ended = process.worker->run(stop); !ended)
      violations_.add("work", process.runtime.name() + " ended: " + ended.error().message);
  });
}

void TrackerWorld::every(Duration mean, std::function<void()> what) {
  if (mean == Duration{0}) return;
  simulation_.after(random().between(Duration{1}, 2 * mean), [this, mean, what] {
    if (!storm_) return;
    what();
    every(mean, what);
  });
}

void TrackerWorld::strike(bool kill) {
  const int place = static_cast<int>(random().below(static_cast<std::size_t>(plan_.workers)));
  Process& process = *at_[place];
  if (kill) {
    ++report_.kills;
    process.runtime.kill();
    checks_.died(process.runtime);
    simulation_.after(random().between(Duration{0}, Duration{5min}), [this, place, &process] {
      if (at_[place] == &process) start(place);
    });
  } else if (process.runtime.alive() && !process.runtime.paused()) {
    ++report_.pauses;
    process.runtime.pause();
    simulation_.after(random().between(Duration{0}, plan_.pause_most), [&process] { process.runtime.resume(); });
  }
}

std::string TrackerWorld::some_item() {
  return std::to_string(random().between(1, static_cast<int>(model_.items().size())));
}

void TrackerWorld::make_item() {
  const bool labels = protocol_.can.labels;
  model_.make_item(kAna, "item " + std::to_string(model_.items().size() + 1),
                   labels ? std::vector{protocol_.label_of("ready")} : std::vector<std::string>{},
                   labels ? "" : "ready");
}

const Comment* TrackerWorld::some_comment_of_workers(const std::string& item) {
  std::vector<const Comment*> found;
  for (const Comment& comment : model_.truth(item).comments) {
    if (comment.author.id == kWorkers.id) found.push_back(&comment);
  }
  return found.empty() ? nullptr : random().pick(found);
}

// Looks at the board every few minutes: approves what waits for it.
void TrackerWorld::people() {
  for (const ItemId& id : model_.items()) {
    const ItemState& state = *model_.truth(id).state;
    const std::string waiting = protocol_.label_of("gate:publish");
    const bool waits =
        protocol_.can.labels ? std::ranges::binary_search(state.labels, waiting) : state.status == waiting;
    if (waits && random().chance(plan_.approves))
      (void)of(kAna).post(id, random().chance(0.5) ? "/approve" : "/approve publish");
  }
  if (!storm_) settle_contested();
  simulation_.after(random().between(Duration{2min}, Duration{10min}), [this] { people(); });
}

void TrackerWorld::settle_contested() {
  if (!plan_.settles) return;
  for (const ItemId& id : model_.items()) {
    const ItemState& state = *model_.truth(id).state;
    if (std::ranges::binary_search(state.labels, std::string(kContestedLabel))) {
      (void)of(kAna).remove_label(id, std::string(kContestedLabel));
    } else if (checks_.is_contested(id) || (checks_.place_of(id) == kDead && random().chance(0.3))) {
      // An item that lost its labels, or never had any.
      (void)of(kAna).post(id, checks_.is_contested(id) ? "/release" : "/move ready");
    }
  }
}

void TrackerWorld::forge() {
  ++report_.forged;
  const ItemId id = some_item();
  const Ledger ledger = read_ledger(protocol_, id, model_.truth(id).comments, kWorkers, model_.now());
  Marker marker{.kind = random().chance(0.5) ? MarkerKind::claim : MarkerKind::advanced,
                .generation = ledger.generation,
                .stage = ledger.place,
                .worker = "deadbeef",
                .nonce = "0123456789abcdef"};
  if (marker.kind == MarkerKind::claim) marker.ttl = 99'999'999;
  else marker.to = kDone;
  const Signing guessed{"a guess", protocol_.signing.place};
  switch (random().below(4)) {
    case 0: (void)of(kEve).post(id, marker_text(marker, id, guessed)); return;
    case 1:
      (void)of(kEve).post(id, marker_text(marker, id, protocol_.signing));
      return;  // she has the key, and not the account
    case 2: {
      // A bot of our own account that repeats what others wrote: unsigned, and from another item.
      const ItemId other = some_item();
      if (other != id) (void)of(kWorkers).post(id, marker_text(marker, other, protocol_.signing));
      return;
    }
    default: (void)of(kEve).post(id, "/approve"); return;
  }
}

void TrackerWorld::tamper() {
  const ItemId id = some_item();
  const Comment* comment = some_comment_of_workers(id);
  if (!comment) return;
  ++report_.tampered;
  const CommentId which = comment->id;
  const std::string text = comment->text;
  if (random().chance(0.5)) model_.erase_anyones(kAdmin, id, which);
  else model_.edit_anyones(kAdmin, id, which, random().chance(0.5) ? text : text + " (edited)");
}

void TrackerWorld::copy() {
  const ItemId id = some_item();
  const Comment* comment = some_comment_of_workers(id);
  if (!comment) return;
  ++report_.copied;
  (void)of(kWorkers).post(id, std::string(comment->text));
}

void TrackerWorld::close() {
  const ItemId id = some_item();
  if (checks_.place_of(id) == kDone || !model_.truth(id).state->open) return;
  ++report_.closed;
  (void)of(kAna).set_open(id, false);
  simulation_.after(random().between(Duration{5min}, Duration{1h}), [this, id] { reopen(id); });
}

// At the stage where it was, until she is heard.
void TrackerWorld::reopen(const ItemId& id) {
  const std::string place = checks_.place_of(id);
  if (model_.truth(id).state->open || place == kDone) return;
  if (protocol_.can.labels) (void)of(kAna).set_open(id, true);
  else (void)of(kAna).set_status(id, protocol_.label_of(place));
  simulation_.after(Duration{1min}, [this, id] { reopen(id); });
}

// Reads labels, thinks for a while, and writes them back with one of its own.
void TrackerWorld::replace() {
  const ItemId id = some_item();
  std::vector<std::string> labels = model_.truth(id).state->labels;
  std::erase(labels, "size:XL");
  if (random().chance(0.5)) labels.emplace_back("size:XL");
  simulation_.after(random().between(Duration{0}, Duration{1min}), [this, id, labels] {
    ++report_.replaced;
    model_.replace_labels(kBot, id, labels);
  });
}

void TrackerWorld::meddle(const Account& by) {
  const ItemId id = some_item();
  if (checks_.place_of(id) == kDone) return;
  ++report_.meddled;
  const std::string to = random().pick(protocol_.pipeline.stages).name;
  if (!protocol_.can.labels) {
    (void)of(by).set_status(id, to);
    return;
  }
  // Whoever cannot put it elsewhere leaves it: to take it out of the pipeline is another wish.
  if (!of(by).add_labels(id, {protocol_.label_of(to)})) return;
  const std::vector<std::string> labels = model_.truth(id).state->labels;
  for (const std::string& label : labels) {
    if (!protocol_.place_of(label).empty() && label != protocol_.label_of(to) && random().chance(0.7))
      (void)of(by).remove_label(id, label);
  }
}

void TrackerWorld::flip() {
  if (simulation_.now() >= Instant{plan_.flip_for}) return;
  ++report_.flips;
  const bool there = report_.flips % 2 == 0;
  model_.replace_labels(kBot, "1", {protocol_.label_of(there ? "publish" : "ready")});
  simulation_.after(plan_.flip_every, [this] { flip(); });
}

void TrackerWorld::quiet() {
  report_.first_item_contested = checks_.is_contested("1");
  report_.first_item_writes = model_.writes_of("1", kWorkers.id);
  storm_ = false;
  wire_ = {};
  TrackerFaults faults;
  faults.writes_a_minute = plan_.faults.writes_a_minute;
  faults.writes_an_hour = plan_.faults.writes_an_hour;
  faults.page = plan_.faults.page;
  model_.set_faults(faults);
}

TrackerReport TrackerWorld::run(std::stop_token stop) {
  stop_ = std::move(stop);
  for (int i = 0; i < plan_.workers; ++i)
    machines_.emplace_back("m" + std::to_string(i), random().between(Duration{0}, Duration{24h}),
                           random().between(-plan_.drift_ppm, plan_.drift_ppm), 24h * 365 * 50);
  for (int i = 0; i < plan_.items; ++i) {
    if (plan_.arrivals && i % 2 == 1)
      simulation_.after(random().between(Duration{0}, plan_.storm), [this] { make_item(); });
    else make_item();
  }
  for (int place = 0; place < plan_.workers; ++place) {
    simulation_.after(random().between(Duration{0}, Duration{1min}), [this, place] { start(place); });
  }
  simulation_.run_until(simulation_.now() + 1min);
  every(plan_.kill_every, [this] { strike(true); });
  every(plan_.pause_every, [this] { strike(false); });
  every(plan_.forge_every, [this] { forge(); });
  every(plan_.tamper_every, [this] { tamper(); });
  every(plan_.replace_every, [this] { replace(); });
  every(plan_.meddle_every, [this] { meddle(kEve); });
  every(plan_.command_every, [this] {
    ++report_.commands;
    meddle(kAna);
  });
  every(plan_.close_every, [this] { close(); });
  every(plan_.copy_every, [this] { copy(); });
  every(plan_.self_approve_every, [this] { (void)of(kWorkers).post(some_item(), "/approve"); });
  if (plan_.flip_every > Duration{0}) flip();
  people();
  const auto over = [this] { return !violations_.empty() || stop_.stop_requested(); };
  const auto ended = [this, &over] { return over() || checks_.all_done(); };
  simulation_.run_until(Instant{plan_.storm}, over);
  quiet();
  int looks = 0;
  const bool done =
      simulation_.run_until(simulation_.now() + plan_.patience, [&] { return ++looks % 64 == 0 && ended(); });
  report_.stopped = stop_.stop_requested();
  if (!done)
    violations_.add("stuck", "not done within " + std::to_string(plan_.patience / 1h) +
                                 " hours after the storm: " + checks_.undone());
  if (!report_.stopped) checks_.at_the_end();
  for (const auto& process : processes_) {
    if (!process->worker) continue;
    const TrackerWorkerCounts counts = process->worker->counts();
    TrackerWorkerCounts& sum = report_.workers;
    sum.scans += counts.scans;
    sum.scan_requests += counts.scan_requests;
    sum.scan_charged += counts.scan_charged;
    sum.claims += counts.claims;
    sum.lost_races += counts.lost_races;
    sum.claim_requests_most = std::max(sum.claim_requests_most, counts.claim_requests_most);
    sum.renewals += counts.renewals;
    sum.renewal_requests_most = std::max(sum.renewal_requests_most, counts.renewal_requests_most);
    sum.advances += counts.advances;
    sum.voided += counts.voided;
    sum.lost += counts.lost;
    sum.repairs += counts.repairs;
    sum.contested += counts.contested;
    sum.stopped_by_people += counts.stopped_by_people;
    sum.sent_back += counts.sent_back;
    sum.hints += counts.hints;
    sum.hint_looks += counts.hint_looks;
    sum.writes += counts.writes;
    sum.limits += counts.limits;
  }
  report_.violations = violations_.found();
  report_.tally = checks_.tally();
  report_.model = model_.counts();
  report_.simulated = simulation_.now().time_since_epoch();
  report_.trace = simulation_.trace().text();
  return report_;
}

}  // namespace fenceline::sim
