#include <unistd.h>

#include <utility>

#include "backends/sqlite/sqlite_store.hpp"
#include "base/ascending_uuids.hpp"
#include "fenceline/sqlite.hpp"
#include "library/client_parts.hpp"
#include "runtime/host.hpp"
#include "services/job_wait.hpp"
#include "services/stage_store.hpp"
#include "session/collector.hpp"
#include "store/enqueue_options.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kActor = "library";

// One after the other: a runtime of a seed replays only what has an order.
JobId fresh_job_id(Runtime& runtime) {
  const WallTime now = runtime.wall_now();
  const std::uint64_t high = runtime.random();
  return make_uuid7(now, high, runtime.random());
}

Error error_of(const ActRefusal& refusal, std::string_view verb) {
  const std::string job = "job " + to_string(refusal.id);
  if (refusal.reason == Reason::not_found) return {Code::not_found, "no " + job};
  if (refusal.reason == Reason::key_taken)
    return {Code::conflict, job + " cannot be retried: job " + (refusal.holder ? to_string(*refusal.holder) : "?") +
                                " has its unique key"};
  return {Code::refused, job + " cannot be " + std::string(verb) + ": " + std::string(meaning_of(refusal.reason))};
}

std::string place_of_this_process() {
  return (host_name() + ":" + std::to_string(::getpid())).substr(0, kLockNoteBytesMax);
}

LockOptions named(std::string_view name, LockOptions options) {
  options.names.emplace_back(name);
  return options;
}

}  // namespace

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open(ClientOptions options) {
  if (auto ok = check_name("namespace", options.ns); !ok) return std::unexpected(ok.error());
  LogSink& sink = options.log != nullptr ? *options.log : null_log_sink();
  auto parts = std::make_unique<Parts>();
  SessionOptions wanted{.ns = std::move(options.ns), .history = std::move(options.history)};
  if (options.metrics) wanted.metrics = MeasureOptions{.queues = std::move(options.metrics_queues)};
  if (!options.traces.empty()) {
    Result<std::unique_ptr<traces::SpanSink>> spans =
        open_collector(parts->runtime, Log(sink),
                       {.endpoint = std::move(options.traces), .service = std::move(options.traces_service)});
    if (!spans) return std::unexpected(spans.error());
    wanted.spans = std::move(*spans);
  }
  Result<Session> session =
      Session::open(parts->runtime, sink, {.url = options.store, .actor = std::string(kActor)}, std::move(wanted));
  if (!session) return std::unexpected(session.error());
  parts->session = std::move(*session);
  const std::string& ns = parts->session->ns();
  Store& store = parts->session->store();
  parts->locks = std::make_unique<LockClient>(
      make_lock_parts(parts->runtime, parts->session->log(), store, {.ns = ns, .place = place_of_this_process()}));
  parts->schedules = std::make_unique<ScheduleActs>(parts->runtime, parts->session->stages(),
                                                    ScheduleActsOptions{.ns = ns, .place = place_of_this_process()});
  parts->pipelines = std::make_unique<PipelineActs>(parts->runtime, store, ns);
  parts->items = std::make_unique<ItemActs>(parts->runtime, store, ns);
  return Client(std::move(parts));
}

Result<JobId> Client::enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options) {
  Result<std::vector<JobId>> ids = enqueue_many(queue, {std::string(payload)}, options);
  if (!ids) return std::unexpected(ids.error());
  return ids->front();
}

Result<std::vector<JobId>> Client::enqueue_many(std::string_view queue, const std::vector<std::string>& payloads,
                                                const EnqueueOptions& options) {
  std::vector<NewJobSpec> jobs;
  for (const std::string& payload : payloads) jobs.push_back({.payload = payload, .options = options});
  return enqueue_many(queue, jobs);
}

Result<std::vector<JobId>> Client::enqueue_many(std::string_view queue, std::span<const NewJobSpec> specs) {
  std::vector<NewJob> jobs;
  AscendingUuids ids;
  for (const NewJobSpec& spec : specs) {
    NewJob& job = jobs.emplace_back(new_job(queue, spec.options));
    job.id = ids.next(parts_->runtime.wall_now(), parts_->runtime.random(), parts_->runtime.random());
    job.payload = spec.payload;
  }
  Result<EnqueueReply> reply = parts_->session->enqueue(std::move(jobs));
  if (!reply) return std::unexpected(reply.error());
  return std::move(reply->ids);
}

Result<void> Client::cancel(const JobId& id, std::string_view reason) {
  const ActRequest request{.ns = parts_->session->ns(),
                           .ids = {id},
                           .request = to_string(fresh_job_id(parts_->runtime)),
                           .act = {.actor = std::string(kActor), .reason = std::string(reason)}};
  const Result<ActReply> reply = parts_->session->until_known({}, [&] { return (*parts_->session)->cancel(request); });
  if (!reply) return std::unexpected(reply.error());
  if (!reply->refused.empty()) return std::unexpected(error_of(reply->refused.front(), "cancelled"));
  return {};
}

Result<void> Client::retry(const JobId& id, std::string_view reason) {
  const ActRequest request{.ns = parts_->session->ns(),
                           .ids = {id},
                           .request = to_string(fresh_job_id(parts_->runtime)),
                           .act = {.actor = std::string(kActor), .reason = std::string(reason)}};
  const Result<ActReply> reply = parts_->session->until_known({}, [&] { return (*parts_->session)->retry(request); });
  if (!reply) return std::unexpected(reply.error());
  if (!reply->refused.empty()) return std::unexpected(error_of(reply->refused.front(), "retried"));
  return {};
}

Result<Job> Client::wait(const JobId& id, Duration timeout, std::stop_token stop) {
  std::string found;
  const auto looked = [&](const Result<Job>& job) {
    found = job ? " has not finished: it is " + std::string(to_string(job->state))
                : " cannot be read: the store is unreachable";
  };
  const Instant now = parts_->runtime.now();
  const Instant until = timeout > Instant::max() - now ? Instant::max() : now + timeout;
  Result<std::optional<Job>> job =
      wait_until_finished(parts_->runtime, parts_->session->store(), id,
                          {.ns = parts_->session->ns(), .until = until, .looked = looked}, stop);
  if (!job) return std::unexpected(job.error());
  if (!*job) return fail(Code::held, "job " + to_string(id) + found);
  return std::move(**job);
}

Result<void> Client::lock(std::string_view name, LockOptions options, const std::function<void(const HeldLock&)>& body,
                          std::stop_token stop) {
  return parts_->locks->with(named(name, std::move(options)), body, std::move(stop));
}

Result<HeldLock> Client::acquire_lock(std::string_view name, LockOptions options, std::stop_token stop) {
  return parts_->locks->acquire(named(name, std::move(options)), std::move(stop));
}

LockClient& Client::locks() { return *parts_->locks; }

ScheduleControl& Client::schedules() { return *parts_->schedules; }
PipelineControl& Client::pipelines() { return *parts_->pipelines; }
ItemControl& Client::items() { return *parts_->items; }

Result<SqliteConnection> Client::connect() {
  auto* const store = dynamic_cast<SqliteStore*>(&parts_->session->backend());
  if (store == nullptr)
    return fail(Code::refused, "the store is not a SQLite file: it offers no connections for your own tables");
  return store->connect({.ns = parts_->session->ns()});
}

std::string Client::metrics_text() { return parts_->session->metrics_text(); }

Result<std::optional<Job>> Client::job(const JobId& id) { return (*parts_->session)->job(parts_->session->ns(), id); }

}  // namespace fenceline
