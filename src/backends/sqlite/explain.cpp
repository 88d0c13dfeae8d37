// Why a job is where it is.
#include <algorithm>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/unique_keys.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kQueueHolders = R"sql(
  SELECT r.seq, r.more FROM run r CROSS JOIN claim c ON c.id = r.claim_id CROSS JOIN queue q ON q.id = c.queue_id
    WHERE q.home_id = ?1
  UNION SELECT seq, 0 FROM slot WHERE home_id = ?1 AND lease_end > ?2 ORDER BY 1 LIMIT ?3)sql";
constexpr const char* kKeyHolders = R"sql(
  SELECT seq, 0 FROM run WHERE limit_id = ?1 UNION SELECT seq, 0 FROM slot WHERE limit_id = ?1 AND lease_end > ?2
    ORDER BY 1 LIMIT ?3)sql";
constexpr const char* kRevokedInGroup = "SELECT seq FROM slot WHERE group_id = ?1 AND lease_end > ?2 LIMIT 1";
constexpr const char* kSlotEnd = "SELECT lease_end FROM slot WHERE seq = ?1 AND lease_end > ?2";

std::vector<JobId> holders_in(Call& call, const char* sql, std::int64_t of) {
  std::vector<JobId> ids;
  auto rows = call.db.query(sql, of, call.now_us(), static_cast<std::int64_t>(kHoldersShown));
  while (rows.next()) {
    const std::int64_t last = rows.integer(0) + rows.integer(1);
    for (std::int64_t seq = rows.integer(0); seq <= last && ids.size() < kHoldersShown; ++seq)
      ids.push_back(id_of(call, seq));
  }
  return ids;
}

void explain_group(Call& call, const Delivery& delivery, JobFacts& facts) {
  if (!delivery.group_id) return;
  const auto revoked = call.db.number(kRevokedInGroup, *delivery.group_id, call.now_us());
  const auto first = revoked ? revoked : head_of(call, *delivery.group_id);
  if (!first || *first == delivery.seq) return;
  facts.group_head = id_of(call, *first);
  facts.group_head_revoked = revoked.has_value();
}

void explain_limits(Call& call, const Home& home, const Delivery& delivery, JobFacts& facts) {
  if (room_in(call, home) == 0) {
    facts.limit = home.settings.limit;
    facts.limit_holders = holders_in(call, kQueueHolders, home.id);
  }
  const int most = home.settings.limit_per_key;
  if (delivery.limit_id && most > 0 && key_slots_taken(call, *delivery.limit_id) >= most) {
    facts.limit_per_key = most;
    facts.limit_key_holders = holders_in(call, kKeyHolders, *delivery.limit_id);
  }
}

void explain_workers(Call& call, const std::string& ns, JobFacts& facts) {
  const Result<std::vector<WorkerRow>> rows = workers(call, ns);
  for (const WorkerRow& row : *rows) {
    const WorkerReport& report = row.report;
    const bool serves = report.stage == facts.job.stage &&
                        std::find(report.queues.begin(), report.queues.end(), facts.job.queue) != report.queues.end();
    if (!serves || call.wall - row.seen_at > report.ttl) continue;
    if (row.order == WorkerOrder::work) facts.workers += 1;
    if (row.order == WorkerOrder::quiet && facts.quiet_workers.size() < kHoldersShown)
      facts.quiet_workers.push_back(report.owner);
  }
}

}  // namespace

Result<std::optional<JobFacts>> facts(Call& call, const std::string& ns, const JobId& id) {
  const auto ns_id = call.names.find_namespace(ns);
  const auto seq = ns_id ? find_seq(call, *ns_id, id) : std::nullopt;
  if (!seq) return std::nullopt;
  Delivery delivery = find_delivery(call, *seq);
  add_place(call, delivery);
  const Home home = read_home(call, call.names.home_of(delivery.queue_id));

  JobFacts facts;
  facts.job = to_job(call, delivery, true);
  facts.paused = home.paused;
  if (delivery.state == JobState::waiting) facts.effects_in_doubt = waited_for(call, *seq);
  if (delivery.state == JobState::ready || delivery.state == JobState::waiting) {
    if (delivery.state == JobState::ready && delivery.run_at > call.wall_us())
      facts.due_in = Duration{delivery.run_at - call.wall_us()};
    explain_group(call, delivery, facts);
    explain_limits(call, home, delivery, facts);
  }
  if (is_finished(delivery.state)) {
    const auto holder = facts.job.key.empty() ? std::nullopt : key_holder(call, home.id, facts.job.key);
    if (holder) facts.key_holder = id_of(call, *holder);
  } else {
    const bool expired = delivery.state == JobState::running && delivery.lease_end <= call.now_us();
    facts.must_run_alone = must_run_alone(delivery.losses_in_row + (expired ? 1 : 0));
  }
  if (const auto end = call.db.number(kSlotEnd, *seq, call.now_us())) facts.slot_left = Duration{*end - call.now_us()};
  explain_workers(call, ns, facts);
  return facts;
}

}  // namespace fenceline::sqlite
