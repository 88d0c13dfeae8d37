// A worker on PostgreSQL whose own rows, whose job's outcome and whose new jobs are one commit; and one that comes too
// late. DATABASE_URL names the database.
#include <libpq-fe.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "fenceline/fenceline.hpp"
#include "fenceline/postgres.hpp"

namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection connect() { return {PQconnectdb(std::getenv("DATABASE_URL")), &PQfinish}; }

// The parcel, the mail that tells of it and the end of the job: all of them, or none.
fenceline::Result<void> ship(PGconn* connection, const fenceline::Job& job, const std::function<void()>& pause) {
  const auto body = [&](fenceline::PostgresTransaction& transaction) -> fenceline::Result<void> {
    auto parcel = transaction.execute("INSERT INTO cpp_parcel VALUES ($1, $2)", {job.payload, job.fence});
    if (!parcel) return std::unexpected(parcel.error());
    auto mail = transaction.enqueue("cpp-mails", job.payload);
    if (!mail) return std::unexpected(mail.error());
    auto settled = transaction.settle(job, {.result = "shipped"});
    pause();
    return settled;
  };
  auto done = fenceline::guarded(connection, job, body);
  // A first COMMIT of ours went through, though its answer was lost: the work is done.
  if (!done && done.error().code == fenceline::Code::conflict) return {};
  return done;
}

int failed(const fenceline::Error& error) {
  std::fprintf(stderr, "inside: %s\n", error.message.c_str());
  return 1;
}

// The lease of a job that some other worker took: by the same function that a program in any language calls.
fenceline::Job claim(PGconn* connection, const std::string& worker, const std::string& ttl) {
  const std::string sql =
      "select job, fence, payload from fenceline.claim('cpp-ship', '" + worker + "', ttl => '" + ttl + "')";
  const std::unique_ptr<PGresult, decltype(&PQclear)> rows(PQexec(connection, sql.c_str()), &PQclear);
  fenceline::Job job;
  if (PQntuples(rows.get()) != 1) return job;
  job.id = *fenceline::parse_uuid(PQgetvalue(rows.get(), 0, 0));
  job.fence = std::stoll(PQgetvalue(rows.get(), 0, 1));
  job.payload = PQgetvalue(rows.get(), 0, 2);
  return job;
}

}  // namespace

int main() {
  const Connection connection = connect();
  const Connection other = connect();
  auto client = fenceline::Client::open({.store = std::getenv("DATABASE_URL")});
  if (!client) return failed(client.error());
  const auto made = fenceline::answer_of(
      PQexec(connection.get(), "CREATE TABLE IF NOT EXISTS cpp_parcel (order_id int, fence bigint)"));
  if (!made) return failed(made.error());

  // With fenceline's own worker: the handler settles its job in its own commit, and returns the same outcome.
  if (auto id = client->enqueue("cpp-ship", "1"); !id) return failed(id.error());
  const auto report =
      client->work({.queues = {"cpp-ship"}, .concurrency = 1, .drain = true}, [&](const fenceline::Run& job) {
        const auto done = ship(connection.get(), job.job, [] {});
        if (!done) return fenceline::RunResult::failed(done.error().message);
        return fenceline::RunResult::done("shipped");
      });
  if (!report) return failed(report.error());
  std::printf("order 1: %d done\n", static_cast<int>(report->done));

  // A worker that is paused in its transaction for longer than its lease; another one takes over.
  if (auto id = client->enqueue("cpp-ship", "2"); !id) return failed(id.error());
  const fenceline::Job late = claim(connection.get(), "late-" + std::to_string(::rand()), "1 second");
  const auto refused = ship(connection.get(), late, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{1200});
    const fenceline::Job taken = claim(other.get(), "other-" + std::to_string(::rand()), "30 seconds");
    if (!ship(other.get(), taken, [] {})) std::printf("the one that took over was refused\n");
  });
  std::printf("order 2: the late commit was %s\n",
              !refused && refused.error().code == fenceline::Code::lost ? "refused" : "NOT refused");
  const std::unique_ptr<PGresult, decltype(&PQclear)> rows(
      PQexec(connection.get(),
             "SELECT count(*), (SELECT count(*) FROM cpp_parcel) FROM fenceline.job j JOIN fenceline.queue q ON q.id = "
             "j.queue_id WHERE q.name = 'cpp-mails'"),
      &PQclear);
  std::printf("%s mails for %s parcels\n", PQgetvalue(rows.get(), 0, 0), PQgetvalue(rows.get(), 0, 1));
  return 0;
}
