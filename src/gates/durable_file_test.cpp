// What a power cut may take of files that are promised to be on the disk: nothing. The order of the calls is compared,
// since no test can cut the power.
#include "gates/durable_file.hpp"

#include <gtest/gtest.h>

#include "fenceline/gated_file.hpp"
#include "gates/gate_memory.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/disk_calls.hpp"
#include "support/gate_place.hpp"

namespace fenceline {
namespace {

using test::DiskCalls;
using Words = std::vector<std::string>;

TEST(PowerCut, AReplacedFileIsOnTheDiskBeforeItHasItsName) {
  const GatePlace place;
  place.write("report", "old");
  const DiskCalls calls(place.file("."));
  {
    Result<StagedFile> staged = StagedFile::begin(place.file(), place.file("report.new"));
    ASSERT_TRUE(staged);
    ASSERT_TRUE(staged->append("new"));
    ASSERT_TRUE(staged->sync());
    ASSERT_TRUE(staged->take_place());
    ASSERT_TRUE(sync_folder(folder_of(place.file())));
  }
  EXPECT_EQ(calls.words(),
            (Words{"make report.new", "write report.new", "sync report.new", "rename report.new report", "sync ."}));
  EXPECT_EQ(calls.losses(), Words{});
}

TEST(PowerCut, AFolderThatIsMadeHasItsNameOnTheDisk) {
  const GatePlace place;
  const DiskCalls calls(place.file("."));
  ASSERT_TRUE(make_folders(place.file("a/b")));
  EXPECT_EQ(calls.words(), (Words{"make a", "sync .", "make a/b", "sync a"}));
  EXPECT_EQ(calls.losses(), Words{});
}

TEST(PowerCut, WhatAGateRemembersIsOnTheDisk) {
  const GatePlace place;
  ThreadRuntime runtime;
  const DiskCalls calls(place.file("."));
  Result<GateMemory> gate = GateMemory::lock(runtime, {place.file("g"), "reports"}, Duration{0});
  ASSERT_TRUE(gate);
  EXPECT_EQ(calls.words(), (Words{"make g.first", "write g.first", "sync g.first", "rename g.first g", "sync ."}));
  EXPECT_EQ(calls.losses(), Words{});
  ASSERT_TRUE(gate->raise(7));
  const Words words = calls.words();
  ASSERT_GT(words.size(), 5U);
  EXPECT_EQ(Words(words.begin() + 5, words.end()),
            (Words{"make g.new", "write g.new", "sync g.new", "rename g.new g", "sync ."}));
  EXPECT_EQ(calls.losses(), Words{});
}

// The content before the memory, and the memory before the content has its name: nothing older can follow it.
TEST(PowerCut, APutIsOnTheDiskAndNothingOlderCanFollowIt) {
  const GatePlace place;
  const GatedFile file({.path = place.file(), .resource = "reports"});
  ASSERT_TRUE(file.put({.fence = 5, .content = "old"}));
  const DiskCalls calls(place.file("."));
  ASSERT_TRUE(file.put({.fence = 6, .content = "new"}));
  EXPECT_EQ(calls.words(),
            (Words{"make report.gate.content", "write report.gate.content", "sync report.gate.content",
                   "make report.gate.new", "write report.gate.new", "sync report.gate.new",
                   "rename report.gate.new report.gate", "sync .", "rename report.gate.content report", "sync ."}));
  EXPECT_EQ(calls.losses(), Words{});
}

// The judge itself: each of these orders is wrong.
TEST(PowerCut, TheJudgeOfTheOrderOfCallsFindsWhatIsMissing) {
  const auto losses = [](bool sync_file, bool sync_its_folder) {
    const GatePlace place;
    const DiskCalls calls(place.file("."));
    Result<StagedFile> staged = StagedFile::begin(place.file(), place.file("new"));
    EXPECT_TRUE(staged && staged->append("text") && (!sync_file || staged->sync()) && staged->take_place());
    if (sync_its_folder) {
      EXPECT_TRUE(sync_folder(folder_of(place.file())));
    }
    return calls.losses().size();
  };
  EXPECT_EQ(losses(true, true), 0U);
  EXPECT_EQ(losses(false, true), 1U);
  EXPECT_EQ(losses(true, false), 1U);
  EXPECT_EQ(losses(false, false), 2U);
}

}  // namespace
}  // namespace fenceline
