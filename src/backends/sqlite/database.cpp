#include "backends/sqlite/database.hpp"

#include <sqlite3.h>

#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

[[noreturn]] void raise(sqlite3* db) { throw SqliteFailure{sqlite3_extended_errcode(db), sqlite3_errmsg(db)}; }

}  // namespace

void count_no_memory() { ::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

bool SqliteFailure::is_io_error() const {
  const int primary = code & 0xff;
  return primary == SQLITE_IOERR || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

Error SqliteFailure::error(std::string_view store) const {
  const std::string opening = "store " + std::string(store) + ": ";
  // Shared memory that could not grow: SQLite's word for a full disk below the -shm file.
  if (code == SQLITE_IOERR_SHMSIZE) return {Code::full, opening + "the disk is full"};
  switch (code & 0xff) {
    case SQLITE_FULL: return {Code::full, opening + "the disk is full"};
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_SHORT_READ)
        return {Code::broken, opening +
                                  "a file of it is shorter than it must be, as if it had been cut, emptied or "
                                  "deleted; stop what uses it and bring a backup back: fenceline restore FILE"};
      return {Code::broken, opening + "i/o error (" + message + ", sqlite code " + std::to_string(code) + ")"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {Code::broken, opening + "the file is damaged (" + message + ")"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Code::refused, opening + "it is read-only (" + message + ")"};
    case SQLITE_CANTOPEN: return {Code::refused, opening + "it cannot be opened (" + message + ")"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::unavailable, opening + "a connection that is not fenceline's holds its lock (" + message + ")"};
    case SQLITE_NOMEM: return {Code::unavailable, opening + "out of memory"};
    default: return {Code::unavailable, opening + message + " (sqlite code " + std::to_string(code) + ")"};
  }
}

Rows::~Rows() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Rows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) raise(db_);
  return false;
}

bool Rows::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Rows::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data ? std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)) : std::string_view();
}

Database::Database(const std::string& path, int flags) {
  const int code = sqlite3_open_v2(path.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) {
    SqliteFailure failure{code, db_ ? sqlite3_errmsg(db_) : "out of memory"};
    sqlite3_close_v2(db_);
    throw failure;
  }
  sqlite3_extended_result_codes(db_, 1);
  // The last connection that closes would checkpoint outside the turn of the writers.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  batch_.connect(db_);
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(db_);
}

sqlite3_stmt* Database::prepared(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (!statement && sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    raise(db_);
  check(sqlite3_stmt_busy(statement) == 0, "a statement is used inside itself");
  return statement;
}

void Database::bind(sqlite3_stmt* statement, int at, std::int64_t value) {
  if (sqlite3_bind_int64(statement, at, value) != SQLITE_OK) raise(db_);
}

// Copied: query() returns while the arguments may be gone.
void Database::bind(sqlite3_stmt* statement, int at, std::string_view text) {
  const char* data = text.data() ? text.data() : "";
  if (sqlite3_bind_text64(statement, at, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK) raise(db_);
}

void Database::bind(sqlite3_stmt* statement, int at, Bytes blob) {
  const char* data = blob.view.data() ? blob.view.data() : "";
  if (sqlite3_bind_blob64(statement, at, data, blob.view.size(), SQLITE_TRANSIENT) != SQLITE_OK) raise(db_);
}

void Database::run_script(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) raise(db_);
}

std::string Database::pragma_text(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) raise(db_);
  std::string answer;
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) answer.assign(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) raise(db_);
  return answer;
}

std::int64_t Database::last_insert_rowid() const { return sqlite3_last_insert_rowid(db_); }
std::int64_t Database::changes() const { return sqlite3_changes64(db_); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

}  // namespace fenceline::sqlite
