#include "conformance/differential.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "backends/memory/memory_store.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::test {
namespace {

std::uint64_t seeds_to_run() {
  const char* text = std::getenv("FENCELINE_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 3;
}

void add(AnswersSeen& total, const AnswersSeen& more) {
  for (const auto& [cell, times] : more) total[cell] += times;
}

// A store that is wrong in one way.
struct Crooked : ForwardingStore {
  using ForwardingStore::ForwardingStore;
};

struct IgnoresHoldsOthers final : Crooked {
  using Crooked::Crooked;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest changed = request;
    changed.holds_others = false;
    return inner_.claim(changed);
  }
};

struct ForgetsRequests final : Crooked {
  using Crooked::Crooked;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest changed = request;
    if (!changed.request.empty()) changed.request = std::to_string(++calls);
    return inner_.claim(changed);
  }
  int calls = 0;
};

struct ForgetsToGiveBack final : Crooked {
  using Crooked::Crooked;
  Result<void> give_back(const GiveBackRequest& request) override { return check_request(request); }
};

struct AcceptsExpiredRenewals final : Crooked {
  using Crooked::Crooked;
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    auto reply = inner_.extend(request);
    if (reply) std::erase_if(reply->refused, [](const Refusal& refusal) { return refusal.reason == Reason::expired; });
    return reply;
  }
};

struct MixesUpTwoReasons final : Crooked {
  using Crooked::Crooked;
  Result<SettleReply> settle(const SettleRequest& request) override {
    auto reply = inner_.settle(request);
    if (!reply) return reply;
    for (Refusal& refusal : reply->refused) {
      if (refusal.reason == Reason::finished) refusal.reason = Reason::settled;
    }
    return reply;
  }
};

struct ServesQueuesInItsOwnOrder final : Crooked {
  using Crooked::Crooked;
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    ClaimRequest changed = request;
    std::sort(changed.queues.begin(), changed.queues.end());
    return inner_.claim(changed);
  }
};

struct LosesANulByte final : Crooked {
  using Crooked::Crooked;
  Result<SettleReply> settle(const SettleRequest& request) override {
    SettleRequest changed = request;
    for (Settlement& settlement : changed.settlements) settlement.outcome.result = settlement.outcome.result.c_str();
    return inner_.settle(changed);
  }
};

struct ForgetsActs final : Crooked {
  using Crooked::Crooked;
  Result<ActReply> retry(const ActRequest& request) override {
    ActRequest changed = request;
    if (!changed.request.empty()) changed.request = "act-" + std::to_string(++calls);
    return inner_.retry(changed);
  }
  int calls = 0;
};

struct FreesNoSlot final : Crooked {
  using Crooked::Crooked;
  Result<void> stopped(const StoppedRequest& request) override { return check_request(request); }
};

struct LogsTwice final : Crooked {
  using Crooked::Crooked;
  Result<RecordReply> record(const RecordRequest& request) override {
    RecordRequest changed = request;
    for (Note& note : changed.notes) {
      if (note.log_at >= 0) note.log_at = ++calls * 1'000'000;
    }
    return inner_.record(changed);
  }
  int calls = 0;
};

struct ForgetsAliases final : Crooked {
  using Crooked::Crooked;
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    auto reply = inner_.enqueue(request);
    for (std::size_t i = 0; reply && i < request.jobs.size(); ++i) reply->ids[i] = request.jobs[i].id;
    return reply;
  }
};

struct LetsNobodyWait final : Crooked {
  using Crooked::Crooked;
  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    AcquireRequest changed = request;
    changed.wait = false;
    return inner_.acquire(changed);
  }
};

struct HoldsNothingAtLeast final : Crooked {
  using Crooked::Crooked;
  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    AcquireRequest changed = request;
    if (check_request(request)) changed.hold_at_least = Duration{0};
    return inner_.acquire(changed);
  }
};

struct ForgetsWithdrawals final : Crooked {
  using Crooked::Crooked;
  Result<void> withdraw(const WithdrawRequest& request) override { return check_request(request); }
};

struct BreaksWhateverIsThere final : Crooked {
  using Crooked::Crooked;
  Result<BreakReply> break_lock(const BreakRequest& request) override {
    BreakRequest changed = request;
    changed.only.reset();
    return inner_.break_lock(changed);
  }
};

struct ForgetsSteps final : Crooked {
  using Crooked::Crooked;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    StepRequest changed = request;
    if (!changed.request.empty()) changed.request = "step-" + std::to_string(++calls);
    return inner_.step_ticks(changed);
  }
  int calls = 0;
};

struct SaysNoDuplicates final : Crooked {
  using Crooked::Crooked;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    auto reply = inner_.step_ticks(request);
    if (!reply) return reply;
    for (StepAnswer& answer : reply->answers) answer.duplicates.clear();
    return reply;
  }
};

struct KeepsNothingAtARewind final : Crooked {
  using Crooked::Crooked;
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    ChangeScheduleRequest changed = request;
    if (changed.kept) changed.kept = SkippedTicks{changed.kept->first, changed.kept->first, 1, changed.kept->reason};
    return inner_.change_schedule(changed);
  }
};

struct ForgetsChanges final : Crooked {
  using Crooked::Crooked;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    ChangeItemsRequest changed = request;
    if (!changed.request.empty()) changed.request = "change-" + std::to_string(++calls);
    return inner_.change_items(changed);
  }
  int calls = 0;
};

struct NeverBeginsAnew final : Crooked {
  using Crooked::Crooked;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    ChangeItemsRequest changed = request;
    for (ItemChange& change : changed.changes) {
      if (change.place) change.place->fresh = false;
    }
    return inner_.change_items(changed);
  }
};

struct AnyRevisionWillDo final : Crooked {
  using Crooked::Crooked;
  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override {
    auto reply = inner_.put_pipeline(request);
    PutPipelineRequest changed = request;
    for (changed.revision = 0; !reply && reply.error().code == Code::conflict && changed.revision < 1000;
         ++changed.revision)
      reply = inner_.put_pipeline(changed);
    return reply;
  }
};

template <class T>
class PlantedDifference : public testing::Test {};
using Plants =
    testing::Types<IgnoresHoldsOthers, ForgetsRequests, ForgetsToGiveBack, AcceptsExpiredRenewals, MixesUpTwoReasons,
                   ServesQueuesInItsOwnOrder, LosesANulByte, ForgetsActs, FreesNoSlot, LogsTwice, ForgetsAliases,
                   LetsNobodyWait, HoldsNothingAtLeast, ForgetsWithdrawals, BreaksWhateverIsThere, ForgetsSteps,
                   SaysNoDuplicates, KeepsNothingAtARewind, ForgetsChanges, NeverBeginsAnew, AnyRevisionWillDo>;
TYPED_TEST_SUITE(PlantedDifference, Plants);

TYPED_TEST(PlantedDifference, IsFound) {
  ManualClock clock;
  MemoryStore oracle(clock);
  MemoryStore honest(clock);
  TypeParam crooked(honest);
  const DifferentialReport report = run_differential(oracle, crooked, clock, {.seed = 1});
  EXPECT_TRUE(report.difference);
}

TEST(Differential, TheStreamBringsAboutEveryAnswer) {
  AnswersSeen total;
  for (std::uint64_t seed = 1; seed <= seeds_to_run(); ++seed) {
    ManualClock clock;
    MemoryStore oracle(clock);
    MemoryStore store(clock);
    const DifferentialReport report = run_differential(oracle, store, clock, {.seed = seed});
    EXPECT_FALSE(report.difference) << *report.difference;
    for (const std::string& gap : gaps_in(report.seen)) ADD_FAILURE() << "seed " << seed << ": " << gap;
    add(total, report.seen);
  }
  std::cout << table_of(total);
}

TEST(Differential, AnAnswerThatIsMissingIsNamed) {
  ManualClock clock;
  MemoryStore oracle(clock);
  MemoryStore store(clock);
  AnswersSeen seen = run_differential(oracle, store, clock, {.seed = 1}).seen;
  seen.erase({"claim", "refused"});
  seen[{"claim", "odd"}] = 1;
  EXPECT_EQ(gaps_in(seen), (std::vector<std::string>{"claim: refused was never seen", "claim: nobody expected odd"}));
}

}  // namespace
}  // namespace fenceline::test
