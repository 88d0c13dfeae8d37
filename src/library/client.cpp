#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/sqlite/sqlite_store.hpp"
#include "base/ascending_uuids.hpp"
#include "fenceline/fenceline.hpp"
#include "fenceline/sqlite.hpp"
#include "fenceline/version.hpp"
#include "history/work_history.hpp"
#include "library/client_metrics.hpp"
#include "library/open_store.hpp"
#include "metrics/metered_handler.hpp"
#include "runtime/actor.hpp"
#include "runtime/host.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/history_handler.hpp"
#include "services/stage_store.hpp"
#include "services/stage_worker.hpp"

namespace fenceline {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kActor = "library";
constexpr int kRepeats = 5;  // of a call whose answer got lost: at once, then after a pause that doubles
constexpr Duration kRepeatPause = milliseconds{200};
constexpr Duration kTtlDefault = std::chrono::seconds{30};
constexpr Duration kLookPauseFirst = milliseconds{10};
constexpr Duration kLookPauseMost = milliseconds{500};

// Every call can be repeated with the same arguments: what happened does not happen twice.
template <class Call>
auto surely(Runtime& runtime, Call call) {
  auto reply = call();
  for (int n = 0; n < kRepeats && !reply && reply.error().code == Code::in_doubt; ++n) {
    runtime.sleep_for(n == 0 ? Duration{0} : kRepeatPause * (1 << (n - 1)), {});
    reply = call();
    // It is still open whether the first one arrived, so "did not happen" would say too much.
    if (!reply && reply.error().code == Code::unavailable) reply.error().code = Code::in_doubt;
  }
  return reply;
}

// One after the other: a runtime of a seed replays only what has an order.
JobId fresh_job_id(Runtime& runtime) {
  const WallTime now = runtime.wall_now();
  const std::uint64_t high = runtime.random();
  return make_uuid7(now, high, runtime.random());
}

Error error_of(const ActRefusal& refusal, std::string_view verb) {
  const std::string job = "job " + to_string(refusal.id);
  if (refusal.reason == Reason::not_found) return {Code::not_found, "there is no " + job};
  if (refusal.reason == Reason::key_taken)
    return {Code::conflict, job + " cannot be tried again: job " + (refusal.holder ? to_string(*refusal.holder) : "?") +
                                " has its key"};
  return {Code::refused, job + " is finished; it cannot be " + std::string(verb)};
}

struct FunctionHandler final : Handler {
  explicit FunctionHandler(const std::function<RunResult(const Run&)>& function) : function_(function) {}
  RunResult run(const Run& run) override { return function_(run); }
  const std::function<RunResult(const Run&)>& function_;
};

std::string place_of_this_process() {
  return (host_name() + ":" + std::to_string(::getpid())).substr(0, kLockNoteBytesMax);
}

LockOptions named(std::string_view name, LockOptions options) {
  options.names.emplace_back(name);
  return options;
}

}  // namespace

struct Client::Parts {
  ThreadRuntime runtime;
  Log log;
  std::string ns;
  std::unique_ptr<Store> store;            // goes before the runtime: its threads are the runtime's
  std::unique_ptr<ClientMetrics> metrics;  // none: nobody counts
  std::unique_ptr<StageStore> stages;      // the same one, for new jobs: it knows the first stages of pipelines by name
  std::unique_ptr<LockClient> locks;       // goes first: it uses the store
  std::unique_ptr<ScheduleActs> schedules;
  std::unique_ptr<PipelineActs> pipelines;
  std::unique_ptr<ItemActs> items;

  explicit Parts(LogSink& sink) : log(sink) {}

  // The store, counted or not.
  Store& counted() const { return metrics ? metrics->store() : *store; }
};

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open(ClientOptions options) {
  if (auto ok = check_name("namespace", options.ns); !ok) return std::unexpected(ok.error());
  LogSink& sink = options.log != nullptr ? *options.log : null_log_sink();
  auto parts = std::make_unique<Parts>(sink);
  parts->ns = std::move(options.ns);
  Result<std::unique_ptr<Store>> store =
      open_store(parts->runtime, parts->log, {.url = options.store, .actor = std::string(kActor)});
  if (!store) return std::unexpected(store.error());
  parts->store = std::move(*store);
  if (options.metrics) {
    parts->metrics =
        std::make_unique<ClientMetrics>(parts->runtime, sink, *parts->store, parts->ns, options.metrics_queues);
    parts->log = Log(parts->metrics->sink());
  }
  parts->stages =
      std::make_unique<StageStore>(parts->runtime, parts->counted(), StageStoreOptions{.ns = parts->ns, .queues = {}});
  parts->locks = std::make_unique<LockClient>(parts->runtime, parts->log, parts->counted(),
                                              LockClientOptions{.ns = parts->ns, .place = place_of_this_process()});
  parts->schedules = std::make_unique<ScheduleActs>(
      parts->runtime, *parts->stages, ScheduleActsOptions{.ns = parts->ns, .place = place_of_this_process()});
  parts->pipelines = std::make_unique<PipelineActs>(parts->runtime, parts->counted(), parts->ns);
  parts->items = std::make_unique<ItemActs>(parts->runtime, parts->counted(), parts->ns);
  return Client(std::move(parts));
}

Result<JobId> Client::enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options) {
  Result<std::vector<JobId>> ids = enqueue_many(queue, {std::string(payload)}, options);
  if (!ids) return std::unexpected(ids.error());
  return ids->front();
}

Result<std::vector<JobId>> Client::enqueue_many(std::string_view queue, const std::vector<std::string>& payloads,
                                                const EnqueueOptions& options) {
  NewJob job = new_job(queue, options);
  EnqueueRequest request{.ns = parts_->ns, .jobs = {}};
  AscendingUuids ids;
  for (const std::string& payload : payloads) {
    job.id = ids.next(parts_->runtime.wall_now(), parts_->runtime.random(), parts_->runtime.random());
    job.payload = payload;
    request.jobs.push_back(job);
  }
  Result<EnqueueReply> reply = surely(parts_->runtime, [&] { return parts_->stages->enqueue(request); });
  if (!reply) return std::unexpected(reply.error());
  return std::move(reply->ids);
}

Result<void> Client::cancel(const JobId& id, std::string_view reason) {
  const ActRequest request{.ns = parts_->ns,
                           .ids = {id},
                           .request = to_string(fresh_job_id(parts_->runtime)),
                           .act = {.actor = std::string(kActor), .reason = std::string(reason)}};
  const Result<ActReply> reply = surely(parts_->runtime, [&] { return parts_->counted().cancel(request); });
  if (!reply) return std::unexpected(reply.error());
  if (!reply->refused.empty()) return std::unexpected(error_of(reply->refused.front(), "cancelled"));
  return {};
}

Result<void> Client::retry(const JobId& id, std::string_view reason) {
  const ActRequest request{.ns = parts_->ns,
                           .ids = {id},
                           .request = to_string(fresh_job_id(parts_->runtime)),
                           .act = {.actor = std::string(kActor), .reason = std::string(reason)}};
  const Result<ActReply> reply = surely(parts_->runtime, [&] { return parts_->counted().retry(request); });
  if (!reply) return std::unexpected(reply.error());
  if (!reply->refused.empty()) return std::unexpected(error_of(reply->refused.front(), "retried"));
  return {};
}

Result<Job> Client::wait(const JobId& id, Duration timeout, std::stop_token stop) {
  Runtime& runtime = parts_->runtime;
  const Instant deadline = runtime.now() + timeout;
  for (Duration pause = kLookPauseFirst;; pause = std::min(pause * 2, kLookPauseMost)) {
    const Result<std::optional<Job>> job = parts_->counted().job(parts_->ns, id);
    const bool away = !job && (job.error().code == Code::unavailable || job.error().code == Code::in_doubt);
    if (!job && !away) return std::unexpected(job.error());
    if (job && !*job) return fail(Code::not_found, "there is no job " + to_string(id));
    if (job && is_finished((*job)->state)) return **job;
    const Instant now = runtime.now();
    if (now >= deadline || !runtime.sleep_until(std::min(deadline, now + pause), stop))
      return fail(Code::held, "job " + to_string(id) +
                                  (away ? " cannot be looked at: the store is away"
                                        : " is not finished: it is " + std::string(to_string((*job)->state))));
  }
}

Result<void> Client::lock(std::string_view name, LockOptions options, const std::function<void(const HeldLock&)>& body,
                          std::stop_token stop) {
  return parts_->locks->with(named(name, std::move(options)), body, std::move(stop));
}

Result<HeldLock> Client::acquire_lock(std::string_view name, LockOptions options, std::stop_token stop) {
  return parts_->locks->acquire(named(name, std::move(options)), std::move(stop));
}

LockClient& Client::locks() { return *parts_->locks; }

ScheduleActs& Client::schedules() { return *parts_->schedules; }
PipelineActs& Client::pipelines() { return *parts_->pipelines; }
ItemActs& Client::items() { return *parts_->items; }

Result<SqliteConnection> Client::connect() {
  auto* const store = dynamic_cast<SqliteStore*>(parts_->store.get());
  if (store == nullptr)
    return fail(Code::refused, "the store is no SQLite file: it has no connections for your own tables");
  return store->connect({.ns = parts_->ns});
}

std::string Client::metrics_text() { return parts_->metrics ? parts_->metrics->text() : std::string(); }

Result<std::optional<Job>> Client::job(const JobId& id) { return parts_->counted().job(parts_->ns, id); }

Result<WorkReport> Client::work(const WorkOptions& options, const std::function<RunResult(const Run&)>& handler,
                                std::stop_token stop) {
  FunctionHandler plain_handler(handler);
  std::optional<metrics::MeteredHandler> metered_handler;
  if (parts_->metrics) metered_handler.emplace(parts_->runtime, parts_->metrics->counted(), plain_handler);
  Handler& function_handler = parts_->metrics ? static_cast<Handler&>(*metered_handler) : plain_handler;
  std::unique_ptr<history::WorkHistory> noted;
  if (!options.history.empty()) {
    Result<std::unique_ptr<history::WorkHistory>> opened =
        history::WorkHistory::open(options.history, parts_->runtime, parts_->log, parts_->counted());
    if (!opened) return std::unexpected(opened.error());
    noted = std::move(*opened);
  }
  std::optional<HistoryHandler> noted_handler;
  if (noted) noted_handler.emplace(noted->recorder(), function_handler);
  Handler& chosen_handler = noted ? static_cast<Handler&>(*noted_handler) : function_handler;
  WorkerOptions worker{
      .ns = parts_->ns,
      .queues = options.queues,
      .stage = options.stage,
      .concurrency = options.concurrency > 0 ? options.concurrency : std::min(usable_cores(), kConcurrencyMax),
      .ttl = options.ttl != Duration{0} ? options.ttl : kTtlDefault,
      .drain_grace = options.drain_grace,
      .drain = options.drain,
      .strict = options.strict,
      .schedules = options.schedules,
      .host = host_name(),
      .pid = ::getpid(),
      .version = std::string(kVersion)};
  const Result<KnownPipelines> pipelines =
      fit_to_stage(parts_->runtime, parts_->counted(), worker,
                   {.ttl = options.ttl != Duration{0}, .concurrency = options.concurrency > 0}, stop);
  if (!pipelines) return std::unexpected(pipelines.error());
  worker.prefetch = worker.concurrency;
  return work_stages(parts_->runtime, parts_->log, noted ? noted->store() : parts_->counted(), chosen_handler, worker,
                     {}, std::move(stop));
}

}  // namespace fenceline
