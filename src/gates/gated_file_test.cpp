#include "fenceline/gated_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <memory>

#include "base/crash_point.hpp"
#include "gates/gate_memory.hpp"
#include "support/gate_place.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

GatedFile report(const GatePlace& place, Duration wait = 20s) {
  return GatedFile({.path = place.file(), .resource = "reports", .wait = wait});
}

std::string verdict(const Result<GateAnswer>& answer) {
  return answer ? std::string(to_string(answer->verdict)) : answer.error().message;
}

TEST(GatedFile, TakesAnEqualOrLargerFenceAndRefusesAnOlderOne) {
  const GatePlace place;
  EXPECT_EQ(report(place).remembered(), std::nullopt);
  EXPECT_EQ(verdict(report(place).put({.fence = 5, .content = "first"})), "accepted");
  EXPECT_EQ(verdict(report(place).put({.fence = 5, .content = "again"})), "accepted");
  EXPECT_EQ(verdict(report(place).put({.fence = 9, .content = "newer"})), "accepted");
  const Result<GateAnswer> late = report(place).put({.fence = 8, .content = "late"});
  EXPECT_EQ(verdict(late), "stale");
  EXPECT_EQ(late->remembered, 9);
  EXPECT_EQ(place.read(), "newer");
  EXPECT_EQ(report(place).remembered(), 9);
  EXPECT_EQ(place.files(), 2U);
}

TEST(GatedFile, AsksTheStoreForItsNewestGrant) {
  const GatePlace place;
  const auto put = [&](Fence fence, std::optional<Fence> newest) {
    return verdict(
        report(place).put({.fence = fence, .content = std::to_string(fence), .newest = [=] { return newest; }}));
  };
  EXPECT_EQ(put(5, 6), "stale");
  EXPECT_EQ(put(6, 6), "accepted");
  EXPECT_EQ(put(20, {}), "accepted");
  EXPECT_EQ(put(7, 7), "behind");
  EXPECT_EQ(place.read(), "20");
  const Result<GateAnswer> away =
      report(place).put({.fence = 30, .content = "x", .newest = []() -> Result<std::optional<Fence>> {
                           return fail(Code::unavailable, "away");
                         }});
  EXPECT_EQ(away.error().code, Code::unavailable);
  EXPECT_EQ(place.read(), "20");
  EXPECT_EQ(report(place).remembered(), 20);
}

TEST(GatedFile, RefusesNamesThatAGateBesideItWouldRemove) {
  const GatePlace place;
  for (const char* ending : {".gate", ".gate.new", ".gate.first", ".gate.content"}) {
    const GatedFile file({.path = place.file() + ending, .resource = "r"});
    const Result<GateAnswer> answer = file.put({.fence = 1, .content = "mine"});
    EXPECT_EQ(answer ? std::nullopt : std::optional(answer.error().code), Code::invalid) << ending;
  }
}

TEST(GatedFile, KeepsTheModeOfAFileThatIsThere) {
  const GatePlace place;
  place.write("report", "old");
  ASSERT_EQ(::chmod(place.file().c_str(), 0640), 0);
  ASSERT_TRUE(report(place).put({.fence = 1, .content = "new"}));
  struct stat status {};
  ASSERT_EQ(::stat(place.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_EQ(place.read(), "new");
}

TEST(GatedFile, RefusesWhatCannotBeReplacedAndLeavesNothingBehind) {
  const GatePlace place;
  std::filesystem::create_symlink("elsewhere", place.file("link"));
  std::filesystem::create_directory(place.file("folder"));
  ASSERT_EQ(::mkfifo(place.file("pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "folder", "pipe", "x.gate", ""}) {
    const Result<GateAnswer> answer =
        GatedFile({.path = *name == '\0' ? "" : place.file(name), .resource = "r"}).put({.fence = 1, .content = "x"});
    ASSERT_FALSE(answer) << name;
    EXPECT_EQ(answer.error().code, Code::invalid) << answer.error().message;
  }
  EXPECT_EQ(GatedFile({.path = place.file("no/such"), .resource = "r"}).put({.fence = 1, .content = "x"}).error().code,
            Code::not_found);
  EXPECT_EQ(place.files(), 3U);
}

TEST(GatedFile, RefusesFencesAndContentsOutOfTheirLimits) {
  const GatePlace place;
  for (const Fence fence : {Fence{0}, Fence{-1}, kFenceMax + 1})
    EXPECT_EQ(report(place).put({.fence = fence, .content = "x"}).error().code, Code::invalid);
  const std::string large(kGatedContentBytesMax + 1, 'x');
  EXPECT_EQ(report(place).put({.fence = 1, .content = large}).error().code, Code::invalid);
  EXPECT_EQ(place.files(), 0U);
  EXPECT_EQ(verdict(report(place).put({.fence = kFenceMax, .content = ""})), "accepted");
}

TEST(GatedFile, ADiskWithoutRoomChangesNeitherContentNorMemory) {
  const GatePlace place;
  ASSERT_TRUE(report(place).put({.fence = 1, .content = "old"}));
  GateProcess writer([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &little);
    return report(place).put({.fence = 2, .content = std::string(5000, 'x')}) ? 1 : 0;
  });
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_EQ(place.read(), "old");
  EXPECT_EQ(report(place).remembered(), 1);
  EXPECT_EQ(place.files(), 2U);
}

TEST(GatedFile, OfManyWritersTheOneWithTheLargestFenceStands) {
  constexpr int kProcesses = 5, kWrites = 16;
  const GatePlace place;
  std::vector<std::unique_ptr<GateProcess>> writers;
  for (int i = 0; i < kProcesses; ++i) {
    writers.push_back(std::make_unique<GateProcess>([&place, i] {
      Fence seen = 0;
      for (int n = 0; n < kWrites; ++n) {
        const Fence fence = 1 + (n * 7 + i * 3) % 53;  // to and fro
        const std::string content(static_cast<std::size_t>(3000 + fence), static_cast<char>('a' + fence % 26));
        const Result<GateAnswer> answer = report(place, 60s).put({.fence = fence, .content = content});
        if (!answer || answer->remembered < seen || answer->accepted() != (fence >= answer->remembered)) return 1;
        seen = answer->remembered;
      }
      return 0;
    }));
  }
  Fence largest = 0;
  for (int i = 0; i < kProcesses; ++i) {
    for (int n = 0; n < kWrites; ++n) largest = std::max<Fence>(largest, 1 + (n * 7 + i * 3) % 53);
    EXPECT_EQ(writers[static_cast<std::size_t>(i)]->wait(), 0);
  }
  EXPECT_EQ(report(place).remembered(), largest);
  EXPECT_EQ(place.read(), std::string(static_cast<std::size_t>(3000 + largest), static_cast<char>('a' + largest % 26)));
  EXPECT_EQ(place.files(), 2U);
}

TEST(GatedFile, AWriterPausedBeforeTheGateIsRefusedWhenItGoesOn) {
  const GatePlace place;
  GateProcess paused([&] {
    ::raise(SIGSTOP);
    const Result<GateAnswer> answer = report(place).put({.fence = 5, .content = "late"});
    return answer && answer->verdict == GateVerdict::stale ? 0 : 1;
  });
  paused.wait_for_its_stop();
  EXPECT_EQ(verdict(report(place).put({.fence = 6, .content = "newer"})), "accepted");
  paused.signal(SIGCONT);
  EXPECT_EQ(paused.wait(), 0);
  EXPECT_EQ(place.read(), "newer");
}

// The mutant that compares and then writes without the gate dies here: its late write would follow the newer one.
TEST(GatedFile, AWriterPausedInsideTheGateIsWaitedForAndNeverOvertaken) {
  const GatePlace place;
  ASSERT_TRUE(report(place).put({.fence = 1, .content = "old"}));
  GateProcess paused([&] {
    const Result<GateAnswer> answer = report(place).put({.fence = 5, .content = "older", .newest = [] {
                                                           ::raise(SIGSTOP);  // between the comparison's two halves
                                                           return Result<std::optional<Fence>>(std::nullopt);
                                                         }});
    return answer && answer->accepted() ? 0 : 1;
  });
  paused.wait_for_its_stop();
  const Result<GateAnswer> waits = report(place, 50ms).put({.fence = 6, .content = "newer"});
  ASSERT_FALSE(waits) << "the newer one passed a gate that was held";
  EXPECT_EQ(waits.error().code, Code::held);
  EXPECT_EQ(place.read(), "old");
  paused.signal(SIGCONT);
  EXPECT_EQ(verdict(report(place).put({.fence = 6, .content = "newer"})), "accepted");
  EXPECT_EQ(paused.wait(), 0);
  EXPECT_EQ(place.read(), "newer");
}

TEST(GatedFile, AWriterPausedBehindTheGateHoldsNobodyUp) {
  const GatePlace place;
  GateProcess paused([&] {
    const bool wrote = report(place).put({.fence = 5, .content = "older"})->accepted();
    ::raise(SIGSTOP);
    return wrote && report(place).put({.fence = 5, .content = "late"})->verdict == GateVerdict::stale ? 0 : 1;
  });
  paused.wait_for_its_stop();
  EXPECT_EQ(verdict(report(place, 0s).put({.fence = 6, .content = "newer"})), "accepted");
  paused.signal(SIGCONT);
  EXPECT_EQ(paused.wait(), 0);
  EXPECT_EQ(place.read(), "newer");
}

// A real process is killed with SIGKILL at each point that a put passes.
TEST(GatedFile, AKillAtAnyStepLeavesTheOldOrTheNewAndLetsNothingOlderFollow) {
  int met = 0;
  for (const CrashPointInfo& point : crash_points()) {
    if (!point.name.starts_with("gate_") || point.name.starts_with("gate_command")) continue;
    SCOPED_TRACE(point.name);
    const GatePlace place;
    const std::string old_content(5000, 'o'), new_content(9000, 'n');
    const bool makes = point.point == CrashPoint::gate_made;
    place.write("report", old_content);
    if (!makes) {
      ASSERT_TRUE(report(place).put({.fence = 10, .content = old_content}));
    }

    GateProcess writer([&] {
      arm_crash_point(point.point, 1);
      return report(place).put({.fence = 20, .content = new_content}) ? 0 : 1;
    });
    ASSERT_EQ(writer.wait(), 128 + SIGKILL) << "the point was never met";
    ++met;
    const std::string left = place.read();
    EXPECT_TRUE(left == old_content || left == new_content) << "a mixture";
    const Result<std::optional<Fence>> remembered = report(place).remembered();
    ASSERT_TRUE(remembered) << remembered.error().message;
    EXPECT_TRUE(left == old_content || *remembered == 20) << "the content stands, and an older one could follow";
    EXPECT_TRUE(makes || *remembered >= 10);

    const GateAnswer late = *report(place, 0s).put({.fence = 15, .content = "between"});
    EXPECT_EQ(late.accepted(), remembered->value_or(0) < 15);
    EXPECT_EQ(verdict(report(place, 0s).put({.fence = 20, .content = new_content})), "accepted")
        << "the same fence may do it again";
    EXPECT_EQ(verdict(report(place, 0s).put({.fence = 19, .content = "late"})), "stale");
    EXPECT_EQ(place.read(), new_content);
    EXPECT_EQ(place.files(), 2U) << "something was left behind";
  }
  EXPECT_EQ(met, 9);
}

}  // namespace
}  // namespace fenceline
