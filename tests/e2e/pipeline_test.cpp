// `fenceline pipeline`, `stage`, `board`, and `work PIPELINE --stage S`: what people see and do. The rules themselves
// have tests of their own; here items pass real processes.
#include <signal.h>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

const std::string kDocs = R"(
[pipeline]
name = "docs"
stages = ["ready", "review", "publish"]
[stage.review]
ttl = "10m"
timeout = "30m"
[stage.publish]
entry = { approval = { count = 1, by = ["ana"], within = "2d", then = "reject" } }
)";

void apply(const Workplace& place, const std::string& text = kDocs, const Words& options = {}) {
  place.write("docs.toml", text);
  const Ended ended = place.fenceline(joined({"pipeline", "apply", "docs.toml"}, options));
  ASSERT_EQ(ended.status, 0) << ended.err;
}

std::string item(const Workplace& place, const Words& options = {}) {
  const Ended ended = place.fenceline(joined({"enqueue", "docs"}, options));
  EXPECT_EQ(ended.status, 0) << ended.err;
  return trimmed(ended.out);
}

// A worker of a stage, until nothing is left to do there.
Ended work(const Workplace& place, const std::string& stage, const std::string& script, const Words& options = {}) {
  return place.fenceline(joined(joined({"work", "docs", "--stage", stage, "--drain", "--no-schedules"}, options),
                                {"--", "sh", "-c", script}));
}

Json board(const Workplace& place, const Words& options = {}) {
  return answer(place, joined({"board", "docs"}, options));
}
Json row(const Workplace& place, const std::string& id) {
  for (const Json& one : Json(board(place, {"--all"})["items"])) {
    if (one["id"] == id) return one;
  }
  return Json();
}

void refused(const Workplace& place, const Words& words, int status, const std::string& says,
             const Setting& setting = {}) {
  const Ended ended = place.fenceline(words, setting);
  EXPECT_EQ(ended.status, status) << ended.out << ended.err;
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, says)) << "'" << says << "' in: " << ended.err;
  EXPECT_EQ(ended.out, "");
}

std::vector<std::string> acts(const Workplace& place) {
  std::vector<std::string> out;
  for (const Json& entry : Json(answer(place, {"trail"})["trail"])) {
    const std::string act = entry["act"];
    if (act.starts_with("item_") || act.starts_with("pipeline_")) out.push_back(act);
  }
  return out;
}

TEST(Pipeline, P1_AnItemPassesItsStagesAndItsEntryAndEveryMoveIsInTheTrail) {
  const Workplace place;
  apply(place);
  const std::string id = item(place, {"--key", "chapter-1", "--payload", "{\"n\":1}"});
  EXPECT_EQ(row(place, id)["stage"], "ready");
  EXPECT_EQ(show(place, id)["stage"], "ready") << "by its name";
  EXPECT_EQ(place.jobs().at(0)["stage"], "ready");
  work(place, "publish", "touch published");
  work(place, "review", "touch reviewed");
  EXPECT_FALSE(std::filesystem::exists(place.file("reviewed")));
  EXPECT_EQ(work(place, "ready", "echo $FENCELINE_STAGE > stage").status, 0);
  EXPECT_EQ(trimmed(Workplace::read(place.file("stage"))), "ready");
  EXPECT_EQ(work(place, "review", "touch reviewed").status, 0);
  EXPECT_TRUE(std::filesystem::exists(place.file("reviewed")));
  work(place, "publish", "touch published");
  EXPECT_FALSE(std::filesystem::exists(place.file("published"))) << "nobody approved";
  const Json waiting = row(place, id);
  EXPECT_EQ(waiting["stage"], "publish");
  EXPECT_EQ(waiting["at_entry"], true);
  EXPECT_EQ(waiting["state"], "waiting");
  EXPECT_EQ(waiting["title"], "chapter-1");
  EXPECT_TRUE(has(waiting["waits_for"], "approval of publish by ana (0 of 1), until 2")) << waiting;
  EXPECT_TRUE(has(explained(place, id)["approval"], "fenceline stage approve " + id));
  EXPECT_EQ(show(place, id)["state"], "waiting");
  EXPECT_EQ(place.jobs().at(0)["state"], "waiting");
  EXPECT_EQ(answer(place, {"jobs", "--state", "waiting"})["jobs"].size(), 1U);
  EXPECT_EQ(answer(place, {"jobs", "--state", "ready"})["jobs"].size(), 0U);
  EXPECT_EQ(answer(place, {"job", "explain", id})["state"], "waiting");
  EXPECT_EQ(answer(place, {"queue", "list"})["queues"][0]["waiting"], 1);
  EXPECT_EQ(answer(place, {"queue", "show", "docs"})["ready"], 0);
  refused(place, {"stage", "approve", id, "--as", "eve"}, 77, "'eve' may not approve");
  const Ended approved = place.fenceline({"stage", "approve", id.substr(0, 20), "--as", "ana", "--reason", "fine"});
  EXPECT_EQ(approved.status, 0) << approved.err;
  EXPECT_EQ(approved.out, id + " is at publish, ready\n");
  EXPECT_EQ(work(place, "publish", "cat > published; echo out").status, 0);
  EXPECT_EQ(trimmed(Workplace::read(place.file("published"))), "{\"n\":1}");
  EXPECT_EQ(show(place, id)["state"], "done");
  EXPECT_EQ(show(place, id)["result"], "out\n");
  EXPECT_EQ(board(place)["done"], 1);
  EXPECT_EQ(board(place)["items"].size(), 0U);
  EXPECT_EQ(row(place, id)["state"], "done");
  EXPECT_EQ(acts(place),
            (std::vector<std::string>{"pipeline_applied", "item_advanced", "item_advanced", "item_approved"}));
}

TEST(Pipeline, ACommandSendsItsItemBackButApprovesNothing) {
  const Workplace place;
  apply(place);
  const std::string id = item(place);
  work(place, "ready", "true");
  const Setting inside{.env = {{"PROGRAM", program()}}};
  const Ended ended = place.fenceline({"work", "docs", "--stage", "review", "--drain", "--", "sh", "-c",
                                       "$PROGRAM stage approve $FENCELINE_JOB --as ana; echo $? > approve; $PROGRAM "
                                       "stage move --to ready --reason 'no tests' > moved; echo $? >> moved; exit 1"},
                                      inside);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(trimmed(Workplace::read(place.file("approve"))), "77");
  EXPECT_EQ(Workplace::read(place.file("moved")), id + " is at ready, ready\n0\n");
  const Json shown = show(place, id);
  EXPECT_EQ(shown["stage"], "ready");
  EXPECT_EQ(shown["failures"], 0) << "what it returned then does not count";
  EXPECT_EQ(shown["item"]["returns"], 1);
  EXPECT_EQ(shown["item"]["returned"]["reason"], "no tests");
  EXPECT_TRUE(has(explained(place, id)["returned"], "(no tests)"));
  refused(place, {"stage", "hold", id}, 77, "is for people", {.env = {{"FENCELINE_JOB", id}}});
}

TEST(Pipeline, ACheckIsRunOnlyByWorkersThatWereTold) {
  const Workplace place;
  apply(place,
        "[pipeline]\nname = \"docs\"\nstages = [\"build\", \"ship\"]\n[stage.ship]\nentry = { check = [\"sh\", \"-c\", "
        "\"test -e open || exit 75\"], every = \"1s\" }\n");
  const std::string id = item(place);
  work(place, "build", "true");
  work(place, "ship", "touch shipped");
  EXPECT_FALSE(std::filesystem::exists(place.file("shipped")));
  EXPECT_EQ(row(place, id)["state"], "waiting");
  EXPECT_TRUE(explained(place, id).contains("no_checker"));
  place.write("open", "");
  EXPECT_EQ(work(place, "ship", "touch shipped", {"--run-checks"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(place.file("shipped")));
  EXPECT_EQ(show(place, id)["state"], "done");
}

TEST(Pipeline, ACheckSendsBackWithItsReasonAndTheCapOnLoopsAsksAPerson) {
  const Workplace place;
  apply(place,
        "[pipeline]\nname = \"docs\"\nstages = [\"build\", \"ship\"]\nloops = 1\n[stage.ship]\nentry = { check = "
        "[\"sh\", \"-c\", \"echo too large >&2; exit 65\"] }\n");
  const std::string id = item(place);
  for (const int n : {1, 2}) {
    work(place, "build", "true");
    work(place, "ship", "true", {"--run-checks"});
    EXPECT_EQ(row(place, id)["stage"], "build");
    EXPECT_EQ(row(place, id)["state"], n == 2 ? "on_hold" : "ready");
    EXPECT_TRUE(has(show(place, id)["item"]["returned"]["reason"], "too large"));
  }
  EXPECT_TRUE(has(row(place, id)["waits_for"], "more than loops = 1 allows"));
  EXPECT_TRUE(explained(place, id).contains("on_hold"));
  EXPECT_EQ(place.fenceline({"stage", "release", id, "--reason", "seen"}).status, 0);
  EXPECT_EQ(row(place, id)["state"], "ready");
}

TEST(Pipeline, TheTimeForAnApprovalIsOverWithoutAnybodyAsking) {
  const Workplace place;
  apply(place,
        "[pipeline]\nname = \"docs\"\nstages = [\"write\", \"publish\"]\n[stage.publish]\nentry = { approval = { count "
        "= 1, within = \"1s\", then = \"approve\" } }\n");
  const std::string id = item(place);
  const auto worker = place.start({"work", "docs", "--stage", "publish", "--", "touch", "published"});
  work(place, "write", "true");
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(place.file("published")); }));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
  EXPECT_EQ(show(place, id)["state"], "done");
  EXPECT_EQ(acts(place).back(), "item_expired");
}

TEST(Pipeline, P2_AnItemWhoseWorkerWasKilledIsTakenOverAtItsStage) {
  const Workplace place;
  apply(place, "[pipeline]\nname = \"docs\"\nstages = [\"write\", \"read\"]\n[stage.read]\nttl = \"1s\"\n");
  const std::string id = item(place);
  work(place, "write", "true");
  const auto worker = place.start({"work", "docs", "--stage", "read", "--", "sh", "-c", "touch began; sleep 60"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("began")); }));
  EXPECT_EQ(answer(place, {"board", "docs"})["items"][0]["state"], "running");
  worker->signal(SIGKILL);
  worker->wait();
  EXPECT_EQ(work(place, "read", "true").status, 0);
  const Json shown = show(place, id);
  EXPECT_EQ(shown["state"], "done");
  EXPECT_EQ(shown["losses"], 1);
}

TEST(Pipeline, HoldMoveRejectAndReleaseByPeople) {
  const Workplace place;
  apply(place);
  const std::string id = item(place);
  EXPECT_EQ(place.fenceline({"stage", "hold", id, "--as", "bo", "--reason", "ask legal"}).out,
            id + " is at ready, waiting; waits for bo to release it (ask legal)\n");
  EXPECT_TRUE(has(place.fenceline({"stage", "hold", id}).out, "nothing to change"));
  work(place, "ready", "touch worked");
  EXPECT_FALSE(std::filesystem::exists(place.file("worked")));
  EXPECT_EQ(place.fenceline({"stage", "release", id}).status, 0);
  EXPECT_EQ(place.fenceline({"stage", "move", id, "--to", "review"}).status, 0);
  refused(place, {"stage", "move", id, "--to", "reveiw"}, 65, "did you mean 'review'?");
  refused(place, {"stage", "reject", id}, 64, "--reason is missing");
  refused(place, {"stage", "approve", id}, 65, "waits for no approval");
  refused(place, {"stage", "move", id}, 64, "--to is missing");
  refused(place, {"stage", "hold", "00000000-0000-7000-8000-000000000000"}, 66, "no job");
  const Json rejected = answer(place, {"stage", "reject", id, "--reason", "from the start"});
  EXPECT_EQ(rejected["item"]["stage"], "ready");
  EXPECT_EQ(rejected["changed"], true);
  refused(place, {"stage", "reject", id, "--reason", "more"}, 65, "the first one");
  refused(place, {"stage", "move", id, "--to", "publish"}, 65, "only to review");
}

TEST(Pipeline, ABadFileIsOneLineWithItsLineAndTheKeyThatWasMeant) {
  const Workplace place;
  const auto bad = [&](const std::string& text, const std::string& says) {
    place.write("bad.toml", text);
    refused(place, {"pipeline", "apply", "bad.toml"}, 65, says);
  };
  const std::string head = "[pipeline]\nname = \"docs\"\nstages = [\"a\", \"b\"]\n";
  bad("", "[pipeline] is missing");
  bad("[pipeline\n", "bad.toml:1: not valid TOML");
  bad("[pipeline]\nstages = [\"a\"]\n", "pipeline.name is missing");
  bad("[pipelines]\n", "did you mean 'pipeline'?");
  bad(head + "loop = 3\n", "bad.toml:4: unknown key 'pipeline.loop'; did you mean 'pipeline.loops'?");
  bad(head + "[stage.c]\n", "stage 'c' is not in pipeline.stages");
  bad(head + "[stage.b]\ntimout = \"1m\"\n", "did you mean 'stage.b.timeout'?");
  bad(head + "[stage.b]\nttl = 30\n", "stage.b.ttl must be a quoted string");
  bad(head + "[stage.b]\nttl = \"30\"\n", "stage.b.ttl '30'");
  bad(head + "[stage.b]\nattempts = 0\n", "stage.b.attempts is not valid");
  bad(head + "[stage.b]\nentry = \"approval\"\n", "entry is not a table");
  bad(head + "[stage.b]\nentry = {}\n", "must be either an approval or a check");
  bad(head + "[stage.b]\nentry = { approval = { by = [\"ana\"] } }\n", "count is missing");
  bad(head + "[stage.b]\nentry = { approval = { count = 1, then = \"reject\" } }\n", "within");
  bad(head + "[stage.b]\nentry = { approval = { count = 1, within = \"1d\", then = \"rejct\" } }\n",
      "use reject, approve or hold");
  bad(head + "[stage.b]\nentry = { approval = { count = 2, by = [\"ana\"] } }\n", "only 1 may give one");
  bad(head + "[stage.b]\nentry = { check = [] }\n", "no command");
  bad(head + "[stage.a]\nentry = { approval = { count = 1 } }\n", "stage a is the first one");
  bad(head + "[stage.b]\nmoves = [\"c\"]\n", "not a stage of this pipeline");
  bad(head + "[stage.a]\ninput = \"previous\"\n", "stage a is the first stage");
  bad(head + "[stage.b]\ninput = \"last\"\n", "stage.b.input must be \"payload\" or \"previous\"");
  bad(head + "[tracker]\nclaim = { in_progress = \"a,b\" }\n", "tracker.claim.in_progress must be a label");
  bad("[pipeline]\nname = \"docs\"\nstages = [\"a\", \"a\"]\n", "twice");
  bad("[pipeline]\nname = \"do cs\"\nstages = [\"a\"]\n", "pipeline 'do cs'");
  refused(place, {"pipeline", "apply", "none.toml"}, 66, "none.toml");
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db"))) << "what is wrong does not even make a store";
}

TEST(Pipeline, AStageHandsItsOutputToTheNextOne) {
  const Workplace place;
  apply(place, R"(
[pipeline]
name = "docs"
stages = ["ready", "review"]
[stage.review]
input = "previous"
)");
  const std::string id = item(place, {"--key", "chapter-1", "--payload", R"({"n":1})"});
  EXPECT_EQ(work(place, "ready", "echo \"draft of $FENCELINE_KEY: $(cat)\"").status, 0);
  EXPECT_EQ(work(place, "review", "cat").status, 0);
  EXPECT_TRUE(has(show(place, id)["result"], "draft of chapter-1: {\"n\":1}"));
}

TEST(Pipeline, P2_TheMovesOfItsWorkersAndPeopleAreAudited) {
  const Workplace place;
  const Words noted{"--history", "run.jsonl"};
  apply(place, kDocs, noted);
  const std::string id = item(place, noted);
  for (const char* const stage : {"ready", "review"}) EXPECT_EQ(work(place, stage, "true", noted).status, 0);
  EXPECT_EQ(place.fenceline(joined({"stage", "hold", id, "--as", "bo"}, noted)).status, 0);
  EXPECT_EQ(place.fenceline(joined({"stage", "release", id, "--as", "bo"}, noted)).status, 0);
  EXPECT_EQ(place.fenceline(joined({"stage", "approve", id, "--as", "ana"}, noted)).status, 0);
  EXPECT_EQ(work(place, "publish", "true", noted).status, 0);
  const Json said = answer(place, {"audit", "run.jsonl", "--whole", "--drained"});
  EXPECT_EQ(said["violations"], 0) << said;
  EXPECT_EQ(said["items"], 1);
  EXPECT_GE(said["moves"], 4);
  EXPECT_TRUE(has(place.fenceline({"audit", "run.jsonl"}).out, "1 items, ")) << "in words";

  std::string text = Workplace::read(place.file("run.jsonl"));
  const std::string gate = R"("stage":"gate:publish","delayed":true,"fence":)";
  ASSERT_TRUE(has(text, gate)) << text;
  for (std::size_t at = text.find(gate); at != std::string::npos; at = text.find(gate))
    text.replace(at, gate.size(), R"("stage":"publish","fence":)");
  const Ended ended = place.fenceline({"audit", "-"}, {.input = text});
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_TRUE(has(ended.out, "P1 broken: item ") && has(ended.out, "past the entry condition of publish")) << ended.out;
}

TEST(Pipeline, ShowEditAndRemove) {
  const Workplace place;
  apply(place);
  EXPECT_EQ(place.fenceline({"pipeline", "apply", "docs.toml"}).out, "docs unchanged: ready -> review -> publish\n");
  const Json shown = answer(place, {"pipeline", "show", "docs"});
  EXPECT_EQ(shown["stages"][1]["ttl_ms"], 600'000);
  EXPECT_EQ(
      shown["stages"][2]["entry"],
      (Json{{"kind", "approval"}, {"count", 1}, {"by", {"ana"}}, {"within_ms", 172'800'000}, {"then", "reject"}}));
  EXPECT_EQ(answer(place, {"pipeline", "show"})["pipelines"].size(), 1U);
  refused(place, {"pipeline", "show", "dosc"}, 66, "did you mean 'docs'?");
  refused(place, {"work", "docs", "--stage", "pubish", "--", "true"}, 65, "did you mean 'publish'?");
  refused(place, {"enqueue", "docs", "--stage", "publish"}, 65, "starts at its first stage, ready");
  refused(place, {"enqueue", "mail", "--stage", "ready"}, 65, "queue mail has no pipeline, so it has no stage 'ready'");
  refused(place, {"work", "mail", "--stage", "ready", "--", "true"}, 65, "queue mail has no pipeline");
  refused(place, {"schedule", "add", "s", "--every", "1h", "--queue", "mail", "--stage", "x"}, 65, "has no pipeline");
  refused(place, {"queue", "pause", "docs", "--reason", " "}, 64, "--reason is empty; say why, or leave it out");
  EXPECT_EQ(place.fenceline({"enqueue", "docs", "--stage", "ready"}).status, 0);
  EXPECT_EQ(row(place, place.jobs().at(0)["id"])["stage"], "ready");
  work(place, "ready", "true");
  place.write("docs.toml", "[pipeline]\nname = \"docs\"\nstages = [\"ready\", \"publish\"]\n");
  refused(place, {"pipeline", "apply", "docs.toml"}, 65, "1 at review (");
  refused(place, {"pipeline", "remove", "docs"}, 65, "1 unfinished item");
  const Ended forced = place.fenceline({"pipeline", "apply", "docs.toml", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_TRUE(has(forced.err, "1 item at 'review', which is not a stage of docs now")) << forced.err;
  const Json stray = board(place)["items"][0];
  EXPECT_TRUE(has(stray["waits_for"], "a person to move it")) << stray;
  EXPECT_TRUE(explained(place, stray["id"]).contains("no_stage"));
  EXPECT_EQ(place.fenceline({"stage", "move", stray["id"], "--to", "publish"}).status, 0);
  work(place, "publish", "true");
  EXPECT_EQ(place.fenceline({"pipeline", "remove", "docs"}).status, 0);
  refused(place, {"board", "docs"}, 66, "no pipeline docs");
}

TEST(Pipeline, AStageSaysHowItsWorkersWork) {
  const Workplace place;
  apply(place,
        "[pipeline]\nname = \"docs\"\nstages = [\"write\", \"read\"]\n[stage.read]\ntimeout = \"1s\"\nattempts = "
        "1\nconcurrency = 3\nttl = \"20s\"\n");
  const std::string id = item(place);
  work(place, "write", "true");
  const auto worker = place.start({"work", "docs", "--stage", "read", "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return show(place, id)["state"] == "dead"; }));
  const Json rows = answer(place, {"workers", "list"})["workers"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["concurrency"], 3);
  EXPECT_EQ(rows[0]["ttl_ms"], 20'000);
  EXPECT_EQ(rows[0]["stage"], "read");
  worker->signal(SIGTERM);
  worker->wait();
  EXPECT_TRUE(has(show(place, id)["error"], "timed out after 1s"));
  EXPECT_TRUE(has(explained(place, id)["attempts_used_up"], "1 attempt at stage read"));
}

}  // namespace
}  // namespace fenceline::e2e
