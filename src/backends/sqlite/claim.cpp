// Granting jobs. Expired leases come from the lease book; ready jobs by one seek for each priority, so that delayed
// jobs of a high priority cost nothing, however many they are.
#include <algorithm>
#include <set>
#include <utility>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/extras.hpp"
#include "backends/sqlite/finish.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/past.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "backends/sqlite/seq_ranges.hpp"
#include "backends/sqlite/slots.hpp"
#include "backends/sqlite/verbs.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kRepeated =
    "SELECT id, seqs FROM claim WHERE ns_id = ?1 AND owner = ?2 AND request = ?3 AND until > ?4 ORDER BY id";
constexpr const char* kOfRequest =
    "SELECT id, queue_id, seqs FROM claim WHERE ns_id = ?1 AND owner = ?2 AND request = ?3 ORDER BY id";
constexpr const char* kForgetClaims =
    "DELETE FROM claim WHERE id IN (SELECT id FROM claim WHERE live = 0 AND until <= ?1 ORDER BY until LIMIT ?2)";
constexpr const char* kAddClaim = R"sql(
  INSERT INTO claim (ns_id, owner, request, queue_id, started_at, until, bound, exact, live, losses_most, seqs)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1, ?7, ?8, ?9))sql";
constexpr const char* kBar = "UPDATE claim SET until = max(until, ?4) WHERE ns_id = ?1 AND owner = ?2 AND request = ?3";

constexpr const char* kIsOrdered = "SELECT 1 FROM worker WHERE ns_id = ?1 AND owner = ?2 AND told > 0";

constexpr const char* kDue = R"sql(
  SELECT seq, more, run_at, deliveries, fence, past, limit_id FROM ready
  WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4 ORDER BY run_at, seq LIMIT ?5)sql";
constexpr const char* kTakeOut = R"sql(
  DELETE FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND (run_at, seq) <= (?4, ?5))sql";
constexpr const char* kLeft =
    "INSERT INTO ready (queue_id, lane, rank, run_at, seq, more) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

// Rows that are forgotten beyond those that a claim may add, so that the table shrinks however many queues a worker
// serves.
constexpr std::int64_t kForgottenBeside = 16;

// Jobs on their way to a worker: the rows to write and the answers to give, in the order of their grants.
struct Grants {
  std::vector<Delivery> deliveries;
  std::vector<ClaimedJob> jobs;

  std::size_t size() const { return deliveries.size(); }
  bool empty() const { return deliveries.empty(); }
  void expect(std::size_t more) {
    constexpr std::size_t kAtOnce = 1024;
    deliveries.reserve(size() + std::min(more, kAtOnce));
    jobs.reserve(size() + std::min(more, kAtOnce));
  }
};

// Moves up to `most` due jobs of a queue out of `ready`.
void take_due(Call& call, std::int64_t queue_id, std::int64_t lane, std::size_t most, Grants& chosen) {
  const std::size_t full = chosen.size() + most;
  if (most == 0) return;
  const QueueName& name = call.names.queue_name(queue_id);
  each_rank(call, queue_id, lane, [&](std::int64_t rank) {
    const std::size_t before = chosen.size();
    std::int64_t row_first = 0;  // of the row in which the last one stood
    std::int64_t row_last = 0;
    {
      auto row = call.db.query(kDue, queue_id, lane, rank, call.wall_us(), static_cast<std::int64_t>(full - before));
      JobWalk walk(call);
      while (chosen.size() < full && row.next()) {
        if (chosen.size() == before) chosen.expect(full - before);
        row_first = row.integer(0);
        row_last = row_first + row.integer(1);
        for (std::int64_t seq = row_first; seq <= row_last && chosen.size() < full; ++seq) {
          check(walk.find(seq), "a ready job is there");
          Delivery& d = chosen.deliveries.emplace_back();
          d.seq = seq;
          d.run_at = row.integer(2);
          d.deliveries = row.integer(3);
          d.flags = walk.flags();
          if (d.deliveries > 0 || (d.flags & kHasPast)) {
            d.fence = row.integer(4);
            unpack_past(row.bytes(5), d);
          }
          d.queue_id = queue_id;
          d.priority = static_cast<int>(-rank);
          if (d.flags & kHasGroup) d.group_id = walk.group_id();
          if (d.flags & kHasLimitKey) d.limit_id = row.maybe_integer(6);
          Job& job = chosen.jobs.emplace_back().job;
          job.id = walk.id();
          job.queue = name.queue;
          job.stage = name.stage;
          job.priority = d.priority;
          job.attempts_max = walk.attempts_max();
          job.created_at = wall_time(walk.created_at());
          job.payload = walk.payload();
          unpack_extras(walk.extras(), job);
        }
      }
    }
    if (chosen.size() > before) {
      const Delivery& last = chosen.deliveries.back();
      call.db.execute(kTakeOut, queue_id, lane, rank, last.run_at, row_first);
      if (last.seq < row_last)
        call.db.execute(kLeft, queue_id, lane, rank, last.run_at, last.seq + 1, row_last - last.seq - 1);
    }
    return chosen.size() < full;
  });
}

void take_over(Call& call, Delivery lost, Grants& chosen) {
  ClaimedJob& claimed = chosen.jobs.emplace_back();
  claimed.forced = true;
  claimed.previous_owner = lost.owner;
  end_attempt(call, lost, AttemptEnd::lost);
  lost.previous_owner = lost.owner;
  lost.losses += 1;
  lost.losses_in_row += 1;
  chosen.deliveries.push_back(std::move(lost));
}

// J5: five lost in a row end in the dead letters; the new fence refuses the late holder.
Result<void> bury(Call& call, std::vector<Delivery> lost) {
  if (lost.empty()) return {};
  leave_claims(call, lost);
  drop_running(call, lost);
  const Fence floor = floor_of_fences(call);
  for (Delivery& delivery : lost) {
    add_place(call, delivery);
    end_attempt(call, delivery, AttemptEnd::lost);
    const Result<Fence> fence = mint_fence(call, delivery, floor);
    if (!fence) return std::unexpected(fence.error());
    delivery.fence = *fence;
    delivery.owner.clear();
    delivery.started_at.reset();
    delivery.losses += 1;
    delivery.losses_in_row += 1;
    delivery.state = JobState::dead;
    delivery.finished_at = call.wall_us();
    delivery.error =
        "lost " + std::to_string(delivery.losses_in_row) + " deliveries in a row: its workers died or lost the store";
  }
  finish(call, lost, JobState::running);
  return {};
}

// Mints the fences and writes claim and run: what was chosen is granted.
Result<void> grant_chosen(Call& call, const ClaimRequest& request, std::int64_t ns_id, Grants& chosen) {
  if (chosen.empty()) return {};
  const Fence floor = floor_of_fences(call);
  const std::int64_t lease_end = call.now_us() + request.ttl.count();
  struct OfQueue {
    std::vector<std::int64_t> seqs;
    std::int64_t ready = 0;  // that came from there
    std::int64_t losses_most = 0;
    std::int64_t claim_id = 0;
  };
  std::vector<Delivery> forced;  // as they stand in the claims they leave
  std::map<std::int64_t, OfQueue> queues;
  OfQueue* of = nullptr;  // the queue of the last one
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Delivery& d = chosen.deliveries[i];
    if (!of || d.queue_id != chosen.deliveries[i - 1].queue_id) of = &queues[d.queue_id];
    if (chosen.jobs[i].forced) forced.push_back(d);
    else of->ready += 1;
    of->seqs.push_back(d.seq);
    of->losses_most = std::max(of->losses_most, d.losses_in_row);
  }
  leave_claims(call, forced);
  drop_running(call, forced);
  for (auto& [queue_id, queue] : queues) {
    call.db.execute(kAddClaim, ns_id, request.owner, request.request, queue_id, call.wall_us(), lease_end,
                    static_cast<std::int64_t>(queue.seqs.size()), queue.losses_most, Bytes{pack_ranges(queue.seqs)});
    queue.claim_id = call.db.last_insert_rowid();
    if (queue.ready > 0) call.moved(queue_id, JobState::ready, JobState::running, queue.ready);
  }
  std::set<std::pair<std::int64_t, std::int64_t>> limit_keys;  // by home
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    Delivery& d = chosen.deliveries[i];
    const bool was_forced = chosen.jobs[i].forced;
    if (was_forced && (d.flags & kHasGroup)) add_place(call, d);
    const Result<Fence> fence = mint_fence(call, d, floor);
    if (!fence) return std::unexpected(fence.error());
    d.state = JobState::running;
    d.fence = *fence;
    d.deliveries += 1;
    if (i == 0 || d.queue_id != chosen.deliveries[i - 1].queue_id) of = &queues[d.queue_id];
    d.claim_id = of->claim_id;
    d.lease_end = lease_end;
    if (d.limit_id && !was_forced) limit_keys.emplace(call.names.home_of(d.queue_id), *d.limit_id);
  }
  put_running(call, chosen.deliveries);
  for (const auto& [home_id, limit_id] : limit_keys) choose_of_key(call, home_id, limit_id);
  return {};
}

// Completes the answer for a job whose row is written.
void complete_claimed(Call& call, const std::string& owner, Delivery& d, ClaimedJob& claimed) {
  d.owner = owner;
  if (claimed.forced) claimed.job = to_job(call, d, true);
  Job& job = claimed.job;
  job.state = JobState::running;
  job.run_at = wall_time(d.run_at);
  job.fence = d.fence;
  job.owner = owner;
  job.lease_left = Duration{d.lease_end - call.now_us()};
  job.deliveries = d.deliveries;
  claimed.left = *job.lease_left;
  if (claimed.forced || (d.deliveries == 1 && (d.flags & kHasPast) == 0)) return;
  job.failures = d.failures;
  job.losses = d.losses;
  job.losses_in_row = d.losses_in_row;
  job.laters = d.laters;
  if (d.last_outcome) job.last_outcome = static_cast<OutcomeKind>(*d.last_outcome);
  if (d.exit_status) job.exit_status = static_cast<int>(*d.exit_status);
  job.progress = find_progress(call, d.seq);
  job.error = std::move(d.error);
}

// A claim that was answered before, or given back before it came.
std::optional<std::vector<ClaimedJob>> repeated(Call& call, const ClaimRequest& request, std::int64_t ns_id) {
  bool known = false;
  std::vector<Delivery> held;
  {
    auto rows = call.db.query(kRepeated, ns_id, request.owner, request.request, call.now_us());
    while (rows.next()) {
      known = true;
      for (Delivery& delivery : members(call, rows.integer(0), rows.bytes(1))) {
        if (delivery.lease_end > call.now_us()) held.push_back(std::move(delivery));
      }
    }
  }
  if (!known) return std::nullopt;
  std::sort(held.begin(), held.end(), [](const Delivery& a, const Delivery& b) { return a.place < b.place; });
  std::vector<ClaimedJob> jobs;
  for (const Delivery& delivery : held)
    jobs.push_back({to_job(call, delivery, true), Duration{delivery.lease_end - call.now_us()},
                    delivery.previous_owner.has_value(), delivery.previous_owner.value_or("")});
  return jobs;
}

// A queue in a claim that is not paused.
struct Served {
  std::int64_t queue_id;
  std::optional<std::int64_t> room;  // how many ready jobs more may run; empty: as many as workers take

  std::size_t at_most(std::size_t wanted) const {
    return room ? std::min(wanted, static_cast<std::size_t>(*room)) : wanted;
  }
};

std::vector<std::int64_t> ids_of(const std::vector<Served>& served) {
  std::vector<std::int64_t> ids;
  for (const Served& queue : served) ids.push_back(queue.queue_id);
  return ids;
}

// Opens the gates whose time has come. Paused queues are left out.
std::vector<Served> served_queues(Call& call, const std::vector<std::int64_t>& queues) {
  std::vector<Served> served;
  for (const std::int64_t queue_id : queues) {
    const Home home = read_home(call, call.names.home_of(queue_id));
    if (home.paused) continue;
    free_ended_slots(call, home.id);
    if (home.settings.limit_per_key > 0) let_due_in(call, queue_id);
    served.push_back({queue_id, std::nullopt});
  }
  return served;
}

// After burials: they may have made room.
void find_room(Call& call, std::vector<Served>& served) {
  for (Served& queue : served) queue.room = room_in(call, read_home(call, call.names.home_of(queue.queue_id)));
}

bool alone_could_start(Call& call, const std::vector<Served>& served) {
  return std::any_of(served.begin(), served.end(), [&](const Served& queue) {
    return queue.at_most(1) > 0 && some_due(call, queue.queue_id, kAloneLane);
  });
}

// A first claim: buries, chooses and grants. Sets alone_waiting and buried.
Result<void> claim_anew(Call& call, const ClaimRequest& request, std::int64_t ns_id, std::vector<Served>& served,
                        ClaimReply& reply) {
  const auto limit = static_cast<std::size_t>(request.limit);
  std::vector<Delivery> dead;
  std::vector<Delivery> alone;
  std::vector<Delivery> common;
  for (Delivery& delivery : run_out(call, ids_of(served), limit)) {
    const std::int64_t in_row = delivery.losses_in_row + 1;
    (in_row >= kLossesInRowMax ? dead : in_row >= kLossesBeforeAlone ? alone : common).push_back(std::move(delivery));
  }
  reply.buried = static_cast<std::int64_t>(dead.size());
  if (auto ok = bury(call, std::move(dead)); !ok) return ok;
  find_room(call, served);

  Grants chosen;
  if (!request.holds_others) {
    if (!alone.empty()) take_over(call, std::move(alone.front()), chosen);
    for (const Served& queue : served)
      take_due(call, queue.queue_id, kAloneLane, queue.at_most(chosen.empty() ? 1 : 0), chosen);
  } else {
    reply.alone_waiting = !alone.empty() || alone_could_start(call, served);
  }
  if (chosen.empty()) {
    for (Delivery& delivery : common) {
      if (chosen.size() < limit) take_over(call, std::move(delivery), chosen);
    }
    for (const Served& queue : served)
      take_due(call, queue.queue_id, kCommonLane, queue.at_most(limit - chosen.size()), chosen);
  }
  if (auto ok = grant_chosen(call, request, ns_id, chosen); !ok) return ok;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    complete_claimed(call, request.owner, chosen.deliveries[i], chosen.jobs[i]);
  reply.jobs = std::move(chosen.jobs);
  return {};
}

}  // namespace

std::vector<std::int64_t> known_queues(Call& call, const std::string& ns, const std::vector<std::string>& queues,
                                       const std::string& stage) {
  std::vector<std::int64_t> ids;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return ids;
  for (const std::string& queue : queues) {
    if (const auto id = call.names.find_queue(*ns_id, queue, stage)) ids.push_back(*id);
  }
  return ids;
}

Result<ClaimReply> claim(Call& call, const ClaimRequest& request) {
  ClaimReply reply;
  reply.waited = call.waited;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  const std::vector<std::int64_t> queues = known_queues(call, request.ns, request.queues, request.stage);
  call.db.execute(kForgetClaims, call.now_us(), kForgottenBeside + static_cast<std::int64_t>(queues.size()));
  std::vector<Served> served = served_queues(call, queues);
  if (auto jobs = repeated(call, request, *ns_id)) {
    reply.jobs = std::move(*jobs);
    if (request.holds_others) {
      find_room(call, served);
      const std::vector<Delivery> expired = run_out(call, ids_of(served), 0);
      reply.alone_waiting =
          alone_could_start(call, served) || std::any_of(expired.begin(), expired.end(), [](const Delivery& delivery) {
            return delivery.losses_in_row + 1 >= kLossesBeforeAlone && delivery.losses_in_row + 1 < kLossesInRowMax;
          });
    }
  } else if (call.db.number(kIsOrdered, *ns_id, request.owner)) {
    reply.ordered = true;
    return reply;
  } else if (auto ok = claim_anew(call, request, *ns_id, served, reply); !ok) {
    return std::unexpected(ok.error());
  }
  if (reply.jobs.size() < static_cast<std::size_t>(request.limit)) {
    reply.next_due = next_run(call, queues);
    const auto lease_end = next_lease_end(call, queues, request.owner);
    if (lease_end && (!reply.next_due || Duration{*lease_end - call.now_us()} < *reply.next_due))
      reply.next_due = Duration{*lease_end - call.now_us()};
  }
  return reply;
}

Result<void> give_back(Call& call, const GiveBackRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  std::vector<Delivery> returned;
  bool known = false;
  {
    auto rows = call.db.query(kOfRequest, ns_id, request.owner, request.request);
    while (rows.next()) {
      known = true;
      for (Delivery& delivery : members(call, rows.integer(0), rows.bytes(2))) returned.push_back(std::move(delivery));
    }
  }
  std::vector<Delivery> none;
  for (Delivery& delivery : returned) {
    end_attempt(call, delivery, AttemptEnd::given_back);
    delivery.state = JobState::ready;
    delivery.last_outcome = static_cast<std::int64_t>(OutcomeKind::given_back);
    delivery.exit_status.reset();
  }
  end_deliveries(call, none, returned);
  const std::int64_t until = call.now_us() + request.ttl.count();
  if (known) call.db.execute(kBar, ns_id, request.owner, request.request, until);
  else call.db.execute(kAddClaim, ns_id, request.owner, request.request, 0, call.wall_us(), until, 0, 0, Bytes{});
  call.db.execute(kForgetClaims, call.now_us(), kForgottenBeside);
  return {};
}

}  // namespace fenceline::sqlite
