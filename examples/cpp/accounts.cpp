// Money that is moved once, in tables of the program's own: the job's outcome and its statements are one commit, and a
// delivery whose time is over cannot write any more.
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "fenceline/fenceline.hpp"
#include "fenceline/sqlite.hpp"

namespace {

using namespace std::chrono_literals;

fenceline::Result<void> make_tables(fenceline::SqliteConnection& connection) {
  auto transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  for (const char* sql :
       {"CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0))",
        "INSERT INTO account VALUES ('ana', 900), ('ben', 100)",
        "CREATE TABLE receipt (id INTEGER PRIMARY KEY, job TEXT NOT NULL, fence INTEGER, text TEXT NOT NULL)"}) {
    if (auto done = transaction->execute(sql); !done) return std::unexpected(done.error());
  }
  if (auto done = transaction->commit(); !done) return done;
  return connection.protect_table({.table = "receipt", .fence_column = "fence", .resource_column = "job"});
}

// Takes 500 from ana and gives them to ben, for this job and once.
fenceline::Result<void> move_money(fenceline::SqliteConnection& connection, const fenceline::Job& job) {
  return fenceline::guarded(connection, job, [&](fenceline::SqliteTransaction& transaction) -> fenceline::Result<void> {
    auto taken = transaction.execute("UPDATE account SET cents = cents - ?1 WHERE name = ?2", {500, "ana"});
    if (!taken) return std::unexpected(taken.error());
    auto given = transaction.execute("UPDATE account SET cents = cents + ?1 WHERE name = ?2", {500, "ben"});
    if (!given) return std::unexpected(given.error());
    auto noted = transaction.execute("INSERT INTO receipt (job, fence, text) VALUES (?1, ?2, '500 moved')",
                                     {to_string(job.id), job.fence});
    if (!noted) return std::unexpected(noted.error());
    return transaction.settle(job, {.result = "moved"});
  });
}

// A table that is protected needs no guard: the late write is refused where it lands.
fenceline::Result<void> write_late(fenceline::SqliteConnection& connection, const fenceline::Job& stale) {
  auto transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  auto noted = transaction->execute("UPDATE receipt SET text = 'changed', fence = ?1", {stale.fence});
  if (!noted) return std::unexpected(noted.error());
  return transaction->commit();
}

std::int64_t cents_of(sqlite3* db, const char* name) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, "SELECT cents FROM account WHERE name = ?1", -1, &statement, nullptr);
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  const std::int64_t cents = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  return cents;
}

int failed(const fenceline::Error& error) {
  std::fprintf(stderr, "accounts: %s\n", error.message.c_str());
  return 1;
}

int run_program(fenceline::Client& client) {
  auto connection = client.connect();
  if (!connection) return failed(connection.error());
  if (auto made = make_tables(*connection); !made) return failed(made.error());
  const auto id =
      client.enqueue("transfers", R"({"from": "ana", "to": "ben"})", {.backoff = {.first = 1ms, .most = 1ms}});
  if (!id) return failed(id.error());

  std::optional<fenceline::Job> first;  // what its first delivery knew
  const auto handler = [&](const fenceline::Run& run) -> fenceline::RunResult {
    if (!first) {
      first = run.job;
      return fenceline::RunResult::failed("the power went out");
    }
    auto own = client.connect();  // handlers run on threads of their own
    const auto moved = own ? move_money(*own, run.job) : fenceline::Result<void>(std::unexpected(own.error()));
    if (!moved) return fenceline::RunResult::failed(moved.error().message);
    return fenceline::RunResult::done("moved");  // a repeat of what was committed
  };
  for (int tries = 0; tries < 100 && !client.wait(*id, 20ms); ++tries) {
    if (auto worked = client.work({.queues = {"transfers"}, .drain = true}, handler); !worked)
      return failed(worked.error());
  }

  // The first delivery comes back: too late for anything.
  const auto late_move = move_money(*connection, *first);
  const auto late_note = write_late(*connection, *first);
  if (late_move || late_note) return 1;
  std::printf("refused: %s\nrefused: %s\n", late_move.error().message.c_str(), late_note.error().message.c_str());
  const std::int64_t ana = cents_of(connection->handle(), "ana");
  const std::int64_t ben = cents_of(connection->handle(), "ben");
  std::printf("ana has %lld, ben has %lld\n", static_cast<long long>(ana), static_cast<long long>(ben));
  return ana == 400 && ben == 600 && late_move.error().code == fenceline::Code::lost ? 0 : 1;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "fenceline-accounts-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 74;
  int status = 1;
  {
    auto client = fenceline::Client::open({.store = "sqlite:" + folder + "/accounts.db"});
    if (client) status = run_program(*client);
    else std::fprintf(stderr, "accounts: %s\n", client.error().message.c_str());
  }
  std::filesystem::remove_all(folder);
  return status;
}
