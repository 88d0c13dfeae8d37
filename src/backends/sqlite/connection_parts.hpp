// What a connection of the application is made of.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>

#include "backends/sqlite/application_rules.hpp"
#include "backends/sqlite/checkpoints.hpp"
#include "backends/sqlite/database.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/names.hpp"
#include "backends/sqlite/table_gate.hpp"
#include "backends/sqlite/verbs.hpp"
#include "backends/sqlite/wake_file.hpp"
#include "backends/sqlite/writer.hpp"
#include "base/ascending_uuids.hpp"
#include "runtime/runtime.hpp"

namespace fenceline {

// Its mutable half lives while a transaction is open: then it has the writers' turn.
struct SqliteConnectionParts {
  SqliteConnectionParts(Runtime& used_runtime, const Clock& used_clock, Log log, const sqlite::OwnNames& names_of_ours,
                        sqlite::Writer& its_writer, sqlite::WakeFile& its_wakes,
                        std::unique_ptr<sqlite::LockFile> lock_file, std::unique_ptr<sqlite::Database> database,
                        std::string file, std::string namespace_name, int checkpoint_pages);

  Runtime& runtime;
  const Clock& clock;
  const sqlite::OwnNames& own;
  sqlite::Writer& writer;
  sqlite::WakeFile& wakes;
  std::unique_ptr<sqlite::LockFile> locks;  // its own, so that it takes turns with the writer of this process too
  std::unique_ptr<sqlite::Database> db;
  std::string path;
  std::string ns;
  pid_t pid;
  sqlite::Names names;
  sqlite::Checkpoints checkpoints;
  sqlite::ApplicationRules rules;
  sqlite::TableGate gate;
  AscendingUuids ids;

  bool open = false;         // a transaction
  Instant entered{};         // when it was asked for
  std::int64_t schema = -1;  // version of the schema whose protected tables are known
  std::set<sqlite::QueueName> awakened;

  // Waits for the turn and begins. Errors: unavailable, broken.
  Result<void> begin(Duration timeout);
  // Ends the transaction and the turn.
  Result<void> commit();
  void rollback();

 private:
  Result<void> take_turn(Duration timeout);
  void end();
};

}  // namespace fenceline
