// From a path to a store that is ours, of this version, in WAL mode and in this boot; or a refusal that left the file
// as it was.
#pragma once

#include <memory>

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "base/result.hpp"

namespace fenceline::sqlite {

struct OpenedFile {
  std::unique_ptr<LockFile> locks;   // with the presence byte shared
  std::unique_ptr<Database> writer;  // configured
};

// Errors as SqliteStore::open.
Result<OpenedFile> open_file(Runtime& runtime, Clock& clock, const SqliteOptions& options);

// Ends every lease of jobs and locks at this moment, in the transaction that is open. The rows stay, as leases that
// have run out: the claim is the rescue. Throws SqliteFailure.
void end_every_lease(Database& db, Clock& clock);

// A connection that only reads. Throws SqliteFailure.
std::unique_ptr<Database> open_reader(const SqliteOptions& options);

// A private store in memory, set up. Throws SqliteFailure.
std::unique_ptr<Database> open_in_memory(Clock& clock, const SqliteOptions& options);

}  // namespace fenceline::sqlite
