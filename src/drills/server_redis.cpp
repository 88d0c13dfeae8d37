#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <vector>

#include "backends/redis/client_name.hpp"
#include "backends/redis/redis_connection.hpp"
#include "backends/redis/server_facts.hpp"
#include "drills/server.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFolderOfTests = "FENCELINE_TEST_REDIS_FOLDER";  // set by script/with_redis
constexpr Duration kHeldMost = 20s;                                    // by then the server lets go by itself
constexpr Duration kAhead = 5ms;            // for the server to have begun what keeps it busy
constexpr int kTurnsOfTheBusy = 2'000'000;  // of a loop: some 20 ms
constexpr const char* kTail =
    "0.7";  // seconds that a crash of the machine takes here; a server that syncs every second may lose two

Result<std::unique_ptr<redis::Connection>> connect(Runtime& runtime, const redis::Address& address) {
  return redis::Connection::connect(runtime, address, runtime.now() + kCallTimeout);
}

// A client that is served while another command keeps the server busy has its answer ready but not on its way when the
// next command ends its connection: so what it asked has taken effect, and it never hears of it. What arrives later is
// never read.
class RedisEnder final : public SessionEnder {
 public:
  RedisEnder(Runtime& runtime, std::unique_ptr<redis::Connection> connection, std::unique_ptr<redis::Connection> busy)
      : runtime_(runtime), connection_(std::move(connection)), busy_(std::move(busy)) {}

  std::int64_t end_sessions(const std::vector<pid_t>& processes, bool all) override {
    const Result<redis::Value> listed =
        connection_->call(redis::Command("CLIENT").arg("LIST"), runtime_.now() + kCallTimeout);
    if (!listed || !listed->is_text()) return -1;
    std::string kills;
    std::size_t asked = 0;
    for (const std::string& id : ids_in(listed->text, processes, all)) {
      redis::Command("CLIENT").arg("KILL").arg("ID").arg(id).append_to(kills);
      ++asked;
    }
    if (asked == 0) return 0;
    if (!all) {
      std::string loop;
      redis::Command("EVAL")
          .arg("local sum = 0 for i = 1, tonumber(ARGV[1]) do sum = sum + i end return 1")
          .arg(0)
          .arg(kTurnsOfTheBusy)
          .append_to(loop);
      if (!send(*busy_, loop)) return -1;
      runtime_.sleep_for(kAhead, {});
    }
    if (!send(*connection_, kills)) return -1;
    const std::int64_t ended = sum_of_answers(*connection_, asked);
    if (!all && sum_of_answers(*busy_, 1) < 0) return -1;
    return ended;
  }

 private:
  // Of lines "id=3 addr=... name=NAME ... flags=P ...". One that only listens is in the middle of nothing.
  static std::vector<std::string> ids_in(std::string_view list, const std::vector<pid_t>& processes, bool all) {
    std::set<std::string, std::less<>> names;
    for (const pid_t process : processes) names.insert(redis::client_name(process));
    std::vector<std::string> ids;
    while (!list.empty()) {
      const std::string_view line = list.substr(0, list.find('\n'));
      list.remove_prefix(std::min(list.size(), line.size() + 1));
      if (!names.contains(field(line, "name"))) continue;
      if (all || field(line, "flags").find('P') == std::string_view::npos) ids.emplace_back(field(line, "id"));
    }
    return ids;
  }
  static std::string_view field(std::string_view line, const std::string& name) {
    const std::string before = name + "=";
    std::size_t at = line.starts_with(before) ? 0 : line.find(" " + before);
    if (at == std::string_view::npos) return {};
    at = line.find('=', at) + 1;
    return line.substr(at, line.find(' ', at) - at);
  }
  bool send(redis::Connection& connection, std::string& bytes) const {
    for (const Instant end = runtime_.now() + kCallTimeout; runtime_.now() < end;) {
      const Result<bool> sent = connection.write(bytes);
      if (!sent) return false;
      if (*sent) return true;
      runtime_.sleep_for(1ms, {});
    }
    return false;
  }
  // Negative if they do not come, or say that this user may not.
  std::int64_t sum_of_answers(redis::Connection& connection, std::size_t wanted) const {
    std::vector<redis::Value> answers;
    const Instant end = runtime_.now() + kCallTimeout;
    while (answers.size() < wanted) {
      const Result<bool> came = connection.read(answers, 100ms);
      if (!came || runtime_.now() >= end) return -1;
    }
    std::int64_t sum = 0;
    for (const redis::Value& answer : answers) {
      if (answer.is_error()) return -1;
      sum += answer.integer;
    }
    return sum;
  }

  Runtime& runtime_;
  std::unique_ptr<redis::Connection> connection_;
  std::unique_ptr<redis::Connection> busy_;
};

class RedisServer final : public DrillServer {
 public:
  RedisServer(std::string url, redis::Address address) : url_(std::move(url)), address_(std::move(address)) {}

  Result<FaultProxy::Target> place() const override {
    if (address_.host.empty()) return FaultProxy::Target{.host = address_.path, .port = 0};
    std::uint16_t port = 0;
    std::from_chars(address_.port.data(), address_.port.data() + address_.port.size(), port);
    return FaultProxy::Target{.host = address_.host, .port = port};
  }

  std::string url_at(std::uint16_t port) const override {
    const std::string there = "127.0.0.1:" + std::to_string(port);
    const std::size_t query = std::min(url_.find('?'), url_.size());
    if (address_.host.empty()) return "redis://" + there + url_.substr(query);
    const std::size_t begin = url_.find("://") + 3;
    const std::size_t end = std::min(url_.find('/', begin), query);
    const std::size_t at = url_.rfind('@', end);
    const std::size_t host = at == std::string::npos || at < begin ? begin : at + 1;
    const std::string moved = url_.substr(0, host) + there + url_.substr(end);
    return address_.tls && address_.server_name.empty() ? with_option(moved, "server_name=" + address_.host) : moved;
  }
  // Every process goes by its own already.
  std::string url_named(const std::string&) const override { return url_; }
  Result<std::unique_ptr<SessionEnder>> ender(Runtime& runtime, const std::string&) const override {
    Result<std::unique_ptr<redis::Connection>> one = connect(runtime, address_);
    if (!one) return std::unexpected(one.error());
    Result<std::unique_ptr<redis::Connection>> other = connect(runtime, address_);
    if (!other) return std::unexpected(other.error());
    return std::make_unique<RedisEnder>(runtime, std::move(*one), std::move(*other));
  }

  std::optional<pid_t> first_process() const override {
    const char* const folder = std::getenv(kFolderOfTests);
    if (folder == nullptr) return std::nullopt;
    std::ifstream file(std::string(folder) + "/redis.pid");
    pid_t pid = 0;
    file >> pid;
    return pid > 1 ? std::optional(pid) : std::nullopt;
  }
  Result<std::optional<RestartPlan>> restart_plan(Runtime& runtime) const override {
    const char* const named = std::getenv(kFolderOfTests);
    if (named == nullptr) return std::nullopt;
    const Result<std::string> sync = sync_of_its_file(runtime);
    if (!sync) return std::unexpected(sync.error());
    const std::string in_folder = "cd " + quoted(named) + " && ";
    const std::string killed =
        "pid=$(cat redis.pid) && kill -KILL $pid && while kill -0 $pid && ! grep -q '^State:.Z' /proc/$pid/status; do "
        "sleep 0.01; done; true";
    RestartPlan plan;
    plan.forgets = *sync != "always";
    // A process that is killed has left all to the kernel; what a machine takes with it is cut off by hand: all that
    // came after a moment shortly before.
    const std::string noted =
        "for file in appendonlydir/*.incr.aof; do :; done; size() { stat -c %s \"$file\"; }; kept=$(size) && sleep " +
        std::string(kTail) + " && for i in $(seq 100); do [ \"$(size)\" -eq \"$kept\" ] || break; sleep 0.05; done && ";
    plan.stop = in_folder + (plan.forgets ? noted + killed + " && truncate -s \"$kept\" \"$file\"" : killed);
    plan.start = in_folder +
                 "{ redis-server \"$PWD/redis.conf\" >>start.log 2>&1 </dev/null & } && "
                 "for i in $(seq 3000); do [ \"$(redis-cli -s redis.sock -a \"$(cat password)\" --no-auth-warning "
                 "ping)\" != PONG ] || exit 0; sleep 0.01; done; exit 1";
    return plan;
  }

  Result<std::string> by_hand(Runtime& runtime, const std::string&,
                              const std::vector<std::string>& words) const override {
    const Result<std::unique_ptr<redis::Connection>> connection = connect(runtime, address_);
    if (!connection) return std::unexpected(connection.error());
    redis::Command command(words.at(0));
    for (std::size_t i = 1; i < words.size(); ++i) command.arg(words[i]);
    const Result<redis::Value> answer = (*connection)->call(command, runtime.now() + kCallTimeout);
    if (!answer) return std::unexpected(answer.error());
    if (answer->is_error()) return fail(Code::refused, answer->text);
    return answer->is_text() ? answer->text : std::to_string(answer->integer);
  }

  bool hold(Runtime& runtime) const override {
    return says_ok(runtime, redis::Command("CLIENT")
                                .arg("PAUSE")
                                .arg(std::chrono::duration_cast<std::chrono::milliseconds>(kHeldMost).count())
                                .arg("WRITE"));
  }
  bool let_go(Runtime& runtime) const override { return says_ok(runtime, redis::Command("CLIENT").arg("UNPAUSE")); }

 private:
  static std::string with_option(const std::string& url, const std::string& option) {
    if (url.find('?') == std::string::npos) return url + "?" + option;
    return url + (url.ends_with('?') || url.ends_with('&') ? "" : "&") + option;
  }
  bool says_ok(Runtime& runtime, const redis::Command& command) const {
    const Result<std::unique_ptr<redis::Connection>> connection = connect(runtime, address_);
    if (!connection) return false;
    const Result<redis::Value> answer = (*connection)->call(command, runtime.now() + kCallTimeout);
    return answer && !answer->is_error();
  }
  // "always", "everysec". Errors: refused (the server keeps no file), and those of a call.
  Result<std::string> sync_of_its_file(Runtime& runtime) const {
    const Result<std::unique_ptr<redis::Connection>> connection = connect(runtime, address_);
    if (!connection) return std::unexpected(connection.error());
    const auto asked = [&](const redis::Command& command) {
      return (*connection)->call(command, runtime.now() + kCallTimeout);
    };
    const Result<redis::Value> info = asked(redis::Command("INFO").arg("persistence"));
    if (!info) return std::unexpected(info.error());
    const Result<redis::Value> config = asked(redis::settings_command());
    if (!config) return std::unexpected(config.error());
    const redis::ServerSettings settings = redis::settings_in(*config);
    if (redis::ServerFacts(info->text).number("aof_enabled") == 0)
      return fail(Code::refused,
                  "the server does not keep its last writes (appendonly no), so a restart proves nothing; run CONFIG "
                  "SET appendonly yes");
    if (!settings.known || settings.appendfsync == "no")
      return fail(Code::refused,
                  "it is unknown how much a crash of the server loses (appendfsync no, or CONFIG GET is not allowed)");
    return settings.appendfsync;
  }

  const std::string url_;
  const redis::Address address_;
};

}  // namespace

Result<std::unique_ptr<DrillServer>> redis_server(const std::string& store_url) {
  Result<redis::Address> address = redis::parse_address(store_url);
  if (!address) return std::unexpected(address.error());
  return std::make_unique<RedisServer>(store_url, std::move(*address));
}

}  // namespace fenceline::cli
