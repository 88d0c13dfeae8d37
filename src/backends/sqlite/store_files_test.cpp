// A store whose files are deleted, emptied or replaced: never served on, never made anew without a word.
#include "backends/sqlite/store_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "backends/sqlite/guarded_testing.hpp"

namespace fenceline::test {
namespace {

namespace fs = std::filesystem;

std::string message_of(const Result<EnqueueReply>& reply) { return reply ? "accepted" : reply.error().message; }

class LostFile : public SqliteFile {
 protected:
  std::string path() const { return options().path; }
  // What is left after `spoil`, as the next process meets it.
  Error met_after(const std::function<void()>& spoil) {
    must(open()->enqueue(one_job(1)));
    spoil();
    const auto again = try_open(options());
    return again ? Error{Code::held, "it was opened"} : again.error();
  }
};

TEST_F(LostFile, ADatabaseThatWasEmptiedIsNotMadeAnew) {
  const Error error = met_after([&] { fs::resize_file(path(), 0); });
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("is empty, but "), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("fenceline restore FILE"), std::string::npos) << error.message;
  EXPECT_EQ(fs::file_size(path()), 0U);
}

TEST_F(LostFile, ADatabaseThatWasEmptiedWithItsLogIsNotMadeAnew) {
  const Error error = met_after([&] {
    fs::resize_file(path(), 0);
    fs::remove(path() + "-wal");
    fs::remove(path() + "-shm");
  });
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("-lock shows that a store was here: it was emptied"), std::string::npos)
      << error.message;
}

TEST_F(LostFile, ADatabaseThatWasDeletedAloneIsNamedAndNotMadeAnew) {
  const Error error = met_after([&] { fs::remove(path()); });
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("is missing, but "), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("sqlite code"), std::string::npos) << error.message;
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(LostFile, ALogWithoutADatabaseIsNotMadeIntoANewStore) {
  const Error error = met_after([&] {
    fs::remove(path());
    fs::remove(path() + "-lock");
  });
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_NE(error.message.find("-wal shows that a store was here"), std::string::npos) << error.message;
}

TEST_F(LostFile, WhoRemovesAllThatIsLeftStartsWithAnEmptyStore) {
  const Error error = met_after([&] {
    for (const char* part : {"", "-wal", "-shm", "-lock", "-wake"}) fs::remove(path() + part);
  });
  EXPECT_EQ(error.message, "it was opened");
}

TEST_F(LostFile, AnEmptyFileThatNeverWasAStoreIsSetUp) {
  std::ofstream(path()).flush();
  EXPECT_TRUE(try_open(options()));
}

class SpoiledFile : public LostFile, public testing::WithParamInterface<const char*> {};

// Each file of the store, deleted or replaced by a copy of itself, while a process has it open.
TEST_P(SpoiledFile, NothingIsWrittenOnceItWasDeletedOrReplaced) {
  for (const bool replaced : {false, true}) {
    for (const char* part : {"", "-wal", "-shm", "-lock", "-wake"}) fs::remove(path() + part);
    const auto store = open();
    SqliteConnection connection = must(store->connect({}));
    must(store->enqueue(one_job(1)));
    const std::string file = path() + GetParam();
    if (replaced) fs::copy_file(file, file + ".copy");
    fs::remove(file);
    if (replaced) fs::rename(file + ".copy", file);

    const std::string said = message_of(store->enqueue(one_job(2)));
    EXPECT_NE(said.find(replaced ? "was replaced by another file" : "was deleted or moved"), std::string::npos) << said;
    EXPECT_EQ(code_of(store->enqueue(one_job(3))), Code::refused);
    EXPECT_EQ(code_of(store->jobs({.ns = "default"})), Code::refused);
    EXPECT_EQ(code_of(connection.begin()), Code::refused);
    // Not even if what was there comes back: it is never opened again.
    EXPECT_EQ(code_of(store->enqueue(one_job(4))), Code::refused);
  }
}
INSTANTIATE_TEST_SUITE_P(EveryFile, SpoiledFile, testing::Values("", "-wal", "-shm", "-lock"));

TEST_F(LostFile, AProcessWhoseDatabaseWasEmptiedWritesNothingMore) {
  const auto store = open();
  must(store->enqueue(one_job(1)));
  fs::resize_file(path(), 0);
  const std::string said = message_of(store->enqueue(one_job(2)));
  EXPECT_NE(said.find("was emptied while this process had it open"), std::string::npos) << said;
}

// The commit itself met the change: it may stand in a file that nobody opens, so it is not called done.
TEST_F(LostFile, J1_ACommitIntoAFileThatWasReplacedMeanwhileIsNotAcknowledged) {
  const auto store = open();
  SqliteConnection connection = must(store->connect({}));
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.enqueue("q", "1"));
  fs::rename(path(), path() + ".moved");
  EXPECT_EQ(code_of(transaction.commit()), Code::in_doubt);
  EXPECT_EQ(code_of(store->enqueue(one_job(2))), Code::refused);
}

}  // namespace
}  // namespace fenceline::test
