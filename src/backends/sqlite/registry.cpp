// Who works here, and what operators want of them. For people: a row here never decides about a lease
// that was granted.
#include <cstring>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kReportWorker = R"sql(
  INSERT INTO worker (ns_id, owner, started_at, seen_at, host, pid, version, queues, stage, concurrency, ttl, holding)
  VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
  ON CONFLICT (ns_id, owner) DO UPDATE SET seen_at = excluded.seen_at, host = excluded.host, pid = excluded.pid,
    version = excluded.version,
    queues = excluded.queues, stage = excluded.stage, concurrency = excluded.concurrency, ttl = excluded.ttl,
    holding = excluded.holding)sql";
constexpr const char* kForgetWorkers = "DELETE FROM worker WHERE ns_id = ?1 AND seen_at <= ?2";
constexpr const char* kWorkers = R"sql(
  SELECT owner, started_at, seen_at, host, pid, version, queues, stage, concurrency, ttl, holding, told FROM worker
    WHERE ns_id = ?1
  ORDER BY started_at, owner)sql";

constexpr const char* kTold = "SELECT told FROM worker WHERE ns_id = ?1 AND owner = ?2";
constexpr const char* kTell = "UPDATE worker SET told = ?3 WHERE ns_id = ?1 AND owner = ?2";

// Sixteen bytes of the id, eight of the fence.
std::string pack_holdings(const std::vector<Holding>& holdings) {
  std::string bytes;
  for (const Holding& holding : holdings) {
    bytes += as_bytes(holding.id);
    bytes.append(reinterpret_cast<const char*>(&holding.fence), sizeof holding.fence);
  }
  return bytes;
}

std::vector<Holding> unpack_holdings(std::string_view bytes) {
  constexpr std::size_t kIdBytesOfHolding = sizeof(JobId::bytes);
  constexpr std::size_t kBytes = kIdBytesOfHolding + sizeof(Fence);
  std::vector<Holding> holdings(bytes.size() / kBytes);
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    std::memcpy(holdings[i].id.bytes.data(), bytes.data() + i * kBytes, kIdBytesOfHolding);
    std::memcpy(&holdings[i].fence, bytes.data() + i * kBytes + kIdBytesOfHolding, sizeof(Fence));
  }
  return holdings;
}

// Names have no newline.
std::string join(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += joined.empty() ? name : '\n' + name;
  return joined;
}

std::vector<std::string> split(std::string_view joined) {
  std::vector<std::string> names;
  while (!joined.empty()) {
    const std::size_t end = joined.find('\n');
    names.emplace_back(joined.substr(0, end));
    joined = end == std::string_view::npos ? std::string_view() : joined.substr(end + 1);
  }
  return names;
}

}  // namespace

std::optional<WorkerOrder> order_told(Call& call, std::int64_t ns_id, const std::string& owner) {
  const auto told = call.db.number(kTold, ns_id, owner);
  return told ? std::optional(static_cast<WorkerOrder>(*told)) : std::nullopt;
}

Result<void> report_worker(Call& call, const WorkerReport& report) {
  const std::int64_t ns_id = call.names.intern_namespace(report.ns);
  call.db.execute(kReportWorker, ns_id, report.owner, call.wall_us(), report.host, report.pid, report.version,
                  join(report.queues), report.stage, report.concurrency, report.ttl.count(),
                  Bytes{pack_holdings(report.holding)});
  // After it: the one that reports is here, whatever the clock says, and keeps its order.
  call.db.execute(kForgetWorkers, ns_id, call.wall_us() - kWorkerForgottenAfter.count());
  return {};
}

Result<void> remove_worker(Call& call, const std::string& ns, const std::string& owner) {
  if (const auto ns_id = call.names.find_namespace(ns))
    call.db.execute("DELETE FROM worker WHERE ns_id = ?1 AND owner = ?2", *ns_id, owner);
  return {};
}

Result<std::vector<WorkerRow>> workers(Call& call, const std::string& ns) {
  std::vector<WorkerRow> workers;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return workers;
  auto rows = call.db.query(kWorkers, *ns_id);
  while (rows.next()) {
    WorkerRow& worker = workers.emplace_back();
    worker.report.ns = ns;
    worker.report.owner = rows.text(0);
    worker.started_at = WallTime{Duration{rows.integer(1)}};
    worker.seen_at = WallTime{Duration{rows.integer(2)}};
    worker.unseen = call.wall - worker.seen_at;
    worker.report.host = rows.text(3);
    worker.report.pid = rows.integer(4);
    worker.report.version = rows.text(5);
    worker.report.queues = split(rows.bytes(6));
    worker.report.stage = rows.text(7);
    worker.report.concurrency = static_cast<int>(rows.integer(8));
    worker.report.ttl = Duration{rows.integer(9)};
    worker.report.holding = unpack_holdings(rows.bytes(10));
    worker.order = static_cast<WorkerOrder>(rows.integer(11));
  }
  return workers;
}

Result<void> order_worker(Call& call, const OrderRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  const auto before = ns_id ? order_told(call, *ns_id, request.owner) : std::nullopt;
  if (!before)
    return fail(Code::not_found, "no worker " + request.owner + " is registered; `fenceline workers list` shows them");
  if (before == request.order) return {};
  if (before == WorkerOrder::stop)
    return fail(Code::refused, "worker " + request.owner + " was told to stop; start another one");
  call.db.execute(kTell, *ns_id, request.owner, static_cast<int>(request.order));
  enter_in_trail(call, request.ns, request.act, "worker_" + std::string(to_string(request.order)), request.owner);
  call.ordered.insert(request.ns);
  return {};
}

}  // namespace fenceline::sqlite
