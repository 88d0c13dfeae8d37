// What people do to jobs: cancel, retry, purge. A running delivery that is ended so gets a new fence at once, and keeps
// its slot until its worker has stopped. A job that waits after a delivery and is cancelled gets a new fence too: its
// old handler may still speak.
#include "backends/sqlite/acts.hpp"

#include <algorithm>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/finish.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/next_seq.hpp"
#include "backends/sqlite/past.hpp"
#include "backends/sqlite/slots.hpp"
#include "backends/sqlite/unique_keys.hpp"
#include "backends/sqlite/verbs.hpp"
#include "backends/sqlite/waiting.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kActed = "SELECT 1 FROM job WHERE seq = ?1 AND acted = ?2";
constexpr const char* kAct = "UPDATE job SET acted = ?2 WHERE seq = ?1";
constexpr const char* kRunAt = "UPDATE job SET run_at = ?2, flags = flags | ?3 WHERE seq = ?1";
constexpr const char* kPlace = "UPDATE job SET place = ?2 WHERE seq = ?1";
constexpr const char* kFirstSeq = "SELECT first_seq FROM namespace WHERE id = ?1";
constexpr const char* kDropFinished = "DELETE FROM done WHERE seq = ?1";

// Whatever is still said under its fence is refused.
Result<void> outdate(Call& call, Delivery& delivery) {
  const Result<Fence> fence = mint_fence(call, delivery, floor_of_fences(call));
  if (!fence) return std::unexpected(fence.error());
  delivery.fence = *fence;
  delivery.owner.clear();
  return {};
}

// Nothing else than the job itself is changed with its row.
void note_act(Call& call, std::int64_t seq, const std::string& request) {
  have_own_row(call, seq);
  call.db.execute(kAct, seq, request);
}

void drop_ready(Call& call, std::int64_t seq) {
  const auto standing = find_standing(call, seq);
  check(standing.has_value(), "a job that is ready stands in a lane");
  drop_standing(call, *standing);
}

}  // namespace

Result<void> revoke(Call& call, std::int64_t ns_id, AttemptEnd end, Delivery& delivery) {
  end_attempt(call, delivery, end);
  keep_slot(call, ns_id, delivery);
  leave_claims(call, {delivery});
  drop_running(call, {delivery});
  if (auto ok = outdate(call, delivery); !ok) return ok;
  delivery.started_at.reset();
  delivery.previous_owner.reset();
  return {};
}

void drop_idle(Call& call, const Delivery& delivery) {
  if (delivery.state == JobState::waiting) drop_waiting(call, delivery.seq);
  else drop_ready(call, delivery.seq);
}

void make_ready(Call& call, JobState from, std::int64_t run_at, Delivery& delivery) {
  delivery.state = JobState::ready;
  delivery.run_at = run_at;
  // A job that was never granted is found by its first run time.
  if (delivery.deliveries == 0) {
    have_own_row(call, delivery.seq);
    call.db.execute(kRunAt, delivery.seq, delivery.run_at, pack_past(delivery).empty() ? std::int64_t{0} : kHasPast);
  }
  if (from != JobState::ready) call.moved(delivery.queue_id, from, JobState::ready);
  enter_ready(call, {delivery});
  call.awakened.insert(delivery.queue_id);
}

namespace {

// In the order of the jobs and from a cursor on: the steps of a purge walk over them once, however many there are.
std::vector<std::int64_t> oldest_idle(Call& call, std::int64_t home_id, std::int64_t after, std::int64_t up_to,
                                      std::size_t most) {
  constexpr std::size_t kRowsAtOnce = 1000;
  const std::vector<std::int64_t> stages = stages_of(call, home_id);
  std::vector<std::int64_t> found;
  while (found.size() < most) {
    const std::vector<JobsOfRow> rows = job_rows(call, after, up_to, kRowsAtOnce);
    if (rows.empty()) break;
    after = rows.back().numbers.last;
    for (const JobsOfRow& row : rows) {
      if (std::find(stages.begin(), stages.end(), row.queue_id) == stages.end()) continue;
      for (const std::int64_t seq : idle_among(call, row.numbers, most - found.size())) found.push_back(seq);
    }
  }
  return found;
}

Result<void> cancel_one(Call& call, std::int64_t ns_id, const std::string& ns, Delivery& delivery) {
  const JobState from = delivery.state;
  if (from == JobState::running) {
    if (auto ok = revoke(call, ns_id, AttemptEnd::cancelled, delivery); !ok) return ok;
    call.ordered.insert(ns);
  } else {
    drop_idle(call, delivery);
    if (from == JobState::waiting && delivery.fence > 0) {
      if (auto ok = outdate(call, delivery); !ok) return ok;
    }
  }
  delivery.state = JobState::cancelled;
  delivery.finished_at = call.wall_us();
  std::vector<Delivery> finished{delivery};
  finish(call, finished, from);
  return {};
}

// A dead or cancelled job begins anew, as the last of its group. The key is free, or its own.
void revive(Call& call, Delivery& delivery) {
  keep_attempt(call, delivery);
  call.db.execute(kDropFinished, delivery.seq);
  if (delivery.flags & kHasUniqueKey)
    take_key(call, call.names.home_of(delivery.queue_id), extras_of(call, delivery.seq).key, delivery.seq);
  if (delivery.group_id) {
    delivery.group_place = take_seq(call);
    call.db.execute(kPlace, delivery.seq, delivery.group_place);
    join_group(call, *delivery.group_id, delivery.group_place, delivery.seq);
  }
  delivery.failures = 0;
  delivery.losses_in_row = 0;
  delivery.started_at.reset();
  delivery.result.clear();
}

struct Retried {
  bool changed = false;
  Reason refusal = Reason::none;
  std::optional<std::int64_t> holder;
};

Result<Retried> retry_one(Call& call, std::int64_t ns_id, const std::string& ns, Delivery& delivery) {
  const JobState from = delivery.state;
  if (from == JobState::waiting && !waited_for(call, delivery.seq).empty())
    return Retried{false, Reason::effect_in_doubt, std::nullopt};
  if (from == JobState::waiting || (from == JobState::ready && delivery.run_at <= call.wall_us())) return Retried{};
  if (from == JobState::done) return Retried{false, Reason::finished, std::nullopt};
  if (is_finished(from)) {
    if (delivery.flags & kHasUniqueKey) {
      const auto holder = key_holder(call, call.names.home_of(delivery.queue_id), extras_of(call, delivery.seq).key);
      if (holder && *holder != delivery.seq) return Retried{false, Reason::key_taken, holder};
    }
    revive(call, delivery);
  } else if (from == JobState::running) {
    if (auto ok = revoke(call, ns_id, AttemptEnd::retried, delivery); !ok) return std::unexpected(ok.error());
    call.ordered.insert(ns);
  } else {
    drop_ready(call, delivery.seq);
  }
  make_ready(call, from, call.wall_us(), delivery);
  return Retried{true, Reason::none, std::nullopt};
}

// The job with its place, if the act is not a repeat; refusals are answered.
std::optional<Delivery> find_acted_on(Call& call, const std::optional<std::int64_t>& ns_id, const ActRequest& request,
                                      const JobId& id, ActReply& reply) {
  const auto seq = ns_id ? find_seq(call, *ns_id, id) : std::nullopt;
  if (!seq) {
    reply.refused.push_back({id, Reason::not_found, std::nullopt});
    return std::nullopt;
  }
  if (call.db.number(kActed, *seq, request.request)) return std::nullopt;
  Delivery delivery = find_delivery(call, *seq);
  if (request.only && delivery.state != *request.only) {
    reply.refused.push_back({id, Reason::state, std::nullopt});
    return std::nullopt;
  }
  add_place(call, delivery);
  return delivery;
}

}  // namespace

Result<ActReply> cancel(Call& call, const ActRequest& request) {
  ActReply reply;
  ChoosingOnce choosing(call);
  const auto ns_id = call.names.find_namespace(request.ns);
  for (const JobId& id : request.ids) {
    std::optional<Delivery> delivery = find_acted_on(call, ns_id, request, id, reply);
    if (!delivery) continue;
    const bool as_asked = delivery->state == JobState::cancelled;
    if (!as_asked && is_finished(delivery->state)) {
      reply.refused.push_back({id, Reason::finished, std::nullopt});
      continue;
    }
    note_act(call, delivery->seq, request.request);
    if (as_asked) continue;
    if (auto ok = cancel_one(call, *ns_id, request.ns, *delivery); !ok) return std::unexpected(ok.error());
    enter_in_trail(call, request.ns, request.act, "job_cancelled", to_string(id));
  }
  choosing.choose();
  return reply;
}

Result<ActReply> retry(Call& call, const ActRequest& request) {
  ActReply reply;
  ChoosingOnce choosing(call);
  const auto ns_id = call.names.find_namespace(request.ns);
  for (const JobId& id : request.ids) {
    std::optional<Delivery> delivery = find_acted_on(call, ns_id, request, id, reply);
    if (!delivery) continue;
    const Result<Retried> retried = retry_one(call, *ns_id, request.ns, *delivery);
    if (!retried) return std::unexpected(retried.error());
    if (retried->refusal != Reason::none) {
      reply.refused.push_back(
          {id, retried->refusal, retried->holder ? std::optional(id_of(call, *retried->holder)) : std::nullopt});
      continue;
    }
    note_act(call, delivery->seq, request.request);
    if (retried->changed) enter_in_trail(call, request.ns, request.act, "job_retried", to_string(id));
  }
  choosing.choose();
  return reply;
}

Result<PurgeReply> purge(Call& call, const PurgeRequest& request) {
  PurgeReply reply;
  reply.next = request.after;
  const auto ns_id = call.names.find_namespace(request.ns);
  const auto home_id = ns_id ? call.names.find_home(*ns_id, request.queue) : std::nullopt;
  if (!home_id) return reply;
  const std::int64_t first = call.db.number(kFirstSeq, *ns_id).value_or(0);
  std::vector<std::int64_t> seqs = oldest_idle(call, *home_id, std::max(request.after, first - 1), request.up_to,
                                               static_cast<std::size_t>(request.limit) + 1);
  if (seqs.size() > static_cast<std::size_t>(request.limit)) {
    seqs.pop_back();
    reply.more = true;
  }
  if (seqs.empty()) return reply;
  ChoosingOnce choosing(call);
  std::vector<Delivery> ready;
  std::vector<Delivery> waiting;
  for (const std::int64_t seq : seqs) {
    Delivery delivery = find_delivery(call, seq);
    add_place(call, delivery);
    drop_idle(call, delivery);
    if (delivery.state == JobState::waiting && delivery.fence > 0) {
      if (auto ok = outdate(call, delivery); !ok) return std::unexpected(ok.error());
    }
    std::vector<Delivery>& from = delivery.state == JobState::waiting ? waiting : ready;
    delivery.state = JobState::cancelled;
    delivery.finished_at = call.wall_us();
    from.push_back(std::move(delivery));
  }
  finish(call, ready, JobState::ready);
  finish(call, waiting, JobState::waiting);
  choosing.choose();
  reply.cancelled = static_cast<std::int64_t>(seqs.size());
  reply.next = seqs.back();
  enter_in_trail(call, request.ns, request.act, "queue_purged",
                 request.queue + ": " + std::to_string(reply.cancelled) + " jobs");
  return reply;
}

}  // namespace fenceline::sqlite
