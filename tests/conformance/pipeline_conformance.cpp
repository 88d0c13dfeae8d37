// What every store promises about pipelines themselves: a text under a name and a revision. What it promises about
// their items is in the pipeline_*_conformance.cpp beside this one.
#include <atomic>
#include <stdexcept>

#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

PutPipelineRequest PipelineConformance::putting(const std::string& spec, std::int64_t revision,
                                                const std::string& name) {
  return {.ns = "default", .name = name, .spec = spec, .revision = revision, .act = kAct};
}

Item PipelineConformance::item(const JobId& id, const std::string& ns) {
  const ItemsReply reply = must(store().items({.ns = ns, .ids = {id}}));
  if (reply.items.size() != 1) throw std::runtime_error("item " + to_string(id) + " is not there");
  return reply.items.front();
}

ItemChange PipelineConformance::noting(const JobId& id, const std::string& record) {
  ItemChange change;
  change.id = id;
  const ItemsReply there = must(store().items({.ns = "default", .ids = {id}}));
  if (!there.items.empty()) change.revision = there.items.front().revision;
  change.record = record;
  change.act = "item_held";
  return change;
}

ItemChange PipelineConformance::moving(const JobId& id, const std::string& stage, JobState state) {
  ItemChange change = noting(id, "at " + stage);
  change.act = "item_moved";
  change.place = Placement{.stage = stage, .state = state, .result = {}, .error = {}};
  return change;
}

ItemChange PipelineConformance::advancing(const ClaimedJob& claim, const std::string& stage, JobState state) {
  ItemChange change = moving(claim.job.id, stage, state);
  change.act = "item_advanced";
  change.fence = claim.job.fence;
  return change;
}

ChangeItemsRequest PipelineConformance::changing(const std::vector<ItemChange>& changes, const std::string& owner) {
  return {.ns = "default", .owner = owner, .request = to_string(new_id()), .changes = changes, .act = kAct};
}

std::string PipelineConformance::changed(const ItemChange& change, const std::string& owner) {
  const std::vector<ItemRefusal> refused = changed(changing({change}, owner));
  return refused.empty() ? "" : std::string(to_string(refused.front().reason));
}

ClaimRequest PipelineConformance::asking_at(const std::string& stage, const std::string& owner, int limit) {
  ClaimRequest request = asking(owner, limit);
  request.stage = stage;
  return request;
}

ClaimedJob PipelineConformance::claimed_at(const std::string& stage, const JobId& id, const std::string& owner) {
  std::vector<ClaimedJob> jobs = claimed(asking_at(stage, owner, 1));
  if (jobs.size() != 1 || jobs.front().job.id != id)
    throw std::runtime_error("job " + to_string(id) + " could not be claimed at stage " + stage);
  return jobs.front();
}

namespace {

TEST_P(PipelineConformance, APipelineIsATextUnderANameAndARevision) {
  EXPECT_TRUE(pipelines().empty());
  set_wall(wall() + 17us);
  const std::string spec = std::string("{\"\0\":\"\xc3\xa9\"}", 9) + std::string(kPipelineBytesMax - 9, 'x');
  const PipelineRow row = put(putting(spec));
  EXPECT_EQ(row, (PipelineRow{"p", spec, 1, wall()}));
  EXPECT_EQ(pipelines(), std::vector{row});
  let_time_pass(1s);
  const PipelineRow second = put(putting("two", 1));
  EXPECT_EQ(second, (PipelineRow{"p", "two", 2, wall()}));
  EXPECT_EQ(pipelines(), std::vector{second});
}

TEST_P(PipelineConformance, PipelinesAreListedByNameBytewise) {
  for (const char* name : {"b", "a", "Z", "a.b", "a-b", "aa", "a:1"}) put(putting("s", 0, name));
  std::vector<std::string> names;
  for (const PipelineRow& row : pipelines()) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"Z", "a", "a-b", "a.b", "a:1", "aa", "b"}));
}

TEST_P(PipelineConformance, AChangeOfAPipelineRestsOnTheRevisionThatWasSeen) {
  EXPECT_EQ(code_of(store().put_pipeline(putting("s", 1))), Code::conflict) << "there is none";
  const PipelineRow row = put(putting("s"));
  EXPECT_EQ(code_of(store().put_pipeline(putting("t", 0))), Code::conflict) << "there is one";
  EXPECT_EQ(code_of(store().put_pipeline(putting("t", 2))), Code::conflict);
  EXPECT_EQ(code_of(store().put_pipeline(putting("", 0))), Code::conflict);
  EXPECT_EQ(code_of(store().put_pipeline(putting("", 2))), Code::conflict);
  EXPECT_EQ(pipelines(), std::vector{row});
  EXPECT_EQ(trail().size(), 1u);
}

TEST_P(PipelineConformance, ASpecThatStandsAlreadyIsFineWhateverTheRevisionSays) {
  const PipelineRow row = put(putting("s"));
  let_time_pass(1s);
  for (const std::int64_t revision : {0, 1, 7}) EXPECT_EQ(put(putting("s", revision)), row);
  EXPECT_EQ(trail().size(), 1u);
}

TEST_P(PipelineConformance, RemovingWhatIsNotThereIsFine) {
  EXPECT_EQ(put(putting("")), (PipelineRow{"p", "", 0, WallTime{}})) << "it never was";
  put(putting("s"));
  let_time_pass(1s);
  const PipelineRow gone = put(putting("", 1));
  EXPECT_EQ(gone, (PipelineRow{"p", "", 2, wall()}));
  let_time_pass(1s);
  for (const std::int64_t revision : {0, 1, 2}) EXPECT_EQ(put(putting("", revision)), gone);
  EXPECT_TRUE(pipelines().empty());
  EXPECT_EQ(trail().size(), 2u);
}

TEST_P(PipelineConformance, ARevisionIsNeverTheSameAgain) {
  put(putting("s"));
  put(putting("", 1));
  EXPECT_EQ(code_of(store().put_pipeline(putting("t", 1))), Code::conflict);
  EXPECT_EQ(code_of(store().put_pipeline(putting("t", 2))), Code::conflict) << "there is none: its revision is 0";
  EXPECT_EQ(put(putting("s", 0)).revision, 3);
}

TEST_P(PipelineConformance, APipelineStandsInTheTrail) {
  const WallTime at = wall();
  put(putting("s"));
  put(putting("t", 1));
  PutPipelineRequest remove = putting("", 2);
  remove.act = {"ben", "old \"one\""};
  put(remove);
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{{at, "default", "ann", "pipeline_applied", "p", "because"},
                                              {at, "default", "ann", "pipeline_applied", "p", "because"},
                                              {at, "default", "ben", "pipeline_removed", "p", "old \"one\""}}));
}

TEST_P(PipelineConformance, WhoWatchesOrdersIsToldOfAPipeline) {
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] { ++told; });
  put(putting("s"));
  EXPECT_TRUE(comes_about([&] { return told > 0; }));
  const int before = told;
  put(putting("", 1));
  EXPECT_TRUE(comes_about([&] { return told > before; }));
}

TEST_P(PipelineConformance, APipelineLeavesJobsAndQueuesAsTheyAre) {
  const JobId id = added(new_job());
  const Job job = look(id);
  put(putting("s", 0, "q"));
  put(putting("s", 0, "elsewhere"));
  put(putting("", 1, "q"));
  EXPECT_EQ(look(id), job);
  EXPECT_EQ(must(store().queues("default")).size(), 1u) << "a pipeline alone is no queue";
}

TEST_P(PipelineConformance, ANamespaceHasSoManyPipelinesAndNoMore) {
  for (int i = 0; i < kPipelinesMax; ++i) put(putting("s", 0, "p" + std::to_string(i)));
  EXPECT_EQ(code_of(store().put_pipeline(putting("s", 0, "more"))), Code::refused);
  EXPECT_EQ(code_of(store().put_pipeline(putting("s", 1, "more"))), Code::conflict);
  EXPECT_EQ(put(putting("t", 1, "p7")).revision, 2) << "what is there can be changed";
  EXPECT_EQ(put(putting("s", 0, "p8")).revision, 1);
  put(putting("", 1, "p9"));
  EXPECT_EQ(put(putting("s", 0, "more")).revision, 1) << "a removed one does not count";
  EXPECT_EQ(code_of(store().put_pipeline(putting("s", 0, "p9"))), Code::refused);
  EXPECT_EQ(pipelines().size(), static_cast<std::size_t>(kPipelinesMax));
}

TEST_P(PipelineConformance, PipelinesDoNotCrossNamespaces) {
  PutPipelineRequest other = putting("other");
  other.ns = "other";
  const PipelineRow row = put(other);
  EXPECT_TRUE(pipelines().empty());
  put(putting("s"));
  put(putting("", 1));
  EXPECT_EQ(pipelines("other"), std::vector{row});
  EXPECT_TRUE(trail("other").size() == 1u);
}

TEST_P(PipelineConformance, ARemovedNamespaceHasNoPipelinesAndNoRecords) {
  put(putting("s"));
  put(putting("t", 1));
  put(putting("s", 0, "gone"));
  put(putting("", 1, "gone"));
  PutPipelineRequest other = putting("s");
  other.ns = "other";
  put(other);
  const NewJob job = new_job();
  added(job);
  EXPECT_EQ(moved(job.id, "two"), "");
  must(store().remove_namespace("default", kAct));
  EXPECT_TRUE(pipelines().empty());
  EXPECT_EQ(pipelines("other").size(), 1u);
  EXPECT_TRUE(must(store().items({.ns = "default", .ids = {job.id}})).items.empty());
  added(job);
  EXPECT_EQ(item(job.id).revision, 0);
  EXPECT_EQ(item(job.id).record, "");
  EXPECT_EQ(put(putting("s")).revision, 1) << "the namespace is a new one";
  EXPECT_EQ(put(putting("", 0, "gone")), (PipelineRow{"gone", "", 0, WallTime{}}));
}

TEST_P(PipelineConformance, PipelinesAndRecordsOutliveTheProcess) {
  put(putting("s"));
  put(putting("s", 0, "gone"));
  put(putting("", 1, "gone"));
  const std::vector<PipelineRow> before = pipelines();
  const JobId id = added(new_job());
  const ChangeItemsRequest request = changing({moving(id, "two", JobState::waiting)});
  EXPECT_TRUE(changed(request).empty());
  const Item kept = item(id);
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(pipelines(), before);
  EXPECT_EQ(put(putting("s", 0, "gone")).revision, 3);
  EXPECT_EQ(item(id), kept);
  EXPECT_TRUE(changed(request).empty()) << "a repeat";
  EXPECT_EQ(item(id), kept);
}

TEST_P(PipelineConformance, MalformedRequestsAboutPipelinesAreInvalid) {
  const PutPipelineRequest good = putting("s");
  std::vector<PutPipelineRequest> bad(7, good);
  bad[0].ns = "a b";
  bad[1].name = "";
  bad[2].name = "a b";
  bad[3].spec = std::string(kPipelineBytesMax + 1, 'x');
  bad[4].spec = "\xff";
  bad[5].revision = -1;
  bad[6].act.actor = "";
  for (const PutPipelineRequest& request : bad) EXPECT_EQ(code_of(store().put_pipeline(request)), Code::invalid);
  EXPECT_EQ(code_of(store().pipelines("a b")), Code::invalid);
  EXPECT_TRUE(pipelines().empty());
  EXPECT_TRUE(trail().empty());
}

}  // namespace
}  // namespace fenceline::test
