// The hot verbs: typed parameters, whole batches as arrays.
#include <algorithm>
#include <map>
#include <numeric>

#include "backends/postgres/job_arrays.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {
namespace {

using namespace postgres;

// Places of the items in the order of their ids: all who lock several jobs lock them in this order.
template <class Items>
std::vector<std::size_t> sorted_by_id(const Items& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) { return items[a].id < items[b].id; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

// Refusals as the server sent them, from a row on, in the order of the request.
template <class Items>
std::vector<Refusal> refusals_in(const Rows& rows, int from, const Items& items) {
  std::map<JobId, Refusal> by_id;
  for (int row = from; row < rows.size(); ++row) {
    Refusal refusal{rows.uuid(row, 0), rows.integer(row, 1), rows.integer_or(row, 2, 0),
                    reason_from(rows.text(row, 3))};
    by_id.emplace(refusal.id, std::move(refusal));
  }
  std::vector<Refusal> out;
  if (by_id.empty()) return out;
  for (const auto& item : items) {
    if (const auto found = by_id.find(item.id); found != by_id.end()) out.push_back(std::move(found->second));
  }
  return out;
}

Result<Params> enqueue_params(const EnqueueRequest& request) {
  JobArrays jobs(request.jobs.size());
  for (const NewJob& job : request.jobs) {
    if (auto ok = jobs.add(job); !ok) return std::unexpected(ok.error());
  }
  Params params;
  params.text(request.ns);
  jobs.put_into(params);
  return params;
}

bool is_one_plain_job(const EnqueueRequest& request) {
  return request.jobs.size() == 1 && extras_json(request.jobs.front()).is_null();
}

Params plain_params(const std::string& ns, const NewJob& job) {
  Params params;
  params.text(ns)
      .text(job.queue)
      .text(job.stage)
      .uuid(job.id)
      .text(job.payload)
      .int2(static_cast<std::int16_t>(-job.priority))
      .int8(job.delay.count());
  if (job.at) params.int8(job.at->time_since_epoch().count());
  else params.null(Type::int8);
  params.int4(job.attempts_max);
  return params;
}

Params claim_params(const ClaimRequest& request, const std::vector<ClaimCursor>& cursors) {
  Array queues(Type::text, request.queues.size());
  for (const std::string& queue : request.queues) queues.add_bytes(queue);
  const std::size_t count = cursors.size();
  Array q(Type::int4, count), rank(Type::int2, count), run_at(Type::int8, count), seq(Type::int8, count);
  for (const ClaimCursor& cursor : cursors) {
    q.add_int4(cursor.queue);
    rank.add_int2(cursor.rank);
    run_at.add_int8(cursor.run_at);
    seq.add_int8(cursor.seq);
  }
  Params params;
  params.text(request.ns)
      .array(queues)
      .text(request.stage)
      .text(request.owner)
      .text(request.request)
      .int4(request.limit)
      .int8(request.ttl.count());
  params.boolean(request.holds_others).boolean(cursors.empty()).array(q).array(rank).array(run_at).array(seq);
  return params;
}

// Columns of a claimed job, in the order in which claim() declares them.
enum ClaimColumn {
  kQ,
  kSeq,
  kId,
  kRank,
  kAttemptsMax,
  kCreatedAt,
  kRunAt,
  kFence,
  kDeliveries,
  kLeft,
  kFailures,
  kLosses,
  kLossesInRow,
  kLaters,
  kLastOutcome,
  kExitStatus,
  kPercent,
  kWord,
  kError,
  kExtras,
  kForcedFrom,
  kPayload
};

// Above them: how many were buried.
enum Flag : std::int64_t { kAloneWaiting = 1, kOrdered = 2, kAskAgain = 4, kBuriedOne = 8 };

ClaimedJob claimed_job(const Rows& rows, int row, const ClaimRequest& request) {
  const std::int64_t q = rows.integer(row, kQ);
  if (q < 1 || q > static_cast<std::int64_t>(request.queues.size()))
    throw WireFailure("a claimed job is of no queue that was asked for");
  ClaimedJob claimed;
  Job& job = claimed.job;
  job.id = rows.uuid(row, kId);
  job.queue = request.queues[static_cast<std::size_t>(q - 1)];
  job.stage = request.stage;
  job.state = JobState::running;
  job.payload = rows.text(row, kPayload);
  job.priority = -static_cast<int>(rows.integer(row, kRank));
  job.attempts_max = static_cast<int>(rows.integer(row, kAttemptsMax));
  if (!rows.is_null(row, kExtras)) read_extras(json::parse(rows.jsonb(row, kExtras)), job);
  job.created_at = WallTime{Duration{rows.integer(row, kCreatedAt)}};
  job.run_at = WallTime{Duration{rows.integer(row, kRunAt)}};
  job.fence = rows.integer(row, kFence);
  job.owner = request.owner;
  claimed.left = Duration{rows.integer(row, kLeft)};
  job.lease_left = claimed.left;
  job.deliveries = rows.integer(row, kDeliveries);
  job.failures = rows.integer_or(row, kFailures, 0);
  job.losses = rows.integer_or(row, kLosses, 0);
  job.losses_in_row = rows.integer_or(row, kLossesInRow, 0);
  job.laters = rows.integer_or(row, kLaters, 0);
  if (const auto outcome = rows.optional_integer(row, kLastOutcome))
    job.last_outcome = static_cast<OutcomeKind>(*outcome);
  if (const auto status = rows.optional_integer(row, kExitStatus)) job.exit_status = static_cast<int>(*status);
  if (const auto percent = rows.optional_integer(row, kPercent))
    job.progress = Progress{static_cast<int>(*percent), rows.text(row, kWord)};
  job.error = rows.text(row, kError);
  claimed.forced = !rows.is_null(row, kForcedFrom);
  if (claimed.forced) claimed.previous_owner = rows.text(row, kForcedFrom);
  return claimed;
}

// One row with q = 0 is about the claim as a whole.
struct Claimed {
  ClaimReply reply;
  bool ask_again = false;
  std::vector<ClaimCursor> granted;  // of ready ones
};

Claimed claimed_in(const Rows& rows, const ClaimRequest& request) {
  Claimed out;
  bool has_head = false;
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.integer(row, kQ) == 0) {
      const std::int64_t flags = rows.integer(row, kSeq);
      out.reply.alone_waiting = (flags & kAloneWaiting) != 0;
      out.reply.ordered = (flags & kOrdered) != 0;
      out.ask_again = (flags & kAskAgain) != 0;
      out.reply.buried = flags / kBuriedOne;
      if (const auto due = rows.optional_integer(row, kRunAt)) out.reply.next_due = Duration{*due};
      out.reply.waited = Duration{rows.integer_or(row, kLeft, 0)};
      has_head = true;
      continue;
    }
    out.reply.jobs.push_back(claimed_job(rows, row, request));
    if (out.reply.jobs.back().forced) continue;
    out.granted.push_back({static_cast<std::int32_t>(rows.integer(row, kQ)),
                           static_cast<std::int16_t>(rows.integer(row, kRank)), rows.integer(row, kRunAt),
                           rows.integer(row, kSeq)});
  }
  if (!has_head) throw WireFailure("a claim's answer has no head");
  return out;
}

}  // namespace

Result<EnqueueReply> PostgresStore::enqueue(const EnqueueRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  EnqueueReply reply;
  if (request.jobs.empty()) return reply;
  const bool is_plain = is_one_plain_job(request);
  const Result<Params> params = is_plain ? plain_params(request.ns, request.jobs.front()) : enqueue_params(request);
  if (!params) return std::unexpected(params.error());
  const Result<Rows> rows =
      parts_->pool.run(is_plain ? parts_->enqueue_plain : parts_->enqueue, *params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    reply.existing = rows->integer(0, 0);
    if (!rows->is_null(0, 1)) {
      reply.ids = uuids_of(rows->bytes(0, 1));
      if (reply.ids.size() != request.jobs.size()) throw WireFailure("an id is missing");
    } else {
      for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
    }
    return reply;
  });
}

Result<ClaimReply> PostgresStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Runtime& runtime = parts_->pool.runtime();
  const Instant deadline = runtime.now() + request.timeout;
  std::int64_t buried = 0;
  for (int tries = 1;; ++tries) {
    const Instant sent = runtime.now();
    const std::vector<ClaimCursor> cursors =
        parts_->always_rescan || tries > 1 ? std::vector<ClaimCursor>{} : parts_->cursors.for_claim(request, sent);
    const Result<Rows> rows =
        parts_->pool.run(parts_->claim, claim_params(request, cursors), CallKind::claim, deadline - sent);
    if (!rows) return std::unexpected(rows.error());
    Result<Claimed> claimed = decoded(parts_->pool.dsn(), [&] { return claimed_in(*rows, request); });
    if (!claimed) return std::unexpected(claimed.error());
    const bool came_short = claimed->reply.jobs.size() < static_cast<std::size_t>(request.limit);
    parts_->cursors.learn(request, cursors.empty(), came_short, claimed->granted, sent, runtime.now());
    // Whoever enqueued before the mark was set told nobody, so one more look is due before we sleep.
    buried += claimed->reply.buried;
    if (claimed->ask_again && claimed->reply.jobs.empty() && tries == 1) continue;
    claimed->reply.buried = buried;
    return std::move(claimed->reply);
  }
}

Result<void> PostgresStore::give_back(const GiveBackRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  const Result<Rows> rows = parts_->pool.run(
      parts_->give_back, Params().text(request.ns).text(request.owner).text(request.request).int8(request.ttl.count()),
      CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return {};
}

Result<ExtendReply> PostgresStore::extend(const ExtendRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Array ids(Type::uuid, request.jobs.size()), fences(Type::int8, request.jobs.size());
  for (const std::size_t i : sorted_by_id(request.jobs)) {
    ids.add_uuid(request.jobs[i].id);
    fences.add_int8(request.jobs[i].fence);
  }
  Params params;
  params.text(request.ns).text(request.owner).array(ids).array(fences).int8(request.ttl.count());
  const Result<Rows> rows = parts_->pool.run(parts_->extend, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    return ExtendReply{Duration{rows->integer(0, 1)}, Duration{rows->integer(0, 2)},
                       refusals_in(*rows, 1, request.jobs)};
  });
}

Result<SettleReply> PostgresStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::vector<Settlement>& all = request.settlements;
  const std::size_t count = all.size();
  if (count == 0) return SettleReply{};
  Array ids(Type::uuid, count), fences(Type::int8, count), kinds(Type::int2, count), results(Type::bytea, count),
      errors(Type::bytea, count), retry_in(Type::int8, count), exits(Type::int2, count);
  const auto add_unless_empty = [](Array& array, const std::string& bytes) {
    if (bytes.empty()) array.add_null();
    else array.add_bytes(bytes);
  };
  for (const std::size_t i : sorted_by_id(all)) {
    const Outcome& outcome = all[i].outcome;
    ids.add_uuid(all[i].id);
    fences.add_int8(all[i].fence);
    kinds.add_int2(static_cast<std::int16_t>(outcome.kind));
    add_unless_empty(results, outcome.result);
    add_unless_empty(errors, outcome.error);
    retry_in.add_int8(outcome.retry_in.count());
    if (outcome.exit_status) exits.add_int2(static_cast<std::int16_t>(*outcome.exit_status));
    else exits.add_null();
  }
  const auto any = [&](auto has) {
    return std::any_of(all.begin(), all.end(), [&](const Settlement& one) { return has(one.outcome); });
  };
  const auto add_if = [](Params& params, bool used, const Array& array) {
    used ? params.array(array) : params.null(array.type());
  };
  Params params;
  params.text(request.ns).text(request.owner).array(ids).array(fences).array(kinds);
  add_if(params, any([](const Outcome& one) { return !one.result.empty(); }), results);
  add_if(params, any([](const Outcome& one) { return !one.error.empty(); }), errors);
  params.array(retry_in);
  add_if(params, any([](const Outcome& one) { return one.exit_status.has_value(); }), exits);
  const Result<Rows> rows = parts_->pool.run(parts_->settle, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] { return SettleReply{refusals_in(*rows, 0, all)}; });
}

}  // namespace fenceline
