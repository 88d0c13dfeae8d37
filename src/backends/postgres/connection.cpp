#include "backends/postgres/connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>

#include "base/sha256.hpp"
#include "runtime/poll_until.hpp"

namespace fenceline::postgres {
namespace {

constexpr int kBinary = 1;

// libpq has no other way to tell the SQLSTATE of a connection that was not made: "... FATAL:  28P01: password
// ...\nLOCATION: ...".
ServerError connect_error(std::string_view words) {
  ServerError error{"08001", std::string(words.substr(0, words.find("\nLOCATION"))), ""};
  if (error.message.find("no password supplied") != std::string::npos)
    return {"28P01", "it requires a password and none was given", ""};
  const std::size_t at = error.message.find("FATAL:  ");
  // Not believed for now is no reason to try again: whoever is there is not the one that was meant.
  if (at == std::string::npos && error.message.find("certificate") != std::string::npos) error.state = kNotBelieved;
  if (at == std::string::npos || error.message.size() < at + 15 || error.message[at + 13] != ':') return error;
  error.state = error.message.substr(at + 8, 5);
  error.message = error.message.substr(at + 15);
  error.message.resize(std::min(error.message.size(), error.message.find("\nDETAIL")));
  return error;
}

ServerError said_by(const PGresult* result) {
  ServerError error = server_error_in(result);
  if (error.message.empty()) error.message = "the connection broke";
  return error;
}

// Of several, who.
std::string no_answer_of(const DsnOptions& server) {
  std::string who;
  for (const auto& [name, value] : server) who += (who.empty() ? " from " : " ") + name + " " + value;
  return "no answer" + who + " in time";
}

// A commit that is on no standby's disk yet, and that the server acknowledges all the same as somebody cancelled its
// wait for one. The place in the server's source tells it in every language.
bool says_unconfirmed(const PGresult* notice) {
  const char* place = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  return place != nullptr && std::string_view(place) == "SyncRepWaitForLSN";
}

}  // namespace

Statement::Statement(std::string text) : sql(std::move(text)), name("fenceline_" + sha256_hex(sql).substr(0, 32)) {}

Result<std::unique_ptr<Connection>> Connection::connect(const Clock& clock, const Dsn& dsn, Instant deadline,
                                                        const std::stop_token& stop) {
  const auto failed = [&](const ServerError& error) {
    return std::unexpected(stop.stop_requested()
                               ? Error{Code::held, "interrupted before " + dsn.shown + " replied; nothing was changed"}
                               : error_of(error, dsn.shown));
  };
  if (dsn.servers.empty()) {
    auto made = connect_to(clock, dsn, {}, deadline, stop);
    if (!made) return failed(made.error());
    return std::move(*made);
  }
  std::string said;
  const std::size_t first = *dsn.reached;
  for (std::size_t tried = 0; tried < dsn.servers.size(); ++tried) {
    const std::size_t next = (first + tried) % dsn.servers.size();
    // What is left is shared by those that are left.
    const Instant now = clock.now();
    const Instant share =
        now + std::max(deadline - now, Duration{0}) / static_cast<std::int64_t>(dsn.servers.size() - tried);
    auto made = connect_to(clock, dsn, dsn.servers[next], share, stop);
    if (made) {
      *dsn.reached = next;
      return std::move(*made);
    }
    // It is there and knows us not: another will not either.
    if (stop.stop_requested() || error_of(made.error(), dsn.shown).code != Code::unavailable)
      return failed(made.error());
    said += (said.empty() ? "" : ", and ") + one_line(made.error().message);
  }
  return failed({"08001", said, ""});
}

std::expected<std::unique_ptr<Connection>, ServerError> Connection::connect_to(const Clock& clock, const Dsn& dsn,
                                                                               const DsnOptions& server,
                                                                               Instant deadline,
                                                                               const std::stop_token& stop) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const DsnOptions* options : {&dsn.options, &server}) {
    for (const auto& [name, value] : *options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
  }
  for (const auto& [name, value] :
       {std::pair{"fallback_application_name", "fenceline"}, std::pair{"client_encoding", "UTF8"}}) {
    names.push_back(name);
    values.push_back(value);
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<Connection> made(new Connection(clock, PQconnectStartParams(names.data(), values.data(), 0)));
  pg_conn* connection = made->connection_;
  const auto failed = [&] { return std::unexpected(connect_error(PQerrorMessage(connection))); };
  if (!connection || PQstatus(connection) == CONNECTION_BAD) return failed();
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  const auto heard = [](void* self, const PGresult* notice) {
    static_cast<Connection*>(self)->unconfirmed_ |= says_unconfirmed(notice);
  };
  PQsetNoticeReceiver(connection, heard, made.get());
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
       next = PQconnectPoll(connection)) {
    if (next == PGRES_POLLING_FAILED) return failed();
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!poll_until(clock, PQsocket(connection), events, deadline, stop))
      return std::unexpected(ServerError{"08001", no_answer_of(server), ""});
  }
  if (PQsetnonblocking(connection, 1) != 0) return failed();
  return made;
}

Connection::~Connection() { PQfinish(connection_); }

int Connection::socket() const { return PQsocket(connection_); }
int Connection::server_process() const { return PQbackendPID(connection_); }

bool Connection::wait(short events, Instant deadline) const {
  return poll_until(clock_, PQsocket(connection_), events, deadline);
}

bool Connection::is_quiet() const {
  pollfd waited{PQsocket(connection_), POLLIN, 0};
  return PQstatus(connection_) == CONNECTION_OK && ::poll(&waited, 1, 0) == 0;
}

bool Connection::take_notices(const std::function<void(const std::string& payload)>& take) {
  const bool alive = PQconsumeInput(connection_) == 1;
  while (PGnotify* notice = PQnotifies(connection_)) {
    take(notice->extra);
    PQfreemem(notice);
  }
  return alive && PQstatus(connection_) == CONNECTION_OK;
}

bool Connection::send(const Step& step, bool named) {
  const std::size_t count = step.params.size();
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(count, kBinary);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::string>& value = step.params.value(i);
    types.push_back(static_cast<Oid>(step.params.types()[i]));
    values.push_back(value ? value->data() : nullptr);
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  const int size = static_cast<int>(count);
  const Statement& statement = step.statement;
  if (!named)
    return PQsendQueryParams(connection_, statement.sql.c_str(), size, types.data(), values.data(), lengths.data(),
                             formats.data(), kBinary) == 1;
  if (!prepared_.contains(statement.name) &&
      std::find(being_prepared_.begin(), being_prepared_.end(), statement.name) == being_prepared_.end()) {
    if (PQsendPrepare(connection_, statement.name.c_str(), statement.sql.c_str(), size, types.data()) != 1)
      return false;
    being_prepared_.push_back(statement.name);
  }
  return PQsendQueryPrepared(connection_, statement.name.c_str(), size, values.data(), lengths.data(), formats.data(),
                             kBinary) == 1;
}

bool Connection::flush(Instant deadline) {
  for (;;) {
    const int left = PQflush(connection_);
    if (left <= 0) return left == 0;
    if (!wait(POLLIN | POLLOUT, deadline)) return false;
    if (PQconsumeInput(connection_) != 1) return false;
  }
}

Reply Connection::read(Instant deadline) {
  Reply reply;
  reply.fate = Reply::Fate::answered;
  std::size_t prepared = 0;
  for (int ends_in_a_row = 0; ends_in_a_row < 2;) {
    while (PQisBusy(connection_) == 1) {
      if (!wait(POLLIN, deadline) || PQconsumeInput(connection_) != 1) {
        reply.fate = Reply::Fate::no_answer;
        return reply;
      }
    }
    PGresult* result = PQgetResult(connection_);
    if (!result) {
      ++ends_in_a_row;
      continue;
    }
    ends_in_a_row = 0;
    Rows rows(result);
    switch (PQresultStatus(result)) {
      case PGRES_PIPELINE_SYNC: return reply;
      case PGRES_PIPELINE_ABORTED: break;
      case PGRES_COMMAND_OK:
        if (prepared < being_prepared_.size()) prepared_.insert(being_prepared_[prepared++]);
        break;
      case PGRES_TUPLES_OK: reply.rows = std::move(rows); break;
      default:
        if (reply.fate == Reply::Fate::answered) reply.error = said_by(result);
        reply.fate = Reply::Fate::refused;
    }
  }
  // No Sync came back: the connection is over, whatever was said before.
  if (reply.fate == Reply::Fate::answered || reply.error.state.empty()) reply.fate = Reply::Fate::no_answer;
  return reply;
}

Reply Connection::call(const std::vector<Step>& steps, bool named, Instant deadline) {
  Reply reply;
  unconfirmed_ = false;
  being_prepared_.clear();
  if (PQenterPipelineMode(connection_) != 1) return reply;
  for (const Step& step : steps) {
    if (!send(step, named)) return reply;
  }
  // Nothing of this can be committed before the Sync is out.
  if (PQpipelineSync(connection_) != 1) return reply;
  if (!flush(deadline)) {
    reply.fate = PQstatus(connection_) == CONNECTION_OK && PQflush(connection_) == 1 ? Reply::Fate::not_sent
                                                                                     : Reply::Fate::no_answer;
    return reply;
  }
  reply = read(deadline);
  if (unconfirmed_ && reply.fate == Reply::Fate::answered) reply.fate = Reply::Fate::no_answer;
  return reply;
}

Reply Connection::script(const std::string& sql, Instant deadline) {
  Reply reply;
  if (PQexitPipelineMode(connection_) != 1 || PQsendQuery(connection_, sql.c_str()) != 1) return reply;
  reply.fate = Reply::Fate::no_answer;
  if (!flush(deadline)) return reply;
  reply.fate = Reply::Fate::answered;
  for (;;) {
    while (PQisBusy(connection_) == 1) {
      if (!wait(POLLIN, deadline) || PQconsumeInput(connection_) != 1) {
        reply.fate = Reply::Fate::no_answer;
        return reply;
      }
    }
    PGresult* result = PQgetResult(connection_);
    if (!result) return reply;
    const Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY &&
        reply.fate == Reply::Fate::answered) {
      reply.error = said_by(result);
      reply.fate = reply.error.state.empty() ? Reply::Fate::no_answer : Reply::Fate::refused;
    }
  }
}

}  // namespace fenceline::postgres
