// What an operator sees of effects, and says of those in doubt.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "jobs.hpp"
#include "program.hpp"

namespace fenceline::e2e {
namespace {

// A job that waits because its mail may have been sent.
std::string in_doubt(const Workplace& place) {
  const std::string id = enqueue(place);
  drain(place, program() + " effect mail -- sh -c 'exit 3'");
  EXPECT_EQ(show(place, id)["state"], "waiting");
  return id;
}

TEST(EffectsList, NamesEveryDoubtAndNothingElse) {
  const Workplace place;
  const std::string waits = in_doubt(place);
  const std::string fine = enqueue(place);
  drain(place, program() + " effect mail -- true");
  EXPECT_EQ(Json(answer(place, {"effects", "list"})["effects"]).size(), 2U);
  const Json doubts = answer(place, {"effects", "list", "--in-doubt"});
  ASSERT_EQ(doubts["effects"].size(), 1U);
  EXPECT_TRUE(doubts["next"].is_null());
  const Json& doubt = doubts["effects"][0];
  EXPECT_EQ(doubt["job"], waits);
  EXPECT_EQ(doubt["name"], "mail");
  EXPECT_EQ(doubt["state"], "intent");
  EXPECT_EQ(doubt["policy"], "hold");
  EXPECT_EQ(doubt["key"], waits + ".mail");
  EXPECT_TRUE(doubt["job_waits"]);
  EXPECT_FALSE(doubt.contains("result"));
  const Ended table = place.fenceline({"effects", "list", "--job", fine.substr(0, 18), "--in-doubt"});
  EXPECT_EQ(lines_of(table.out).size(), 1U) << table.out;
  const Ended words = place.fenceline({"effects", "list", "--in-doubt"});
  EXPECT_TRUE(has(words.out, waits + "\tmail\tintent\tjob waits\thold")) << words.out;
}

TEST(EffectsList, ExplainAndDoctorNameADoubtAlsoOfAJobThatDoesNotWait) {
  const Workplace place;
  const std::string dead = enqueue(place, {"--max-attempts", "1"});
  drain(place, program() + " effect mail --in-doubt repeat -- sh -c 'exit 3'");
  EXPECT_EQ(show(place, dead)["state"], "dead");
  const std::string told = explained(place, dead)["effect_in_doubt"];
  EXPECT_TRUE(has(told, "decides by 'repeat'") &&
              has(told, "fenceline effects resolve " + dead + " mail --done, or --none"))
      << told;
  const auto effects_finding = [&] {
    Json found;
    for (const Json& finding : Json(Json::parse(place.fenceline({"doctor", "--json"}).out)["findings"])) {
      if (finding["name"] == "effects_in_doubt") found = finding;
    }
    return found;
  };
  EXPECT_EQ(effects_finding()["status"], "warning");
  EXPECT_TRUE(has(effects_finding()["detail"], "effect mail of job " + dead + ", begun under fence "))
      << effects_finding();
  EXPECT_EQ(effects_finding()["remedy"],
            "fenceline effects resolve " + dead + " mail --done  # or --none if it did not happen");
  EXPECT_EQ(place.fenceline({"effects", "resolve", dead, "mail", "--none"}).status, 0);
  EXPECT_FALSE(explained(place, dead).contains("effect_in_doubt"));
  EXPECT_EQ(effects_finding()["status"], "ok");
}

TEST(EffectsList, JobWaitReportsOnceThatAJobWaits) {
  const Workplace place;
  const std::string id = in_doubt(place);
  const Ended late = place.fenceline({"job", "wait", id, "--timeout", "300ms"});
  EXPECT_EQ(late.status, 75);
  const std::vector<std::string> lines = lines_of(late.err);
  ASSERT_EQ(lines.size(), 2U) << late.err;
  EXPECT_EQ(lines[0], "fenceline: job " + id + " waits for a person; see 'fenceline job explain " + id + "'");
  EXPECT_TRUE(has(lines[1], "has not finished after 300ms")) << late.err;
}

TEST(EffectsList, GoesInPages) {
  const Workplace place;
  const std::string id = enqueue(place);
  drain(place, "for n in 1 2 3; do " + program() + " effect mail-$n -- true; done");
  const Json first = answer(place, {"effects", "list", "--limit", "2"});
  EXPECT_EQ(first["effects"].size(), 2U);
  const Json second = answer(place, {"effects", "list", "--after", first["next"]});
  ASSERT_EQ(second["effects"].size(), 1U);
  EXPECT_EQ(second["effects"][0]["name"], "mail-3");
  EXPECT_EQ(Json(answer(place, {"effects", "list", "--all"})["effects"]).size(), 3U);
}

TEST(EffectsResolve, DoneLetsTheJobGoOnWithThatResult) {
  const Workplace place;
  const std::string id = in_doubt(place);
  const Ended ended = place.fenceline({"effects", "resolve", id.substr(0, 18), "mail", "--done", "--result",
                                       "sent by hand", "--as", "ana", "--reason", "seen in the outbox"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, id + " mail done\n");
  EXPECT_EQ(show(place, id)["state"], "ready");
  drain(place, program() + " effect mail -- sh -c 'exit 3'");
  EXPECT_EQ(show(place, id)["state"], "done");
  EXPECT_EQ(show(place, id)["result"], "sent by hand");
  const Json trail = answer(place, {"trail"})["trail"];
  EXPECT_EQ(trail.back()["act"], "effect_resolved");
  EXPECT_EQ(trail.back()["actor"], "ana");
  EXPECT_EQ(trail.back()["reason"], "seen in the outbox");
  // Again: it is so already.
  EXPECT_EQ(place.fenceline({"effects", "resolve", id, "mail", "--done"}).status, 0);
  const Ended other = place.fenceline({"effects", "resolve", id, "mail", "--none"});
  EXPECT_EQ(other.status, 65);
  EXPECT_TRUE(one_line(other.err)) << other.err;
}

TEST(EffectsResolve, NoneLetsTheNextDeliveryDoIt) {
  const Workplace place;
  const std::string id = in_doubt(place);
  EXPECT_EQ(answer(place, {"effects", "resolve", id, "mail", "--none"})["state"], "none");
  drain(place,
        program() + " effect mail -- sh -c 'exit 3' || " + program() + " effect mail2 -- echo $FENCELINE_DELIVERY");
  EXPECT_EQ(show(place, id)["state"], "waiting") << "its command was run, and failed again";
}

TEST(EffectsResolve, AResultMayComeFromAFile) {
  const Workplace place;
  const std::string id = in_doubt(place);
  place.write("result", std::string("a\0b", 3));
  EXPECT_EQ(place.fenceline({"effects", "resolve", id, "mail", "--done", "--result-file", "result"}).status, 0);
  drain(place, program() + " effect mail -- sh -c 'exit 3' >out");
  EXPECT_EQ(Workplace::read(place.file("out")), std::string("a\0b", 3));
}

TEST(EffectsResolve, AnEffectThatItsHolderIsDoingIsLeftToIt) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto worker =
      place.start({"work", "q", "--drain", "--", "sh", "-c",
                   program() + " effect mail -- sh -c 'touch begun; while ! test -e go; do sleep 0.02; done'"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("begun")); }));
  const Ended ended = place.fenceline({"effects", "resolve", id, "mail", "--done"});
  EXPECT_EQ(ended.status, 75);
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  place.write("go", "");
  EXPECT_EQ(worker->wait().status, 0);
  EXPECT_EQ(show(place, id)["state"], "done");
}

// A worker that is stopped cannot stop its handler: that one may be at anything still. So its place is kept, and nobody
// speaks over it.
TEST(EffectsResolve, AnEffectThatAWaitingJobsHandlerMayStillBeDoingIsLeftToIt) {
  const Workplace place;
  EXPECT_EQ(place.fenceline({"queue", "set", "q", "--limit", "1"}).status, 0);
  const std::string id = enqueue(place);
  const auto worker = place.start({"work", "q", "--ttl", "1m", "--drain", "--", "sh", "-c",
                                   "touch runs; while ! test -e go; do sleep 0.02; done; " + program() +
                                       " effect mail -- sh -c 'exit 3'; touch held; sleep 60"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("runs")); }));
  worker->signal(SIGSTOP);
  place.write("go", "");
  const bool held = eventually([&] { return std::filesystem::exists(place.file("held")); });
  const std::string behind = enqueue(place);
  const Ended early = place.fenceline({"effects", "resolve", id, "mail", "--none"});
  const std::string blocked = explained(place, behind)["limit"];
  worker->signal(SIGCONT);
  EXPECT_TRUE(held);
  EXPECT_EQ(early.status, 75);
  EXPECT_TRUE(one_line(early.err) && has(early.err, "its holder may still be running")) << early.err;
  EXPECT_TRUE(has(blocked, id)) << blocked;
  EXPECT_TRUE(eventually([&] { return !explained(place, id).contains("slot"); })) << "its worker stopped it";
  EXPECT_EQ(place.fenceline({"effects", "resolve", id, "mail", "--done"}).status, 0);
}

TEST(EffectsCommands, BadInputGetsOneLineAndChangesNothing) {
  const Workplace place;
  const std::string id = in_doubt(place);
  place.write("large", std::string((1 << 20) + 1, 'x'));
  const std::string before = place.dump();
  const std::string other = "01a1df00-da4f-71dd-93a9-abdb19596342";
  const std::vector<std::pair<Words, int>> wrong{
      {{"effects", "resolve", id, "mail"}, 64},
      {{"effects", "resolve", id, "mail", "--done", "--none"}, 64},
      {{"effects", "resolve", id, "mail", "--none", "--result", "x"}, 64},
      {{"effects", "resolve", id, "mail", "--done", "--result", "x", "--result-file", "large"}, 64},
      {{"effects", "resolve", id}, 64},
      {{"effects", "resolve", id, "mail", "--done", "--result-file", "large"}, 65},
      {{"effects", "resolve", id, "mail", "--done", "--result-file", "none"}, 66},
      {{"effects", "resolve", id, "two words", "--done"}, 65},
      {{"effects", "resolve", "x", "mail", "--done"}, 65},
      {{"effects", "resolve", id, "letter", "--done"}, 66},
      {{"effects", "resolve", other, "mail", "--done"}, 66},
      {{"effects", "list", "--job", other}, 66},
      {{"effects", "list", "--job", "x"}, 65},
      {{"effects", "list", "--limit", "0"}, 64},
      {{"effects", "list", "--all", "--limit", "5"}, 64},
      {{"effects", "list", "--result"}, 64},
      {{"effects"}, 64}};
  for (const auto& [words, status] : wrong) {
    const Ended ended = place.fenceline(words);
    EXPECT_EQ(ended.status, status) << testing::PrintToString(words) << ended.err;
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
  }
  EXPECT_EQ(place.dump(), before);
}

}  // namespace
}  // namespace fenceline::e2e
