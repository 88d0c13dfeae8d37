// What a SqliteStore is made of: a direct connection, or a writer, readers and the two files beside the database.
#pragma once

#include <sys/types.h>

#include <memory>

#include "backends/sqlite/direct.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/lock_watches.hpp"
#include "backends/sqlite/readers.hpp"
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/wake_file.hpp"
#include "backends/sqlite/writer.hpp"

namespace fenceline {

struct SqliteStore::Parts {
  Runtime& runtime;
  Clock& clock;
  Log log;
  SqliteOptions options;   // with the canonical path
  std::string given_path;  // as the user wrote it
  pid_t pid;

  std::unique_ptr<sqlite::DirectConnection> direct;  // in memory: this one only

  std::unique_ptr<sqlite::LockFile> locks;
  std::unique_ptr<sqlite::Database> writer_db;
  std::unique_ptr<sqlite::WakeFile> wakes;
  std::unique_ptr<sqlite::LockWatches> lock_watches;
  std::unique_ptr<sqlite::Readers> readers;
  std::unique_ptr<sqlite::Writer> writer;  // ends first
};

}  // namespace fenceline
