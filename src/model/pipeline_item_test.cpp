#include "model/pipeline_item.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

const WallTime kItemNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 12h;

// ready -> review (automatic) -> publish (approval) -> announce (check)
PipelineSpec docs_item_spec() {
  PipelineSpec spec{.name = "docs",
                    .stages = {{.name = "ready"}, {.name = "review"}, {.name = "publish"}, {.name = "announce"}}};
  spec.stages[2].entry = {
      .kind = EntryKind::approval, .count = 2, .by = {"ana", "bo", "cy"}, .within = 48h, .then = EntryEnd::reject};
  spec.stages[3].entry = {.kind = EntryKind::check, .command = {"./ok"}, .every = 5min};
  return spec;
}

ItemNow item_at(std::string stage, JobState state = JobState::ready, ItemRecord record = {}) {
  return {.stage = std::move(stage), .state = state, .run_at = kItemNow, .record = std::move(record)};
}

// As the store would have it after the step.
ItemNow after(const ItemNow& item, const ItemStep& step, WallTime now = kItemNow) {
  ItemNow next = item;
  next.record = step.record;
  if (!step.place) return next;
  next.stage = step.place->stage;
  next.state = step.place->state;
  next.run_at = now + step.place->delay;
  return next;
}

ItemStep must(const MaybeStep& step) {
  EXPECT_TRUE(step) << (step ? "" : step.error().message);
  EXPECT_TRUE(step && *step) << "nothing to do";
  return step && *step ? **step : ItemStep{};
}

ItemNow at_publish_entry() {
  return after(item_at("review", JobState::running),
               advanced(docs_item_spec(), item_at("review", JobState::running), 7, kItemNow));
}

TEST(PipelineItem, RecordAsTextAndBackIsTheSame) {
  ItemRecord record{.generation = 3,
                    .entered = kItemNow,
                    .approvals = {{"ana", kItemNow, "fine"}, {"bo", kItemNow, ""}},
                    .overdue = true,
                    .returns = 2,
                    .returned = ItemReturn{"publish", "review", {"cy", kItemNow, "a \"typo\""}},
                    .hold = ItemWord{"ana", kItemNow, "ask legal"},
                    .due = kItemNow + 7h,
                    .moved_under = 99,
                    .outputs = {{"ready", "a \"draft\"\n"}, {"review", ""}}};
  EXPECT_EQ(parse_record(record_text(record)), record);
  EXPECT_EQ(parse_record(record_text({})), ItemRecord{});
  EXPECT_EQ(parse_record(""), ItemRecord{});
  EXPECT_EQ(record_text({}).find("\"due\""), std::string::npos) << "as it was written before there was one";
  EXPECT_FALSE(parse_record("{}"));
  EXPECT_FALSE(parse_record("null"));
  std::string newer = record_text(record);
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":9");
  EXPECT_NE(parse_record(newer).error().message.find("newer"), std::string::npos);
}

TEST(PipelineItem, P1_AnAcceptedOutcomeLeadsToTheNextStageOrItsEntryNeverPastIt) {
  const PipelineSpec spec = docs_item_spec();
  const ItemStep first = advanced(spec, item_at("", JobState::running), 5, kItemNow);
  EXPECT_EQ(first.place, (ItemPlace{.stage = "review"}));
  EXPECT_EQ(first.record.moved_under, 5);
  EXPECT_EQ(first.about, "ready -> review");
  const ItemStep second = advanced(spec, item_at("review", JobState::running), 6, kItemNow);
  EXPECT_EQ(second.place, (ItemPlace{.stage = "gate:publish", .state = JobState::ready, .delay = 48h}));
  EXPECT_EQ(second.about, "review -> entry of publish");
  EXPECT_EQ(second.record.generation, 1);
  const ItemStep third = advanced(spec, item_at("publish", JobState::running), 6, kItemNow);
  EXPECT_EQ(third.place, (ItemPlace{.stage = "gate:announce"}));
}

TEST(PipelineItem, P1_AnEntryOpensOnlyWhenEnoughDifferentPeopleWhoMayHaveApproved) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  EXPECT_EQ(approved(spec, item, "eve", "", kItemNow).error().code, Code::denied);
  item = after(item, must(approved(spec, item, "ana", "fine", kItemNow)));
  EXPECT_EQ(item.stage, "gate:publish");
  EXPECT_EQ(*approved(spec, item, "ana", "again", kItemNow), std::nullopt) << "once a person";
  const ItemStep last = must(approved(spec, item, "bo", "", kItemNow));
  EXPECT_EQ(last.place, (ItemPlace{.stage = "publish"}));
  EXPECT_EQ(last.about, "publish, 2 of 2");
  EXPECT_EQ(last.act, "item_approved");
}

TEST(PipelineItem, P1_AnApprovalCountsForOneGenerationOnly) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  item = after(item, must(approved(spec, item, "ana", "", kItemNow)));
  item = after(item, must(rejected(spec, item, {}, "bo", "typo", kItemNow)));
  EXPECT_EQ(item.stage, "review");
  EXPECT_EQ(item.record.approvals.size(), 0U);
  item = after(item, advanced(spec, item, 8, kItemNow));
  EXPECT_EQ(item.record.generation, 2);
  EXPECT_EQ(approvals_of(spec.stages[2].entry, item.record), 0);
  EXPECT_EQ(must(approved(spec, item, "bo", "", kItemNow)).place, std::nullopt)
      << "one of two, whoever approved before";
}

TEST(PipelineItem, WhoMayApproveNoMoreDoesNotCount) {
  PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  item = after(item, must(approved(spec, item, "ana", "", kItemNow)));
  spec.stages[2].entry.by = {"bo", "cy"};
  EXPECT_EQ(must(approved(spec, item, "bo", "", kItemNow)).place, std::nullopt);
}

TEST(PipelineItem, ThereIsNothingToApproveAwayFromAnApproval) {
  const PipelineSpec spec = docs_item_spec();
  EXPECT_EQ(approved(spec, item_at("review"), "ana", "", kItemNow).error().code, Code::conflict);
  EXPECT_EQ(approved(spec, item_at("gate:announce"), "ana", "", kItemNow).error().code, Code::conflict);
  EXPECT_EQ(approved(spec, item_at("gone"), "ana", "", kItemNow).error().code, Code::conflict);
}

TEST(PipelineItem, WhatNobodyApprovedInTimeGoesTheWayThatTheFileSays) {
  PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  item.state = JobState::running;
  EXPECT_EQ(entry_looked_at(spec, item, 9, OutcomeKind::done, "", kItemNow + 47h), std::nullopt) << "not yet";
  EXPECT_EQ(look_again_in(spec, item, kItemNow + 47h), 1h);
  const ItemStep back = *entry_looked_at(spec, item, 9, OutcomeKind::done, "", kItemNow + 48h);
  EXPECT_EQ(back.place, (ItemPlace{.stage = "review"}));
  EXPECT_EQ(back.act, "item_expired");
  EXPECT_EQ(back.record.returns, 1);
  EXPECT_EQ(back.record.moved_under, 9);
  spec.stages[2].entry.then = EntryEnd::approve;
  EXPECT_EQ(entry_looked_at(spec, item, 9, OutcomeKind::done, "", kItemNow + 48h)->place,
            (ItemPlace{.stage = "publish"}));
  spec.stages[2].entry.then = EntryEnd::hold;
  const ItemStep held_up = *entry_looked_at(spec, item, 9, OutcomeKind::done, "", kItemNow + 48h);
  EXPECT_EQ(held_up.place, (ItemPlace{.stage = "gate:publish", .state = JobState::waiting, .fresh = false}));
  item = after(item, held_up);
  EXPECT_EQ(waits_for(spec, item), "approval of publish by ana, bo or cy (0 of 2), overdue");
  item = after(item, must(approved(spec, item, "ana", "", kItemNow + 50h)));
  EXPECT_EQ(must(approved(spec, item, "cy", "", kItemNow + 50h)).place, (ItemPlace{.stage = "publish"}))
      << "late is not too late";
}

TEST(PipelineItem, ACheckLetsInSendsBackOrIsAskedAgain) {
  const PipelineSpec spec = docs_item_spec();
  const ItemNow item = item_at("gate:announce", JobState::running, {.generation = 1, .entered = kItemNow});
  EXPECT_EQ(entry_looked_at(spec, item, 9, OutcomeKind::done, "", kItemNow)->place, (ItemPlace{.stage = "announce"}));
  const ItemStep back = *entry_looked_at(spec, item, 9, OutcomeKind::dead, "links are broken", kItemNow);
  EXPECT_EQ(back.place->stage, "gate:publish") << "the entry condition applies wherever it comes from";
  EXPECT_EQ(back.record.returned->word.reason, "links are broken");
  for (const OutcomeKind said : {OutcomeKind::later, OutcomeKind::failed})
    EXPECT_EQ(entry_looked_at(spec, item, 9, said, "", kItemNow), std::nullopt);
  EXPECT_EQ(look_again_in(spec, item, kItemNow), 5min);
}

TEST(PipelineItem, BeyondTheCapOnLoopsAPersonIsAsked) {
  PipelineSpec spec = docs_item_spec();
  spec.loops = 1;
  ItemNow item = item_at("review");
  item = after(item, must(rejected(spec, item, {}, "ana", "once", kItemNow)));
  EXPECT_EQ(item.state, JobState::ready);
  item = after(item, advanced(spec, item, 5, kItemNow));
  item = after(item, must(rejected(spec, item, {}, "ana", "twice", kItemNow)));
  EXPECT_EQ(item.stage, "");
  EXPECT_EQ(item.state, JobState::waiting);
  ASSERT_TRUE(item.record.hold);
  EXPECT_NE(waits_for(spec, item).find("a person to release it (it went back 2 times, more than loops = 1 allows)"),
            std::string::npos)
      << waits_for(spec, item);
  item = after(item, must(released(spec, item, kItemNow)));
  EXPECT_EQ(item.state, JobState::ready);
  EXPECT_FALSE(item.record.hold);
}

TEST(PipelineItem, ARejectionGoesToTheStageBeforeOrFurtherBackNeverOn) {
  const PipelineSpec spec = docs_item_spec();
  const ItemNow item = at_publish_entry();
  EXPECT_EQ(must(rejected(spec, item, {}, "ana", "r", kItemNow)).place, (ItemPlace{.stage = "review"}));
  EXPECT_EQ(must(rejected(spec, item, 0, "ana", "r", kItemNow)).place, (ItemPlace{.stage = ""}));
  EXPECT_EQ(rejected(spec, item, 2, "ana", "r", kItemNow).error().code, Code::conflict);
  EXPECT_EQ(rejected(spec, item, {}, "eve", "r", kItemNow).error().code, Code::denied);
  EXPECT_EQ(rejected(spec, item_at(""), {}, "ana", "r", kItemNow).error().code, Code::conflict);
}

TEST(PipelineItem, P1_AMoveGoesThroughTheEntry) {
  const PipelineSpec spec = docs_item_spec();
  const ItemStep on = must(moved(spec, item_at("review"), 2, "ana", "", kItemNow));
  EXPECT_EQ(on.place->stage, "gate:publish");
  EXPECT_EQ(on.record.returns, 0);
  EXPECT_EQ(moved(spec, item_at("gate:publish", JobState::waiting), 2, "ana", "", kItemNow).error().code,
            Code::conflict)
      << "it waits there: approve it";
  EXPECT_EQ(moved(spec, item_at(""), 2, "ana", "", kItemNow).error().code, Code::conflict) << "past review";
  EXPECT_EQ(*moved(spec, item_at("review"), 1, "ana", "", kItemNow), std::nullopt);
  const ItemStep back = must(moved(spec, item_at("announce"), 2, "ana", "", kItemNow));
  EXPECT_EQ(back.place->stage, "gate:publish");
  EXPECT_EQ(back.record.returns, 1);
  EXPECT_EQ(must(moved(spec, item_at("gone", JobState::waiting), 3, "ana", "", kItemNow)).place->stage, "gate:announce")
      << "what is nowhere may go anywhere";
}

TEST(PipelineItem, AHoldKeepsAnItemWhereItIsOrWhereItsOutcomeLeads) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = item_at("review");
  const ItemStep hold = must(held(spec, item, "ana", "ask legal", kItemNow));
  EXPECT_EQ(hold.place, (ItemPlace{.stage = "review", .state = JobState::waiting, .fresh = false}));
  item = after(item, hold);
  EXPECT_EQ(*held(spec, item, "bo", "", kItemNow), std::nullopt);
  EXPECT_EQ(waits_for(spec, item), "ana to release it (ask legal)");
  EXPECT_EQ(must(released(spec, item, kItemNow)).place, (ItemPlace{.stage = "review", .fresh = false}));

  ItemNow running = item_at("", JobState::running);
  const ItemStep while_running = must(held(spec, running, "ana", "", kItemNow));
  EXPECT_EQ(while_running.place, std::nullopt) << "its work ends first";
  running = after(running, while_running);
  EXPECT_EQ(advanced(spec, running, 5, kItemNow).place, (ItemPlace{.stage = "review", .state = JobState::waiting}));
}

TEST(PipelineItem, AHoldDoesNotMakeAnItemRunSooner) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = item_at("review");
  item.run_at = kItemNow + 7h;
  item = after(item, must(held(spec, item, "ana", "", kItemNow)));
  EXPECT_EQ(must(released(spec, item, kItemNow + 2h)).place,
            (ItemPlace{.stage = "review", .delay = 5h, .fresh = false}));
  EXPECT_EQ(must(released(spec, item, kItemNow + 9h)).place->delay, Duration{0});
  EXPECT_EQ(must(released(spec, item, kItemNow)).record.due, std::nullopt);
  const ItemNow moved_on = after(item, must(moved(spec, item, 0, "ana", "", kItemNow)));
  EXPECT_EQ(must(released(spec, moved_on, kItemNow)).place->delay, Duration{0}) << "that was of the other stage";
  const ItemNow failed = after(item, put_on_hold(item, kItemNow + 1h));
  EXPECT_EQ(must(released(spec, failed, kItemNow)).place->delay, 1h);
}

TEST(PipelineItem, AnApprovalAfterItsTimeDoesNotCountIfTheFileSaysWhatThen) {
  PipelineSpec spec = docs_item_spec();
  const ItemNow item = at_publish_entry();
  EXPECT_TRUE(approved(spec, item, "ana", "", kItemNow + 48h));
  for (const EntryEnd then : {EntryEnd::reject, EntryEnd::approve}) {
    spec.stages[2].entry.then = then;
    const MaybeStep late = approved(spec, item, "ana", "", kItemNow + 48h + 1us);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Code::conflict);
    EXPECT_NE(late.error().message.find("was over at 2026-11-18T12:00:00Z"), std::string::npos) << late.error().message;
  }
  ItemNow unseen = item;
  unseen.state = JobState::waiting;
  EXPECT_TRUE(approved(spec, unseen, "ana", "", kItemNow + 100h)) << "no worker would ever look at it";
  spec.stages[2].entry.then = EntryEnd::hold;
  EXPECT_TRUE(approved(spec, item, "ana", "", kItemNow + 100h)) << "it waits on for people";
}

TEST(PipelineItem, AHeldItemAtAnEntryIsLetInByNobodyUntilItIsReleased) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  item = after(item, must(held(spec, item, "ana", "", kItemNow)));
  EXPECT_EQ(item.state, JobState::waiting);
  item = after(item, must(approved(spec, item, "ana", "", kItemNow)));
  item = after(item, must(approved(spec, item, "bo", "", kItemNow)));
  EXPECT_EQ(item.stage, "gate:publish");
  const ItemNow running{.stage = item.stage, .state = JobState::running, .run_at = kItemNow, .record = item.record};
  EXPECT_EQ(entry_looked_at(spec, running, 9, OutcomeKind::done, "", kItemNow + 100h)->place->state, JobState::waiting);
  EXPECT_EQ(must(released(spec, item, kItemNow)).place, (ItemPlace{.stage = "publish"})) << "enough had approved";
}

TEST(PipelineItem, TheLimitOfTimeGoesOnWhileAnItemIsHeld) {
  const PipelineSpec spec = docs_item_spec();
  ItemNow item = at_publish_entry();
  item = after(item, must(held(spec, item, "ana", "", kItemNow)));
  EXPECT_EQ(must(released(spec, item, kItemNow + 40h)).place,
            (ItemPlace{.stage = "gate:publish", .state = JobState::ready, .delay = 8h, .fresh = false}));
  EXPECT_EQ(must(released(spec, item, kItemNow + 90h)).place->delay, Duration{0});
}

TEST(PipelineItem, AHandlerSendsBackButNeverOn) {
  const PipelineSpec spec = docs_item_spec();
  const ItemStep back =
      must(sent_back(spec, item_at("review", JobState::running), 0, 5, "worker", "no tests", kItemNow));
  EXPECT_EQ(back.place, (ItemPlace{.stage = ""}));
  EXPECT_EQ(back.record.moved_under, 5);
  EXPECT_EQ(back.act, "item_returned");
  EXPECT_EQ(sent_back(spec, item_at("review", JobState::running), 2, 5, "worker", "", kItemNow).error().code,
            Code::conflict);
  EXPECT_EQ(sent_back(spec, item_at("gate:publish", JobState::running), 0, 5, "worker", "", kItemNow).error().code,
            Code::conflict);
}

TEST(PipelineItem, AnEditIsInForceForItemsAtItsEntry) {
  PipelineSpec spec = docs_item_spec();
  const ItemNow item = at_publish_entry();
  EXPECT_EQ(fitted(spec, item, false, kItemNow + 1h), std::nullopt) << "it is where it should be";
  EXPECT_EQ(fitted(spec, item_at("review"), false, kItemNow), std::nullopt);
  PipelineSpec edited = spec;
  edited.stages[2].entry = {};
  EXPECT_EQ(fitted(edited, item, false, kItemNow)->place, (ItemPlace{.stage = "publish"})) << "automatic now";
  edited = spec;
  edited.stages[2].entry.within = Duration{0};
  EXPECT_EQ(fitted(edited, item, false, kItemNow)->place,
            (ItemPlace{.stage = "gate:publish", .state = JobState::waiting, .fresh = false}));
  edited = spec;
  edited.stages[2].entry.within = 72h;
  EXPECT_EQ(fitted(edited, item, false, kItemNow + 1h)->place->delay, 71h) << "counted from when it came";
  edited = spec;
  edited.stages[2].entry = {.kind = EntryKind::check, .command = {"./ok"}};
  EXPECT_EQ(fitted(edited, item, false, kItemNow)->place,
            (ItemPlace{.stage = "gate:publish", .state = JobState::ready, .fresh = false}))
      << "not at the end of a time that is no more";
  edited = spec;
  edited.stages[2].entry.count = 1;
  const ItemNow one = after(item, must(approved(spec, item, "ana", "", kItemNow)));
  EXPECT_EQ(fitted(edited, one, false, kItemNow)->place, (ItemPlace{.stage = "publish"})) << "one is enough now";
}

TEST(PipelineItem, WhatItWaitsForInWords) {
  const PipelineSpec spec = docs_item_spec();
  EXPECT_EQ(waits_for(spec, item_at("review")), "");
  EXPECT_EQ(waits_for(spec, at_publish_entry()),
            "approval of publish by ana, bo or cy (0 of 2), until 2026-11-18T12:00:00Z, then reject");
  EXPECT_EQ(waits_for(spec, item_at("gate:announce")), "check of announce: ./ok");
  EXPECT_EQ(waits_for(spec, item_at("gone", JobState::waiting)),
            "a person to move it: 'gone' is not a stage of this pipeline");
  EXPECT_EQ(waits_for(spec, item_at("publish", JobState::done)), "");
}

TEST(PipelineItem, ALongReasonIsCutInTheRecordAtAWholeLetter) {
  const PipelineSpec spec = docs_item_spec();
  std::string reason;
  for (int i = 0; i < 400; ++i) reason += "é";
  const ItemStep step = must(held(spec, item_at("review"), "ana", reason, kItemNow));
  EXPECT_EQ(step.record.hold->reason.size(), 120U);
  EXPECT_EQ(step.reason, reason);
}

}  // namespace
}  // namespace fenceline
