// Copies of a store in use, and what is true of a store that was made of one.
#include "backends/sqlite/backup.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/guarded_testing.hpp"
#include "support/disk_calls.hpp"

namespace fenceline::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using sqlite::BackupReply;
using sqlite::RestoreReply;

class BackedUp : public SqliteFile {
 protected:
  std::string file() const { return folder_ / "copy.db"; }
  Result<BackupReply> back_up(bool replace = false) {
    return sqlite::back_up(runtime_, clock_, options(), {.file = file(), .replace = replace});
  }
  Result<RestoreReply> restore(Fence above = 0) {
    return sqlite::restore(runtime_, clock_, options(), {.file = file(), .above = above, .reason = "a test"});
  }
  std::unique_ptr<SqliteStore> open_copy() {
    SqliteOptions of_copy = options();
    of_copy.path = file();
    return must(try_open(of_copy));
  }
  static Job claim(SqliteStore& store, const std::string& owner, const std::string& request) {
    const ClaimReply reply = must(store.claim(a_claim(owner, request)));
    if (reply.jobs.size() != 1) throw std::runtime_error("no job was granted");
    return reply.jobs.front().job;
  }
  static SettleRequest done(const Job& job, const std::string& owner) {
    return {.ns = "default", .owner = owner, .settlements = {{.id = job.id, .fence = job.fence}}};
  }
};

TEST_F(BackedUp, ABackupHoldsWhatWasCommittedBeforeItBegan) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  const Job job = claim(*store, "a", "1");
  const BackupReply made = must(back_up());
  EXPECT_EQ(made.file, fs::canonical(file()).string());
  EXPECT_EQ(made.bytes, static_cast<std::int64_t>(fs::file_size(file())));
  must(store->enqueue(one_job(2)));
  EXPECT_FALSE(fs::exists(file() + "-wal")) << "it is one file";
  const auto copy = open_copy();
  EXPECT_EQ(must(copy->job("default", job.id))->fence, job.fence);
  EXPECT_FALSE(must(copy->job("default", job_id(2))));
}

// Writers go on; each backup is one moment of theirs, in which the counts add up (J4).
TEST_F(BackedUp, J4_ABackupUnderLoadIsOneMoment) {
  const auto store = open();
  std::atomic<std::uint64_t> acknowledged = 0;
  std::atomic<bool> enough = false;
  Task writer = runtime_.spawn("writer", [&](std::stop_token) {
    for (std::uint64_t i = 1; !enough && i < 100'000; ++i) {
      must(store->enqueue(one_job(i)));
      acknowledged = i;
      const Job job = claim(*store, "a", std::to_string(i));
      if (i % 2 == 0) must(store->settle(done(job, "a")));
    }
  });
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = acknowledged;
    while (acknowledged < before + 20) runtime_.sleep_for(1ms, {});
    const std::uint64_t known = acknowledged;
    must(back_up(true));
    const auto copy = open_copy();
    for (std::uint64_t i = 1; i <= known; ++i) {
      if (!must(copy->job("default", job_id(i)))) ADD_FAILURE() << "job " << i << " was acknowledged and is not there";
    }
    std::int64_t counted = 0;
    for (const QueueRow& row : must(copy->queues("default")))
      counted = std::accumulate(row.depth.begin(), row.depth.end(), counted);
    std::int64_t there = 0;
    for (std::uint64_t i = 1; must(copy->job("default", job_id(i))); ++i) there += 1;
    EXPECT_EQ(counted, there);
  }
  enough = true;
  writer.join();
}

TEST_F(BackedUp, AFileThatIsThereIsReplacedOnlyIfThatIsAskedFor) {
  const auto store = open();
  std::ofstream(file()) << "precious";
  EXPECT_EQ(code_of(back_up()), Code::conflict);
  EXPECT_EQ(fs::file_size(file()), 8U);
  must(back_up(true));
  EXPECT_GT(fs::file_size(file()), 8U);
  for (const char* part : {"", "-wal", "-lock"}) {
    const auto onto = sqlite::back_up(runtime_, clock_, options(), {.file = options().path + part, .replace = true});
    EXPECT_EQ(code_of(onto), Code::invalid) << part;
  }
}

TEST_F(BackedUp, WhoeverMayNotReadTheStoreMayNotReadItsBackup) {
  const auto store = open();
  fs::permissions(options().path, fs::perms::owner_read | fs::perms::owner_write);
  must(back_up());
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(BackedUp, ThereIsNoBackupOfAStoreThatIsNotThere) {
  EXPECT_EQ(code_of(back_up()), Code::not_found);
  EXPECT_FALSE(fs::exists(options().path));
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(BackedUp, OneThatIsStoppedLeavesNothingBehind) {
  const auto store = open();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of(sqlite::back_up(runtime_, clock_, options(), {.file = file(), .stop = stop.get_token()})),
            Code::unavailable);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.path().string().starts_with(options().path)) << entry.path();
}

TEST_F(BackedUp, APowerCutTakesNothingOfABackupThatWasMade) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  const DiskCalls calls(folder_.path());
  must(back_up());
  EXPECT_EQ(calls.losses({"-shm", "-lock", "-wake", "-wal", "-journal"}), std::vector<std::string>{});
  const std::vector<std::string> words = calls.words();
  ASSERT_GE(words.size(), 3U);
  EXPECT_TRUE(words[words.size() - 3].starts_with("sync copy.db.partial-")) << words[words.size() - 3];
  EXPECT_TRUE(words[words.size() - 2].ends_with(" copy.db")) << words[words.size() - 2];
  EXPECT_EQ(words.back(), "sync .");
}

// L2 and J3 over a restore: whatever was granted before is refused, also if nobody was granted it anew.
TEST_F(BackedUp, J3_AfterARestoreEveryFenceFromBeforeIsRefused) {
  auto store = open();
  must(store->enqueue(one_job(1)));
  must(store->enqueue(one_job(2)));
  const Job held = claim(*store, "old", "1");  // at the time of the backup
  must(back_up());
  const Job after = claim(*store, "old", "2");  // only since then
  must(store->settle(done(after, "old")));
  store.reset();

  const RestoreReply restored = must(restore());
  EXPECT_EQ(restored.leases_ended, 1);
  EXPECT_TRUE(restored.knew_old_fences);
  EXPECT_GT(restored.floor, std::max(held.fence, after.fence));
  store = open();
  for (const Job& late : {held, after}) {
    EXPECT_EQ(must(store->settle(done(late, "old"))).refused.size(), 1U);
    const Holding mine{late.id, late.fence};
    EXPECT_EQ(must(store->extend({.ns = "default", .owner = "old", .jobs = {mine}, .ttl = 30s})).refused.size(), 1U);
  }
  // Both are to be done again, under fences that are larger than all before.
  for (const char* request : {"n1", "n2"}) EXPECT_GT(claim(*store, "new", request).fence, restored.floor);
  const std::vector<TrailEntry> trail = must(store->trail("default", 5));
  EXPECT_EQ(std::ranges::count(trail, "store_restored", &TrailEntry::act), 1);
}

TEST_F(BackedUp, L2_ARestoreGoesAboveTheStoreThatItReplacesAndAboveGatesThoughTheClockIsBehind) {
  auto store = open();
  must(store->enqueue(one_job(1)));
  must(back_up());
  const Fence ahead = claim(*store, "a", "1").fence + 1'000'000;
  must(store->raise_floor({.ns = "default", .floor = ahead, .act = {"ann", ""}}));
  store.reset();
  EXPECT_EQ(must(restore()).floor, ahead + 1);
  EXPECT_EQ(must(restore(ahead + 5)).floor, ahead + 6);
  EXPECT_GT(claim(*open(), "a", "1").fence, ahead + 6);
}

TEST_F(BackedUp, E3_AfterARestoreTablesAndLocksRefuseFencesFromBefore) {
  auto store = open();
  auto connection = std::make_optional(must(store->connect({})));
  {
    SqliteTransaction transaction = must(connection->begin());
    must(transaction.execute("CREATE TABLE account (id TEXT, cents INTEGER, resource TEXT, fence INTEGER)"));
    must(transaction.commit());
  }
  must(connection->protect_table({.table = "account", .resource_column = "resource"}));
  const AcquireReply lock =
      must(store->acquire({.ns = "default", .names = {"deploy"}, .owner = "a", .request = "1", .ttl = 30s}));
  must(back_up());
  const Fence fence = lock.grants.front().fence;
  connection.reset();
  store.reset();
  must(restore());

  store = open();
  connection = must(store->connect({}));
  SqliteTransaction transaction = must(connection->begin());
  EXPECT_EQ(code_of(transaction.guard_lock("deploy", fence)), Code::lost);
  // One of the user's own, which nobody has written to: its memory is empty.
  EXPECT_EQ(code_of(transaction.act_as("mine", fence)), Code::lost);
}

TEST_F(BackedUp, ARestoreIsRefusedWhileAProcessHasTheStoreOpen) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  must(back_up());
  must(store->enqueue(one_job(2)));
  const Result<RestoreReply> refused = restore();
  EXPECT_EQ(code_of(refused), Code::held);
  EXPECT_NE(refused.error().message.find("is open in another process"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(must(store->job("default", job_id(2))));
  must(store->enqueue(one_job(3)));
}

TEST_F(BackedUp, WhatIsNoBackupIsRefusedAndTheStoreStaysAsItWas) {
  {
    const auto store = open();
    must(store->enqueue(one_job(1)));
    must(back_up());
  }
  const auto refused = [&](const std::string& name) {
    return code_of(sqlite::restore(runtime_, clock_, options(), {.file = name}));
  };
  EXPECT_EQ(refused(folder_ / "missing"), Code::not_found);
  EXPECT_EQ(refused(folder_.path()), Code::invalid);
  EXPECT_EQ(refused(options().path), Code::invalid);
  std::ofstream(folder_ / "empty").flush();
  EXPECT_EQ(refused(folder_ / "empty"), Code::invalid);
  std::ofstream(folder_ / "text") << std::string(5000, 'x');
  EXPECT_EQ(refused(folder_ / "text"), Code::invalid);
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(3 * 4096) << std::string(40'000, 'x');
  EXPECT_EQ(refused(file()), Code::broken);
  fs::resize_file(file(), fs::file_size(file()) / 2);
  EXPECT_EQ(refused(file()), Code::broken);
  EXPECT_TRUE(must(open()->job("default", job_id(1))));
  EXPECT_FALSE(fs::exists(options().path + "-restoring"));
}

TEST_F(BackedUp, WhatWasThereBeforeIsKeptWhole) {
  {
    const auto store = open();
    must(back_up());
    must(store->enqueue(one_job(1)));
  }
  const RestoreReply restored = must(restore());
  EXPECT_FALSE(must(open()->job("default", job_id(1))));
  SqliteOptions old = options();
  old.path = restored.kept;
  EXPECT_TRUE(must(must(try_open(old))->job("default", job_id(1))));
}

TEST_F(BackedUp, ARestoreThatWasInterruptedAndIsRepeatedKeepsTheLogOfTheOldStore) {
  {
    const auto store = open();
    must(store->enqueue(one_job(1)));
    must(back_up());
  }
  const std::string store_path = options().path;
  // As if a first restore had been killed after it had moved the store away, and before its log.
  fs::rename(store_path, store_path + ".moved");
  std::ofstream(store_path + "-wal") << "acknowledged work";
  const RestoreReply restored = must(restore());
  EXPECT_FALSE(restored.knew_old_fences);
  ASSERT_FALSE(restored.kept.empty());
  EXPECT_EQ(fs::file_size(restored.kept + "-wal"), 17U);
}

// SQLite's own access to files, with a step of the test behind the moment at which a database was opened.
class OpenedBehind {
 public:
  explicit OpenedBehind(std::function<void()> step) {
    step_ = std::move(step);
    usual_ = sqlite3_vfs_find(nullptr);
    vfs_ = *usual_;
    vfs_.zName = "stepped";
    vfs_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      const int code = usual_->xOpen(usual_, name, file, flags, out);
      if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) && step_) std::exchange(step_, nullptr)();
      return code;
    };
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~OpenedBehind() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(usual_, 1);
    step_ = nullptr;
  }
  OpenedBehind(const OpenedBehind&) = delete;
  OpenedBehind& operator=(const OpenedBehind&) = delete;

 private:
  inline static std::function<void()> step_;
  inline static sqlite3_vfs* usual_ = nullptr;
  sqlite3_vfs vfs_{};
};

// It has the old file in hand, and nobody knows that it is here yet.
TEST_F(BackedUp, J1_AStoreThatIsReplacedWhileItIsBeingOpenedIsOpenedAsItIsNow) {
  {
    const auto store = open();
    must(store->enqueue(one_job(1)));
    must(back_up());
    must(store->enqueue(one_job(2)));
  }
  // Into the file itself: its log has another name soon.
  sqlite::Database(options().path, SQLITE_OPEN_READWRITE).run_script("PRAGMA wal_checkpoint(TRUNCATE)");
  std::optional<Result<RestoreReply>> restored;
  OpenedBehind files([&] { restored = restore(); });
  const auto store = open();
  ASSERT_TRUE(restored.has_value());
  must(std::move(*restored));
  // What writes and what reads are connections of their own.
  EXPECT_EQ(must(store->claim(a_claim("a", "1", 10))).jobs.size(), 1u) << "this is the store that was moved away";
  EXPECT_FALSE(must(store->job("default", job_id(2))));
  must(store->enqueue(one_job(3)));
  EXPECT_TRUE(must(open()->job("default", job_id(3)))) << "whoever comes next sees another store";
}

// What a restore is for: a store that was emptied, damaged or deleted.
TEST_F(BackedUp, AStoreThatWasLostComesBack) {
  {
    const auto store = open();
    must(store->enqueue(one_job(1)));
    must(back_up());
  }
  for (const char* how : {"emptied", "deleted", "damaged"}) {
    SCOPED_TRACE(how);
    if (how[0] == 'e') fs::resize_file(options().path, 0);
    else if (how[1] == 'e') fs::remove(options().path);
    else std::fstream(options().path, std::ios::in | std::ios::out | std::ios::binary) << std::string(9'000, 'x');
    const RestoreReply restored = must(restore());
    EXPECT_EQ(restored.kept.empty(), how[0] == 'd' && how[1] == 'e');
    EXPECT_TRUE(must(open()->job("default", job_id(1))));
  }
}

TEST_F(BackedUp, APowerCutDuringARestoreLeavesTheOldStoreOrTheNewOneAndNeverAMixture) {
  {
    const auto store = open();
    must(store->enqueue(one_job(1)));
    must(back_up());
  }
  const DiskCalls calls(folder_.path());
  const std::string kept = fs::path(must(restore()).kept).filename();
  EXPECT_EQ(calls.losses({"-shm", "-lock", "-wake", "-journal", "-restoring-wal"}), std::vector<std::string>{});
  const std::vector<std::string> words = calls.words();
  const auto synced = std::ranges::find(words, "sync store.db-restoring");
  ASSERT_NE(synced, words.end());
  EXPECT_EQ(std::vector<std::string>(synced, words.end()),
            (std::vector<std::string>{"sync store.db-restoring", "rename store.db " + kept,
                                      "rename store.db-wal " + kept + "-wal", "remove store.db-shm", "sync .",
                                      "rename store.db-restoring store.db", "sync ."}));
}

}  // namespace
}  // namespace fenceline::test
