// The verbs of operators, of notes and of history: each is a call of its namesake in verbs.hpp.
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {
namespace {

using sqlite::read;
using sqlite::Weight;
using sqlite::write;

Weight weight_of(const RecordRequest& request) {
  Weight weight{request.notes.size(), 0};
  for (const Note& note : request.notes) weight.bytes += note.log.size();
  return weight;
}

}  // namespace

Result<BatchReply> SqliteStore::open_batch(const BatchRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {}, request.timeout, &sqlite::open_batch);
}

Result<RecordReply> SqliteStore::record(const RecordRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::record);
}

Result<std::optional<LogReply>> SqliteStore::log(const LogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<std::optional<LogReply>>(*parts_, [&](sqlite::Call& call) { return sqlite::read_log(call, request); });
}

Result<ActReply> SqliteStore::cancel(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {request.ids.size(), 0}, request.timeout, &sqlite::cancel);
}

Result<ActReply> SqliteStore::retry(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {request.ids.size(), 0}, request.timeout, &sqlite::retry);
}

Result<PurgeReply> SqliteStore::purge(const PurgeRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {static_cast<std::size_t>(request.limit), 0}, request.timeout, &sqlite::purge);
}

Result<void> SqliteStore::set_queue(const SetQueueRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {}, request.timeout, &sqlite::set_queue);
}

Result<void> SqliteStore::pause(const PauseRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {}, request.timeout, &sqlite::pause);
}

Result<std::vector<QueueRow>> SqliteStore::queues(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::vector<QueueRow>>(*parts_, [&](sqlite::Call& call) { return sqlite::queues(call, ns); });
}

Result<TidyReply> SqliteStore::tidy(const TidyRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {static_cast<std::size_t>(request.limit), 0}, request.timeout, &sqlite::tidy);
}

Result<Fence> SqliteStore::raise_floor(const RaiseFloorRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {}, request.timeout, &sqlite::raise_floor);
}

Result<std::optional<JobFacts>> SqliteStore::facts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::optional<JobFacts>>(*parts_, [&](sqlite::Call& call) { return sqlite::facts(call, ns, id); });
}

Result<std::vector<Attempt>> SqliteStore::attempts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::vector<Attempt>>(*parts_, [&](sqlite::Call& call) { return sqlite::attempts(call, ns, id); });
}

Result<void> SqliteStore::order_worker(const OrderRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {}, request.timeout, &sqlite::order_worker);
}

Result<OrdersReply> SqliteStore::orders(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<OrdersReply>(*parts_, [&](sqlite::Call& call) { return sqlite::orders(call, ns, owner); });
}

Result<void> SqliteStore::stopped(const StoppedRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {request.jobs.size(), 0}, request.timeout, &sqlite::stopped);
}

}  // namespace fenceline
