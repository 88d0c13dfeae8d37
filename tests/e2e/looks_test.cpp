// What people type and see: ids cut short, several at once, the end of a log, names that are not there, narrow tables.
#include <signal.h>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

bool no_script() { return Workplace().run({"bash", "-c", "command -v script"}).status != 0; }

// At a terminal of so many columns, without colours.
std::string at_a_terminal(const Workplace& place, const std::string& words, int columns) {
  const Setting setting{.input = "\n",
                        .env = {{"TERM", "xterm"}, {"COLUMNS", std::to_string(columns)}, {"NO_COLOR", "1"}}};
  return place.run({"script", "-qec", "'" + program() + "' " + words, "/dev/null"}, setting).out;
}

TEST(Ids, TheBeginningOfOneIsEnoughIfNoOtherJobBeginsSo) {
  const Workplace place;
  const std::string first = enqueue(place);
  const std::string second = enqueue(place);
  std::size_t same = 0;
  while (first[same] == second[same]) ++same;
  const std::string enough = first.substr(0, std::max<std::size_t>(same + 1, 8));
  EXPECT_EQ(show(place, enough)["id"], first);
  EXPECT_EQ(show(place, first)["id"], first);
  EXPECT_EQ(trimmed(place.fenceline({"job", "cancel", second.substr(0, 35)}).out), second);
  EXPECT_EQ(show(place, second)["state"], "cancelled");
  const auto refused = [&](const Words& words, int status, const std::string& why) {
    const Ended ended = place.fenceline(words);
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_TRUE(one_line(ended.err) && has(ended.err, why)) << ended.err;
  };
  refused({"job", "cancel", first.substr(0, 8)}, 65,
          "matches more than one job: " + first + ", " + second + "; type more of the id");
  refused({"job", "show", first.substr(0, 7)}, 65, "is not a job id");
  refused({"job", "show", "0198f3c1-7a3g"}, 65, "is not a job id");
  refused({"job", "show", first + "0"}, 65, "is not a job id");
  refused({"job", "show", "fffffff0"}, 66, "has an id that ends with fffffff0");
  EXPECT_EQ(show(place, first)["state"], "ready") << "what is not clear changes nothing";
}

TEST(Ids, TheLast8CharactersOfOneAreEnough) {
  const Workplace place;
  const auto end_of = [](const std::string& id) { return id.substr(id.size() - 8); };
  const std::string first = enqueue(place);
  const std::string second = enqueue(place);
  EXPECT_EQ(show(place, end_of(first))["id"], first) << "--json has the whole id";
  EXPECT_EQ(show(place, second.substr(24))["id"], second);
  EXPECT_EQ(show(place, second.substr(14))["id"], second) << "with dashes";
  EXPECT_EQ(trimmed(place.fenceline({"job", "cancel", end_of(second)}).out), second) << "an act echoes the whole id";
  EXPECT_EQ(place.fenceline({"work", "q", "--drain", "--", "sh", "-c", "exit 65"}).status, 0);
  EXPECT_EQ(place.fenceline({"job", "wait", end_of(first)}).status, 65);
  EXPECT_EQ(place.fenceline({"job", "logs", end_of(first)}).status, 0);
  EXPECT_TRUE(has(place.fenceline({"job", "explain", end_of(first)}).out, "job " + first));
  EXPECT_EQ(place.fenceline({"effects", "list", "--job", end_of(first)}).status, 0);
  const Ended redriven = place.fenceline({"dead", "redrive", end_of(first), "--json"});
  EXPECT_EQ(redriven.out, "{\"redriven\":1,\"ids\":[\"" + first + "\"],\"refused\":[]}\n");
  EXPECT_EQ(redriven.err, "fenceline: redrove " + first + "\n");
  EXPECT_EQ(trimmed(place.fenceline({"job", "retry", end_of(second)}).out), second);
}

TEST(Ids, ShowAndExplainTakeSeveralAndNameThoseThatAreNotThere) {
  const Workplace place;
  const std::string first = enqueue(place);
  const std::string second = enqueue(place);
  const std::string none = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10";
  const Ended shown = place.fenceline({"job", "show", first, none, second, first, "--json"});
  EXPECT_EQ(shown.status, 66);
  EXPECT_TRUE(one_line(shown.err) && has(shown.err, none)) << shown.err;
  const std::vector<std::string> lines = lines_of(shown.out);
  ASSERT_EQ(lines.size(), 2U) << "one object a line, none twice";
  EXPECT_EQ(Json::parse(lines[1])["id"], second);
  const Ended explained = place.fenceline({"job", "explain", first, second});
  EXPECT_EQ(explained.status, 0);
  EXPECT_TRUE(has(explained.out, "job " + first + " of queue q is ready\n") && has(explained.out, "\n\njob " + second))
      << explained.out;
}

TEST(JobLogs, TailBeginsWithTheLastLines) {
  const Workplace place;
  const std::string id = enqueue(place);
  drain(place, "for i in 1 2 3 4; do echo line $i >&2; sleep 0.15; done; printf end >&2");
  EXPECT_EQ(place.fenceline({"job", "logs", id, "--tail", "2"}).out, "line 4\nend");
  EXPECT_EQ(place.fenceline({"job", "logs", id, "--tail", "0"}).out, "");
  EXPECT_EQ(place.fenceline({"job", "logs", id, "--tail", "99"}).out, "line 1\nline 2\nline 3\nline 4\nend");
  EXPECT_EQ(place.fenceline({"job", "logs", id, "--tail", "-1"}).status, 64);
}

TEST(JobLogs, TheLogOfACancelledJobIsKept) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto worker = place.start({"work", "q", "--", "sh", "-c", "echo one >&2; echo two >&2; touch said; sleep 100"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("said")); })) << worker->err();
  ASSERT_TRUE(eventually([&] { return place.fenceline({"job", "logs", id}).out == "one\ntwo\n"; })) << "while it runs";
  ASSERT_EQ(place.fenceline({"job", "cancel", id}).status, 0);
  EXPECT_EQ(place.fenceline({"job", "logs", id}).out, "one\ntwo\n");
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
}

TEST(JobWait, OneThatIsNotFinishedInTimeGoesBeforeAllOthers) {
  const Workplace place;
  const std::string dead = enqueue(place, {"--max-attempts", "1"});
  const std::string done = enqueue(place, {"--payload", "1"});
  drain(place, "read n; [ $n = 1 ] && echo fine || exit 7");
  const std::string later = enqueue(place, {"--delay", "1h"});
  EXPECT_EQ(place.fenceline({"job", "wait", dead, done}).status, 7);
  const Ended ended = place.fenceline({"job", "wait", later, dead, done, "--timeout", "0s"});
  EXPECT_EQ(ended.status, 75);
  EXPECT_EQ(ended.out, "fine\n") << "the others are told all the same";
  EXPECT_TRUE(has(ended.err, later) && has(ended.err, dead)) << ended.err;
  EXPECT_EQ(place.fenceline({"job", "wait", dead, later, "--timeout", "0s"}).status, 75);
}

TEST(Queue, AnUnknownQueueExitsWith66OrShowsAnEmptyListWithANote) {
  const Workplace place;
  enqueue(place);
  for (const Words& words : std::vector<Words>{{"queue", "show", "qq"},
                                               {"queue", "resume", "qq"},
                                               {"queue", "purge", "qq", "--yes"},
                                               {"dead", "redrive", "--queue", "qq", "--yes"}}) {
    const Ended ended = place.fenceline(words);
    EXPECT_EQ(ended.status, 66) << words[1];
    EXPECT_TRUE(one_line(ended.err) && has(ended.err, "no queue qq in namespace default; did you mean 'q'?"))
        << ended.err;
  }
  for (const Words& words :
       std::vector<Words>{{"jobs", "--queue", "qq", "--json"}, {"dead", "list", "--each", "--queue", "qq", "--json"}}) {
    const Ended ended = place.fenceline(words);
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, "{\"jobs\":[],\"next\":null}\n");
    EXPECT_TRUE(one_line(ended.err) && has(ended.err, "no queue qq")) << ended.err;
  }
  EXPECT_EQ(place.fenceline({"dead", "list", "--queue", "q"}).err, "") << "one that is here may be empty";
}

TEST(Queue, OneThatWasNamedByMistakeIsGoneWhenThatIsTakenBack) {
  const Workplace place;
  enqueue(place);
  const auto names = [&] {
    std::vector<std::string> out;
    for (const Json& queue : Json(answer(place, {"queue", "list"})["queues"])) out.push_back(queue["queue"]);
    return out;
  };
  ASSERT_EQ(place.fenceline({"queue", "pause", "mistake"}).status, 0);
  ASSERT_EQ(place.fenceline({"queue", "set", "other", "--limit", "2"}).status, 0);
  EXPECT_EQ(names(), (std::vector<std::string>{"mistake", "other", "q"}));
  ASSERT_EQ(place.fenceline({"queue", "resume", "mistake"}).status, 0);
  EXPECT_EQ(answer(place, {"queue", "set", "other", "--limit", "0"})["limit"], 0);
  EXPECT_EQ(names(), (std::vector<std::string>{"q"}));
}

TEST(Queue, ASecondPauseSaysWhoseStays) {
  const Workplace place;
  enqueue(place);
  ASSERT_EQ(place.fenceline({"queue", "pause", "q", "--as", "ana", "--reason", "first"}).status, 0);
  const Ended again = place.fenceline({"queue", "pause", "q", "--as", "bob", "--reason", "second"});
  EXPECT_EQ(again.status, 0);
  EXPECT_TRUE(one_line(again.err) && has(again.err, "is already paused by ana since ") &&
              has(again.err, "(first); resume it first"))
      << again.err;
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["paused"]["by"], "ana");
  ASSERT_EQ(place.fenceline({"queue", "resume", "q"}).status, 0);
  EXPECT_TRUE(has(place.fenceline({"queue", "resume", "q"}).err, "is not paused"));
}

TEST(Queue, JobsWhoseTimeHasNotComeAreNoBacklog) {
  const Workplace place;
  enqueue(place);
  enqueue(place, {"--delay", "1h"});
  const Json row = answer(place, {"queue", "show", "q"});
  EXPECT_EQ(row["ready"], 2);
  EXPECT_EQ(row["not_due"], 1);
  EXPECT_TRUE(has(place.fenceline({"queue", "show", "q"}).out, "not_due\t1\n"));
  EXPECT_TRUE(has(place.fenceline({"help", "jobs"}).out, "waiting"));
}

TEST(Dead, ARedriveTakesATag) {
  const Workplace place;
  const std::string tagged = enqueue(place, {"--tag", "customer=7", "--max-attempts", "1"});
  const std::string other = enqueue(place, {"--max-attempts", "1"});
  drain(place, "exit 1");
  const Ended unasked = place.fenceline({"dead", "redrive", "--tag", "customer=7"});
  EXPECT_EQ(unasked.status, 64);
  EXPECT_TRUE(has(unasked.err, "1 dead job of all queues with tag customer=7")) << unasked.err;
  EXPECT_EQ(place.fenceline({"dead", "redrive", "--tag", "customer=7", "--yes"}).out, "1\n");
  EXPECT_EQ(show(place, tagged)["state"], "ready");
  EXPECT_EQ(show(place, other)["state"], "dead");
  EXPECT_EQ(place.fenceline({"dead", "redrive", other, "--tag", "x"}).status, 64);
}

TEST(Workers, OneThatIsGoneIsCalledSoAndIsNotTold) {
  const Workplace place;
  enqueue(place);
  const Ended nobody = place.fenceline({"workers", "stop", "--all"});
  EXPECT_EQ(nobody.status, 0);
  EXPECT_TRUE(one_line(nobody.err) && has(nobody.err, "no worker of namespace default is alive")) << nobody.err;
  const auto worker = place.start({"work", "q", "--ttl", "1s", "--", "true"});
  ASSERT_TRUE(eventually([&] { return answer(place, {"workers", "list"})["workers"].size() == 1; })) << worker->err();
  EXPECT_EQ(answer(place, {"workers", "list"})["workers"][0]["gone"], false);
  worker->signal(SIGKILL);
  worker->wait();
  ASSERT_TRUE(eventually([&] { return answer(place, {"workers", "list"})["workers"][0]["gone"] == true; }));
  EXPECT_TRUE(has(place.fenceline({"workers", "list"}).out, "\tgone\t"));
  const Ended all = place.fenceline({"workers", "stop", "--all"});
  EXPECT_EQ(all.out, "");
  EXPECT_TRUE(has(all.err, "1 worker skipped")) << all.err;
}

TEST(Work, TheGuardianOfACommandIsFoundByOurName) {
  const Workplace place;
  enqueue(place);
  drain(place, "tr '\\0' ' ' < /proc/$PPID/cmdline > name");
  EXPECT_TRUE(Workplace::read(place.file("name")).starts_with("fenceline guardian "))
      << Workplace::read(place.file("name"));
}

TEST(Enqueue, AnUnknownTimeZoneIsRefused) {
  const Workplace place;
  const auto with_zone = [&](const std::string& zone, const std::string& at) {
    return place.fenceline({"enqueue", "q", "--at", at}, {.env = {{"TZ", zone}}});
  };
  const std::string local = "2026-12-31 02:30";
  const Ended refused = with_zone("Nowhere/Land", local);
  EXPECT_EQ(refused.status, 64);
  EXPECT_TRUE(one_line(refused.err) && has(refused.err, "TZ 'Nowhere/Land' is not a time zone of this machine"))
      << refused.err;
  EXPECT_EQ(place.dump(), "(none)");
  for (const char* zone : {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", ""}) {
    const Ended fine = with_zone(zone, local);
    EXPECT_TRUE(fine.status == 0 || has(fine.err, "too far in the future")) << zone << ": " << fine.err;
  }
  EXPECT_FALSE(has(with_zone("Nowhere/Land", "2026-12-31T02:30:00Z").err, "TZ"))
      << "one that names its zone needs none";
}

TEST(Manners, AHintIsOnlyGivenForASlip) {
  const Workplace place;
  const auto said = [&](const Words& words) {
    const Ended ended = place.fenceline(words);
    EXPECT_EQ(ended.status, 64);
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    return ended.err;
  };
  EXPECT_FALSE(has(said({"queue", "foo"}), "did you mean"));
  EXPECT_FALSE(has(said({"queue", "frobnicate", "lim"}), "did you mean"));
  EXPECT_FALSE(has(said({"dead", "list", "--state", "done"}), "did you mean"));
  EXPECT_TRUE(has(said({"queue", "lst"}), "did you mean 'queue list'?"));
  EXPECT_TRUE(has(said({"queues"}), "'fenceline help queue' lists its commands"));
  EXPECT_TRUE(has(said({"jobs", "--quue", "q"}), "did you mean '--queue'?"));
  EXPECT_FALSE(has(said({"help", "--json"}), "unknown command"));
}

TEST(Tables, OnATerminalOf80ColumnsTheTrailHasTimesShortIdsAndWholeReasons) {
  if (no_script()) GTEST_SKIP() << "script is not here";
  const Workplace place;
  const std::string id = enqueue(place);
  ASSERT_EQ(place.fenceline({"job", "cancel", id, "--as", "ana", "--reason", "a rather long story of why"}).status, 0);
  const std::string trail = at_a_terminal(place, "trail", 80);
  EXPECT_TRUE(has(trail, "Z  ana ") && has(trail, "  " + id.substr(28) + "  ") &&
              has(trail, "a rather long story of why"))
      << trail;
  for (const std::string& line : lines_of(trail)) EXPECT_LE(line.size(), 82U) << line;
  ASSERT_EQ(place.fenceline({"queue", "pause", "q", "--as", "ana", "--reason", "why"}).status, 0);
  const std::string queues = at_a_terminal(place, "queue list", 80);
  EXPECT_TRUE(has(queues, "Z: why")) << queues;
  for (const std::string& line : lines_of(queues)) EXPECT_LE(line.size(), 81U) << line;
}

TEST(Tables, OnATerminalOf80ColumnsLocksAreOneTableWithWholeNames) {
  if (no_script()) GTEST_SKIP() << "script is not here";
  const Workplace place;
  const std::string name = "deploy-of-the-whole-shop-in-production-with-migrations";
  ASSERT_EQ(place.fenceline({"lock", name, "--", "true"}).status, 0);
  ASSERT_EQ(place.fenceline({"lock", "short", "--", "true"}).status, 0);
  const std::string locks = at_a_terminal(place, "locks list", 80);
  for (const std::string& line : lines_of(locks)) EXPECT_LE(line.size(), 81U) << line;
  std::string letters;  // of the first column, put together
  for (const std::string& line : lines_of(locks)) letters += line.substr(0, line.find_first_of(" \r"));
  EXPECT_TRUE(has(letters, name)) << locks;
}

TEST(Tables, AnEmptyListSaysSoAtATerminalAndIsAHeaderInAPipe) {
  if (no_script()) GTEST_SKIP() << "script is not here";
  const Workplace place;
  ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
  const std::vector<std::pair<std::string, std::string>> lists{
      {"jobs", "no jobs match"},
      {"dead list", "no dead jobs match"},
      {"queue list", "no queues in namespace default"},
      {"schedule list", "no schedules in namespace default"},
      {"pipeline show", "no pipelines; create one with: fenceline pipeline apply FILE"},
      {"locks list", "no locks"},
      {"workers list", "no workers; start one with: fenceline work QUEUE -- CMD"},
      {"effects list", "no effects"}};
  std::string all, said;
  for (const auto& [words, says] : lists) {
    all += (all.empty() ? "" : "; '" + program() + "' ") + words;
    said += "fenceline: " + says + "\r\n";
    const Ended piped = place.run({"sh", "-c", "'" + program() + "' " + words});
    EXPECT_EQ(lines_of(piped.out).size(), 1U) << words << ": " << piped.out;
    EXPECT_EQ(piped.err, "") << words;
  }
  EXPECT_EQ(at_a_terminal(place, all, 80), "\r\n" + said) << "the first line is the echo of the input";
}

TEST(Work, AQueueThatNeverHadAJobIsNamed) {
  const Workplace place;
  enqueue(place);
  const Ended ended = place.fenceline({"work", "qq", "--drain", "--", "true"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(has(ended.err, "fenceline: queue qq (did you mean 'q'?) has no jobs yet\n")) << ended.err;
  ASSERT_EQ(place.fenceline({"schedule", "add", "daily", "--every", "1d", "--queue", "reports"}).status, 0);
  EXPECT_FALSE(has(place.fenceline({"work", "reports", "--drain", "--", "true"}).err, "no jobs yet")) << "it will have";
  const Ended known = place.fenceline({"work", "q", "--drain", "--", "true"});
  EXPECT_FALSE(has(known.err, "no jobs yet")) << known.err;
  EXPECT_FALSE(has(place.fenceline({"work", "q", "--drain", "--", "true"}).err, "no jobs yet")) << "it had one";
}

}  // namespace
}  // namespace fenceline::e2e
