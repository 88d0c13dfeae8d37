// One connection to the server, which never blocks longer than it is told. Used by one thread at a time.
//
// A call is one pipeline of statements that ends in one Sync: the server runs it as one transaction and commits it when
// it meets the Sync. So what was cut before the Sync went out has not happened and will not; after it, only an answer
// tells.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/postgres/dsn.hpp"
#include "backends/postgres/errors.hpp"
#include "backends/postgres/wire.hpp"
#include "base/result.hpp"
#include "runtime/clock.hpp"

struct pg_conn;

namespace fenceline::postgres {

// Its name is made of its text: where a pooler mixes sessions, ours can never run what another client prepared under
// the same name.
struct Statement {
  explicit Statement(std::string text);

  std::string sql;
  std::string name;
};

struct Step {
  const Statement& statement;
  Params params;
};

struct Reply {
  enum class Fate {
    answered,   // committed; `rows` are of the last step
    refused,    // rolled back, or the server closed the connection; see `error`
    not_sent,   // and never will be: the connection is of no use
    no_answer,  // sent: it may have happened, or not be safe yet. The connection is of no use
  };
  Fate fate = Fate::not_sent;
  Rows rows;
  ServerError error;
};

class Connection {
 public:
  // Of several hosts, to the first that takes us; each has its share of the time. Whoever waits for one that does not
  // answer hears `stop`; one that answers within a tenth of a second is reached all the same. Errors: as error_of;
  // unavailable if the deadline comes first; held (stopped).
  static Result<std::unique_ptr<Connection>> connect(const Clock& clock, const Dsn& dsn, Instant deadline,
                                                     const std::stop_token& stop = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // With `named`, statements are prepared once and kept by the server's session.
  Reply call(const std::vector<Step>& steps, bool named, Instant deadline);
  // Several statements without parameters in one go; results are dropped. A transaction may stay open between two of
  // these.
  Reply script(const std::string& sql, Instant deadline);

  // Nobody calls, so whatever the server says is about its end, or nothing that we need.
  bool is_quiet() const;
  int socket() const;
  // The process of the server that serves this, as the greeting said.
  int server_process() const;
  // What NOTIFY brought since the last look. False: the connection is over.
  bool take_notices(const std::function<void(const std::string& payload)>& take);

  // The statement timeout that its session has, as far as we told it.
  std::chrono::milliseconds timeout{0};

 private:
  Connection(const Clock& clock, pg_conn* connection) : clock_(clock), connection_(connection) {}

  // With `server` laid over the options.
  static std::expected<std::unique_ptr<Connection>, ServerError> connect_to(const Clock& clock, const Dsn& dsn,
                                                                            const DsnOptions& server, Instant deadline,
                                                                            const std::stop_token& stop);
  bool wait(short events, Instant deadline) const;
  bool send(const Step& step, bool named);
  // False: not all of it is out, and the deadline came or the connection broke.
  bool flush(Instant deadline);
  Reply read(Instant deadline);

  const Clock& clock_;
  pg_conn* connection_;
  std::set<std::string> prepared_;
  std::vector<std::string> being_prepared_;
  bool unconfirmed_ = false;  // the call at hand: the server stopped waiting for its standby
};

}  // namespace fenceline::postgres
