#include "sim/scenarios/world.hpp"

#include <algorithm>
#include <utility>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "base/check.hpp"
#include "model/trust.hpp"
#include "services/worker.hpp"
#include "sim/scenarios/process.hpp"
#include "sim/scenarios/provider.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

}  // namespace

Audit audit_of(std::uint64_t seed, const SeedOptions& options) {
  if (options.audit != Audit::by_seed) return options.audit;
  const std::uint64_t turn = seed / scenarios().size() % 8;
  return turn == 1 ? Audit::clients : turn == 5 ? Audit::store : Audit::none;
}

World::World(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options)
    : plan_(plan),
      options_(options),
      simulation_(seed, stacks, options.tracing),
      store_machine_("store", 0s, 0, plan.numbers.wall_ahead),
      store_clock_(simulation_, store_machine_),
      true_clock_(simulation_, store_machine_) {
  simulation_.run_until(kStart);
  violations_.deaf(options_.audit_alone);
  provider_ = std::make_unique<Provider>(simulation_, plan_.effects, tally_, violations_);
  make_store();
  make_history(audit_of(seed, options_));
  make_hosts();
  make_settings();
  make_batches();
}

World::~World() = default;

void World::make_store() {
  store_runtime_ = std::make_unique<SimRuntime>(simulation_, store_machine_, "store");
  if (plan_.sqlite) {
    auto opened = SqliteStore::open(*store_runtime_, store_clock_, Log(null_log_sink()),
                                    {.path = ":memory:", .seq_floor = plan_.numbers.order, .actor = "sim"});
    check(opened.has_value(), "SQLite in memory opens");
    real_store_ = std::move(*opened);
  } else {
    auto memory = std::make_unique<MemoryStore>(store_clock_,
                                                MemoryStore::Counters{plan_.numbers.order, plan_.numbers.deliveries});
    memory_ = memory.get();
    real_store_ = std::move(memory);
  }
  if (options_.wrap_store) wrapped_store_ = options_.wrap_store(*real_store_);
  Store& store = wrapped_store_ ? *wrapped_store_ : *real_store_;
  checks_ = std::make_unique<StoreChecks>(std::string(kNamespace), store, violations_, tally_,
                                          memory_ ? plan_.numbers.deliveries : 0);
  const LockRules rules{.nobody_is_overtaken = plan_.locks.nothing_lost,
                        .one_waiter_a_process = plan_.locks.nothing_lost,
                        .drift_promised = plan_.drift_promised};
  lock_checks_ = std::make_unique<LockChecks>(std::string(kNamespace), store, violations_, tally_, rules);
  lock_checks_->use_clocks(store_clock_, true_clock_);
  schedule_checks_ = std::make_unique<ScheduleChecks>(std::string(kNamespace), store, violations_, tally_);
  handler_checks_ = std::make_unique<HandlerChecks>(*checks_, violations_, tally_, LeaseTimes::of(plan_.ttl).grace,
                                                    plan_.drift_promised);
  handler_checks_->expect_stops(1s + 10 * plan_.weather.step_delay_most, plan_.cancel_seen_within);
  recorded_ = std::make_unique<RecordingStore>(store_clock_, store, *this);
}

// Of the store: each call as it takes effect, which says too much if some of that may be unsaved. Of its clients: the
// world's own calls need no bad line. A store that forgets what it had acknowledged is for the simulator's own checks,
// and so is one whose counts begin with large numbers.
void World::make_history(Audit audit) {
  const Weather& weather = plan_.weather;
  const bool forgets = plan_.guarantee > GuaranteeClass::b || weather.restore_every != Duration{0} ||
                       weather.amnesia_every != Duration{0};
  if (audit == Audit::none || forgets || plan_.numbers.deliveries != 0) return;
  const Audit of = weather.crash_every == Duration{0} ? audit : Audit::clients;
  // Leases that run on a clock that somebody sets are judged by the order of the store's steps.
  const bool leases_by_order = weather.server_ahead_every != Duration{0};
  history_ =
      std::make_unique<SeedHistory>(of, true_clock_, of == Audit::clients && weather.duplicate > 0, leases_by_order);
  if (of == Audit::store) noted_ = std::make_unique<history::HistoryStore>(history_->recorder("store"), *recorded_);
  if (of == Audit::clients) own_ = std::make_unique<history::HistoryStore>(history_->recorder("world"), *recorded_);
}

void World::make_hosts() {
  Random& random = simulation_.random();
  const auto make = [&](Role role, int count, std::string_view name) {
    for (int i = 0; i < count; ++i) {
      Host host{.role = role, .number = i};
      std::int64_t rate = random.between(-plan_.drift_ppm, plan_.drift_ppm);
      if (random.chance(plan_.wild_clock)) rate = (random.chance(0.5) ? 1 : -1) * random.between(100'000, 250'000);
      host.machine =
          std::make_unique<Machine>(std::string(name) + "-" + std::to_string(i + 1), random.between(Duration{0}, 1000h),
                                    rate, random.between(Duration{-1h}, 1h));
      hosts_.push_back(std::move(host));
    }
  };
  make(Role::works, plan_.hosts, "host");
  make(Role::produces, plan_.producers, "producer");
  make(Role::operates, plan_.operators.act_every == Duration{0} && plan_.schedules.act_every == Duration{0} ? 0 : 1,
       "operator");
}

// What is there before anyone comes.
void World::make_settings() {
  Random& random = simulation_.random();
  for (int i = 0; i < plan_.queues; ++i) {
    const auto made = own().set_queue(
        {.ns = std::string(kNamespace), .queue = queue_name(i), .change = plan_.settings, .act = {"sim", "plan"}});
    check(made.has_value(), "the settings of a plan are good");
  }
  if (plan_.operators.act_every != Duration{0} && random.chance(plan_.operators.leaves_paused))
    left_paused_ = some_queue();
  duties_done_ = plan_.operators.act_every == Duration{0} && plan_.schedules.act_every == Duration{0};
  if (plan_.schedules.count > 0) make_schedules();
}

void World::applied(const Applied& applied) {
  if (simulation_.trace().on()) simulation_.trace().write(simulation_.now(), "store", describe(applied));
  lock_checks_->applied(applied);
  schedule_checks_->applied(applied);
  checks_->others_tidied(lock_checks_->tidied() + schedule_checks_->tidied());
  checks_->applied(applied);
  if (std::holds_alternative<StepCall>(applied.call)) strike_after_a_step();
  if (const auto* stopped = std::get_if<StoppedCall>(&applied.call)) handler_checks_->said_stopped(stopped->request);
  const std::int64_t operations = tally_.of(Count::operations);
  if (operations % plan_.compare_every != 0) return;
  checks_->compare_all(store_clock_.now());
  lock_checks_->compare_all(store_clock_.now());
  checks_->explains_what_waits(store_clock_.now(), store_clock_.wall_now(), 3, static_cast<std::size_t>(operations));
}

void World::start_on(Host& host) {
  if (host.lasting == Lasting::paused) return;
  host.starts += 1;
  const std::string name = host.machine->name() + "." + std::to_string(host.starts);
  processes_.push_back(std::make_unique<Process>(*this, *host.machine, name, at_store(), host.weather));
  Process& process = *processes_.back();
  host.running.push_back(&process);
  process.runtime.on_step([this](SimRuntime& runtime) { on_step(runtime); });
  simulation_.trace().write(simulation_.now(), name, "starts");
  process.runtime.start(
      [this, &host, &process](std::stop_token stop) {
        switch (host.role) {
          case Role::works: return work(process, stop);
          case Role::produces: return produce(process, host.number, stop);
          case Role::operates: return operate(process, stop);
        }
      },
      [this, &host, &process](ProcessEnd end) { ended(host, process, end); });
}

void World::ended(Host& host, Process& process, ProcessEnd end) {
  handler_checks_->ended(process.runtime);
  std::erase(host.running, &process);
  const bool has_more = host.role == Role::works || (host.role == Role::produces ? !all_enqueued() : !duties_done_);
  if (closing_ || (end == ProcessEnd::returned && !has_more)) return;
  if (!host.running.empty()) return;  // its twin is there
  const Duration until = simulation_.random().between(Duration{0}, storm_ ? weather_.restart_most : Duration{1s});
  simulation_.after(until, [this, &host] {
    if (!closing_ && host.running.empty()) start_on(host);
  });
}

void World::work(Process& process, std::stop_token stop) {
  if (plan_.locks.names > 0) return hold_locks(process, stop);
  if (plan_.schedules.count > 0 && !plan_.schedules.workers) return fire_ticks(process, stop);
  WorkerOptions options{.ns = std::string(kNamespace),
                        .concurrency = plan_.concurrency,
                        .prefetch = plan_.prefetch,
                        .ttl = plan_.ttl,
                        .drain_grace = plan_.ttl / 2,
                        .schedules = plan_.schedules.workers,
                        .host = process.runtime.name(),
                        .pid = 1,
                        .version = "sim"};
  options.queues = queue_names();
  if (plan_.schedules.tidy_every != Duration{0}) options.tidy_every = plan_.schedules.tidy_every;
  JobWorker worker(process.runtime, Log(process.log), process.store, process.handler, options);
  owners_.push_back(worker.owner());
  const Result<WorkReport> report = worker.run(stop);
  const bool no_fence_left = plan_.fences_end && !report && report.error().code == Code::refused;
  if (!report && !no_fence_left)
    violations_.add("worker", process.runtime.name() + " ended with " + std::string(to_string(report.error().code)) +
                                  ": " + report.error().message);
}

SeedReport World::run() {
  begin_storm();
  begin_lasting_faults();
  for (Host& host : hosts_) start_on(host);
  simulation_.run_until(simulation_.now() + plan_.storm, [this] { return over(); });
  end_storm();
  if (!over() && plan_.locks.names > 0) everybody_is_served();
  if (!over() && plan_.schedules.count > 0) every_tick_ends();
  if (!over() && plan_.schedules.workers) remove_schedules();
  const bool all_is_worked_on = plan_.schedules.count == 0 || plan_.schedules.workers;
  if (!over() && all_is_worked_on) ends_in_time();
  if (!over() && history_ && all_is_worked_on) history_->recorder("rest").mark(history::Kind::rest);
  if (!over()) ends_as_planned();
  if (!over() && plan_.queues > 0) starts_soon();
  if (!over()) stops_in_time();
  if (!over()) checks_->compare_all(store_clock_.now());
  if (!over()) lock_checks_->compare_all(store_clock_.now());
  if (!over()) checks_->compare_stories();
  show_the_end();
  closing_ = true;
  SeedReport report;
  give_to_the_checker(report);
  report.simulated = simulation_.now() - kStart;
  report.stopped = options_.stop.stop_requested();
  // Newest first, as they would go: what a process leaves under way must find its store.
  while (!processes_.empty()) processes_.pop_back();
  report.tally = tally_;
  report.violations = violations_.found();
  report.trace = simulation_.trace().text();
  return report;
}

std::vector<std::string> World::queue_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < plan_.queues; ++i) names.push_back(queue_name(i));
  for (const NewJob& job : options_.jobs) {
    if (std::find(names.begin(), names.end(), job.queue) == names.end()) names.push_back(job.queue);
  }
  return names;
}

void World::show_the_end() {
  if (!options_.at_end) return;
  std::vector<Job> jobs;
  for (JobsRequest request{.ns = std::string(kNamespace), .limit = 1000, .with_payload = true};;) {
    const Result<JobsReply> page = real_store_->jobs(request);
    if (!page) break;
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    if (!page->next) break;
    request.after = *page->next;
  }
  options_.at_end(std::move(jobs));
}

// What the simulator's own checks let pass, the checker of histories may still find.
void World::give_to_the_checker(SeedReport& report) {
  if (!history_ || options_.stop.stop_requested() || !violations_.empty()) return;
  violations_.deaf(false);
  history_->tell(violations_);
  if (!violations_.empty()) report.history = history_->text();
}

// J8: nothing is stuck once the weather is fine. Retries wait for minutes, a poison job needs five leases.
void World::ends_in_time() {
  const Duration patience = 6h + 20 * plan_.ttl + plan_.job_delay_most + 2 * plan_.weather.wall_jump_most +
                            checks_->set_back_by(store_clock_.wall_now());
  wait_for_the_rest(patience);
  if (over() || left_paused_.empty()) return;
  checks_->explains_what_waits(store_clock_.now(), store_clock_.wall_now(), checks_->jobs().size(), 0);
  resume_what_was_left();
  wait_for_the_rest(patience);
}

void World::wait_for_the_rest(Duration patience) {
  const auto waits = [this](const KnownJob& job) { return !job.finished() && job.queue != left_paused_; };
  const auto some_waits = [&] {
    return checks_->unfinished() > 0 && std::any_of(checks_->jobs().begin(), checks_->jobs().end(),
                                                    [&](const auto& job) { return waits(job.second); });
  };
  const auto some_doubt = [&] { return someone_resolves() && checks_->doubts(simulation_.now()) > 0; };
  if (simulation_.run_until(simulation_.now() + patience, [&] {
        return over() || (all_enqueued() && duties_done_ && !some_waits() && !some_doubt());
      }))
    return;
  if (some_doubt())
    violations_.add("E2", std::to_string(checks_->doubts(simulation_.now())) +
                              " effects are still in doubt, though an operator looks after them");
  const std::string then = std::to_string(patience / 1h) + " hours after the storm";
  if (!all_enqueued()) violations_.add("J8", "a producer is not done " + then);
  if (!duties_done_) violations_.add("J8", "the operator is not done " + then);
  for (const auto& [id, job] : checks_->jobs()) {
    if (waits(job))
      violations_.add("J8", "job " + short_id(id) + " is still " + std::string(to_string(job.state)) + " " + then);
  }
}

void World::resume_what_was_left() {
  const PauseRequest request{
      .ns = std::string(kNamespace), .queue = left_paused_, .paused = false, .act = {"sim", "at last"}};
  left_paused_.clear();
  if (const Result<void> resumed = own().pause(request); !resumed)
    violations_.add("pause", "a queue cannot be resumed: " + resumed.error().message);
}

// J5, in plans that know the end of every job.
void World::ends_as_planned() {
  if (plan_.nothing_lost && tally_.of(Count::losses) > 0)
    violations_.add("J5", "a graceful stop cost " + std::to_string(tally_.of(Count::losses)) + " deliveries");
  if (plan_.effects.of_a_job > 0) books_agree();
  if (!plan_.only_poison_dies) return;
  for (const auto& [id, job] : checks_->jobs()) {
    const JobState must = is_poison(id) ? JobState::dead : JobState::done;
    if (job.state != must)
      violations_.add("J5", "job " + short_id(id) + " is " + std::string(to_string(job.state)) + ", it must be " +
                                std::string(to_string(must)));
  }
}

// J8: what is enqueued in fine weather starts soon, also if no wake-up comes.
void World::starts_soon() {
  simulation_.run_until(simulation_.now() + 30s,
                        [this] { return over(); });  // what was asked for in the storm has had its answer
  const std::int64_t before = checks_->unfinished();
  EnqueueRequest request{.ns = std::string(kNamespace)};
  for (int i = 0; i < plan_.queues; ++i) {
    const std::uint64_t high = simulation_.random().next();
    request.jobs.push_back(
        {.id = make_uuid7(store_clock_.wall_now(), high, simulation_.random().next()), .queue = queue_name(i)});
  }
  if (!own().enqueue(request)) return violations_.add("J1", "an enqueue in fine weather was refused");
  Duration patience = 20s + plan_.queues * plan_.ttl / 2;
  if (plan_.healthy_hosts > 0) patience += 10 * plan_.ttl;  // the sick ones claim it first, and lose it
  if (!simulation_.run_until(simulation_.now() + patience, [&] { return over() || checks_->unfinished() <= before; }))
    violations_.add("J8",
                    "a job enqueued in fine weather is not done after " + std::to_string(patience / 1s) + " seconds");
}

void World::stops_in_time() {
  closing_ = true;
  for (Host& host : hosts_) {
    for (Process* process : host.running) process->runtime.terminate();
  }
  const auto stopped = [this] {
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [this](const Host& host) { return host.running.empty() || !is_well(host); });
  };
  // One that does not listen to its stop token is waited for.
  const Duration deaf_for = plan_.habits.obstinate > 0 ? plan_.habits.works_most : Duration{0};
  if (!simulation_.run_until(simulation_.now() + 5 * plan_.ttl + deaf_for + 1min, stopped))
    violations_.add("stop", "a worker that was asked to stop is still there");
}

}  // namespace fenceline::sim
