// The verbs that only look.
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {

using namespace postgres;

namespace {

std::vector<Holding> holdings_in(const json& reply, const char* name) {
  std::vector<Holding> out;
  for (const json& held : array_in(reply, name)) out.push_back({id_in(held, "id"), integer_in(held, "fence")});
  return out;
}

template <class Reply>
Reply read_orders(const json& reply) {
  Reply out;
  out.order = static_cast<WorkerOrder>(integer_in(reply, "order"));
  out.revoked = holdings_in(reply, "revoked");
  out.held = holdings_in(reply, "held");
  return out;
}

}  // namespace

Result<std::optional<LogReply>> PostgresStore::log(const LogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one(
      "get_log", request.ns, {{"id", to_string(request.id)}, {"after", request.after}, {"limit", request.limit}},
      CallKind::look, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&]() -> std::optional<LogReply> {
    if (reply->is_null()) return std::nullopt;
    LogReply out;
    for (const json& chunk : array_in(*reply, "chunks"))
      out.chunks.push_back({integer_in(chunk, "delivery"), time_in(chunk, "at"), bytes_in(chunk, "bytes")});
    out.dropped = integer_in(*reply, "dropped");
    out.next = integer_in(*reply, "next");
    return out;
  });
}

Result<std::optional<Job>> PostgresStore::job(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("get_job", ns, {{"id", to_string(id)}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&]() -> std::optional<Job> {
    return reply->is_null() ? std::nullopt : std::optional(read_job(*reply));
  });
}

Result<JobsReply> PostgresStore::jobs(const JobsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{
      {"after", request.after}, {"limit", request.limit}, {"with_payload", request.with_payload}, {"tag", request.tag}};
  if (request.queue) asked["queue"] = *request.queue;
  if (request.state) asked["state"] = static_cast<int>(*request.state);
  if (!request.key.empty()) asked["key"] = request.key;
  if (!request.error.empty()) asked["error"] = to_hex(request.error);
  if (request.since) asked["since"] = request.since->time_since_epoch().count();
  if (request.before) asked["before"] = request.before->time_since_epoch().count();
  if (request.newest_first) asked["newest_first"] = true;
  const Result<std::vector<json>> rows = parts_->call("list_jobs", request.ns, asked, CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    JobsReply out;
    for (const json& row : *rows) {
      if (const auto next = optional_integer_in(row, "next")) out.next = next;
      else {
        out.jobs.push_back(read_job(row.at("job")));
        out.jobs.back().ran_for = optional_duration_in(row, "ran_for");
      }
    }
    return out;
  });
}

Result<std::vector<JobId>> PostgresStore::ids(const IdsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("list_ids", request.ns,
                                              {{"first", to_string(request.first)},
                                               {"last", to_string(request.last)},
                                               {"limit", request.limit},
                                               {"suffix", request.suffix},
                                               {"newest", kNewestIds}},
                                              CallKind::look, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<JobId> out;
    for (const json& id : *reply) out.push_back(read_id(id.get<std::string>()));
    // Functions that an older program installed know no suffix: until `migrate`, they answer others too.
    std::erase_if(out, [&](const JobId& id) { return !hex_digits(id).ends_with(request.suffix); });
    return out;
  });
}

Result<BacklogReply> PostgresStore::backlog(const BacklogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one(
      "backlog", request.ns, {{"queues", request.queues}, {"stage", request.stage}}, CallKind::look, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    return BacklogReply{flag_in(*reply, "running"), flag_in(*reply, "claimable"), integer_in(*reply, "ahead"),
                        integer_in(*reply, "blocked"), optional_duration_in(*reply, "next_due")};
  });
}

Result<std::vector<QueueRow>> PostgresStore::queues(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("list_queues", ns, json::object(), CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<QueueRow> out;
    for (const json& row : *reply) out.push_back(read_queue(row));
    return out;
  });
}

Result<std::optional<JobFacts>> PostgresStore::facts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("job_facts", ns, {{"id", to_string(id)}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&]() -> std::optional<JobFacts> {
    return reply->is_null() ? std::nullopt : std::optional(read_facts(*reply));
  });
}

Result<std::vector<Attempt>> PostgresStore::attempts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("job_attempts", ns, {{"id", to_string(id)}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<Attempt> out;
    for (const json& row : *reply) out.push_back(read_attempt(row));
    return out;
  });
}

Result<EffectsReply> PostgresStore::effects(const EffectsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{{"in_doubt", request.in_doubt},
             {"after", request.after},
             {"limit", request.limit},
             {"with_result", request.with_result}};
  if (request.job) asked["job"] = to_string(*request.job);
  const Result<std::vector<json>> rows =
      parts_->call("list_effects", request.ns, asked, CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    EffectsReply out;
    for (const json& row : *rows) {
      if (const auto next = optional_integer_in(row, "next")) out.next = next;
      else out.effects.push_back(read_effect(row.at("effect")));
    }
    return out;
  });
}

Result<OrdersReply> PostgresStore::orders(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("worker_orders", ns, {{"owner", owner}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return read_orders<OrdersReply>(*reply); });
}

Result<std::vector<WorkerRow>> PostgresStore::workers(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("list_workers", ns, json::object(), CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<WorkerRow> out;
    for (const json& row : *reply) out.push_back(read_worker(ns, row));
    return out;
  });
}

Result<std::vector<std::string>> PostgresStore::namespaces() {
  Pool& pool = parts_->pool;
  const Statement look{"select name from \"" + pool.dsn().schema + "\".namespace order by name collate \"C\" limit " +
                       std::to_string(kNamespacesShown)};
  const Result<Rows> rows = pool.run(look, {}, CallKind::look, kCallTimeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(pool.dsn(), [&] {
    std::vector<std::string> names;
    for (int row = 0; row < rows->size(); ++row) names.push_back(rows->text(row, 0));
    return names;
  });
}

Result<std::vector<TrailEntry>> PostgresStore::trail(const std::string& ns, int limit) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (limit < 1) return fail(Code::invalid, "limit must be at least 1");
  const Result<json> reply = parts_->call_one("read_trail", ns, {{"limit", limit}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<TrailEntry> out;
    for (const json& row : *reply) out.push_back(read_entry(row));
    return out;
  });
}

}  // namespace fenceline
