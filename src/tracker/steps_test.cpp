#include "tracker/steps.hpp"

#include <gtest/gtest.h>

#include "tracker/backlog_test.hpp"

namespace fenceline::tracker {
namespace {

TEST(Steps, AFreeItemIsClaimedAndTheDeadAreNamed) {
  Backlog backlog;
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  EXPECT_EQ(backlog.next(false, {"review"}).kind, StepKind::nothing);
  const CommentId dead = backlog.claim("a");
  EXPECT_EQ(backlog.next().reason, "held");
  EXPECT_EQ(backlog.next().again, kStart + 600s);
  backlog.now += 600s;
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  EXPECT_EQ(backlog.next().marker.over, std::vector<CommentId>{dead});
}

TEST(Steps, T3_LabelsThatAClaimNeedsAreKeptAndOthersAreLeftAlone) {
  Backlog backlog;
  backlog.claim("a");
  backlog.item.state->labels = {"bug", "claimed", "stage:processing", "stage:ready"};
  Step step = mirror_step(backlog.protocol, *backlog.item.state, backlog.ledger());
  EXPECT_EQ(step.kind, StepKind::remove_label);
  EXPECT_EQ(step.labels, std::vector<std::string>{"stage:ready"});
  backlog.item.state->labels = {"bug", "claimed", "stage:processing"};
  EXPECT_EQ(mirror_step(backlog.protocol, *backlog.item.state, backlog.ledger()).kind, StepKind::nothing);
}

TEST(Steps, P2_WhateverIsHalfDoneIsMadeWholeAndNeverOutOfAllLists) {
  Backlog backlog;
  backlog.item.state->labels = {"claimed", "stage:processing"};
  backlog.record(MarkerKind::advanced, "review");
  backlog.now += 180s;
  std::vector<std::string> writes;
  for (int round = 0; round < 5; ++round) {
    const Step step = backlog.next(true, {});
    if (step.kind == StepKind::nothing) break;
    writes.push_back(std::string(to_string(step.kind)) + " " + step.labels.front());
    std::vector<std::string>& labels = backlog.item.state->labels;
    if (step.kind == StepKind::add_labels) labels.insert(labels.end(), step.labels.begin(), step.labels.end());
    else std::erase(labels, step.labels.front());
  }
  EXPECT_EQ(writes, (std::vector<std::string>{"add_labels stage:review", "remove_label claimed",
                                              "remove_label stage:processing"}));
}

TEST(Steps, TheLastAdvanceClosesTheItemBeforeItsLabelsGo) {
  Backlog backlog;
  backlog.item.state->labels = {"claimed", "stage:processing"};
  backlog.record(MarkerKind::advanced, "done");
  backlog.now += 180s;
  EXPECT_EQ(backlog.next().kind, StepKind::close);
  backlog.item.state->open = false;
  EXPECT_EQ(backlog.next().labels, std::vector<std::string>{"claimed"});
  backlog.item.state->labels.clear();
  EXPECT_EQ(backlog.next().kind, StepKind::nothing);
}

TEST(Steps, AMoveByATrustedPersonIsACommand) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.now += 10s;
  backlog.item.state->labels = {"stage:ready"};
  EXPECT_EQ(backlog.next().kind, StepKind::read_moves);
  backlog.move(kAna, MoveKind::label_added, "stage:ready");
  const Step step = backlog.next();
  EXPECT_EQ(step.kind, StepKind::record);
  EXPECT_EQ(step.marker.kind, MarkerKind::moved);
  EXPECT_EQ(step.marker.to, "ready");
  EXPECT_EQ(step.marker.by, kAna.id);
}

TEST(Steps, AMoveFromBeforeTheRecordIsNoCommand) {
  Backlog backlog;
  backlog.move(kAna, MoveKind::label_added, "stage:ready");
  backlog.now += 10s;
  backlog.record(MarkerKind::advanced, "review");
  EXPECT_EQ(backlog.next().reason, "in_flux");
  backlog.now += 180s;
  EXPECT_EQ(backlog.next().reason, "half_done");
  EXPECT_EQ(backlog.next().labels, std::vector<std::string>{"stage:review"});
}

TEST(Steps, AMoveByAnybodyElseIsPutBackOnceThenTheItemIsContested) {
  Backlog backlog;
  backlog.now += 10s;
  backlog.item.state->labels = {"stage:publish"};
  backlog.move(kEve, MoveKind::label_added, "stage:publish");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::restored);
  EXPECT_EQ(backlog.next().marker.by, kEve.id);
  backlog.now += 1s;
  backlog.record(MarkerKind::restored, "");
  EXPECT_EQ(backlog.next().labels, std::vector<std::string>{"stage:ready"});
  backlog.item.state->labels = {"stage:publish", "stage:ready"};
  EXPECT_EQ(backlog.next().kind, StepKind::remove_label);
  backlog.now += 1s;
  backlog.move(kEve, MoveKind::label_added, "stage:publish");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::contested);
  backlog.record(MarkerKind::contested, "");
  backlog.now += 1s;
  EXPECT_EQ(backlog.next().labels, std::vector<std::string>{"contested"});
  backlog.item.state->labels.insert(backlog.item.state->labels.begin(), "contested");
  EXPECT_EQ(backlog.next().kind, StepKind::nothing);
  // Until a trusted person settles it.
  backlog.item.state->labels = {"stage:ready"};
  backlog.move(kEve, MoveKind::label_removed, "contested");
  EXPECT_EQ(backlog.next().kind, StepKind::nothing);
  backlog.move(kAna, MoveKind::label_removed, "contested");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::moved);
}

TEST(Steps, AnItemThatATrustedPersonTookOutIsLeftAlone) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.now += 10s;
  backlog.item.state->labels = {};
  backlog.move(kAna, MoveKind::label_removed, "stage:review");
  EXPECT_EQ(backlog.next().reason, "taken_out");
  backlog.move(kEve, MoveKind::label_removed, "stage:review");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::restored);
}

TEST(Steps, ALabelOfOursWithoutItsRecordIsLeftToPeople) {
  Backlog backlog;
  backlog.now += 10s;
  backlog.item.state->labels = {"stage:review"};
  backlog.move(kRobots, MoveKind::label_added, "stage:review");
  EXPECT_EQ(backlog.next().reason, "in_flux");
  backlog.now += 180s;
  EXPECT_EQ(backlog.next().marker.why, "record_missing");
}

TEST(Steps, P1_AnEntryOpensByItsApprovalsOrDoesWhatItsEndSays) {
  Backlog backlog;
  StageEntry& entry = backlog.protocol.pipeline.stages.back().entry;
  entry.within = 48h;
  entry.then = EntryEnd::reject;
  backlog.record(MarkerKind::advanced, "review");
  backlog.record(MarkerKind::advanced, "gate:publish");
  backlog.item.state->labels = {"stage:gate:publish"};
  EXPECT_EQ(backlog.next().reason, "waits_for_approval");
  EXPECT_EQ(backlog.next().again, kStart + 48h);
  const std::size_t unapproved = backlog.item.comments.size();
  backlog.say(kAna, "/approve");
  EXPECT_EQ(backlog.next().marker.to, "publish");
  backlog.item.comments.resize(unapproved);
  backlog.now += 48h;
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::returned);
  EXPECT_EQ(backlog.next().marker.to, "review");
  backlog.say(kAna, "/approve");  // too late
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::returned);
  entry.then = EntryEnd::hold;
  EXPECT_EQ(backlog.next().marker.to, "publish");  // it waited on
  entry.then = EntryEnd::approve;
  EXPECT_EQ(backlog.next().marker.to, "publish");
}

TEST(Steps, P1_NoWordAndNoMoveLeadsPastAnEntry) {
  Backlog backlog;
  backlog.protocol.people.push_back(kEve.id);  // trusted, and not named as an approver
  backlog.record(MarkerKind::advanced, "review");
  backlog.item.state->labels = {"stage:review"};
  backlog.say(kEve, "/reject publish");  // that is no earlier stage
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  backlog.say(kEve, "/move publish");
  EXPECT_EQ(backlog.next().marker.to, "gate:publish");
  Backlog labelled;
  labelled.record(MarkerKind::advanced, "review");
  labelled.now += 10s;
  labelled.item.state->labels = {"stage:publish"};
  labelled.move(kAna, MoveKind::label_added, "stage:publish");
  EXPECT_EQ(labelled.next().marker.to, "gate:publish");
  Backlog first;  // two stages ahead: nobody may
  first.now += 10s;
  first.say(kAna, "/move publish");
  EXPECT_EQ(first.next().kind, StepKind::claim);
  first.item.state->labels = {"stage:publish"};
  first.move(kAna, MoveKind::label_added, "stage:publish");
  EXPECT_EQ(first.next().marker.kind, MarkerKind::restored);
}

TEST(Steps, P1_OnlyWhoMayApproveSendsBackFromAnEntry) {
  Backlog backlog;
  backlog.protocol.people.push_back(kEve.id);
  backlog.record(MarkerKind::advanced, "review");
  backlog.record(MarkerKind::advanced, "gate:publish");
  backlog.item.state->labels = {"stage:gate:publish"};
  backlog.say(kEve, "/reject");
  EXPECT_EQ(backlog.next().reason, "waits_for_approval");
  backlog.say(kAna, "/reject");
  EXPECT_EQ(backlog.next().marker.to, "review");
}

TEST(Steps, T4_AnOrderThatLedToPeopleIsNotObeyedAgain) {
  Backlog backlog;
  backlog.protocol.pipeline.loops = 0;
  backlog.record(MarkerKind::advanced, "review");
  backlog.item.state->labels = {"contested", "stage:review"};
  backlog.say(kAna, "/reject");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::contested);
  backlog.record(MarkerKind::contested, "");
  backlog.item.moves.emplace();
  EXPECT_EQ(backlog.next().kind, StepKind::nothing);
  backlog.say(kAna, "/reject");  // she was asked, and says it again
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::moved);
  EXPECT_EQ(backlog.next().marker.to, "ready");
}

TEST(Steps, X7_AnItemWithTooManyCommentsIsLeftToPeopleInTime) {
  Backlog backlog;
  while (backlog.item.comments.size() < static_cast<std::size_t>(kCommentsMax) - 100) backlog.say(kEve, "me too");
  EXPECT_EQ(backlog.next().marker.why, "comments");
}

TEST(Steps, ACommandSaidWhileItIsWorkedOnIsFound) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.now += 10s;
  backlog.claim("a");
  backlog.now += 10s;
  backlog.item.state->labels = {"stage:ready"};
  backlog.move(kAna, MoveKind::label_added, "stage:ready");
  const Ledger ledger = backlog.ledger();
  const std::optional<Step> command = command_since(backlog.protocol, backlog.item, ledger, ledger.holder->posted);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->marker.to, "ready");
  EXPECT_FALSE(command_since(backlog.protocol, backlog.item, ledger, backlog.now + 1s));
}

TEST(Steps, LabelsInOtherLettersAreOurs) {
  Backlog backlog;
  backlog.item.state->labels = {"Bug", "Stage:Ready", "Hold"};
  backlog.protocol.spell(backlog.item);
  EXPECT_EQ(backlog.item.state->labels, (std::vector<std::string>{"Bug", "hold", "stage:ready"}));
}

TEST(Steps, WordsOfTrustedPeopleAreObeyed) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.item.state->labels = {"stage:review"};
  backlog.say(kEve, "/move publish");
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  backlog.say(kAna, "/hold");
  EXPECT_EQ(backlog.next().reason, "on_hold");
  backlog.say(kAna, "/release");
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  backlog.say(kAna, "/reject");
  EXPECT_EQ(backlog.next().marker.kind, MarkerKind::returned);
  EXPECT_EQ(backlog.next().marker.to, "ready");
  backlog.protocol.pipeline.loops = 0;
  EXPECT_EQ(backlog.next().marker.why, "loops");
}

TEST(Steps, AnItemThatKillsItsWorkersIsLeftToPeople) {
  Backlog backlog;
  std::vector<CommentId> dead;
  for (int loss = 0; loss < kLossesMax; ++loss) {
    EXPECT_EQ(backlog.next().kind, StepKind::claim);
    dead.push_back(backlog.claim("w" + std::to_string(loss), dead));
    backlog.now += 600s;
  }
  EXPECT_EQ(backlog.next().marker.why, "losses");
}

TEST(Steps, OutcomesBecomeRecords) {
  Backlog backlog;
  const Claim claim{.id = backlog.claim("a")};
  const auto said = [&](OutcomeKind kind) { return outcome_step(backlog.protocol, backlog.ledger(), claim, kind); };
  EXPECT_EQ(said(OutcomeKind::done).marker.to, "review");
  EXPECT_EQ(said(OutcomeKind::done).marker.claim, claim.id);
  EXPECT_EQ(said(OutcomeKind::failed).marker.kind, MarkerKind::failed);
  EXPECT_EQ(said(OutcomeKind::failed).marker.again, 60);
  EXPECT_EQ(said(OutcomeKind::dead).marker.to, "dead");
  EXPECT_EQ(said(OutcomeKind::later).marker.kind, MarkerKind::released);
  EXPECT_EQ(said(OutcomeKind::given_back).kind, StepKind::erase);
  backlog.protocol.pipeline.stages.front().attempts = 1;
  EXPECT_EQ(said(OutcomeKind::failed).marker.to, "dead");
}

TEST(Steps, P1_AHandlerSendsItsItemBackToAnEarlierStageOnlyAndThroughItsEntry) {
  Backlog backlog;
  backlog.protocol.pipeline.loops = 2;
  const Claim claim{.id = "9"};
  const auto back = [&](const char* to) { return back_step(backlog.protocol, backlog.ledger(), claim, to); };
  EXPECT_FALSE(back("ready"));  // it is there
  EXPECT_FALSE(back("review"));
  backlog.record(MarkerKind::advanced, "review");
  EXPECT_FALSE(back("review"));
  EXPECT_FALSE(back("publish"));
  EXPECT_FALSE(back("gate:publish"));
  EXPECT_FALSE(back("nowhere"));
  ASSERT_TRUE(back("ready"));
  EXPECT_EQ(back("ready")->marker.kind, MarkerKind::returned);
  EXPECT_EQ(back("ready")->marker.to, "ready");
  EXPECT_EQ(back("ready")->marker.claim, claim.id);
  backlog.protocol.pipeline.stages.front().entry = {.kind = EntryKind::approval};
  EXPECT_EQ(back("ready")->marker.to, "gate:ready");
  backlog.protocol.pipeline.stages.front().entry = {};
  backlog.record(MarkerKind::advanced, "gate:publish");
  EXPECT_FALSE(back("ready"));  // a check says so by its end
  backlog.record(MarkerKind::returned, "review");
  backlog.record(MarkerKind::returned, "ready");
  backlog.record(MarkerKind::advanced, "review");
  EXPECT_EQ(back("ready")->marker.kind, MarkerKind::contested);  // beyond the cap on returns
}

TEST(Steps, OnATrackerWithoutLabelsTheStatusIsTheStage) {
  Backlog backlog;
  backlog.protocol.can.labels = false;
  backlog.item.state->labels = {};
  backlog.item.state->status = "ready";
  EXPECT_EQ(backlog.next().kind, StepKind::claim);
  backlog.record(MarkerKind::advanced, "review");
  const Step step = mirror_step(backlog.protocol, *backlog.item.state, backlog.ledger());
  EXPECT_EQ(step.kind, StepKind::set_status);
  EXPECT_EQ(step.labels, std::vector<std::string>{"review"});
}

}  // namespace
}  // namespace fenceline::tracker
