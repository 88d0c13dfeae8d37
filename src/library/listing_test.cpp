#include "fenceline/listing.hpp"

#include <gtest/gtest.h>

#include "library/testing.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;
using ListingOnSqlite = test::ClientFixture;

TEST_F(ListingOnSqlite, PagesShowEveryJobOnceInTheOrderOfTheirEnqueue) {
  const std::vector<JobId> ids = must(client->enqueue_many("q", {"1", "2", "3", "4", "5"}));
  must(client->enqueue("other", "6"));
  std::vector<JobId> seen;
  JobFilter filter{.queue = "q", .limit = 2};
  for (bool more = true; more;) {
    const JobPage page = must(client->jobs(filter));
    EXPECT_LE(page.jobs.size(), 2U);
    for (const Job& job : page.jobs) seen.push_back(job.id);
    more = page.next.has_value();
    filter.after = page.next.value_or(0);
  }
  EXPECT_EQ(seen, ids);
}

TEST_F(ListingOnSqlite, AFilterLooksAtStateAndTagAndPayloadsComeIfAskedFor) {
  const JobId tagged = must(client->enqueue("q", "1", {.tags = {"blue"}}));
  const JobId cancelled = must(client->enqueue("q", "2"));
  must(client->cancel(cancelled));
  EXPECT_EQ(must(client->jobs({.tag = "blue"})).jobs.at(0).id, tagged);
  EXPECT_EQ(must(client->jobs({.state = JobState::cancelled})).jobs.at(0).id, cancelled);
  EXPECT_EQ(must(client->jobs()).jobs.at(0).payload, "");
  EXPECT_EQ(must(client->jobs({.with_payload = true})).jobs.at(0).payload, "1");
  EXPECT_EQ(code_of(client->jobs({.limit = 0})), Code::invalid);
  EXPECT_EQ(code_of(client->jobs({.limit = kJobsPageMax + 1})), Code::invalid);
}

TEST_F(ListingOnSqlite, QueuesHaveTheirDepths) {
  EXPECT_TRUE(must(client->queues()).empty());
  must(client->enqueue_many("b", {"1", "2"}));
  must(client->enqueue("a", "3", {.delay = 1h}));
  const std::vector<QueueRow> queues = must(client->queues());
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0].queue, "a");
  EXPECT_EQ(queues[0].ahead, 1);
  EXPECT_EQ(queues[1].depth_of(JobState::ready), 2);
}

TEST_F(ListingOnSqlite, JobsThatAreEnqueuedTogetherHaveOptionsOfTheirOwnAllOrNone) {
  const std::vector<NewJobSpec> specs{{.payload = "1", .options = {.priority = 7}},
                                      {.payload = "2", .options = {.delay = 1h, .key = "k"}}};
  const std::vector<JobId> ids = must(client->enqueue_many("q", specs));
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(must(client->job(ids[0]))->priority, 7);
  EXPECT_EQ(must(client->job(ids[1]))->key, "k");
  const std::vector<NewJobSpec> bad{{.payload = "3"}, {.payload = "4", .options = {.key = "k"}}};
  EXPECT_EQ(code_of(client->enqueue_many("q", bad)), Code::conflict);
  EXPECT_EQ(must(client->jobs({.queue = "q"})).jobs.size(), 2U);
}

}  // namespace
}  // namespace fenceline
