// Write gates as a user meets them: the program on real files, paused and killed writers, a store that was restored.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

Ended put(const Workplace& place, const std::string& fence, const std::string& content, const Words& options = {}) {
  return place.fenceline(joined({"gate", "put", "reports", fence, "report"}, options), {.input = content});
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(Gate, PutTakesAnEqualOrLargerFenceAndRefusesAnOlderOne) {
  const Workplace place;
  const std::size_t before = files_in(place.folder());
  EXPECT_EQ(put(place, "5", "first\n").status, 0);
  EXPECT_EQ(put(place, "5", "again\n").status, 0);
  EXPECT_EQ(put(place, "9", "newer\n").out, "") << "a handler's stdout is its result";
  const Ended late = put(place, "8", "late\n");
  EXPECT_EQ(late.status, 76);
  EXPECT_TRUE(one_line(late.err) && has(late.err, "fence 8 of reports is stale: fence 9 has passed the gate"))
      << late.err;
  EXPECT_EQ(Workplace::read(place.file("report")), "newer\n");
  const Json shown = Json::parse(place.fenceline({"gate", "show", "--file", "report", "--json"}).out)["gates"][0];
  EXPECT_EQ(shown["resource"], "reports");
  EXPECT_EQ(shown["fence"], 9);
  EXPECT_EQ(files_in(place.folder()), before + 2) << "no store and no temporary file";
  place.write("content", "from a file");
  EXPECT_EQ(place.fenceline({"gate", "put", "reports", "9", "report", "--from", "content"}).status, 0);
  EXPECT_EQ(Workplace::read(place.file("report")), "from a file");
}

TEST(Gate, CheckOnlyTells) {
  const Workplace place;
  EXPECT_EQ(place.fenceline({"gate", "check", "deploy", "7"}).out, "fence 7 of deploy would pass now\n");
  EXPECT_EQ(place.fenceline({"gate", "show"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db-gates"))) << "a look made something";
  ASSERT_EQ(place.fenceline({"gate", "run", "deploy", "9", "--", "true"}).status, 0);
  const Ended stale = place.fenceline({"gate", "check", "deploy", "7", "--json"});
  EXPECT_EQ(stale.status, 76);
  const Json told = Json::parse(stale.out);
  EXPECT_EQ(told["verdict"], "stale");
  EXPECT_EQ(told["remembered"], 9);
  EXPECT_EQ(told["newest"], nullptr);
  EXPECT_EQ(place.fenceline({"gate", "check", "deploy", "12"}).status, 0);
  EXPECT_EQ(place.fenceline({"gate", "check", "deploy", "9"}).status, 0) << "12 was remembered though it only looked";
}

TEST(Gate, RunPassesTheStatusOfItsCommandOn) {
  const Workplace place;
  const auto status = [&](const Words& command) {
    return place.fenceline(joined({"gate", "run", "deploy", "5", "--"}, command)).status;
  };
  EXPECT_EQ(status({"true"}), 0);
  EXPECT_EQ(status({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(status({"sh", "-c", "kill -9 $$"}), 137);
  EXPECT_EQ(status({"no-such-command"}), 127);
  EXPECT_EQ(status({"/"}), 126);
  const Ended refused = place.fenceline({"gate", "run", "deploy", "4", "--", "touch", "late"});
  EXPECT_EQ(refused.status, 76);
  EXPECT_FALSE(std::filesystem::exists(place.file("late")));
  EXPECT_EQ(place.fenceline({"gate", "run", "deploy", "6", "--", "cat"}, {.input = "through\n"}).out, "through\n");
}

TEST(Gate, RunIsHeldWhileItsCommandWritesThoughItWasPausedOrKilled) {
  const Workplace place;
  const std::string writes = "echo begun > begun; while [ ! -e go ]; do sleep 0.02; done; echo older > target";
  const auto older = place.start({"gate", "run", "deploy", "5", "--", "sh", "-c", writes});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("begun")); }));
  older->signal(SIGSTOP);
  const Words newer{"gate", "run", "deploy", "6", "--wait", "100ms", "--", "sh", "-c", "echo newer > target"};
  const Ended waits = place.fenceline(newer);
  EXPECT_EQ(waits.status, 75);
  EXPECT_TRUE(one_line(waits.err) && has(waits.err, "held by process " + std::to_string(older->pid()))) << waits.err;
  EXPECT_EQ(Json::parse(place.fenceline({"gate", "show", "--json"}).out)["gates"][0]["held_by"], older->pid());
  older->signal(SIGKILL);
  older->wait();
  EXPECT_EQ(place.fenceline(newer).status, 75) << "the command still writes, and nobody holds the gate";
  place.write("go", "");
  Words patient = newer;
  patient[5] = "20s";
  EXPECT_EQ(place.fenceline(patient).status, 0);
  EXPECT_EQ(Workplace::read(place.file("target")), "newer\n");
  EXPECT_EQ(place.fenceline({"gate", "run", "deploy", "5", "--", "sh", "-c", "echo late > target"}).status, 76);
}

TEST(Gate, ATermReachesTheCommandAndTheGateIsFreeAfterIt) {
  const Workplace place;
  const auto run = place.start({"gate", "run", "deploy", "5", "--", "sh", "-c",
                                "trap 'exit 9' TERM; echo > begun; while :; do sleep 0.02; done"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("begun")); }));
  run->signal(SIGTERM);
  EXPECT_EQ(run->wait().status, 9);
  EXPECT_EQ(place.fenceline({"gate", "run", "deploy", "5", "--wait", "0s", "--", "true"}).status, 0);
}

TEST(Gate, BadInputIsOneLineAndChangesNothing) {
  const Workplace place;
  std::filesystem::create_symlink("elsewhere", place.file("link"));
  place.write("torn.gate", "fenceline gate 1\nresource rep");
  const std::size_t before = files_in(place.folder());
  const std::vector<std::pair<Words, int>> bad{
      {{"gate", "put", "reports", "0", "report"}, 64},
      {{"gate", "put", "reports", "x", "report"}, 64},
      {{"gate", "put", "reports", "9007199254740992", "report"}, 64},
      {{"gate", "put", "-", "5", "report"}, 64},
      {{"gate", "put", "--wait=", "--from", "x", "reports", "5", "report"}, 64},
      {{"gate", "put", "reports", "-", "report"}, 64},
      {{"gate", "put", "../up", "5", "report"}, 65},
      {{"gate", "put", std::string(129, 'a'), "5", "report"}, 65},
      {{"gate", "put", "reports", "5", "link"}, 65},
      {{"gate", "put", "reports", "5", "."}, 65},
      {{"gate", "put", "reports", "5", "x.gate"}, 65},
      {{"gate", "put", "reports", "5", "torn"}, 65},
      {{"gate", "put", "reports", "5", "no/such/folder"}, 66},
      {{"gate", "put", "reports", "5", "report", "--from", "nothing"}, 66},
      {{"gate", "put", "reports", "5", "report", "--wait", "25h"}, 64},
      {{"gate", "run", "reports", "5"}, 64},
      {{"gate", "show", "nobody"}, 66},
      {{"gate", "show", "--file", "torn"}, 65},
      {{"gate", "rebase", "--file", "torn"}, 65},
      {{"gate", "rebase"}, 66},
      {{"gate", "check", "reports", "5", "--file", "torn"}, 65},
  };
  for (const auto& [words, status] : bad) {
    const Ended ended = place.fenceline(words, {.input = "content"});
    std::string line;
    for (const std::string& word : words) line += word + " ";
    EXPECT_EQ(ended.status, status) << line << ended.err;
    EXPECT_TRUE(one_line(ended.err) && ended.out.empty()) << line << ended.out << ended.err;
  }
  EXPECT_EQ(files_in(place.folder()), before);
}

TEST(Gate, AGateOfAnotherResourceOrNamespaceIsRefusedByName) {
  const Workplace place;
  ASSERT_EQ(put(place, "5", "x").status, 0);
  const Ended other = place.fenceline({"gate", "put", "invoices", "9", "report"}, {.input = "y"});
  EXPECT_EQ(other.status, 65);
  EXPECT_TRUE(has(other.err, "is the gate of reports, not of invoices")) << other.err;
  EXPECT_EQ(place.fenceline({"gate", "put", "reports", "9", "report", "--namespace", "shop"}, {.input = "y"}).status,
            65);
  EXPECT_EQ(Workplace::read(place.file("report")), "x");
  ASSERT_EQ(place.fenceline({"gate", "run", "deploy", "5", "--", "true"}).status, 0);
  EXPECT_EQ(place.fenceline({"gate", "run", "deploy", "4", "--namespace", "shop", "--", "true"}).status, 0)
      << "another tenant's gate";
}

TEST(Gate, TheFolderComesFromFlagEnvironmentFileOrTheStore) {
  const Workplace place;
  const auto value = [&](const Words& words, const Setting& setting) {
    const Json all =
        Json::parse(place.fenceline(joined({"config", "show", "--origin", "--json"}, words), setting).out)["settings"];
    for (const Json& one : all) {
      if (one["name"] == "gates") return one["value"].get<std::string>() + " by " + one["origin"].get<std::string>();
    }
    return std::string();
  };
  EXPECT_EQ(value({"--store", "sqlite:other.db"}, {}), "other.db-gates by default");
  place.write("fenceline.toml", "gates = \"beside\"\n");
  EXPECT_EQ(value({}, {}), "beside by fenceline.toml:1");
  EXPECT_EQ(value({}, {.env = {{"FENCELINE_GATES", "elsewhere"}}}), "elsewhere by FENCELINE_GATES");
  ASSERT_EQ(place.fenceline({"gate", "run", "deploy", "5", "--gates", "typed", "--", "true"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(place.file("typed/default/deploy.gate")));
}

// The fence of the job at hand, and what the store says of it.
TEST(Gate, InAHandlerTheNewestGrantOfItsJobCounts) {
  const Workplace place;
  const std::string id = enqueue(place);
  drain(place, program() + " gate put $FENCELINE_JOB - report && echo ok", {});
  const Json job = show(place, id);
  ASSERT_EQ(job["state"], "done");
  const std::int64_t fence = job["fence"];
  EXPECT_EQ(place.fenceline({"gate", "put", id, std::to_string(fence - 1), "other"}, {.input = "late"}).status, 76)
      << "its gate is new, but the store knows better";
  EXPECT_FALSE(std::filesystem::exists(place.file("other")));
  const Ended late = place.fenceline({"gate", "check", id, std::to_string(fence - 1)});
  EXPECT_EQ(late.status, 76);
  EXPECT_TRUE(has(late.err, "the store has granted " + std::to_string(fence))) << late.err;
}

// The example of docs/write-gates.md: what the jobs of one group write, one after the other.
TEST(Gate, TwoJobsOfOneGroupWriteOneFileAndAJobWithoutAGroupIsToldToHaveOne) {
  const Workplace place;
  const std::string handler = program() + " gate put - - report";
  for (const char* text : {"one", "two"}) {
    enqueue(place, {"--group", "monthly report"});
    drain(place, std::string("echo ") + text + " | " + handler);
    EXPECT_EQ(Workplace::read(place.file("report")), text + std::string("\n"));
  }
  EXPECT_TRUE(has(Workplace::read(place.file("report.gate")), "resource group:q/monthly report\n"));
  const Json gates = Json::parse(place.fenceline({"gate", "show", "--json"}).out)["gates"];
  ASSERT_EQ(gates.size(), 1U) << "the folder of gates knows the file's";
  EXPECT_EQ(gates[0]["resource"], "group:q/monthly report");

  const std::string id = enqueue(place, {"--max-attempts", "1"});
  drain(place, "echo three | " + handler);
  const std::string said = place.fenceline({"job", "logs", id}).out;
  EXPECT_TRUE(has(said, "has no group") && has(said, "--group NAME") && has(said, "$FENCELINE_JOB")) << said;
  EXPECT_EQ(Workplace::read(place.file("report")), "two\n");
}

TEST(Gate, GroupsOfTheSameNameInTwoQueuesAreTwoResources) {
  const Workplace place;
  const std::string handler = program() + " gate put - - report";
  enqueue(place, {"--group", "monthly"});
  drain(place, "echo one | " + handler);
  ASSERT_EQ(place.fenceline({"enqueue", "r", "--group", "monthly", "--max-attempts", "1"}).status, 0);
  place.fenceline({"work", "r", "--drain", "--", "sh", "-c", "echo two | " + handler + " 2> said"});
  const std::string said = Workplace::read(place.file("said"));
  EXPECT_TRUE(has(said, "group:q/monthly") && has(said, "group:r/monthly")) << said;
  EXPECT_EQ(Workplace::read(place.file("report")), "one\n");
  EXPECT_EQ(place.fenceline({"gate", "check", "group:q/monthly", "1", "--file", "report"}).status, 76)
      << "a person names it so";
}

// A day ahead of the clock, and above all that the store ever granted: that fence never came from it.
TEST(Gate, RebaseAfterAWrongFenceNamesTheMemoryToRemoveAndChangesNothing) {
  const Workplace place;
  enqueue(place);
  ASSERT_EQ(put(place, "9007199254740000", "wrong").status, 0);
  const std::string before = place.dump();
  const Ended refused = place.fenceline({"gate", "rebase", "--file", "report"});
  EXPECT_EQ(refused.status, 65) << refused.err;
  EXPECT_TRUE(one_line(refused.err) && has(refused.err, "the gate of reports was given a wrong fence") &&
              has(refused.err, "remove report.gate"))
      << refused.err;
  EXPECT_EQ(place.dump(), before);
  std::filesystem::remove(place.file("report.gate"));
  EXPECT_EQ(put(place, "5", "anew").status, 0);
}

// What the gate let through after the backup was made is forgotten by the store that is restored, and not by the gate.
// The clock of this machine was an hour ahead then, so that the fences of the restored store are smaller.
TEST(Gate, AfterARestoreItSaysBehindAndARebaseLetsTheNextGrantPass) {
  const Workplace place;
  const std::string id = enqueue(place, {"--group", "reports"});
  const std::string handler = program() + " gate put - - report";
  for (const char* part : {"", "-wal"}) {
    const auto file = place.file(std::string("fenceline.db") + part);
    if (std::filesystem::exists(file)) std::filesystem::copy_file(file, place.file(std::string("backup") + part));
  }
  drain(place, "echo before | " + handler);
  ASSERT_EQ(show(place, id)["state"], "done");
  const std::int64_t ahead = show(place, id)["fence"].get<std::int64_t>() + 3'600'000'000;
  ASSERT_EQ(place
                .fenceline({"gate", "put", "group:q/reports", std::to_string(ahead), "report"},
                           {.input = "from the time ahead\n"})
                .status,
            0);

  for (const char* part : {"", "-wal", "-shm", "-lock", "-wake"})
    std::filesystem::remove(place.file(std::string("fenceline.db") + part));
  for (const char* part : {"", "-wal"}) {
    const auto file = place.file(std::string("backup") + part);
    if (std::filesystem::exists(file)) std::filesystem::rename(file, place.file(std::string("fenceline.db") + part));
  }
  const Ended refused = place.fenceline({"work", "q", "--drain", "--", "sh", "-c", "echo after | " + handler});
  EXPECT_EQ(refused.status, 0) << refused.err;
  const Json failed = show(place, id);
  EXPECT_GE(failed["failures"].get<int>(), 1) << failed.dump();  // how long it waits for its next attempt is by chance:
                                                                 // perhaps so little that this worker made that, too
  EXPECT_TRUE(has(place.fenceline({"job", "logs", id}).out,
                  "is behind: it is the store's newest, but fence " + std::to_string(ahead)))
      << place.fenceline({"job", "logs", id}).out;
  EXPECT_TRUE(has(place.fenceline({"job", "logs", id}).out,
                  "run 'fenceline gate rebase --file report', then run 'fenceline job retry " + id + "'"));
  EXPECT_EQ(Workplace::read(place.file("report")), "from the time ahead\n");

  const Ended rebased =
      place.fenceline({"gate", "rebase", "--file", "report", "--reason", "restored", "--as", "ana", "--json"});
  ASSERT_EQ(rebased.status, 0) << rebased.err;
  EXPECT_EQ(Json::parse(rebased.out)["floor"], ahead);
  EXPECT_TRUE(has(place.fenceline({"trail"}).out, "ana"));
  ASSERT_EQ(place.fenceline({"job", "retry", id}).status, 0);
  drain(place, "echo after | " + handler);
  EXPECT_EQ(show(place, id)["state"], "done");
  EXPECT_GT(show(place, id)["fence"].get<std::int64_t>(), ahead);
  EXPECT_EQ(Workplace::read(place.file("report")), "after\n");
}

}  // namespace
}  // namespace fenceline::e2e
