// `fenceline drill terminate`: the server ends the sessions of real workers, as an operator or a failing server does: those that are in the middle of a
// transaction, its commit included, and in turn all of them. What was acknowledged stays, and what was not is asked again.
#include "backends/postgres/connection.hpp"
#include "bench/postgres_url.hpp"
#include "cli/drill_away.hpp"
#include "cli/output.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;
using postgres::Connection;
using postgres::Params;
using postgres::Reply;
using postgres::Statement;

constexpr const char* kName = "terminate";
constexpr const char* kWhat = "sessions that the server ends";
constexpr Duration kLookMost = 3s;  // for a transaction to end
constexpr Duration kBetweenLooks = 500us;
constexpr int kJobsOfTen = 24;

// Ends sessions of the drill's workers, by the name that these go by on the server. Its own role may do that.
class Ender {
 public:
  static Result<Ender> open(Invocation& invocation, const std::string& name) {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(invocation.store_url);
    if (!dsn) return std::unexpected(dsn.error());
    Result<std::unique_ptr<Connection>> made = Connection::connect(*invocation.runtime, *dsn, invocation.runtime->now() + kCallTimeout);
    if (!made) return std::unexpected(made.error());
    return Ender(*invocation.runtime, std::move(*made), name);
  }

  // How many; negative if the server does not answer.
  std::int64_t end_sessions(bool all) {
    const Reply reply = connection_->call({{sql_, Params().text(name_).boolean(all)}}, false, runtime_.now() + kCallTimeout);
    return reply.fate == Reply::Fate::answered && reply.rows.size() == 1 ? reply.rows.integer(0, 0) : -1;
  }

 private:
  Ender(Runtime& runtime, std::unique_ptr<Connection> connection, std::string name) : runtime_(runtime), connection_(std::move(connection)), name_(std::move(name)) {}

  Runtime& runtime_;
  std::unique_ptr<Connection> connection_;
  std::string name_;
  // Who has written something and has not ended yet is in the middle of it, or commits.
  Statement sql_{"select count(*) from (select pg_catalog.pg_terminate_backend(pid) as ended from pg_catalog.pg_stat_activity "
                 "where application_name = $1 and pid <> pg_catalog.pg_backend_pid() and ($2 or backend_xid is not null)) as e where ended"};
};

// False if the drill was interrupted.
bool play(DrillFleet& fleet, Runtime& runtime, Ender& ender, bool all, DrillReport& report) {
  for (const Instant end = runtime.now() + kLookMost; runtime.now() < end;) {
    const std::int64_t ended = ender.end_sessions(all);
    if (ended < 0) {
      report.violations.push_back("the server did not answer the drill, or its role may not end sessions of its own");
      return true;
    }
    if (ended > 0) {
      ++report.faults;
      return true;
    }
    if (!fleet.wait(kBetweenLooks)) return false;
  }
  report.not_injected.push_back(all ? "the end of all sessions: there was none" : "the end of a session in a transaction: none was met in time");
  return true;
}

Result<int> run(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 40, 1, 10000);
  if (!rounds) return std::unexpected(rounds.error());
  if (!bench::is_postgres_url(invocation.store_url)) return nothing_to_play(invocation, kName, kWhat);
  Result<std::unique_ptr<Store>> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  Runtime& runtime = *invocation.runtime;
  const std::string name = "fenceline-drill-" + std::to_string(runtime.random());
  Result<Ender> ender = Ender::open(invocation, name);
  if (!ender) return std::unexpected(ender.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    if (!fleet.wait(500ms)) return false;
    for (int round = 0; round < *rounds; ++round) {
      // Anywhere in what they do next.
      if (!fleet.wait(Duration{static_cast<std::int64_t>(runtime.random() % 100'000)})) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("from the end of session " + std::to_string(round + 1) + " on: every job had ended before");
        return true;
      }
      if (!play(fleet, runtime, *ender, round % 4 == 3, report)) return false;
      if (stderr_is_terminal()) tell("terminate: " + std::to_string(round + 1) + " of " + std::to_string(*rounds) + ", " + std::to_string(fleet.unfinished()) + " jobs left");
    }
    return true;
  };
  return play_drill(invocation, **store,
                    {.name = kName,
                     .store_url = bench::with_parameter(invocation.store_url, "application_name", name),
                     .jobs = (static_cast<int>(*rounds) / 10 + 1) * kJobsOfTen,
                     .owes_doubts = true,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_terminate_command() {
  return {.name = "drill terminate",
          .summary = "Ends sessions of real workers on the server of the store, in the middle of their transactions; an embedded store has none.",
          .arguments = {},
          .options = {{"--repeat", "N", "times to end sessions, about ten in a second; default 40"}},
          .examples = {{"fenceline drill terminate --store postgres://localhost/app", "forty times, under three workers"}},
          .run = run};
}

}  // namespace fenceline::cli
