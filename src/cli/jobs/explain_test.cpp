#include "cli/jobs/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{1'794'740'400s};  // 2026-11-15T11:00:00Z

JobId numbered(std::uint8_t number) {
  JobId id;
  id.bytes.back() = number;
  return id;
}

JobFacts ready() {
  JobFacts facts;
  facts.job.id = numbered(1);
  facts.job.queue = "mail";
  facts.workers = 2;
  return facts;
}

JobFacts in_state(JobState state) {
  JobFacts facts = ready();
  facts.job.state = state;
  facts.job.owner = "w-1";
  facts.job.fence = 1700;
  facts.job.deliveries = 3;
  facts.job.finished_at = is_finished(state) ? std::optional(kNow) : std::nullopt;
  return facts;
}

// The only reason of its name; an empty one if there is none.
std::string said(const JobFacts& facts, std::string_view name) {
  const std::vector<Reason> reasons = explain(facts, kNow);
  EXPECT_FALSE(reasons.empty());
  EXPECT_LE(std::ranges::count(reasons, name, &Reason::name), 1);
  const auto found = std::ranges::find(reasons, name, &Reason::name);
  return found == reasons.end() ? "" : found->sentence;
}

TEST(Explain, AFreeJobIsTakenByTheNextWorker) {
  EXPECT_EQ(explain(ready(), kNow),
            (std::vector<Reason>{
                {"claimable", "it is ready and waits for one of 2 workers; jobs with a higher priority go first"}}));
}

TEST(Explain, NamesWhoPausedTheQueueAndWhy) {
  JobFacts facts = ready();
  facts.paused = QueuePause{kNow - 1h, "ana", "mail server moves"};
  EXPECT_EQ(said(facts, "paused"),
            "queue mail is paused by ana since 2026-11-15T10:00:00.000000Z (mail server moves); resume it with: "
            "fenceline queue resume mail");
}

TEST(Explain, TellsWhenItsTimeComesAndWhatItWaitsFor) {
  JobFacts facts = ready();
  facts.due_in = 90s;
  facts.job.run_at = kNow + 90s;
  EXPECT_EQ(said(facts, "not_yet"), "it is scheduled to run in 90s, at 2026-11-15T11:01:30.000000Z");
  facts.job.last_outcome = OutcomeKind::failed;
  facts.job.failures = 2;
  EXPECT_EQ(said(facts, "not_yet"), "it failed 2 times and will be retried in 90s, at 2026-11-15T11:01:30.000000Z");
}

TEST(Explain, NamesTheJobThatIsAheadInItsGroup) {
  JobFacts facts = ready();
  facts.job.group = "customer 7";
  facts.group_head = numbered(9);
  EXPECT_EQ(said(facts, "group"),
            "it is behind job 00000000-0000-0000-0000-000000000009 of its group 'customer 7'; see: fenceline job "
            "explain 00000000-0000-0000-0000-000000000009");
  facts.group_head_revoked = true;
  EXPECT_NE(said(facts, "group").find("still taken by job 00000000-0000-0000-0000-000000000009"), std::string::npos)
      << said(facts, "group");
}

TEST(Explain, NamesTheJobsThatFillALimit) {
  JobFacts facts = ready();
  facts.limit = 2;
  facts.limit_holders = {numbered(2), numbered(3)};
  facts.limit_per_key = 1;
  facts.job.limit_key = "smtp";
  facts.limit_key_holders = {numbered(3)};
  EXPECT_EQ(said(facts, "limit"),
            "queue mail runs at most 2 jobs at a time, and these are running: 00000000-0000-0000-0000-000000000002, "
            "00000000-0000-0000-0000-000000000003");
  EXPECT_EQ(
      said(facts, "limit_key"),
      "for limit key 'smtp' at most 1 may run at a time, and these are running: 00000000-0000-0000-0000-000000000003");
}

TEST(Explain, TellsOfARevokedDeliveryOfAJobThatRunsAloneAndOfNoWorkers) {
  JobFacts facts = ready();
  facts.slot_left = 12s;
  facts.must_run_alone = true;
  facts.job.losses_in_row = 2;
  facts.job.stage = "send";
  facts.workers = 0;
  EXPECT_NE(said(facts, "slot").find("at most 12s more"), std::string::npos) << said(facts, "slot");
  EXPECT_EQ(said(facts, "alone"),
            "its worker was lost 2 times in a row, so only a worker with no other job may take it");
  EXPECT_EQ(said(facts, "no_worker"),
            "no worker serves queue mail at stage send now; start one: fenceline work mail --stage send -- CMD");
  EXPECT_EQ(said(facts, "claimable"), "");
}

TEST(Explain, NamesTheLeaseWithItsOwnerItsFenceAndItsEnd) {
  JobFacts facts = in_state(JobState::running);
  facts.job.lease_left = 20s;
  EXPECT_EQ(said(facts, "leased"),
            "it is leased by w-1 under fence 1700 until 2026-11-15T11:00:20.000000Z, 20s from now (delivery 3)");
  facts.job.lease_left = -5s;
  facts.workers = 0;
  EXPECT_EQ(said(facts, "lease_expired"),
            "the lease of w-1 under fence 1700 expired 5s ago, and no worker has taken the job over yet");
  EXPECT_NE(said(facts, "no_worker"), "");
}

TEST(Explain, TellsWhyAJobIsDead) {
  JobFacts facts = in_state(JobState::dead);
  facts.job.attempts_max = 3;
  facts.job.failures = 3;
  facts.job.last_outcome = OutcomeKind::failed;
  facts.job.error = "exit status 3:\nno route";
  EXPECT_EQ(said(facts, "attempts_used_up"),
            "it is dead since 2026-11-15T11:00:00.000000Z: all 3 attempts are used up; the last error: exit status 3: "
            "no route");
  facts.job.last_outcome = OutcomeKind::dead;
  EXPECT_NE(said(facts, "dead_at_once"), "");
  facts.job.losses_in_row = 5;
  EXPECT_NE(said(facts, "lost_too_often").find("lost 5 times in a row"), std::string::npos);
}

TEST(Explain, NamesWhoHoldsTheKeyOfAFinishedJob) {
  JobFacts facts = in_state(JobState::dead);
  facts.job.key = "invoice 7";
  facts.key_holder = numbered(8);
  EXPECT_NE(said(facts, "key_taken").find("'invoice 7' is taken by job 00000000-0000-0000-0000-000000000008"),
            std::string::npos);
  facts.key_holder = facts.job.id;
  EXPECT_NE(said(facts, "key_taken").find("still has"), std::string::npos);
}

TEST(Explain, EveryStateHasAReason) {
  for (const JobState state :
       {JobState::ready, JobState::running, JobState::waiting, JobState::done, JobState::dead, JobState::cancelled})
    EXPECT_FALSE(explain(in_state(state), kNow).empty()) << to_string(state);
  EXPECT_NE(said(in_state(JobState::cancelled), "cancelled").find("fenceline job retry"), std::string::npos);
  EXPECT_NE(said(in_state(JobState::waiting), "waiting"), "");
  EXPECT_NE(said(in_state(JobState::done), "done"), "");
}

TEST(Explain, NamesEachEffectInDoubtAndTheCommandThatResolvesIt) {
  JobFacts facts = in_state(JobState::waiting);
  facts.effects_in_doubt = {"mail", "pay"};
  const std::vector<Reason> reasons = explain(facts, kNow);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[1].name, "effect_in_doubt");
  EXPECT_NE(reasons[0].sentence.find("its effect mail"), std::string::npos);
  EXPECT_NE(reasons[1].sentence.find("fenceline effects resolve " + to_string(facts.job.id) + " pay --done"),
            std::string::npos);
  EXPECT_NE(reasons[1].sentence.find(" pay --none"), std::string::npos);
  facts.slot_left = 12s;
  EXPECT_NE(said(facts, "slot").find("until the worker reports that it stopped, at most 12s more"), std::string::npos)
      << "why nobody may say yet";
}

TEST(Explain, NamesWhoCancelledAJobIfThatIsKnown) {
  EXPECT_EQ(explain(in_state(JobState::cancelled), kNow, {.ended = Act{"ana", "wrong address"}, .quieted = {}})
                .at(0)
                .sentence,
            "it was cancelled by ana (wrong address) at 2026-11-15T11:00:00.000000Z; to run it anyway: fenceline job "
            "retry 00000000-0000-0000-0000-000000000001");
}

TEST(Explain, NamesQuietWorkersInsteadOfAskingForAnother) {
  JobFacts facts = ready();
  facts.quiet_workers = {"w-1", "w-2"};
  EXPECT_EQ(said(facts, "quiet_workers"), "") << "others take it";
  facts.workers = 0;
  EXPECT_EQ(said(facts, "no_worker"), "");
  EXPECT_EQ(
      explain(facts, kNow, {.ended = {}, .quieted = {{"w-2", {"ana", "upgrade"}}}}).at(0),
      (Reason{"quiet_workers",
              "all workers that serve queue mail are quiet: w-1, w-2 by ana (upgrade); resume them with: fenceline "
              "workers resume w-1 w-2"}));
}

TEST(Explain, AtATerminalEachPartOfAReasonHasItsLineAndACommandStaysWhole) {
  const std::string id = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10";
  EXPECT_EQ(reason_lines("it waits for approval of publish by ana (0 of 1), until 2026-11-18T15:13:50Z, then reject; "
                         "approve it with: fenceline stage approve " +
                             id + "; reject it with: fenceline stage reject " + id + " --reason TEXT",
                         80),
            "- it waits for approval of publish by ana (0 of 1), until 2026-11-18T15:13:50Z,\n"
            "  then reject\n"
            "  approve it with: fenceline stage approve " +
                id +
                "\n"
                "  reject it with:\n"
                "  fenceline stage reject " +
                id + " --reason TEXT\n");
  EXPECT_EQ(reason_lines("it is done", 80), "- it is done\n");
}

TEST(Explain, UserTextCannotBreakALine) {
  JobFacts facts = ready();
  facts.paused = QueuePause{kNow, "ana\x1b[31m", "a\nb"};
  for (const Reason& reason : explain(facts, kNow))
    EXPECT_EQ(reason.sentence.find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::cli
