// The pages of one SQLite file into another, with progress and a way to stop; and whether what came out is whole.
#pragma once

#include <stop_token>
#include <string>

#include "backends/sqlite/backup.hpp"
#include "backends/sqlite/database.hpp"

namespace fenceline::sqlite {

// All of what `from` sees in the transaction that it has open. `to` must be empty and nobody else's. Errors:
// unavailable (stopped). Throws SqliteFailure.
Result<void> copy_pages(Database& from, Database& to, const CopyProgress& progress, std::stop_token stop);

// A file for copy_pages: what it holds is not on the disk until somebody brings it there. Throws SqliteFailure.
std::unique_ptr<Database> open_copy(const std::string& path);

// Takes the log away, so that the file is all there is of it, and looks at every page. Errors: broken (damaged; `named`
// opens the message), unavailable (stopped). Throws SqliteFailure.
Result<void> finish_copy(Database& copy, const std::string& named, const CopyProgress& progress, std::stop_token stop);

// What SQLite may have left beside a copy that was given up.
void remove_copy_files(const std::string& path);

}  // namespace fenceline::sqlite
