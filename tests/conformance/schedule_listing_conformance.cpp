// What every store promises about the looks at schedules: by name, all of them, or what changed; and which of their
// jobs are unfinished.
#include <algorithm>

#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

SchedulesRequest asking_for(int limit = kSchedulesAtOnceMax) {
  SchedulesRequest request;
  request.ns = "default";
  request.limit = limit;
  return request;
}

Names names_of(const std::vector<ScheduleRow>& rows) {
  Names names;
  for (const ScheduleRow& row : rows) names.push_back(row.name + (row.removed ? " removed" : ""));
  return names;
}

TEST_P(ScheduleConformance, AllSchedulesComePageByPageInTheOrderOfTheirNames) {
  for (const char* name : {"b", "a.b", "B", "a", "c", "a-b", "a_b"}) added_schedule(name);
  changed(schedule("c"), ScheduleChange::remove);
  const Names sorted{"B", "a", "a-b", "a.b", "a_b", "b"};
  for (int limit = 1; limit <= 7; ++limit) {
    Names paged;
    SchedulesRequest request = asking_for(limit);
    for (;;) {
      const SchedulesReply reply = must(store().schedules(request));
      EXPECT_LE(reply.schedules.size(), static_cast<std::size_t>(limit));
      for (const std::string& name : names_of(reply.schedules)) paged.push_back(name);
      EXPECT_EQ(reply.more, paged.size() < sorted.size());
      EXPECT_EQ(reply.version, 8);
      if (!reply.more) break;
      request.after = paged.back();
    }
    EXPECT_EQ(paged, sorted);
  }
}

TEST_P(ScheduleConformance, NamedSchedulesComeByNameAndWithoutThoseThatAreNotThere) {
  for (const char* name : {"c", "a", "b"}) added_schedule(name);
  changed(schedule("a"), ScheduleChange::remove);
  SchedulesRequest request = asking_for(1);
  request.names = {"never", "c", "a", "b"};
  const SchedulesReply reply = must(store().schedules(request));
  EXPECT_EQ(names_of(reply.schedules), (Names{"b", "c"})) << "the limit is not for them";
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(reply.version, 4);
  EXPECT_EQ(reply.now, wall());
}

TEST_P(ScheduleConformance, WhatChangedComesByVersionAndSaysWhatWasRemoved) {
  const ScheduleRow a = added_schedule("a");
  const ScheduleRow b = added_schedule("b");
  added_schedule("c");
  changed(a, ScheduleChange::pause);
  changed(b, ScheduleChange::remove);
  const auto after = [&](std::int64_t version) {
    SchedulesRequest request = asking_for();
    request.changed_after = version;
    return names_of(must(store().schedules(request)).schedules);
  };
  EXPECT_EQ(after(0), (Names{"c", "a", "b removed"}));
  EXPECT_EQ(after(3), (Names{"a", "b removed"}));
  EXPECT_EQ(after(4), Names{"b removed"});
  EXPECT_EQ(after(5), Names{});
  EXPECT_EQ(after(1000), Names{});
  SchedulesRequest page = asking_for(2);
  page.changed_after = 0;
  SchedulesReply reply = must(store().schedules(page));
  EXPECT_EQ(names_of(reply.schedules), (Names{"c", "a"}));
  EXPECT_TRUE(reply.more);
  EXPECT_EQ(reply.version, 5);
  page.changed_after = reply.schedules.back().version;
  reply = must(store().schedules(page));
  EXPECT_EQ(names_of(reply.schedules), Names{"b removed"});
  EXPECT_FALSE(reply.more);
  added_schedule("b");
  EXPECT_EQ(after(5), Names{"b"});
}

TEST_P(ScheduleConformance, NeitherAStepNorARunIsAChange) {
  const ScheduleRow row = added_schedule();
  set_minute(1);
  moved(step(row, 1, {1}));
  changed(running(row));
  SchedulesRequest request = asking_for();
  request.changed_after = row.version;
  const SchedulesReply reply = must(store().schedules(request));
  EXPECT_TRUE(reply.schedules.empty());
  EXPECT_EQ(reply.version, row.version);
}

TEST_P(ScheduleConformance, ANamespaceWithoutSchedulesSaysItsClock) {
  const SchedulesReply reply = must(store().schedules(asking_for()));
  EXPECT_TRUE(reply.schedules.empty());
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(reply.version, 0);
  EXPECT_EQ(reply.now, wall());
}

TEST_P(ScheduleConformance, UnfinishedJobsOfTicksAreShownIfAskedFor) {
  ScheduleRow row = added_schedule();
  set_minute(5);
  const TickStep fires = step(row, 5, {1, 2, 3, 4}, {skipping(5, 5)});
  row = moved(fires);
  const auto job = [&](std::size_t i) { return fires.fired[i].job.id; };
  EXPECT_EQ(ended(claimed_as_next(job(0))), "");
  const ClaimedJob running_one = claimed_as_next(job(1));
  EXPECT_EQ(cancelled(job(2)), "");
  changed(running(row));
  EXPECT_TRUE(schedule().unfinished.empty());
  const std::vector<UnfinishedRun> unfinished{{minute(2), job(1), JobState::running},
                                              {minute(4), job(3), JobState::ready}};
  EXPECT_EQ(schedule("s", true).unfinished, unfinished);
  SchedulesRequest all = asking_for();
  all.unfinished = true;
  EXPECT_EQ(must(store().schedules(all)).schedules.at(0).unfinished, unfinished);
  all.changed_after = 0;
  EXPECT_EQ(must(store().schedules(all)).schedules.at(0).unfinished, unfinished);
  EXPECT_EQ(ended(running_one), "");
  EXPECT_EQ(schedule("s", true).unfinished, (std::vector<UnfinishedRun>{unfinished[1]}));
  EXPECT_EQ(retried(job(2)), "");
  EXPECT_EQ(schedule("s", true).unfinished.size(), 2u) << "a cancelled one that is retried is unfinished again";
}

TEST_P(ScheduleConformance, OnlyTheLastTicksAreLookedAtForUnfinishedJobs) {
  ScheduleRow row = added_schedule();
  set_minute(20);
  std::vector<std::int64_t> minutes;
  for (std::int64_t i = 1; i <= kOverlapLooked + 2; ++i) minutes.push_back(i);
  const TickStep fires = step(row, 20, minutes, {skipping(13, 20)});
  moved(fires);
  const auto unfinished = schedule("s", true).unfinished;
  ASSERT_EQ(unfinished.size(), static_cast<std::size_t>(kOverlapLooked));
  EXPECT_EQ(unfinished.front(), (UnfinishedRun{minute(3), fires.fired[2].job.id, JobState::ready}));
  EXPECT_EQ(cancelled(fires.fired[11].job.id), "");
  EXPECT_EQ(schedule("s", true).unfinished.front().tick, minute(3)) << "a finished one is looked at as well";
  EXPECT_EQ(schedule("s", true).unfinished.size(), static_cast<std::size_t>(kOverlapLooked) - 1);
}

TEST_P(ScheduleConformance, S3_TicksAheadOfAClockThatWentBackHideNoUnfinishedJob) {
  ScheduleRow row = added_schedule();
  set_minute(3);
  row = moved(step(row, 3, {1, 2, 3}));
  set_minute(100);
  std::vector<std::int64_t> minutes;
  for (std::int64_t i = 101 - kOverlapLooked; i <= 100; ++i) minutes.push_back(i);
  moved(step(row, 100, minutes, {skipping(4, 4)}));
  const auto unfinished = [&](SchedulesRequest request) {
    std::vector<std::int64_t> found;
    request.unfinished = true;
    const SchedulesReply reply = must(store().schedules(request));
    for (const UnfinishedRun& run : reply.schedules.at(0).unfinished) found.push_back(minute_of(run.tick));
    return found;
  };
  SchedulesRequest changed = asking_for();
  changed.changed_after = 0;
  SchedulesRequest named = asking_for();
  named.names = {"s"};
  for (const SchedulesRequest& request : {asking_for(), changed, named}) {
    set_minute(100);
    EXPECT_EQ(unfinished(request), minutes);
    set_minute(3);
    EXPECT_EQ(unfinished(request), (std::vector<std::int64_t>{1, 2, 3}));
    set_wall(minute(3) - kMoment);
    EXPECT_EQ(unfinished(request), (std::vector<std::int64_t>{1, 2}))
        << "nor is one looked at whose instant is to come";
    set_minute(92);
    EXPECT_EQ(unfinished(request), (std::vector<std::int64_t>{1, 2, 3, 91, 92}));
  }
}

TEST_P(ScheduleConformance, AMalformedLookIsInvalid) {
  const auto is_invalid = [&](const SchedulesRequest& request) {
    return code_of(store().schedules(request)) == Code::invalid;
  };
  SchedulesRequest bad = asking_for();
  bad.ns = "";
  EXPECT_TRUE(is_invalid(bad));
  EXPECT_TRUE(is_invalid(asking_for(0)));
  EXPECT_TRUE(is_invalid(asking_for(kSchedulesAtOnceMax + 1)));
  bad = asking_for();
  bad.names = {"a", "a"};
  EXPECT_TRUE(is_invalid(bad));
  bad.names = {"a b"};
  EXPECT_TRUE(is_invalid(bad));
  bad.names = {"a"};
  bad.changed_after = 0;
  EXPECT_TRUE(is_invalid(bad));
  bad = asking_for();
  bad.changed_after = -1;
  EXPECT_TRUE(is_invalid(bad));
  bad.changed_after = 0;
  bad.after = "a";
  EXPECT_TRUE(is_invalid(bad));
  bad = asking_for();
  bad.names.clear();
  for (int i = 0; i <= kSchedulesAtOnceMax; ++i) bad.names.push_back("n" + std::to_string(i));
  EXPECT_TRUE(is_invalid(bad));
  bad.names.pop_back();
  EXPECT_TRUE(must(store().schedules(bad)).schedules.empty());
}

}  // namespace
}  // namespace fenceline::test
