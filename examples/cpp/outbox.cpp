// Jobs that are there if and only if the application's own rows are: enqueued in the transaction that writes these.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fenceline/fenceline.hpp"
#include "fenceline/sqlite.hpp"

namespace {

// The order and the job that tells the customer: both, or neither.
fenceline::Result<fenceline::JobId> place_order(fenceline::SqliteConnection& connection, const std::string& customer,
                                                std::int64_t cents) {
  auto transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  auto mail = transaction->enqueue("mails", "{\"to\": \"" + customer + "\"}");
  if (!mail) return std::unexpected(mail.error());
  auto placed = transaction->execute("INSERT INTO orders (customer, cents) VALUES (?1, ?2)", {customer, cents});
  if (!placed) return std::unexpected(placed.error());  // rolled back: the mail is gone too
  if (auto done = transaction->commit(); !done) return std::unexpected(done.error());
  return *mail;
}

fenceline::Result<void> make_table(fenceline::SqliteConnection& connection) {
  auto transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  auto made = transaction->execute("CREATE TABLE orders (customer TEXT PRIMARY KEY, cents INTEGER CHECK (cents > 0))");
  if (!made) return std::unexpected(made.error());
  return transaction->commit();
}

int failed(const fenceline::Error& error) {
  std::fprintf(stderr, "outbox: %s\n", error.message.c_str());
  return 1;
}

int run_program(fenceline::Client& client) {
  auto connection = client.connect();
  if (!connection) return failed(connection.error());
  if (auto made = make_table(*connection); !made) return failed(made.error());
  const auto good = place_order(*connection, "ana", 500);
  const auto bad = place_order(*connection, "ben", -1);
  if (!good) return failed(good.error());
  if (bad) return 1;
  std::printf("ben's order: %s\n", bad.error().message.c_str());
  const auto report = client.work({.queues = {"mails"}, .drain = true}, [](const fenceline::Run& run) {
    std::printf("mail %s\n", run.job.payload.c_str());
    return fenceline::RunResult::done();
  });
  if (!report) return failed(report.error());
  std::printf("%lld mail was sent\n", static_cast<long long>(report->done));
  return report->done == 1 ? 0 : 1;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "fenceline-outbox-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 74;
  int status = 1;
  {
    auto client = fenceline::Client::open({.store = "sqlite:" + folder + "/outbox.db"});
    if (client) status = run_program(*client);
    else std::fprintf(stderr, "outbox: %s\n", client.error().message.c_str());
  }
  std::filesystem::remove_all(folder);
  return status;
}
