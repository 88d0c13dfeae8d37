// Backups as an operator takes them: under load, and put back after the store was lost.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

namespace fs = std::filesystem;

TEST(Backup, J3_TakenUnderLoadItComesBackAndOldHoldersAreRefused) {
  const Workplace place;
  const std::string held = enqueue(place);
  const std::string handler = "echo $FENCELINE_FENCE >fence; exec sleep 60";
  const auto worker = place.start({"work", "q", "--ttl", "30s", "--", "sh", "-c", handler});
  ASSERT_TRUE(eventually([&] { return !Workplace::read(place.file("fence")).empty(); }));
  // Others write all the while.
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += std::to_string(i) + "\n";
  const auto load = place.start({"enqueue", "load", "--jsonl", "-"});
  load->feed(lines);

  const Json made = answer(place, {"backup", "copy.db"});
  EXPECT_EQ(made["file"], fs::canonical(place.file("copy.db")).string());
  EXPECT_GT(made["bytes"], 4096);
  load->close_input();
  EXPECT_EQ(load->wait().status, 0);
  const std::string since = enqueue(place);  // forgotten by the restore
  const Ended again = place.fenceline({"backup", "copy.db"});
  EXPECT_EQ(again.status, 65) << again.err;
  EXPECT_TRUE(has(again.err, "is there already")) << again.err;

  const Ended open = place.fenceline({"restore", "copy.db", "--yes"});
  EXPECT_EQ(open.status, 75) << open.err;
  EXPECT_TRUE(has(open.err, "is open in another process")) << open.err;
  worker->signal(SIGKILL);
  worker->wait();

  const Json restored = answer(place, {"restore", "copy.db", "--yes", "--reason", "a test"});
  EXPECT_GE(restored["leases_ended"], 1);  // the scheduler may lead, too
  EXPECT_TRUE(fs::exists(restored["kept"].get<std::string>()));
  EXPECT_EQ(place.fenceline({"job", "show", since}).status, 66);
  // Nobody has taken the job over yet; its old holder is refused all the same, where it writes and where it records.
  const std::string fence = trimmed(Workplace::read(place.file("fence")));
  const Ended late = place.fenceline({"gate", "put", held, fence, "report"}, {.input = "late"});
  EXPECT_EQ(late.status, 76) << late.err;
  EXPECT_FALSE(fs::exists(place.file("report")));
  drain(place, "echo again | " + program() + " gate put $FENCELINE_JOB $FENCELINE_FENCE report");
  EXPECT_EQ(show(place, held)["state"], "done");
  EXPECT_GT(show(place, held)["fence"].get<std::int64_t>(), std::stoll(fence));
  EXPECT_EQ(place.fenceline({"gate", "put", held, fence, "report"}, {.input = "late"}).status, 76);
  EXPECT_TRUE(has(place.fenceline({"trail"}).out, "store_restored"));
}

TEST(Backup, OtherStoresAreNamedTheirOwnTools) {
  const Workplace place;
  const Ended postgres = place.fenceline({"backup", "x", "--store", "postgres://u:secret@h/d"});
  EXPECT_EQ(postgres.status, 64);
  EXPECT_TRUE(one_line(postgres.err) && has(postgres.err, "pg_dump") && has(postgres.err, "docs/backup.md"))
      << postgres.err;
  EXPECT_FALSE(has(postgres.err, "secret"));
  const Ended redis = place.fenceline({"restore", "x", "--yes", "--store", "redis://h"});
  EXPECT_EQ(redis.status, 64);
  EXPECT_TRUE(one_line(redis.err) && has(redis.err, "Redis") && has(redis.err, "docs/backup.md")) << redis.err;
}

}  // namespace
}  // namespace fenceline::e2e
