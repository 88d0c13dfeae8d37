// fenceline for C++ programs: put jobs into a store, and work on them under leases with fences.
//
//   auto client = fenceline::Client::open({.store = "sqlite:fenceline.db"});
//   client->enqueue("mail", R"({"to": "ana"})");
//   client->work({.queues = {"mail"}, .drain = true}, [](const fenceline::Run& run) {
//     return fenceline::RunResult{.kind = fenceline::OutcomeKind::done, .result = send(run.job.payload)};
//   });
//
// Nothing here throws for what the world does: every call answers with a Result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "services/handler.hpp"
#include "services/worker.hpp"

namespace fenceline {

struct ClientOptions {
  std::string store = "sqlite:fenceline.db";  // set up if it is empty
  std::string ns = "default";                 // a namespace of your own in that store
  LogSink* log = nullptr;                     // where events go (docs/events.md); none: nowhere
};

struct EnqueueOptions {
  std::string stage;
  int priority = 0;     // larger is sooner
  Duration delay{0};
  int attempts_max = kAttemptsMaxDefault;
};

struct WorkOptions {
  std::vector<std::string> queues;
  std::string stage;
  int concurrency = 0;                              // 0: as many as there are cores
  Duration ttl = std::chrono::seconds{30};
  Duration drain_grace = std::chrono::seconds{30};  // what running handlers get at a stop
  bool drain = false;                               // end when nothing is left to do
};

// One store, opened once a process. Safe to use from several threads; must not cross a fork.
class Client {
 public:
  // Errors: invalid (not a store's URL), and what opening that store says.
  static Result<Client> open(ClientOptions options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Adds one job; the payload is JSON text. A reply that was lost is asked for again: the job is added once.
  // Errors: invalid, full, unavailable, in_doubt, broken.
  Result<JobId> enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options = {});

  // Adds all of them or none, at most kBatchMax.
  Result<std::vector<JobId>> enqueue_many(std::string_view queue, const std::vector<std::string>& payloads, const EnqueueOptions& options = {});

  Result<std::optional<Job>> job(const JobId& id);

  // Works until `stop` is requested, or with `drain` until nothing is left. The handler is called from several
  // threads at once; what it throws (a std::exception) counts as failed.
  Result<WorkReport> work(const WorkOptions& options, const std::function<RunResult(const Run&)>& handler, std::stop_token stop = {});

 private:
  struct Parts;
  explicit Client(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline
