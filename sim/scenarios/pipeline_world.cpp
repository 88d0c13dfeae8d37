#include "sim/scenarios/pipeline_world.hpp"

#include <algorithm>
#include <array>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "base/check.hpp"
#include "history/history_store.hpp"
#include "services/entry_keeper.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_acts.hpp"
#include "services/stage_store.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

const std::string kNs{kItemNamespace};
const std::string kQueue = "docs";
constexpr int kPeople = 3;
constexpr std::array kNames{"ana", "bo", "cy", "eve"};  // the last one may approve nothing

// write -> review -> publish (two of three people in time, else back) -> ship (a check)
PipelineSpec pipeline_of(const Plan& plan) {
  PipelineSpec spec{.name = kQueue,
                    .stages = {{.name = "write"}, {.name = "review"}, {.name = "publish"}, {.name = "ship"}},
                    .loops = 2};
  spec.stages[1].attempts = 50;
  spec.stages[2].entry = {.kind = EntryKind::approval,
                          .count = 2,
                          .by = {"ana", "bo", "cy"},
                          .within = 6 * plan.ttl,
                          .then = EntryEnd::reject};
  spec.stages[3].entry = {
      .kind = EntryKind::check, .command = {"check"}, .every = std::max<Duration>(1s, plan.ttl / 2)};
  return spec;
}

}  // namespace

// Writes into the trace. `error` means a person should look, so here it fails the run.
struct PipelineWorld::Process final : LogSink {
  Process(PipelineWorld& its_world, Machine& machine, const std::string& name)
      : world(its_world),
        runtime(world.simulation_, machine, name),
        wire(runtime, world.noted_ ? *world.noted_ : *world.checks_, world.server_, world.weather_, world.tally_),
        recorder(world.history_ ? &world.history_->recorder(name) : nullptr),
        noted(recorder && world.history_->of() == Audit::clients
                  ? std::make_unique<history::HistoryStore>(*recorder, wire)
                  : nullptr) {}
  ~Process() override { runtime.kill(); }  // while all that its fibers use is there
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void write(const LogEvent& event) override {
    if (runtime.dead()) return;
    if (world.simulation_.trace().on())
      world.simulation_.trace().write(world.simulation_.now(), runtime.name(), format_log_line(event, ""));
    if (event.level == Level::error)
      world.violations_.add("log", runtime.name() + " logged the error " + format_log_line(event, ""));
  }

  Store& store() { return noted ? *noted : static_cast<Store&>(wire); }

  PipelineWorld& world;
  SimRuntime runtime;
  FaultyStore wire;
  history::Recorder* recorder;   // none: this seed is not audited
  std::unique_ptr<Store> noted;  // none: the history is not of what it sees
};

// The work of a stage, or the check before one: takes a while, and is mostly done.
class PipelineWorld::Work final : public Handler {
 public:
  Work(Process& process, bool check) : process_(process), world_(process.world), check_(check) {}

  RunResult run(const Run& run) override {
    const auto note = [&](history::Kind kind, std::string_view outcome = {}) {
      if (process_.recorder) process_.recorder->handler(kind, run.job.owner, run.job.id, run.job.fence, outcome);
    };
    note(history::Kind::started);
    RunResult result = work(run);
    note(history::Kind::ended, to_string(result.kind));
    return result;
  }

 private:
  RunResult work(const Run& run) {
    Random& random = world_.simulation_.random();
    const Habits& habits = world_.plan_.habits;
    if (!check_) world_.checks_->begins(run.job);
    process_.runtime.sleep_for(random.between(Duration{0}, habits.works_most), run.stop);
    if (world_.storm_ && random.chance(habits.fails)) return {.kind = OutcomeKind::failed, .error = "no"};
    if (world_.storm_ && random.chance(habits.later)) return {.kind = OutcomeKind::later};
    if (world_.storm_ && check_ && random.chance(0.2)) return {.kind = OutcomeKind::dead, .error = "not good enough"};
    if (world_.storm_ && !check_ && run.job.stage == "review" && random.chance(0.1)) {
      ItemActs acts(process_.runtime, process_.store(), kNs, run.stop);
      // What it returns does not count then, or it is done if that did not come about.
      if (acts.send_back({run.job.id, run.job.fence}, "write", {.actor = "worker", .reason = "no tests"})) return {};
    }
    world_.checks_->said_done(run.job, check_);
    return {};
  }

  Process& process_;
  PipelineWorld& world_;
  const bool check_;
};

PipelineWorld::PipelineWorld(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options)
    : plan_(plan),
      options_(options),
      spec_(pipeline_of(plan)),
      simulation_(seed, stacks, options.tracing),
      store_machine_("store", 0s, 0, plan.numbers.wall_ahead),
      store_clock_(simulation_, store_machine_),
      true_clock_(simulation_, store_machine_),
      weather_(plan.weather) {
  simulation_.run_until(kStart);
  violations_.deaf(options_.audit_alone);
  make_store(audit_of(seed, options_));
  make_items();
  Random& random = simulation_.random();
  for (int i = 0; i < plan_.hosts + kPeople; ++i) {
    Host host{.machine = {}, .number = i, .people = i >= plan_.hosts, .running = {}};
    host.machine = std::make_unique<Machine>(
        (host.people ? "person-" : "host-") + std::to_string(i + 1), random.between(Duration{0}, 1000h),
        random.between(-plan_.drift_ppm, plan_.drift_ppm), random.between(Duration{-1h}, 1h));
    hosts_.push_back(std::move(host));
  }
}

PipelineWorld::~PipelineWorld() {
  while (!processes_.empty()) processes_.pop_back();
}

void PipelineWorld::make_store(Audit audit) {
  store_runtime_ = std::make_unique<SimRuntime>(simulation_, store_machine_, "store");
  if (plan_.sqlite) {
    auto opened = SqliteStore::open(*store_runtime_, store_clock_, Log(null_log_sink()),
                                    {.path = ":memory:", .seq_floor = plan_.numbers.order, .actor = "sim"});
    check(opened.has_value(), "SQLite in memory opens");
    real_store_ = std::move(*opened);
  } else {
    real_store_ = std::make_unique<MemoryStore>(store_clock_);
  }
  if (options_.wrap_store) wrapped_store_ = options_.wrap_store(*real_store_);
  checks_ = std::make_unique<ItemChecks>(simulation_, wrapped_store_ ? *wrapped_store_ : *real_store_, spec_,
                                         violations_, tally_);
  if (audit == Audit::none) return;
  history_ = std::make_unique<SeedHistory>(audit, true_clock_, audit == Audit::clients && plan_.weather.duplicate > 0);
  if (audit == Audit::store) noted_ = std::make_unique<history::HistoryStore>(history_->recorder("store"), *checks_);
  else own_ = std::make_unique<history::HistoryStore>(history_->recorder("world"), *checks_);
}

void PipelineWorld::make_items() {
  Store& store = own_ ? *own_ : noted_ ? *noted_ : static_cast<Store&>(*checks_);
  const Result<PipelineRow> put =
      store.put_pipeline({.ns = kNs, .name = kQueue, .spec = pipeline_text(spec_), .act = {"sim", "plan"}});
  check(put.has_value(), "the pipeline of a plan is good");
  EnqueueRequest request{.ns = kNs, .jobs = {}};
  for (int i = 0; i < plan_.jobs; ++i) {
    const std::uint64_t high = simulation_.random().next();
    items_.push_back(make_uuid7(store_clock_.wall_now(), high, simulation_.random().next()));
    request.jobs.push_back({.id = items_.back(), .queue = kQueue, .attempts_max = 1000});
  }
  check(store.enqueue(request).has_value(), "the items of a plan are good");
  tally_.add(Count::enqueued, plan_.jobs);
}

void PipelineWorld::start_on(Host& host) {
  host.starts += 1;
  processes_.push_back(
      std::make_unique<Process>(*this, *host.machine, host.machine->name() + "." + std::to_string(host.starts)));
  Process& process = *processes_.back();
  host.running.push_back(&process);
  process.runtime.on_step([this](SimRuntime& runtime) {
    if (!storm_) return;
    Random& random = simulation_.random();
    if (random.chance(weather_.kill_at_step)) {
      tally_.add(Count::kills);
      runtime.kill();
    }
    if (random.chance(weather_.delay_at_step)) runtime.delay(random.between(Duration{0}, weather_.step_delay_most));
  });
  simulation_.trace().write(simulation_.now(), process.runtime.name(), "starts");
  process.runtime.start(
      [this, &host, &process](std::stop_token stop) {
        if (host.people) return decide(process, stop);
        work(process, host.number, stop);
      },
      [this, &host, &process](ProcessEnd) { ended(host, process); });
}

void PipelineWorld::ended(Host& host, Process& process) {
  std::erase(host.running, &process);
  if (closing_ || !host.running.empty()) return;
  simulation_.after(simulation_.random().between(Duration{0}, storm_ ? weather_.restart_most : Duration{1s}),
                    [this, &host] {
                      if (!closing_ && host.running.empty()) start_on(host);
                    });
}

// Every stage has a worker, however few hosts there are.
void PipelineWorld::work(Process& process, int number, std::stop_token stop) {
  StageStore stages(process.runtime, process.store(), {.ns = kNs, .queues = {kQueue}, .run_checks = true});
  Work handler(process, false);
  WorkerOptions options{.ns = kNs,
                        .queues = {kQueue},
                        .stage = {},
                        .concurrency = plan_.concurrency,
                        .ttl = plan_.ttl,
                        .drain_grace = plan_.ttl / 2,
                        .schedules = false,
                        .host = process.runtime.name(),
                        .pid = 1,
                        .version = "sim"};
  EntryKeeper entry_keeper(process.runtime, Log(process), stages, options,
                           [&](const StageSpec&) { return std::make_unique<Work>(process, true); });
  const int all = static_cast<int>(spec_.stages.size());
  std::vector<std::unique_ptr<JobWorker>> workers;
  for (int stage = number % all; stage < all; stage += std::min(plan_.hosts, all)) {
    options.stage = spec_.stages[static_cast<std::size_t>(stage)].name;
    workers.push_back(std::make_unique<JobWorker>(process.runtime, Log(process), stages, handler, options));
  }
  std::vector<Task> tasks;
  tasks.push_back(process.runtime.spawn("entries", [&](std::stop_token over) { entry_keeper.keep(std::move(over)); }));
  for (const auto& worker : workers) {
    tasks.push_back(process.runtime.spawn("work", [&](std::stop_token over) {
      const Result<WorkReport> report = worker->run(std::move(over));
      if (!report)
        violations_.add("worker", process.runtime.name() + " ended with " +
                                      std::string(to_string(report.error().code)) + ": " + report.error().message);
    }));
  }
  process.runtime.sleep_for(24h * 365, stop);
  for (Task& task : tasks) task.request_stop();
  for (Task& task : tasks) task.join();
}

PipelineSpec PipelineWorld::edited() {
  Random& random = simulation_.random();
  PipelineSpec spec = spec_;
  for (std::size_t stage = 2; stage < spec.stages.size(); ++stage) {
    StageEntry& entry = spec.stages[stage].entry;
    const std::size_t kind = random.below(8);
    if (kind == 0) entry = {};
    if (kind == 1) entry = {.kind = EntryKind::approval, .count = 1, .by = {"ana", "bo", "cy"}};
    if (kind == 2 || kind == 3)
      entry = {.kind = EntryKind::check, .command = {"another"}, .every = std::max<Duration>(1s, plan_.ttl)};
  }
  return spec;
}

// As long as the storm lasts they do anything; then only what lets items go on.
void PipelineWorld::decide(Process& process, std::stop_token stop) {
  ItemActs acts(process.runtime, process.store(), kNs, stop);
  Random& random = simulation_.random();
  while (!stop.stop_requested()) {
    process.runtime.sleep_for(random.between(Duration{0}, plan_.ttl / 8), stop);
    const JobId& id = random.pick(items_);
    const Act act{.actor = random.pick(kNames), .reason = "as I see it"};
    if (storm_ && random.chance(0.003)) {
      PipelineActs pipelines(process.runtime, process.store(), kNs, stop);
      (void)pipelines.apply(edited(), false, act);  // others may edit it, or the store may be away
      continue;
    }
    const std::size_t what = random.below(storm_ ? 20 : 12);
    Result<ItemReport> done = what < 9 ? acts.approve(id, {}, act) : what < 12 ? acts.release(id, act) : ItemReport{};
    if (what >= 12 && what < 14) done = acts.reject(id, "", act);
    if (what >= 14 && what < 17) done = acts.hold(id, act);
    if (what >= 17) done = acts.move(id, random.pick(spec_.names()), act);
    if (done) continue;
    // It may be elsewhere, finished, or not theirs to decide; the store may be away.
    const Code code = done.error().code;
    if (code != Code::conflict && code != Code::denied && code != Code::unavailable && code != Code::in_doubt)
      violations_.add("people", "an act was answered " + std::string(to_string(code)) + ": " + done.error().message);
  }
}

PipelineWorld::Process* PipelineWorld::some_process() {
  std::vector<Process*> running;
  for (const Host& host : hosts_) running.insert(running.end(), host.running.begin(), host.running.end());
  return running.empty() ? nullptr : running[simulation_.random().below(running.size())];
}

void PipelineWorld::every(Duration period, std::function<void()> action) {
  if (period <= Duration{0}) return;
  simulation_.after(simulation_.random().between(Duration{0}, 2 * period), [this, period, action = std::move(action)] {
    if (!storm_) return;
    action();
    every(period, action);
  });
}

void PipelineWorld::begin_storm() {
  every(weather_.kill_every, [this] {
    Process* const process = some_process();
    if (process == nullptr) return;
    tally_.add(Count::kills);
    process->runtime.kill();
  });
  every(weather_.terminate_every, [this] {
    Process* const process = some_process();
    if (process == nullptr) return;
    tally_.add(Count::terminations);
    process->runtime.terminate();
  });
  every(weather_.pause_every, [this] {
    Process* const process = some_process();
    if (process == nullptr || process->runtime.paused()) return;
    tally_.add(Count::pauses);
    process->runtime.pause();
    Random& random = simulation_.random();
    simulation_.after(random.between(Duration{0}, weather_.pause_most), [process] { process->runtime.resume(); });
    if (!random.chance(weather_.twin)) return;
    const auto host = std::ranges::find_if(
        hosts_, [&](const Host& one) { return std::ranges::find(one.running, process) != one.running.end(); });
    tally_.add(Count::twins);
    start_on(*host);
  });
}

bool PipelineWorld::over() const {
  return !violations_.empty() || options_.stop.stop_requested() ||
         tally_.of(Count::operations) >= options_.operations_most;
}

bool PipelineWorld::all_finished() {
  return std::ranges::all_of(items_, [this](const JobId& id) {
    const Result<std::optional<Job>> job = real_store_->job(kNs, id);
    return job && *job && is_finished((*job)->state);
  });
}

SeedReport PipelineWorld::run() {
  begin_storm();
  for (Host& host : hosts_) start_on(host);
  simulation_.run_until(simulation_.now() + plan_.storm, [this] { return over(); });
  storm_ = false;
  weather_ = {};
  // Nothing is stuck once the weather is fine (J8); looked at now and then.
  const Instant patience = simulation_.now() + 6h;
  while (!over() && !all_finished() && simulation_.now() < patience)
    simulation_.run_until(simulation_.now() + 10s, [this] { return over(); });
  for (const JobId& id : items_) {
    const Result<std::optional<Job>> job =
        over() ? Result<std::optional<Job>>(std::optional<Job>()) : real_store_->job(kNs, id);
    if (job && *job && !is_finished((*job)->state))
      violations_.add("J8", "item " + short_id(id) + " is still " + std::string(to_string((*job)->state)) + " at '" +
                                (*job)->stage + "' 6 hours after the storm");
  }
  closing_ = true;
  for (const Host& host : hosts_) {
    for (Process* process : host.running) process->runtime.terminate();
  }
  const auto stopped = [this] {
    return std::ranges::all_of(hosts_, [](const Host& host) { return host.running.empty(); });
  };
  if (!over() && !simulation_.run_until(simulation_.now() + 5 * plan_.ttl + 5min, stopped))
    violations_.add("stop", "a process that was asked to stop is still there");
  SeedReport report;
  report.simulated = simulation_.now() - kStart;
  report.stopped = options_.stop.stop_requested();
  while (!processes_.empty()) processes_.pop_back();
  if (history_ && !report.stopped && violations_.empty()) {
    violations_.deaf(false);
    history_->tell(violations_);
    if (!violations_.empty()) report.history = history_->text();
  }
  report.tally = tally_;
  report.violations = violations_.found();
  report.trace = simulation_.trace().text();
  return report;
}

}  // namespace fenceline::sim
