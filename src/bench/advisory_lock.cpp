#include "bench/advisory_lock.hpp"

#include "bench/postgres_answer.hpp"
#include "bench/postgres_url.hpp"

namespace fenceline::bench {
namespace {

class AdvisorySession final : public AdvisoryLock {
 public:
  ~AdvisorySession() override { PQfinish(connection_); }

  Result<void> open(const std::string& url) {
    connection_ = PQconnectdb(libpq_url(url).c_str());
    if (PQstatus(connection_) != CONNECTION_OK) return problem();
    for (const auto& [name, sql] :
         {std::pair{"lock", "select pg_advisory_lock($1)"}, std::pair{"unlock", "select pg_advisory_unlock($1)"}}) {
      const Answer prepared(PQprepare(connection_, name, sql, 0, nullptr));
      if (PQresultStatus(prepared.get()) != PGRES_COMMAND_OK) return problem();
    }
    return {};
  }

  Result<void> lock(std::int64_t key) override { return call("lock", key); }
  Result<void> unlock(std::int64_t key) override { return call("unlock", key); }

 private:
  Result<void> call(const char* name, std::int64_t key) {
    const std::string text = std::to_string(key);
    const char* const values[] = {text.c_str()};
    const Answer answer(PQexecPrepared(connection_, name, 1, values, nullptr, nullptr, 0));
    return PQresultStatus(answer.get()) == PGRES_TUPLES_OK ? Result<void>() : problem();
  }
  Result<void> problem() const {
    return fail(Code::unavailable, std::string("an advisory lock of the bench failed: ") + PQerrorMessage(connection_));
  }

  PGconn* connection_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<AdvisoryLock>> open_advisory_lock(const std::string& url) {
  auto session = std::make_unique<AdvisorySession>();
  if (auto ok = session->open(url); !ok) return std::unexpected(ok.error());
  return std::unique_ptr<AdvisoryLock>(std::move(session));
}

}  // namespace fenceline::bench
