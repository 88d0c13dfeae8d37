// The server of a store, as the drills that take it away need it: one kind each for PostgreSQL and for Redis.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "drills/fault_proxy.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::cli {

// Ends the sessions of some processes of this machine.
class SessionEnder {
 public:
  virtual ~SessionEnder() = default;
  // Those that are in the middle of something, as far as the server can tell, or all. How many; negative if the server
  // does not answer.
  virtual std::int64_t end_sessions(const std::vector<pid_t>& processes, bool all) = 0;
};

// How a server goes away without a goodbye, and comes back: lines for a shell.
struct RestartPlan {
  std::string stop;  // empty: `start` does both
  std::string start;
  bool forgets = false;  // it loses its last moments with it: the time between `stop` and `start` is when
};

class DrillServer {
 public:
  virtual ~DrillServer() = default;

  // Errors: invalid (the URL names no single place).
  virtual Result<FaultProxy::Target> place() const = 0;
  // The store's URL, reached at a port of this machine.
  virtual std::string url_at(std::uint16_t port) const = 0;
  // The store's URL for those whose sessions will be ended: they may need to go by a name, of letters, digits and '-'.
  virtual std::string url_named(const std::string& name) const = 0;
  virtual Result<std::unique_ptr<SessionEnder>> ender(Runtime& runtime, const std::string& name) const = 0;

  // Of a server that script/with_postgres or script/with_redis has started, known by a variable that these set; nothing
  // of another.
  virtual std::optional<pid_t> first_process() const = 0;
  // Errors: invalid (no server was started there), refused (one that keeps nothing on disk has nothing to come back
  // with).
  virtual Result<std::optional<RestartPlan>> restart_plan(Runtime& runtime) const = 0;

  // What somebody does behind our back, with a client of the server's own kind: a line of SQL (in the schema of the
  // store's URL), or the words of one command of Redis. What was answered, as text. Errors: refused (the server said
  // no), and those of a call.
  virtual Result<std::string> by_hand(Runtime& runtime, const std::string& store_url,
                                      const std::vector<std::string>& words) const = 0;

  // By a command of its own the server holds back all that would change something, until it is let go; false if it has
  // no such command. It ends by itself if nobody ends it.
  virtual bool hold(Runtime&) const { return false; }
  virtual bool let_go(Runtime&) const { return false; }
};

// Nothing if the store is embedded in its users' processes. Errors: as of the URL.
Result<std::unique_ptr<DrillServer>> server_of(const std::string& store_url);
std::unique_ptr<DrillServer> postgres_server(const std::string& store_url);
Result<std::unique_ptr<DrillServer>> redis_server(const std::string& store_url);

// Runs a line in a shell; false if it failed. Its words go nowhere: a server that it starts would keep them open.
bool run_in_shell(const std::string& line);
// As one word of such a line.
std::string quoted(const std::string& text);

}  // namespace fenceline::cli
