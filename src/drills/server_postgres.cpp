#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/postgres/connection.hpp"
#include "bench/postgres_url.hpp"
#include "drills/server.hpp"
#include "store/job_store.hpp"

namespace fenceline::cli {
namespace {

constexpr const char* kDataOfTests = "FENCELINE_TEST_POSTGRES_DATA";  // set by script/with_postgres

// Who may tell the server to stop: it does not run as root.
std::string as_owner_of(const std::string& folder) {
  struct stat about {};
  if (::geteuid() != 0 || ::stat(folder.c_str(), &about) != 0 || about.st_uid == 0) return {};
  const passwd* const user = ::getpwuid(about.st_uid);
  return user == nullptr ? std::string{} : "runuser -u " + std::string(user->pw_name) + " -- ";
}

// The server records the path of its program; its control program is in the same folder.
Result<std::string> control_program(const std::string& data) {
  std::ifstream notes(data + "/postmaster.opts");
  std::string line;
  std::getline(notes, line);
  const std::filesystem::path program = line.substr(0, line.find(' '));
  if (!program.is_absolute())
    return fail(Code::invalid, std::string(kDataOfTests) + " is not the folder of a server that was started");
  return (program.parent_path() / "pg_ctl").string();
}

std::optional<std::string> data_folder_of_tests() {
  const char* const data = std::getenv(kDataOfTests);
  return data == nullptr ? std::nullopt : std::optional<std::string>(data);
}

// A role may end the sessions of its own. They are known by the name that their URL gives them: behind a pooler no
// process is known.
class PostgresEnder final : public SessionEnder {
 public:
  PostgresEnder(Runtime& runtime, std::unique_ptr<postgres::Connection> connection, std::string name)
      : runtime_(runtime), connection_(std::move(connection)), name_(std::move(name)) {}

  std::int64_t end_sessions(const std::vector<pid_t>&, bool all) override {
    const postgres::Reply reply =
        connection_->call({{sql_, postgres::Params().text(name_).boolean(all)}}, false, runtime_.now() + kCallTimeout);
    return reply.fate == postgres::Reply::Fate::answered && reply.rows.size() == 1 ? reply.rows.integer(0, 0) : -1;
  }

 private:
  Runtime& runtime_;
  std::unique_ptr<postgres::Connection> connection_;
  const std::string name_;
  // Who has written something and has not ended yet is in the middle of it, or commits.
  postgres::Statement sql_{
      "select count(*) from (select pg_catalog.pg_terminate_backend(pid) as ended from pg_catalog.pg_stat_activity "
      "where application_name = $1 and pid <> pg_catalog.pg_backend_pid() and ($2 or backend_xid is not null)) as e "
      "where ended"};
};

class PostgresServer final : public DrillServer {
 public:
  explicit PostgresServer(std::string url) : url_(std::move(url)) {}

  Result<FaultProxy::Target> place() const override {
    const Result<bench::PostgresAddress> address = bench::address_of(url_);
    if (!address) return std::unexpected(address.error());
    return FaultProxy::Target{.host = address->host, .port = address->port};
  }
  std::string url_at(std::uint16_t port) const override { return bench::with_address(url_, "127.0.0.1", port); }
  std::string url_named(const std::string& name) const override {
    return bench::with_parameter(url_, "application_name", name);
  }
  Result<std::unique_ptr<SessionEnder>> ender(Runtime& runtime, const std::string& name) const override {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(url_);
    if (!dsn) return std::unexpected(dsn.error());
    Result<std::unique_ptr<postgres::Connection>> made =
        postgres::Connection::connect(runtime, *dsn, runtime.now() + kCallTimeout);
    if (!made) return std::unexpected(made.error());
    return std::make_unique<PostgresEnder>(runtime, std::move(*made), name);
  }

  std::optional<pid_t> first_process() const override {
    const std::optional<std::string> data = data_folder_of_tests();
    if (!data) return std::nullopt;
    std::ifstream file(*data + "/postmaster.pid");
    pid_t pid = 0;
    file >> pid;
    return pid > 1 ? std::optional(pid) : std::nullopt;
  }
  Result<std::optional<RestartPlan>> restart_plan(Runtime&) const override {
    const std::optional<std::string> data = data_folder_of_tests();
    if (!data) return std::nullopt;
    const Result<std::string> program = control_program(*data);
    if (!program) return std::unexpected(program.error());
    const std::string control = as_owner_of(*data) + quoted(*program) + " -D " + quoted(*data) + " -s -w ";
    return RestartPlan{.stop = control + "-m immediate stop", .start = control + "start"};
  }
  Result<std::string> by_hand(Runtime& runtime, const std::string& store_url,
                              const std::vector<std::string>& words) const override {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(store_url);
    if (!dsn) return std::unexpected(dsn.error());
    const Result<std::unique_ptr<postgres::Connection>> made =
        postgres::Connection::connect(runtime, *dsn, runtime.now() + kCallTimeout);
    if (!made) return std::unexpected(made.error());
    const std::string schema = bench::parameter_of(store_url, "schema");
    if (!schema.empty()) (*made)->script("set search_path = \"" + schema + "\"", runtime.now() + kCallTimeout);
    const postgres::Statement sql(words.at(0));
    const postgres::Reply reply = (*made)->call({{sql, postgres::Params()}}, false, runtime.now() + kCallTimeout);
    if (reply.fate == postgres::Reply::Fate::refused) return fail(Code::refused, reply.error.message);
    if (reply.fate != postgres::Reply::Fate::answered)
      return fail(Code::unavailable, "the server did not answer '" + words.at(0) + "'");
    return reply.rows.size() > 0 ? std::string(reply.rows.text(0, 0)) : std::string{};
  }

 private:
  const std::string url_;
};

}  // namespace

std::unique_ptr<DrillServer> postgres_server(const std::string& store_url) {
  return std::make_unique<PostgresServer>(store_url);
}

}  // namespace fenceline::cli
