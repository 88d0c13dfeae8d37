// fenceline for C++ programs: put jobs into a store, and work on them under leases with fences.
//
//   #include <fenceline/fenceline.hpp>
//
//   int main() {
//     auto client = fenceline::Client::open({.store = "sqlite:fenceline.db"});
//     if (!client) return std::cerr << client.error().message << "\n", 1;
//
//     auto id = client->enqueue("mail", R"({"to": "ana"})");
//     if (!id) return std::cerr << id.error().message << "\n", 1;
//
//     auto report = client->work({.queues = {"mail"}, .drain = true}, [](const fenceline::Run& run) {
//       if (run.stop.stop_requested()) return fenceline::RunResult::later();
//       return fenceline::RunResult::done(send(run.job.payload));
//     });
//     if (!report) return std::cerr << report.error().message << "\n", 1;
//     std::cout << report->done << " done\n";
//   }
//
// A worker beside other work: fenceline/worker.hpp. What a handler gets and returns: fenceline/handler.hpp. A side
// effect that must not happen twice: run.effect(), fenceline/effect.hpp. Payloads as your own types:
// fenceline/json.hpp. Writes to your own tables in the same database: fenceline/sqlite.hpp and fenceline/postgres.hpp.
// Locks, schedules and pipelines have headers of their own, which this one includes.
//
// Nothing here throws for what the world does: every call answers with a Result (fenceline/result.hpp). Look at it
// before you use it. The library is static, for C++23: find_package(fenceline), or pkg-config --static fenceline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/effect.hpp"
#include "fenceline/enqueue_options.hpp"
#include "fenceline/handler.hpp"
#include "fenceline/job.hpp"
#include "fenceline/listing.hpp"
#include "fenceline/locks.hpp"
#include "fenceline/log.hpp"
#include "fenceline/pipelines.hpp"
#include "fenceline/result.hpp"
#include "fenceline/schedules.hpp"
#include "fenceline/time.hpp"
#include "fenceline/worker.hpp"

namespace fenceline {

class SqliteConnection;  // fenceline/sqlite.hpp

struct ClientOptions {
  std::string store = "sqlite:fenceline.db";  // set up if it is empty
  std::string ns = "default";                 // your own namespace in that store
  LogSink* log = nullptr;                     // where events go (docs/events.md); none: nowhere
  bool metrics = false;                       // count what this client does, for metrics_text()
  std::vector<std::string> metrics_queues;    // at most 50 that have a label of their own there; all others are "other"
  std::string traces;  // an OpenTelemetry collector (OTLP over HTTP), http://HOST:4318, that gets a span for each
                       // enqueue and each run (docs/traces.md); empty: none
  std::string traces_service = "fenceline";  // the name of this program in traces
  std::string history;  // a file: what is done to the store is added to it, for `fenceline audit`; empty: none
};

// One store, opened once a process. Safe to use from several threads; must not cross a fork.
class Client {
 public:
  // Errors: invalid (not a store's URL), and what opening that store says.
  static Result<Client> open(ClientOptions options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Adds one job; the payload is JSON text. A reply that was lost is asked for again: the job is added once. The id is
  // that of the job that stands: with a key that is taken, of the one that has it.
  // Errors: invalid, conflict (the key is taken by a job with another payload), full, unavailable, in_doubt, broken.
  Result<JobId> enqueue(std::string_view queue, std::string_view payload, const EnqueueOptions& options = {});

  // Adds all of them or none, at most kBatchMax; the ids come in the order of the payloads. Errors: as enqueue.
  Result<std::vector<JobId>> enqueue_many(std::string_view queue, const std::vector<std::string>& payloads,
                                          const EnqueueOptions& options = {});
  // The same with options for each job.
  Result<std::vector<JobId>> enqueue_many(std::string_view queue, std::span<const NewJobSpec> jobs);

  // A page of jobs, oldest first: see fenceline/listing.hpp. Errors: invalid, unavailable, broken.
  Result<JobPage> jobs(const JobFilter& filter = {});
  // By name: all queues that have a job, a setting other than the default, or a pause. Errors: unavailable, broken.
  Result<std::vector<QueueRow>> queues();

  // With its payload and result; empty if there is no such job in this namespace. Errors: unavailable, broken.
  Result<std::optional<Job>> job(const JobId& id);

  // Ends a job that is not finished: a running one's handler is told within a second, and nothing of it counts any
  // more. Already cancelled: ok. Errors: not_found, refused (it is done or dead), unavailable, in_doubt, broken.
  Result<void> cancel(const JobId& id, std::string_view reason = {});

  // Makes a job claimable now: a dead or cancelled one starts over, a ready one loses its delay, a running one is ended
  // and runs again. Errors: not_found, refused (it is done), conflict (its key is taken; the message says by whom),
  // unavailable, in_doubt, broken.
  Result<void> retry(const JobId& id, std::string_view reason = {});

  // Waits until the job is finished: it comes with its payload and result. Errors: held (not finished within `timeout`,
  // or `stop` was requested), not_found, broken. A store that is away is waited for.
  Result<Job> wait(const JobId& id, Duration timeout, std::stop_token stop = {});

  // Acquires the lock, calls `body`, releases: see fenceline/locks.hpp. `stop` ends the wait, and is passed on to the
  // body. Names in the options are locked along with it, all or none. Errors: held (somebody has it, or `stop` was
  // requested), lost (the body ran, was told to stop, and may have worked on without the lock), unavailable, in_doubt,
  // invalid, refused, full, denied, broken.
  Result<void> lock(std::string_view name, LockOptions options, const std::function<void(const HeldLock&)>& body,
                    std::stop_token stop = {});
  // The same by hand: the handle must be released, before this client goes away.
  Result<HeldLock> acquire_lock(std::string_view name, LockOptions options = {}, std::stop_token stop = {});
  // For elections, singletons and loops, and what was counted.
  LockClient& locks();

  // Adds, edits, pauses, rewinds, removes: see fenceline/schedules.hpp.
  ScheduleControl& schedules();

  // Applies and removes pipelines; approves, rejects, moves, holds and releases their items: see
  // fenceline/pipelines.hpp.
  PipelineControl& pipelines();
  ItemControl& items();

  // What this client did, and how its store is, in the text format of Prometheus (docs/metrics.md): for a page of your
  // own. Waits at most half a second for a fresh look at the store (the first time two), and not at all for one that is
  // away. Empty without ClientOptions::metrics.
  std::string metrics_text();

  // A connection for your own tables in the same SQLite file, with transactions that are guarded by a job's fence and
  // can enqueue: see fenceline/sqlite.hpp. The client must outlive it. Errors: refused (the store is not a SQLite
  // file), unavailable, full, broken.
  Result<SqliteConnection> connect();

  // A worker in one call: Worker(*this, options, handler).run(stop), see fenceline/worker.hpp. Blocks until `stop` is
  // requested, an operator orders it, or with `drain` until nothing is left. Errors: invalid, refused, broken; a store
  // that is away is waited for.
  Result<WorkReport> work(const WorkOptions& options, const HandlerFunction& handler, std::stop_token stop = {});

 private:
  friend class Worker;
  struct Parts;
  explicit Client(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline
