// What the application's SQL may do on a connection that it got from us. SQLite asks when it compiles a statement, and
// when it commits one.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "backends/sqlite/database.hpp"
#include "runtime/clock.hpp"

namespace fenceline::sqlite {

// Whether a name of a table, view or trigger is the store's: a table of the schema, the table that shows batches, or
// anything that begins with `fenceline_`. SQLite does not tell upper from lower case, nor does this.
class OwnNames {
 public:
  // Asks a store in memory which tables it has. Throws SqliteFailure.
  explicit OwnNames(Clock& clock);
  bool include(std::string_view name) const;

 private:
  std::set<std::string> tables_;
};

class ApplicationRules {
 public:
  // Installs itself on the connection, and must stay where it is as long as that is open.
  ApplicationRules(Database& db, const OwnNames& names);
  ApplicationRules(const ApplicationRules&) = delete;
  ApplicationRules& operator=(const ApplicationRules&) = delete;

  // While one of these lives the statements are ours, and may do anything.
  class Ours {
   public:
    explicit Ours(ApplicationRules& rules) : rules_(rules) { rules_.ours_ += 1; }
    ~Ours() { rules_.ours_ -= 1; }
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;

   private:
    ApplicationRules& rules_;
  };

  void enter_transaction() { in_transaction_ = true; }
  void leave_transaction() { in_transaction_ = false; }
  void let_commit(bool let) { may_commit_ = let; }
  void set_protected(std::set<std::string> tables) { protected_ = std::move(tables); }

  void refuse(std::string why) { refusal_ = std::move(why); }
  const std::string& refusal() const { return refusal_; }
  void forget_refusal() { refusal_.clear(); }

 private:
  static int authorize(void* rules, int action, const char* first, const char* second, const char* database,
                       const char* trigger);
  static int on_commit(void* rules);
  // Empty: it may.
  std::string why_not(int action, std::string_view first, std::string_view second);
  std::string why_not_pragma(std::string_view name, bool has_value) const;

  const OwnNames& names_;
  std::set<std::string> protected_;  // in lower case
  int ours_ = 0;
  bool in_transaction_ = false;
  bool may_commit_ = false;
  std::string refusal_;
};

}  // namespace fenceline::sqlite
