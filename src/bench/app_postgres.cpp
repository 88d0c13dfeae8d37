#include "bench/app_postgres.hpp"

#include "bench/postgres_answer.hpp"
#include "bench/postgres_url.hpp"

namespace fenceline::bench {
namespace {

class PostgresTables final : public AppTables {
 public:
  ~PostgresTables() override { PQfinish(connection_); }

  Result<void> open(const std::string& url, const std::string& schema, const std::string& job, std::int64_t fence) {
    connection_ = PQconnectdb(libpq_url(url).c_str());
    if (PQstatus(connection_) != CONNECTION_OK) return problem();
    const std::string store = "\"" + parameter_of(url, "schema") + "\"";
    const std::string app = "\"" + schema + "\"";
    const std::string resource = "'" + job + "', " + std::to_string(fence);
    const std::string columns =
        " (id int primary key, job text not null, fence bigint, n bigint not null) with (fillfactor = 50); ";
    if (!run("set client_min_messages = warning; create schema if not exists " + app + "; create table " + app +
             ".plain" + columns + "create table " + app + ".guarded" + columns + "insert into " + app +
             ".plain values (1, '" + job + "', 1, 0)") ||
        !run("select " + store + ".protect('" + app +
             ".guarded', resource => 'job', fence => 'fence', namespace => 'bench')") ||
        !run("insert into " + app + ".guarded values (1, " + resource + ", 0)") ||
        !prepare("update_plain", "update " + app + ".plain set n = n + 1 where id = 1") ||
        !prepare("update_assigned",
                 "update " + app + ".guarded set n = n + 1, fence = " + std::to_string(fence) + " where id = 1") ||
        !prepare("update_silent", "update " + app + ".guarded set n = n + 1 where id = 1") ||
        !prepare("guard", "select " + store + ".guard(" + resource + ", 'bench')") ||
        !prepare("act_as", "select " + store + ".act_as(" + resource + ", 'bench')"))
      return problem();
    return {};
  }

  Result<void> once(AppTransaction kind) override {
    const bool done = run("begin") && body(kind) && run("commit");
    return done ? Result<void>() : problem();
  }

 private:
  bool body(AppTransaction kind) {
    switch (kind) {
      case AppTransaction::plain: return execute("update_plain");
      case AppTransaction::guarded: return execute("guard") && execute("update_plain");
      case AppTransaction::assigned: return execute("update_assigned");
      case AppTransaction::acting: return execute("act_as") && execute("update_silent");
    }
    return false;
  }
  static bool is_good(const Answer& answer) {
    return PQresultStatus(answer.get()) == PGRES_COMMAND_OK || PQresultStatus(answer.get()) == PGRES_TUPLES_OK;
  }
  bool run(const std::string& sql) { return is_good(Answer(PQexec(connection_, sql.c_str()))); }
  bool prepare(const char* name, const std::string& sql) {
    return is_good(Answer(PQprepare(connection_, name, sql.c_str(), 0, nullptr)));
  }
  bool execute(const char* name) {
    return is_good(Answer(PQexecPrepared(connection_, name, 0, nullptr, nullptr, nullptr, 0)));
  }
  Result<void> problem() const {
    return fail(Code::unavailable, std::string("a transaction of the bench failed: ") + PQerrorMessage(connection_));
  }

  PGconn* connection_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<AppTables>> open_app_tables(const std::string& url, const std::string& schema,
                                                   const std::string& job, std::int64_t fence) {
  auto tables = std::make_unique<PostgresTables>();
  if (auto ok = tables->open(url, schema, job, fence); !ok) return std::unexpected(ok.error());
  return std::unique_ptr<AppTables>(std::move(tables));
}

}  // namespace fenceline::bench
