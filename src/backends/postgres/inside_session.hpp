// For the tests of this folder: an application's own session on the server, as a program with libpq would have it.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/postgres/dsn.hpp"
#include "backends/postgres/errors.hpp"
#include "support/results.hpp"

namespace fenceline::test {

class Session {
 public:
  using Value = std::optional<std::string>;
  struct Answer {
    std::string state;  // SQLSTATE; empty: done
    std::string message;
    std::string detail;
    std::vector<std::vector<Value>> rows;

    bool ok() const { return state.empty(); }
    std::string text(std::size_t row = 0, std::size_t column = 0) const { return rows.at(row).at(column).value_or(""); }
    std::int64_t number(std::size_t row = 0, std::size_t column = 0) const { return std::stoll(text(row, column)); }
    Error error() const { return postgres::error_of({.state = state, .message = message}, "the server"); }
  };

  // By a store's URL; the schema of its ?schema= is where unqualified names are looked for.
  explicit Session(const std::string& url) {
    const postgres::Dsn dsn = must(postgres::parse_dsn(url));
    std::vector<const char*> names, values;
    for (const auto& [name, value] : dsn.options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(PQconnectdbParams(names.data(), values.data(), 0));
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
    PQsetNoticeReceiver(
        connection_.get(), [](void*, const pg_result*) {}, nullptr);
    schema_ = dsn.schema;
    if (!dsn.pooled) must_ask("set search_path = " + schema_ + ", public");
  }

  pg_conn* handle() const { return connection_.get(); }
  const std::string& schema() const { return schema_; }

  Answer ask(const std::string& sql, const std::vector<Value>& values = {}) {
    std::vector<const char*> pointers;
    for (const Value& value : values) pointers.push_back(value ? value->c_str() : nullptr);
    pg_result* result = values.empty() ? PQexec(handle(), sql.c_str())
                                       : PQexecParams(handle(), sql.c_str(), static_cast<int>(pointers.size()), nullptr,
                                                      pointers.data(), nullptr, nullptr, 0);
    const std::unique_ptr<pg_result, decltype(&PQclear)> kept(result, &PQclear);
    Answer answer;
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      const auto field = [&](int code) {
        return std::string(PQresultErrorField(result, code) ? PQresultErrorField(result, code) : "");
      };
      answer.state = field(PG_DIAG_SQLSTATE);
      if (answer.state.empty()) answer.state = "08006";
      answer.message = field(PG_DIAG_MESSAGE_PRIMARY);
      answer.detail = field(PG_DIAG_MESSAGE_DETAIL);
      return answer;
    }
    for (int row = 0; row < PQntuples(result); ++row) {
      std::vector<Value>& out = answer.rows.emplace_back();
      for (int column = 0; column < PQnfields(result); ++column)
        out.push_back(PQgetisnull(result, row, column)
                          ? Value{}
                          : Value{std::string(PQgetvalue(result, row, column),
                                              static_cast<std::size_t>(PQgetlength(result, row, column)))});
    }
    return answer;
  }
  Answer must_ask(const std::string& sql, const std::vector<Value>& values = {}) {
    Answer answer = ask(sql, values);
    if (!answer.ok()) throw std::runtime_error(answer.state + " " + answer.message + " in: " + sql);
    return answer;
  }
  // Its SQLSTATE; empty: it was committed.
  std::string commit() { return ask("commit").state; }

 private:
  std::unique_ptr<pg_conn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
  std::string schema_;
};

}  // namespace fenceline::test
