#include "backends/sqlite/application_rules.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "backends/sqlite/opening.hpp"
#include "base/text.hpp"

namespace fenceline::sqlite {
namespace {

constexpr std::string_view kPrefix = "fenceline_";
constexpr std::string_view kBatchTable = "batch";

// With a value, these change nothing that the store relies on.
constexpr std::array<std::string_view, 18> kPragmasToSet{
    "table_info",        "table_xinfo",         "table_list",       "index_list",
    "index_info",        "index_xinfo",         "foreign_key_list", "foreign_keys",
    "foreign_key_check", "defer_foreign_keys",  "integrity_check",  "quick_check",
    "cache_size",        "case_sensitive_like", "analysis_limit",   "ignore_check_constraints",
    "function_list",     "busy_timeout"};
// Without a value, these do something.
constexpr std::array<std::string_view, 4> kPragmasThatAct{"wal_checkpoint", "incremental_vacuum", "optimize",
                                                          "wal_autocheckpoint"};

std::string_view text_of(const char* text) { return text ? std::string_view(text) : std::string_view(); }

}  // namespace

OwnNames::OwnNames(Clock& clock) {
  const auto store = open_in_memory(clock, {.path = ":memory:"});
  auto rows =
      store->query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'");
  while (rows.next()) tables_.insert(lower_case(rows.bytes(0)));
}

bool OwnNames::include(std::string_view name) const {
  const std::string lower = lower_case(name);
  return lower.starts_with(kPrefix) || lower == kBatchTable || tables_.contains(lower);
}

ApplicationRules::ApplicationRules(Database& db, const OwnNames& names) : names_(names) {
  sqlite3_set_authorizer(db.handle(), &authorize, this);
  sqlite3_commit_hook(db.handle(), &on_commit, this);
}

int ApplicationRules::authorize(void* rules, int action, const char* first, const char* second, const char*,
                                const char* trigger) {
  auto& self = *static_cast<ApplicationRules*>(rules);
  // What our own triggers do is ours; nobody else can make one of that name.
  if (self.ours_ > 0 || text_of(trigger).starts_with(kPrefix)) return SQLITE_OK;
  std::string why = self.why_not(action, text_of(first), text_of(second));
  if (why.empty()) return SQLITE_OK;
  self.refuse(std::move(why));
  return SQLITE_DENY;
}

// Without this a statement outside a transaction of ours would be a commit outside the writers' turn, which may meet a
// checkpoint.
int ApplicationRules::on_commit(void* rules) {
  auto& self = *static_cast<ApplicationRules*>(rules);
  if (self.may_commit_) return 0;
  self.refuse(self.in_transaction_ ? "the transaction is ended by its commit(), not by SQL; it was rolled back"
                                   : "writes need a transaction: call begin(); nothing was changed");
  return 1;
}

std::string ApplicationRules::why_not_pragma(std::string_view name, bool has_value) const {
  const std::string lower = lower_case(name);
  const bool listed = std::ranges::find(kPragmasToSet, lower) != kPragmasToSet.end();
  const bool acts = std::ranges::find(kPragmasThatAct, lower) != kPragmasThatAct.end();
  if (has_value ? listed : !acts) return "";
  return "PRAGMA " + lower + " would change a setting that the store relies on";
}

std::string ApplicationRules::why_not(int action, std::string_view first, std::string_view second) {
  const auto write_to = [&](std::string_view table) {
    return names_.include(table)
               ? "table " + std::string(table) + " belongs to the store: only the store's own calls write to it"
               : std::string();
  };
  const auto named = [&](std::string_view name) {
    return names_.include(name) ? "the name " + std::string(name) + " is reserved by the store; choose another one"
                                : std::string();
  };
  switch (action) {
    case SQLITE_READ: return lower_case(first) == kBatchTable ? "the name batch is reserved by the store" : "";
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_REINDEX:
    case SQLITE_ANALYZE: return write_to(first);
    case SQLITE_ALTER_TABLE:
      // It is not said what a table is renamed to: a temporary one could stand before one of the store's, and a
      // protected one slip out of its triggers.
      if (lower_case(first) == "temp") return "a temporary table cannot be altered here; create a new one";
      if (protected_.contains(lower_case(second)))
        return "table " + std::string(second) + " is protected; unprotect_table() first";
      return write_to(second);
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE: return named(first);
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VTABLE:
      if (protected_.contains(lower_case(first)))
        return "table " + std::string(first) + " is protected; unprotect_table() first";
      return write_to(first);
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TEMP_INDEX: return write_to(second);
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_TEMP_TRIGGER: {
      const std::string why = named(first);
      return why.empty() ? write_to(second) : why;
    }
    case SQLITE_TRANSACTION:
      return "transactions are opened by begin() and ended by commit() or rollback(), not by SQL";
    case SQLITE_SAVEPOINT: return in_transaction_ ? "" : "a savepoint needs a transaction: call begin()";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "another file cannot be attached here (VACUUM attaches one too): a commit over two files is not atomic";
    case SQLITE_PRAGMA: return why_not_pragma(first, !second.empty());
    default: return "";
  }
}

}  // namespace fenceline::sqlite
