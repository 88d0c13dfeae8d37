#include <unistd.h>

#include <algorithm>

#include "fenceline/fenceline.hpp"
#include "fenceline/version.hpp"
#include "library/open_store.hpp"
#include "runtime/host.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

constexpr int kEnqueueTries = 3;

struct FunctionHandler final : Handler {
  explicit FunctionHandler(const std::function<RunResult(const Run&)>& function) : function_(function) {}
  RunResult run(const Run& run) override { return function_(run); }
  const std::function<RunResult(const Run&)>& function_;
};

}  // namespace

struct Client::Parts {
  ThreadRuntime runtime;
  Log log;
  std::string ns;
  std::unique_ptr<Store> store;  // goes first: its threads are the runtime's

  explicit Parts(LogSink* sink) : log(sink != nullptr ? *sink : null_log_sink()) {}
};

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open(ClientOptions options) {
  if (auto ok = check_name("namespace", options.ns); !ok) return std::unexpected(ok.error());
  auto parts = std::make_unique<Parts>(options.log);
  parts->ns = std::move(options.ns);
  Result<std::unique_ptr<Store>> store = open_store(parts->runtime, parts->log, {.url = options.store, .actor = "library"});
  if (!store) return std::unexpected(store.error());
  parts->store = std::move(*store);
  return Client(std::move(parts));
}

Result<JobId> Client::enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options) {
  Result<std::vector<JobId>> ids = enqueue_many(queue, {std::string(payload)}, options);
  if (!ids) return std::unexpected(ids.error());
  return ids->front();
}

Result<std::vector<JobId>> Client::enqueue_many(std::string_view queue, const std::vector<std::string>& payloads, const EnqueueOptions& options) {
  EnqueueRequest request{.ns = parts_->ns, .jobs = {}};
  std::vector<JobId> ids;
  for (const std::string& payload : payloads) {
    ids.push_back(make_uuid7(parts_->runtime.wall_now(), parts_->runtime.random(), parts_->runtime.random()));
    request.jobs.push_back({.id = ids.back(),
                            .queue = std::string(queue),
                            .stage = options.stage,
                            .payload = payload,
                            .priority = options.priority,
                            .delay = options.delay,
                            .attempts_max = options.attempts_max});
  }
  Result<EnqueueReply> reply = parts_->store->enqueue(request);
  // The same ids again: what was added is not added twice.
  for (int tries = 1; !reply && reply.error().code == Code::in_doubt && tries < kEnqueueTries; ++tries) reply = parts_->store->enqueue(request);
  if (!reply) return std::unexpected(reply.error());
  return ids;
}

Result<std::optional<Job>> Client::job(const JobId& id) { return parts_->store->job(parts_->ns, id); }

Result<WorkReport> Client::work(const WorkOptions& options, const std::function<RunResult(const Run&)>& handler, std::stop_token stop) {
  FunctionHandler function_handler(handler);
  const int concurrency = options.concurrency > 0 ? options.concurrency : std::min(usable_cores(), kConcurrencyMax);
  Worker worker(parts_->runtime, parts_->log, *parts_->store, function_handler,
                {.ns = parts_->ns,
                 .queues = options.queues,
                 .stage = options.stage,
                 .concurrency = concurrency,
                 .prefetch = concurrency,
                 .ttl = options.ttl,
                 .drain_grace = options.drain_grace,
                 .drain = options.drain,
                 .host = host_name(),
                 .pid = ::getpid(),
                 .version = std::string(kVersion)});
  return worker.run(std::move(stop));
}

}  // namespace fenceline
