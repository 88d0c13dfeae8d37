// Tables of the application that take no write under an older fence: the triggers, and the SQL function that they ask.
// The function is known to connections of ours only, so every other connection fails to compile a write, with its name
// as the reason.
//
// A statement's fence is what it assigns to the fence column, or that of act_as(). That it assigns the column is
// seen by a BEFORE UPDATE OF trigger, which leaves the row's key for the AFTER UPDATE trigger: a row that comes there
// without it was changed by a statement that is silent on the fence. What is checked holds until the end of the
// transaction, since nobody else can write meanwhile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "backends/sqlite/application_rules.hpp"
#include "backends/sqlite/database.hpp"
#include "base/result.hpp"
#include "fenceline/sqlite.hpp"
#include "model/fence.hpp"

struct sqlite3_context;
struct sqlite3_value;

namespace fenceline::sqlite {

class TableGate {
 public:
  // Empty: there is no such job; if its fences may have been forgotten, no fence up to `floor` counts.
  struct JobFence {
    bool is_job = false;
    Fence newest = 0;
    Fence floor = 0;
  };
  using FindJob = std::function<JobFence(const JobId&)>;
  // The newest fence of a lock; empty: nothing is known of it.
  using FindLock = std::function<std::optional<Fence>(const std::string& resource)>;

  // Registers the function; must stay where it is as long as the connection is open. Both looks may throw
  // SqliteFailure.
  TableGate(Database& db, ApplicationRules& rules, std::string ns, FindJob find_job, FindLock find_lock);
  TableGate(const TableGate&) = delete;
  TableGate& operator=(const TableGate&) = delete;

  // A transaction begins: nothing is known of any resource.
  void begin();
  // Errors: lost, invalid. Throws SqliteFailure.
  Result<void> act_as(const std::string& resource, Fence fence);
  // Whether this is the newest fence of the lock; then it is seen. Errors: lost, not_found, invalid. Throws
  // SqliteFailure.
  Result<void> guard_lock(const std::string& resource, Fence fence);
  // Writes down the largest fences of resources that are no jobs, in the transaction. Throws SqliteFailure.
  void remember();

  // Both in a transaction, as ours. Errors: not_found, refused. Throw SqliteFailure.
  Result<void> protect(const ProtectedTable& table, const OwnNames& own);
  void unprotect(const std::string& table);
  // In lower case.
  std::set<std::string> protected_tables();

 private:
  static void on_call(sqlite3_context* context, int count, sqlite3_value** values);
  // The fence in force, or why there is none.
  Result<Fence> pass(sqlite3_value** values);
  Result<Fence> in_force(const std::string& table, const std::optional<std::string>& resource) const;
  // Whether this fence counts for the resource; then it is seen.
  Result<void> check(const std::string& resource, Fence fence);
  Fence restored_above();
  Fence remembered(const std::string& resource);
  bool has_memory();
  void make_memory();

  Database& db_;
  ApplicationRules& rules_;
  std::string ns_;
  FindJob find_job_;
  FindLock find_lock_;

  // Of the transaction at hand.
  std::map<std::string, Fence> acting_;
  std::optional<std::string> acting_last_;
  std::map<std::string, JobFence> jobs_;
  std::map<std::string, Fence> seen_;  // of resources that are no jobs, locks among them
  // Rows whose fence column is being assigned: to whom, and which.
  using Assigned = std::map<std::string, std::pair<std::optional<std::string>, Fence>>;
  Assigned assigned_;
};

}  // namespace fenceline::sqlite
