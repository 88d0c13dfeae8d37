// Group commit, deadlines, checkpoints, and the turn over several processes with their deaths.
#include "backends/sqlite/writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <latch>
#include <thread>

#include "backends/sqlite/child_testing.hpp"
#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/testing.hpp"
#include "base/crash_point.hpp"

namespace fenceline::test {
namespace {

using sqlite::Call;
using sqlite::LockFile;
using sqlite::Writer;

std::int64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

class SqliteWriter : public SqliteFile {
 protected:
  struct Rig {
    Rig(Runtime& runtime, Clock& clock, const SqliteOptions& options)
        : file(must(sqlite::open_file(runtime, clock, options))),
          wakes(""),
          writer(runtime, clock, Log(null_log_sink()), *file.writer, *file.locks, wakes,
                 {options.path, options.checkpoint_pages}) {}
    sqlite::OpenedFile file;
    sqlite::WakeFile wakes;
    Writer writer;
  };

  static bool add_trail(Call& call) {
    call.db.execute("INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('w', 0, '', '', '', '')");
    return true;
  }
  std::int64_t entries() {
    const std::vector<TrailEntry> trail = must(open()->trail("w", 1000));
    return std::count_if(trail.begin(), trail.end(), [](const TrailEntry& entry) { return entry.ns == "w"; });
  }
};

TEST_F(SqliteWriter, CommitsTheCallsThatWaitTogether) {
  Rig rig(runtime_, clock_, options());
  std::atomic<bool> may_go = false;
  std::latch begun(1);
  std::vector<std::jthread> callers;
  callers.emplace_back([&] {
    EXPECT_TRUE(rig.writer.run(1, 0, kCallTimeout, [&](Call& call) {
      begun.count_down();
      may_go.wait(false);
      return add_trail(call);
    }));
  });
  begun.wait();
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) {
    callers.emplace_back([&] {
      EXPECT_TRUE(rig.writer.run(1, 0, kCallTimeout, &add_trail));
      ++done;
    });
  }
  while (rig.writer.waiting() < 20) std::this_thread::yield();
  may_go = true;
  may_go.notify_all();
  callers.clear();
  EXPECT_EQ(done, 20);
  EXPECT_EQ(rig.writer.commits(), 2);
  EXPECT_EQ(entries(), 21);
}

TEST_F(SqliteWriter, ACallThatIsUndoneDoesNotSpoilItsNeighbours) {
  Rig rig(runtime_, clock_, options());
  std::atomic<bool> may_go = false;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      EXPECT_TRUE(rig.writer.run(1, 0, kCallTimeout, [&, i](Call& call) {
        may_go.wait(false);
        add_trail(call);
        return i % 2 == 0;
      }));
    });
  }
  std::jthread failing([&] {
    const auto ran = rig.writer.run(1, 0, kCallTimeout, [&](Call& call) {
      add_trail(call);
      call.db.execute("INSERT INTO meta VALUES ('floor', 1)");  // is there
      return true;
    });
    EXPECT_FALSE(ran);
  });
  may_go = true;
  may_go.notify_all();
  callers.clear();
  failing.join();
  EXPECT_EQ(entries(), 4);
}

TEST_F(SqliteWriter, ACallThatWasBegunAtItsDeadlineIsInDoubt) {
  Rig rig(runtime_, clock_, options());
  std::atomic<bool> may_go = false;
  const auto ran = rig.writer.run(1, 0, std::chrono::milliseconds{50}, [&may_go](Call& call) {
    may_go.wait(false);
    return add_trail(call);
  });
  EXPECT_EQ(code_of(ran), Code::in_doubt);
  may_go = true;
  may_go.notify_all();
  EXPECT_TRUE(rig.writer.run(1, 0, kCallTimeout, &add_trail));
  EXPECT_EQ(entries(), 2) << "it happened after all";
}

TEST_F(SqliteWriter, EndsAlsoOutOfAWaitForTheTurn) {
  { const auto made = open(); }
  auto other = must(LockFile::open(options().path + "-lock"));
  ASSERT_TRUE(must(other->take_turn({})));
  const Instant before = runtime_.now();
  {
    Rig rig(runtime_, clock_, options());
    EXPECT_EQ(code_of(rig.writer.run(1, 0, std::chrono::milliseconds{20}, &add_trail)), Code::unavailable);
  }
  EXPECT_LT(runtime_.now() - before, std::chrono::seconds{5});
  other->end_turn();
  EXPECT_EQ(entries(), 0) << "what was unavailable never happens";
}

TEST_F(SqliteWriter, TurnsAreTakenInTurn) {
  auto one = must(LockFile::open(options().path + "-lock"));
  auto two = must(LockFile::open(options().path + "-lock"));
  constexpr int kTurns = 200;
  // Atomic for the thread sanitizer, which knows no file locks.
  std::vector<std::atomic<int>> order(2 * kTurns);
  std::atomic<std::size_t> turns = 0;
  std::latch both(2);
  const auto take_turns = [&](LockFile& locks, int name) {
    both.arrive_and_wait();
    for (int i = 0; i < kTurns; ++i) {
      EXPECT_TRUE(must(locks.take_turn({})));
      order[turns++] = name;
      runtime_.sleep_for(std::chrono::microseconds{200}, {});  // the other comes to the turnstile meanwhile
      locks.end_turn();
    }
  };
  std::jthread first(take_turns, std::ref(*one), 1);
  std::jthread second(take_turns, std::ref(*two), 2);
  first.join();
  second.join();
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1] ? 1 : 0;
  EXPECT_GT(changes, kTurns) << "a lock that its releaser takes again at once changes hands far less";
}

TEST_F(SqliteWriter, WhoHasWaitedLongPassesByAStepThatIsNotLeft) {
  const std::string path = options().path + "-lock";
  auto turn = must(LockFile::open(path));
  const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock step_of_another {};
  step_of_another.l_type = F_WRLCK;
  step_of_another.l_len = 1;
  for (const off_t step : {4, 1}) {
    step_of_another.l_start = step;
    ASSERT_EQ(::fcntl(other, F_OFD_SETLK, &step_of_another), 0);
    EXPECT_TRUE(must(turn->take_turn({}))) << "step " << step;
    turn->end_turn();
    EXPECT_EQ(turn->turn_holder().has_value(), step == 1)
        << "who stands on the last step may be in the way, and is named";
  }
  ::close(other);
}

TEST_F(SqliteWriter, APausedHolderIsNamedAndItsDeathFreesTheTurn) {
  { const auto made = open(); }
  const std::string path = options().path + "-lock";
  Child child([&] { must(must(LockFile::open(path)).release()->take_turn({})); });
  ASSERT_TRUE(child.is_ready());
  child.stop();
  {
    const auto store = open();
    EnqueueRequest request = one_job(1);
    request.timeout = std::chrono::milliseconds{200};
    const auto refused = store->enqueue(request);
    ASSERT_EQ(code_of(refused), Code::unavailable);
    EXPECT_NE(refused.error().message.find("process " + std::to_string(child.pid())), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("stopped"), std::string::npos);
    EXPECT_TRUE(store->jobs({.ns = "default"})) << "readers do not wait for writers";
    bool named = false;
    for (const Finding& finding : must(store->examine()))
      named = named || (finding.name == "write_lock" && finding.status == FindingStatus::bad);
    EXPECT_TRUE(named);
    child.end(SIGKILL);
    EXPECT_TRUE(store->enqueue(one_job(2)));
    EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), 1u) << "the first one did not happen, and will not";
  }
}

// As when another process recovers the log, or someone has the file open in another program: longer than SQLite's own
// wait, which must reach nobody as an error before its deadline.
TEST_F(SqliteWriter, ALockFromOutsideIsWaitedForUntilTheDeadline) {
  const auto store = open();
  Child child([&] {
    sqlite3* outside = nullptr;
    if (sqlite3_open(options().path.c_str(), &outside) != SQLITE_OK) ::_exit(1);
    if (sqlite3_exec(outside, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) ::_exit(1);
  });
  ASSERT_TRUE(child.is_ready());
  bool went_in = false;
  Task waiting = runtime_.spawn("patient", [&](std::stop_token) {
    EnqueueRequest request = one_job(1);
    request.timeout = std::chrono::seconds{60};
    went_in = store->enqueue(request).has_value();
  });
  EnqueueRequest hasty = one_job(2);
  hasty.timeout = std::chrono::milliseconds{2500};
  const auto refused = store->enqueue(hasty);
  EXPECT_EQ(code_of(refused), Code::unavailable);
  EXPECT_NE(refused.error().message.find("not fenceline's"), std::string::npos) << refused.error().message;
  child.end(SIGKILL);
  waiting.join();
  EXPECT_TRUE(went_in);
  EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), 1u);
}

TEST_F(SqliteWriter, APausedHolderKeepsNoFirstOpenWaitingForEver) {
  const std::string path = options().path + "-lock";
  Child child([&] { must(must(LockFile::open(path)).release()->take_turn({})); });
  ASSERT_TRUE(child.is_ready());
  child.stop();
  SqliteOptions options = this->options();
  options.open_timeout = std::chrono::milliseconds{100};
  const auto opened = try_open(options);
  ASSERT_EQ(code_of(opened), Code::unavailable);
  EXPECT_NE(opened.error().message.find(std::to_string(child.pid())), std::string::npos);
}

struct Death {
  CrashPoint point;
  bool happened;
};

class SqliteDeath : public SqliteFile, public testing::WithParamInterface<Death> {};

TEST_P(SqliteDeath, OfAWriterLeavesAllOrNothingAndTheTurnFree) {
  { const auto made = open(); }
  Child child([&] {
    arm_crash_point(GetParam().point, 1);
    SqliteOptions eager = options();
    eager.checkpoint_pages = 1;
    static_cast<void>(must(try_open(eager))->enqueue(one_job(1)));
  });
  EXPECT_FALSE(child.is_ready()) << "it should have died at the point";
  const auto store = open();
  EXPECT_EQ(must(store->job("default", job_id(1))).has_value(), GetParam().happened);
  EXPECT_EQ(must(store->enqueue(one_job(1))).existing, GetParam().happened ? 1 : 0);
  EXPECT_EQ(must(store->claim(a_claim("a", "1", 10))).jobs.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(AtEachPoint, SqliteDeath,
                         testing::Values(Death{CrashPoint::sqlite_locked, false},
                                         Death{CrashPoint::sqlite_begun, false},
                                         Death{CrashPoint::sqlite_commit_before, false},
                                         Death{CrashPoint::sqlite_commit_after, true},
                                         Death{CrashPoint::sqlite_checkpoint_before, true},
                                         Death{CrashPoint::sqlite_checkpoint_after, true}));

TEST_F(SqliteFile, ADeathWhileTheSchemaIsMadeLeavesAFileThatCanBeSetUp) {
  for (const CrashPoint point : {CrashPoint::sqlite_migrate_before, CrashPoint::sqlite_migrate_after}) {
    Child child([&] {
      arm_crash_point(point, 1);
      static_cast<void>(open());
    });
    EXPECT_FALSE(child.is_ready());
  }
  EXPECT_TRUE(open()->enqueue(one_job(1)));
}

TEST_F(SqliteWriter, CheckpointsKeepTheLogSmall) {
  SqliteOptions options = this->options();
  options.checkpoint_pages = 50;
  const auto store = must(try_open(options));
  EnqueueRequest request{.ns = "default"};
  std::uint64_t number = 0;
  for (int batch = 0; batch < 100; ++batch) {
    request.jobs.clear();
    for (int i = 0; i < 100; ++i)
      request.jobs.push_back({.id = job_id(++number), .queue = "q", .payload = "\"" + std::string(200, 'x') + "\""});
    must(store->enqueue(request));
  }
  EXPECT_LT(size_of(options.path + "-wal"), 1 << 20);
  EXPECT_GT(size_of(options.path), 2 << 20) << "the pages went into the file";
}

TEST_F(SqliteWriter, AnOpenReaderHoldsUpNeitherWritesNorLaterCheckpoints) {
  SqliteOptions options = this->options();
  options.checkpoint_pages = 50;
  const auto store = must(try_open(options));
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open(options.path.c_str(), &reader), SQLITE_OK);
  sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM job", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::string payload = "\"" + std::string(20'000, 'x') + "\"";
  std::uint64_t number = 0;
  Duration longest{0};
  const auto add = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const Instant before = runtime_.now();
      must(store->enqueue({.ns = "default", .jobs = {{.id = job_id(++number), .queue = "q", .payload = payload}}}));
      longest = std::max(longest, runtime_.now() - before);
    }
  };
  add(200);
  EXPECT_GT(size_of(options.path + "-wal"), 4 << 20) << "the reader holds the log";
  EXPECT_LT(longest, std::chrono::milliseconds{1500}) << "no wait for the reader: the busy timeout is 2 s";
  sqlite3_close(reader);
  add(100);
  const std::int64_t kept = size_of(options.path + "-wal");
  add(200);
  EXPECT_LE(size_of(options.path + "-wal"), kept) << "the log is used again, not grown";
}

// The default file system layer, with a sync that fails on demand.
std::atomic<bool> sync_fails = false;
int (*real_open)(sqlite3_vfs*, const char*, sqlite3_file*, int, int*) = nullptr;
int (*real_sync)(sqlite3_file*, int) = nullptr;

int failing_sync(sqlite3_file* file, int flags) { return sync_fails ? SQLITE_IOERR_FSYNC : real_sync(file, flags); }

int open_with_failing_sync(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  static sqlite3_io_methods methods;
  const int code = real_open(vfs, name, file, flags, out);
  if (code == SQLITE_OK && file->pMethods && (flags & SQLITE_OPEN_WAL) != 0) {
    real_sync = file->pMethods->xSync;
    methods = *file->pMethods;
    methods.xSync = failing_sync;
    file->pMethods = &methods;
  }
  return code;
}

TEST_F(SqliteWriter, AfterAFailedSyncItIsBrokenAndTriesNothingAgain) {
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs failing = *real;
  failing.zName = "failing";
  real_open = real->xOpen;
  failing.xOpen = open_with_failing_sync;
  sqlite3_vfs_register(&failing, 1);
  {
    auto store = open();
    must(store->enqueue(one_job(1)));
    sync_fails = true;
    EXPECT_EQ(code_of(store->enqueue(one_job(2))), Code::broken);
    sync_fails = false;
    EXPECT_EQ(code_of(store->enqueue(one_job(3))), Code::broken);
    EXPECT_EQ(code_of(store->jobs({.ns = "default"})), Code::broken);
  }
  sqlite3_vfs_register(real, 1);
  sqlite3_vfs_unregister(&failing);
  const auto store = open();
  EXPECT_TRUE(must(store->job("default", job_id(1)))) << "what was acknowledged is there";
  EXPECT_FALSE(must(store->job("default", job_id(3)))) << "what came after the failure is not";
}

// Shared memory of the log that cannot grow, as on a full disk.
std::atomic<bool> shared_memory_is_full = false;
int (*real_map)(sqlite3_file*, int, int, int, void volatile**) = nullptr;

int map_without_room(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  return shared_memory_is_full && region > 0 && extend != 0 ? SQLITE_IOERR_SHMSIZE
                                                            : real_map(file, region, size, extend, out);
}

int open_with_full_shared_memory(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  static sqlite3_io_methods methods;
  const int code = real_open(vfs, name, file, flags, out);
  if (code == SQLITE_OK && file->pMethods && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
    real_map = file->pMethods->xShmMap;
    methods = *file->pMethods;
    methods.xShmMap = map_without_room;
    file->pMethods = &methods;
  }
  return code;
}

// The log has the commit by then, and only its index has not: the next recovery brings it back.
TEST_F(SqliteWriter, ACommitThatTheIndexHasNoRoomForIsNeverSaidNotToHaveHappened) {
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs failing = *real;
  failing.zName = "failing";
  real_open = real->xOpen;
  failing.xOpen = open_with_full_shared_memory;
  sqlite3_vfs_register(&failing, 1);
  EnqueueRequest large{.ns = "default"};
  for (std::uint64_t i = 2; i < 27; ++i)  // more than the pages that one region of the index has room for
    large.jobs.push_back({.id = job_id(i), .queue = "q", .payload = "\"" + std::string(700'000, 'x') + "\""});
  {
    auto store = open();
    must(store->enqueue(one_job(1)));
    shared_memory_is_full = true;
    EXPECT_EQ(code_of(store->enqueue(large)), Code::broken);
    shared_memory_is_full = false;
    EXPECT_EQ(code_of(store->enqueue(one_job(30))), Code::broken);
  }
  sqlite3_vfs_register(real, 1);
  sqlite3_vfs_unregister(&failing);
  std::filesystem::remove(options().path + "-shm");  // as a reboot leaves it
  EXPECT_TRUE(must(open()->job("default", job_id(2)))) << "this is why";
}

TEST_F(SqliteFile, ManyThreadsOnTwoStoresLoseAndDoubleNothing) {
  auto one = open();
  auto two = open();
  constexpr int kThreads = 4;
  constexpr int kJobs = 50;
  std::atomic<int> granted = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SqliteStore& store = t % 2 == 0 ? *one : *two;
      const std::string owner = "owner-" + std::to_string(t);
      for (int i = 0; i < kJobs; ++i) {
        must(store.enqueue(one_job(static_cast<std::uint64_t>(1 + t * kJobs + i))));
        for (const ClaimedJob& claimed : must(store.claim(a_claim(owner, std::to_string(i), 2))).jobs) {
          ++granted;
          must(store.settle({.ns = "default",
                             .owner = owner,
                             .settlements = {{claimed.job.id, claimed.job.fence, {.result = "ok"}}}}));
        }
      }
    });
  }
  threads.clear();
  for (const ClaimedJob& rest : must(one->claim(a_claim("last", "1", 1000))).jobs)
    granted += rest.job.deliveries == 1 ? 1 : 1000;
  EXPECT_EQ(granted, kThreads * kJobs);
}

}  // namespace
}  // namespace fenceline::test
