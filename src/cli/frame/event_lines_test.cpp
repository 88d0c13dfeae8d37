#include "cli/frame/event_lines.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/frame/columns.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

const std::string kJob = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10";
constexpr WallTime kAt{1'700'000'000s};  // 22:13:20 in UTC

class EventLines : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  static std::string shown(const LogEvent& event, int width = 80, bool colour = false) {
    const std::optional<EventLine> line = line_of(event);
    if (!line) return "no line";
    return line->hidden ? "hidden" : render_line(*line, kAt, width, colour);
  }
  static LogEvent settled(const std::string& outcome, std::vector<LogField> more) {
    std::vector<LogField> fields{{"job", kJob}, {"owner", "w"}, {"fence", 7}, {"outcome", outcome}, {"queue", "mail"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return {Level::info, "job_settled", std::move(fields)};
  }
};

TEST_F(EventLines, AJobThatIsDoneIsOneLine) {
  EXPECT_EQ(shown(settled("done", {{"attempt", 1}, {"duration_us", 25'300}, {"exit_status", 0}})),
            "22:13:20 mail 0c6f9d10 done after 25ms");
}

TEST_F(EventLines, AWorkerNamesItsStage) {
  LogEvent event{Level::info, "worker_started", {{"queues", "docs"}, {"concurrency", 2}, {"store", "sqlite:f.db"}}};
  EXPECT_EQ(shown(event), "22:13:20 worker started: docs; 2 at a time; sqlite:f.db");
  event.fields.emplace_back("stage", "publish");
  EXPECT_EQ(shown(event), "22:13:20 worker started: docs, stage publish; 2 at a time; sqlite:f.db");
}

TEST_F(EventLines, AnItemThatGoesOnIsNotCalledDone) {
  EXPECT_EQ(shown(settled("done", {{"duration_us", 25'300}, {"moved_to", "review"}})),
            "22:13:20 mail 0c6f9d10 moved to review after 25ms");
  EXPECT_EQ(shown(settled("done", {{"duration_us", 25'300}, {"moved_to", "publish"}, {"waits_for", "approval"}})),
            "22:13:20 mail 0c6f9d10 moved to publish after 25ms; waits for approval");
}

TEST_F(EventLines, OfEntryConditionsPeopleSeeWhereAnItemWentAndTrouble) {
  const LogField entry{"entry_of", "publish"};
  EXPECT_EQ(shown({Level::info, "worker_started", {{"queues", "docs"}, entry}}), "hidden");
  EXPECT_EQ(shown(settled("later", {{"duration_us", 100}, entry})), "hidden");
  EXPECT_EQ(shown(settled("done", {{"duration_us", 25'300}, {"moved_to", "publish"}, entry})),
            "22:13:20 mail 0c6f9d10 moved to publish after 25ms");
  EXPECT_NE(shown({Level::warn, "lease_lost", {{"job", kJob}, {"queue", "mail"}, entry}}), "hidden");
}

TEST_F(EventLines, AFailureSaysWhyHowLongAndWhatComesNext) {
  const LogEvent event = settled("failed", {{"attempt", 1},
                                            {"duration_us", 25'300},
                                            {"exit_status", 3},
                                            {"error", "exit status 3: no route\nto host"},
                                            {"attempts_max", 10},
                                            {"attempts_left", 9},
                                            {"retry_in_us", 400'000}});
  EXPECT_EQ(shown(event), "22:13:20 mail 0c6f9d10 failed: exit 3 after 25ms; retry 2 of 10 in 400ms");
  EXPECT_EQ(shown(event, 80, true),
            "\x1b[2m22:13:20\x1b[0m mail 0c6f9d10 \x1b[33mfailed\x1b[0m: exit 3 after 25ms; retry 2 of 10 in 400ms");
}

TEST_F(EventLines, ALongErrorIsShortenedBeforeWhatComesNext) {
  const std::string line = shown(settled("failed", {{"attempt", 9},
                                                    {"duration_us", 1'500'000},
                                                    {"error", "handler threw: the mail server does not answer"},
                                                    {"attempts_max", 10},
                                                    {"attempts_left", 1},
                                                    {"retry_in_us", 5'400'000'000}}));
  EXPECT_EQ(line, "22:13:20 mail 0c6f9d10 failed: handler thr.. after 1.5s; retry 10 of 10 in 1h30m");
  EXPECT_EQ(columns_of(line), 80);
}

TEST_F(EventLines, ADeadJobIsOneLineToo) {
  const std::vector<LogField> last{{"attempt", 10},      {"duration_us", 25'300},
                                   {"exit_status", 137}, {"error", "killed by signal 9"},
                                   {"attempts_max", 10}, {"attempts_left", 0}};
  EXPECT_EQ(shown(settled("failed", last)), "hidden") << "job_dead says it";
  EXPECT_EQ(shown(settled("dead", {})), "hidden");
  LogEvent dead{Level::warn, "job_dead", {{"job", kJob}, {"queue", "mail"}}};
  dead.fields.insert(dead.fields.end(), last.begin(), last.end());
  LogEvent at_once = dead;
  dead.fields.emplace_back("why", "no_attempts_left");
  at_once.fields.emplace_back("why", "by_its_handler");
  EXPECT_EQ(shown(dead), "22:13:20 mail 0c6f9d10 dead: signal 9 after 25ms; all 10 attempts failed");
  EXPECT_EQ(shown(at_once), "22:13:20 mail 0c6f9d10 dead: signal 9 after 25ms; not to be retried");
}

TEST_F(EventLines, JobsThatDiedOfLossesAreCounted) {
  EXPECT_EQ(shown({Level::warn, "jobs_buried", {{"owner", "w"}, {"jobs", 2}, {"why", "lost_too_often"}}}),
            "22:13:20 2 jobs dead: five deliveries in a row were lost");
}

TEST_F(EventLines, ARetryThatIsNotAFailureSaysSo) {
  EXPECT_EQ(shown(settled("later", {{"duration_us", 25'300}, {"exit_status", 75}, {"retry_in_us", 1'000'000}})),
            "22:13:20 mail 0c6f9d10 postponed after 25ms; runs again in 1s, not counted as ..");
  EXPECT_EQ(shown(settled("given_back", {})), "22:13:20 mail 0c6f9d10 given back; another worker runs it");
}

TEST_F(EventLines, LossesAndRefusalsNameTheJob) {
  EXPECT_EQ(shown({Level::warn, "lease_lost", {{"job", kJob}, {"queue", "mail"}, {"why", "trust_ended"}}}),
            "22:13:20 mail 0c6f9d10 lease lost: not renewed in time");
  EXPECT_EQ(shown({Level::warn, "lease_lost", {{"job", kJob}, {"queue", "mail"}, {"why", "revoked"}}}),
            "22:13:20 mail 0c6f9d10 stopped: an operator cancelled or retried it");
  EXPECT_EQ(shown({Level::warn, "stale_write_refused", {{"job", kJob}, {"verb", "settle"}, {"reason", "superseded"}}}),
            "22:13:20 job 0c6f9d10 late write refused (settle): another worker has the job");
  EXPECT_EQ(
      shown({Level::info, "lease_acquired", {{"job", kJob}, {"queue", "mail"}, {"forced", true}, {"delivery", 2}}}),
      "22:13:20 mail 0c6f9d10 taken over: the lease of its last worker expired; deliv..");
  EXPECT_EQ(shown({Level::info, "lease_acquired", {{"job", kJob}, {"queue", "mail"}, {"forced", false}}}), "hidden");
}

TEST_F(EventLines, LocksElectionsAndTheSchedulerSayWhoTookWhat) {
  EXPECT_EQ(shown({Level::info, "lock_acquired", {{"lock", "deploy"}, {"place", "host:17"}, {"fence", 9}}}),
            "22:13:20 lock deploy taken by host:17; fence 9");
  EXPECT_EQ(
      shown(
          {Level::warn, "lock_lost", {{"lock", "deploy"}, {"place", "host:17"}, {"fence", 9}, {"why", "trust_ended"}}}),
      "22:13:20 lock deploy lost by host:17: not renewed in time; fence 9");
  EXPECT_EQ(shown({Level::info, "term_began", {{"name", "leader"}, {"place", "host:17"}, {"term", 9}}}),
            "22:13:20 election leader won by host:17; term 9");
  EXPECT_EQ(shown({Level::info, "scheduler_leads", {{"place", "host:17"}}}),
            "22:13:20 scheduler lead taken by host:17");
  EXPECT_EQ(shown({Level::info, "something_else", {}}), "no line");
}

TEST_F(EventLines, ItemsOfATrackerAreOneLineEach) {
  EXPECT_EQ(shown({Level::info, "tracker_claimed", {{"item", "42"}, {"stage", "build"}}}),
            "22:13:20 item 42 claimed at stage build");
  EXPECT_EQ(shown({Level::info,
                   "tracker_settled",
                   {{"item", "42"}, {"stage", "build"}, {"outcome", "done"}, {"to", "review"}}}),
            "22:13:20 item 42 done at stage build; now at review");
}

TEST_F(EventLines, ForeignTextCannotSteerTheTerminal) {
  const std::string line = shown(settled("failed", {{"error", "\x1b[2J\x07 boom"}, {"attempts_left", 1}}));
  for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << line;
}

TEST_F(EventLines, DurationsAreAsLongAsPeopleNeedThem) {
  EXPECT_EQ(about(0s), "0ms");
  EXPECT_EQ(about(400ms), "400ms");
  EXPECT_EQ(about(1s), "1s");
  EXPECT_EQ(about(1540ms), "1.5s");
  EXPECT_EQ(about(59s), "59s");
  EXPECT_EQ(about(130s), "2m10s");
  EXPECT_EQ(about(90min), "1h30m");
  EXPECT_EQ(about(52h), "2d4h");
}

}  // namespace
}  // namespace fenceline::cli
