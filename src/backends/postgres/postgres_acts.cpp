// The verbs that change something and are not hot: operators' acts, notes, effects, the registry.
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {

using namespace postgres;

namespace {

json act_request(const ActRequest& request) {
  json asked{{"ids", ids_json(request.ids)}, {"request", request.request}, {"act", act_json(request.act)}};
  if (request.only) asked["only"] = static_cast<int>(*request.only);
  return asked;
}

ActReply read_act_reply(const json& reply) {
  ActReply out;
  for (const json& refused : array_in(reply, "refused"))
    out.refused.push_back(
        {id_in(refused, "id"), reason_from(text_in(refused, "reason")), optional_id_in(refused, "holder")});
  return out;
}

Result<void> done(const Result<json>& reply) {
  if (!reply) return std::unexpected(reply.error());
  return {};
}

std::optional<Refusal> refusal_in(const json& reply) {
  const auto found = reply.find("refusal");
  if (found == reply.end() || found->is_null()) return std::nullopt;
  return read_refusal(*found);
}

}  // namespace

Result<BatchReply> PostgresStore::open_batch(const BatchRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("open_batch", request.ns, {{"name", request.name}}, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return BatchReply{time_in(*reply, "first_seen")}; });
}

Result<RecordReply> PostgresStore::record(const RecordRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json notes = json::array();
  for (const Note& note : request.notes) {
    json one{{"id", to_string(note.id)}, {"fence", note.fence}, {"log", to_hex(note.log)}, {"log_at", note.log_at}};
    if (note.progress) one["progress"] = {{"percent", note.progress->percent}, {"note", note.progress->note}};
    notes.push_back(std::move(one));
  }
  const Result<json> reply =
      parts_->call_one("record_notes", request.ns, {{"notes", std::move(notes)}}, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return RecordReply{read_refusals(*reply)}; });
}

Result<ActReply> PostgresStore::cancel(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("cancel_jobs", request.ns, act_request(request), CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return read_act_reply(*reply); });
}

Result<ActReply> PostgresStore::retry(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("retry_jobs", request.ns, act_request(request), CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return read_act_reply(*reply); });
}

Result<PurgeReply> PostgresStore::purge(const PurgeRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const json asked{{"queue", request.queue},
                   {"after", request.after},
                   {"up_to", request.up_to},
                   {"limit", request.limit},
                   {"act", act_json(request.act)}};
  const Result<json> reply = parts_->call_one("purge_queue", request.ns, asked, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    return PurgeReply{integer_in(*reply, "cancelled"), flag_in(*reply, "more"), integer_in(*reply, "next")};
  });
}

Result<void> PostgresStore::set_queue(const SetQueueRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  json change = json::object();
  if (request.change.limit) change["limit"] = *request.change.limit;
  if (request.change.limit_per_key) change["limit_per_key"] = *request.change.limit_per_key;
  if (request.change.keep_done) change["keep_done"] = request.change.keep_done->count();
  if (request.change.keep_dead) change["keep_dead"] = request.change.keep_dead->count();
  return done(parts_->call_one("set_queue", request.ns,
                               {{"queue", request.queue}, {"change", change}, {"act", act_json(request.act)}},
                               CallKind::change, request.timeout));
}

Result<void> PostgresStore::pause(const PauseRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  const json asked{{"queue", request.queue}, {"paused", request.paused}, {"act", act_json(request.act)}};
  return done(parts_->call_one("pause_queue", request.ns, asked, CallKind::change, request.timeout));
}

Result<TidyReply> PostgresStore::tidy(const TidyRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("tidy", request.ns, {{"limit", request.limit}}, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return TidyReply{integer_in(*reply, "removed"), flag_in(*reply, "more")}; });
}

Result<Fence> PostgresStore::raise_floor(const RaiseFloorRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<json> reply =
      parts_->call_one("raise_floor", request.ns, {{"floor", request.floor}, {"act", act_json(request.act)}},
                       CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] { return reply->get<Fence>(); });
}

Result<BeginEffectReply> PostgresStore::begin_effect(const BeginEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const json asked{{"job", to_string(request.job)},
                   {"fence", request.fence},
                   {"name", request.name},
                   {"digest", to_hex(request.digest)},
                   {"call", request.call},
                   {"actor", request.actor},
                   {"in_doubt", static_cast<int>(request.in_doubt)},
                   {"dead_call", request.dead_call}};
  const Result<json> reply = parts_->call_one("begin_effect", request.ns, asked, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    return BeginEffectReply{static_cast<EffectVerdict>(reply->at("verdict").get<int>()),
                            bytes_in(*reply, "result"),
                            optional_int_in(*reply, "exit_status"),
                            text_in(*reply, "call"),
                            text_in(*reply, "actor"),
                            refusal_in(*reply)};
  });
}

Result<FinishEffectReply> PostgresStore::finish_effect(const FinishEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{{"job", to_string(request.job)},
             {"fence", request.fence},
             {"name", request.name},
             {"call", request.call},
             {"end", static_cast<int>(request.end)},
             {"result", to_hex(request.result)}};
  if (request.exit_status) asked["exit_status"] = *request.exit_status;
  const Result<json> reply = parts_->call_one("finish_effect", request.ns, asked, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(),
                 [&] { return FinishEffectReply{reply->is_null() ? std::nullopt : refusal_in(*reply)}; });
}

Result<void> PostgresStore::resolve_effect(const ResolveEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  const json asked{
      {"job", to_string(request.job)},    {"name", request.name},        {"call", request.call}, {"done", request.done},
      {"result", to_hex(request.result)}, {"act", act_json(request.act)}};
  return done(parts_->call_one("resolve_effect", request.ns, asked, CallKind::change, request.timeout));
}

Result<void> PostgresStore::report_worker(const WorkerReport& report) {
  if (auto ok = check_request(report); !ok) return ok;
  return done(parts_->call_one("report_worker", report.ns, report_json(report), CallKind::change, report.timeout));
}

Result<void> PostgresStore::remove_worker(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  return done(parts_->call_one("remove_worker", ns, {{"owner", owner}}, CallKind::change, kCallTimeout));
}

Result<void> PostgresStore::order_worker(const OrderRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  const json asked{
      {"owner", request.owner}, {"order", static_cast<int>(request.order)}, {"act", act_json(request.act)}};
  return done(parts_->call_one("order_worker", request.ns, asked, CallKind::change, request.timeout));
}

Result<void> PostgresStore::stopped(const StoppedRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return done(parts_->call_one("worker_stopped", request.ns,
                               {{"owner", request.owner}, {"jobs", holdings_json(request.jobs)}}, CallKind::change,
                               request.timeout));
}

Result<void> PostgresStore::remove_namespace(const std::string& ns, const Act& act) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  return done(parts_->call_one("remove_namespace", ns, {{"act", act_json(act)}}, CallKind::change, kCallTimeout));
}

}  // namespace fenceline
