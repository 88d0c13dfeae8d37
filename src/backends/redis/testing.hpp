// For the tests of this folder: the server that script/with_redis has started.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "backends/redis/redis_client.hpp"
#include "runtime/child_process.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::redis::test {

using fenceline::test::must;

// Throws, with what to do, if no server was named: a test that looks at nothing must not pass.
inline std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value)
    throw std::runtime_error(std::string(name) +
                             " is not set: run the tests by script/with_redis --tls --acl --replica");
  return value;
}
inline std::string admin_url() { return from_environment("FENCELINE_TEST_REDIS_ADMIN"); }

inline ClientOptions options_for(const std::string& url) {
  ClientOptions options;
  options.address = must(parse_address(url));
  return options;
}

// An operator's own connection.
class Admin {
 public:
  explicit Admin(Runtime& runtime) : runtime_(runtime) { connect(); }
  // Anew, after the server's restart.
  void connect() {
    connection_ = must(
        Connection::connect(runtime_, must(parse_address(admin_url())), runtime_.now() + std::chrono::seconds{30}));
  }
  Value operator()(const Command& command) {
    return must(connection_->call(command, runtime_.now() + std::chrono::seconds{30}));
  }
  // Ends every connection but this one.
  void kill_others() { (*this)(Command("CLIENT").arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("yes")); }
  void kill_listeners() { (*this)(Command("CLIENT").arg("KILL").arg("TYPE").arg("pubsub")); }

 private:
  Runtime& runtime_;
  std::unique_ptr<Connection> connection_;
};

// One of the server's, for as long as this object is there; then as it was.
class Setting {
 public:
  Setting(Admin& admin, std::string name, const std::string& value) : admin_(admin), name_(std::move(name)) {
    before_ = admin_(Command("CONFIG").arg("GET").arg(name_)).items.at(1).text;
    admin_(Command("CONFIG").arg("SET").arg(name_).arg(value));
  }
  ~Setting() { admin_(Command("CONFIG").arg("SET").arg(name_).arg(before_)); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  Admin& admin_;
  std::string name_, before_;
};

// The server has no memory left, as long as this object is there.
class Full {
 public:
  explicit Full(Admin& admin) : admin_(admin) { set("1"); }
  ~Full() { set("0"); }
  Full(const Full&) = delete;
  Full& operator=(const Full&) = delete;

 private:
  void set(const char* bytes) { admin_(Command("CONFIG").arg("SET").arg("maxmemory").arg(bytes)); }
  Admin& admin_;
};

// The server, killed at once and started again.
class Server {
 public:
  static pid_t pid() {
    std::ifstream file(from_environment("FENCELINE_TEST_REDIS_FOLDER") + "/redis.pid");
    pid_t number = 0;
    file >> number;
    return number;
  }
  static void kill(Runtime& runtime) {
    const pid_t old = pid();
    ::kill(old, SIGKILL);
    while (::kill(old, 0) == 0 && !is_zombie(old)) runtime.sleep_for(std::chrono::milliseconds{1}, {});
  }
  // Returns when it answers, or at once.
  static void start(Runtime& runtime, bool waits = true) {
    const std::string folder = from_environment("FENCELINE_TEST_REDIS_FOLDER");
    // In its folder, by which the script's cleaner knows it, and not our child: it outlives the test.
    // One that was killed may have its port for a moment longer, until the last of its threads has ended: then the new
    // one ends with 1.
    SpawnRequest request{.program = "sh",
                         .arguments = {"sh", "-c",
                                       "cd \"$1\" && (for i in $(seq 300); do redis-server \"$1/redis.conf\"; [ $? -eq "
                                       "1 ] || exit 0; sleep 0.1; done) >>start.log 2>&1 </dev/null &",
                                       "sh", folder}};
    reap(must(spawn_child(request)));
    if (!waits) return;
    for (const Instant end = runtime.now() + std::chrono::seconds{60}; runtime.now() < end;
         runtime.sleep_for(std::chrono::milliseconds{1}, {})) {
      if (Connection::connect(runtime, must(parse_address(admin_url())), runtime.now() + std::chrono::seconds{1}))
        return;
    }
    throw std::runtime_error("the server does not come back; see redis.log in " + folder);
  }

 private:
  static bool is_zombie(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    file >> number >> name >> state;
    return state == "Z";
  }
};

}  // namespace fenceline::redis::test
