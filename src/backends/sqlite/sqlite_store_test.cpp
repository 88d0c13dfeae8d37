// Opening and refusing, the boot clock, the floor, the profile: what one process does with one file.
#include "backends/sqlite/sqlite_store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/testing.hpp"

namespace fenceline::test {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

// A small file system of its own; empty if this user may not mount.
class SmallDisk {
 public:
  SmallDisk(const std::string& where, const std::string& size) : where_(where) {
    ::mkdir(where.c_str(), 0700);
    mounted_ = ::mount("tmpfs", where.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return mounted_; }
  bool make_read_only() const {
    return ::mount("tmpfs", where_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  std::string operator/(const std::string& name) const { return where_ + "/" + name; }

 private:
  std::string where_;
  bool mounted_ = false;
};

const Finding* find(const std::vector<Finding>& findings, const std::string& name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

TEST_F(SqliteFile, SetsUpAMissingFileAndSaysSoInTheTrail) {
  SqliteOptions options = this->options();
  options.actor = "ada";
  const auto store = must(try_open(options));
  const std::vector<TrailEntry> trail = must(store->trail("default", 10));
  ASSERT_EQ(trail.size(), 1u);
  EXPECT_EQ(trail[0].act, "store_created");
  EXPECT_EQ(trail[0].actor, "ada");
}

TEST_F(SqliteFile, SetsUpAnEmptyFile) {
  write_file(options().path, "");
  EXPECT_TRUE(try_open(options()));
}

TEST_F(SqliteFile, WithoutLeaveToCreateItNamesMigrateAndLeavesNothingBehind) {
  SqliteOptions options = this->options();
  options.may_create = false;
  const auto opened = try_open(options);
  ASSERT_EQ(code_of(opened), Code::not_found);
  EXPECT_NE(opened.error().message.find("fenceline migrate"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SqliteFile, RefusesAFileThatIsNotSqliteAndLeavesItAlone) {
  const std::string text(5000, 'x');
  write_file(options().path, text);
  EXPECT_EQ(code_of(try_open(options())), Code::refused);
  EXPECT_EQ(contents_of(options().path), text);
  EXPECT_FALSE(std::filesystem::exists(options().path + "-lock"));
}

TEST_F(SqliteFile, RefusesADatabaseOfAnotherApplicationAndLeavesItAlone) {
  run_sql(options().path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
  const std::string before = contents_of(options().path);
  EXPECT_EQ(code_of(try_open(options())), Code::refused);
  EXPECT_EQ(contents_of(options().path), before);
  EXPECT_FALSE(std::filesystem::exists(options().path + "-lock"));
}

TEST_F(SqliteFile, RefusesADatabaseThatBearsAnotherMark) {
  run_sql(options().path, "PRAGMA application_id = 7");
  EXPECT_EQ(code_of(try_open(options())), Code::refused);
}

TEST_F(SqliteFile, RefusesAFileFromANewerVersion) {
  open().reset();
  run_sql(options().path, "PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string before = contents_of(options().path);
  const auto opened = try_open(options());
  ASSERT_EQ(code_of(opened), Code::refused);
  EXPECT_NE(opened.error().message.find("schema 99"), std::string::npos);
  EXPECT_EQ(contents_of(options().path), before);
}

TEST_F(SqliteFile, RefusesAFileOfTheSchemaThatWasNeverReleased) {
  open().reset();
  run_sql(options().path, "PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)");
  const auto opened = try_open(options());
  ASSERT_EQ(code_of(opened), Code::refused);
  EXPECT_NE(opened.error().message.find("schema 1"), std::string::npos);
}

TEST_F(SqliteFile, RefusesANewerVersionThatOnlyTheLogKnows) {
  auto store = open();
  run_sql(options().path, "PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99");
  EXPECT_EQ(code_of(try_open(options())), Code::refused);
}

TEST_F(SqliteFile, RefusesAFolderAndAMissingOne) {
  SqliteOptions options = this->options();
  options.path = folder_.path();
  EXPECT_EQ(code_of(try_open(options)), Code::refused);
  options.path = folder_ / "no/such/store.db";
  EXPECT_EQ(code_of(try_open(options)), Code::not_found);
}

TEST_F(SqliteFile, ALinkIsTheSameStoreUnderTheSameLock) {
  auto store = open();
  SqliteOptions by_link = options();
  by_link.path = folder_ / "link.db";
  std::filesystem::create_symlink(options().path, by_link.path);
  must(must(try_open(by_link))->enqueue(one_job(1)));
  EXPECT_TRUE(must(store->job("default", job_id(1))));
  EXPECT_FALSE(std::filesystem::exists(by_link.path + "-lock"));
}

TEST_F(SqliteFile, RefusesASecondNameAndALinkThatLeadsNowhere) {
  open().reset();
  std::filesystem::create_hard_link(options().path, folder_ / "second.db");
  EXPECT_EQ(code_of(try_open(options())), Code::refused);
  SqliteOptions dangling = options();
  dangling.path = folder_ / "dangling.db";
  std::filesystem::create_symlink(folder_ / "nothing.db", dangling.path);
  EXPECT_EQ(code_of(try_open(dangling)), Code::refused);
}

TEST_F(SqliteFile, RefusesAReadOnlyDisk) {
  SmallDisk disk(folder_ / "disk", "4m");
  if (!disk.is_mounted()) GTEST_SKIP() << "this user may not mount";
  SqliteOptions options = this->options();
  options.path = disk / "store.db";
  must(try_open(options)).reset();
  ASSERT_TRUE(disk.make_read_only());
  const auto opened = try_open(options);
  ASSERT_EQ(code_of(opened), Code::refused);
  EXPECT_NE(opened.error().message.find("read-only"), std::string::npos);
}

TEST_F(SqliteFile, OnAFullDiskAnEnqueueIsFullAndChangesNothing) {
  SmallDisk disk(folder_ / "disk", "1m");
  if (!disk.is_mounted()) GTEST_SKIP() << "this user may not mount";
  SqliteOptions options = this->options();
  options.path = disk / "store.db";
  auto store = must(try_open(options));
  EnqueueRequest request = one_job(1);
  // So large that what is left when one is refused is room enough for what follows.
  request.jobs[0].payload = "\"" + std::string(250'000, 'x') + "\"";
  std::uint64_t accepted = 0;
  std::optional<Code> code;
  while (!code && accepted < 100) {
    request.jobs[0].id = job_id(accepted + 1);
    code = code_of(store->enqueue(request));
    if (!code) ++accepted;
  }
  EXPECT_EQ(code, Code::full);
  EXPECT_GT(accepted, 0u);
  EXPECT_EQ(must(store->jobs({.ns = "default", .limit = 1000})).jobs.size(), accepted);
  // What fits is still accepted: the store is full, not broken.
  EXPECT_EQ(must(store->claim(a_claim("a", "1"))).jobs.size(), 1u);
  const std::vector<Finding> findings = must(store->examine());
  EXPECT_EQ(find(findings, "disk_space")->status, FindingStatus::bad);
  EXPECT_NE(find(findings, "disk_space")->why, "");
}

TEST_F(SqliteFile, ALogThatFillsTheDiskIsEmptiedIntoTheFile) {
  SmallDisk disk(folder_ / "disk", "1m");
  if (!disk.is_mounted()) GTEST_SKIP() << "this user may not mount";
  SqliteOptions options = this->options();
  options.path = disk / "store.db";
  const auto store = must(try_open(options));
  must(store->enqueue(one_job(1)));
  const ClaimedJob held = must(store->claim(a_claim("a", "1"))).jobs.at(0);
  const auto renew = [&] {
    return code_of(store->extend(
        {.ns = "default", .owner = "a", .jobs = {{held.job.id, held.job.fence}}, .ttl = std::chrono::seconds{30}}));
  };
  int full = 0;
  for (int i = 0; i < 600; ++i) {  // each needs a page or two of the log, and the disk has 256
    const std::optional<Code> code = renew();
    if (!code) continue;
    ASSERT_EQ(*code, Code::full);
    full += 1;
    ASSERT_EQ(renew(), std::nullopt) << "after a full disk there is room again";
  }
  EXPECT_GT(full, 0);
}

TEST_F(SqliteFile, ADiskWithoutRoomForTheSchemaIsFull) {
  SmallDisk disk(folder_ / "disk", "16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "this user may not mount";
  SqliteOptions options = this->options();
  options.path = disk / "store.db";
  EXPECT_EQ(code_of(try_open(options)), Code::full);
}

TEST(SqliteFilesystem, KnowsSharedOnesByTheirMagic) {
  using sqlite::shared_filesystem;
  EXPECT_EQ(shared_filesystem(0x6969), "NFS");
  EXPECT_EQ(shared_filesystem(0xff534d42), "SMB");
  EXPECT_EQ(shared_filesystem(static_cast<std::int32_t>(0xfe534d42)), "SMB");
  EXPECT_EQ(shared_filesystem(0x01021997), "9p");
  EXPECT_EQ(shared_filesystem(0x65735546), "FUSE or virtiofs");
  EXPECT_EQ(shared_filesystem(0xef53), std::nullopt);
  EXPECT_EQ(shared_filesystem(0x01021994), std::nullopt);
}

TEST_F(SqliteFile, ARebootEndsEveryLease) {
  auto store = open();
  must(store->enqueue(one_job(1)));
  const ClaimedJob first = must(store->claim(a_claim("a", "1"))).jobs.at(0);
  EXPECT_TRUE(must(store->claim(a_claim("b", "2"))).jobs.empty());
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  EXPECT_EQ(must(store->trail("default", 1)).at(0).act, "boot_changed");
  const ExtendReply extended = must(store->extend(
      {.ns = "default", .owner = "a", .jobs = {{job_id(1), first.job.fence}}, .ttl = std::chrono::seconds{30}}));
  ASSERT_EQ(extended.refused.size(), 1u);
  EXPECT_EQ(extended.refused[0].reason, Reason::expired);
  const ClaimReply again = must(store->claim(a_claim("b", "3")));
  ASSERT_EQ(again.jobs.size(), 1u);
  EXPECT_TRUE(again.jobs[0].forced);
  EXPECT_GT(again.jobs[0].job.fence, first.job.fence);
}

TEST_F(SqliteFile, ClaimsFromManyQueuesDoNotPileUp) {
  constexpr std::uint64_t kQueues = 40;
  const auto store = open();
  ClaimRequest claim = a_claim("a", "", static_cast<int>(kQueues));
  claim.queues.clear();
  for (std::uint64_t q = 0; q < kQueues; ++q) claim.queues.push_back("q" + std::to_string(q));
  for (std::uint64_t round = 1; round <= 4; ++round) {
    EnqueueRequest added{.ns = "default"};
    for (std::uint64_t q = 0; q < kQueues; ++q)
      added.jobs.push_back({.id = job_id(round * kQueues + q), .queue = claim.queues[q]});
    must(store->enqueue(added));
    claim.request = std::to_string(round);
    SettleRequest settle{.ns = "default", .owner = "a"};
    for (const ClaimedJob& claimed : must(store->claim(claim)).jobs)
      settle.settlements.push_back({claimed.job.id, claimed.job.fence, {}});
    ASSERT_EQ(settle.settlements.size(), kQueues);
    must(store->settle(settle));
    clock_.advance(claim.ttl);
  }
  // A constraint counts for us: it fails if more than those of the last claim are there.
  run_sql(options().path, "CREATE TEMP TABLE t (n CHECK (n <= 40)); INSERT INTO t SELECT count(*) FROM claim");
}

TEST_F(SqliteFile, ReadyJobsBehindManyDoneOnesAreListedInTheirOrder) {
  constexpr std::uint64_t kDone = 6000;
  const auto store = open();
  EnqueueRequest added{.ns = "default"};
  for (std::uint64_t n = 1; n <= kDone; ++n) added.jobs.push_back({.id = job_id(n), .queue = "q", .tags = {"own-row"}});
  must(store->enqueue(added));
  SettleRequest settle{.ns = "default", .owner = "a"};
  for (const ClaimedJob& claimed : must(store->claim(a_claim("a", "1", static_cast<int>(kDone)))).jobs)
    settle.settlements.push_back({claimed.job.id, claimed.job.fence, {}});
  ASSERT_EQ(settle.settlements.size(), kDone);
  must(store->settle(settle));
  added.jobs = {{.id = job_id(kDone + 1), .queue = "q", .priority = -1},
                {.id = job_id(kDone + 2), .queue = "r"},
                {.id = job_id(kDone + 3), .queue = "q"},
                {.id = job_id(kDone + 4), .queue = "q"}};
  must(store->enqueue(added));
  JobsRequest request{.ns = "default", .state = JobState::ready, .limit = 3};
  const JobsReply page = must(store->jobs(request));
  ASSERT_EQ(page.jobs.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(page.jobs[i].id, job_id(kDone + 1 + i));
  ASSERT_TRUE(page.next);
  request.after = *page.next;
  EXPECT_EQ(must(store->jobs(request)).jobs.front().id, job_id(kDone + 4));
  EXPECT_FALSE(must(store->jobs(request)).next);
  request = {.ns = "default", .queue = "r", .state = JobState::ready, .limit = 3};
  ASSERT_EQ(must(store->jobs(request)).jobs.size(), 1U);
  EXPECT_EQ(must(store->jobs(request)).jobs.front().id, job_id(kDone + 2));
}

TEST_F(SqliteFile, APageOfAListThatFindsNothingLooksAtABoundedNumberOfJobs) {
  constexpr std::uint64_t kJobs = 12'000;
  const auto store = open();
  for (std::uint64_t first = 1; first <= kJobs; first += 6'000) {
    EnqueueRequest added{.ns = "default"};
    for (std::uint64_t n = first; n < first + 6'000; ++n) added.jobs.push_back({.id = job_id(n), .queue = "q"});
    must(store->enqueue(added));
  }
  for (const bool newest_first : {false, true}) {
    JobsRequest request{.ns = "default", .error = "no such error", .newest_first = newest_first};
    JobsReply page = must(store->jobs(request));
    EXPECT_TRUE(page.jobs.empty());
    ASSERT_TRUE(page.next) << "twelve thousand are more than one call looks at";
    request.after = *page.next;
    page = must(store->jobs(request));
    EXPECT_TRUE(page.jobs.empty());
    EXPECT_FALSE(page.next) << "the rest";
  }
}

TEST_F(SqliteFile, RefusesAnotherBootWhileTheFileIsOpenUnderTheOldOne) {
  auto first = open();
  must(first->enqueue(one_job(1)));
  must(first->claim(a_claim("a", "1")));
  ManualClock other;
  other.reboot("boot-2");
  const auto second = SqliteStore::open(runtime_, other, Log(null_log_sink()), options());
  ASSERT_EQ(code_of(second), Code::refused);
  EXPECT_NE(second.error().message.find("another boot"), std::string::npos);
  EXPECT_TRUE(must(first->claim(a_claim("b", "2"))).jobs.empty()) << "the lease of the old boot is untouched";
  first.reset();
  EXPECT_TRUE(SqliteStore::open(runtime_, other, Log(null_log_sink()), options()));
}

TEST_F(SqliteFile, L2_TheFloorKeepsFencesGrowingAfterANamespaceIsRemoved) {
  auto store = open();
  must(store->enqueue(one_job(1)));
  const Fence old_fence = must(store->claim(a_claim("a", "1"))).jobs.at(0).job.fence;
  must(store->remove_namespace("default", {.actor = "ada", .reason = "over"}));
  EXPECT_EQ(must(store->job("default", job_id(1))), std::nullopt);
  clock_.set_wall(WallTime{std::chrono::seconds{1'000'000}});
  must(store->enqueue(one_job(1)));
  EXPECT_GT(must(store->claim(a_claim("a", "2"))).jobs.at(0).job.fence, old_fence);
}

TEST_F(SqliteFile, IsClassBBecauseACommitIsOnDiskFirst) {
  const StoreProfile profile = open()->profile();
  EXPECT_EQ(profile.kind, "sqlite");
  EXPECT_EQ(profile.guarantee, GuaranteeClass::b);
  EXPECT_NE(profile.reasons.at(0).find("synchronous=FULL"), std::string::npos);
  SqliteOptions options = this->options();
  options.synchronous = SqliteSync::normal;
  EXPECT_EQ(must(try_open(options))->profile().guarantee, GuaranteeClass::c);
}

TEST_F(SqliteFile, ExamineFindsAHealthyStoreHealthy) {
  auto store = open();
  for (const Finding& finding : must(store->examine()))
    EXPECT_EQ(finding.status, FindingStatus::ok) << finding.name << ": " << finding.detail;
  for (const char* name : {"class", "version", "schema", "synchronous", "wal_size", "filesystem", "disk_space",
                           "boot_id", "meta", "schedules", "write_lock"})
    EXPECT_TRUE(find(must(store->examine()), name)) << name;
}

TEST_F(SqliteFile, WakesAWatcherInAnotherStoreOnTheSameFile) {
  auto producer = open();
  auto consumer = open();
  std::atomic<int> calls = 0;
  const auto told = runtime_.make_event();
  auto one = consumer->watch({.ns = "default", .queues = {"q"}}, [&] { told->notify(); });
  auto several = consumer->watch({.ns = "default", .queues = {"r", "s"}}, [&] { ++calls; });
  // The watcher may begin to look only after the first job is in; one of a few is seen.
  bool woken = false;
  for (std::uint64_t i = 1; i <= 50 && !woken; ++i) {
    must(producer->enqueue(one_job(i)));
    woken = told->wait_until(runtime_.now() + std::chrono::milliseconds{100});
  }
  EXPECT_TRUE(woken);
  EXPECT_EQ(calls, 0) << "nothing came into its queues";
}

TEST_F(SqliteFile, WakesWhoWaitsForOrdersInAnotherStoreOnTheSameFile) {
  auto operators = open();
  auto worker = open();
  must(worker->report_worker({.ns = "default", .owner = "a", .queues = {"q"}, .ttl = std::chrono::seconds{5}}));
  const auto told = runtime_.make_event();
  std::atomic<int> calls = 0;
  auto waiting = worker->watch({.ns = "default", .queues = {"r"}, .orders = true}, [&] { told->notify(); });
  auto not_waiting = worker->watch({.ns = "default", .queues = {"r"}}, [&] { ++calls; });
  bool woken = false;
  for (int i = 0; i < 50 && !woken; ++i) {
    const WorkerOrder order = i % 2 == 0 ? WorkerOrder::quiet : WorkerOrder::work;
    must(operators->order_worker({.ns = "default", .owner = "a", .order = order, .act = {.actor = "ada"}}));
    woken = told->wait_until(runtime_.now() + std::chrono::milliseconds{100});
  }
  EXPECT_TRUE(woken);
  EXPECT_EQ(calls, 0) << "it did not ask for orders";
}

// A slot outlives neither its lease nor a boot.
TEST_F(SqliteFile, ARebootEndsTheSlotsOfRevokedDeliveries) {
  auto store = open();
  EnqueueRequest two = one_job(1);
  two.jobs.push_back({.id = job_id(2), .queue = "q"});
  for (NewJob& job : two.jobs) job.group = "g";
  must(store->enqueue(two));
  EXPECT_EQ(must(store->claim(a_claim("a", "1"))).jobs.size(), 1u);
  must(store->cancel({.ns = "default", .ids = {job_id(1)}, .request = "r", .act = {.actor = "ada"}}));
  EXPECT_TRUE(must(store->claim(a_claim("b", "2"))).jobs.empty()) << "its worker has not said stopped";
  store.reset();
  clock_.reboot("boot-2");
  store = open();
  EXPECT_EQ(must(store->claim(a_claim("b", "3"))).jobs.size(), 1u);
}

TEST_F(SqliteFile, AWatchEndsAtOnce) {
  auto store = open();
  const Instant before = runtime_.now();
  for (int i = 0; i < 20; ++i) store->watch({.ns = "default", .queues = {"q"}}, [] {}).reset();
  EXPECT_LT(runtime_.now() - before, std::chrono::seconds{5});
}

// Closing any descriptor of a file drops the locks that SQLite holds on it for the whole process.
TEST_F(SqliteFile, OpeningItAgainTakesNoLockFromThoseWhoHaveItOpen) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  must(store->jobs({.ns = "default"}));
  const auto locks_held = [&] {
    struct stat status {};
    ::stat(options().path.c_str(), &status);
    const std::string inode = ":" + std::to_string(status.st_ino) + " ";
    std::ifstream locks("/proc/locks");
    int held = 0;
    for (std::string line; std::getline(locks, line);) {
      if (line.find(" POSIX ") != std::string::npos &&
          line.find(" " + std::to_string(::getpid()) + " ") != std::string::npos &&
          line.find(inode) != std::string::npos)
        ++held;
    }
    return held;
  };
  if (locks_held() == 0) GTEST_SKIP() << "locks do not show in /proc/locks here";
  open().reset();
  EXPECT_GT(locks_held(), 0);
  SqliteOptions options = this->options();
  options.may_create = false;
  must(try_open(options)).reset();
  EXPECT_GT(locks_held(), 0);
}

TEST_F(SqliteFile, IsRefusedInAChildOfAFork) {
  const auto store = open();
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(code_of(store->jobs({.ns = "default"})) == Code::refused &&
                    code_of(store->enqueue(one_job(1))) == Code::refused
                ? 0
                : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(store->enqueue(one_job(1))) << "and goes on in its parent";
}

TEST(SqliteInMemory, StartsNoThreadAndWaitsForNothing) {
  // A runtime that can do nothing: whoever waits or spawns fails the test.
  struct NoRuntime final : Runtime {
    Instant now() const override { return clock.now(); }
    WallTime wall_now() const override { return clock.wall_now(); }
    std::string boot_id() const override { return clock.boot_id(); }
    std::uint64_t random() override { return 4; }
    bool sleep_until(Instant, std::stop_token) override { throw std::runtime_error("slept"); }
    Task spawn(std::string, std::function<void(std::stop_token)>) override { throw std::runtime_error("spawned"); }
    std::unique_ptr<Event> make_event() override { throw std::runtime_error("made an event"); }
    ManualClock clock;
  } runtime;
  const auto store = must(SqliteStore::open(runtime, runtime.clock, Log(null_log_sink()), {.path = ":memory:"}));
  int calls = 0;
  auto watch = store->watch({.ns = "default", .queues = {"q"}},
                            [&] { calls += static_cast<int>(must(store->jobs({.ns = "default"})).jobs.size()); });
  must(store->enqueue(one_job(1)));
  EXPECT_EQ(calls, 1) << "told before enqueue returned, and free to ask the store";
  EXPECT_EQ(must(store->claim(a_claim("a", "1"))).jobs.size(), 1u);
  EXPECT_TRUE(must(store->backlog({.ns = "default", .queues = {"q"}})).running);
  EXPECT_TRUE(store->examine());
  EXPECT_EQ(store->profile().guarantee, GuaranteeClass::d);
  watch.reset();
  must(store->enqueue(one_job(2)));
  EXPECT_EQ(calls, 1);
}

TEST(SqliteInMemory, TwoStoresShareNothing) {
  ThreadRuntime runtime;
  ManualClock clock;
  const auto one = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = ":memory:"}));
  const auto two = must(SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = ":memory:"}));
  must(one->enqueue(one_job(1)));
  EXPECT_EQ(must(two->jobs({.ns = "default"})).jobs.size(), 0u);
}

}  // namespace
}  // namespace fenceline::test
