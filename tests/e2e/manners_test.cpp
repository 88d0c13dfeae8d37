// How the program behaves beside others: pipes, signals, shells, logs, help.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "program.hpp"

namespace fenceline::e2e {
namespace {

std::string lines(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += std::to_string(i) + "\n";
  return out;
}

// From here on a signal is seen by the command.
bool handles_ctrl_c(const Running& running) {
  std::istringstream status(Workplace::read("/proc/" + std::to_string(running.pid()) + "/status"));
  for (std::string word; status >> word;) {
    if (word != "SigCgt:") continue;
    std::string mask;
    status >> mask;
    return (std::stoull(mask, nullptr, 16) >> (SIGPIPE - 1) & 1U) != 0;  // the last that it learns to handle
  }
  return false;
}

TEST(Manners, AReaderThatGoesAwayIsAQuietEnd) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q", "--jsonl", "-"}, {.input = lines(3000)}).status, 0);
  for (const char* form : {"", "--json"}) {
    const Ended ended = place.run(
        {"bash", "-c", "\"$0\" jobs --all $1 | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}", program(), form});
    EXPECT_EQ(ended.out, "0\n") << form;
    EXPECT_EQ(ended.err, "") << form;
  }
}

TEST(Manners, AFullDiskBehindTheOutputIsAnError) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const Ended ended = place.run({"bash", "-c", "\"$0\" jobs > /dev/full", program()});
  EXPECT_EQ(ended.status, 74);
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
}

TEST(Manners, ClosedStandardFilesDoNotEndUpInTheStore) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const Ended ended = place.run({"bash", "-c", "exec <&- >&- 2>&-; exec \"$0\" enqueue q", program()});
  EXPECT_EQ(ended.status, 74) << "its ids could not be printed";
  EXPECT_EQ(place.jobs().size(), 2U);
  EXPECT_NE(place.dump().find("ok\n"), std::string::npos);
}

TEST(Manners, CtrlCEndsAnEnqueueThatReadsAndSaysWhatWasEnqueued) {
  for (const auto& [number, status] : std::vector<std::pair<int, int>>{{SIGINT, 130}, {SIGTERM, 143}}) {
    const Workplace place;
    ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
    const auto running = place.start({"enqueue", "q", "--jsonl", "-"});
    running->feed(lines(1500));
    ASSERT_TRUE(eventually([&] {
      return place.fenceline({"jobs", "--json"}).out.find("\"next\":\"") != std::string::npos;
    }));
    running->signal(number);
    const Ended ended = running->wait();
    EXPECT_EQ(ended.status, status);
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    EXPECT_NE(ended.err.find("1000 jobs enqueued"), std::string::npos) << ended.err;
    EXPECT_EQ(place.jobs().size(), 1000U);
  }
}

TEST(Manners, CtrlCEndsAnEnqueueThatReadsItsPayload) {
  const Workplace place;
  const auto running = place.start({"enqueue", "q", "--payload-file", "-"});
  running->feed("[1,");
  ASSERT_TRUE(eventually([&] { return handles_ctrl_c(*running); }));
  running->signal(SIGINT);
  const Ended ended = running->wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_EQ(ended.err, "fenceline: interrupted while reading the input; nothing was changed\n");
  EXPECT_EQ(place.dump(), "(none)");
}

// As one that is stopped does, or a port on which something else listens: it takes the connection and says nothing.
TEST(Manners, CtrlCIsHeardWhileAServerDoesNotAnswer) {
  const int mute = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(mute, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(mute, 16), 0);
  ASSERT_EQ(::getsockname(mute, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string store = "postgres://me:secret@127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/db";
  for (const Words& words : std::vector<Words>{{"jobs"}, {"enqueue", "q"}, {"work", "q", "--", "true"}, {"doctor"}}) {
    const Workplace place;
    Words all = words;
    all.insert(all.begin() + 1, {"--store", store});
    const auto running = place.start(all);
    ASSERT_TRUE(eventually([&] { return handles_ctrl_c(*running); }));
    running->signal(SIGINT);
    const Ended ended = running->wait();
    EXPECT_EQ(ended.status, 130) << words[0] << ": " << ended.err;
    EXPECT_TRUE(one_line(ended.err) && ended.err.starts_with("fenceline: interrupted before postgres://me@127.0.0.1:"))
        << ended.err;
  }
  ::close(mute);
}

TEST(Manners, CtrlCEndsADrillWithoutAVerdict) {
  for (const auto& [words, played] :
       std::vector<std::pair<Words, std::string>>{{{"drill", "lease-expiry"}, "0 of 1 rounds"},
                                                  {{"drill", "kill", "--point", "settle_before"}, "0 of 1 points"},
                                                  {{"drill", "operator"}, "nothing was proved"},
                                                  {{"sim", "--seeds", "1000000000"}, " of 1000000000 seeds"}}) {
    const Workplace place;
    const auto running = place.start(words);
    ASSERT_TRUE(eventually([&] { return handles_ctrl_c(*running); }));
    running->signal(SIGINT);
    const Ended ended = running->wait();
    EXPECT_EQ(ended.status, 130) << words[0];
    EXPECT_EQ(ended.out, "") << words[0];
    EXPECT_TRUE(one_line(ended.err) && ended.err.starts_with("fenceline: interrupted; ") &&
                ended.err.find(played) != std::string::npos)
        << ended.err;
  }
}

// The masks of blocked and ignored signals in lines of /proc/self/status. Signals 32 and 33 belong to the C library,
// and how a process was spawned shows in them.
std::vector<unsigned long long> signals_in(const std::string& lines) {
  std::vector<unsigned long long> masks;
  std::istringstream text(lines);
  for (std::string name, mask; text >> name >> mask;)
    masks.push_back(std::stoull(mask, nullptr, 16) & ~0x1'8000'0000ULL);
  return masks;
}

TEST(Manners, AProgramThatWeRunSeesSignalsAsFromAShell) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  ASSERT_EQ(place.fenceline({"work", "q", "--drain", "--", "grep", "^Sig[IB]", "/proc/self/status"}).status, 0);
  const Json job = place.jobs().at(0);
  const std::string result = Json::parse(place.fenceline({"job", "show", job["id"], "--json"}).out)["result"];
  ASSERT_EQ(signals_in(result).size(), 2U);
  EXPECT_EQ(signals_in(result), signals_in(place.run({"grep", "^Sig[IB]", "/proc/self/status"}).out));
}

TEST(Manners, LogsAreOneJsonObjectALine) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const Ended ended = place.fenceline({"work", "q", "--drain", "--", "cat"}, {.env = {{"FENCELINE_LOG", "debug"}}});
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::istringstream text(ended.err);
  int events = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("fenceline: ")) continue;  // words for people
    ++events;
    const Json event = Json::parse(line, nullptr, false);
    ASSERT_FALSE(event.is_discarded()) << line;
    EXPECT_TRUE(event.contains("time") && event.contains("level") && event.contains("event")) << line;
    EXPECT_EQ(event["time"].get<std::string>().size(), 27U) << line;
  }
  EXPECT_GT(events, 2);
  const Ended quiet = place.fenceline({"work", "q", "--drain", "--", "cat"}, {.env = {{"FENCELINE_LOG", "error"}}});
  EXPECT_EQ(quiet.err.find('{'), std::string::npos) << quiet.err;
}

TEST(Manners, GlobalOptionsStandBeforeOrAfter) {
  const Workplace place;
  for (const Words& words : std::vector<Words>{{"--store", "sqlite:s.db", "--namespace", "n", "--json", "enqueue", "q"},
                                               {"enqueue", "q", "--store", "sqlite:s.db", "--namespace", "n", "--json"},
                                               {"--json", "enqueue", "--namespace=n", "q", "--store=sqlite:s.db"}}) {
    EXPECT_TRUE(place.fenceline(words).out.starts_with("{\"ids\":["));
  }
  EXPECT_EQ(
      Json::parse(place.fenceline({"jobs", "--json", "--store", "sqlite:s.db", "--namespace", "n"}).out)["jobs"].size(),
      3U);
}

TEST(Manners, AloneItPrintsAnOverview) {
  const Workplace place;
  const Ended alone = place.fenceline({});
  EXPECT_EQ(alone.status, 64);
  EXPECT_NE(alone.out.find("enqueue"), std::string::npos);
  EXPECT_EQ(place.dump(), "(none)");
}

TEST(Manners, CompletionLoadsInBashAndCompletes) {
  const Workplace place;
  const std::string script = place.write("c.bash", place.fenceline({"completion", "bash"}).out).string();
  EXPECT_EQ(place.run({"bash", "-n", script}).status, 0);
  const auto complete = [&](const Words& words) {
    std::string line = "source \"$0\"; COMP_WORDS=(";
    for (const std::string& word : words) line += "'" + word + "' ";
    line += "); COMP_WORDBREAKS=' =:'; COMP_CWORD=" + std::to_string(words.size() - 1) +
            "; _fenceline; printf '%s ' \"${COMPREPLY[@]}\"";
    const Ended ended = place.run({"bash", "-c", line, script});
    EXPECT_EQ(ended.err, "");
    return ended.out;
  };
  EXPECT_EQ(complete({"fenceline", "enq"}), "enqueue ");
  EXPECT_EQ(complete({"fenceline", "job", ""}), "show explain wait logs retry cancel ");
  EXPECT_EQ(complete({"fenceline", "--json", "--store", "jobs", "workers", ""}), "list quiet stop resume forget ");
  EXPECT_EQ(complete({"fenceline", "enqueue", "q", "--pay"}), "--payload --payload-file ");
  EXPECT_EQ(complete({"fenceline", "jobs", "--state", "d"}), "done dead ");
  EXPECT_EQ(complete({"fenceline", "job", "show", "--pa"}), "--payload ");
  EXPECT_EQ(complete({"fenceline", "completion", "z"}), "zsh ");
  EXPECT_EQ(complete({"fenceline", "--requ"}), "--require ");
  EXPECT_EQ(complete({"fenceline", "--accept", "no"}), "no-sync ");
  EXPECT_EQ(complete({"fenceline", "help", "ver"}), "version ");
  EXPECT_EQ(complete({"fenceline", "help", "exit"}), "exit-codes ");

  const std::string ours = program();
  EXPECT_EQ(complete({ours, "queue", "show", ""}), " ") << "there is no store yet";
  EXPECT_EQ(place.dump(), "(none)") << "completing a word made a store";
  const std::string id = place.fenceline({"enqueue", "q"}).out.substr(0, 36);
  ASSERT_EQ(place.fenceline({"enqueue", "mail:eu"}).status, 0);
  ASSERT_EQ(place.fenceline({"lock", "deploy", "--", "true"}).status, 0);
  ASSERT_EQ(place.fenceline({"schedule", "add", "nightly", "--every", "1d", "--queue", "q"}).status, 0);
  EXPECT_EQ(complete({ours, "queue", "show", ""}), "mail:eu q ");
  EXPECT_EQ(complete({ours, "queue", "show", "mail", ":", "e"}), "eu ") << "bash replaces what follows the colon";
  EXPECT_EQ(complete({ours, "jobs", "--queue", "q"}), "q ");
  EXPECT_EQ(complete({ours, "jobs", "--queue", "=", "q"}), "q ");
  EXPECT_EQ(complete({ours, "job", "show", id.substr(0, 30)}), id + " ");
  EXPECT_EQ(complete({ours, "locks", "break", "d"}), "deploy ");
  EXPECT_EQ(complete({ours, "schedule", "pause", ""}), "nightly ");
  EXPECT_EQ(complete({ours, "--namespace", "other", "schedule", "pause", ""}), " ");
  EXPECT_EQ(complete({ours, "--store", "redis", ":", "//127.0.0.1", ":", "1", "queue", "show", ""}), " ");
  EXPECT_EQ(place.fenceline({"completion", "zsh"}).status, 0);
  EXPECT_EQ(place.fenceline({"completion", "fish"}).status, 0);
}

TEST(Manners, J1_ACrashPointKillsWhereItSays) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"migrate"}).status, 0);
  const std::string before = place.dump();
  EXPECT_EQ(place.fenceline({"enqueue", "q"}, {.env = {{"FENCELINE_CRASH_AT", "enqueue_before"}}}).status,
            128 + SIGKILL);
  EXPECT_EQ(place.dump(), before);
  EXPECT_EQ(place.fenceline({"enqueue", "q"}, {.env = {{"FENCELINE_CRASH_AT", "enqueue_after"}}}).status,
            128 + SIGKILL);
  EXPECT_EQ(place.jobs().size(), 1U);
  EXPECT_EQ(place
                .fenceline({"enqueue", "q", "--jsonl", "-"},
                           {.input = lines(3000), .env = {{"FENCELINE_CRASH_AT", "enqueue_before:3"}}})
                .status,
            128 + SIGKILL);
  EXPECT_EQ(place.jobs().size(), 2001U);
}

}  // namespace
}  // namespace fenceline::e2e
