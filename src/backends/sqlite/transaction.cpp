// The application's transaction: its own statements, and calls of the store that run among them, each in a savepoint.
#include <sqlite3.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "backends/sqlite/connection_parts.hpp"
#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "fenceline/sqlite.hpp"
#include "store/enqueue_options.hpp"

namespace fenceline {
namespace {

// A call of the store inside the transaction; one that is refused is undone alone.
template <class Reply>
Result<Reply> call_store(SqliteConnectionParts& parts, const std::function<Result<Reply>(sqlite::Call&)>& verb) {
  const sqlite::ApplicationRules::Ours ours(parts.rules);
  // The application may have rolled back to a savepoint of its own, and with it what was known here.
  parts.names.forget();
  try {
    parts.db->execute("SAVEPOINT fenceline_call");
    // Made where it stays: g++ 12 takes the end of a moved-from answer for a bug.
    std::unique_ptr<Result<Reply>> reply;
    sqlite::Call call(*parts.db, parts.names, parts.clock, parts.entered);
    try {
      reply = std::make_unique<Result<Reply>>(verb(call));
      if (sqlite::kept(call, *reply)) {
        for (const std::int64_t queue_id : call.awakened) parts.awakened.insert(parts.names.queue_name(queue_id));
        for (const std::string& ns : call.ordered) parts.awakened.insert(sqlite::orders_of(ns));
        parts.awakened.insert(call.freed.begin(), call.freed.end());
      }
    } catch (const sqlite::SqliteFailure& failure) {
      if (!parts.db->in_transaction()) throw;
      reply = std::make_unique<Result<Reply>>(std::unexpected(failure.error(parts.path)));
    }
    if (!*reply) parts.db->execute("ROLLBACK TO fenceline_call");
    parts.db->execute("RELEASE fenceline_call");
    return std::move(*reply);
  } catch (const sqlite::SqliteFailure& failure) {
    return std::unexpected(failure.error(parts.path));
  }
}

Error no_job(const JobId& job) { return {Code::not_found, "there is no job " + to_string(job)}; }

Error lost(const JobId& job, Fence sent, Fence newest) {
  return {Code::lost, "job " + to_string(job) + " is under fence " + std::to_string(newest) + "; fence " +
                          std::to_string(sent) + (sent < newest ? " is stale" : " was never granted")};
}

// Outcomes that leave an item where it is; whoever claims it next applies the pipeline's rules.
bool decides_nothing(OutcomeKind kind) { return kind == OutcomeKind::later || kind == OutcomeKind::given_back; }

Error past_the_pipeline(const Job& job, OutcomeKind kind) {
  return {Code::refused, "job " + to_string(job.id) + " is an item of pipeline " + job.queue + ", and a settle as " +
                             std::string(to_string(kind)) +
                             " in a transaction would skip the pipeline's stages; record the work with effect_done, "
                             "commit, and return the outcome from the handler"};
}

bool may_have_happened(Code code) { return code == Code::in_doubt || code == Code::broken; }

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

int bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, at, *integer);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, at, *real);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  return sqlite3_bind_null(statement, at);
}

// What became of a statement of the application.
Error error_of(const SqliteConnectionParts& parts) {
  const sqlite::SqliteFailure failure{sqlite3_extended_errcode(parts.db->handle()), sqlite3_errmsg(parts.db->handle())};
  const std::string& why = parts.rules.refusal();
  switch (failure.code & 0xff) {
    case SQLITE_AUTH: return {Code::refused, why.empty() ? failure.message : why};
    case SQLITE_CONSTRAINT:
      if (failure.code == SQLITE_CONSTRAINT_COMMITHOOK) return {Code::refused, why};
      return {failure.code == SQLITE_CONSTRAINT_TRIGGER && !why.empty() ? Code::lost : Code::conflict, failure.message};
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG: return {Code::invalid, failure.message};
    default: return failure.error(parts.path);
  }
}

}  // namespace

SqliteTransaction& SqliteTransaction::operator=(SqliteTransaction&& other) noexcept {
  if (this != &other) {
    rollback();
    parts_ = std::move(other.parts_);
    ended_ = std::move(other.ended_);
  }
  return *this;
}

SqliteTransaction::~SqliteTransaction() { rollback(); }

sqlite3* SqliteTransaction::handle() const { return parts_ ? parts_->db->handle() : nullptr; }

Result<void> SqliteTransaction::check_open() const {
  if (!parts_) return fail(Code::refused, "the transaction is over");
  if (::getpid() != parts_->pid)
    return fail(Code::refused, "the transaction was opened before a fork and belongs to the parent process");
  if (!parts_->db->in_transaction())
    return fail(Code::refused, "the transaction was rolled back by SQLite; begin another one");
  return {};
}

void SqliteTransaction::rollback() {
  if (parts_ && ::getpid() == parts_->pid) parts_->rollback();
  parts_.reset();
}

Result<void> SqliteTransaction::commit() {
  if (auto ok = check_open(); !ok) {
    rollback();
    return ok;
  }
  const std::shared_ptr<SqliteConnectionParts> parts = std::move(parts_);
  ended_ = parts->commit();
  return *ended_;
}

Result<void> SqliteTransaction::end_after(const Result<void>& body) {
  if (parts_) return body ? commit() : body;
  if (!ended_) return body ? fail(Code::refused, "the body rolled its transaction back") : body;
  if (!*ended_) return body || may_have_happened(ended_->error().code) ? *ended_ : body;
  if (body) return {};
  return fail(Code::in_doubt, "the body committed its transaction before it failed: " + body.error().message);
}

Result<std::int64_t> SqliteTransaction::execute(std::string_view sql, std::initializer_list<SqlValue> values) {
  if (auto ok = check_open(); !ok) return std::unexpected(ok.error());
  parts_->rules.forget_refusal();
  sqlite3* const db = parts_->db->handle();
  sqlite3_stmt* compiled = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &compiled, &rest) != SQLITE_OK)
    return std::unexpected(error_of(*parts_));
  const Statement statement(compiled);
  if (!statement) return fail(Code::invalid, "there is no statement");
  if (std::string_view(rest, sql.data() + sql.size()).find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return fail(Code::invalid, "one statement at a time");
  if (sqlite3_bind_parameter_count(compiled) != static_cast<int>(values.size()))
    return fail(Code::invalid, "the statement has " + std::to_string(sqlite3_bind_parameter_count(compiled)) +
                                   " parameters, not " + std::to_string(values.size()));
  int at = 0;
  for (const SqlValue& value : values) {
    if (bind(compiled, ++at, value) != SQLITE_OK) return std::unexpected(error_of(*parts_));
  }
  const std::int64_t before = sqlite3_total_changes64(db);
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(compiled);
  if (code != SQLITE_DONE) return std::unexpected(error_of(*parts_));
  const bool writes = sqlite3_total_changes64(db) != before;
  return writes ? sqlite3_changes64(db) : 0;
}

Result<void> SqliteTransaction::guard(const JobId& job, Fence fence) {
  if (auto ok = check_open(); !ok) return ok;
  if (fence < 1 || fence > kFenceMax) return fail(Code::invalid, std::to_string(fence) + " is not a job's fence");
  return call_store<void>(*parts_, [&](sqlite::Call& call) -> Result<void> {
    const auto ns_id = call.names.find_namespace(parts_->ns);
    const auto seq = ns_id ? sqlite::find_seq(call, *ns_id, job) : std::nullopt;
    if (!seq) return std::unexpected(no_job(job));
    const Fence newest = sqlite::find_delivery(call, *seq).fence;
    if (newest != fence) return std::unexpected(lost(job, fence, newest));
    return {};
  });
}

Result<void> SqliteTransaction::guard_lock(std::string_view resource, Fence fence) {
  if (auto ok = check_open(); !ok) return ok;
  if (auto ok = check_lock_resource(resource); !ok) return ok;
  return call_store<void>(*parts_,
                          [&](sqlite::Call&) { return parts_->gate.guard_lock(std::string(resource), fence); });
}

Result<void> SqliteTransaction::act_as(std::string_view resource, Fence fence) {
  if (auto ok = check_open(); !ok) return ok;
  return call_store<void>(*parts_, [&](sqlite::Call&) { return parts_->gate.act_as(std::string(resource), fence); });
}

Result<EffectOnceReply> SqliteTransaction::effect_done(const JobId& job, Fence fence, const EffectOnce& wanted) {
  if (auto ok = check_open(); !ok) return std::unexpected(ok.error());
  if (auto ok = check_effect_name(wanted.name); !ok) return std::unexpected(ok.error());
  if (wanted.digest.empty() || wanted.digest.size() > kEffectDigestBytesMax)
    return fail(Code::invalid, "digest must have 1 to 128 bytes");
  if (wanted.result.size() > kEffectResultBytesMax)
    return fail(Code::invalid, "the result of an effect has at most 1 MiB");
  if (auto ok = guard(job, fence); !ok) return std::unexpected(ok.error());
  return call_store<EffectOnceReply>(*parts_, [&](sqlite::Call& call) -> Result<EffectOnceReply> {
    const std::int64_t ns_id = call.names.find_namespace(parts_->ns).value();
    const std::int64_t seq = sqlite::find_seq(call, ns_id, job).value();
    const std::string of_job = "effect " + wanted.name + " of job " + to_string(job);
    std::optional<sqlite::EffectRow> row = sqlite::find_effect(call, seq, wanted.name);
    if (row && row->effect.state != EffectState::none && row->effect.digest != wanted.digest)
      return fail(Code::conflict, of_job + " was begun for another command or request; give this one another name");
    if (row && row->effect.state == EffectState::done)
      return EffectOnceReply{.done_before = true, .result = std::move(row->effect.result)};
    if (row && row->effect.state == EffectState::intent)
      return fail(Code::conflict, of_job + " was begun outside a transaction and may have happened");
    if (!row) {
      if (sqlite::count_effects(call, seq) >= kEffectsOfAJobMost)
        return fail(Code::refused,
                    "job " + to_string(job) + " has " + std::to_string(kEffectsOfAJobMost) + " effects already");
      row = sqlite::EffectRow{.number = 0, .seq = seq, .effect = {}};
    }
    // Begun and ended in one step: an intent that could be in doubt is never seen by anybody.
    row->effect = Effect{.job = job,
                         .name = wanted.name,
                         .state = EffectState::done,
                         .digest = wanted.digest,
                         .fence = fence,
                         .began_at = call.wall,
                         .ended_at = call.wall,
                         .result = wanted.result};
    sqlite::write_effect(call, ns_id, *row);
    if (row->number == 0) {  // a new row has no result yet
      row->number = call.db.last_insert_rowid();
      sqlite::write_effect(call, ns_id, *row);
    }
    return EffectOnceReply{};
  });
}

Result<void> SqliteTransaction::settle(const JobId& job, Fence fence, const Outcome& outcome) {
  if (auto ok = check_open(); !ok) return ok;
  return call_store<void>(*parts_, [&](sqlite::Call& call) -> Result<void> {
    Result<std::optional<Job>> there = sqlite::find_job(call, parts_->ns, job);
    if (!there) return std::unexpected(there.error());
    if (!*there) return std::unexpected(no_job(job));
    const bool runs = (*there)->state == JobState::running && (*there)->fence == fence;
    if (runs && !decides_nothing(outcome.kind) && sqlite::has_pipeline(call, parts_->ns, (*there)->queue))
      return std::unexpected(past_the_pipeline(**there, outcome.kind));
    // A fence has one owner, so the fence alone will do.
    const SettleRequest request{
        .ns = parts_->ns, .owner = (*there)->owner, .settlements = {{.id = job, .fence = fence, .outcome = outcome}}};
    if (auto ok = check_request(request); !ok) return ok;
    const Result<SettleReply> reply = sqlite::settle(call, request);
    if (!reply) return std::unexpected(reply.error());
    if (reply->refused.empty()) return {};
    const Refusal& refusal = reply->refused.front();
    if (refusal.reason == Reason::superseded) return std::unexpected(lost(job, fence, refusal.current));
    return fail(Code::lost, "job " + to_string(job) + " has another outcome already: it is " +
                                std::string(to_string((*there)->state)));
  });
}

Result<JobId> SqliteTransaction::enqueue(std::string_view queue, std::string_view payload,
                                         const EnqueueOptions& options) {
  Result<std::vector<JobId>> ids = enqueue_many(queue, {std::string(payload)}, options);
  if (!ids) return std::unexpected(ids.error());
  return ids->front();
}

Result<std::vector<JobId>> SqliteTransaction::enqueue_many(std::string_view queue,
                                                           const std::vector<std::string>& payloads,
                                                           const EnqueueOptions& options) {
  if (auto ok = check_open(); !ok) return std::unexpected(ok.error());
  EnqueueRequest request{.ns = parts_->ns, .jobs = {}};
  NewJob job = new_job(queue, options);
  for (const std::string& payload : payloads) {
    const WallTime now = parts_->runtime.wall_now();
    const std::uint64_t high = parts_->runtime.random();
    job.id = parts_->ids.next(now, high, parts_->runtime.random());
    job.payload = payload;
    request.jobs.push_back(job);
  }
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return call_store<std::vector<JobId>>(*parts_, [&](sqlite::Call& call) -> Result<std::vector<JobId>> {
    Result<EnqueueReply> reply = sqlite::enqueue(call, request);
    if (!reply) return std::unexpected(reply.error());
    return std::move(reply->ids);
  });
}

}  // namespace fenceline
