// The tables of the store, their version, and what a file must look like before we touch it.
#pragma once

#include <string>
#include <vector>

#include "backends/sqlite/database.hpp"
#include "base/result.hpp"

namespace fenceline::sqlite {

inline constexpr std::int64_t kApplicationId = 0x66'6e'63'6c;  // "fncl", in the file's header
inline constexpr std::int64_t kSchemaVersion = 8;              // PRAGMA user_version: with pipelines
inline constexpr std::int64_t kSchemaWithSchedules = 7;
inline constexpr std::int64_t kSchemaWithLocks = 6;
inline constexpr std::int64_t kSchemaUpgraded =
    5;  // from this one on a file gets the tables that it lacks when it is opened

enum class FileState {
  empty,  // missing, no bytes, no tables, or not finished: may be set up
  older,  // of a version before that may be upgraded
  ours,   // of this version
};

// Looks at the file's first bytes only, so that a foreign file is not touched. Errors: refused, broken.
Result<FileState> inspect_file(const std::string& path);

// Looks through an open connection: the version may stand in the WAL. Errors: refused.
Result<FileState> inspect_database(Database& db, const std::string& path);

// Only the tables and indexes, of an empty database. Throws SqliteFailure.
void make_tables(Database& db);

// Makes the tables in one transaction; the caller has the writers' turn. `at`, `boot_id` and `actor`
// go into the first rows. Throws SqliteFailure.
void migrate(Database& db, std::int64_t at, const std::string& boot_id, const std::string& actor);

// Adds what an older file lacks, likewise. Nothing that was there is changed: processes of a version before that have
// the file open go on.
void upgrade(Database& db, std::int64_t at, const std::string& actor);

// Settings that every connection needs. `synchronous` is FULL or NORMAL.
void configure(Database& db, const std::string& synchronous);

// What a database of this version lacks: tables, columns, indexes, each "index job_group is missing". Tables of the
// application are its own.
struct MissingPart {
  std::string what;
  std::string statement;  // that makes it; empty for a column
};
std::vector<MissingPart> missing_parts(Database& db);

}  // namespace fenceline::sqlite
