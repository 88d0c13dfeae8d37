#include "tracker/ledger.hpp"

#include <gtest/gtest.h>

#include "tracker/backlog_test.hpp"

namespace fenceline::tracker {
namespace {

TEST(Ledger, T1_TheSmallestValidLiveClaimWins) {
  Backlog backlog;
  backlog.claim("a");
  backlog.claim("b");
  EXPECT_EQ(backlog.holder(), "a");
  std::swap(backlog.item.comments[0], backlog.item.comments[1]);  // whatever the order of the answer
  EXPECT_EQ(backlog.holder(), "a");
  backlog.item.comments[1].id = "10";  // as numbers
  backlog.item.comments[0].id = "9";
  EXPECT_EQ(backlog.holder(), "b");
}

TEST(Ledger, T1_WhereIdsAreNotOrderedTheEarlierWinsThenTheSmaller) {
  Backlog backlog;
  backlog.protocol.can.ordered_ids = false;
  const CommentId first = backlog.claim("a");
  backlog.now += 1s;
  const CommentId second = backlog.claim("b");
  backlog.comment(first).id = "900";
  EXPECT_EQ(backlog.holder(), "a");
  backlog.comment(second).created_at = kStart;
  EXPECT_EQ(backlog.holder(), "b");
}

TEST(Ledger, R7_AnExpiredClaimNeitherWinsNorBlocks) {
  Backlog backlog;
  backlog.claim("a");
  backlog.now += 600s;
  EXPECT_EQ(backlog.holder(), "");
  backlog.claim("b", {"1"});
  EXPECT_EQ(backlog.holder(), "b");
}

TEST(Ledger, T2_AClaimThatWasNamedAsDeadStaysSoWhateverIsEditedIntoIt) {
  Backlog backlog;
  const CommentId first = backlog.claim("a");
  backlog.now += 601s;
  backlog.claim("b", {first});
  backlog.renew(first);
  EXPECT_EQ(backlog.holder(), "b");
}

TEST(Ledger, T2_OnlyItsOwnRenewalsAreEdits) {
  Backlog backlog;
  const CommentId id = backlog.claim("a");
  backlog.now += 400s;
  backlog.renew(id);
  backlog.now += 599s;
  EXPECT_EQ(backlog.holder(), "a");
  backlog.now += 1s;
  EXPECT_EQ(backlog.holder(), "");
  Backlog edited;
  edited.comment(edited.claim("a")).text += " ";  // by somebody, to another text
  edited.now += 2s;
  EXPECT_EQ(edited.holder(), "");
  Backlog resaved;
  resaved.protocol.signing = {};
  resaved.comment(resaved.claim("a")).edited_at = kStart + 1s;  // by somebody, to the same text
  EXPECT_EQ(resaved.holder(), "");                              // without a key only the time tells
  Backlog unsigned_;
  unsigned_.protocol.signing = {};
  unsigned_.renew(unsigned_.claim("a"));
  EXPECT_EQ(unsigned_.holder(), "");  // without a key no renewal
}

// A server may stamp the creation and the last change of a comment a moment apart.
TEST(Ledger, T2_StampsThatAreApartDoNotVoidASignedClaimOrRecord) {
  for (const Duration apart : {Duration{1ms}, Duration{5s}, Duration{-1ms}}) {
    Backlog backlog;
    backlog.comment(backlog.claim("a")).edited_at = backlog.now + apart;
    ASSERT_EQ(backlog.holder(), "a");
    EXPECT_EQ(backlog.ledger().claims.front().ends, kStart + 600s) << "it lives from its creation";
    backlog.comment(backlog.record(MarkerKind::advanced, "review")).edited_at = backlog.now + apart;
    EXPECT_EQ(backlog.ledger().place, "review");
    EXPECT_EQ(backlog.ledger().generation, 2);
  }
  Backlog people;
  people.record(MarkerKind::advanced, "gate:publish");
  people.comment(people.say(kAna, "/approve")).edited_at = people.now + 1ms;
  EXPECT_EQ(people.ledger().approvals.size(), 1U);
  Backlog without_key;
  without_key.protocol.signing = {};
  without_key.comment(without_key.claim("a")).edited_at = without_key.now + 1ms;
  EXPECT_EQ(without_key.holder(), "a");
}

TEST(Ledger, T2_OldSignedTextThatIsPastedBackRevivesNothing) {
  Backlog backlog;
  const CommentId id = backlog.claim("a");
  const std::string first = backlog.comment(id).text;
  backlog.now += 300s;
  backlog.renew(id);
  const std::string second = backlog.comment(id).text;
  backlog.now += 601s;
  ASSERT_EQ(backlog.holder(), "");
  for (const std::string& text : {first, second}) {
    backlog.comment(id).text = text;
    backlog.comment(id).edited_at = backlog.now;  // the tracker stamps the edit of whoever pasted it
    EXPECT_EQ(backlog.holder(), "");
    std::erase_if(backlog.item.comments, [&](const Comment& comment) { return comment.id != id; });
    backlog.say(kRobots, text);  // nor as a new comment
    EXPECT_EQ(backlog.holder(), "");
    backlog.item.comments.front().text = "gone";  // nor if the original is not there any more
    EXPECT_EQ(backlog.holder(), "");
  }
}

TEST(Ledger, T2_ACopyOfAClaimCountsAsNothing) {
  Backlog backlog;
  const CommentId original = backlog.claim("a");
  const CommentId copy = backlog.say(kRobots, backlog.comment(original).text);
  backlog.record(MarkerKind::released, "", original);
  EXPECT_EQ(backlog.holder(), "") << "the copy does not outlive its original";
  EXPECT_EQ(backlog.ledger().copies, std::vector<CommentId>{copy});
  backlog.now += 600s;
  EXPECT_EQ(backlog.ledger().dead, std::vector<CommentId>{}) << "nor is it a lost delivery";

  Backlog late;  // a copy whose original is gone
  const CommentId gone = late.claim("a");
  const std::string text = late.comment(gone).text;
  late.item.comments.clear();
  late.now += 61s;
  const CommentId left = late.say(kRobots, text);
  EXPECT_EQ(late.holder(), "");
  EXPECT_EQ(late.ledger().copies, std::vector<CommentId>{left});
  EXPECT_EQ(late.next().kind, StepKind::claim);

  Backlog other;  // copied from another item by the workers' own account, and nothing else is there
  const CommentId strange = other.say(kRobots, marker_text(other.claim_of("echo"), "18", other.protocol.signing));
  EXPECT_EQ(other.ledger().copies, std::vector<CommentId>{strange});
  EXPECT_FALSE(other.ledger().unreadable) << "it does not block the item";
  EXPECT_EQ(other.next().kind, StepKind::claim);
}

TEST(Ledger, T4_ARecordThatWasPostedTwiceCountsOnce) {
  Backlog backlog;
  const CommentId claim = backlog.claim("a");
  const CommentId failed = backlog.record(MarkerKind::failed, "", claim);
  backlog.say(kRobots, backlog.comment(failed).text);
  EXPECT_EQ(backlog.ledger().failures, 1);
}

TEST(Ledger, TheOutputOfAStageIsThatOfItsLastRecord) {
  Backlog backlog;
  Marker one{.kind = MarkerKind::advanced, .generation = 1, .stage = "ready"};
  one.to = "review";
  one.output = "7:abc";
  backlog.mark(one);
  EXPECT_EQ(backlog.ledger().outputs, (std::map<std::string, std::string>{{"ready", "7:abc"}}));
  backlog.record(MarkerKind::returned, "ready");
  EXPECT_EQ(backlog.ledger().outputs.size(), 1U);
  backlog.record(MarkerKind::advanced, "review");
  EXPECT_TRUE(backlog.ledger().outputs.empty());
}

TEST(Ledger, T2_ARenewalThatArrivesLateCountsFromWhenItWasSent) {
  Backlog backlog;
  const CommentId id = backlog.claim("a");
  backlog.now += 300s;
  backlog.renew(id, 500s);
  backlog.now += 500s;  // edited just now, made 500 s ago
  EXPECT_EQ(backlog.ledger().claims.front().ends, kStart + 900s);
  backlog.protocol.can.edit_times = false;
  EXPECT_EQ(backlog.ledger().claims.front().ends, kStart + 900s);
}

TEST(Ledger, R9_ClaimsOfOthersAndOfOtherItemsAndGenerationsAreNone) {
  Backlog backlog;
  backlog.mark(backlog.claim_of("eve"), kEve);
  EXPECT_EQ(backlog.holder(), "");
  backlog.say(kRobots, marker_text(backlog.claim_of("echo"), "18", backlog.protocol.signing));
  EXPECT_EQ(backlog.holder(), "");
  Marker old = backlog.claim_of("old");
  backlog.record(MarkerKind::advanced, "review");
  backlog.mark(old);
  EXPECT_EQ(backlog.holder(), "");
  EXPECT_EQ(backlog.ledger().place, "review");
}

TEST(Ledger, X8_TheTtlIsClampedToThePipelines) {
  Backlog backlog;
  Marker marker = backlog.claim_of("a");
  marker.ttl = 99'999'999;
  backlog.mark(marker);
  backlog.now += 600s;
  EXPECT_EQ(backlog.holder(), "");
}

TEST(Ledger, T3_OnlyAClaimThatIsDeadForGoodIsSwept) {
  Backlog backlog;
  const CommentId first = backlog.claim("a");
  backlog.now += 601s;  // it may have been renewed in what is not seen yet
  EXPECT_TRUE(backlog.ledger().leftovers.empty());
  backlog.claim("b", {first});
  EXPECT_EQ(backlog.ledger().leftovers, std::vector<CommentId>{first});
}

TEST(Ledger, T4_TheFirstValidRecordOfAGenerationCountsALaterOneIsVoid) {
  Backlog backlog;
  const Ledger before = backlog.ledger();
  Marker one{.kind = MarkerKind::advanced, .generation = before.generation, .stage = "ready"};
  one.to = "review";
  Marker two = one;
  two.to = "done";
  backlog.mark(one);
  backlog.mark(two);
  const Ledger after = backlog.ledger();
  EXPECT_EQ(after.place, "review");
  EXPECT_EQ(after.generation, 2);
  EXPECT_EQ(after.leftovers, std::vector<CommentId>{"2"});
}

TEST(Ledger, T4_ADeletedRecordIsProvenByWhatFollowedIt) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.claim("a");
  backlog.item.comments.erase(backlog.item.comments.begin());
  EXPECT_EQ(backlog.ledger().generation, 2);
  EXPECT_EQ(backlog.ledger().place, "review");
  EXPECT_EQ(backlog.holder(), "a");
}

// Found by the simulator: a reader that missed the record claimed the item past it.
TEST(Ledger, T4_WhatIsLeftToPeopleStaysThereWhateverAStaleReaderWrites) {
  Backlog backlog;
  backlog.record(MarkerKind::contested, "");
  Marker missed = backlog.claim_of("a");
  missed.generation = 2;
  missed.stage = "review";
  backlog.mark(missed);
  EXPECT_EQ(backlog.ledger().place, "ready");
  EXPECT_TRUE(backlog.ledger().contested);
  EXPECT_EQ(backlog.holder(), "");
  backlog.record(MarkerKind::moved, "review");
  EXPECT_EQ(backlog.ledger().place, "review");
}

TEST(Ledger, P1_ApprovalsAreThoseOfTrustedPeopleForThisGateAndGeneration) {
  Backlog backlog;
  backlog.record(MarkerKind::advanced, "review");
  backlog.say(kAna, "/approve");  // before it is at the gate
  backlog.record(MarkerKind::advanced, "gate:publish");
  EXPECT_TRUE(backlog.ledger().approvals.empty());
  backlog.say(kEve, "/approve");
  backlog.say(kRobots, "/approve");  // the workers' own account
  backlog.say(kAna, "/approve review");
  backlog.comment(backlog.say(kAna, "/approve")).edited_at = kStart + 1s;  // by whoever may edit her words
  EXPECT_TRUE(backlog.ledger().approvals.empty());
  backlog.say(kAna, "/approve");
  backlog.say(kAna, "/approve publish");  // once a person
  EXPECT_EQ(backlog.ledger().approvals.size(), 1U);
  backlog.record(MarkerKind::returned, "review");
  backlog.record(MarkerKind::advanced, "gate:publish");
  EXPECT_TRUE(backlog.ledger().approvals.empty());
  backlog.protocol.people.push_back(kRobots.id);  // whatever the settings say
  backlog.protocol.pipeline.stages.back().entry.by.clear();
  backlog.say(kRobots, "/approve");
  EXPECT_TRUE(backlog.ledger().approvals.empty());
}

TEST(Ledger, AnOutcomeEndsItsClaimAndKeepsWhatItKnewToBeDead) {
  Backlog backlog;
  const CommentId lost = backlog.claim("a");
  backlog.now += 600s;
  const CommentId mine = backlog.claim("b", {lost});
  Marker failed{.kind = MarkerKind::failed, .generation = 1, .stage = "ready"};
  failed.claim = mine;
  failed.over = {lost};
  failed.again = 60;
  backlog.mark(failed);
  backlog.comment(mine).text = "withdrawn";
  backlog.renew(lost);
  const Ledger after = backlog.ledger();
  EXPECT_FALSE(after.holder);
  EXPECT_EQ(after.failures, 1);
  EXPECT_EQ(after.not_before, backlog.now + 60s);
  EXPECT_EQ(after.dead, std::vector<CommentId>{lost});
}

TEST(Ledger, MarkersOfAnotherKeyAloneMakeAnItemUnreadable) {
  Backlog backlog;
  backlog.claim("a");
  backlog.protocol.signing.key = "another key";
  EXPECT_TRUE(backlog.ledger().unreadable);
  backlog.now += 24h;  // not for ever: it may be the copy of something
  EXPECT_FALSE(backlog.ledger().unreadable);
  backlog.now -= 24h;
  backlog.claim("b");  // the key fits: the other one is the copy of something
  EXPECT_FALSE(backlog.ledger().unreadable);
  EXPECT_EQ(backlog.holder(), "b");
  backlog.protocol.signing.place = "Model:A/B";  // the same tracker
  EXPECT_EQ(backlog.holder(), "b");
}

TEST(Ledger, TheRecordThatAnItemIsDeadIsKept) {
  Backlog backlog;
  backlog.record(MarkerKind::failed, "");
  const CommentId last = backlog.record(MarkerKind::failed, std::string(kDead));
  EXPECT_EQ(backlog.ledger().place, kDead);
  EXPECT_EQ(backlog.ledger().leftovers, std::vector<CommentId>{"1"});
  std::erase_if(backlog.item.comments, [&](const Comment& comment) { return comment.id != last; });
  EXPECT_EQ(backlog.ledger().place, kDead);
}

TEST(Ledger, OfThoseThatGaveUpForNowTheLastOneIsKept) {
  Backlog backlog;
  for (int look = 0; look < 3; ++look) {
    const CommentId claim = backlog.claim("a");
    backlog.record(MarkerKind::released, "", claim);
    std::erase_if(backlog.item.comments, [&](const Comment& comment) { return comment.id == claim; });
  }
  EXPECT_EQ(backlog.ledger().leftovers, (std::vector<CommentId>{"2", "4"}));
}

TEST(Ledger, WithoutTheKeySignedItemsAreLeftAlone) {
  Backlog backlog;
  backlog.claim("a");
  backlog.protocol.signing.key.clear();
  EXPECT_TRUE(backlog.ledger().unreadable);
  EXPECT_EQ(backlog.next().kind, StepKind::nothing);
}

}  // namespace
}  // namespace fenceline::tracker
