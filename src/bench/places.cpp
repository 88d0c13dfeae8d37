#include "bench/places.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "backends/redis/redis_address.hpp"
#include "bench/postgres_answer.hpp"
#include "bench/postgres_url.hpp"

namespace fenceline::bench {
namespace {

std::optional<std::int64_t> room_at(const std::string& folder) {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  if (unknown) return std::nullopt;
  return static_cast<std::int64_t>(space.available);
}

class SqlitePlaces final : public Places {
 public:
  explicit SqlitePlaces(ScratchFolder& folder) : folder_(folder) {}

  std::string fresh(const std::string& stem) override { return *made_.insert(folder_.fresh_path(stem)).first; }
  void drop(const std::string& place) override {
    ScratchFolder::drop(place);
    made_.erase(place);
  }
  void drop_all() override {
    while (!made_.empty()) drop(std::string(*made_.begin()));
  }
  std::string url_of(const std::string& place) const override { return "sqlite:" + place; }
  StoreKind kind() const override { return StoreKind::sqlite; }
  std::optional<std::int64_t> free_room() override { return room_at(folder_.path()); }
  Result<void> settle(const std::string&, std::stop_token) override { return {}; }
  Result<std::unique_ptr<HeldHorizon>> hold_horizon() override { return nullptr; }

 private:
  ScratchFolder& folder_;
  std::set<std::string> made_;
};

// A connection for calls that are not measured.
class Session {
 public:
  explicit Session(const std::string& url) : connection_(PQconnectdb(libpq_url(url).c_str())) {
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);  // notices of the server are ignored
  }
  ~Session() { PQfinish(connection_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool again() {
    PQreset(connection_);
    return is_open() && run("set client_min_messages = warning");
  }
  bool is_open() const { return PQstatus(connection_) == CONNECTION_OK; }
  std::string problem() const {
    const std::string words = PQerrorMessage(connection_);
    return words.substr(0, words.find('\n'));
  }
  // The values of the first row; empty if it failed or there is none.
  std::vector<std::string> row(const std::string& sql) {
    const Answer answer(PQexec(connection_, sql.c_str()));
    std::vector<std::string> values;
    if (PQresultStatus(answer.get()) == PGRES_TUPLES_OK && PQntuples(answer.get()) > 0) {
      for (int i = 0; i < PQnfields(answer.get()); ++i) values.emplace_back(PQgetvalue(answer.get(), 0, i));
    }
    return values;
  }
  bool run(const std::string& sql) {
    const ExecStatusType status = PQresultStatus(Answer(PQexec(connection_, sql.c_str())).get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }
  // The same for what may take minutes: the server is told to let it be when somebody wants to stop.
  bool run(const std::string& sql, std::stop_token stop) {
    PGcancel* const cancel = PQgetCancel(connection_);
    bool ran = false;
    {
      const std::stop_callback on_stop(stop, [cancel] {
        char why[256];
        if (cancel) PQcancel(cancel, why, sizeof why);
      });
      ran = !stop.stop_requested() && run(sql);
    }
    PQfreeCancel(cancel);
    return ran;
  }
  // Whether the server runs on this machine, as far as the address tells.
  bool is_here() const {
    const std::string host = PQhost(connection_) ? PQhost(connection_) : "";
    const std::string address = PQhostaddr(connection_) ? PQhostaddr(connection_) : "";
    return host.starts_with("/") || address.starts_with("127.") || address == "::1";
  }

 private:
  PGconn* connection_;
};

// Two connections: one holds, one asks.
class PostgresHorizon final : public HeldHorizon {
 public:
  explicit PostgresHorizon(const std::string& url) : holder_(url), asker_(url) {}

  // A snapshot is taken and a transaction number with it; both hold.
  bool hold() {
    if (!holder_.is_open() || !asker_.is_open() || !holder_.run("begin isolation level repeatable read")) return false;
    const std::vector<std::string> told = holder_.row("select pg_backend_pid(), txid_current()");
    if (told.empty()) return false;
    pid_ = told.front();
    return true;
  }

  Result<Age> age() override {
    const std::vector<std::string> told = asker_.row(
        "select extract(epoch from clock_timestamp() - xact_start), age(backend_xmin) from pg_stat_activity where pid "
        "= " +
        pid_ + " and backend_xmin is not null");
    if (told.empty())
      return fail(Code::unavailable,
                  "the transaction of the bench that should hold the horizon does not: " + asker_.problem());
    return Age{std::strtod(told[0].c_str(), nullptr), std::strtod(told[1].c_str(), nullptr)};
  }

 private:
  Session holder_;
  Session asker_;
  std::string pid_;
};

class PostgresPlaces final : public Places {
 public:
  explicit PostgresPlaces(std::string url) : url_(std::move(url)), session_(url_) {}
  ~PostgresPlaces() override { drop_all(); }

  Result<void> open() {
    if (!session_.is_open()) return fail(Code::unavailable, "the bench cannot reach the server: " + session_.problem());
    session_.run("set client_min_messages = warning");
    const std::vector<std::string> told =
        session_.row("select has_database_privilege(current_database(), 'CREATE'), pg_backend_pid()");
    if (told.empty()) return fail(Code::unavailable, "the bench cannot ask the server: " + session_.problem());
    if (told[0] != "t")
      return fail(Code::refused,
                  "the bench needs schemas of its own and its role may make none; grant CREATE on the database to it");
    // The server's number of this session: no other bench has it meanwhile.
    stem_ = "fenceline_bench_" + told[1] + "_";
    return {};
  }

  std::string fresh(const std::string& stem) override {
    const std::string place = stem_ + std::to_string(++given_) + "_" + stem;
    made_.insert(place);
    return place;
  }
  void drop(const std::string& place) override {
    if (made_.erase(place) == 0) return;
    const std::string sql = "drop schema if exists \"" + place + "\" cascade";
    // The server may have been away meanwhile: a drill does that.
    if (!session_.run(sql) && session_.again()) session_.run(sql);
  }
  void drop_all() override {
    while (!made_.empty()) drop(std::string(*made_.begin()));
  }
  std::string url_of(const std::string& place) const override { return with_parameter(url_, "schema", place); }
  StoreKind kind() const override { return StoreKind::postgres; }

  // Only a role that may read the setting knows the folder, and only on this machine it tells us something.
  std::optional<std::int64_t> free_room() override {
    if (!session_.is_here()) return std::nullopt;
    const std::vector<std::string> folder =
        session_.row("select setting from pg_settings where name = 'data_directory'");
    return folder.empty() ? std::nullopt : room_at(folder.front());
  }

  // As the server would by itself in its own time; a checkpoint only if the role may ask for one.
  Result<void> settle(const std::string& place, std::stop_token stop) override {
    session_.run("set search_path = \"" + place + "\"");
    for (const char* table : {"job", "done", "raw_queue"}) {
      if (!session_
               .row("select to_regclass('" + std::string(table) + "') where to_regclass('" + table + "') is not null")
               .empty())
        session_.run("vacuum analyze " + std::string(table), stop);
    }
    session_.run("checkpoint", stop);
    if (stop.stop_requested()) return fail(Code::held, "interrupted");
    return {};
  }

  Result<std::unique_ptr<HeldHorizon>> hold_horizon() override {
    auto held = std::make_unique<PostgresHorizon>(url_);
    if (!held->hold())
      return fail(Code::unavailable, "the bench could not open the transaction that holds the horizon");
    return held;
  }

 private:
  const std::string url_;
  Session session_;
  std::string stem_;
  int given_ = 0;
  std::set<std::string> made_;
};

}  // namespace

StoreKind kind_of(std::string_view url) {
  return is_postgres_url(url) ? StoreKind::postgres : redis::is_redis_url(url) ? StoreKind::redis : StoreKind::sqlite;
}

std::unique_ptr<Places> sqlite_places(ScratchFolder& folder) { return std::make_unique<SqlitePlaces>(folder); }

Result<std::unique_ptr<Places>> postgres_places(const std::string& url) {
  auto places = std::make_unique<PostgresPlaces>(url);
  if (auto ok = places->open(); !ok) return std::unexpected(ok.error());
  return places;
}

}  // namespace fenceline::bench
