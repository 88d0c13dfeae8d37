#include "backends/sqlite/file_check.hpp"

#include <sqlite3.h>

#include <memory>

#include "base/duration_text.hpp"
#include "base/text.hpp"
#include "base/valid_text.hpp"
#include "store/store_findings.hpp"

namespace fenceline::sqlite {
namespace {

struct CheckClosed {
  void operator()(sqlite3* db) const { ::sqlite3_close_v2(db); }
};
struct CheckFinalized {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};

struct CheckPatience {
  const Runtime& runtime;
  Instant until{};
};

int check_is_over(void* patience) {
  const auto* const own = static_cast<const CheckPatience*>(patience);
  return own->runtime.now() >= own->until ? 1 : 0;
}

Finding damaged_file(const std::string& path, const std::string& what) {
  return {"file",
          FindingStatus::bad,
          "the file is damaged: " + as_text(one_line(what), 200),
          "sqlite3 " + shell_word(path) + " .recover",
          "workers refuse it as soon as they touch the damaged part; bring a backup back, or recover what is readable",
          {}};
}

}  // namespace

Finding check_file(const Runtime& runtime, const std::string& path, Duration budget) {
  constexpr int kStepsBetweenLooks = 20'000;
  sqlite3* opened = nullptr;
  const int code = ::sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  const std::unique_ptr<sqlite3, CheckClosed> db(opened);
  if (code != SQLITE_OK)
    return damaged_file(path, opened != nullptr ? ::sqlite3_errmsg(opened) : "it cannot be opened");
  ::sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  CheckPatience patience{runtime, runtime.now() + budget};
  ::sqlite3_progress_handler(opened, kStepsBetweenLooks, check_is_over, &patience);
  sqlite3_stmt* prepared = nullptr;
  const int made = ::sqlite3_prepare_v2(opened, "PRAGMA quick_check(1)", -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, CheckFinalized> statement(prepared);
  const int step = made == SQLITE_OK ? ::sqlite3_step(prepared) : made;
  if (step == SQLITE_INTERRUPT)
    return {"file",
            FindingStatus::ok,
            "no damage in what " + format_duration(budget) + " are enough for; it is large",
            "",
            "",
            {}};
  const int primary = step & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    return {"file", FindingStatus::ok, "not looked at: somebody has it locked", "", "", {}};
  if (step != SQLITE_ROW) return damaged_file(path, ::sqlite3_errmsg(opened));
  const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(prepared, 0));
  const std::string said = text != nullptr ? text : "";
  if (said != "ok") return damaged_file(path, said);
  return {"file", FindingStatus::ok, "every page is whole", "", "", {}};
}

}  // namespace fenceline::sqlite
