// For the tests of this folder: a schema of this process's own on the server that FENCELINE_TEST_POSTGRES names, with a
// clock that a test moves by hand. It is emptied for each store that is opened, and dropped at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "backends/postgres/connection.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::test {

// Throws, with what to do, if no server was named: a test that looks at nothing must not pass.
inline std::string server_url() {
  const char* url = std::getenv("FENCELINE_TEST_POSTGRES");
  if (!url || !*url)
    throw std::runtime_error("FENCELINE_TEST_POSTGRES names no server: run the tests by script/with_postgres");
  return url;
}

inline std::string url_with(const std::string& option) {
  const std::string url = server_url();
  return url + (url.find('?') == std::string::npos ? "?" : "&") + option;
}

// A schema that goes away with this object.
class TestSchema {
 public:
  explicit TestSchema(const std::string& what) : name_("test_" + std::to_string(::getpid()) + "_" + what) {
    run("drop schema if exists " + name_ + " cascade");
  }
  ~TestSchema() {
    if (const auto made = connect())
      static_cast<void>((*made)->script("drop schema if exists " + name_ + " cascade", soon()));
  }
  TestSchema(const TestSchema&) = delete;
  TestSchema& operator=(const TestSchema&) = delete;

  const std::string& name() const { return name_; }
  std::string url() const { return url_with("schema=" + name_); }
  void run(const std::string& sql) {
    const auto connection = must(connect());
    const postgres::Reply reply = connection->script(
        "set client_min_messages = error; set search_path = " + name_ + ", pg_catalog; " + sql, soon());
    if (reply.fate != postgres::Reply::Fate::answered)
      throw std::runtime_error(reply.error.state + " " + reply.error.message + " in: " + sql);
  }

 private:
  Instant soon() { return runtime_.now() + std::chrono::seconds{30}; }
  Result<std::unique_ptr<postgres::Connection>> connect() {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(server_url());
    if (!dsn) return std::unexpected(dsn.error());
    return postgres::Connection::connect(runtime_, *dsn, soon());
  }

  ThreadRuntime runtime_;
  std::string name_;
};

// The one that moves by hand.
class HandMovedSchema {
 public:
  static HandMovedSchema& shared() {
    static HandMovedSchema schema;
    return schema;
  }

  std::unique_ptr<PostgresStore> open(Runtime& runtime, const Clock& clock) {
    return must(PostgresStore::open(runtime, Log(null_log_sink()), options(clock)));
  }
  std::string url() const { return schema_.url(); }
  // As if nobody had ever used it.
  void empty() {
    schema_.run(
        "do $$ declare tables text; begin select string_agg(quote_ident(tablename), ', ') into tables from pg_tables "
        "where schemaname = current_schema() and tablename <> 'meta'; execute 'truncate ' || tables || ' restart "
        "identity'; end $$; "
        "alter sequence job_seq restart; insert into floor values (0)");
  }

 private:
  HandMovedSchema() {
    ThreadRuntime runtime;
    const ManualClock clock;
    open(runtime, clock);
    schema_.run(
        "create or replace function clock(out lease bigint, out wall bigint, out waited bigint) language sql volatile "
        "as "
        "$$ select current_setting('fenceline.lease')::bigint, current_setting('fenceline.wall')::bigint, 0::bigint "
        "$$");
  }
  PostgresOptions options(const Clock& clock) const {
    PostgresOptions out;
    out.url = schema_.url();
    out.always_rescan = true;
    out.test_clock = [&clock] {
      return std::pair(clock.now().time_since_epoch().count(), clock.wall_now().time_since_epoch().count());
    };
    return out;
  }

  TestSchema schema_{"by_hand"};
};

}  // namespace fenceline::test
