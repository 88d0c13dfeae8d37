// When the log of a store goes back into its file. Only in the writers' turn, so that no commit and no second
// checkpoint can overlap it, by whichever connection has just committed.
#pragma once

#include <optional>
#include <string>

#include "backends/sqlite/database.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace fenceline::sqlite {

// Of one connection.
class Checkpoints {
 public:
  // Counts the pages of the log from now on. `db` must outlive it.
  Checkpoints(Database& db, Log log, std::string path, int pages);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // After a commit, in the turn. Never waits for a reader: a later commit tries again. An error: the disk failed, and
  // nothing may be written any more.
  std::optional<Error> run_if_due();
  // The same at once: a log that cannot grow on a full disk may still be emptied into the file, and then there is room.
  std::optional<Error> run();

 private:
  Database& db_;
  Log log_;
  std::string path_;
  int pages_;
  int wal_pages_ = 0;  // after the last commit of this connection, whoever wrote them
  int next_ = 0;       // pages at which to try (again)
};

}  // namespace fenceline::sqlite
