// fenceline doctor beside real processes that are stopped and killed: what it names, and that the command it names
// mends it.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <regex>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

// The findings of a check that are not ok.
std::vector<Json> wrong(const Workplace& place, const std::string& check, const Words& options = {}) {
  const Ended ended = place.fenceline(joined({"doctor", "--json"}, options));
  EXPECT_TRUE(ended.status == 0 || ended.status == 1) << ended.err;
  std::vector<Json> found;
  for (const Json& finding : Json(Json::parse(ended.out)["findings"])) {
    if (finding["name"] == check && finding["status"] != "ok") found.push_back(finding);
  }
  return found;
}

// The first one, when it comes.
Json comes(const Workplace& place, const std::string& check) {
  std::vector<Json> found;
  EXPECT_TRUE(eventually([&] { return !(found = wrong(place, check)).empty(); })) << check;
  if (found.empty()) return {};
  for (const char* part : {"detail", "why", "remedy"})
    EXPECT_FALSE(std::string(found.front()[part]).empty()) << check << ": " << part;
  return found.front();
}

// As a person does: pasted into a shell, with what only a person knows in place of CMD.
void mend(const Workplace& place, const Json& finding) {
  std::string line = finding["remedy"];
  if (const std::size_t at = line.find("CMD"); at != std::string::npos) line.replace(at, 3, "true");
  const Ended ended = place.run({"sh", "-c", "fenceline() { " + program() + " \"$@\"; }; " + line});
  EXPECT_EQ(ended.status, 0) << line << ": " << ended.err;
}

std::unique_ptr<Running> worker_at_work(const Workplace& place, const std::string& mark) {
  auto worker = place.start({"work", "q", "--ttl", "1s", "--", "sh", "-c", "echo > " + mark + "; sleep 30"});
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(place.file(mark)); })) << worker->err();
  return worker;
}

TEST(Doctor, WithoutAStoreItSaysHowToMakeOne) {
  if (Workplace::on_postgres()) GTEST_SKIP() << "a server has its schema";
  const Workplace place;
  const Ended ended = place.fenceline({"doctor", "--store", "sqlite:none.db"});
  EXPECT_EQ(ended.status, 66);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, "none.db")) << ended.err;
  const Ended json = place.fenceline({"doctor", "--store", "sqlite:none.db", "--json"});
  EXPECT_EQ(json.status, 66);
  EXPECT_EQ(Json::parse(json.out)["findings"][0]["name"], "open");
}

TEST(Doctor, SaysWhatAStoppedWorkerBelievesAndWakesIt) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto first = worker_at_work(place, "first");
  // Its row says what it holds with the next report, a third of its ttl later.
  ASSERT_TRUE(eventually([&] { return !answer(place, {"workers", "list"})["workers"][0]["holding"].empty(); }));
  first->signal(SIGSTOP);
  const auto second = worker_at_work(place, "second");
  const Json belief = comes(place, "beliefs");
  // "w-1 believes it holds X under fence 5; the store gave it to w-2 under 7 at 12:03:11"
  const std::regex sentence(R"((\S+) believes it holds )" + id +
                            R"( under fence (\d+); the store gave it to (\S+) under (\d+) at \d\d:\d\d:\d\dZ)");
  std::smatch parts;
  const std::string detail = belief["detail"];
  ASSERT_TRUE(std::regex_match(detail, parts, sentence)) << detail;
  EXPECT_NE(parts[1], parts[3]);
  EXPECT_LT(std::stoll(parts[2]), std::stoll(parts[4]));
  EXPECT_FALSE(belief["since"].is_null());
  EXPECT_EQ(belief["remedy"], "kill -CONT " + std::to_string(first->pid()));
  EXPECT_TRUE(has(comes(place, "orphans")["detail"], "was taken over from " + parts[1].str())) << "and by whom";
  EXPECT_EQ(comes(place, "workers_gone")["remedy"], belief["remedy"]);
  mend(place, belief);
  EXPECT_TRUE(eventually([&] { return wrong(place, "beliefs").empty() && wrong(place, "workers_gone").empty(); }))
      << "it has heard that it lost the job";
}

TEST(Doctor, NamesTheJobAndTheRowThatAKilledWorkerLeft) {
  const Workplace place;
  const std::string id = enqueue(place);
  const auto worker = worker_at_work(place, "started");
  worker->signal(SIGKILL);
  worker->wait();
  const Json stale = comes(place, "stale_jobs");
  EXPECT_TRUE(has(stale["detail"], "job " + id + " of queue q: the lease of ")) << stale;
  EXPECT_EQ(stale["remedy"], "fenceline work q -- CMD");
  EXPECT_EQ(stale["status"], "warning") << "the next worker takes the job over: nothing is broken yet";
  const Json gone = comes(place, "workers_gone");
  EXPECT_TRUE(has(gone["remedy"], "fenceline workers forget ")) << gone;
  mend(place, gone);
  EXPECT_TRUE(wrong(place, "workers_gone").empty());
  drain(place, "true");
  EXPECT_TRUE(wrong(place, "stale_jobs").empty());
  EXPECT_EQ(show(place, id)["state"], "done");
}

TEST(Doctor, AWorkerThatIsSeenIsNotForgotten) {
  const Workplace place;
  enqueue(place);
  const auto worker = worker_at_work(place, "started");
  const std::string owner = answer(place, {"workers", "list"})["workers"][0]["owner"];
  const Ended refused = place.fenceline({"workers", "forget", owner});
  EXPECT_EQ(refused.status, 65);
  EXPECT_TRUE(one_line(refused.err) && has(refused.err, "it is not gone")) << refused.err;
  EXPECT_EQ(answer(place, {"workers", "forget", "--gone"})["owners"].size(), 0U);
  EXPECT_EQ(answer(place, {"workers", "list"})["workers"].size(), 1U);
  EXPECT_EQ(place.fenceline({"workers", "forget"}).status, 64);
}

TEST(Doctor, DeadLettersAreDrivenAgainByTheCommandItNames) {
  const Workplace place;
  enqueue(place);
  drain(place, "exit 65");
  const Json dead = comes(place, "dead_letters");
  mend(place, dead);
  EXPECT_TRUE(wrong(place, "dead_letters").empty());
}

TEST(Doctor, AQueueWithoutAWorkerIsServedByTheCommandItNames) {
  const Workplace place;
  enqueue(place);
  const Json age = comes(place, "queue_age");
  EXPECT_EQ(age["detail"].get<std::string>().substr(0, 33), "queue q has no worker; 1 job is d");
  ASSERT_EQ(place.fenceline({"queue", "pause", "q", "--reason", "later"}).status, 0);
  const Json paused = comes(place, "queue_age");
  EXPECT_TRUE(has(paused["detail"], "('later')")) << paused;
  mend(place, paused);
  drain(place, "true");
  EXPECT_TRUE(wrong(place, "queue_age").empty());
}

TEST(Doctor, ALockWhoseHolderDiedIsDebtUntilItIsTakenOver) {
  const Workplace place;
  const auto holder = place.start({"lock", "deploy", "--ttl", "1s", "--", "sh", "-c", "echo > held; sleep 30"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("held")); })) << holder->err();
  holder->signal(SIGKILL);
  holder->wait();
  const Json debt = comes(place, "lock_debt");
  EXPECT_TRUE(has(debt["detail"], "lock deploy: the lease of ")) << debt;
  mend(place, debt);
  EXPECT_TRUE(wrong(place, "lock_debt").empty());
}

TEST(Doctor, NamesTheNamespaceInWhatIsPastedAndLooksAtAllOfThem) {
  const Workplace place;
  const Words other{"--namespace", place.folder().filename().string() + "-b"};
  enqueue(place, other);
  const std::vector<Json> there = wrong(place, "queue_age", other);
  ASSERT_EQ(there.size(), 1U);
  EXPECT_EQ(there[0]["remedy"], "fenceline --namespace " + other[1] + " work q -- CMD");
  // Only what ever granted something is known as a namespace.
  drain(place, "true", other);
  enqueue(place, other);
  bool named = false;
  for (const Json& finding : wrong(place, "queue_age", {"--all-namespaces"}))
    named = named || (finding["namespace"] == other[1] &&
                      finding["remedy"] == "fenceline --namespace " + other[1] + " work q -- CMD");
  EXPECT_TRUE(named);
}

TEST(Doctor, RowsForAScriptHaveEveryPartInItsPlace) {
  const Workplace place;
  enqueue(place);
  const Ended ended = place.fenceline({"doctor"});
  EXPECT_TRUE(ended.out.starts_with("check\tstatus\tdetail\tremedy\tsince\twhy\n")) << ended.out;
  EXPECT_TRUE(has(ended.out, "\nqueue_age\twarning\tqueue q has no worker; ")) << ended.out;
}

}  // namespace
}  // namespace fenceline::e2e
