// A transaction of the application's on a connection of its own, and the functions of sql/80_guard.sql and
// sql/86_public.sql in it. Parameters as text: libpq and the server do
// the rest.
#include <libpq-fe.h>

#include <array>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/json_wire.hpp"
#include "backends/postgres/transaction_words.hpp"
#include "fenceline/postgres.hpp"
#include "model/job.hpp"
#include "store/enqueue_options.hpp"

namespace fenceline {
namespace {

struct Clear {
  void operator()(pg_result* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<pg_result, Clear>;
using Value = std::optional<std::string>;

constexpr std::string_view kShown = "the connection";

std::unexpected<Error> ended_by_a_statement() {
  return fail(Code::in_doubt,
              "the transaction was ended by a statement, not by commit(): it may have been committed; look before you "
              "repeat it");
}

std::string as_interval(Duration duration) { return std::to_string(duration.count()) + " microseconds"; }
Value as_interval_unless_zero(Duration duration) {
  return duration == Duration{0} ? Value{} : Value{as_interval(duration)};
}
Value unless_empty(std::string_view text) { return text.empty() ? Value{} : Value{std::string(text)}; }
Value as_bytea(std::string_view bytes) { return bytes.empty() ? Value{} : Value{"\\x" + postgres::to_hex(bytes)}; }

std::optional<Error> error_in(const pg_result* result) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) return std::nullopt;
  postgres::ServerError error = postgres::server_error_in(result);
  if (error.message.empty()) error.message = PQresultErrorMessage(result);
  return postgres::error_of(error, kShown);
}

Result<Answer> query(pg_conn* connection, const std::string& sql, const std::vector<Value>& values) {
  if (!connection) return fail(Code::refused, "the transaction is over");
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_INERROR: return fail(Code::refused, "the transaction has already failed; roll it back");
    case PQTRANS_IDLE: return fail(Code::refused, "the transaction was ended by a statement; begin another one");
    default: break;
  }
  std::vector<const char*> pointers;
  for (const Value& value : values) {
    if (value && value->find('\0') != std::string::npos)
      return fail(Code::invalid, "a text contains a NUL byte, which this store cannot keep");
    pointers.push_back(value ? value->c_str() : nullptr);
  }
  Answer answer(PQexecParams(connection, sql.c_str(), static_cast<int>(pointers.size()), nullptr, pointers.data(),
                             nullptr, nullptr, 0));
  if (!answer) return fail(Code::unavailable, "cannot reach the server: " + one_line(PQerrorMessage(connection)));
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  return answer;
}

// `call` is a function with its parameters, $1 and so on.
Result<Answer> ask(pg_conn* connection, const PostgresPlace& place, const std::string& call,
                   const std::vector<Value>& values) {
  if (place.schema.find_first_of("\"") != std::string::npos || place.schema.empty())
    return fail(Code::invalid, "the schema's name is empty or has a quote");
  return query(connection, "select * from \"" + place.schema + "\"." + call, values);
}

Result<void> without_rows(const Result<Answer>& answer) {
  if (!answer) return std::unexpected(answer.error());
  return {};
}

struct AsText {
  Value operator()(std::nullptr_t) const { return {}; }
  Value operator()(std::int64_t number) const { return std::to_string(number); }
  Value operator()(double number) const {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return std::string(digits.begin(), end);
  }
  Value operator()(const std::string& text) const { return text; }
};

// An array of texts as the server reads it.
std::string text_array(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

Result<void> commit_on(pg_conn* connection) {
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return ended_by_a_statement();
  const Answer answer(PQexec(connection, "COMMIT"));
  // Without an answer nobody knows; the server's own goodbye may come after the commit.
  if (!answer ||
      (error_in(answer.get()) && postgres::ends_the_connection(postgres::server_error_in(answer.get()).state)))
    return std::unexpected(postgres::without_answer(postgres::CallKind::change, kShown));
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  if (std::strcmp(PQcmdStatus(answer.get()), "COMMIT") != 0)
    return fail(Code::refused, "the transaction had already failed, so the server rolled it back");
  return {};
}

}  // namespace

Result<PostgresTransaction> PostgresTransaction::begin(pg_conn* connection, PostgresPlace place) {
  if (!connection) return fail(Code::invalid, "no connection was given");
  if (PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) != PQTRANS_IDLE)
    return fail(Code::refused, "this connection already has an open transaction; commit it, or adopt it");
  const Answer answer(PQexec(connection, "BEGIN"));
  if (!answer || PQresultStatus(answer.get()) != PGRES_COMMAND_OK)
    return fail(Code::unavailable, "cannot begin: " + one_line(PQerrorMessage(connection)));
  return PostgresTransaction(connection, std::move(place));
}

Result<PostgresTransaction> PostgresTransaction::adopt(pg_conn* connection, PostgresPlace place) {
  if (!connection) return fail(Code::invalid, "no connection was given");
  if (PQtransactionStatus(connection) != PQTRANS_INTRANS)
    return fail(Code::refused, "no transaction is open on this connection; begin one");
  return PostgresTransaction(connection, std::move(place));
}

PostgresTransaction::PostgresTransaction(PostgresTransaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      place_(std::move(other.place_)),
      ended_(std::move(other.ended_)) {}

PostgresTransaction& PostgresTransaction::operator=(PostgresTransaction&& other) noexcept {
  if (this != &other) {
    rollback();
    connection_ = std::exchange(other.connection_, nullptr);
    place_ = std::move(other.place_);
    ended_ = std::move(other.ended_);
  }
  return *this;
}

PostgresTransaction::~PostgresTransaction() { rollback(); }

pg_conn* PostgresTransaction::release() {
  if (connection_)
    ended_ = fail(Code::in_doubt, "the transaction was released: it may have been committed by whoever has it now");
  return std::exchange(connection_, nullptr);
}

void PostgresTransaction::rollback() {
  pg_conn* const connection = std::exchange(connection_, nullptr);
  if (connection && PQtransactionStatus(connection) != PQTRANS_IDLE)
    const Answer answer(PQexec(connection, "ROLLBACK"));
}

Result<void> PostgresTransaction::commit() {
  pg_conn* const connection = std::exchange(connection_, nullptr);
  if (!connection) return fail(Code::refused, "the transaction is over");
  ended_ = commit_on(connection);
  return *ended_;
}

Result<void> PostgresTransaction::end_after(const Result<void>& body) {
  if (connection_ && PQtransactionStatus(connection_) == PQTRANS_IDLE) return ended_by_a_statement();
  if (connection_) return body ? commit() : body;
  if (!ended_) return body ? fail(Code::refused, "the body rolled its transaction back") : body;
  if (!*ended_) return body || ended_->error().code == Code::in_doubt ? *ended_ : body;
  if (body) return {};
  return fail(Code::in_doubt, "the body committed its transaction before it failed: " + body.error().message);
}

Result<std::int64_t> PostgresTransaction::execute(std::string_view sql, std::initializer_list<SqlValue> values) {
  if (postgres::ends_transaction(sql))
    return fail(Code::refused, "a transaction is ended by commit() or rollback(), not by SQL; nothing was done");
  std::vector<Value> texts;
  for (const SqlValue& value : values) texts.push_back(std::visit(AsText{}, value));
  const Result<Answer> answer = query(connection_, std::string(sql), texts);
  if (!answer) return std::unexpected(answer.error());
  std::int64_t rows = 0;
  const std::string_view said = PQcmdTuples(answer->get());
  std::from_chars(said.data(), said.data() + said.size(), rows);
  return rows;
}

Result<void> PostgresTransaction::guard(const JobId& job, Fence fence) { return guard_lock(to_string(job), fence); }

Result<void> PostgresTransaction::guard_lock(std::string_view resource, Fence fence) {
  return without_rows(
      ask(connection_, place_, "guard($1::text, $2, $3)", {std::string(resource), std::to_string(fence), place_.ns}));
}

Result<void> PostgresTransaction::act_as(std::string_view resource, Fence fence) {
  return without_rows(
      ask(connection_, place_, "act_as($1::text, $2, $3)", {std::string(resource), std::to_string(fence), place_.ns}));
}

Result<EffectOnceReply> PostgresTransaction::effect_done(const JobId& job, Fence fence, const EffectOnce& effect) {
  Result<Answer> answer =
      ask(connection_, place_, "record_effect($1, $2, $3, $4, $5, $6)",
          {to_string(job), std::to_string(fence), effect.name, effect.digest, effect.result, place_.ns});
  if (!answer) return std::unexpected(answer.error());
  return EffectOnceReply{.done_before = std::strcmp(PQgetvalue(answer->get(), 0, 0), "t") == 0,
                         .result = PQgetvalue(answer->get(), 0, 1)};
}

Result<void> PostgresTransaction::settle(const JobId& job, Fence fence, const Outcome& outcome) {
  return without_rows(
      ask(connection_, place_,
          "settle($1, $2, $3, result => $4, error => $5, retry_in => $6, exit_status => $7, namespace => $8)",
          {to_string(job), std::to_string(fence), std::string(to_string(outcome.kind)), as_bytea(outcome.result),
           as_bytea(outcome.error), as_interval(outcome.retry_in),
           outcome.exit_status ? Value{std::to_string(*outcome.exit_status)} : Value{}, place_.ns}));
}

Result<JobId> PostgresTransaction::enqueue(std::string_view queue, std::string_view payload,
                                           const EnqueueOptions& options) {
  Result<std::vector<JobId>> ids = enqueue_many(queue, {std::string(payload)}, options);
  if (!ids) return std::unexpected(ids.error());
  return ids->front();
}

Result<std::vector<JobId>> PostgresTransaction::enqueue_many(std::string_view queue,
                                                             const std::vector<std::string>& payloads,
                                                             const EnqueueOptions& options) {
  NewJob job = new_job(queue, options);
  // All of them before the first is noted: an error that the server does not know of leaves the transaction open.
  for (const std::string& payload : payloads) {
    job.payload = payload;
    if (auto ok = check_new_job(job); !ok) return std::unexpected(ok.error());
  }
  const Value at = job.at ? Value{std::to_string(job.at->time_since_epoch().count()) + " microseconds"} : Value{};
  std::vector<JobId> ids;
  for (const std::string& payload : payloads) {
    const Result<Answer> answer = ask(
        connection_, place_,
        "enqueue($1, $2::text, key => $3, key_for => $4, run_at => timestamptz 'epoch' + $5::interval, delay => $6, "
        "priority => $7, group_key => $8, limit_key => $9, max_attempts => $10, "
        "timeout => $11, backoff => $12, backoff_most => $13, tags => $14, traceparent => $15, stage => $16, "
        "namespace => $17)",
        {job.queue, payload, unless_empty(job.key), as_interval_unless_zero(job.key_for), at,
         as_interval_unless_zero(job.delay), std::to_string(job.priority), unless_empty(job.group),
         unless_empty(job.limit_key), std::to_string(job.attempts_max), as_interval_unless_zero(job.timeout),
         as_interval(job.backoff.first), as_interval(job.backoff.most), text_array(job.tags),
         unless_empty(job.traceparent), job.stage, place_.ns});
    if (!answer) return std::unexpected(answer.error());
    const std::optional<Uuid> id = parse_uuid(PQgetvalue(answer->get(), 0, 0));
    if (!id) return fail(Code::broken, "the server's reply cannot be understood; run: fenceline doctor");
    ids.push_back(*id);
  }
  return ids;
}

Result<void> guarded(pg_conn* connection, const Job& job, const std::function<Result<void>(PostgresTransaction&)>& body,
                     const PostgresPlace& place) {
  return guarded(connection, to_string(job.id), job.fence, body, place);
}

Result<void> guarded(pg_conn* connection, std::string_view lock, Fence fence,
                     const std::function<Result<void>(PostgresTransaction&)>& body, const PostgresPlace& place) {
  Result<PostgresTransaction> transaction = PostgresTransaction::begin(connection, place);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto ok = transaction->guard_lock(lock, fence); !ok) return ok;
  return transaction->end_after(body(*transaction));
}

Result<void> answer_of(pg_result* result) {
  const Answer answer(result);
  if (!answer) return fail(Code::unavailable, "the request was not sent: the connection broke, or memory ran out");
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  return {};
}

}  // namespace fenceline
