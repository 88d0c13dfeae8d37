#include "gates/gate_memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <memory>

#include "fenceline/gated_file.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/gate_place.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

Result<GateMemory> lock(const GatePlace& place, Duration wait = 20s, const std::string& resource = "reports") {
  ThreadRuntime runtime;
  return GateMemory::lock(runtime, {place.file("r.gate"), resource}, wait);
}

TEST(GateVerdict, EqualAndLargerPassAndOlderIsStale) {
  EXPECT_EQ(judge_fence(7, 0, {}), (GateAnswer{GateVerdict::accepted, 7, {}}));
  EXPECT_EQ(judge_fence(7, 7, {}), (GateAnswer{GateVerdict::accepted, 7, {}}));
  EXPECT_EQ(judge_fence(6, 7, {}), (GateAnswer{GateVerdict::stale, 7, {}}));
}

TEST(GateVerdict, WhereTheStoreKnowsTheResourceItsNewestGrantCounts) {
  EXPECT_EQ(judge_fence(7, 5, 7).verdict, GateVerdict::accepted);
  EXPECT_EQ(judge_fence(7, 5, 8).verdict, GateVerdict::stale);   // the newer one has not been here yet
  EXPECT_EQ(judge_fence(7, 9, 7).verdict, GateVerdict::behind);  // the store knows no newer one
  EXPECT_EQ(judge_fence(6, 9, 7).verdict, GateVerdict::stale);
  EXPECT_EQ(judge_fence(9, 9, 7).verdict, GateVerdict::accepted);  // granted by the store before it was set back
  EXPECT_EQ(judge_fence(8, 9, 7).verdict, GateVerdict::stale);
}

TEST(GateMemory, RemembersWhatItWasRaisedTo) {
  const GatePlace place;
  {
    Result<GateMemory> gate = lock(place);
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->remembered(), 0);
    ASSERT_TRUE(gate->raise(5));
    ASSERT_TRUE(gate->raise(9));
    EXPECT_EQ(gate->remembered(), 9);
  }
  EXPECT_EQ(lock(place)->remembered(), 9);
  EXPECT_EQ(look_at_gate(place.file("r.gate")), (GateRecord{"reports", 9}));
  EXPECT_EQ(place.files(), 1U);
}

TEST(GateMemory, ThatIsTornIsRefusedByNameAndNeverTakenForNone) {
  const GatePlace place;
  const std::string whole = gate_text({"reports", 1234567});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    place.write("r.gate", whole.substr(0, size));
    const Result<GateMemory> gate = lock(place, 0s);
    ASSERT_FALSE(gate) << size;
    EXPECT_EQ(gate.error().code, Code::invalid);
    EXPECT_NE(gate.error().message.find(place.file("r.gate")), std::string::npos);
    EXPECT_FALSE(look_at_gate(place.file("r.gate")));
    EXPECT_EQ(place.read("r.gate"), whole.substr(0, size)) << "it was changed";
  }
}

TEST(GateMemory, InWhichOneByteIsAnotherIsRefused) {
  const std::string whole = gate_text({"reports", 1234567});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(parse_gate("x", changed)) << at;
  }
  EXPECT_FALSE(parse_gate("x", whole + "\n"));
  EXPECT_FALSE(parse_gate("x", gate_text({"reports", kFenceMax + 1})));
  EXPECT_FALSE(parse_gate("x", gate_text({"reports", -1})));
  EXPECT_FALSE(parse_gate("x", gate_text({"", 1})));
  EXPECT_TRUE(parse_gate("x", gate_text({"reports", kFenceMax})));
}

TEST(GateMemory, OfAnotherVersionOrResourceOrNoPlainFileIsRefusedByName) {
  const GatePlace place;
  place.write("r.gate", "fenceline gate 2\nanything\n");
  EXPECT_NE(lock(place).error().message.find("another version"), std::string::npos);
  place.write("r.gate", gate_text({"invoices", 7}));
  const Result<GateMemory> foreign = lock(place);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Code::conflict);
  EXPECT_NE(foreign.error().message.find("invoices"), std::string::npos);
  std::filesystem::remove(place.file("r.gate"));
  std::filesystem::create_symlink("elsewhere", place.file("r.gate"));
  EXPECT_EQ(lock(place).error().code, Code::invalid);
  std::filesystem::remove(place.file("r.gate"));
  ASSERT_EQ(::mkfifo(place.file("r.gate").c_str(), 0600), 0);
  EXPECT_EQ(lock(place).error().code, Code::invalid);
}

TEST(GateMemory, OfAResourceThatIsNoneIsRefused) {
  const GatePlace place;
  for (const std::string& resource :
       {std::string(), std::string("a\nfence 9"), std::string(257, 'a'), std::string("\xff")})
    EXPECT_EQ(lock(place, 0s, resource).error().code, Code::invalid);
  EXPECT_EQ(place.files(), 0U);
}

// Each reads, adds one and writes: a turn that two had at a time would be missing at the end. They also race to make
// it.
TEST(GateMemory, IsHeldByOneProcessAtATime) {
  constexpr int kProcesses = 6, kTurns = 25;
  const GatePlace place;
  std::vector<std::unique_ptr<GateProcess>> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(std::make_unique<GateProcess>([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        Result<GateMemory> gate = lock(place, 60s);
        if (!gate || !gate->raise(gate->remembered() + 1)) return 1;
      }
      return 0;
    }));
  }
  for (const auto& process : processes) EXPECT_EQ(process->wait(), 0);
  EXPECT_EQ(lock(place)->remembered(), kProcesses * kTurns);
  EXPECT_EQ(place.files(), 1U);
}

TEST(GateMemory, ThatIsHeldIsWaitedForAndItsHolderNamed) {
  const GatePlace place;
  GateProcess holder([&] {
    const Result<GateMemory> gate = lock(place);
    ::raise(SIGSTOP);
    return gate ? 0 : 1;
  });
  holder.wait_for_its_stop();
  const Result<GateMemory> refused = lock(place, 30ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::held);
  EXPECT_NE(refused.error().message.find("process " + std::to_string(holder.pid())), std::string::npos)
      << refused.error().message;
  holder.signal(SIGKILL);
  EXPECT_TRUE(lock(place));
}

TEST(GateMemory, StaysHeldByAChildWhenItsHolderDiesAndIsFreeWhenItIsGivenFree) {
  const GatePlace place;
  GateProcess holder([&] {
    Result<GateMemory> gate = lock(place);
    if (!gate || !gate->raise(3)) return 1;
    const pid_t child = ::fork();
    if (child == 0) {
      ::raise(SIGSTOP);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, WUNTRACED);
    place.write("child", std::to_string(child));
    ::_exit(0);  // without a word to anyone, as by SIGKILL
  });
  ASSERT_EQ(holder.wait(), 0);
  EXPECT_EQ(lock(place, 30ms).error().code, Code::held);
  ASSERT_EQ(::kill(std::stoi(place.read("child")), SIGKILL), 0);
  ASSERT_TRUE(lock(place));

  Result<GateMemory> gate = lock(place);
  ASSERT_TRUE(gate);
  GateProcess inherits([] {
    ::raise(SIGSTOP);
    return 0;
  });
  inherits.wait_for_its_stop();
  gate->release();
  EXPECT_TRUE(lock(place, 0s)) << "whoever inherited it still holds it";
}

}  // namespace
}  // namespace fenceline
