// `fenceline top` as somebody at a terminal meets it: in tmux, whose picture is what a person would see.
#include <gtest/gtest.h>

#include <csignal>

#include "jobs.hpp"
#include "tmux.hpp"

namespace fenceline::e2e {
namespace {

std::string top(const std::string& options = "") { return program() + " top --every 200ms " + options; }

TEST(Top, ShowsWhatIsThereFollowsItAndEndsAtQ) {
  const Workplace place;
  enqueue(place);
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  Tmux tmux(place);
  tmux.run(top());
  EXPECT_TRUE(tmux.shows("1 queues  2, by name")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("jobs 2 ready 0 running")) << tmux.picture();
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  EXPECT_TRUE(tmux.shows("jobs 3 ready 0 running")) << tmux.picture();
  const auto worker = place.start({"work", "mail", "--concurrency", "1", "--", "sleep", "60"});
  EXPECT_TRUE(tmux.shows("1 running")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("2 workers  1")) << tmux.picture();
  const auto holder = place.start({"lock", "deploy", "--", "sleep", "60"});
  EXPECT_TRUE(tmux.shows("deploy")) << tmux.picture();
  const auto waiter = place.start({"lock", "deploy", "--wait", "60s", "--", "true"});
  EXPECT_TRUE(tmux.shows("2 locks, 1 waiter")) << tmux.picture();
  ASSERT_EQ(place.fenceline({"schedule", "add", "nightly", "--cron", "30 2 * * *", "--queue", "mail"}).status, 0);
  EXPECT_TRUE(tmux.shows("30 2 * * *")) << tmux.picture();
  tmux.press("q");
  EXPECT_TRUE(tmux.is_restored()) << tmux.picture();
}

TEST(Top, PanesFilterSortHelpAndPauseAreAKeyEach) {
  const Workplace place;
  for (const char* queue : {"mail", "print", "q-1"}) ASSERT_EQ(place.fenceline({"enqueue", queue}).status, 0);
  Tmux tmux(place);
  tmux.run(top());
  ASSERT_TRUE(tmux.shows("2 workers"));
  tmux.press("1");
  EXPECT_TRUE(tmux.does_not_show("2 workers")) << tmux.picture();
  EXPECT_TRUE(tmux.shows(">  mail")) << tmux.picture();
  tmux.press("Down");
  EXPECT_TRUE(tmux.shows("try: fenceline jobs --queue print")) << tmux.picture();
  tmux.press("s");
  EXPECT_TRUE(tmux.shows("by ready")) << tmux.picture();
  tmux.type("/q-");
  EXPECT_TRUE(tmux.does_not_show("print")) << tmux.picture();
  tmux.press("Escape");
  EXPECT_TRUE(tmux.shows("print")) << tmux.picture();
  tmux.press("Tab");
  EXPECT_TRUE(tmux.shows("2 workers")) << tmux.picture();
  tmux.press("?");
  EXPECT_TRUE(tmux.shows("This view changes nothing")) << tmux.picture();
  tmux.press("0");
  tmux.press("0");
  EXPECT_TRUE(tmux.shows("3 locks")) << tmux.picture();
  tmux.press("p");
  ASSERT_TRUE(tmux.shows("[paused: p]")) << tmux.picture();
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  EXPECT_TRUE(tmux.shows("jobs 3 ready"));
  tmux.press("p");
  EXPECT_TRUE(tmux.shows("jobs 4 ready")) << tmux.picture();
}

TEST(Top, ASmallerWindowIsFollowedAndNamesOfAllScriptsKeepTheirPlace) {
  const Workplace place;
  const std::string store = "sqlite:" + place.file("出荷-größe.db").string();
  const auto holder = place.start({"lock", "deploy", "--store", store, "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return place.fenceline({"locks", "show", "deploy", "--store", store}).status == 0; }));
  Tmux tmux(place, 140, 40);
  tmux.run(top("--store " + store));
  ASSERT_TRUE(tmux.shows("deploy")) << tmux.picture();
  ASSERT_TRUE(tmux.shows("出荷-größe.db")) << tmux.picture();
  ASSERT_TRUE(tmux.shows("fence"));  // there is room for it
  tmux.resize(60, 18);
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> lines = lines_of(tmux.picture());
    return lines.size() == 18 && lines.back().find("q quit") != std::string::npos;
  })) << tmux.picture();
  EXPECT_TRUE(tmux.shows("5 findings")) << tmux.picture();
  tmux.resize(130, 30);
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> lines = lines_of(tmux.picture());
    return lines.size() == 30 && lines.back().find("q quit") != std::string::npos;
  })) << tmux.picture();
}

TEST(Top, TheTerminalIsGivenBackHoweverItEnds) {
  const Workplace place;
  enqueue(place);
  Tmux tmux(place);
  const auto begins = [&] {
    tmux.run("clear; " + top());
    return tmux.shows("1 queues  1");
  };
  ASSERT_TRUE(begins());
  tmux.press("C-c");
  EXPECT_TRUE(tmux.is_restored()) << "Ctrl-C\n" << tmux.picture();
  for (const char* signal : {"TERM", "SEGV", "ABRT"}) {
    ASSERT_TRUE(begins()) << signal << "\n" << tmux.picture();
    EXPECT_EQ(place.run({"kill", std::string("-") + signal, tmux.child()}).status, 0);
    EXPECT_TRUE(tmux.is_restored()) << signal << "\n" << tmux.picture();
  }
}

TEST(Top, CtrlZGivesTheTerminalToTheShellAndFgBringsThePictureBack) {
  const Workplace place;
  enqueue(place);
  Tmux tmux(place);
  tmux.run(top());
  ASSERT_TRUE(tmux.shows("1 queues  1")) << tmux.picture();
  tmux.press("C-z");
  EXPECT_TRUE(tmux.is_restored()) << tmux.picture();
  tmux.run("fg");
  EXPECT_TRUE(tmux.shows("1 queues  1")) << tmux.picture();
  tmux.press("q");
  EXPECT_TRUE(tmux.is_restored()) << tmux.picture();
}

// A server of the test's own, at a socket in its folder.
std::unique_ptr<Running> redis_in(const Workplace& place) {
  auto server = std::make_unique<Running>(
      Words{"redis-server", "--port", "0", "--unixsocket", place.file("redis").string(), "--dir",
            place.folder().string(), "--appendonly", "yes", "--appendfsync", "always", "--save", ""},
      Setting{}, place.folder(), false);
  EXPECT_TRUE(eventually([&] {
    return place.run({"redis-cli", "-s", place.file("redis").string(), "ping"}).out == "PONG\n";
  }));
  return server;
}

TEST(Top, AStoreThatGoesAwayIsSaidAndItsReturnIsSeen) {
  const Workplace place;
  const std::string store = "unix:" + place.file("redis").string();
  auto server = redis_in(place);
  ASSERT_EQ(place.fenceline({"enqueue", "mail", "--store", store}).status, 0);
  Tmux tmux(place);
  tmux.run(top("--store " + store));
  ASSERT_TRUE(tmux.shows("jobs 1 ready")) << tmux.picture();
  server->signal(SIGKILL);
  server->wait();
  EXPECT_TRUE(tmux.shows("the store has been unreachable since")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("1 queues  1")) << tmux.picture();  // as it was last seen
  server = redis_in(place);
  EXPECT_TRUE(tmux.does_not_show("the store has been unreachable")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("jobs 1 ready")) << tmux.picture();
  // A server that only hangs keeps nobody from leaving.
  server->signal(SIGSTOP);
  tmux.press("q");
  EXPECT_TRUE(tmux.is_restored()) << tmux.picture();
  server->signal(SIGCONT);
}

TEST(Top, WithoutATerminalItIsOnePictureOrOneObjectALook) {
  const Workplace place;
  enqueue(place);
  const Ended once = place.fenceline({"top"});
  EXPECT_EQ(once.status, 0) << once.err;
  EXPECT_NE(once.out.find("1 queues  1, by name"), std::string::npos) << once.out;
  EXPECT_EQ(once.out.find('\x1b'), std::string::npos);
  for (const std::string& line : lines_of(once.out)) EXPECT_LE(line.size(), 80u) << line;
  const Json one = answer(place, {"top", "--once"});
  EXPECT_EQ(one["queues"][0]["queue"], "q");
  EXPECT_EQ(one["away"], nullptr);
  EXPECT_FALSE(one["findings"].empty());
  const auto stream = place.start({"top", "--json", "--every", "100ms"});
  EXPECT_TRUE(eventually([&] { return lines_of(stream->out()).size() >= 3; }));
  for (const std::string& line : lines_of(stream->out().substr(0, stream->out().rfind('\n') + 1)))
    EXPECT_FALSE(Json::parse(line, nullptr, false).is_discarded()) << line;
  stream->signal(SIGTERM);
  EXPECT_EQ(stream->wait().status, 0);
}

TEST(Top, BadInputIsOneLine) {
  const Workplace place;
  const Ended none = place.fenceline({"top"});
  EXPECT_EQ(none.status, 66) << none.err;
  EXPECT_TRUE(one_line(none.err)) << none.err;
  enqueue(place);
  const Ended every = place.fenceline({"top", "--every", "1"});
  EXPECT_EQ(every.status, 64);
  EXPECT_TRUE(one_line(every.err)) << every.err;
}

}  // namespace
}  // namespace fenceline::e2e
