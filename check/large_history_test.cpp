// Among very many events the one that matters is found, soon.
#include <gtest/gtest.h>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

// Workers take jobs one after the other, renew and settle them; ten events a job. `planted`: that job is granted to a
// second one while the first one holds it.
Verdict play(std::int64_t jobs, std::int64_t planted) {
  Checker checker;
  std::uint32_t line = 0;
  std::int64_t calls = 0;
  const auto add = [&](Event event) {
    event.by = "w";
    // As a file would give it.
    checker.add(*history::parse_line(history::to_line(event)), {0, ++line});
  };
  const auto call = [&](std::int64_t from, std::int64_t to, Event request, Event reply) {
    request.n = reply.n = ++calls;
    request.at = from;
    request.ns = "n";
    reply.kind = Kind::ok;
    reply.at = to;
    add(std::move(request));
    add(std::move(reply));
  };
  add({.kind = Kind::recorder,
       .version = 1,
       .store = "test",
       .guarantee = "B",
       .clock = "c",
       .store_clock = "c",
       .whole = true});
  for (std::int64_t i = 0; i < jobs; ++i) {
    const std::string id = "00000000-0000-7000-8000-" + std::to_string(100'000'000'000 + i);
    const std::string owner = "owner-" + std::to_string(i % 16);
    const std::int64_t now = i * 1000;
    const std::int64_t fence = 1'000'000 + i;
    const auto claim = [&](const std::string& who, std::int64_t with, std::int64_t count, std::int64_t from) {
      call(from, from + 40,
           {.verb = Verb::claim,
            .owner = who,
            .request = "r" + std::to_string(with),
            .queues = {"q"},
            .limit = 1,
            .ttl = 30'000'000},
           {.jobs = {{.id = id,
                      .queue = "q",
                      .attempts = 10,
                      .fence = with,
                      .left = 30'000'000,
                      .deliveries = count,
                      .losses_in_row = count - 1,
                      .forced = count > 1}}});
    };
    call(now, now + 50, {.verb = Verb::enqueue, .jobs = {{.id = id, .queue = "q", .digest = "d", .attempts = 10}}},
         {.ids = {id}});
    claim(owner, fence, 1, now + 100);
    call(now + 9'000'000, now + 9'000'050,
         {.verb = Verb::extend, .owner = owner, .ttl = 30'000'000, .jobs = {{.id = id, .fence = fence}}},
         {.left = 30'000'000});
    if (i == planted) claim("thief", fence + 10'000'000, 2, now + 9'060'000);
    if (i == planted) continue;
    call(now + 9'100'000, now + 9'100'050,
         {.verb = Verb::settle, .owner = owner, .jobs = {{.id = id, .fence = fence, .outcome = "done"}}}, {});
    add({.kind = Kind::started, .at = now + 200, .owner = owner, .jobs = {{.id = id, .fence = fence}}});
    add({.kind = Kind::ended, .at = now + 9'050'000, .owner = owner, .jobs = {{.id = id, .fence = fence}}});
  }
  return checker.finish();
}

TEST(LargeHistory, OneOverlapAmongAHundredThousandEventsIsFound) {
  const Verdict lawful = play(1'000, -1);
  EXPECT_TRUE(lawful.holds()) << lawful.violations.front().sentence;
  EXPECT_EQ(lawful.events, 10'001);
  EXPECT_EQ(lawful.gave_up, 0);
  const Verdict verdict = play(10'001, 7'654);
  EXPECT_GE(verdict.events, 100'000);
  ASSERT_EQ(verdict.violations_in_all, 1);
  EXPECT_EQ(verdict.violations.front().promise, "L3");
  EXPECT_LE(verdict.violations.front().excerpt.size(), 6U);
}

TEST(LargeHistory, AJobOfVeryManyDeliveriesIsNoBurden) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  for (std::int64_t i = 1; i <= 3'000; ++i) {
    history.claim(i * 100, i * 100 + 1, "a", {.id = "j", .fence = i, .deliveries = i});
    history.settle(i * 100 + 2, i * 100 + 3, "a", "j", i, "later");
  }
  EXPECT_EQ(history.broken(), "");
  EXPECT_EQ(history.claim(400'000, 400'001, "b", {.id = "j", .fence = 2'999, .deliveries = 3'001}).broken(), "L2");
}

TEST(LargeHistory, GivesUpOnAJobWithTooManyPossibleOrdersAndSaysSo) {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  for (int i = 0; i < 14; ++i) {
    history.call(10, 11,
                 {.verb = i % 2 == 0 ? Verb::cancel : Verb::retry,
                  .owner = "op",
                  .request = "x" + std::to_string(i),
                  .jobs = {{.id = "j"}}},
                 {.kind = Kind::unknown});
  }
  history.act(20, 21, Verb::cancel, "j", "last").act(22, 23, Verb::retry, "j", "last again");
  const Verdict verdict = history.verdict({.effort = {.states_most = 50}});
  EXPECT_EQ(verdict.gave_up, 1);
  EXPECT_TRUE(verdict.holds());
}

}  // namespace
}  // namespace fenceline::audit
