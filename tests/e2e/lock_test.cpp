// Locks as a user meets them: a command under a lock, its fence, its signals and its end.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

bool exists(const Workplace& place, const std::string& name) { return std::filesystem::exists(place.file(name)); }
// With a whole line in it: a shell makes the file before it writes.
bool becomes_true(const Workplace& place, const std::string& name) {
  return eventually([&] { return Workplace::read(place.file(name)).ends_with('\n'); });
}
bool is_alive(const std::string& pid) {
  const std::string status = Workplace::read("/proc/" + trimmed(pid) + "/stat");
  const std::size_t end = status.rfind(')');
  return end != std::string::npos && status[end + 2] != 'Z' && status[end + 2] != 'X';
}
Json lock_shown(const Workplace& place, const std::string& resource) {
  return answer(place, {"locks", "show", resource});
}

TEST(Lock, RunsItsCommandWithTheFenceAndPassesItsStatusOn) {
  const Workplace place;
  const auto status = [&](const Words& command) {
    return place.fenceline(joined({"lock", "deploy", "--"}, command)).status;
  };
  EXPECT_EQ(status({"true"}), 0);
  EXPECT_EQ(status({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(status({"sh", "-c", "kill -9 $$"}), 137);
  EXPECT_EQ(status({"no-such-command"}), 127);
  EXPECT_EQ(status({"/"}), 126);
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--", "cat"}, {.input = "through\n"}).out, "through\n");
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--", "printf", "%s|", "a b", "$(id)", ""}).out, "a b|$(id)||")
      << "it went through a shell";
  const Ended told = place.fenceline(
      {"lock", "deploy", "--namespace", "shop", "--", "sh", "-c",
       "echo $FENCELINE_LOCK $FENCELINE_FENCE $FENCELINE_NAMESPACE; echo $FENCELINE_LOCKS; echo $FENCELINE_STORE"});
  ASSERT_EQ(told.status, 0) << told.err;
  const Json row = answer(place, {"locks", "show", "deploy", "--namespace", "shop"});
  const std::string fence = row["fence"].dump();
  EXPECT_EQ(told.out, "deploy " + fence + " shop\n{\"deploy\":" + fence + "}\n" + place.store_url() + "\n");
  EXPECT_EQ(row["state"], "free");
  EXPECT_EQ(row["pattern"], "item");
}

TEST(Lock, IsHeldWhileItsCommandRunsAndFreeAfterIt) {
  const Workplace place;
  const auto run = place.start({"lock", "deploy", "--", "sh", "-c", "echo > begun; read line"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  const Ended none = place.fenceline({"lock", "deploy", "-n", "--", "touch", "second"});
  EXPECT_EQ(none.status, 75);
  EXPECT_TRUE(one_line(none.err) && has(none.err, "deploy")) << none.err;
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--nonblock", "-E", "3", "--", "touch", "second"}).status, 3);
  const Ended fine =
      place.fenceline({"lock", "deploy", "-w", "0.2", "--conflict-exit-code", "0", "--", "touch", "second"});
  EXPECT_EQ(fine.status, 0);
  EXPECT_EQ(fine.err, "") << "cron would mail it every minute";
  const Ended quiet = place.fenceline({"lock", "deploy", "-n", "-q", "--", "touch", "second"});
  EXPECT_EQ(quiet.status, 75);
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--wait", "100ms", "--", "touch", "second"}).status, 75);
  EXPECT_FALSE(exists(place, "second"));
  const Json row = lock_shown(place, "deploy");
  EXPECT_EQ(row["state"], "held");
  EXPECT_TRUE(has(row["holders"][0]["place"], ":" + std::to_string(run->pid()))) << row.dump();
  EXPECT_GT(row["holders"][0]["left_ms"], 1000);
  const auto waits = place.start({"lock", "deploy", "-w", "30", "--", "touch", "third"});
  EXPECT_TRUE(eventually([&] { return lock_shown(place, "deploy")["waiters_count"] == 1; }));
  run->feed("go\n");
  EXPECT_EQ(run->wait().status, 0);
  EXPECT_EQ(waits->wait().status, 0);
  EXPECT_TRUE(exists(place, "third"));
  EXPECT_EQ(lock_shown(place, "deploy")["state"], "free");
}

TEST(Lock, SignalsGoToTheCommand) {
  const Workplace place;
  for (const auto& [signal, name] : std::map<int, std::string>{{SIGTERM, "TERM"},
                                                               {SIGINT, "INT"},
                                                               {SIGHUP, "HUP"},
                                                               {SIGUSR1, "USR1"},
                                                               {SIGUSR2, "USR2"},
                                                               {SIGQUIT, "QUIT"}}) {
    const auto run = place.start(
        {"lock", "deploy", "--", "sh", "-c", "trap 'exit 9' " + name + "; echo > begun; while :; do sleep 0.02; done"});
    ASSERT_TRUE(becomes_true(place, "begun"));
    run->signal(signal);
    EXPECT_EQ(run->wait().status, 9) << name;
    std::filesystem::remove(place.file("begun"));
  }
  const auto run = place.start({"lock", "deploy", "--", "sh", "-c", "echo > begun; exec sleep 60"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  run->signal(SIGTERM);
  EXPECT_EQ(run->wait().status, 143);
  EXPECT_EQ(place.fenceline({"lock", "deploy", "-n", "--", "true"}).status, 0) << "it was not given back";
}

TEST(Lock, ASignalToItAloneReachesTheCommandOnceAndOneToTheGroupAtMostTwice) {
  const Workplace place;
  const std::string counts =
      "trap 'echo x >> told' TERM; echo > begun; while ! [ -e enough ]; do sleep 0.02; done; exit 6";
  for (const bool group : {false, true}) {
    const auto run = place.start({"lock", "deploy", "--", "sh", "-c", counts});
    ASSERT_TRUE(becomes_true(place, "begun"));
    ASSERT_EQ(::kill(group ? -run->pid() : run->pid(), SIGTERM), 0);
    EXPECT_TRUE(becomes_true(place, "told"));
    place.write("enough", "");
    EXPECT_EQ(run->wait().status, 6) << "the command decides how it ends";
    const std::size_t told = lines_of(Workplace::read(place.file("told"))).size();
    EXPECT_LE(told, group ? 2U : 1U);
    EXPECT_EQ(lock_shown(place, "deploy")["state"], "free");
    for (const char* name : {"begun", "told", "enough"}) std::filesystem::remove(place.file(name));
  }
}

TEST(Lock, ASignalWhileItWaitsEndsTheWait) {
  const Workplace place;
  const auto run = place.start({"lock", "deploy", "--", "sh", "-c", "echo > begun; read line"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  const auto waits = place.start({"lock", "deploy", "-w", "60", "--", "touch", "second"});
  ASSERT_TRUE(eventually([&] { return lock_shown(place, "deploy")["waiters_count"] == 1; }));
  waits->signal(SIGTERM);
  const Ended ended = waits->wait();
  EXPECT_EQ(ended.status, 143);
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_EQ(lock_shown(place, "deploy")["waiters_count"], 0);
  EXPECT_FALSE(exists(place, "second"));
}

// Stopped as by Ctrl-Z or a debugger: its guardian goes on.
TEST(Lock, L5_TheCommandOfAStoppedHolderIsGoneBeforeAnotherHasTheLock) {
  const Workplace place;
  const std::string works =
      "trap '' TERM; echo $$ > first; while :; do date +%s%N > beat.new; mv beat.new beat; sleep 0.01; done";
  const auto run = place.start({"lock", "deploy", "--ttl", "4s", "--", "sh", "-c", works});
  ASSERT_TRUE(becomes_true(place, "beat"));
  run->signal(SIGSTOP);
  const Ended next = place.fenceline({"lock", "deploy", "--wait", "40s", "--", "sh", "-c", "date +%s%N; cat beat"});
  EXPECT_EQ(next.status, 0) << next.err;
  const std::vector<std::string> times = lines_of(next.out);
  ASSERT_EQ(times.size(), 2U) << next.out;
  EXPECT_LT(times[1], times[0]) << "it worked on";
  EXPECT_FALSE(is_alive(Workplace::read(place.file("first"))));
  run->signal(SIGCONT);
  const Ended lost = run->wait();
  EXPECT_EQ(lost.status, 76);
  EXPECT_TRUE(has(lost.err, "lock deploy was lost")) << lost.err;
}

TEST(Lock, L5_AKilledHolderTakesItsCommandAndAllItStartedWithIt) {
  const Workplace place;
  const auto run = place.start({"lock", "deploy", "--ttl", "4s", "--", "sh", "-c",
                                "setsid sleep 60 & echo $! > grandchild; echo $$ > child; wait"});
  ASSERT_TRUE(becomes_true(place, "child"));
  run->signal(SIGKILL);
  EXPECT_EQ(run->wait().status, 137);
  for (const char* name : {"child", "grandchild"})
    EXPECT_TRUE(eventually([&] { return !is_alive(Workplace::read(place.file(name))); })) << name;
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--wait", "20s", "--", "true"}).status, 0);
}

// Not even a stopped guardian lets it.
TEST(Lock, L5_ACommandWhoseGuardianIsStoppedIsGoneSoonAfterTheLockIsLost) {
  const Workplace place;
  const auto run =
      place.start({"lock", "deploy", "--ttl", "4s", "--", "sh", "-c",
                   "echo $PPID > guardian; setsid sleep 60 & echo $! > grandchild; echo $$ > child; wait"});
  ASSERT_TRUE(becomes_true(place, "child"));
  const int guardian = std::stoi(Workplace::read(place.file("guardian")));
  ASSERT_NE(guardian, run->pid());
  ASSERT_EQ(::kill(guardian, SIGSTOP), 0);
  EXPECT_EQ(place.fenceline({"locks", "break", "deploy"}).status, 0);
  EXPECT_EQ(run->wait().status, 76);
  for (const char* name : {"child", "grandchild"})
    EXPECT_TRUE(eventually([&] { return !is_alive(Workplace::read(place.file(name))); })) << name;
}

TEST(Lock, SignalsIgnoredAtTheStartStayIgnored) {
  const Workplace place;
  const std::string under_nohup =
      "trap '' HUP; exec " + program() + " lock deploy -- sh -c 'echo $$ > child; read line; exit 4'";
  const auto run = place.start({"lock", "outer", "--", "sh", "-c", under_nohup});
  ASSERT_TRUE(becomes_true(place, "child"));
  const pid_t child = std::stoi(Workplace::read(place.file("child")));
  EXPECT_EQ(::kill(child, SIGHUP), 0);
  run->signal(SIGHUP);  // goes to the inner one, which ignores it
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(is_alive(std::to_string(child)));
  run->feed("go\n");
  EXPECT_EQ(run->wait().status, 4);
}

TEST(Lock, ABrokenOneEndsItsCommandWith76AndIsInTheTrail) {
  const Workplace place;
  const auto run = place.start({"lock", "deploy", "--ttl", "6s", "--", "sh", "-c", "echo > begun; exec sleep 60"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  const std::string fence = lock_shown(place, "deploy")["fence"].dump();
  const Ended other = place.fenceline({"locks", "break", "deploy", "--fence", "5"});
  EXPECT_EQ(other.status, 76);
  EXPECT_TRUE(one_line(other.err)) << other.err;
  const Json broken =
      answer(place, {"locks", "break", "deploy", "--fence", fence, "--reason", "its host burnt down", "--as", "ada"});
  EXPECT_EQ(broken["ended"].dump(), fence);
  EXPECT_GT(broken["fence"], broken["ended"]);
  const Ended lost = run->wait();
  EXPECT_EQ(lost.status, 76) << lost.err;
  EXPECT_EQ(place.fenceline({"locks", "break", "deploy"}).status, 66) << "it is free";
  const Json entry = Json(answer(place, {"trail"})["trail"]).back();
  EXPECT_EQ(entry["act"], "lock_broken");
  EXPECT_EQ(entry["subject"], "deploy " + fence);
  EXPECT_EQ(entry["actor"], "ada");
  EXPECT_EQ(entry["reason"], "its host burnt down");
}

TEST(Lock, SharedSlotsAndSeveralAtOnce) {
  const Workplace place;
  const std::string waits = "echo \"$FENCELINE_LOCK $FENCELINE_LOCKS\" > $0.new; mv $0.new $0; read line";
  const auto reader = place.start({"lock", "table", "--shared", "--", "sh", "-c", waits, "r1"});
  ASSERT_TRUE(becomes_true(place, "r1"));
  EXPECT_EQ(place.fenceline({"lock", "table", "--shared", "-n", "--", "true"}).status, 0);
  EXPECT_EQ(place.fenceline({"lock", "table", "-n", "--", "true"}).status, 75);
  const auto first = place.start({"lock", "gpu", "--slots", "2", "--", "sh", "-c", waits, "s1"});
  ASSERT_TRUE(becomes_true(place, "s1"));
  const auto second = place.start({"lock", "gpu", "--slots", "2", "--", "sh", "-c", waits, "s2"});
  ASSERT_TRUE(becomes_true(place, "s2"));
  EXPECT_EQ(place.fenceline({"lock", "gpu", "--slots", "2", "-n", "--", "true"}).status, 75);
  EXPECT_TRUE(Workplace::read(place.file("s1")).starts_with("gpu "));
  EXPECT_TRUE(Workplace::read(place.file("s2")).starts_with("gpu#2 "));
  const auto both = place.start({"lock", "b", "a", "--", "sh", "-c", waits, "both"});
  ASSERT_TRUE(becomes_true(place, "both"));
  const std::string told = Workplace::read(place.file("both"));
  const Json fences = Json::parse(told.substr(told.find(' ')));
  EXPECT_EQ(fences["a"], lock_shown(place, "a")["fence"]);
  EXPECT_EQ(fences["b"], lock_shown(place, "b")["fence"]);
  EXPECT_EQ(place.fenceline({"lock", "c", "b", "-n", "--", "true"}).status, 75);
  EXPECT_EQ(place.fenceline({"lock", "c", "-n", "--", "true"}).status, 0) << "all or none";
  const Json held = answer(place, {"locks", "list", "--held"})["locks"];
  std::vector<std::string> names;
  for (const Json& lock : held) names.push_back(lock["resource"]);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "gpu", "gpu#2", "table"}));
  EXPECT_EQ(answer(place, {"locks", "list", "--prefix", "gpu"})["locks"].size(), 2U);
  const Json page = answer(place, {"locks", "list", "--held", "--limit", "2"});
  EXPECT_EQ(page["next"], "b");
  EXPECT_EQ(answer(place, {"locks", "list", "--held", "--after", "b"})["locks"].size(), 3U);
}

TEST(Lock, L6_ALoopIsNotHadAgainInItsWindow) {
  const Workplace place;
  const Words sweep{"lock", "sweep", "--pattern", "loop", "--ttl", "5s", "--", "true"};
  EXPECT_EQ(place.fenceline(sweep).status, 0);
  EXPECT_EQ(place.fenceline(sweep).status, 75) << "done, but its window is not over";
  EXPECT_EQ(place.fenceline({"lock", "sweep", "--class", "loop", "-E", "0", "--", "touch", "again"}).status, 0);
  EXPECT_FALSE(exists(place, "again"));
  EXPECT_NE(lock_shown(place, "sweep")["state"], "free");
  EXPECT_EQ(place.fenceline({"lock", "sweep", "--wait", "20s", "--", "true"}).status, 0) << "the window is over";
  ASSERT_EQ(place.fenceline({"lock", "sweep", "--pattern", "loop", "--ttl", "1h", "--", "true"}).status, 0);
  EXPECT_EQ(place.fenceline({"locks", "break", "sweep"}).status, 0);
  EXPECT_EQ(place.fenceline({"lock", "sweep", "-n", "--", "true"}).status, 0) << "only an operator ends a window";
}

TEST(Lock, AWindowThatIsOverIsFreeAndNothingWentWrong) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"lock", "sweep", "--pattern", "loop", "--ttl", "1s", "--", "true"}).status, 0);
  EXPECT_TRUE(eventually([&] { return lock_shown(place, "sweep")["state"] == "free"; }))
      << lock_shown(place, "sweep").dump();
}

TEST(Lock, HoldAtLeastKeepsOthersOutThoughTheCommandIsDone) {
  const Workplace place;
  EXPECT_EQ(place.fenceline({"lock", "tick", "--hold-at-least", "5s", "--", "true"}).status, 0);
  const Ended none = place.fenceline({"lock", "tick", "-n", "--", "true"});
  EXPECT_EQ(none.status, 75);
  EXPECT_TRUE(has(none.err, "lock tick is kept for ") && has(none.err, " more after its last holder, fence "))
      << none.err;
  EXPECT_EQ(lock_shown(place, "tick")["state"], "resting");
  EXPECT_EQ(place.fenceline({"lock", "tick", "--wait", "20s", "--", "true"}).status, 0);
}

TEST(Lock, ATimeoutEndsTheCommandAndGivesTheLockBack) {
  const Workplace place;
  const Ended ended = place.fenceline({"lock", "deploy", "--timeout", "1s", "--", "sh", "-c", "sleep 60 & wait"});
  EXPECT_EQ(ended.status, 143);
  EXPECT_TRUE(has(ended.err, "--timeout")) << ended.err;
  EXPECT_EQ(place.fenceline({"lock", "deploy", "-n", "--", "true"}).status, 0);
  EXPECT_EQ(place
                .fenceline({"lock", "deploy", "--ttl", "3s", "--timeout", "1s", "--", "sh", "-c",
                            "trap '' TERM; while :; do sleep 0.05; done"})
                .status,
            137);
  EXPECT_EQ(place.fenceline({"lock", "deploy", "-n", "--", "true"}).status, 0);
}

TEST(Lock, ALongCommandKeepsItsLock) {
  const Workplace place;
  const auto run = place.start({"lock", "deploy", "--ttl", "4s", "--", "sh", "-c", "echo > begun; sleep 6; exit 4"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  EXPECT_EQ(place.fenceline({"lock", "deploy", "--wait", "5s", "--", "true"}).status, 75);
  EXPECT_EQ(run->wait().status, 4);
}

TEST(Lock, ItsFenceIsCheckedAtAGateAndTheInventorySaysSo) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"lock", "team/report", "--", "sh", "-c", "echo $FENCELINE_FENCE > old"}).status, 0);
  EXPECT_EQ(lock_shown(place, "team/report")["at_gate"], "never");
  const std::string in_lock = program() + " gate run - - -- sh -c 'echo new > report'";
  ASSERT_EQ(place.fenceline({"lock", "team/report", "--", "sh", "-c", in_lock}).status, 0);
  EXPECT_EQ(lock_shown(place, "team/report")["at_gate"], "newest");
  const std::string old = trimmed(Workplace::read(place.file("old")));
  const Setting late{.input = "late\n", .env = {{"FENCELINE_LOCK", "team/report"}, {"FENCELINE_FENCE", old}}};
  EXPECT_EQ(place.fenceline({"gate", "run", "-", "-", "--", "sh", "-c", "echo late > report"}, late).status, 76);
  const Ended put = place.fenceline({"gate", "put", "-", "-", "other"}, late);
  EXPECT_EQ(put.status, 76) << "its gate is new, but the store knows better";
  EXPECT_TRUE(has(put.err, "the store has granted")) << put.err;
  EXPECT_EQ(Workplace::read(place.file("report")), "new\n");
  ASSERT_EQ(place.fenceline({"lock", "team/report", "--", "true"}).status, 0);
  EXPECT_EQ(lock_shown(place, "team/report")["at_gate"], "older");
  EXPECT_TRUE(has(place.fenceline({"locks", "list"}).out, "team/report\tfree\titem\texclusive\t"))
      << place.fenceline({"locks", "list"}).out;
}

// The store was set back, or was fed a fence from the future: the gate of a lock is ahead of it.
TEST(Lock, AGateOfAFileIsSeenByTheInventoryAndNamedIfItIsAheadOfTheStore) {
  const Workplace place;
  const std::string in_lock = "echo new | " + program() + " gate put - - report";
  const Words again{"lock", "report", "--", "sh", "-c", in_lock};
  ASSERT_EQ(place.fenceline(again).status, 0);
  EXPECT_EQ(lock_shown(place, "report")["at_gate"], "newest");
  EXPECT_EQ(lock_shown(place, "report")["gate_path"], place.file("report.gate").string());
  const std::int64_t ahead = lock_shown(place, "report")["fence"].get<std::int64_t>() + 3'600'000'000;
  ASSERT_EQ(place.fenceline({"gate", "put", "report", std::to_string(ahead), "report"}, {.input = "x"}).status, 0);
  EXPECT_EQ(lock_shown(place, "report")["at_gate"], "ahead");
  const std::string rebase = "fenceline gate rebase --file " + place.file("report").string();
  EXPECT_TRUE(has(place.fenceline({"locks", "show", "report"}).out, rebase));
  const Ended doctor = place.fenceline({"doctor"});
  EXPECT_TRUE(has(doctor.out, "ahead of the store's newest") && has(doctor.out, rebase)) << doctor.out;
  const Ended behind = place.fenceline(again);
  EXPECT_EQ(behind.status, 76);
  EXPECT_TRUE(has(behind.err, "run 'fenceline gate rebase --file report', then take the lock again")) << behind.err;
  ASSERT_EQ(place.fenceline({"gate", "rebase", "--file", "report"}).status, 0);
  EXPECT_EQ(place.fenceline(again).status, 0);
  EXPECT_EQ(lock_shown(place, "report")["at_gate"], "newest");
}

TEST(Lock, WhatFlockUsersTypeIsUnderstoodOrRefusedInWords) {
  const Workplace place;
  EXPECT_EQ(place.fenceline({"lock", "/var/lock/deploy", "-x", "-o", "-w", "1s", "--", "true"}).status, 0);
  EXPECT_EQ(place.fenceline({"lock", "/var/lock/deploy", "-w", "1.5s", "--", "true"}).status, 0);
  EXPECT_EQ(place.fenceline({"lock", "/var/lock/deploy", "-w", "0.5", "-s", "--", "true"}).status, 0);
  EXPECT_EQ(lock_shown(place, "/var/lock/deploy")["mode"], "shared");
  const Ended unlock = place.fenceline({"lock", "/var/lock/deploy", "-u", "--", "true"});
  EXPECT_EQ(unlock.status, 64);
  EXPECT_TRUE(has(unlock.err, "freed when its command ends") && has(unlock.err, "locks break /var/lock/deploy"))
      << unlock.err;
  EXPECT_EQ(place.fenceline({"lock", "deploy", "-x", "-s", "--", "true"}).status, 64);
  const Ended empty = place.fenceline({"lock", "deploy", "--ttl=", "--store", "sqlite:other.db", "--", "true"});
  EXPECT_EQ(empty.status, 64);
  EXPECT_TRUE(has(empty.err, "option --ttl has no value behind '='")) << empty.err;
  EXPECT_FALSE(std::filesystem::exists(place.file("other.db")));
}

// FENCELINE_FENCE is the lock's there; the job's own is kept beside it.
TEST(Lock, InAHandlerTheJobIsStillTheCurrentOne) {
  const Workplace place;
  const std::string id = enqueue(place);
  drain(place, program() + " lock deploy -- " + program() + " effect mail -- echo sent");
  const Json job = show(place, id);
  EXPECT_EQ(job["state"], "done") << job.dump();
  EXPECT_EQ(job["result"], "sent\n");
}

TEST(Lock, ClassesOfTheFile) {
  const Workplace place;
  place.write("fenceline.toml",
              "[lock.nightly]\nttl = \"5m\"\nwait = \"0s\"\ncontention = \"skip\"\nhold_at_least = \"1m\"\npattern = "
              "\"fenced\"\n[lock.job]\nfailures = 5\n");
  ASSERT_EQ(place.fenceline({"lock", "backup", "--class", "nightly", "--", "true"}).status, 0);
  const Json row = lock_shown(place, "backup");
  EXPECT_EQ(row["pattern"], "fenced");
  EXPECT_EQ(row["state"], "resting");
  EXPECT_EQ(place.fenceline({"lock", "backup", "--class", "nightly", "--", "true"}).status, 75);
  const Ended none = place.fenceline({"lock", "backup", "--class", "nihgtly", "--", "true"});
  EXPECT_EQ(none.status, 66);
  EXPECT_TRUE(one_line(none.err) && has(none.err, "did you mean 'nightly'?")) << none.err;
  std::map<std::string, std::string> settings;
  for (const Json& one : Json(answer(place, {"config", "show", "--origin"})["settings"]))
    settings[one["name"]] = (one["value"].is_string() ? one["value"].get<std::string>() : one["value"].dump()) +
                            " by " + one["origin"].get<std::string>();
  EXPECT_EQ(settings["lock.nightly.ttl"], "5m by fenceline.toml:2");
  EXPECT_EQ(settings["lock.nightly.pattern"], "fenced by fenceline.toml:6");
  EXPECT_EQ(settings["lock.job.pattern"], "item by default") << "the file has the class, and says nothing of it";
  EXPECT_EQ(settings["lock.job.ttl"], "1m by default");
  EXPECT_EQ(settings["lock.job.failures"], "5 by fenceline.toml:8");
  EXPECT_EQ(settings["lock.loop.pattern"], "loop by default");
  EXPECT_EQ(settings["lock.writer.ttl"], "10s by default");
  for (const auto& [text, complaint] : std::map<std::string, std::string>{
           {"[lock.x]\ntll = \"1m\"\n",
            "fenceline: fenceline.toml:2: unknown key 'lock.x.tll'; did you mean 'lock.x.ttl'?\n"},
           {"[lock.x]\nttl = \"0s\"\n", "fenceline: fenceline.toml:2: lock.x.ttl "},
           {"[lock.x]\nttl = 30\n", "fenceline: fenceline.toml:2: lock.x.ttl must be a quoted string"},
           {"[lock.x]\nfailures = \"3\"\n", "fenceline: fenceline.toml:2: lock.x.failures is not a number"},
           {"[lock.x]\nfailures = 0\n", "fenceline: fenceline.toml:2: lock.x.failures "},
           {"[lock.x]\ncontention = \"fight\"\n",
            "fenceline: fenceline.toml:2: lock.x.contention 'fight' is not valid; use skip, retry or in_turn\n"},
           {"[lock.x]\non_renewal_error = \"maybe\"\n",
            "fenceline: fenceline.toml:2: lock.x.on_renewal_error 'maybe' is not valid; use closed or open\n"},
           {"[lock.x]\npattern = \"spin\"\n", "fenceline: fenceline.toml:2: lock.x.pattern 'spin' is not valid"},
           {"[lock.x]\nttl = \"10s\"\nrenewal = \"20s\"\n", "fenceline: fenceline.toml:1: lock class x: "},
           {"[lock.\"a b\"]\nttl = \"10s\"\n", "fenceline: fenceline.toml:1: lock class"},
           {"lock = 3\n", "fenceline: fenceline.toml:1: lock is a table of lock classes"},
           {"[lock]\nttl = \"1m\"\n", "fenceline: fenceline.toml:2: 'lock.ttl' is not a lock class"}}) {
    place.write("fenceline.toml", text);
    const Ended bad = place.fenceline({"lock", "backup", "--", "true"});
    EXPECT_EQ(bad.status, 65) << text;
    EXPECT_TRUE(one_line(bad.err) && bad.err.starts_with(complaint)) << bad.err;
  }
}

TEST(Lock, BadInputIsOneLineAndChangesNothing) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"lock", "deploy", "--", "true"}).status, 0);
  const std::string before = place.dump();
  std::vector<std::pair<Words, int>> bad;
  for (const char* ttl : {"0", "-1s", "500ms", "400d", "0s", "0.5s", "30", ""})
    bad.push_back({{"lock", "deploy", "--ttl", ttl, "--", "touch", "ran"}, 64});
  for (const std::string& name : {std::string("a{b}"), std::string("{tag}x"), std::string("a\nb"),
                                  std::string(64 * 1024, 'k'), std::string(), std::string("a b"), std::string("../up"),
                                  std::string("x#2"), std::string("caf\xc3\xa9"), std::string("\xff\xfe")}) {
    bad.push_back({{"lock", name, "--", "touch", "ran"}, 65});
    bad.push_back({{"elect", name, "--", "touch", "ran"}, 65});
    if (name != "x#2") bad.push_back({{"locks", "show", name}, 65});
    if (name != "x#2") bad.push_back({{"locks", "break", name}, 65});
  }
  const std::vector<std::pair<Words, int>> others{
      {{"lock", "a", "b", "a", "--", "touch", "ran"}, 64},
      {{"lock", "a"}, 64},
      {{"lock", "--", "touch", "ran"}, 64},
      {{"lock", "a", "-n", "-w", "3", "--", "touch", "ran"}, 64},
      {{"lock", "a", "-w", "-1", "--", "touch", "ran"}, 64},
      {{"lock", "a", "-w", "1e9", "--", "touch", "ran"}, 64},
      {{"lock", "a", "-w", "10x", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--wait", "25h", "--", "touch", "ran"}, 64},
      {{"lock", "a", "-E", "256", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--slots", "0", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--slots", "1001", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--slots", "2", "--shared", "--", "touch", "ran"}, 64},
      {{"lock", "a", "b", "--slots", "2", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--shared", "--hold-at-least", "5s", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--shared", "--pattern", "loop", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--pattern", "spin", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--pattern", "item", "--class", "job", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--class", "nobody", "--", "touch", "ran"}, 66},
      {{"lock", "a", "--hold-at-least", "400d", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--delay", "-1s", "--", "touch", "ran"}, 64},
      {{"lock", "a", "--timeout", "0s", "--", "touch", "ran"}, 64},
      {{"elect", "a", "--ttl", "500ms", "--", "touch", "ran"}, 64},
      {{"elect", "a"}, 64},
      {{"locks", "list", "--limit", "0"}, 64},
      {{"locks", "list", "--limit", "1001"}, 64},
      {{"locks", "list", "--all", "--limit", "5"}, 64},
      {{"locks", "show", "x#1"}, 65},
      {{"locks", "show", "nobody"}, 66},
      {{"locks", "break", "nobody"}, 66},
      {{"locks", "break", "deploy"}, 66},
      {{"locks", "break", "deploy", "--fence", "0"}, 64},
      {{"locks", "break", "deploy", "--as", ""}, 64},
  };
  bad.insert(bad.end(), others.begin(), others.end());
  EXPECT_TRUE(has(place.fenceline({"lock", "a b", "--", "true"}).err, "lock 'a b' has a character"));
  EXPECT_TRUE(has(place.fenceline({"lock", "a", "a", "--", "true"}).err, "see 'fenceline help lock'"));
  EXPECT_TRUE(has(place.fenceline({"lock", "a", "--ttl", "10ms", "--", "true"}).err, "use 1s to 24h"));
  for (const auto& [words, status] : bad) {
    const Ended ended = place.fenceline(words);
    std::string line;
    for (const std::string& word : words) line += word.substr(0, 40) + " ";
    EXPECT_EQ(ended.status, status) << line << ended.err;
    EXPECT_TRUE(one_line(ended.err) && ended.out.empty()) << line << ended.out << ended.err;
    EXPECT_LT(ended.err.size(), 500U) << line << ended.err;
  }
  EXPECT_FALSE(exists(place, "ran"));
  EXPECT_EQ(place.dump(), before);
}

TEST(Elect, OneLeadsAndTheNextTakesOverWhenItsCommandEnds) {
  const Workplace place;
  const std::string leads = "echo $FENCELINE_FENCE > $0.new; mv $0.new $0; read line; exit 5";
  const auto a = place.start({"elect", "chief", "--", "sh", "-c", leads, "a"});
  ASSERT_TRUE(becomes_true(place, "a"));
  const auto b = place.start({"elect", "chief", "--", "sh", "-c", leads, "b"});
  ASSERT_TRUE(eventually([&] { return lock_shown(place, "chief")["waiters_count"] == 1; }));
  EXPECT_FALSE(exists(place, "b"));
  a->feed("go\n");
  EXPECT_EQ(a->wait().status, 5) << "it stepped down, and passed the status on";
  ASSERT_TRUE(becomes_true(place, "b"));
  EXPECT_GT(std::stoll(Workplace::read(place.file("b"))), std::stoll(Workplace::read(place.file("a"))));
  b->signal(SIGTERM);
  EXPECT_EQ(b->wait().status, 143);
}

TEST(Elect, OneThatWasToldToEndDoesNotCampaignAgainAfterALoss) {
  const Workplace place;
  const auto run = place.start({"elect", "chief", "--ttl", "6s", "--", "sh", "-c",
                                "trap 'echo > told' TERM; echo > begun; while :; do sleep 0.05; done"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  run->signal(SIGTERM);
  ASSERT_TRUE(becomes_true(place, "told"));
  EXPECT_EQ(place.fenceline({"locks", "break", "chief"}).status, 0);
  EXPECT_EQ(run->wait().status, 143);
}

TEST(Elect, AHangUpIsForTheCommandAndNoReasonToEndAfterALoss) {
  const Workplace place;
  const auto run = place.start({"elect", "chief", "--ttl", "6s", "--", "sh", "-c",
                                "trap 'echo > reloaded' HUP; echo x >> begun; while :; do sleep 0.05; done"});
  ASSERT_TRUE(becomes_true(place, "begun"));
  run->signal(SIGHUP);
  ASSERT_TRUE(becomes_true(place, "reloaded"));
  EXPECT_EQ(place.fenceline({"locks", "break", "chief"}).status, 0);
  EXPECT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("begun"))).size() == 2; })) << run->err();
  run->signal(SIGTERM);
  EXPECT_EQ(run->wait().status, 143);
}

TEST(Elect, AfterALossItCampaignsAgainUnlessOnce) {
  const Workplace place;
  const std::string leads = "echo $FENCELINE_FENCE >> $0; exec sleep 60";
  const auto again = place.start({"elect", "chief", "--ttl", "6s", "--", "sh", "-c", leads, "again"});
  const auto once = place.start({"elect", "other", "--ttl", "6s", "--once", "--", "sh", "-c", leads, "once"});
  ASSERT_TRUE(becomes_true(place, "again") && becomes_true(place, "once"));
  EXPECT_EQ(place.fenceline({"locks", "break", "chief"}).status, 0);
  EXPECT_EQ(place.fenceline({"locks", "break", "other"}).status, 0);
  EXPECT_EQ(once->wait().status, 76);
  EXPECT_TRUE(eventually([&] { return lines_of(Workplace::read(place.file("again"))).size() == 2; })) << again->err();
  EXPECT_EQ(lines_of(Workplace::read(place.file("once"))).size(), 1U);
  again->signal(SIGINT);
  EXPECT_EQ(again->wait().status, 130);
}

}  // namespace
}  // namespace fenceline::e2e
