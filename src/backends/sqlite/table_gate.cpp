#include "backends/sqlite/table_gate.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace fenceline::sqlite {
namespace {

// What another connection is told: "no such function: ...".
constexpr const char* kFunction = "fenceline_protects_this_table_write_through_SqliteStore_connect";

// Arguments of the function.
enum At { op, ns, table, key, old_resource, new_resource, old_fence, new_fence, count };

constexpr const char* kHasMemory = "SELECT 1 FROM sqlite_schema WHERE name = 'fenceline_fence'";
constexpr const char* kMakeMemory =
    "CREATE TABLE IF NOT EXISTS fenceline_fence (ns TEXT NOT NULL, resource TEXT NOT NULL, fence INTEGER NOT NULL,"
    " PRIMARY KEY (ns, resource)) WITHOUT ROWID";
constexpr const char* kRestoredAbove = "SELECT value FROM meta WHERE key = 'restored_above'";
constexpr const char* kRemembered = "SELECT fence FROM fenceline_fence WHERE ns = ?1 AND resource = ?2";
constexpr const char* kRemember =
    "INSERT INTO fenceline_fence (ns, resource, fence) VALUES (?1, ?2, ?3)"
    " ON CONFLICT DO UPDATE SET fence = excluded.fence WHERE excluded.fence > fence";
constexpr const char* kProtected =
    "SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'fenceline\\_gate\\_%' ESCAPE '\\'";
constexpr const char* kTableKind =
    "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?1)";
constexpr const char* kTableName =
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?1)";
constexpr const char* kColumns = "SELECT name, pk FROM pragma_table_xinfo(?1) ORDER BY pk";

std::string text_at(sqlite3_value** values, int at) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[at]));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(values[at]))) : std::string();
}

std::optional<std::string> maybe_text_at(sqlite3_value** values, int at) {
  return sqlite3_value_type(values[at]) == SQLITE_NULL ? std::nullopt : std::optional(text_at(values, at));
}

// 0: none was given. -1: something that is no fence.
Fence fence_at(sqlite3_value** values, int at) {
  if (sqlite3_value_type(values[at]) == SQLITE_NULL) return 0;
  if (sqlite3_value_type(values[at]) != SQLITE_INTEGER) return -1;
  const Fence fence = sqlite3_value_int64(values[at]);
  return fence >= 0 && fence <= kFenceMax ? fence : -1;
}

std::unexpected<Error> stale(const std::string& of, Fence fence, Fence newest) {
  return fail(Code::lost, of + " is under fence " + std::to_string(newest) + "; fence " + std::to_string(fence) +
                              (fence < newest ? " is stale" : " was never granted") + ", and nothing was written");
}

std::string quoted(std::string_view name, char quote) {
  std::string text(1, quote);
  for (const char c : name) text.append(c == quote ? 2 : 1, c);
  return text + quote;
}
std::string identifier(std::string_view name) { return quoted(name, '"'); }
std::string literal(std::string_view text) { return quoted(text, '\''); }

std::string trigger_name(const char* kind, const std::string& table) {
  return identifier("fenceline_gate_" + std::string(kind) + "_" + table);
}

// How a row of the table is found again.
struct RowKey {
  std::vector<std::string> columns;

  std::string where_new() const {
    std::string text;
    for (const std::string& column : columns) text += (text.empty() ? "" : " AND ") + column + " IS NEW." + column;
    return text;
  }
  std::string of_old() const {
    std::string text;
    for (const std::string& column : columns) text += (text.empty() ? "" : "||','||") + ("quote(OLD." + column + ")");
    return text;
  }
};

}  // namespace

TableGate::TableGate(Database& db, ApplicationRules& rules, std::string namespace_name, FindJob find_job,
                     FindLock find_lock)
    : db_(db),
      rules_(rules),
      ns_(std::move(namespace_name)),
      find_job_(std::move(find_job)),
      find_lock_(std::move(find_lock)) {
  const ApplicationRules::Ours ours(rules_);
  // Otherwise a REPLACE would remove rows without asking their DELETE trigger.
  db_.run_script("PRAGMA recursive_triggers = ON");
  sqlite3_create_function_v2(db_.handle(), kFunction, At::count, SQLITE_UTF8 | SQLITE_INNOCUOUS, this, &on_call,
                             nullptr, nullptr, nullptr);
}

void TableGate::begin() {
  acting_.clear();
  acting_last_.reset();
  jobs_.clear();
  seen_.clear();
  assigned_.clear();
}

void TableGate::on_call(sqlite3_context* context, int, sqlite3_value** values) {
  auto& self = *static_cast<TableGate*>(sqlite3_user_data(context));
  Result<Fence> fence = 0;
  try {
    const ApplicationRules::Ours ours(self.rules_);
    fence = self.pass(values);
  } catch (const SqliteFailure& failure) {
    fence = fail(Code::unavailable, failure.message);
  }
  if (fence) {
    sqlite3_result_int64(context, *fence);
    return;
  }
  self.rules_.refuse(fence.error().message);
  sqlite3_result_error(context, fence.error().message.c_str(), -1);
  sqlite3_result_error_code(context, SQLITE_CONSTRAINT_TRIGGER);
}

Result<Fence> TableGate::in_force(const std::string& table, const std::optional<std::string>& resource) const {
  const auto found = resource ? acting_.find(*resource) : acting_last_ ? acting_.find(*acting_last_) : acting_.end();
  if (found != acting_.end()) return found->second;
  return fail(Code::lost, "table " + table + " is protected: set its fence column to your fence, or call act_as(" +
                              (resource ? "\"" + *resource + "\"" : "resource") + ", fence) first");
}

// assign: before an UPDATE that assigns the fence column; update: after any; insert: after; delete: before; stamp:
// which fence a row shall have that was written in silence.
Result<Fence> TableGate::pass(sqlite3_value** values) {
  const std::string what = text_at(values, At::op);
  const std::string name = text_at(values, At::table);
  const std::string row = name + "|" + text_at(values, At::key);
  const auto from = maybe_text_at(values, At::old_resource);
  const auto to = maybe_text_at(values, At::new_resource);
  const Fence before = std::max<Fence>(0, fence_at(values, At::old_fence));
  const Fence after = fence_at(values, At::new_fence);
  if (text_at(values, At::ns) != ns_)
    return fail(Code::lost, "table " + name + " is protected for namespace " + text_at(values, At::ns) +
                                "; this connection is of " + ns_);
  if (what == "stamp") return in_force(name, to);
  if (after < 0 || (what == "assign" && after == 0))
    return fail(Code::lost, "table " + name + ": the value assigned to its fence column is not a fence");

  const bool is_update = what == "update";
  // What was looked at before the UPDATE counts for this very change only: a row that a constraint kept as it was
  // leaves its mark behind.
  const auto looked_at = is_update ? assigned_.extract(row) : Assigned::node_type{};
  const bool assigned = looked_at && looked_at.mapped() == std::pair(to, after);
  const bool assigns = what == "assign" || (what == "insert" && after > 0) || assigned;
  const bool changes_hands = from && to && *from != *to;
  Result<Fence> fence = after;
  if (!assigns) fence = in_force(name, what == "delete" ? from : to);
  if (!fence || (is_update && assigns)) return fence;  // the BEFORE trigger has looked at it
  if (!assigns && changes_hands)
    return fail(Code::lost, "table " + name + ": a row whose resource changes must also be given its fence");
  if (assigns) {
    const Result<Fence> acting = in_force(name, to);
    if (acting && *acting != *fence)
      return fail(Code::lost, "table " + name + ": fence " + std::to_string(*fence) +
                                  " was assigned under act_as of fence " + std::to_string(*acting));
  }
  // Who has the row now must let it go under its own fence.
  const Result<Fence> giving = changes_hands ? in_force(name, from) : fence;
  if (!giving) return giving;
  if (*giving < before) return stale("a row of table " + name, *giving, before);
  if (from) {
    if (auto ok = check(*from, *giving); !ok) return std::unexpected(ok.error());
  }
  if (to && to != from) {
    if (auto ok = check(*to, *fence); !ok) return std::unexpected(ok.error());
  }
  if (what == "assign") assigned_.insert_or_assign(row, std::pair(to, after));
  return fence;
}

Fence TableGate::remembered(const std::string& resource) {
  const auto seen = seen_.find(resource);
  if (seen != seen_.end()) return seen->second;
  return has_memory() ? db_.number(kRemembered, ns_, resource).value_or(0) : 0;
}

// What was granted before a restore is good for nothing, though nobody remembers to whom.
Fence TableGate::restored_above() { return db_.number(kRestoredAbove).value_or(0); }

Result<void> TableGate::check(const std::string& resource, Fence fence) {
  if (const auto id = parse_uuid(resource)) {
    auto known = jobs_.find(resource);
    if (known == jobs_.end()) known = jobs_.emplace(resource, find_job_(*id)).first;
    const JobFence& job = known->second;
    if (job.is_job) return job.newest == fence ? Result<void>() : stale("job " + resource, fence, job.newest);
    if (fence <= job.floor)
      return fail(
          Code::lost,
          "job " + resource + " no longer exists in the store, so its fence cannot be checked; nothing was written");
  }
  if (const auto newest = find_lock_(resource)) {
    if (*newest != fence) return stale("lock " + resource, fence, *newest);
    seen_[resource] = fence;
    return {};
  }
  const Fence largest = std::max(remembered(resource), restored_above());
  if (fence < largest) return stale(resource, fence, largest);
  seen_[resource] = fence;
  return {};
}

Result<void> TableGate::act_as(const std::string& resource, Fence fence) {
  if (fence < 1 || fence > kFenceMax) return fail(Code::invalid, std::to_string(fence) + " is not a fence");
  if (resource.empty() || resource.size() > kKeyBytesMax) return fail(Code::invalid, "a resource has 1 to 256 bytes");
  if (auto ok = check(resource, fence); !ok) return ok;
  acting_[resource] = fence;
  acting_last_ = resource;
  return {};
}

Result<void> TableGate::guard_lock(const std::string& resource, Fence fence) {
  if (fence < 1 || fence > kFenceMax) return fail(Code::invalid, std::to_string(fence) + " is not a lock's fence");
  const auto newest = find_lock_(resource);
  if (!newest)
    return fail(Code::not_found, "unknown lock " + resource + ": it was never held, or has been free for over an hour");
  if (*newest != fence) return stale("lock " + resource, fence, *newest);
  seen_[resource] = fence;
  return {};
}

bool TableGate::has_memory() { return db_.number(kHasMemory).has_value(); }

void TableGate::make_memory() {
  if (!has_memory()) db_.run_script(kMakeMemory);
}

void TableGate::remember() {
  if (seen_.empty()) return;
  make_memory();
  for (const auto& [resource, fence] : seen_) db_.execute(kRemember, ns_, resource, fence);
}

std::set<std::string> TableGate::protected_tables() {
  std::set<std::string> tables;
  auto rows = db_.query(kProtected);
  while (rows.next()) tables.insert(lower_case(rows.bytes(0)));
  return tables;
}

Result<void> TableGate::protect(const ProtectedTable& wanted, const OwnNames& own) {
  bool has_rowid = true;
  std::string name = wanted.table;
  {
    auto rows = db_.query(kTableKind, wanted.table);
    if (!rows.next()) return fail(Code::not_found, "there is no table " + wanted.table);
    if (own.include(wanted.table) || lower_case(wanted.table).starts_with("sqlite_"))
      return fail(Code::refused, "table " + wanted.table + " is not yours to protect");
    if (rows.bytes(0) != "table")
      return fail(Code::refused, wanted.table + " is a " + rows.text(0) + "; only plain tables can be protected");
    has_rowid = rows.integer(1) == 0;
  }
  if (auto rows = db_.query(kTableName, wanted.table); rows.next()) name = rows.text(0);
  RowKey row_key;
  std::set<std::string> columns;
  {
    auto rows = db_.query(kColumns, name);
    while (rows.next()) {
      columns.insert(lower_case(rows.bytes(0)));
      if (!has_rowid && rows.integer(1) > 0) row_key.columns.push_back(identifier(rows.bytes(0)));
    }
  }
  for (const std::string& column : {wanted.fence_column, wanted.resource_column}) {
    if (!column.empty() && !columns.contains(lower_case(column)))
      return fail(Code::not_found, "table " + name + " has no column " + column);
  }
  if (wanted.fence_column.empty()) return fail(Code::invalid, "name the fence column of table " + name);
  for (const char* rowid : {"rowid", "_rowid_", "oid"}) {
    if (has_rowid && row_key.columns.empty() && !columns.contains(rowid)) row_key.columns.emplace_back(rowid);
  }
  if (row_key.columns.empty())
    return fail(Code::refused, "table " + name + " hides its rowid behind columns of that name");

  unprotect(name);
  make_memory();
  const std::string fence = identifier(wanted.fence_column);
  const std::string on = " ON " + identifier(name) + " ";
  const auto resource_of = [&](const char* row) {
    return wanted.resource_column.empty() ? "NULL" : row + identifier(wanted.resource_column);
  };
  const auto call = [&](const char* what, bool has_old, bool has_new) {
    return std::string(kFunction) + "(" + literal(what) + ", " + literal(ns_) + ", " + literal(name) + ", " +
           (has_old ? row_key.of_old() : "NULL") + ", " + (has_old ? resource_of("OLD.") : "NULL") + ", " +
           (has_new ? resource_of("NEW.") : "NULL") + ", " + (has_old ? "OLD." + fence : "NULL") + ", " +
           (has_new ? "NEW." + fence : "NULL") + ")";
  };
  // The function itself says why. RAISE stands beside it because it is what makes SQLite keep the means to undo a
  // statement.
  const auto ask = [&](const char* what, bool has_old, bool has_new) {
    return "SELECT RAISE(ABORT, 'refused by fenceline') WHERE " + call(what, has_old, has_new) + " IS NULL; ";
  };
  const auto stamp = [&](bool has_old) {
    return "UPDATE " + identifier(name) + " SET " + fence + " = " + call("stamp", has_old, true) + " WHERE " +
           row_key.where_new() + "; " + ask("stamp", has_old, true);
  };
  db_.run_script("CREATE TRIGGER " + trigger_name("assign", name) + " BEFORE UPDATE OF " + fence + on + "BEGIN " +
                 ask("assign", true, true) + "END");
  db_.run_script("CREATE TRIGGER " + trigger_name("delete", name) + " BEFORE DELETE" + on + "BEGIN " +
                 ask("delete", true, false) + "END");
  db_.run_script("CREATE TRIGGER " + trigger_name("update", name) + " AFTER UPDATE" + on + "WHEN " +
                 call("update", true, true) + " IS NOT NEW." + fence + " BEGIN " + stamp(true) + "END");
  db_.run_script("CREATE TRIGGER " + trigger_name("insert", name) + " AFTER INSERT" + on + "WHEN " +
                 call("insert", false, true) + " IS NOT NEW." + fence + " BEGIN " + stamp(false) + "END");
  return {};
}

void TableGate::unprotect(const std::string& table) {
  for (const char* kind : {"assign", "delete", "update", "insert"})
    db_.run_script("DROP TRIGGER IF EXISTS " + trigger_name(kind, table));
}

}  // namespace fenceline::sqlite
