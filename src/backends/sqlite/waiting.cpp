#include "backends/sqlite/waiting.hpp"

#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/past.hpp"
#include "backends/sqlite/slots.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kPutWaiting =
    "INSERT INTO waiting (seq, fence, run_at, deliveries, past) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kDropWaiting = "DELETE FROM waiting WHERE seq = ?1";
constexpr const char* kWaitingAmong = "SELECT seq FROM waiting WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq";

}  // namespace

void put_waiting(Call& call, JobState from, Delivery& delivery) {
  delivery.state = JobState::waiting;
  const std::string past = pack_past(delivery);
  call.db.execute(kPutWaiting, delivery.seq, delivery.fence, delivery.run_at, delivery.deliveries,
                  past.empty() ? std::nullopt : std::optional(Bytes{past}));
  if (from != JobState::waiting) call.moved(delivery.queue_id, from, JobState::waiting);
}

void hold(Call& call, std::int64_t ns_id, const std::string& ns, Delivery& delivery) {
  have_own_row(call, delivery.seq);  // the order of its owner names it by that
  add_place(call, delivery);
  end_attempt(call, delivery, AttemptEnd::held);
  keep_slot(call, ns_id, delivery);
  call.ordered.insert(ns);
  leave_claims(call, {delivery});
  drop_running(call, {delivery});
  delivery.losses_in_row = 0;
  delivery.last_outcome.reset();
  delivery.exit_status.reset();
  delivery.started_at.reset();
  delivery.previous_owner.reset();
  put_waiting(call, JobState::running, delivery);
  const std::int64_t home_id = call.names.home_of(delivery.queue_id);
  if (delivery.limit_id) choose_of_key(call, home_id, *delivery.limit_id);
  if (is_limited(call, home_id)) awaken_stages(call, home_id);
}

void release(Call& call, Delivery& delivery) {
  call.db.execute(kDropWaiting, delivery.seq);
  add_place(call, delivery);
  delivery.state = JobState::ready;
  call.moved(delivery.queue_id, JobState::waiting, JobState::ready);
  enter_ready(call, {delivery});
}

void drop_waiting(Call& call, std::int64_t seq) {
  call.db.execute(kDropWaiting, seq);
  wait_for_none(call, seq);
}

std::vector<std::int64_t> waiting_among(Call& call, const SeqRange& numbers) {
  std::vector<std::int64_t> found;
  auto rows = call.db.query(kWaitingAmong, numbers.first, numbers.last);
  while (rows.next()) found.push_back(rows.integer(0));
  return found;
}

}  // namespace fenceline::sqlite
