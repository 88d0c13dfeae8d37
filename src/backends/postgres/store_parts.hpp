// What a PostgresStore is made of, and how its verbs call the server.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/postgres/claim_cursors.hpp"
#include "backends/postgres/json_wire.hpp"
#include "backends/postgres/listener.hpp"
#include "backends/postgres/pool.hpp"
#include "backends/postgres/postgres_store.hpp"

namespace fenceline {
namespace postgres {

// Requests of this process that have a place in the queue of a lock: the plain statement has nothing for them. A
// request that is missing here costs one statement more.
class QueuedRequests {
 public:
  bool has(const std::string& owner, const std::string& request) const;
  void set(const std::string& owner, const std::string& request, bool queued);

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> queued_;
};

}  // namespace postgres

struct PostgresStore::Parts {
  Parts(Runtime& runtime, postgres::Dsn dsn, const PostgresOptions& options);

  int pid;
  bool always_rescan;
  postgres::Pool pool;
  postgres::Listener listener;
  postgres::ClaimCursors cursors;
  postgres::QueuedRequests queued;
  StoreProfile profile;
  std::atomic<int> pooler = -1;  // a postgres::Pooler, once it was looked for: what stands between stays there

  // The hot verbs, with their parameters in the order in which sql/ declares them.
  postgres::Statement enqueue, enqueue_plain, claim, give_back, extend, settle, lock_acquire, lock_renew, lock_release,
      lock_withdraw, step_ticks, change_schedule, list_pipelines, list_items, change_items;
  // One lock of one holder: granted or freed by one statement, which finds nothing where there is more to it.
  postgres::Statement lock_acquire_one, lock_release_one;

  // A verb that takes and answers JSON: the rows of its answer.
  Result<std::vector<nlohmann::json>> call(const std::string& verb, const std::string& ns,
                                           const nlohmann::json& request, postgres::CallKind kind, Duration timeout);
  // The same for one that answers one value.
  Result<nlohmann::json> call_one(const std::string& verb, const std::string& ns, const nlohmann::json& request,
                                  postgres::CallKind kind, Duration timeout);
};

namespace postgres {

// What a crash can take, by the server's own settings. Errors: refused (a standby, an encoding that cannot keep every
// text); as Pool::run.
Result<StoreProfile> profile_of(Pool& pool, Duration timeout);

// Runs a reader of the server's answer. An answer that is not understood means that the schema is not what this program
// knows.
template <class Read>
auto decoded(const Dsn& dsn, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const WireFailure& failure) {
    return fail(Code::broken, "the reply of " + dsn.shown + " cannot be understood: " + one_line(failure.what()) +
                                  "; run: fenceline doctor");
  } catch (const nlohmann::json::exception& failure) {
    return fail(Code::broken, "the reply of " + dsn.shown + " cannot be understood: " + one_line(failure.what()) +
                                  "; run: fenceline doctor");
  }
}

}  // namespace postgres
}  // namespace fenceline
