#include "backends/sqlite/direct.hpp"

#include <algorithm>

namespace fenceline::sqlite {

Result<void> DirectConnection::run_locked(const Body& body, std::set<QueueName>& awakened) {
  try {
    db_->execute("BEGIN");
    Call call(*db_, names_, clock_, clock_.now());
    if (body(call)) {
      for (const std::int64_t queue_id : call.awakened) awakened.insert(names_.queue_name(queue_id));
      for (const std::string& ns : call.ordered) awakened.insert(orders_of(ns));
      awakened.insert(call.freed.begin(), call.freed.end());
      db_->execute("COMMIT");
    } else {
      db_->execute("ROLLBACK");
      names_.forget();
    }
    return {};
  } catch (const SqliteFailure& failure) {
    names_.forget();
    if (db_->in_transaction()) db_->run_script("ROLLBACK");
    return std::unexpected(failure.error(":memory:"));
  }
}

Result<void> DirectConnection::run(const Body& body) {
  std::set<QueueName> awakened;
  Result<void> ran;
  {
    const std::lock_guard lock(mutex_);
    ran = run_locked(body, awakened);
  }
  if (ran && !awakened.empty()) {
    listeners_.tell([&](const Listener& listener) {
      return std::ranges::any_of(listener.names, [&](const QueueName& name) { return awakened.contains(name); });
    });
  }
  return ran;
}

}  // namespace fenceline::sqlite
