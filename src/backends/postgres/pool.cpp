#include "backends/postgres/pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

namespace fenceline::postgres {
namespace {

constexpr Duration kReconnectFirst = std::chrono::milliseconds{100};
constexpr Duration kReconnectMost = std::chrono::seconds{5};
constexpr Duration kConnectMost = std::chrono::seconds{5};  // of one try: the next may reach a server that came back
constexpr Duration kReconnectFor =
    std::chrono::seconds{2};  // in one call: who called has a patience of its own, and may have been told to stop
constexpr Duration kWorthATry = std::chrono::milliseconds{20};

// The functions rest on it that each statement sees what was committed before it. A role or a database may have another
// default: a session of our own is told once, one that others share in each transaction.
const std::string kReadCommitted = "set default_transaction_isolation to 'read committed'";
const Statement kReadCommittedNow{"set transaction isolation level read committed"};
const Statement kSetTimeout{"select set_config('statement_timeout', $1, true)"};
const Statement kKeepTimeout{"select set_config('statement_timeout', $1, false)"};
const Statement kSetClock{"select set_config('fenceline.lease', $1, true), set_config('fenceline.wall', $2, true)"};
// Goes to the log of the server and to nobody else.
const Statement kWriteSomething{"select pg_catalog.pg_logical_emit_message(true, 'fenceline', '')"};

}  // namespace

Pool::Pool(Runtime& runtime, Dsn dsn, TestClock test_clock)
    : runtime_(runtime),
      dsn_(std::move(dsn)),
      test_clock_(std::move(test_clock)),
      pid_(::getpid()),
      named_(!dsn_.pooled),
      freed_(runtime.make_event()) {}

Duration Pool::backoff(int failures) const {
  const Duration most = std::min(kReconnectMost, kReconnectFirst * (1 << std::min(failures, 10)));
  return most / 2 +
         Duration{static_cast<std::int64_t>(runtime_.random() % static_cast<std::uint64_t>(most.count() / 2 + 1))};
}

Result<std::unique_ptr<Connection>> Pool::connect(Instant deadline) {
  const Instant given_up = std::min(deadline, runtime_.now() + kReconnectFor);
  for (int failures = 0;; ++failures) {
    Result<std::unique_ptr<Connection>> made =
        Connection::connect(runtime_, dsn_, std::min(deadline, runtime_.now() + kConnectMost),
                            was_reached_ ? std::stop_token{} : until_reached_);
    if (made && named_ && (*made)->script(kReadCommitted, deadline).fate != Reply::Fate::answered)
      made = fail(Code::unavailable, "cannot reach " + dsn_.shown + ": the connection broke");
    if (made) was_reached_ = true;
    if (made || made.error().code != Code::unavailable || !was_reached_) return made;
    const Instant next = runtime_.now() + backoff(failures);
    if (next + kWorthATry > given_up) return made;
    runtime_.sleep_until(next, {});
  }
}

Pool::Taken Pool::take_idle() {
  const std::lock_guard lock(mutex_);
  Taken taken;
  if (!idle_.empty()) {
    taken.idle = std::move(idle_.back());
    idle_.pop_back();
    taken.more_idle = !idle_.empty();
  } else if (open_ < kConnectionsMost) {
    taken.may_open = true;
    ++open_;
  }
  return taken;
}

Result<std::unique_ptr<Connection>> Pool::take(Instant deadline) {
  if (::getpid() != pid_) return fail(Code::refused, "this store was opened before a fork; open it again in the child");
  for (;;) {
    Taken taken = take_idle();
    if (taken.more_idle) freed_->notify();  // an event wakes one of those who wait
    if (taken.idle) {
      if (taken.idle->is_quiet()) return std::move(taken.idle);
      drop(std::move(taken.idle));
      continue;
    }
    if (taken.may_open) {
      Result<std::unique_ptr<Connection>> made = connect(deadline);
      if (!made) drop(nullptr);
      return made;
    }
    if (!freed_->wait_until(deadline)) return fail(Code::unavailable, "all connections to " + dsn_.shown + " are busy");
  }
}

void Pool::put_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  freed_->notify();
}

void Pool::drop(std::unique_ptr<Connection> connection) {
  connection.reset();
  {
    const std::lock_guard lock(mutex_);
    --open_;
  }
  freed_->notify();
}

// The server gives up a moment before we do, so that its answer, that nothing happened, can still arrive.
std::chrono::milliseconds Pool::servers_share(Instant deadline) const {
  const Duration left = std::max(deadline - runtime_.now(), Duration{0});
  const Duration share = left - std::min<Duration>(left / 10, std::chrono::milliseconds{200});
  return std::max(std::chrono::milliseconds{1}, std::chrono::floor<std::chrono::milliseconds>(share));
}

// Most calls have the same time, so a session of our own is told of it once. It may have a little more than is left:
// then the call ends by our own deadline.
bool Pool::fits(std::chrono::milliseconds known, std::chrono::milliseconds wanted) {
  return known >= wanted && known - wanted <= std::chrono::milliseconds{100};
}

std::vector<Step> Pool::opening_steps(std::chrono::milliseconds share, const Connection& connection,
                                      bool confirms) const {
  std::vector<Step> steps;
  const Params in_milliseconds = Params().text(std::to_string(share.count()));
  if (!named_) {
    steps.push_back({kReadCommittedNow, Params()});
    steps.push_back({kSetTimeout, in_milliseconds});
  } else if (!fits(connection.timeout, share)) {
    steps.push_back({kKeepTimeout, in_milliseconds});
  }
  if (test_clock_) {
    const auto [lease, wall] = test_clock_();
    steps.push_back({kSetClock, Params().text(std::to_string(lease)).text(std::to_string(wall))});
  }
  if (confirms) steps.push_back({kWriteSomething, Params()});
  return steps;
}

Result<Rows> Pool::run(const Statement& statement, const Params& params, CallKind kind, Duration timeout) {
  const Instant deadline = runtime_.now() + timeout;
  for (int tries = 0;; ++tries) {
    Result<std::unique_ptr<Connection>> taken = take(deadline);
    if (!taken) return std::unexpected(taken.error());
    const std::chrono::milliseconds share = servers_share(deadline);
    // A claim that finds nothing is not worth a commit, and is repeated by the process that sent it only.
    const bool confirms = replicated_ && (kind == CallKind::change || (kind == CallKind::claim && doubted_));
    std::vector<Step> steps = opening_steps(share, **taken, confirms);
    steps.push_back({statement, params});
    Reply reply = (*taken)->call(steps, named_, deadline);
    if (reply.fate == Reply::Fate::answered) {
      // What was rolled back has not told the session either.
      if (named_ && !fits((*taken)->timeout, share)) (*taken)->timeout = share;
      put_back(std::move(*taken));
      return std::move(reply.rows);
    }
    const bool is_over = reply.fate != Reply::Fate::refused || ends_the_connection(reply.error.state);
    if (is_over) drop(std::move(*taken));
    else put_back(std::move(*taken));

    Error error = without_answer(kind, dsn_.shown);
    if (reply.fate == Reply::Fate::not_sent)
      error = {Code::unavailable, "cannot reach " + dsn_.shown + ": the connection broke"};
    else if (reply.fate == Reply::Fate::refused && !is_over) error = error_of(reply.error, dsn_.shown);
    if (reply.fate == Reply::Fate::refused && is_of_a_shared_session(reply.error.state)) named_ = false;

    if (error.code == Code::in_doubt) doubted_ = true;
    if (error.code != Code::unavailable) return std::unexpected(std::move(error));
    const Instant next = runtime_.now() + backoff(tries) / 10;
    if (next + kWorthATry > deadline) return std::unexpected(std::move(error));
    runtime_.sleep_until(next, {});
  }
}

}  // namespace fenceline::postgres
