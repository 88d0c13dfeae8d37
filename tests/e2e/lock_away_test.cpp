// A store that is away when `fenceline lock` or `elect` starts: waited for as long as the lock would be, and then what
// its class says.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

using namespace std::chrono_literals;
using AwayClock = std::chrono::steady_clock;

// A port of this machine. Nobody is there; or somebody who takes connections and never says a word.
class Port {
 public:
  explicit Port(bool silent) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_TRUE(::bind(socket_, any, size) == 0 && ::getsockname(socket_, any, &size) == 0);
    EXPECT_TRUE(!silent || ::listen(socket_, 64) == 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { ::close(socket_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Setting setting() const {
    return {.input = "", .env = {{"FENCELINE_STORE", "postgres://nobody@127.0.0.1:" + std::to_string(number_) + "/x"}}};
  }

 private:
  int socket_;
  int number_ = 0;
};

int events(const std::string& text, const std::string& name) {
  int count = 0;
  for (const std::string& line : lines_of(text)) {
    const Json event = Json::parse(line, nullptr, false);
    count += event.is_object() && event.value("event", "") == name;
  }
  return count;
}

bool lock_comes(const Workplace& place, const std::string& name) {
  return eventually([&] { return std::filesystem::exists(place.file(name)); });
}

TEST(LockAway, AClassThatFailsOpenRunsItsCommandWithoutALockAndSaysSo) {
  const Workplace place;
  const Port closed(false);
  place.write("fenceline.toml", "[lock.bold]\nttl = \"5m\"\nwait = \"1s\"\non_acquire_error = \"open\"\n");
  const Words bold{"lock", "deploy", "--class", "bold"};
  const Words says{"--", "sh", "-c", "echo \"$FENCELINE_LOCK|$FENCELINE_FENCE|$FENCELINE_LOCKS\"; cat; exit 3"};
  const auto began = AwayClock::now();
  Setting setting = closed.setting();
  setting.input = "through\n";
  const Ended ran = place.fenceline(joined(bold, says), setting);
  EXPECT_EQ(ran.status, 3) << ran.err;
  EXPECT_GE(AwayClock::now() - began, 1s) << "the store had its time to come back";
  EXPECT_EQ(ran.out, "deploy||{}\nthrough\n");
  EXPECT_TRUE(one_line(ran.err) && has(ran.err, "other holders are not excluded now")) << ran.err;
  const Ended told = place.fenceline(joined(bold, joined({"-n", "--json"}, says)), closed.setting());
  EXPECT_EQ(told.status, 3);
  EXPECT_EQ(events(told.err, "lock_failed_open"), 1) << told.err;
  EXPECT_EQ(events(told.err, "lock_acquire_failed"), 1) << "it did not wait: " << told.err;
  const Ended timed = place.fenceline(joined(bold, {"-n", "--timeout", "1s", "--", "sleep", "60"}), closed.setting());
  EXPECT_EQ(timed.status, 143) << "it is guarded all the same: " << timed.err;
}

TEST(LockAway, ASignalReachesACommandThatRunsWithoutItsLock) {
  const Workplace place;
  const Port closed(false);
  place.write("fenceline.toml", "[lock.bold]\non_acquire_error = \"open\"\n");
  const auto run = place.start({"lock", "deploy", "--class", "bold", "--", "sh", "-c",
                                "trap 'exit 9' TERM; echo > begun; while :; do sleep 0.02; done"},
                               closed.setting());
  ASSERT_TRUE(lock_comes(place, "begun"));
  run->signal(SIGTERM);
  EXPECT_EQ(run->wait().status, 9);
}

TEST(LockAway, OtherwiseItIsWaitedForAndThen69) {
  const Workplace place;
  const Port closed(false);
  const auto began = AwayClock::now();
  const Ended ended = place.fenceline({"lock", "deploy", "-w", "1.5", "--", "touch", "ran"}, closed.setting());
  EXPECT_EQ(ended.status, 69);
  EXPECT_GE(AwayClock::now() - began, 1500ms);
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, "cannot reach")) << ended.err;
  const Ended once =
      place.fenceline({"lock", "deploy", "-n", "-E", "3", "--json", "--", "touch", "ran"}, closed.setting());
  EXPECT_EQ(once.status, 69) << "that is for a lock that others have";
  EXPECT_EQ(events(once.err, "lock_acquire_failed"), 1) << once.err;
  const Ended often = place.fenceline({"lock", "deploy", "-w", "1", "--json", "--", "touch", "ran"}, closed.setting());
  EXPECT_GE(events(often.err, "lock_acquire_failed"), 2) << often.err;
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
}

TEST(LockAway, AServerThatSaysNothingDoesNotMakeTheWaitLonger) {
  const Workplace place;
  const Port silent(true);
  const auto began = AwayClock::now();
  const Ended ended = place.fenceline({"lock", "deploy", "-w", "1", "--", "touch", "ran"}, silent.setting());
  EXPECT_EQ(ended.status, 69) << ended.err;
  EXPECT_LT(AwayClock::now() - began, 8s) << "a call by itself may take ten";
  EXPECT_TRUE(one_line(ended.err)) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
}

TEST(LockAway, AnErrorThatWaitingCannotFixIsReportedAtOnce) {
  const Workplace place;
  for (const char* store : {"sqlite:no/such/folder/x.db", "postgres://a@b@c/x", "oracle:x"}) {
    const Ended ended = place.fenceline({"lock", "deploy", "-w", "3600", "--store", store, "--", "touch", "ran"},
                                        {.input = "", .patience = 30s});
    EXPECT_GE(ended.status, 64) << store;
    EXPECT_LE(ended.status, 77) << store;
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
}

TEST(LockAway, ASignalEndsTheWaitForTheStore) {
  const Workplace place;
  const Port closed(false);
  const auto lock = place.start({"lock", "deploy", "-w", "600", "--json", "--", "touch", "ran"}, closed.setting());
  const auto elect = place.start({"elect", "chief", "--", "touch", "ran"}, closed.setting());
  EXPECT_TRUE(eventually([&] { return has(lock->err(), "lock_acquire_failed"); }));
  EXPECT_TRUE(eventually([&] { return has(elect->err(), "waiting for the store"); }));
  lock->signal(SIGTERM);
  elect->signal(SIGINT);
  EXPECT_EQ(lock->wait().status, 143);
  EXPECT_EQ(elect->wait().status, 130);
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
}

// The server's unix socket, and its store by a link to that in the place: the link is what comes back.
struct LinkedServer {
  std::filesystem::path socket;
  std::filesystem::path link;
  std::string url;
};

LinkedServer linked_postgres(const Workplace& place) {
  const std::string url = place.store_url();
  const std::size_t at = url.rfind(':');
  const std::string port = url.substr(at + 1, url.find('/', at) - at - 1);
  const std::string name = ".s.PGSQL." + port;
  return {.socket = std::filesystem::path(std::getenv("FENCELINE_TEST_POSTGRES_DATA")).parent_path() / name,
          .link = place.file(name),
          .url = "postgres://postgres@localhost/postgres?host=" + place.folder().string() + "&port=" + port};
}

LinkedServer linked_redis(const Workplace& place) {
  const std::string url = std::getenv("FENCELINE_TEST_REDIS_ADMIN");
  const std::size_t path = url.find('/');
  const std::size_t end = std::min(url.size(), url.find('?'));
  // What the others of this run use: a limited user's keys have a prefix.
  const std::string used = place.store_url();
  const std::size_t prefix = used.find("prefix=");
  std::string rest = url.substr(end);
  if (prefix != std::string::npos)
    rest += (rest.empty() ? "?" : "&") + used.substr(prefix, used.find('&', prefix) - prefix);
  return {.socket = url.substr(path, end - path),
          .link = place.file("redis.sock"),
          .url = url.substr(0, path) + place.file("redis.sock").string() + rest};
}

TEST(LockAway, OnceTheStoreIsBackTheLockIsHad) {
  const Workplace place;
  if (place.env().empty()) GTEST_SKIP() << "needs a server: script/with_postgres, script/with_redis";
  const LinkedServer server = Workplace::on_postgres() ? linked_postgres(place) : linked_redis(place);
  const Setting away{.input = "", .env = {{"FENCELINE_STORE", server.url}}};
  const auto lock =
      place.start({"lock", "deploy", "-w", "600", "--json", "--", "sh", "-c", "echo $FENCELINE_FENCE > locked"}, away);
  const auto elect =
      place.start({"elect", "chief", "--json", "--", "sh", "-c", "echo $FENCELINE_FENCE > led; exit 5"}, away);
  EXPECT_TRUE(eventually([&] { return events(lock->err(), "lock_acquire_failed") > 0; })) << lock->err();
  EXPECT_TRUE(eventually([&] { return events(elect->err(), "lock_acquire_failed") > 0; })) << elect->err();
  std::filesystem::create_symlink(server.socket, server.link);
  EXPECT_EQ(lock->wait().status, 0);
  EXPECT_EQ(elect->wait().status, 5);
  EXPECT_EQ(trimmed(Workplace::read(place.file("locked"))), answer(place, {"locks", "show", "deploy"})["fence"].dump());
  EXPECT_EQ(trimmed(Workplace::read(place.file("led"))), answer(place, {"locks", "show", "chief"})["fence"].dump());
}

}  // namespace
}  // namespace fenceline::e2e
