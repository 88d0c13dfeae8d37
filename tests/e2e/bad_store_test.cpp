// Store files that are not what they should be, and disks that fail. One line, the right exit code, nothing lost.
#include <gtest/gtest.h>

#include <fstream>

#include "mounts.hpp"
#include "program.hpp"

namespace fenceline::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMebibyte = 1 << 20;

void expect_one_line(const Ended& ended, int status) {
  EXPECT_EQ(ended.status, status) << ended.err;
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_TRUE(ended.err.starts_with("fenceline: ")) << ended.err;
  EXPECT_EQ(ended.out, "");
}

TEST(BadStore, AFileThatIsNotSqliteIsNotTouched) {
  for (const std::string& text :
       {std::string("hello"), std::string(10'000, 'x'), std::string("SQLite format 3") + std::string(5000, '\0')}) {
    const Workplace place;
    place.write("fenceline.db", text);
    expect_one_line(place.fenceline({"enqueue", "q"}), 69);
    expect_one_line(place.fenceline({"jobs"}), 69);
    EXPECT_EQ(Workplace::read(place.file("fenceline.db")), text);
  }
}

TEST(BadStore, ADatabaseOfSomeoneElseIsNotTouched) {
  const Workplace place;
  ASSERT_EQ(place.run({"sqlite3", "fenceline.db", "CREATE TABLE mine(a); INSERT INTO mine VALUES (1);"}).status, 0);
  const std::string before = Workplace::read(place.file("fenceline.db"));
  expect_one_line(place.fenceline({"enqueue", "q"}), 69);
  EXPECT_EQ(Workplace::read(place.file("fenceline.db")), before);
}

TEST(BadStore, AStoreOfANewerVersionIsNotTouched) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  ASSERT_EQ(place.run({"sqlite3", "fenceline.db", "PRAGMA user_version=9999;"}).status, 0);
  const std::string before = place.dump();
  for (const Words& words : std::vector<Words>{{"enqueue", "q"}, {"jobs"}, {"migrate"}}) {
    const Ended ended = place.fenceline(words);
    expect_one_line(ended, 69);
    EXPECT_NE(ended.err.find("9999"), std::string::npos) << "which version is it? " << ended.err;
  }
  EXPECT_EQ(place.dump(), before);
}

TEST(BadStore, DoctorNamesAFileThatIsDamagedWhereOnlyWorkersLook) {
  const Workplace place;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "\"" + std::string(200, 'x') + "\"\n";
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--jsonl", "-"}, {.input = lines}).status, 0);
  ASSERT_EQ(place.run({"sqlite3", "fenceline.db", "PRAGMA wal_checkpoint(TRUNCATE);"}).status, 0);
  EXPECT_NE(place.fenceline({"doctor"}).out.find("file\tok\t"), std::string::npos);
  std::string bytes = Workplace::read(place.file("fenceline.db"));
  bytes.replace(bytes.size() / 2 / 4096 * 4096, 4096, std::string(4096, '\x5a'));
  place.write("fenceline.db", bytes);
  const Ended doctor = place.fenceline({"doctor"});
  EXPECT_EQ(doctor.status, 1) << doctor.out;
  EXPECT_NE(doctor.out.find("file is damaged"), std::string::npos) << doctor.out;
}

TEST(BadStore, AFolderIsNotAStore) {
  const Workplace place;
  fs::create_directory(place.file("fenceline.db"));
  const Ended ended = place.fenceline({"enqueue", "q"});
  EXPECT_TRUE(ended.status == 69 || ended.status == 74) << ended.status;
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
}

TEST(BadStore, AFolderThatIsMissingIsNotMade) {
  const Workplace place;
  const Ended ended = place.fenceline({"enqueue", "q", "--store", "sqlite:missing/fenceline.db"});
  EXPECT_TRUE(ended.status == 66 || ended.status == 69) << ended.status;
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_FALSE(fs::exists(place.file("missing")));
}

TEST(BadStore, AReadOnlyStoreIsRefused) {
  if (!why_no_mounts().empty()) GTEST_SKIP() << why_no_mounts();
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const std::string before = place.dump();
  if (!mount_read_only(place.folder())) GTEST_SKIP() << "read-only mounts are not allowed here";
  expect_one_line(place.fenceline({"enqueue", "q"}), 69);
  EXPECT_EQ(place.dump(), before);
  expect_one_line(place.fenceline({"enqueue", "q", "--store", "sqlite:other.db"}), 69);
  unmount(place.folder());
  EXPECT_EQ(place.jobs().size(), 1U);
  EXPECT_EQ(place.fenceline({"enqueue", "q"}).status, 0) << "it works again once it can be written";
}

TEST(BadStore, AStoreThatWasEmptiedOrDeletedIsNamedAndNotMadeAnew) {
  for (const bool deleted : {false, true}) {
    const Workplace place;
    ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
    if (deleted) fs::remove(place.file("fenceline.db"));
    else fs::resize_file(place.file("fenceline.db"), 0);
    for (const Words& words : std::vector<Words>{{"enqueue", "q"}, {"jobs"}, {"work", "q", "--drain", "--", "true"}}) {
      const Ended ended = place.fenceline(words);
      expect_one_line(ended, 69);
      EXPECT_NE(ended.err.find(deleted ? "is missing, but" : "is empty, but"), std::string::npos) << ended.err;
      EXPECT_NE(ended.err.find("fenceline restore"), std::string::npos) << ended.err;
    }
    EXPECT_EQ(fs::exists(place.file("fenceline.db")), !deleted);
  }
}

// The worker notices by itself, stops its handler and ends; it does not go on with the file that took the name.
TEST(BadStore, AWorkerWhoseStoreIsReplacedStopsItsHandlerAndEnds) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const auto worker = place.start({"work", "q", "--ttl", "6s", "--", "sh", "-c",
                                   "trap 'echo told >told; exit 1' TERM; echo $$ >begun; "
                                   "while :; do sleep 0.05; done"});
  ASSERT_TRUE(eventually([&] { return !Workplace::read(place.file("begun")).empty(); }));
  fs::copy_file(place.file("fenceline.db"), place.file("other.db"));
  fs::rename(place.file("other.db"), place.file("fenceline.db"));
  const Ended ended = worker->wait();
  EXPECT_EQ(ended.status, 69) << ended.err;
  EXPECT_NE(ended.err.find("store_gone"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("was replaced by another file"), std::string::npos) << ended.err;
  EXPECT_TRUE(fs::exists(place.file("told"))) << "its handler was told to stop";
}

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_mounts().empty()) GTEST_SKIP() << why_no_mounts();
    if (!mount_small(place_.folder(), 2 * kMebibyte)) GTEST_SKIP() << "small file systems are not allowed here";
  }
  void TearDown() override { unmount(place_.folder()); }

  void fill() {
    std::ofstream filler(place_.file("filler"), std::ios::binary);
    const std::string block(4096, 'f');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void make_room() { fs::remove(place_.file("filler")); }

  Workplace place_;
};

TEST_F(FullDisk, AnEnqueueThatDoesNotFitChangesNothing) {
  ASSERT_EQ(place_.fenceline({"enqueue", "q", "--payload", "1"}).status, 0);
  const std::string before = place_.dump();
  fill();
  const std::string payload = "\"" + std::string(100'000, 'x') + "\"";
  expect_one_line(place_.fenceline({"enqueue", "q", "--payload-file", "-"}, {.input = ""}),
                  65);  // an empty payload: the disk is not even asked
  const Workplace outside;
  const std::string file = outside.write("payload.json", payload).string();
  expect_one_line(place_.fenceline({"enqueue", "q", "--payload-file", file}), 74);
  EXPECT_EQ(place_.dump(), before);
  make_room();
  EXPECT_EQ(place_.fenceline({"enqueue", "q", "--payload-file", file}).status, 0)
      << "it works again once there is room";
  EXPECT_EQ(place_.jobs().size(), 2U);
}

TEST_F(FullDisk, AStoreThatDoesNotFitIsAnError) {
  fill();
  expect_one_line(place_.fenceline({"enqueue", "q"}), 74);
  make_room();
  EXPECT_EQ(place_.fenceline({"enqueue", "q"}).status, 0);
  EXPECT_EQ(place_.jobs().size(), 1U);
}

TEST_F(FullDisk, J1_WhatWasAcknowledgedBeforeTheDiskWasFullIsThere) {
  const Workplace outside;
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "\"" + std::string(500, 'x') + "\"\n";
  const std::string file = outside.write("many.jsonl", lines).string();
  ASSERT_EQ(place_.fenceline({"migrate"}).status, 0);
  const Ended ended = place_.fenceline({"enqueue", "q", "--jsonl", file});
  EXPECT_EQ(ended.status, 74) << ended.err;
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  const std::size_t at = ended.err.find(" jobs enqueued");
  ASSERT_NE(at, std::string::npos) << ended.err;
  const std::size_t from = ended.err.rfind(' ', at - 1) + 1;
  const std::size_t acknowledged = std::stoul(ended.err.substr(from, at - from));
  EXPECT_GT(acknowledged, 0U);
  EXPECT_EQ(place_.jobs().size(), acknowledged);
}

// The nth call of a kind fails. What the program acknowledges is there; what it does not is not, or it said so.
class FailingDisk : public testing::TestWithParam<const char*> {};

TEST_P(FailingDisk, EveryCallInTurn) {
  if (Workplace().run({"strace", "-f", "-o", "/dev/null", "true"}).status != 0)
    GTEST_SKIP() << "strace may not trace here";
  int failures = 0;
  for (int nth = 1; nth <= 60; ++nth) {
    const Workplace place;
    ASSERT_EQ(place.fenceline({"enqueue", "q", "--payload", "1"}).status, 0);
    const std::string before = place.dump();
    const std::string inject = std::string("inject=") + GetParam() + ":error=EIO:when=" + std::to_string(nth) + "+";
    const Ended ended = place.run({"strace", "-f", "-o", "/dev/null", "-e", std::string("trace=") + GetParam(), "-e",
                                   inject, program(), "enqueue", "q", "--payload", "2"});
    if (ended.status == 0) {  // so many calls are not made
      EXPECT_EQ(place.jobs().size(), 2U);
      EXPECT_GT(failures, 0) << "no call failed: this shows nothing";
      return;
    }
    SCOPED_TRACE(inject);
    ++failures;
    expect_one_line(ended, 74);
    // A commit whose sync failed may stand; then nothing but that job is new.
    if (place.dump() != before) {
      EXPECT_STREQ(GetParam(), "fdatasync");
      EXPECT_EQ(place.jobs().size(), 2U);
    }
    EXPECT_EQ(place.fenceline({"enqueue", "q", "--payload", "3"}).status, 0) << "it works again once the disk does";
  }
  ADD_FAILURE() << "an enqueue with sixty calls of " << GetParam();
}

TEST(FailingDiskAmongLines, SaysWhichLinesWereEnqueuedAndWhichMayHaveBeen) {
  if (Workplace().run({"strace", "-f", "-o", "/dev/null", "true"}).status != 0)
    GTEST_SKIP() << "strace may not trace here";
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "1\n";
  bool partly = false;
  for (int nth = 1; nth <= 60; ++nth) {
    const Workplace place;
    ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
    const std::string inject = "inject=fdatasync:error=EIO:when=" + std::to_string(nth) + "+";
    const Ended ended = place.run({"strace", "-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", inject, program(),
                                   "enqueue", "q", "--jsonl", "-"},
                                  {.input = lines});
    const std::size_t there = place.jobs().size();
    if (ended.status == 0) {
      EXPECT_EQ(there, 3000U);
      EXPECT_TRUE(partly) << "it never failed between two batches: this shows nothing";
      return;
    }
    SCOPED_TRACE(inject);
    expect_one_line(ended, 74);
    const auto says = [&](const std::string& text) { return ended.err.find(text) != std::string::npos; };
    if (says("1000 jobs enqueued (lines 1 to 1000), lines 1001 to 2000 may have been enqueued")) {
      partly = true;
      EXPECT_TRUE(there == 1000 || there == 2000) << there;
    } else if (says("2000 jobs enqueued (lines 1 to 2000), lines 2001 to 3000 may have been enqueued")) {
      EXPECT_TRUE(there == 2000 || there == 3000) << there;
    } else if (says("; lines 1 to 1000 may have been enqueued")) {
      EXPECT_TRUE(there == 0 || there == 1000) << there;
    } else {
      EXPECT_TRUE(says("nothing was enqueued")) << ended.err;
      EXPECT_EQ(there, 0U);
    }
  }
  ADD_FAILURE() << "three batches with sixty syncs";
}

INSTANTIATE_TEST_SUITE_P(Calls, FailingDisk, testing::Values("pwrite64", "fdatasync"),
                         [](const auto& call) { return std::string(call.param); });

}  // namespace
}  // namespace fenceline::e2e
