#include "backends/sqlite/history.hpp"

#include <string>
#include <vector>

namespace fenceline::sqlite {
namespace {

constexpr const char* kAddAttempt = R"sql(
  INSERT INTO attempt (seq, delivery, fence, started_at, ended_at, ending, exit_status, owner, error)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))sql";
constexpr const char* kTrim = "DELETE FROM attempt WHERE seq = ?1 AND delivery <= ?2";
constexpr const char* kOf = R"sql(
  SELECT delivery, fence, started_at, ended_at, ending, exit_status, owner, error FROM attempt
  WHERE seq = ?1 AND delivery > ?2 ORDER BY delivery)sql";

constexpr const char* kLastRun =
    "SELECT ended_at - started_at FROM attempt WHERE seq = ?1 ORDER BY delivery DESC LIMIT 1";

std::optional<int> as_status(const std::optional<std::int64_t>& status) {
  return status ? std::optional(static_cast<int>(*status)) : std::nullopt;
}

void add_attempt(Call& call, std::int64_t seq, const Attempt& attempt) {
  const auto status = attempt.exit_status ? std::optional<std::int64_t>(*attempt.exit_status) : std::nullopt;
  call.db.execute(kAddAttempt, seq, attempt.delivery, attempt.fence, attempt.started_at.time_since_epoch().count(),
                  attempt.ended_at->time_since_epoch().count(), static_cast<int>(attempt.end), status, attempt.owner,
                  attempt.error);
  call.db.execute(kTrim, seq, attempt.delivery - static_cast<std::int64_t>(kAttemptsKept));
}

Attempt begun(const Delivery& delivery) {
  Attempt attempt;
  attempt.delivery = delivery.deliveries;
  attempt.fence = delivery.fence;
  attempt.owner = delivery.owner;
  attempt.started_at = wall_time(delivery.started_at.value_or(0));
  return attempt;
}

bool has_error(AttemptEnd end) { return end == AttemptEnd::failed || end == AttemptEnd::dead; }

// Of a job that a settle finished.
Attempt last_of(const Delivery& finished) {
  Attempt attempt = begun(finished);
  attempt.ended_at = wall_time(finished.finished_at);
  attempt.end = attempt_end(static_cast<OutcomeKind>(finished.last_outcome.value_or(0)));
  attempt.exit_status = as_status(finished.exit_status);
  if (has_error(attempt.end)) attempt.error = finished.error;
  return attempt;
}

}  // namespace

void end_attempt(Call& call, const Delivery& delivery, AttemptEnd end, const Outcome& outcome) {
  Attempt attempt = begun(delivery);
  attempt.ended_at = call.wall;
  attempt.end = end;
  attempt.exit_status = outcome.exit_status;
  if (has_error(end)) attempt.error = outcome.error;
  add_attempt(call, delivery.seq, attempt);
}

void keep_attempt(Call& call, const Delivery& finished) {
  if (finished.started_at) add_attempt(call, finished.seq, last_of(finished));
}

Result<std::vector<Attempt>> attempts(Call& call, const std::string& ns, const JobId& id) {
  std::vector<Attempt> found;
  const auto ns_id = call.names.find_namespace(ns);
  const auto seq = ns_id ? find_seq(call, *ns_id, id) : std::nullopt;
  if (!seq) return found;
  const Delivery delivery = find_delivery(call, *seq);
  {
    auto rows = call.db.query(kOf, *seq, delivery.deliveries - static_cast<std::int64_t>(kAttemptsKept));
    while (rows.next()) {
      found.push_back({rows.integer(0), rows.integer(1), rows.text(6), wall_time(rows.integer(2)),
                       wall_time(rows.integer(3)), static_cast<AttemptEnd>(rows.integer(4)),
                       as_status(rows.maybe_integer(5)), rows.text(7)});
    }
  }
  if (delivery.state == JobState::running) found.push_back(begun(delivery));
  else if (is_finished(delivery.state) && delivery.started_at) found.push_back(last_of(delivery));
  return found;
}

std::optional<Duration> last_run(Call& call, const Delivery& delivery) {
  if (delivery.deliveries == 0) return std::nullopt;
  std::optional<Duration> took;
  if (delivery.state == JobState::running) {
    took = call.wall - wall_time(delivery.started_at.value_or(0));
  } else if (is_finished(delivery.state) && delivery.started_at) {
    took = Duration{delivery.finished_at - *delivery.started_at};
  } else if (const auto ended = call.db.number(kLastRun, delivery.seq)) {
    took = Duration{*ended};
  }
  return took ? std::optional(std::max(Duration{0}, *took)) : std::nullopt;
}

}  // namespace fenceline::sqlite
