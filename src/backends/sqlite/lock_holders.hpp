// Who holds SQLite's own locks, of other programs than this process: as the kernel lists them. The file itself is not
// opened, which would end our own locks on it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fenceline::sqlite {

// Processes with a transaction that reads, or writes, by the log of this database. Those of another container may be
// missing.
std::vector<pid_t> readers_from_outside(const std::string& path);
std::vector<pid_t> writers_from_outside(const std::string& path);

// "process 4711 (sqlite3)", "process 4711 (worker, stopped)".
std::string describe_process(pid_t pid);
bool is_stopped(pid_t pid);

}  // namespace fenceline::sqlite
