// `fenceline effect` inside real handlers: once, replayed, in doubt.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "jobs.hpp"
#include "program.hpp"

namespace fenceline::e2e {
namespace {

std::string effect(const std::string& rest) { return program() + " effect " + rest; }

std::string state_of(const Workplace& place, const std::string& id) { return show(place, id)["state"]; }

Json effects_of(const Workplace& place, const std::string& id) {
  return answer(place, {"effects", "list", "--job", id, "--result"})["effects"];
}

// Runs one job whose handler is this script; its result is what the script said.
std::string worked(const Workplace& place, const std::string& script, const Words& options = {}) {
  const std::string id = enqueue(place, {"--max-attempts", "1"});
  drain(place, script, options);
  return id;
}

TEST(Effect, E1_RunsItsCommandOnceAndReplaysItsOutputByteForByte) {
  const Workplace place;
  const std::string id = enqueue(place, {"--backoff", "1ms", "--backoff-max", "1ms"});
  // The first delivery fails after its effect; so the job runs twice, and calls it three times.
  const std::string script = effect("mail -- sh -c 'echo sent >>sent; printf \"a\\\\000\\\\377b\"'") +
                             " >out-$FENCELINE_DELIVERY || exit; " +
                             effect("mail -- sh -c 'echo sent >>sent; printf \"a\\\\000\\\\377b\"'") +
                             " >again-$FENCELINE_DELIVERY || exit; test $FENCELINE_DELIVERY = 2";
  for (int i = 0; i < 20 && state_of(place, id) != "done"; ++i) drain(place, script);
  EXPECT_EQ(state_of(place, id), "done");
  EXPECT_EQ(Workplace::read(place.file("sent")), "sent\n");
  const std::string bytes(
      "a\0\xff"
      "b",
      4);
  for (const char* out : {"out-1", "again-1", "out-2", "again-2"})
    EXPECT_EQ(Workplace::read(place.file(out)), bytes) << out;
  const Json effects = effects_of(place, id);
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(effects[0]["state"], "done");
  EXPECT_EQ(effects[0]["exit_status"], 0);
  EXPECT_EQ(effects[0]["result"]["base64"], "YQD/Yg==");
}

TEST(Effect, OutsideOfAHandlerIsRefusedWithOneLine) {
  const Workplace place;
  const std::string id = enqueue(place);
  const std::string before = place.dump();
  const Ended ended = place.fenceline({"effect", "mail", "--", "touch", "done"});
  EXPECT_EQ(ended.status, 64);
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_NE(ended.err.find("works only in commands that 'fenceline work' runs"), std::string::npos) << ended.err;
  // Nor under a fence that is not the job's.
  const Ended stale = place.fenceline({"effect", "mail", "--", "touch", "done"},
                                      {.env = {{"FENCELINE_JOB", id}, {"FENCELINE_FENCE", "5"}}});
  EXPECT_EQ(stale.status, 76);
  EXPECT_TRUE(one_line(stale.err)) << stale.err;
  EXPECT_FALSE(std::filesystem::exists(place.file("done")));
  EXPECT_EQ(place.dump(), before);
}

TEST(Effect, BadInputGetsOneLineAndChangesNothing) {
  const Workplace place;
  const std::string id = enqueue(place);
  const std::string before = place.dump();
  const Setting inside{.env = {{"FENCELINE_JOB", id}, {"FENCELINE_FENCE", "5"}}};
  const std::vector<std::pair<Words, int>> wrong{{{"effect", "mail", "--in-doubt", "guess", "--", "true"}, 64},
                                                 {{"effect", "mail", "--in-doubt", "probe", "--", "true"}, 64},
                                                 {{"effect", "mail", "--in-doubt", "probe=", "--", "true"}, 64},
                                                 {{"effect", "mail", "--failed", "done", "--", "true"}, 64},
                                                 {{"effect", "mail"}, 64},
                                                 {{"effect", "--", "true"}, 64},
                                                 {{"effect", "two words", "--", "true"}, 65}};
  for (const auto& [words, status] : wrong) {
    const Ended ended = place.fenceline(words, inside);
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
  }
  EXPECT_EQ(place.dump(), before);
}

TEST(Effect, TheSameNameForAnotherCommandOrRequestIsRefused) {
  const Workplace place;
  worked(place, effect("mail -- echo ana") + "; " + effect("mail -- echo ben") + "; echo $? >command; " +
                    effect("note --request a -- cat") + " </dev/null; " + effect("note --request b -- cat") +
                    " </dev/null; echo $? >request");
  EXPECT_EQ(Workplace::read(place.file("command")), "65\n");
  EXPECT_EQ(Workplace::read(place.file("request")), "65\n");
}

TEST(Effect, ExitsThatSayItDidNotHappenArePassedOnAndTriedAgain) {
  const Workplace place;
  for (const char* status : {"75", "126", "127"}) {
    const std::string command = "mail -- sh -c 'test -e went && exit 0; touch went; exit " + std::string(status) + "'";
    const std::string id =
        worked(place, effect(command) + "; echo $? >first; " + effect(command) + "; echo $? >second");
    EXPECT_EQ(Workplace::read(place.file("first")), status + std::string("\n"));
    EXPECT_EQ(Workplace::read(place.file("second")), "0\n");
    EXPECT_EQ(state_of(place, id), "done");
    std::filesystem::remove(place.file("went"));
  }
  const std::string id = worked(place, effect("mail -- ./no-such-command") + "; echo $? >first");
  EXPECT_EQ(Workplace::read(place.file("first")), "127\n");
  EXPECT_EQ(effects_of(place, id)[0]["state"], "none");
}

TEST(Effect, E2_AnyOtherEndMakesTheJobWaitUnderHold) {
  const Workplace place;
  for (const char* end : {"exit 3", "kill -9 $$"}) {
    const std::string id =
        worked(place, effect("mail -- sh -c '" + std::string(end) + "'") + " 2>said; echo $? >status");
    EXPECT_EQ(Workplace::read(place.file("status")), "76\n");
    EXPECT_EQ(state_of(place, id), "waiting") << end;
    const std::string said = Workplace::read(place.file("said"));
    EXPECT_NE(said.find("fenceline effects resolve " + id + " mail --done"), std::string::npos) << said;
    EXPECT_TRUE(effects_of(place, id)[0]["job_waits"]);
  }
}

TEST(Effect, AWorkerWhoseJobWaitsRaisesNoAlarm) {
  const Workplace place;
  enqueue(place);
  const Ended ended = place.fenceline({"work", "q", "--drain", "--json", "--", "sh", "-c", effect("mail -- false")});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Json report = Json::parse(ended.out);
  EXPECT_EQ(report["refused"], 0);
  EXPECT_EQ(report["lost"], 0);
  EXPECT_EQ(report["waiting"], 1);
  EXPECT_TRUE(has(ended.err, "\"delivery_held\"")) << ended.err;
  EXPECT_FALSE(has(ended.err, "stale_write_refused")) << ended.err;
  EXPECT_TRUE(has(ended.err, "\"status\":\"success\"")) << ended.err;
}

TEST(Effect, ACommandThatIsDeclaredToDoNothingWhenItFailsLeavesNoDoubt) {
  const Workplace place;
  const std::string id = worked(
      place, effect("mail --failed none -- sh -c 'echo why >&2; echo out; exit 3'") + " >out 2>err; echo $? >status");
  EXPECT_EQ(Workplace::read(place.file("status")), "3\n");
  EXPECT_EQ(Workplace::read(place.file("out")), "out\n");
  EXPECT_TRUE(Workplace::read(place.file("err")).starts_with("why\n"));
  EXPECT_EQ(state_of(place, id), "done");
  EXPECT_EQ(effects_of(place, id)[0]["state"], "none");
}

TEST(Effect, E2_UnderRepeatItIsDoneAgainUnderTheSameKey) {
  const Workplace place;
  const std::string command =
      "mail --in-doubt repeat -- sh -c 'echo $FENCELINE_EFFECT_KEY $FENCELINE_EFFECT_AGAIN >>tries; test -e went || { "
      "touch went; exit 3; }'";
  const std::string id = worked(place, effect(command) + "; echo $? >first; " + effect(command) + "; echo $? >second");
  EXPECT_EQ(Workplace::read(place.file("first")), "3\n");
  EXPECT_EQ(Workplace::read(place.file("second")), "0\n");
  EXPECT_EQ(Workplace::read(place.file("tries")), id + ".mail 0\n" + id + ".mail 1\n");
  EXPECT_EQ(effects_of(place, id)[0]["doubts"], 1);
}

TEST(Effect, E2_UnderProbeACommandIsAskedWhetherItHappened) {
  const Workplace place;
  for (const auto& [script, status, state] :
       {std::tuple{"echo receipt; exit 0", "0", "done"}, {"exit 1", "3", "none"}, {"exit 2", "76", "intent"}}) {
    std::filesystem::permissions(
        place.write("probe",
                    "#!/bin/sh\ntest -n \"$FENCELINE_EFFECT_KEY\" || exit 9\ntest \"$1\" = --booked || exit 9\n" +
                        std::string(script) + "\n"),
        std::filesystem::perms::owner_all);
    const std::string id =
        worked(place, effect("mail --in-doubt 'probe=./probe --booked' -- sh -c 'exit 3'") + " >out; echo $? >status");
    EXPECT_EQ(Workplace::read(place.file("status")), status + std::string("\n")) << script;
    EXPECT_EQ(effects_of(place, id)[0]["state"], state) << script;
    EXPECT_EQ(Workplace::read(place.file("out")), std::string(state) == "done" ? "receipt\n" : "") << script;
  }
}

TEST(Effect, StdinGoesToTheCommandAndStderrComesFromIt) {
  const Workplace place;
  const std::string id = enqueue(place, {"--payload", "\"hello\""});
  drain(place, effect("mail -- sh -c 'cat; echo heard >&2'") + " 2>err");
  EXPECT_EQ(show(place, id)["result"], "\"hello\"");
  EXPECT_EQ(Workplace::read(place.file("err")), "heard\n");
}

TEST(Effect, OnlyTheFirstMebibyteOfALargeOutputIsKeptAndPrinted) {
  const Workplace place;
  const std::string command = "dump -- sh -c 'echo ran >>ran; head -c 1500000 /dev/zero'";
  worked(place, effect(command) + " >first 2>err; echo $? >status; " + effect(command) + " >second");
  EXPECT_EQ(Workplace::read(place.file("status")), "0\n");
  EXPECT_EQ(std::filesystem::file_size(place.file("first")), std::size_t{1} << 20);
  EXPECT_EQ(Workplace::read(place.file("first")), Workplace::read(place.file("second")));
  EXPECT_EQ(Workplace::read(place.file("ran")), "ran\n");
  EXPECT_TRUE(has(Workplace::read(place.file("err")), "larger than 1 MiB"));
}

TEST(Effect, ASecondCallWaitsForTheFirstAndGetsItsOutput) {
  const Workplace place;
  const std::string command = "mail -- sh -c 'echo ran >>ran; sleep 1; echo sent'";
  worked(place,
         effect(command) + " >first & while ! test -e ran; do sleep 0.01; done; " + effect(command) + " >second; wait");
  EXPECT_EQ(Workplace::read(place.file("ran")), "ran\n");
  EXPECT_EQ(Workplace::read(place.file("first")), "sent\n");
  EXPECT_EQ(Workplace::read(place.file("second")), "sent\n");
}

TEST(Effect, E2_ACallWhoseProcessWasKilledIsInDoubtAndItsCommandIsGone) {
  const Workplace place;
  const std::string command =
      "mail --in-doubt repeat -- sh -c 'echo $$ >pid; echo $FENCELINE_EFFECT_AGAIN >>tries; test -e once || { touch "
      "once; exec sleep 1000; }'";
  worked(place,
         effect(command) +
             " & caller=$!; while ! test -e once; do sleep 0.01; done; first=$(cat pid); kill -9 $caller; " +
             effect(command) +
             "; echo $? >status; grep -q '^State:.[^Z]' /proc/$first/status 2>/dev/null && echo alive >alive; true");
  EXPECT_EQ(Workplace::read(place.file("status")), "0\n");
  EXPECT_EQ(Workplace::read(place.file("tries")), "0\n1\n");
  EXPECT_FALSE(std::filesystem::exists(place.file("alive")));
}

TEST(Effect, E2_AFailureIsSeenThoughTheHandlerIgnoresTheEndOfChildren) {
  const Workplace place;
  const std::string id = worked(place, "trap '' CHLD; exec " + effect("charge -- sh -c 'exit 1'"));
  EXPECT_EQ(state_of(place, id), "waiting");
  EXPECT_EQ(effects_of(place, id)[0]["state"], "intent");
}

TEST(Effect, AnEmptyWordAndAnEmptyRequestAreNotTheSame) {
  const Workplace place;
  const std::string id =
      worked(place, effect("say -- echo ''") + " && " + effect("say --request '' -- echo") + "; echo $?");
  EXPECT_EQ(effects_of(place, id).size(), 1U);
  EXPECT_NE(std::string(show(place, id)["result"]).find("65"), std::string::npos);
}

TEST(Effect, ASignalIsPassedOnToTheCommand) {
  const Workplace place;
  enqueue(place);
  const std::string command =
      "mail --failed none -- sh -c \"trap 'echo told >told; exit 4' TERM; touch begun; while :; do sleep 0.05; done\"";
  const auto worker =
      place.start({"work", "q", "--drain-timeout", "0s", "--ttl", "30s", "--", "sh", "-c", "exec " + effect(command)});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("begun")); }));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
  EXPECT_EQ(Workplace::read(place.file("told")), "told\n");
}

}  // namespace
}  // namespace fenceline::e2e
