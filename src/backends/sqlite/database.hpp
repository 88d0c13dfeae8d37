// A thin wrapper of SQLite's C API: a connection with its prepared statements. Failures of SQLite are thrown as
// SqliteFailure inside this folder and become an Error where a call of the store ends; nothing else throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backends/sqlite/batch_table.hpp"
#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace fenceline::sqlite {

struct SqliteFailure {
  int code;             // extended result code
  std::string message;  // of SQLite

  // full, broken, refused, unavailable; nothing was changed unless it happened in a commit. `store` opens the
  // message.
  Error error(std::string_view store) const;
  bool is_io_error() const;
};

// SQLite counts its memory for the whole process behind one lock, which every thread takes at every allocation. For a
// program that does not read the count; before its first connection.
void count_no_memory();

struct Bytes {
  std::string_view view;
};

// A statement while it is used; it is reset when this goes away.
class Rows {
 public:
  explicit Rows(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows();

  bool next();
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  // Valid until the next next().
  std::string_view bytes(int column) const;
  std::string text(int column) const { return std::string(bytes(column)); }
  std::optional<std::int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // `flags` as for sqlite3_open_v2. Throws.
  Database(const std::string& path, int flags);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `sql` must be a constant: its address names the prepared statement. Arguments are bound in order.
  template <class... Arguments>
  Rows query(const char* sql, const Arguments&... arguments) {
    sqlite3_stmt* statement = prepared(sql);
    int at = 0;
    (bind(statement, ++at, arguments), ...);
    return Rows(db_, statement);
  }
  template <class... Arguments>
  void execute(const char* sql, const Arguments&... arguments) {
    Rows rows = query(sql, arguments...);
    while (rows.next()) {
    }
  }
  // The first column of the first row; empty without a row or with a null.
  template <class... Arguments>
  std::optional<std::int64_t> number(const char* sql, const Arguments&... arguments) {
    Rows rows = query(sql, arguments...);
    if (!rows.next() || rows.is_null(0)) return std::nullopt;
    return rows.integer(0);
  }
  // Any text, several statements, not kept.
  void run_script(const std::string& sql);
  std::string pragma_text(const std::string& sql);

  std::int64_t last_insert_rowid() const;
  std::int64_t changes() const;
  bool in_transaction() const;
  sqlite3* handle() const { return db_; }
  // What the table `batch` shows to the statements of this connection.
  BatchTable& batch() { return batch_; }

 private:
  sqlite3_stmt* prepared(const char* sql);
  void bind(sqlite3_stmt* statement, int at, std::int64_t value);
  void bind(sqlite3_stmt* statement, int at, int value) { bind(statement, at, static_cast<std::int64_t>(value)); }
  void bind(sqlite3_stmt* statement, int at, const std::optional<std::int64_t>& value) {
    if (value) bind(statement, at, *value);  // unbound is null
  }
  void bind(sqlite3_stmt* statement, int at, std::string_view text);
  void bind(sqlite3_stmt* statement, int at, const std::string& text) { bind(statement, at, std::string_view(text)); }
  void bind(sqlite3_stmt* statement, int at, Bytes blob);
  void bind(sqlite3_stmt* statement, int at, const std::optional<Bytes>& blob) {
    if (blob) bind(statement, at, *blob);
  }

  sqlite3* db_ = nullptr;
  BatchTable batch_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace fenceline::sqlite
