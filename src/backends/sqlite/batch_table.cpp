#include "backends/sqlite/batch_table.hpp"

#include <sqlite3.h>

#include <new>

namespace fenceline::sqlite {
namespace {

struct Table {
  sqlite3_vtab base;  // SQLite's part comes first: it hands out pointers to it
  BatchTable* batch;
};

struct Cursor {
  sqlite3_vtab_cursor base;
  std::size_t row;
};

BatchTable& batch_of(sqlite3_vtab_cursor* cursor) { return *reinterpret_cast<Table*>(cursor->pVtab)->batch; }
std::size_t& row_of(sqlite3_vtab_cursor* cursor) { return reinterpret_cast<Cursor*>(cursor)->row; }

int connect_table(sqlite3* db, void* batch, int, const char* const*, sqlite3_vtab** out, char**) {
  const int code = sqlite3_declare_vtab(
      db, "CREATE TABLE batch(n, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17)");
  if (code != SQLITE_OK) return code;
  auto* table = new (std::nothrow) Table{{}, static_cast<BatchTable*>(batch)};
  if (!table) return SQLITE_NOMEM;
  *out = &table->base;
  return SQLITE_OK;
}

int disconnect_table(sqlite3_vtab* table) {
  delete reinterpret_cast<Table*>(table);
  return SQLITE_OK;
}

// Always read from its first row to its last; statements put it on the outside of their joins.
int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  info->estimatedCost = 1000;
  info->estimatedRows = 1000;
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  auto* cursor = new (std::nothrow) Cursor{};
  if (!cursor) return SQLITE_NOMEM;
  *out = &cursor->base;
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete reinterpret_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int first_row(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  row_of(cursor) = 0;
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* cursor) {
  ++row_of(cursor);
  return SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* cursor) { return row_of(cursor) >= batch_of(cursor).rows() ? 1 : 0; }

int read_column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
  const std::size_t row = row_of(cursor);
  if (column == 0) {
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(row));
    return SQLITE_OK;
  }
  const Value value = batch_of(cursor).value(row, column - 1);
  const char* data = value.view.data() ? value.view.data() : "";
  switch (value.kind) {
    case Value::Kind::null: sqlite3_result_null(context); break;
    case Value::Kind::integer: sqlite3_result_int64(context, value.number); break;
    case Value::Kind::text: sqlite3_result_text64(context, data, value.view.size(), SQLITE_STATIC, SQLITE_UTF8); break;
    case Value::Kind::blob: sqlite3_result_blob64(context, data, value.view.size(), SQLITE_STATIC); break;
  }
  return SQLITE_OK;
}

int read_rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
  *rowid = static_cast<sqlite3_int64>(row_of(cursor));
  return SQLITE_OK;
}

// Eponymous: without xCreate it needs no CREATE VIRTUAL TABLE and stands in no schema.
sqlite3_module make_module() {
  sqlite3_module module{};
  module.xConnect = connect_table;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect_table;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = first_row;
  module.xNext = next_row;
  module.xEof = at_end;
  module.xColumn = read_column;
  module.xRowid = read_rowid;
  return module;
}

}  // namespace

void BatchTable::connect(sqlite3* db) {
  static const sqlite3_module module = make_module();
  sqlite3_create_module_v2(db, "batch", &module, this, nullptr);
}

}  // namespace fenceline::sqlite
