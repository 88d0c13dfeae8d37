#include "fenceline/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "fenceline/version.hpp"
#include "handler/handler.hpp"
#include "library/client_parts.hpp"
#include "runtime/host.hpp"
#include "services/stage_worker.hpp"
#include "session/handler_chain.hpp"

namespace fenceline {
namespace {

constexpr Duration kTtlDefault = std::chrono::seconds{30};

struct FunctionHandler final : Handler {
  explicit FunctionHandler(const HandlerFunction& function) : function_(function) {}
  RunResult run(const Run& run) override { return function_(run); }
  const HandlerFunction& function_;
};

Result<WorkReport> work_in(const Session& its_client, Runtime& runtime, const WorkOptions& options,
                           const HandlerFunction& handler, std::stop_token stop) {
  std::optional<Session> recorded;  // of this worker alone
  if (!options.history.empty()) {
    Result<Session> opened = its_client.recorded_in(options.history);
    if (!opened) return std::unexpected(opened.error());
    recorded = std::move(*opened);
  }
  const Session& session = recorded ? *recorded : its_client;
  FunctionHandler function_handler(handler);
  const HandlerChain chain(session, function_handler);
  WorkerOptions worker{
      .ns = session.ns(),
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
      fit_to_stage(runtime, session.store(), worker,
                   {.ttl = options.ttl != Duration{0}, .concurrency = options.concurrency > 0}, stop);
  if (!pipelines) return std::unexpected(pipelines.error());
  worker.prefetch = worker.concurrency;
  return work_stages(runtime, session.log(), session.store(), chain.outermost(), worker, {}, std::move(stop));
}

}  // namespace

struct Worker::Parts {
  Parts(Client::Parts& its_client, WorkOptions its_options, HandlerFunction its_handler)
      : client(its_client), options(std::move(its_options)), handler(std::move(its_handler)) {}

  Result<WorkReport> work(const std::stop_token& stop) {
    const std::stop_callback pass_on(stop, [this] { stopping.request_stop(); });
    return work_in(*client.session, client.runtime, options, handler, stopping.get_token());
  }
  Result<void> begin() {
    if (!begun.exchange(true)) return {};
    return fail(Code::refused, "this worker was already started; create another one");
  }

  Client::Parts& client;
  const WorkOptions options;
  const HandlerFunction handler;
  std::stop_source stopping;
  std::atomic<bool> begun = false;
  bool has_task = false;
  Result<WorkReport> report;  // of the task, once it was joined
  Task task;                  // last: it uses all of the above
};

Worker::Worker(Client& client, WorkOptions options, HandlerFunction handler)
    : parts_(std::make_unique<Parts>(*client.parts_, std::move(options), std::move(handler))) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

Result<WorkReport> Worker::run(std::stop_token stop) {
  if (auto ok = parts_->begin(); !ok) return std::unexpected(ok.error());
  return parts_->work(stop);
}

Result<void> Worker::start() {
  if (auto ok = parts_->begin(); !ok) return ok;
  parts_->task = parts_->client.runtime.spawn(
      "worker", [parts = parts_.get()](std::stop_token stop) { parts->report = parts->work(stop); });
  parts_->has_task = true;
  return {};
}

void Worker::stop() { parts_->stopping.request_stop(); }

Result<WorkReport> Worker::join() {
  if (!parts_->has_task) return fail(Code::refused, "this worker was not started by start()");
  parts_->task.join();
  return parts_->report;
}

Result<WorkReport> Client::work(const WorkOptions& options, const HandlerFunction& handler, std::stop_token stop) {
  return Worker(*this, options, handler).run(std::move(stop));
}

}  // namespace fenceline
