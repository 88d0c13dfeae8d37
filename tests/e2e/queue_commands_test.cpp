// `fenceline queue ...`, `fenceline dead ...` and `fenceline workers ...`: what operators do.
#include <signal.h>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

void enqueue_many(const Workplace& place, const std::string& queue, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += std::to_string(i) + "\n";
  const Ended ended = place.fenceline({"enqueue", queue, "--jsonl", "-", "--max-attempts", "1"}, {.input = lines});
  ASSERT_EQ(ended.status, 0) << ended.err;
}

// Runs a command at a terminal of its own, with this typed into it; what it wrote to stdout and stderr.
Ended queues_at_a_terminal(const Workplace& place, const std::string& words, const std::string& typed) {
  return place.run({"script", "-qec", "'" + program() + "' " + words, "/dev/null"}, {.input = typed});
}

bool no_script_for_queues() { return Workplace().run({"bash", "-c", "command -v script"}).status != 0; }

TEST(Queue, ListAndShowTellHowManyJobsAreWhere) {
  const Workplace place;
  enqueue_many(place, "q", 3);
  enqueue_many(place, "other", 1);
  drain(place, "read n; exit $n");  // 0 is done, 1 and 2 are dead
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const Json queues = answer(place, {"queue", "list"})["queues"];
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0]["queue"], "other");
  EXPECT_EQ(queues[1]["queue"], "q");
  EXPECT_EQ(queues[1]["ready"], 1);
  EXPECT_EQ(queues[1]["done"], 1);
  EXPECT_EQ(queues[1]["dead"], 2);
  EXPECT_EQ(queues[1]["running"], 0);
  EXPECT_EQ(answer(place, {"queue", "show", "q"}), queues[1]);
  EXPECT_TRUE(place.fenceline({"queue", "list"})
                  .out.starts_with("queue\tready\tnot_due\trunning\twaiting\tdone\tdead\tcancelled\t"));
  EXPECT_TRUE(has(place.fenceline({"queue", "show", "q"}).out, "dead\t2\n"));
  const Ended unknown = place.fenceline({"queue", "show", "othr"});
  EXPECT_EQ(unknown.status, 66);
  EXPECT_TRUE(one_line(unknown.err) && has(unknown.err, "did you mean 'other'?")) << unknown.err;
}

TEST(Queue, SetChangesWhatItNamesAndNothingElse) {
  const Workplace place;
  enqueue_many(place, "q", 1);
  const Json first = answer(place, {"queue", "set", "q", "--limit", "3", "--keep-done", "2d"});
  EXPECT_EQ(first["limit"], 3);
  EXPECT_EQ(first["keep_done_ms"], 172'800'000);
  EXPECT_EQ(first["limit_per_key"], 0);
  const Json second = answer(place, {"queue", "set", "q", "--limit-per-key", "1"});
  EXPECT_EQ(second["limit"], 3);
  EXPECT_EQ(second["limit_per_key"], 1);
  for (const Words& bad :
       std::vector<Words>{{}, {"--limit", "-1"}, {"--limit", "10001"}, {"--keep-done", "1h"}, {"--keep-dead", "1"}}) {
    const Ended ended = place.fenceline(joined({"queue", "set", "q"}, bad));
    EXPECT_EQ(ended.status, 64) << ended.err;
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
  }
  EXPECT_EQ(answer(place, {"queue", "show", "q"}), second);
}

TEST(Queue, APausedQueueStartsNothingUntilItIsResumed) {
  const Workplace place;
  enqueue_many(place, "q", 2);
  ASSERT_EQ(place.fenceline({"queue", "pause", "q", "--as", "ana", "--reason", "moving"}).status, 0);
  drain(place, "echo >> ran");
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
  const Json paused = answer(place, {"queue", "show", "q"})["paused"];
  EXPECT_EQ(paused["by"], "ana");
  EXPECT_EQ(paused["reason"], "moving");
  EXPECT_TRUE(has(place.fenceline({"queue", "list"}).out, "by ana since "));
  ASSERT_EQ(place.fenceline({"queue", "resume", "q"}).status, 0);
  EXPECT_TRUE(answer(place, {"queue", "show", "q"})["paused"].is_null());
  drain(place, "echo >> ran");
  EXPECT_EQ(lines_of(Workplace::read(place.file("ran"))).size(), 2U);
  std::vector<std::string> acts;
  for (const Json& entry : Json(answer(place, {"trail"})["trail"])) acts.push_back(entry["act"]);
  EXPECT_EQ((std::vector<std::string>(acts.end() - 2, acts.end())),
            (std::vector<std::string>{"queue_paused", "queue_resumed"}));
  EXPECT_TRUE(has(place.fenceline({"queue", "pause", "p"}).err, "queue p is new")) << "it may be mistyped";
}

TEST(Queue, PurgeAsksFirstAndCancelsWhatWaits) {
  const Workplace place;
  enqueue_many(place, "q", 1500);
  const Ended unasked = place.fenceline({"queue", "purge", "q"});
  EXPECT_EQ(unasked.status, 64);
  EXPECT_TRUE(one_line(unasked.err) && has(unasked.err, "1500 jobs of queue q") && has(unasked.err, "--yes"))
      << unasked.err;
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["ready"], 1500);
  const Ended purged = place.fenceline({"queue", "purge", "q", "--yes", "--reason", "sent by hand"});
  EXPECT_EQ(purged.status, 0) << purged.err;
  EXPECT_EQ(purged.out, "1500\n");
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["cancelled"], 1500);
  EXPECT_EQ(answer(place, {"queue", "purge", "q"})["cancelled"], 0) << "with nothing to do there is nothing to ask";
  EXPECT_EQ(answer(place, {"trail"})["trail"].back()["act"], "queue_purged");
  EXPECT_EQ(place.fenceline({"queue", "purge", "unknown", "--yes"}).status, 66);
}

TEST(Queue, APurgeThatIsInterruptedLeavesWholeStepsAndSaysHowMany) {
  const Workplace place;
  enqueue_many(place, "q", 30'000);
  const auto running = place.start({"queue", "purge", "q", "--yes"});
  ASSERT_TRUE(eventually([&] { return answer(place, {"queue", "show", "q"})["cancelled"] > 0; }));
  running->signal(SIGINT);
  const Ended ended = running->wait();
  const Json row = answer(place, {"queue", "show", "q"});
  const std::int64_t cancelled = row["cancelled"];
  EXPECT_EQ(row["ready"].get<std::int64_t>() + cancelled, 30'000) << "none is lost";
  if (ended.status == 0) EXPECT_EQ(ended.out, "30000\n");  // it was quicker than the signal
  else
    EXPECT_TRUE(ended.status == 130 && has(ended.err, "interrupted; " + std::to_string(cancelled) + " jobs cancelled"))
        << ended.err;
  EXPECT_EQ(place.fenceline({"queue", "purge", "q", "--yes"}).status, 0);
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["cancelled"], 30'000);
}

TEST(Queue, PurgeTakesYesOrNoAtATerminal) {
  if (no_script_for_queues()) GTEST_SKIP() << "script is not here";
  const Workplace place;
  enqueue_many(place, "q", 2);
  const Ended no = queues_at_a_terminal(place, "queue purge q", "n\n");
  EXPECT_EQ(no.status, 1) << no.out;
  EXPECT_TRUE(has(no.out, "this cancels 2 jobs of queue q. [y/N] ") && has(no.out, "nothing was changed")) << no.out;
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["ready"], 2);
  const Ended yes = queues_at_a_terminal(place, "queue purge q", "y\n");
  EXPECT_EQ(yes.status, 0) << yes.out;
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["cancelled"], 2);
}

TEST(Dead, ListAndRedriveByIdAndByQueue) {
  const Workplace place;
  enqueue_many(place, "q", 5);
  drain(place, "exit 1");
  const Json dead = answer(place, {"dead", "list", "--each", "--sort", "oldest"})["jobs"];
  ASSERT_EQ(dead.size(), 5U);
  EXPECT_EQ(dead[0]["state"], "dead");
  const std::string first = dead[0]["id"];
  EXPECT_EQ(place.fenceline({"dead", "redrive", first}).out, "1\n");
  EXPECT_EQ(show(place, first)["state"], "ready");
  const Ended not_dead = place.fenceline({"dead", "redrive", first});
  EXPECT_EQ(not_dead.status, 65);
  EXPECT_EQ(not_dead.out, "0\n");
  EXPECT_TRUE(has(not_dead.err, "not dead")) << not_dead.err;

  const Ended unasked = place.fenceline({"dead", "redrive", "--queue", "q"});
  EXPECT_EQ(unasked.status, 64);
  EXPECT_TRUE(one_line(unasked.err) && has(unasked.err, "4 dead jobs of queue q") && has(unasked.err, "--yes"))
      << unasked.err;
  EXPECT_EQ(answer(place, {"dead", "redrive", "--queue", "q", "--limit", "3", "--yes"})["redriven"], 3);
  EXPECT_EQ(place.fenceline({"dead", "redrive"}).status, 64) << "one is asked for like many";
  EXPECT_EQ(answer(place, {"dead", "list", "--each", "--sort", "oldest"})["jobs"].size(), 1U);
  EXPECT_EQ(place.fenceline({"dead", "redrive", "--yes"}).out, "1\n");
  EXPECT_EQ(place.fenceline({"dead", "redrive"}).out, "0\n") << "with nothing to do there is nothing to ask";
  EXPECT_EQ(answer(place, {"dead", "list", "--each", "--sort", "oldest"})["jobs"].size(), 0U);
  drain(place, "true");
  EXPECT_EQ(answer(place, {"queue", "show", "q"})["done"], 5);
  EXPECT_EQ(place.fenceline({"dead", "redrive", "--queue", "../"}).status, 65);
  EXPECT_EQ(place.fenceline({"dead", "redrive", first, "--queue", "q"}).status, 64);
}

TEST(Dead, ARedriveOntoATakenKeyIsRefusedAndTheOthersGoOn) {
  const Workplace place;
  const std::string keyed = enqueue(place, {"--key", "k", "--max-attempts", "1"});
  enqueue_many(place, "q", 2);
  drain(place, "exit 1");
  const std::string holder = enqueue(place, {"--key", "k", "--delay", "1h"});
  const Ended ended = place.fenceline({"dead", "redrive", "--yes", "--json"});
  EXPECT_EQ(ended.status, 65);
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json["redriven"], 2);
  EXPECT_EQ(json["refused"], (Json{{{"id", keyed}, {"reason", "key_taken"}, {"holder", holder}}}));
}

TEST(Workers, AQuietOneClaimsNothingUntilItIsResumedAndAStoppedOneEnds) {
  const Workplace place;
  enqueue_many(place, "q", 1);
  const auto worker = place.start({"work", "q", "--", "sh", "-c", "echo >> ran"});
  const auto ran = [&] { return lines_of(Workplace::read(place.file("ran"))).size(); };
  ASSERT_TRUE(eventually([&] { return ran() == 1; })) << worker->err();
  const std::string owner = answer(place, {"workers", "list"})["workers"][0]["owner"];
  EXPECT_EQ(place.fenceline({"workers", "quiet", owner, "--reason", "upgrade", "--as", "ana"}).out, owner + "\n");
  EXPECT_EQ(answer(place, {"workers", "list"})["workers"][0]["order"], "quiet");
  const std::string id = enqueue(place);  // at once: whether or not the worker has heard of it
  EXPECT_EQ(explained(place, id).at("quiet_workers"),
            "the worker that serves queue q is quiet: " + owner +
                " by ana (upgrade); resume them with: fenceline workers resume " + owner);
  ASSERT_TRUE(eventually([&] { return worker->err().find("worker_ordered") != std::string::npos; })) << worker->err();
  EXPECT_EQ(ran(), 1U);
  EXPECT_EQ(show(place, id)["deliveries"], 0);
  EXPECT_EQ(answer(place, {"workers", "resume", "--all"})["owners"], (Json{owner}));
  EXPECT_TRUE(eventually([&] { return ran() == 2; })) << worker->err();
  EXPECT_EQ(place.fenceline({"workers", "stop", owner}).status, 0);
  EXPECT_EQ(worker->wait().status, 0);
  const Ended unknown = place.fenceline({"workers", "stop", "nobody"});
  EXPECT_EQ(unknown.status, 66);
  EXPECT_TRUE(one_line(unknown.err)) << unknown.err;
  EXPECT_EQ(place.fenceline({"workers", "stop"}).status, 64);
}

TEST(Queue, TablesFitTheTerminalAndColoursCanBeSwitchedOff) {
  if (no_script_for_queues()) GTEST_SKIP() << "script is not here";
  const Workplace place;
  enqueue_many(place, "a-queue-with-a-rather-long-name-for-a-table", 1);
  ASSERT_EQ(place
                .fenceline({"queue", "pause", "a-queue-with-a-rather-long-name-for-a-table", "--reason",
                            std::string(200, 'r')})
                .status,
            0);
  const auto shown = [&](const std::map<std::string, std::string>& more) {
    Setting setting{.input = "\n", .env = {{"TERM", "xterm"}, {"COLUMNS", "120"}}};
    setting.env.insert(more.begin(), more.end());
    return place.run({"script", "-qec", "'" + program() + "' queue list", "/dev/null"}, setting).out;
  };
  EXPECT_TRUE(has(shown({}), "\x1b["));
  const std::string plain = shown({{"NO_COLOR", "1"}});
  EXPECT_FALSE(has(plain, "\x1b[")) << plain;
  for (const std::string& line : lines_of(plain)) EXPECT_LE(line.size(), 121U) << line;  // and the terminal's \r
}

}  // namespace
}  // namespace fenceline::e2e
