#include "sim/scenarios/world.hpp"

#include <algorithm>
#include <utility>

#include "backends/memory/memory_store.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "base/check.hpp"
#include "model/trust.hpp"
#include "services/worker.hpp"
#include "sim/scenarios/process.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNamespace = "sim";
constexpr Instant kStart{1h};  // so that moments before the start are moments too

std::string queue_name(int number) { return "q" + std::to_string(number); }

}  // namespace

World::World(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options)
    : plan_(plan),
      stop_(options.stop),
      simulation_(seed, stacks, options.tracing),
      store_machine_("store", 0s, 0, 0s),
      store_clock_(simulation_, store_machine_) {
  simulation_.run_until(kStart);
  make_store(options);
  make_hosts();
  make_batches();
}

World::~World() = default;

void World::make_store(const SeedOptions& options) {
  store_runtime_ = std::make_unique<SimRuntime>(simulation_, store_machine_, "store");
  if (plan_.sqlite) {
    auto opened = SqliteStore::open(*store_runtime_, store_clock_, Log(null_log_sink()), {.path = ":memory:", .actor = "sim"});
    check(opened.has_value(), "SQLite in memory opens");
    real_store_ = std::move(*opened);
  } else {
    real_store_ = std::make_unique<MemoryStore>(store_clock_);
  }
  if (options.wrap_store) wrapped_store_ = options.wrap_store(*real_store_);
  Store& store = wrapped_store_ ? *wrapped_store_ : *real_store_;
  checks_ = std::make_unique<StoreChecks>(std::string(kNamespace), store, violations_, tally_);
  handler_checks_ = std::make_unique<HandlerChecks>(*checks_, violations_, tally_, LeaseTimes::of(plan_.ttl).grace, plan_.drift_promised);
  recorded_ = std::make_unique<RecordingStore>(store_clock_, store, *this);
}

void World::make_hosts() {
  Random& random = simulation_.random();
  for (int i = 0; i <= plan_.hosts; ++i) {
    Host host;
    host.produces = i == plan_.hosts;
    const std::string name = host.produces ? "producer" : "host-" + std::to_string(i + 1);
    std::int64_t rate = random.between(-plan_.drift_ppm, plan_.drift_ppm);
    if (random.chance(plan_.wild_clock)) rate = (random.chance(0.5) ? 1 : -1) * random.between(100'000, 250'000);
    host.machine = std::make_unique<Machine>(name, random.between(Duration{0}, 1000h), rate, random.between(Duration{-1h}, 1h));
    hosts_.push_back(std::move(host));
  }
}

void World::make_batches() {
  Random& random = simulation_.random();
  for (int made = 0; made < plan_.jobs;) {
    Batch batch;
    const std::int64_t size = random.between(1, std::min(plan_.batch_most, plan_.jobs - made));
    for (std::int64_t i = 0; i < size; ++i, ++made) {
      NewJob job;
      const std::uint64_t high = random.next();
      job.id = make_uuid7(store_clock_.wall_now(), high, random.next());
      job.queue = queue_name(static_cast<int>(random.below(static_cast<std::size_t>(plan_.queues))));
      job.payload = std::to_string(made);
      job.priority = static_cast<int>(random.between(-1, 1));
      job.attempts_max = plan_.attempts_max;
      if (random.chance(0.3)) job.delay = random.between(Duration{0}, plan_.job_delay_most);
      if (random.chance(plan_.poison)) poison_.insert(job.id);
      batch.jobs.push_back(std::move(job));
    }
    batches_.push_back(std::move(batch));
  }
}

void World::applied(const Applied& applied) {
  if (simulation_.trace().on()) simulation_.trace().write(simulation_.now(), "store", describe(applied));
  checks_->applied(applied);
  if (tally_.of(Count::operations) % plan_.compare_every == 0) checks_->compare_all(simulation_.now());
}

void World::start_on(Host& host) {
  host.starts += 1;
  const std::string name = host.machine->name() + "." + std::to_string(host.starts);
  processes_.push_back(std::make_unique<Process>(*this, *host.machine, name, *recorded_, weather_));
  Process& process = *processes_.back();
  host.running.push_back(&process);
  process.runtime.on_step([this](SimRuntime& runtime) { on_step(runtime); });
  simulation_.trace().write(simulation_.now(), name, "starts");
  process.runtime.start([this, &host, &process](std::stop_token stop) { host.produces ? produce(process, stop) : work(process, stop); },
                        [this, &host, &process](ProcessEnd end) { ended(host, process, end); });
}

void World::ended(Host& host, Process& process, ProcessEnd end) {
  handler_checks_->ended(process.runtime);
  std::erase(host.running, &process);
  if (closing_ || (host.produces && end == ProcessEnd::returned && all_enqueued())) return;
  if (!host.running.empty()) return;  // its twin is there
  const Duration until = simulation_.random().between(Duration{0}, storm_ ? weather_.restart_most : Duration{1s});
  simulation_.after(until, [this, &host] {
    if (!closing_ && host.running.empty()) start_on(host);
  });
}

void World::work(Process& process, std::stop_token stop) {
  WorkerOptions options{.ns = std::string(kNamespace),
                        .concurrency = plan_.concurrency,
                        .prefetch = plan_.prefetch,
                        .ttl = plan_.ttl,
                        .drain_grace = plan_.ttl / 2,
                        .host = process.runtime.name(),
                        .pid = 1,
                        .version = "sim"};
  for (int i = 0; i < plan_.queues; ++i) options.queues.push_back(queue_name(i));
  Worker worker(process.runtime, Log(process.log), process.store, process.handler, options);
  const Result<WorkReport> report = worker.run(stop);
  if (!report) violations_.add("worker", process.runtime.name() + " ended with " + std::string(to_string(report.error().code)) + ": " + report.error().message);
}

bool World::all_enqueued() const {
  return std::all_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return batch.acknowledged; });
}

// What a careful client does: repeats the very same request until it has an answer, after its own restart too.
void World::produce(Process& process, std::stop_token stop) {
  for (Batch& batch : batches_) {
    while (!batch.acknowledged) {
      if (stop.stop_requested()) return;
      const Result<EnqueueReply> reply = process.store.enqueue({.ns = std::string(kNamespace), .jobs = batch.jobs, .timeout = plan_.ttl});
      if (reply) {
        batch.acknowledged = true;
        checks_->acknowledged(batch.jobs);
      } else if (reply.error().code != Code::in_doubt && reply.error().code != Code::unavailable) {
        violations_.add("J1", "an enqueue was answered " + std::string(to_string(reply.error().code)) + ": " + reply.error().message);
        return;
      }
      const Duration pause = simulation_.random().between(Duration{0}, storm_ ? plan_.enqueue_pause_most : Duration{10ms});
      process.runtime.sleep_for(pause, stop);
    }
  }
}

SeedReport World::run() {
  begin_storm();
  for (Host& host : hosts_) start_on(host);
  const auto over = [this] { return stop_.stop_requested() || !violations_.empty(); };
  const Instant storm_ends = simulation_.now() + plan_.storm;
  simulation_.run_until(storm_ends, over);
  end_storm();
  if (!over()) ends_in_time();
  if (!over()) stops_in_time();
  if (!over()) checks_->compare_all(simulation_.now());
  closing_ = true;
  SeedReport report;
  report.simulated = simulation_.now() - kStart;
  report.stopped = stop_.stop_requested();
  // Newest first, as they would go: what a process leaves under way must find its store.
  while (!processes_.empty()) processes_.pop_back();
  report.tally = tally_;
  report.violations = violations_.found();
  report.trace = simulation_.trace().text();
  return report;
}

// J8: nothing is stuck once the weather is fine. Retries wait up to an hour, a poison job needs five leases.
void World::ends_in_time() {
  const Duration patience = 6h + 20 * plan_.ttl + plan_.job_delay_most + 2 * plan_.weather.wall_jump_most;
  const auto over = [this] { return stop_.stop_requested() || !violations_.empty() || (checks_->unfinished() == 0 && all_enqueued()); };
  if (simulation_.run_until(simulation_.now() + patience, over)) return;
  if (!all_enqueued()) violations_.add("J8", "the producer is not done " + std::to_string(patience / 1h) + " hours after the storm");
  for (const auto& [id, job] : checks_->jobs()) {
    if (!job.finished()) violations_.add("J8", "job " + short_id(id) + " is still " + std::string(to_string(job.state)) + " " + std::to_string(patience / 1h) + " hours after the storm");
  }
}

void World::stops_in_time() {
  closing_ = true;
  for (Host& host : hosts_) {
    for (Process* process : host.running) process->runtime.terminate();
  }
  const auto stopped = [this] { return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.running.empty(); }); };
  if (!simulation_.run_until(simulation_.now() + 5 * plan_.ttl + 1min, stopped)) violations_.add("stop", "a worker that was asked to stop is still there");
}

}  // namespace fenceline::sim
