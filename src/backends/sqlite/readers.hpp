// Connections that only read: one for each reader at a time, kept for the next. Every read is one short transaction, so
// that no snapshot of ours holds up a checkpoint.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/names.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

class Readers {
 public:
  Readers(const Clock& clock, SqliteOptions options) : clock_(clock), options_(std::move(options)) {}

  // Errors: what SQLite says. May be called from any thread.
  Result<void> run(const std::function<void(Call&)>& body);

 private:
  struct Connection {
    explicit Connection(std::unique_ptr<Database> opened) : db(std::move(opened)), names(*db) {}
    std::unique_ptr<Database> db;
    Names names;
  };
  std::unique_ptr<Connection> borrow();

  const Clock& clock_;
  SqliteOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace fenceline::sqlite
