// The functions of sql/86_public.sql on a connection of the application's. Parameters as text: libpq and the server do
// the rest.
#include <libpq-fe.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/json_wire.hpp"
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

// `call` is a function with its parameters, $1 and so on.
Result<Answer> ask(pg_conn* connection, const PostgresPlace& place, const std::string& call,
                   const std::vector<Value>& values) {
  if (!connection) return fail(Code::invalid, "no connection was given");
  if (PQtransactionStatus(connection) == PQTRANS_INERROR)
    return fail(Code::refused, "the transaction has failed before; roll it back");
  if (place.schema.find_first_of("\"") != std::string::npos || place.schema.empty())
    return fail(Code::invalid, "the schema's name is empty or has a quote");
  std::vector<const char*> pointers;
  for (const Value& value : values) {
    if (value && value->find('\0') != std::string::npos)
      return fail(Code::invalid, "a text holds a NUL, which this store cannot keep");
    pointers.push_back(value ? value->c_str() : nullptr);
  }
  // Outside of a transaction the call is its own commit: an answer that is lost leaves a doubt.
  const bool commits = PQtransactionStatus(connection) == PQTRANS_IDLE;
  const std::string sql = "select * from \"" + place.schema + "\"." + call;
  Answer answer(PQexecParams(connection, sql.c_str(), static_cast<int>(pointers.size()), nullptr, pointers.data(),
                             nullptr, nullptr, 0));
  if (commits && (!answer || (error_in(answer.get()) &&
                              postgres::ends_the_connection(postgres::server_error_in(answer.get()).state))))
    return std::unexpected(postgres::without_answer(postgres::CallKind::change, kShown));
  if (!answer) return fail(Code::unavailable, "cannot reach the server: " + one_line(PQerrorMessage(connection)));
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  return answer;
}

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

}  // namespace

Result<JobId> enqueue_in(pg_conn* connection, std::string_view queue, std::string_view payload,
                         const EnqueueOptions& options, const PostgresPlace& place) {
  NewJob job = new_job(queue, options);
  job.payload = payload;
  if (auto ok = check_new_job(job); !ok) return std::unexpected(ok.error());
  const Value at = job.at ? Value{std::to_string(job.at->time_since_epoch().count()) + " microseconds"} : Value{};
  Result<Answer> answer =
      ask(connection, place,
          "enqueue($1, $2::text, key => $3, key_for => $4, run_at => timestamptz 'epoch' + $5::interval, delay => $6, "
          "priority => $7, group_key => $8, limit_key => $9, max_attempts => $10, "
          "timeout => $11, backoff => $12, backoff_most => $13, tags => $14, traceparent => $15, stage => $16, "
          "namespace => $17)",
          {job.queue, job.payload, unless_empty(job.key), as_interval_unless_zero(job.key_for), at,
           as_interval_unless_zero(job.delay), std::to_string(job.priority), unless_empty(job.group),
           unless_empty(job.limit_key), std::to_string(job.attempts_max), as_interval_unless_zero(job.timeout),
           as_interval(job.backoff.first), as_interval(job.backoff.most), text_array(job.tags),
           unless_empty(job.traceparent), job.stage, place.ns});
  if (!answer) return std::unexpected(answer.error());
  const std::optional<Uuid> id = parse_uuid(PQgetvalue(answer->get(), 0, 0));
  if (!id) return fail(Code::broken, "the answer of the server is not understood; run: fenceline doctor");
  return *id;
}

Result<void> settle_in(pg_conn* connection, const JobId& job, Fence fence, const Outcome& outcome,
                       const PostgresPlace& place) {
  Result<Answer> answer =
      ask(connection, place,
          "settle($1, $2, $3, result => $4, error => $5, retry_in => $6, exit_status => $7, namespace => $8)",
          {to_string(job), std::to_string(fence), std::string(to_string(outcome.kind)), as_bytea(outcome.result),
           as_bytea(outcome.error), as_interval(outcome.retry_in),
           outcome.exit_status ? Value{std::to_string(*outcome.exit_status)} : Value{}, place.ns});
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<void> complete_in(pg_conn* connection, const JobId& job, Fence fence, std::string_view result,
                         const PostgresPlace& place) {
  return settle_in(connection, job, fence, {.result = std::string(result)}, place);
}

Result<EffectOnceReply> effect_done_in(pg_conn* connection, const JobId& job, Fence fence, const EffectOnce& effect,
                                       const PostgresPlace& place) {
  Result<Answer> answer =
      ask(connection, place, "record_effect($1, $2, $3, $4, $5, $6)",
          {to_string(job), std::to_string(fence), effect.name, effect.digest, effect.result, place.ns});
  if (!answer) return std::unexpected(answer.error());
  return EffectOnceReply{.done_before = std::strcmp(PQgetvalue(answer->get(), 0, 0), "t") == 0,
                         .result = PQgetvalue(answer->get(), 0, 1)};
}

Result<void> answer_of(pg_result* result) {
  const Answer answer(result);
  if (!answer) return fail(Code::unavailable, "the server was not asked: the connection broke, or there is no memory");
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  return {};
}

Result<void> commit_in(pg_conn* connection) {
  if (!connection) return fail(Code::invalid, "no connection was given");
  const Answer answer(PQexec(connection, "COMMIT"));
  // Without an answer nobody knows; the server's own goodbye may come after the commit.
  if (!answer ||
      (error_in(answer.get()) && postgres::ends_the_connection(postgres::server_error_in(answer.get()).state)))
    return std::unexpected(postgres::without_answer(postgres::CallKind::change, kShown));
  if (auto error = error_in(answer.get())) return std::unexpected(std::move(*error));
  if (std::strcmp(PQcmdStatus(answer.get()), "COMMIT") != 0)
    return fail(Code::refused, "the transaction had failed before: the server rolled it back");
  return {};
}

}  // namespace fenceline
