#include "backends/postgres/pooler.hpp"

#include <memory>
#include <optional>

#include "backends/postgres/connection.hpp"

namespace fenceline::postgres {
namespace {

constexpr Duration kMoment =
    std::chrono::milliseconds{300};  // one that waits for a session longer than this will not get it
const Statement kWhich{"select pg_catalog.pg_backend_pid()::bigint"};

// A client of the pooler's, perhaps, that opens and ends transactions.
class Visitor {
 public:
  Visitor(Runtime& runtime, std::unique_ptr<Connection> connection)
      : runtime_(runtime), connection_(std::move(connection)) {}

  // The process of the server that this transaction runs in; it stays open. Nothing: no session was to be had in that
  // time, and this visitor is of no more use.
  std::optional<std::int64_t> begin(Duration patience) {
    const Instant deadline = runtime_.now() + patience;
    if (connection_->script("begin", deadline).fate != Reply::Fate::answered) return std::nullopt;
    const Reply reply = connection_->call({{kWhich, Params()}}, false, deadline);
    if (reply.fate != Reply::Fate::answered) return std::nullopt;
    return reply.rows.integer(0, 0);
  }
  void commit() { static_cast<void>(connection_->script("commit", runtime_.now() + kMoment)); }
  int promised() const { return connection_->server_process(); }

 private:
  Runtime& runtime_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

Result<Pooler> pooler_before(Runtime& runtime, const Dsn& dsn, Duration timeout) {
  const Instant deadline = runtime.now() + timeout;
  const auto visitor = [&]() -> Result<Visitor> {
    Result<std::unique_ptr<Connection>> made = Connection::connect(runtime, dsn, deadline);
    if (!made) return std::unexpected(made.error());
    return Visitor(runtime, std::move(*made));
  };
  Result<Visitor> one = visitor();
  if (!one) return std::unexpected(one.error());
  const std::optional<std::int64_t> first = one->begin(timeout / 2);
  // A pooler answers the greeting itself, and names a process that is none of the server's.
  if (first && *first == one->promised()) {
    one->commit();  // else who looks for old transactions next finds this one
    return Pooler::none;
  }
  if (!first) return Pooler::session;
  {
    Result<Visitor> other = visitor();
    if (!other) return std::unexpected(other.error());
    if (other->begin(kMoment)) {
      // Whoever comes next gets the session that was put back last, or the one that waits longest: the two rounds meet
      // both.
      one->commit();
      other->commit();
      if (one->begin(kMoment) != first) return Pooler::transaction;
      static_cast<void>(other->begin(kMoment));
      other->commit();
      one->commit();
      return one->begin(kMoment) != first ? Pooler::transaction : Pooler::session;
    }
  }
  // No session was left while the first has its transaction. If the end of that makes room, sessions are shared.
  one->commit();
  Result<Visitor> third = visitor();
  if (!third) return std::unexpected(third.error());
  return third->begin(kMoment) ? Pooler::transaction : Pooler::session;
}

}  // namespace fenceline::postgres
