// What every store promises about a change of items: it rests on the record that was seen, is made once, says why it
// was not, and stands in the trail.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_P(PipelineConformance, AnItemIsShownWithItsRecordAndWithoutItsPayload) {
  NewJob job = new_job();
  job.tags = {"blue"};
  added(job);
  Job shown = look(job.id);
  EXPECT_NE(shown.payload, "");
  shown.payload.clear();
  EXPECT_EQ(item(job.id), (Item{shown, 0, ""})) << "nothing is known of it yet";
  const std::string record = std::string("{\"\0\":\"\xc3\xa9\"}", 9) + std::string(kItemBytesMax - 9, 'x');
  EXPECT_EQ(changed(noting(job.id, record)), "");
  EXPECT_EQ(item(job.id), (Item{shown, 1, record}));
  const ClaimedJob claim = claimed_as_next(job.id);
  EXPECT_EQ(item(job.id).job.lease_left, kTtl);
  EXPECT_EQ(ended(claim, {.result = "long"}), "");
  shown = look(job.id);
  EXPECT_EQ(shown.result, "long");
  shown.payload.clear();
  shown.result.clear();
  EXPECT_EQ(item(job.id), (Item{shown, 1, record}));
}

TEST_P(PipelineConformance, ItemsComeInTheOrderAskedForWithoutThoseThatAreNotThere) {
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  const JobId other = added(new_job(), "other");
  const ItemsReply reply = must(store().items({.ns = "default", .ids = {second, new_id(), other, first}}));
  ASSERT_EQ(reply.items.size(), 2u);
  EXPECT_EQ(reply.items[0].job.id, second);
  EXPECT_EQ(reply.items[1].job.id, first);
  EXPECT_EQ(reply.now, wall());
  EXPECT_EQ(must(store().items({.ns = "never", .ids = {first}})).now, wall());
}

TEST_P(PipelineConformance, WithoutAPlaceOnlyTheRecordChanges) {
  const JobId ready = added(new_job());
  const JobId runs = added(new_job());
  const ClaimedJob other = claimed_as_next(ready);
  const ClaimedJob claim = claimed_as_next(runs);
  EXPECT_EQ(ended(other, {.kind = OutcomeKind::failed, .error = "no", .retry_in = 1h}), "");
  let_time_pass(1s);
  const Job before_ready = look(ready);
  const Job before_runs = look(runs);
  EXPECT_TRUE(changed(changing({noting(ready, "one"), noting(runs, "two")})).empty());
  EXPECT_EQ(look(ready), before_ready);
  EXPECT_EQ(look(runs), before_runs);
  EXPECT_EQ(item(ready).record, "one");
  EXPECT_EQ(item(runs).record, "two");
  ItemChange own = noting(runs, "three");
  own.fence = claim.job.fence;
  EXPECT_EQ(changed(own), "") << "its holder, too";
  EXPECT_EQ(item(runs).revision, 2);
  EXPECT_EQ(look(runs), before_runs) << "it runs on";
  EXPECT_EQ(extended("a", holding_of(claim)), "");
  EXPECT_EQ(ended(claim), "");
}

TEST_P(PipelineConformance, P2_AChangeRestsOnTheRecordThatWasSeen) {
  const JobId id = added(new_job());
  ItemChange first = noting(id, "first");
  ItemChange late = moving(id, "late");
  EXPECT_EQ(changed(first), "");
  const Item before = item(id);
  const ChangeItemsRequest request = changing({late});
  EXPECT_EQ(changed(request), (std::vector<ItemRefusal>{{id, Reason::changed, 0, 1}}));
  late.revision = 2;
  EXPECT_EQ(changed(late), "changed") << "nor on one that is still to come";
  EXPECT_EQ(item(id), before);
  late.revision = 1;
  EXPECT_EQ(changed(late), "");
  EXPECT_EQ(item(id).revision, 2);
  EXPECT_EQ(item(id).record, "at late");
  EXPECT_EQ(item(id).job.stage, "late");
}

TEST_P(PipelineConformance, P2_OfTwoWhoDecidedOnTheSameOneIsRefused) {
  const JobId id = added(new_job());
  EXPECT_EQ(moved(id, "gate", JobState::waiting), "");
  const ItemChange approve = moving(id, "two");
  const ItemChange reject = moving(id, "one");
  EXPECT_EQ(changed(approve), "");
  EXPECT_EQ(changed(reject), "changed");
  EXPECT_EQ(look(id).stage, "two");
}

TEST_P(PipelineConformance, P2_ARepeatOfTheLastRequestChangesNothing) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  const ChangeItemsRequest advance = changing({advancing(claim, "two")});
  EXPECT_TRUE(changed(advance).empty());
  const Item once = item(id);
  let_time_pass(1s);
  EXPECT_TRUE(changed(advance).empty()) << "the reply was lost";
  EXPECT_EQ(item(id), once);
  EXPECT_EQ(trail().size(), 1u);
  EXPECT_EQ(attempts(id).size(), 1u);
}

TEST_P(PipelineConformance, P2_ARepeatIsOneWhateverBecameOfTheJobSince) {
  const JobId id = added(new_job());
  const ChangeItemsRequest advance = changing({advancing(claimed_as_next(id), "two")});
  EXPECT_TRUE(changed(advance).empty());
  const ClaimedJob next = claimed_at("two", id, "b");
  EXPECT_TRUE(changed(advance).empty());
  EXPECT_EQ(extended("b", holding_of(next)), "") << "the running delivery was not ended";
  EXPECT_EQ(ended(next, {.kind = OutcomeKind::failed, .retry_in = 1h}), "");
  EXPECT_TRUE(changed(advance).empty());
  EXPECT_EQ(cancelled(id), "");
  EXPECT_TRUE(changed(advance).empty());
  EXPECT_EQ(look(id).state, JobState::cancelled);
  EXPECT_EQ(retried(id), "");
  EXPECT_EQ(ended(claimed_at("two", id, "b")), "");
  EXPECT_TRUE(changed(advance).empty());
  EXPECT_EQ(look(id).state, JobState::done);
  EXPECT_EQ(item(id).revision, 1);
}

TEST_P(PipelineConformance, P2_ARequestThatWasNotTheLastIsNoRepeat) {
  const JobId id = added(new_job());
  const ChangeItemsRequest first = changing({moving(id, "two")});
  EXPECT_TRUE(changed(first).empty());
  EXPECT_EQ(changed(noting(id)), "");
  EXPECT_EQ(changed(first), (std::vector<ItemRefusal>{{id, Reason::changed, 0, 2}}));
  const ClaimedJob claim = claimed_at("two", id);
  const ChangeItemsRequest advance = changing({advancing(claim, "three")});
  EXPECT_TRUE(changed(advance).empty());
  EXPECT_EQ(moved(id, "one"), "");
  EXPECT_EQ(changed(advance), (std::vector<ItemRefusal>{{id, Reason::settled, claim.job.fence, 4}}));
  EXPECT_EQ(look(id).stage, "one");
}

TEST_P(PipelineConformance, ARefusedRequestIsNotRemembered) {
  const JobId id = added(new_job());
  ItemChange early = moving(id, "two");
  early.revision = 1;
  const ChangeItemsRequest request = changing({early});
  EXPECT_EQ(changed(request).at(0).reason, Reason::changed);
  EXPECT_EQ(changed(request).at(0).reason, Reason::changed);
  EXPECT_EQ(changed(noting(id)), "");
  EXPECT_TRUE(changed(request).empty());
  EXPECT_EQ(look(id).stage, "two");
}

TEST_P(PipelineConformance, EachChangeIsMadeByItselfAlsoIfOthersAreRepeats) {
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(added(new_job()));
  const JobId nobody = new_id();
  ChangeItemsRequest request =
      changing({moving(ids[2], "two"), moving(nobody, "two"), moving(ids[0], "two", JobState::waiting)});
  EXPECT_EQ(changed(request), (std::vector<ItemRefusal>{{nobody, Reason::not_found, 0, 0}}));
  EXPECT_EQ(changed(noting(ids[3])), "");
  request.changes.push_back(moving(ids[1], "two"));
  ItemChange old = moving(ids[3], "two");
  old.revision = 0;
  request.changes.push_back(old);
  EXPECT_EQ(changed(request),
            (std::vector<ItemRefusal>{{nobody, Reason::not_found, 0, 0}, {ids[3], Reason::changed, 0, 1}}));
  EXPECT_EQ(item(ids[2]).revision, 1) << "changed before";
  EXPECT_EQ(item(ids[0]).revision, 1);
  EXPECT_EQ(item(ids[1]).revision, 1) << "changed now";
  EXPECT_EQ(look(ids[3]).stage, "");
  EXPECT_EQ(trail().size(), 4u);
}

TEST_P(PipelineConformance, J3_TheReasonsOfAHolderInTheirOrder) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  let_time_pass(kTtl);
  const ClaimedJob second = claimed_as_next(id, "b");
  ItemChange late = advancing(first, "two");
  late.revision = 5;
  EXPECT_EQ(changed(changing({late}, "a")), (std::vector<ItemRefusal>{{id, Reason::superseded, second.job.fence, 0}}));
  EXPECT_EQ(changed(late, "b"), "superseded") << "whoever sends it";
  ItemChange now = advancing(second, "two");
  now.revision = 5;
  EXPECT_EQ(changed(now, "a"), "other_owner");
  EXPECT_EQ(changed(now, "b"), "changed");
  EXPECT_EQ(ended(second, {.kind = OutcomeKind::later, .retry_in = 1h}), "");
  EXPECT_EQ(changed(now, "b"), "settled");
  EXPECT_EQ(changed(now, "a"), "other_owner");
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(changed(now, "b"), "finished");
  EXPECT_EQ(changed(now, "a"), "other_owner");
  EXPECT_EQ(changed(late, "a"), "superseded");
  ItemChange lost = now;
  lost.id = new_id();
  EXPECT_EQ(changed(lost, "b"), "not_found");
  lost = noting(id);
  lost.fence = second.job.fence;
  EXPECT_EQ(changed(lost, "b"), "finished") << "without a place, too";
  EXPECT_EQ(item(id).revision, 0);
  EXPECT_EQ(trail().size(), 1u) << "the cancel";
}

TEST_P(PipelineConformance, TheReasonsOfAPersonInTheirOrder) {
  const JobId id = added(new_job());
  EXPECT_EQ(moved(new_id(), "two"), "not_found");
  held(id);
  ItemChange change = moving(id, "two");
  change.only = JobState::ready;
  change.revision = 5;
  EXPECT_EQ(changed(change), "state");
  change.only = JobState::waiting;
  EXPECT_EQ(changed(change), "effect_in_doubt");
  ItemChange note = change;
  note.place.reset();
  EXPECT_EQ(changed(note), "changed") << "only a place meets the doubt";
  note.revision = 0;
  EXPECT_EQ(changed(note), "");
  for (const JobState state : {JobState::ready, JobState::waiting, JobState::done, JobState::dead, JobState::cancelled})
    EXPECT_EQ(moved(id, "two", state), "effect_in_doubt");
  EXPECT_EQ(resolved(id, true), "");
  change.only = JobState::ready;
  EXPECT_EQ(changed(change), "changed");
  EXPECT_EQ(cancelled(id), "");
  EXPECT_EQ(changed(change), "finished");
  EXPECT_EQ(changed(noting(id)), "finished") << "without a place, too";
  EXPECT_EQ(look(id).stage, "");
}

TEST_P(PipelineConformance, APersonsChangeOfOneStateLeavesOthersAsTheyAre) {
  const JobId id = added(new_job());
  for (const JobState state : {JobState::running, JobState::waiting, JobState::done}) {
    ItemChange change = moving(id, "two");
    change.only = state;
    EXPECT_EQ(changed(change), "state");
  }
  ItemChange change = moving(id, "two");
  change.only = JobState::ready;
  EXPECT_EQ(changed(change), "");
  claimed_at("two", id);
  change = moving(id, "three");
  change.only = JobState::ready;
  EXPECT_EQ(changed(change), "state");
  change.only = JobState::running;
  EXPECT_EQ(changed(change), "");
}

TEST_P(PipelineConformance, EachChangeStandsInTheTrailWithItsReason) {
  const JobId first = added(new_job());
  const JobId second = added(new_job());
  const WallTime at = wall();
  ItemChange one = moving(second, "two");
  one.about = "one -> two \xc3\xa9";
  one.reason = "its \"own\"";
  ItemChange two = noting(first);
  two.act = "item_approved";
  ItemChange refused = moving(new_id(), "two");
  ChangeItemsRequest request = changing({one, refused, two});
  request.act = {"ben", "of all"};
  changed(request);
  changed(request);
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{{at, "default", "ben", "item_moved",
                                               to_string(second) + " one -> two \xc3\xa9", "its \"own\""},
                                              {at, "default", "ben", "item_approved", to_string(first), "of all"}}));
  EXPECT_TRUE(trail("other").empty());
}

TEST_P(PipelineConformance, ChangesDoNotCrossNamespaces) {
  const NewJob job = new_job();
  added(job);
  added(job, "other");
  const Job before = look(job.id, "other");
  EXPECT_EQ(moved(job.id, "two"), "");
  EXPECT_EQ(look(job.id, "other"), before);
  EXPECT_EQ(item(job.id, "other").revision, 0);
  ChangeItemsRequest elsewhere = changing({moving(job.id, "three")});
  elsewhere.ns = "third";
  EXPECT_EQ(changed(elsewhere), (std::vector<ItemRefusal>{{job.id, Reason::not_found, 0, 0}}));
  elsewhere.ns = "other";
  elsewhere.changes[0].revision = 0;
  EXPECT_TRUE(changed(elsewhere).empty());
  EXPECT_EQ(look(job.id).stage, "two");
  EXPECT_EQ(look(job.id, "other").stage, "three");
}

TEST_P(PipelineConformance, ARecordGoesWithItsJob) {
  const NewJob job = new_job();
  added(job);
  EXPECT_EQ(moved(job.id, "two", JobState::done), "");
  EXPECT_EQ(tidied(), 0);
  EXPECT_EQ(item(job.id).record, "at two");
  let_time_pass(kKeepDoneDefault);
  EXPECT_EQ(tidied(), 1);
  EXPECT_TRUE(must(store().items({.ns = "default", .ids = {job.id}})).items.empty());
  added(job);
  EXPECT_EQ(item(job.id).revision, 0);
  EXPECT_EQ(item(job.id).record, "");
  EXPECT_EQ(look(job.id).stage, "");
}

TEST_P(PipelineConformance, J1_AnEnqueueRepeatedAfterTheItemMovedOnAddsNothing) {
  NewJob job = new_job();
  added(job);
  EXPECT_EQ(advanced(claimed_as_next(job.id), "two"), "");
  EXPECT_EQ(must(store().enqueue({.ns = "default", .jobs = {job}})).existing, 1);
  EXPECT_EQ(look(job.id).stage, "two");
  EXPECT_EQ(everything().size(), 1u);
  NewJob elsewhere = job;
  elsewhere.stage = "two";
  EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {elsewhere}})), Code::conflict)
      << "it was enqueued without a stage";
  job.payload = "{\"another\":1}";
  EXPECT_EQ(code_of(store().enqueue({.ns = "default", .jobs = {job}})), Code::conflict);
}

TEST_P(PipelineConformance, ManyItemsAreChangedInOneStep) {
  std::vector<NewJob> jobs;
  std::vector<JobId> ids;
  std::vector<ItemChange> changes;
  for (int i = 0; i < kItemsAtOnceMax; ++i) {
    jobs.push_back(new_job());
    ids.push_back(jobs.back().id);
    ItemChange change;
    change.id = jobs.back().id;
    change.record = "r" + std::to_string(i);
    change.act = "item_moved";
    change.place =
        Placement{.stage = i % 2 == 0 ? "two" : "three", .state = JobState::ready, .result = {}, .error = {}};
    changes.push_back(change);
  }
  must(store().enqueue({.ns = "default", .jobs = jobs}));
  EXPECT_TRUE(changed(changing(changes)).empty());
  const ItemsReply reply = must(store().items({.ns = "default", .ids = ids}));
  ASSERT_EQ(reply.items.size(), ids.size());
  EXPECT_EQ(reply.items.back().record, "r999");
  EXPECT_EQ(claimed(asking_at("two", "a", 1000)).size(), 500u);
  EXPECT_EQ(claimed(asking_at("three", "a", 1000)).size(), 500u);
}

TEST_P(PipelineConformance, MalformedChangesAreInvalidAndChangeNothing) {
  const JobId id = added(new_job());
  const ChangeItemsRequest good = changing({moving(id, "two")});
  std::vector<ChangeItemsRequest> bad(21, good);
  bad[0].ns = "a b";
  bad[1].request = "";
  bad[2].changes.clear();
  bad[3].changes.push_back(good.changes[0]);
  bad[4].act.actor = "";
  bad[5].changes[0].record = "";
  bad[6].changes[0].record = std::string(kItemBytesMax + 1, 'x');
  bad[7].changes[0].record = "\xff";
  bad[8].changes[0].revision = -1;
  bad[9].changes[0].act = "";
  bad[10].changes[0].about = std::string(kKeyBytesMax + 1, 'x');
  bad[11].changes[0].reason = std::string(kNoteBytesMax + 1, 'x');
  bad[12].changes[0].place->state = JobState::running;
  bad[13].changes[0].place->stage = "a b";
  bad[14].changes[0].place->delay = -1us;
  bad[15].changes[0].place->error = std::string(kErrorBytesMax + 1, 'x');
  bad[16].changes[0].place->result = "of no delivery";
  bad[17].changes[0].fence = 1;
  bad[17].owner = "";
  bad[18].changes[0].fence = 1;
  bad[18].changes[0].only = JobState::running;
  bad[19].changes = std::vector<ItemChange>(static_cast<std::size_t>(kItemsAtOnceMax) + 1, good.changes[0]);
  for (ItemChange& change : bad[19].changes) change.id = new_id();
  bad[20].changes[0].about = "two\nlines";
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(code_of(store().change_items(bad[i])), Code::invalid) << i;
  EXPECT_EQ(code_of(store().items({.ns = "a b", .ids = {id}})), Code::invalid);
  EXPECT_EQ(code_of(store().items({.ns = "default", .ids = {}})), Code::invalid);
  EXPECT_EQ(code_of(store().items({.ns = "default", .ids = {id, id}})), Code::invalid);
  EXPECT_EQ(item(id).revision, 0);
  EXPECT_EQ(look(id).stage, "");
  EXPECT_TRUE(trail().empty());
}

TEST_P(PipelineConformance, L2_AChangeWithoutAFenceLeftIsRefusedAndChangesNothing) {
  const JobId runs = added(new_job());
  const ClaimedJob claim = claimed_as_next(runs);
  const JobId ready = added(new_job());
  const ChangeItemsRequest request = changing({moving(ready, "two"), moving(runs, "two")});
  const WallTime before = wall();
  set_wall(WallTime{Duration{kFenceMax + 1}});
  EXPECT_EQ(code_of(store().change_items(request)), Code::refused);
  EXPECT_EQ(look(ready).stage, "");
  EXPECT_EQ(item(ready).revision, 0);
  EXPECT_EQ(item(runs).revision, 0);
  EXPECT_TRUE(trail().empty());
  ItemChange refused = moving(runs, "two");
  refused.revision = 7;
  EXPECT_EQ(changed(refused), "changed") << "what is refused needs no fence";
  EXPECT_EQ(changed(advancing(claim, "gate", JobState::waiting)), "") << "nor does its holder";
  set_wall(before);
  EXPECT_EQ(look(runs).stage, "gate");
}

}  // namespace
}  // namespace fenceline::test
