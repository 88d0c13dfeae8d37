// The checks can fail: each of these stores breaks one promise in one small way, and is found out by that name.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "sim/scenarios/broken_effects.hpp"
#include "sim/scenarios/broken_features.hpp"
#include "sim/scenarios/broken_schedules.hpp"
#include "sim/scenarios/broken_stores.hpp"
#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {
namespace {

struct Bug {
  std::string name;
  std::string promise;
  std::string scenario;
  std::function<std::unique_ptr<Store>(Store&)> make;
};

template <class Broken>
Bug bug(std::string name, std::string promise, std::string scenario = "lease-expiry") {
  return {std::move(name), std::move(promise), std::move(scenario),
          [](Store& inner) { return std::make_unique<Broken>(inner); }};
}

// For the names of tests.
void PrintTo(const Bug& bug, std::ostream* out) { *out << bug.name; }

const std::vector<Bug>& bugs() {
  static const std::vector<Bug> all{
      bug<MintsTheFenceApart>("MintsTheFenceApart", "L1"),
      bug<ReusesTheFence>("ReusesTheFence", "L2"),
      bug<ForgetsTheFloor>("ForgetsTheFloor", "L2", "retention"),
      bug<GivesAGroupOlderFences>("GivesAGroupOlderFences", "L2", "groups-and-limits"),
      bug<GrantsWhatIsHeld>("GrantsWhatIsHeld", "L3"),
      bug<RevivesTheLease>("RevivesTheLease", "L4"),
      bug<ForgetsAnEnqueue>("ForgetsAnEnqueue", "J1", "job-storm"),
      bug<CountsARepeatAsNew>("CountsARepeatAsNew", "J1", "job-storm"),
      bug<OpensAFileAnew>("OpensAFileAnew", "J1", "unique-keys"),
      bug<TidiesTooEarly>("TidiesTooEarly", "J1", "retention"),
      bug<GrantsTooMany>("GrantsTooMany", "J2", "job-storm"),
      bug<GrantsAnewOnARepeat>("GrantsAnewOnARepeat", "J2", "job-storm"),
      bug<SettlesUnderAnyFence>("SettlesUnderAnyFence", "J3", "job-storm"),
      bug<AcceptsAnOutcomeAfterACancel>("AcceptsAnOutcomeAfterACancel", "J3", "cancel-against-completion"),
      bug<TakesNotesUnderAnyFence>("TakesNotesUnderAnyFence", "J3", "cancel-against-completion"),
      bug<RetriesAnewOnARepeat>("RetriesAnewOnARepeat", "J3", "cancel-against-completion"),
      bug<ListsTooFew>("ListsTooFew", "J4", "job-storm"),
      bug<MiscountsADepth>("MiscountsADepth", "J4", "job-storm"),
      bug<PurgesMoreThanItSays>("PurgesMoreThanItSays", "J4", "cancel-against-completion"),
      bug<CountsALossAsFailure>("CountsALossAsFailure", "J5", "job-storm"),
      bug<ForgetsWhoMustRunAlone>("ForgetsWhoMustRunAlone", "J5", "poison"),
      bug<KeepsWhatIsGivenBack>("KeepsWhatIsGivenBack", "J5", "job-storm"),
      bug<LetsTwoInUnderOneKey>("LetsTwoInUnderOneKey", "J6", "unique-keys"),
      bug<FreesTheKeyAtTheFinish>("FreesTheKeyAtTheFinish", "J6", "unique-keys"),
      bug<ForgetsForWhomAnIdStands>("ForgetsForWhomAnIdStands", "J6", "unique-keys"),
      bug<RetriesOntoATakenKey>("RetriesOntoATakenKey", "J6", "unique-keys"),
      bug<RunsTwoOfAGroup>("RunsTwoOfAGroup", "J7", "groups-and-limits"),
      bug<TurnsAGroupRound>("TurnsAGroupRound", "J7", "groups-and-limits"),
      bug<ExceedsALimitByOne>("ExceedsALimitByOne", "J7", "groups-and-limits"),
      bug<ForgetsTheLimitOfAKey>("ForgetsTheLimitOfAKey", "J7", "groups-and-limits"),
      bug<FreesASlotTooEarly>("FreesASlotTooEarly", "J7", "groups-and-limits"),
      bug<PassesOverAFreeJob>("PassesOverAFreeJob", "J8", "job-storm"),
      bug<ExplainsNothing>("ExplainsNothing", "J8", "groups-and-limits"),
      bug<IgnoresAPause>("IgnoresAPause", "pause", "pause-and-resume"),
      bug<GrantsToTheQuiet>("GrantsToTheQuiet", "order", "graceful-stop"),
      bug<DropsFromTheHistory>("DropsFromTheHistory", "history", "retry-storm"),
      bug<DoublesTheLog>("DoublesTheLog", "notes", "cancel-against-completion"),
      bug<ActsAgainAfterDone>("ActsAgainAfterDone", "E1", "effects"),
      bug<ReplaysSomethingElse>("ReplaysSomethingElse", "E1", "effects"),
      bug<NamesNoDoubt>("NamesNoDoubt", "E2", "effects"),
      bug<TakesALateEnd>("TakesALateEnd", "J3", "effects"),
      bug<TakesAStepFromAnywhere>("TakesAStepFromAnywhere", "S1", "schedule-hour"),
      bug<EnqueuesTheJobOfATickTwice>("EnqueuesTheJobOfATickTwice", "J2", "schedule-hour"),
      bug<ForgetsWhatWasSkipped>("ForgetsWhatWasSkipped", "S2", "schedule-hour"),
      bug<TakesWhatIsEarly>("TakesWhatIsEarly", "S3", "schedule-hour"),
  };
  return all;
}

class BrokenStore : public testing::TestWithParam<Bug> {};

TEST_P(BrokenStore, IsFoundOutByTheNameOfItsPromise) {
  StackPool stacks;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const SeedReport report =
        play(*find_scenario(GetParam().scenario), seed, stacks, {.wrap_store = GetParam().make, .audit = Audit::none});
    if (report.violations.empty()) continue;
    EXPECT_EQ(report.violations.front().promise, GetParam().promise) << report.violations.front().sentence;
    return;
  }
  FAIL() << "300 seeds saw nothing";
}

INSTANTIATE_TEST_SUITE_P(Sim, BrokenStore, testing::ValuesIn(bugs()),
                         [](const auto& chosen) { return chosen.param.name; });

// What the checker of histories finds by itself, from what the processes saw and from what the store did: it must not
// become blind behind checks that see more.
class HistoryOfABrokenStore : public testing::TestWithParam<Bug> {};

TEST_P(HistoryOfABrokenStore, ShowsTheCheckerAlone) {
  constexpr std::int64_t kOperationsMost = 3000;  // some of them never come to an end, and nobody else says so
  StackPool stacks;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Audit side = seed % 2 == 0 ? Audit::store : Audit::clients;
    const SeedReport report =
        play(*find_scenario(GetParam().scenario), seed, stacks,
             {.operations_most = kOperationsMost, .wrap_store = GetParam().make, .audit = side, .audit_alone = true});
    if (!report.violations.empty()) return;
  }
  FAIL() << "40 seeds showed nothing";
}

std::vector<Bug> shown_by_histories() {
  // Histories do not hold this: looks and counts, the log and the attempts, what is kept for how long, the order within
  // one call, that a free job was passed over, and what a schedule shows of its ticks.
  static const std::set<std::string> kNotInHistories{
      "TidiesTooEarly",         "ListsTooFew",        "MiscountsADepth", "PurgesMoreThanItSays",
      "FreesTheKeyAtTheFinish", "PassesOverAFreeJob", "ExplainsNothing", "DropsFromTheHistory",
      "DoublesTheLog",          "TurnsAGroupRound",   "NamesNoDoubt",    "ForgetsWhatWasSkipped"};
  std::vector<Bug> shown;
  for (const Bug& bug : bugs()) {
    if (!kNotInHistories.contains(bug.name)) shown.push_back(bug);
  }
  return shown;
}

INSTANTIATE_TEST_SUITE_P(Sim, HistoryOfABrokenStore, testing::ValuesIn(shown_by_histories()),
                         [](const auto& chosen) { return chosen.param.name; });

TEST(BrokenStores, TheCheckerOfHistoriesAloneFindsAllButAFew) {
  EXPECT_GE(shown_by_histories().size(), 30U) << "of " << bugs().size();
}

// Trust is a matter of clocks, not of the store: with clocks far off, and taken to be within the promise, handlers
// act too long.
TEST(BrokenClock, L5_AHandlerThatActsPastItsLeaseIsFoundOut) {
  static const Scenario far_off{.name = "far-off", .summary = "clocks off by a quarter", .plan = [](Random& random) {
                                  Plan plan = find_scenario("lease-expiry")->plan(random);
                                  plan.drift_ppm = 250'000;
                                  plan.drift_promised = 250'000;
                                  return plan;
                                }};
  StackPool stacks;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const SeedReport report = play(far_off, seed, stacks);
    if (report.violations.empty()) continue;
    EXPECT_EQ(report.violations.front().promise, "L5") << report.violations.front().sentence;
    return;
  }
  FAIL() << "300 seeds saw nothing";
}

}  // namespace
}  // namespace fenceline::sim
