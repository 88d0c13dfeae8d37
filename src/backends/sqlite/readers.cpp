#include "backends/sqlite/readers.hpp"

#include "backends/sqlite/opening.hpp"

namespace fenceline::sqlite {

std::unique_ptr<Readers::Connection> Readers::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>(open_reader(options_));
}

Result<void> Readers::run(const std::function<void(Call&)>& body) {
  try {
    std::unique_ptr<Connection> connection = borrow();
    Database& db = *connection->db;
    db.execute("BEGIN");
    // Takes the snapshot before the clock is read: a lease must not look longer than it was granted.
    db.execute("SELECT value FROM meta WHERE key = 'floor'");
    Call call(db, connection->names, clock_, clock_.now());
    body(call);
    db.execute("COMMIT");
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
    return {};
  } catch (const SqliteFailure& failure) {
    return std::unexpected(failure.error(options_.path));
  }
}

}  // namespace fenceline::sqlite
