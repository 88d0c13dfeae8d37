// For tests of guards: a store with one queue, the application's own schema beside it, and sessions of the application
// that a test keeps open for as long as it likes, as a paused process would.
#pragma once

#include "backends/postgres/pool.hpp"
#include "backends/postgres/testing.hpp"
#include "base/uuid.hpp"

namespace fenceline::test {

// The states that a refusal has.
inline constexpr const char* kStale = "FL004";
inline constexpr const char* kBehind = "FL005";
inline constexpr const char* kUnfenced = "FL006";

// One session of the application.
class AppSession {
 public:
  AppSession(ThreadRuntime& runtime, const std::string& url)
      : runtime_(runtime),
        connection_(must(postgres::Connection::connect(runtime, must(postgres::parse_dsn(url)),
                                                       runtime.now() + std::chrono::seconds{10}))) {}

  // "" if it was answered, else the state of the error.
  std::string run(const std::string& sql) {
    const postgres::Reply reply = connection_->script(sql, runtime_.now() + std::chrono::seconds{20});
    if (reply.fate == postgres::Reply::Fate::answered) return "";
    said = reply.error.message;
    return reply.error.state.empty() ? "no answer" : reply.error.state;
  }
  void must_run(const std::string& sql) {
    if (const std::string state = run(sql); !state.empty())
      throw std::runtime_error(state + " " + said + " in: " + sql);
  }
  std::string said;

 private:
  ThreadRuntime& runtime_;
  std::unique_ptr<postgres::Connection> connection_;
};

class GuardedServer {
 protected:
  GuardedServer() : store_(must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url()}))) {}

  JobId added(NewJob job = {}) {
    job.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random());
    if (job.queue.empty()) job.queue = "q";
    return must(store_->enqueue({.ns = "default", .jobs = {job}})).ids.front();
  }
  // The grant of the one job that is there to be had.
  Job granted(const std::string& owner) {
    for (int i = 0; i < 2'000; ++i) {
      const auto jobs = must(store_->claim({.ns = "default",
                                            .queues = {"q"},
                                            .stage = "",
                                            .owner = owner,
                                            .request = "r" + std::to_string(++requests_),
                                            .limit = 1,
                                            .ttl = std::chrono::seconds{30}}))
                            .jobs;
      if (!jobs.empty()) return jobs.front().job;
      runtime_.sleep_for(std::chrono::milliseconds{2}, {});
    }
    throw std::runtime_error("nothing was granted to " + owner);
  }
  // As if its time had passed: nobody has the patience to wait for it.
  Job granted_for_a_moment(const std::string& owner) {
    const Job job = granted(owner);
    schema_.run("update job set lease_end = lease_end - 3600000000 where id = '" + to_string(job.id) +
                "'; update claim set bound = bound - 3600000000 where live > 0");
    return job;
  }

  AppSession session() { return AppSession(runtime_, schema_.url()); }
  // A function of the store, called from a session.
  std::string call(const std::string& function, const std::string& arguments) const {
    return "select " + schema_.name() + "." + function + "(" + arguments + ")";
  }
  std::string call(const std::string& function, const Job& job) const {
    return call(function, "'" + to_string(job.id) + "', " + std::to_string(job.fence));
  }
  std::int64_t number(const std::string& query) {
    return must(looks_.run(postgres::Statement{query}, {}, postgres::CallKind::look, std::chrono::seconds{10}))
        .integer(0, 0);
  }
  std::string ours(const std::string& table) const { return schema_.name() + "." + table; }
  std::string theirs(const std::string& table) const { return app_.name() + "." + table; }
  std::string protect(const std::string& table, const std::string& more) const {
    return call("protect", "'" + theirs(table) + "', " + more);
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"guard"};
  TestSchema app_{"app"};
  std::unique_ptr<PostgresStore> store_;
  postgres::Pool looks_{runtime_, must(postgres::parse_dsn(schema_.url())), nullptr};
  std::atomic<int> requests_ = 0;
};

}  // namespace fenceline::test
