#include "cli/pipelines/sent_back.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace fenceline::cli {
namespace {

class SentBackTest : public testing::Test {
 protected:
  void SetUp() override {
    job_.id = *parse_uuid("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10");
    job_.deliveries = 2;
    ::setenv("FENCELINE_JOB", to_string(job_.id).c_str(), 1);
    ::setenv("FENCELINE_DELIVERY", "2", 1);
    auto made = SentBackFolder::make({"ready", "review"});
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
  }
  void TearDown() override {
    for (const char* name : {"FENCELINE_JOB", "FENCELINE_DELIVERY", "FENCELINE_SENT_BACK", "FENCELINE_SENT_BACK_TO"})
      ::unsetenv(name);
  }
  static std::filesystem::path path() { return std::getenv("FENCELINE_SENT_BACK"); }

  Job job_;
  std::unique_ptr<SentBackFolder> folder_;
};

TEST_F(SentBackTest, ARequestOfACommandIsTakenOnce) {
  ASSERT_TRUE(ask_to_be_sent_back("ready", "no tests"));
  const auto taken = folder_->take(job_);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->to, "ready");
  EXPECT_EQ(taken->reason, "no tests");
  EXPECT_FALSE(folder_->take(job_));
  EXPECT_EQ(ask_to_be_sent_back("publish", "x").error().code, Code::conflict);
}

TEST_F(SentBackTest, ACleanerOfTemporaryFilesCostsNoSendBack) {
  std::filesystem::remove_all(path());
  EXPECT_FALSE(folder_->take(job_));
  ASSERT_TRUE(ask_to_be_sent_back("review", "again"));
  const auto taken = folder_->take(job_);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->to, "review");
}

TEST_F(SentBackTest, AFolderThatOthersCanReadIsRefused) {
  std::filesystem::permissions(path(), std::filesystem::perms::all);
  EXPECT_EQ(ask_to_be_sent_back("ready", "x").error().code, Code::unavailable);
}

}  // namespace
}  // namespace fenceline::cli
