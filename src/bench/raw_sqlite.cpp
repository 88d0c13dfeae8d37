// The raw side on SQLite. Its pragmas are those of our own connections, so that none of them makes the difference;
// only the checkpoints are the library's default (every 1000 pages, by whoever commits).
#include <sqlite3.h>

#include <string_view>

#include "bench/raw_queue.hpp"

namespace fenceline::bench {
namespace {

constexpr const char* kSetUp = "CREATE TABLE IF NOT EXISTS queue (state INTEGER NOT NULL, payload TEXT NOT NULL)";
constexpr const char* kPragmas =
    "PRAGMA mmap_size = 0; PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA "
    "busy_timeout = 60000;";

constexpr const char* kInsertRow = "INSERT INTO queue (state, payload) VALUES (0, ?1)";
constexpr const char* kInsertSet = "INSERT INTO queue (state, payload) SELECT 0, text FROM shown";
constexpr const char* kTake =
    "UPDATE queue SET state = 1 WHERE rowid IN (SELECT rowid FROM queue WHERE state = 0 ORDER BY rowid LIMIT ?1) "
    "RETURNING rowid, payload";
constexpr const char* kDeleteRow = "DELETE FROM queue WHERE rowid = ?1";
constexpr const char* kDeleteSet = "DELETE FROM queue WHERE rowid IN (SELECT number FROM shown)";

// A table `shown (text, number)` that shows vectors of ours to a statement.
struct Shown {
  const std::vector<std::string>* texts = nullptr;
  const std::vector<std::int64_t>* numbers = nullptr;

  std::size_t rows() const { return texts != nullptr ? texts->size() : numbers != nullptr ? numbers->size() : 0; }
};

struct ShownTable {
  sqlite3_vtab base{};
  Shown* shown = nullptr;
};

struct ShownCursor {
  sqlite3_vtab_cursor base{};
  std::size_t row = 0;
};

const Shown& shown_by(sqlite3_vtab_cursor* cursor) { return *reinterpret_cast<ShownTable*>(cursor->pVtab)->shown; }
ShownCursor& as_cursor(sqlite3_vtab_cursor* cursor) { return *reinterpret_cast<ShownCursor*>(cursor); }

sqlite3_module make_module() {
  sqlite3_module module{};
  module.xConnect = [](sqlite3* db, void* shown, int, const char* const*, sqlite3_vtab** table, char**) {
    const int code = sqlite3_declare_vtab(db, "CREATE TABLE shown (text TEXT, number INTEGER)");
    if (code != SQLITE_OK) return code;
    auto* made = new ShownTable;
    made->shown = static_cast<Shown*>(shown);
    *table = &made->base;
    return SQLITE_OK;
  };
  module.xDisconnect = [](sqlite3_vtab* table) {
    delete reinterpret_cast<ShownTable*>(table);
    return SQLITE_OK;
  };
  module.xBestIndex = [](sqlite3_vtab*, sqlite3_index_info* info) {
    info->estimatedRows = 1000;
    return SQLITE_OK;
  };
  module.xOpen = [](sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    *cursor = &(new ShownCursor)->base;
    return SQLITE_OK;
  };
  module.xClose = [](sqlite3_vtab_cursor* cursor) {
    delete &as_cursor(cursor);
    return SQLITE_OK;
  };
  module.xFilter = [](sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
    as_cursor(cursor).row = 0;
    return SQLITE_OK;
  };
  module.xNext = [](sqlite3_vtab_cursor* cursor) {
    as_cursor(cursor).row += 1;
    return SQLITE_OK;
  };
  module.xEof = [](sqlite3_vtab_cursor* cursor) { return as_cursor(cursor).row >= shown_by(cursor).rows() ? 1 : 0; };
  module.xColumn = [](sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
    const Shown& shown = shown_by(cursor);
    const std::size_t row = as_cursor(cursor).row;
    if (column == 0 && shown.texts != nullptr) {
      const std::string& text = (*shown.texts)[row];
      sqlite3_result_text64(context, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    } else if (column == 1 && shown.numbers != nullptr) {
      sqlite3_result_int64(context, (*shown.numbers)[row]);
    }
    return SQLITE_OK;
  };
  module.xRowid = [](sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
    *rowid = static_cast<sqlite3_int64>(as_cursor(cursor).row);
    return SQLITE_OK;
  };
  return module;
}

class RawSqlite final : public RawQueue {
 public:
  explicit RawSqlite(RawStyle style) : style_(style) {}
  ~RawSqlite() override {
    for (sqlite3_stmt* statement : {begin_, commit_, insert_, take_, remove_}) sqlite3_finalize(statement);
    sqlite3_close_v2(db_);
  }

  Result<void> open(const std::string& path, bool full) {
    static const sqlite3_module module = make_module();
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) return problem();
    sqlite3_create_module_v2(db_, "shown", &module, &shown_, nullptr);
    const bool set = style_ == RawStyle::set_based;
    const std::string pragmas =
        std::string(kPragmas) + "PRAGMA journal_mode = WAL; PRAGMA synchronous = " + (full ? "FULL" : "NORMAL");
    if (sqlite3_exec(db_, pragmas.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return problem();
    if (sqlite3_exec(db_, kSetUp, nullptr, nullptr, nullptr) != SQLITE_OK) return problem();
    const bool prepared = prepare("BEGIN IMMEDIATE", begin_) && prepare("COMMIT", commit_) &&
                          prepare(set ? kInsertSet : kInsertRow, insert_) && prepare(kTake, take_) &&
                          prepare(set ? kDeleteSet : kDeleteRow, remove_);
    return prepared ? Result<void>() : problem();
  }

  Result<void> enqueue(const std::vector<std::string>& payloads) override {
    // One row is one statement, which is a commit of its own.
    const bool alone = payloads.size() == 1;
    if (!alone && !run(begin_)) return problem();
    if (style_ == RawStyle::set_based) {
      shown_ = {.texts = &payloads};
      if (!run(insert_)) return problem();
    } else {
      for (const std::string& payload : payloads) {
        sqlite3_bind_text64(insert_, 1, payload.data(), payload.size(), SQLITE_STATIC, SQLITE_UTF8);
        if (!run(insert_)) return problem();
      }
    }
    return alone || run(commit_) ? Result<void>() : problem();
  }

  Result<std::int64_t> take_and_finish(std::int64_t most) override {
    taken_.clear();
    payloads_.clear();
    sqlite3_bind_int64(take_, 1, most);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(take_)) == SQLITE_ROW) {
      taken_.push_back(sqlite3_column_int64(take_, 0));
      payloads_.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(take_, 1)),
                             static_cast<std::size_t>(sqlite3_column_bytes(take_, 1)));
    }
    sqlite3_reset(take_);
    if (code != SQLITE_DONE) return std::unexpected(problem().error());
    if (taken_.empty()) return 0;
    if (!run(begin_) || !remove() || !run(commit_)) return std::unexpected(problem().error());
    return static_cast<std::int64_t>(taken_.size());
  }

 private:
  bool remove() {
    if (style_ == RawStyle::set_based) {
      shown_ = {.numbers = &taken_};
      return run(remove_);
    }
    for (const std::int64_t rowid : taken_) {
      sqlite3_bind_int64(remove_, 1, rowid);
      if (!run(remove_)) return false;
    }
    return true;
  }

  bool prepare(const char* sql, sqlite3_stmt*& statement) {
    return sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK;
  }
  static bool run(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    return sqlite3_reset(statement) == SQLITE_OK && code == SQLITE_DONE;
  }
  Result<void> problem() const {
    return fail(Code::unavailable, std::string("the raw side of the bench failed: ") + sqlite3_errmsg(db_));
  }

  RawStyle style_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  Shown shown_;
  std::vector<std::int64_t> taken_;
  std::vector<std::string> payloads_;
};

}  // namespace

Result<std::unique_ptr<RawQueue>> open_raw_sqlite(const std::string& path, RawStyle style, bool full) {
  auto queue = std::make_unique<RawSqlite>(style);
  if (auto ok = queue->open(path, full); !ok) return std::unexpected(ok.error());
  return std::unique_ptr<RawQueue>(std::move(queue));
}

}  // namespace fenceline::bench
