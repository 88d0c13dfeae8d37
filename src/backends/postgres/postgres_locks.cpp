// Locks. Grants and renewals are durable when they are answered; a release need not be.
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {
namespace {

using namespace postgres;

Array texts(const std::vector<std::string>& values) {
  Array array(Type::text, values.size());
  for (const std::string& value : values) array.add_bytes(value);
  return array;
}

// Columns of lock_answer, in the order in which sql/ declares them.
enum LockColumn { kResource, kLockFence, kOwner, kPlace, kReason, kLockLeft, kWaited, kAgain, kAhead };

AcquireReply acquired_in(const Rows& rows) {
  if (rows.size() == 0) throw WireFailure("an acquire's answer is empty");
  AcquireReply reply;
  reply.waited = Duration{rows.integer_or(0, kWaited, 0)};
  if (!rows.is_null(0, kReason)) {
    reply.held = LockHeld{rows.text(0, kResource), reason_from(rows.text(0, kReason)), rows.integer(0, kLockFence),
                          rows.text(0, kOwner), rows.text(0, kPlace)};
    reply.again_in = Duration{rows.integer(0, kAgain)};
    reply.ahead = rows.integer(0, kAhead);
    return reply;
  }
  reply.left = Duration{rows.integer(0, kLockLeft)};
  for (int row = 0; row < rows.size(); ++row)
    reply.grants.push_back({rows.text(row, kResource), rows.integer(row, kLockFence), rows.text(row, kOwner)});
  return reply;
}

// What a renewal and a release say of each lock.
Params holding_params(const std::string& ns, const std::vector<LockHolding>& locks) {
  Array resources(Type::text, locks.size()), owners(Type::text, locks.size()), fences(Type::int8, locks.size());
  for (const LockHolding& lock : locks) {
    resources.add_bytes(lock.resource);
    owners.add_bytes(lock.owner);
    fences.add_int8(lock.fence);
  }
  Params params;
  params.text(ns).array(resources).array(owners).array(fences);
  return params;
}

// From a row on; the server keeps the order of the request.
std::vector<LockRefusal> lock_refusals_in(const Rows& rows, int from) {
  std::vector<LockRefusal> out;
  for (int row = from; row < rows.size(); ++row) {
    out.push_back({{rows.text(row, 0), rows.text(row, 1), rows.integer(row, 2)},
                   rows.integer(row, 3),
                   reason_from(rows.text(row, 4))});
  }
  return out;
}

bool is_one_plain_lock(const AcquireRequest& request) {
  return request.names.size() == 1 && request.mode == LockMode::exclusive && request.slots == 1;
}

Params one_params(const AcquireRequest& request) {
  Params params;
  params.text(request.ns)
      .text(request.names.front())
      .text(request.owner)
      .text(request.request)
      .int8(request.ttl.count());
  if (request.to_its_end) params.int8(request.ttl.count());
  else if (request.hold_at_least > Duration{0}) params.int8(request.hold_at_least.count());
  else params.null(Type::int8);
  params.boolean(request.to_its_end).int8(request.delay.count()).text(request.pattern).text(request.place);
  return params;
}

Params one_params(const std::string& ns, const LockHolding& lock) {
  Params params;
  params.text(ns).text(lock.resource).text(lock.owner).int8(lock.fence);
  return params;
}

LockRow read_lock(const json& object) {
  LockRow row;
  row.resource = text_in(object, "resource");
  row.fence = integer_in(object, "fence");
  row.mode = static_cast<LockMode>(integer_in(object, "mode"));
  row.pattern = text_in(object, "pattern");
  for (const json& holder : array_in(object, "holders"))
    row.holders.push_back({text_in(holder, "owner"), text_in(holder, "place"), time_in(holder, "granted_at"),
                           duration_in(holder, "left")});
  row.holders_count = integer_in(object, "holders_count");
  row.free_in = optional_duration_in(object, "free_in");
  for (const json& waiter : array_in(object, "waiters"))
    row.waiters.push_back({text_in(waiter, "owner"), text_in(waiter, "place"), time_in(waiter, "since"),
                           static_cast<LockMode>(integer_in(waiter, "mode"))});
  row.waiters_count = integer_in(object, "waiters_count");
  row.seen_at_gate = optional_integer_in(object, "seen_at_gate");
  return row;
}

}  // namespace

namespace postgres {

bool QueuedRequests::has(const std::string& owner, const std::string& request) const {
  const std::lock_guard lock(mutex_);
  return queued_.contains({owner, request});
}

void QueuedRequests::set(const std::string& owner, const std::string& request, bool queued) {
  constexpr std::size_t kMost = 10'000;  // of those that never came back
  const std::lock_guard lock(mutex_);
  if (!queued) {
    queued_.erase({owner, request});
    return;
  }
  if (queued_.size() >= kMost) queued_.clear();
  queued_.emplace(owner, request);
}

}  // namespace postgres

Result<AcquireReply> PostgresStore::acquire(const AcquireRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Instant deadline = parts_->pool.runtime().now() + request.timeout;
  if (is_one_plain_lock(request) && !(request.wait && parts_->queued.has(request.owner, request.request))) {
    const Result<Rows> one =
        parts_->pool.run(parts_->lock_acquire_one, one_params(request), CallKind::claim, request.timeout);
    if (!one) return std::unexpected(one.error());
    if (one->size() > 0) {
      return decoded(parts_->pool.dsn(), [&] {
        AcquireReply reply;
        reply.grants.push_back({request.names.front(), one->integer(0, 0), one->text(0, 1)});
        reply.left = request.ttl;
        reply.waited = Duration{one->integer(0, 2)};
        return reply;
      });
    }
  }
  Params params;
  params.text(request.ns)
      .array(texts(request.names))
      .text(request.owner)
      .text(request.request)
      .int2(static_cast<std::int16_t>(request.mode))
      .int4(request.slots);
  params.int8(request.ttl.count())
      .boolean(request.to_its_end)
      .int8(request.hold_at_least.count())
      .int8(request.delay.count())
      .boolean(request.wait);
  params.text(request.pattern).text(request.place);
  const Result<Rows> rows =
      parts_->pool.run(parts_->lock_acquire, params, CallKind::claim, deadline - parts_->pool.runtime().now());
  if (!rows) return std::unexpected(rows.error());
  Result<AcquireReply> reply = decoded(parts_->pool.dsn(), [&] { return acquired_in(*rows); });
  if (request.wait && reply) parts_->queued.set(request.owner, request.request, reply->held.has_value());
  return reply;
}

// The row is taken first, and the clock read after it: a lease that ran out while this waited for the row is not
// renewed (L4). One statement could not say so.
Result<RenewReply> PostgresStore::renew(const RenewRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Params params = holding_params(request.ns, request.locks);
  params.int8(request.ttl.count());
  const Result<Rows> rows = parts_->pool.run(parts_->lock_renew, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    if (rows->size() == 0) throw WireFailure("a renewal's answer has no head");
    return RenewReply{Duration{rows->integer(0, 2)}, Duration{rows->integer(0, 3)}, lock_refusals_in(*rows, 1)};
  });
}

Result<ReleaseReply> PostgresStore::release(const ReleaseRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  if (request.locks.empty()) return ReleaseReply{};
  const Instant deadline = parts_->pool.runtime().now() + request.timeout;
  // What waits for a slot waits for its name, whose row is another one.
  if (request.locks.size() == 1 && request.locks.front().resource.find('#') == std::string::npos) {
    const Result<Rows> one = parts_->pool.run(parts_->lock_release_one, one_params(request.ns, request.locks.front()),
                                              CallKind::release, request.timeout);
    if (!one) return std::unexpected(one.error());
    if (one->size() > 0) return ReleaseReply{};
  }
  const Result<Rows> rows = parts_->pool.run(parts_->lock_release, holding_params(request.ns, request.locks),
                                             CallKind::release, deadline - parts_->pool.runtime().now());
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] { return ReleaseReply{lock_refusals_in(*rows, 0)}; });
}

Result<void> PostgresStore::withdraw(const WithdrawRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  parts_->queued.set(request.owner, request.request, false);
  Params params;
  params.text(request.ns)
      .array(texts(request.names))
      .int4(request.slots)
      .text(request.owner)
      .text(request.request)
      .int8(request.ttl.count());
  const Result<Rows> rows = parts_->pool.run(parts_->lock_withdraw, params, CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return {};
}

Result<LocksReply> PostgresStore::locks(const LocksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const json asked{
      {"prefix", request.prefix}, {"held", request.held}, {"after", request.after}, {"limit", request.limit}};
  const Result<std::vector<json>> rows = parts_->call("list_locks", request.ns, asked, CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    LocksReply reply;
    for (const json& row : *rows) {
      if (reply.locks.size() == static_cast<std::size_t>(request.limit)) reply.next = reply.locks.back().resource;
      else reply.locks.push_back(read_lock(row));
    }
    return reply;
  });
}

Result<std::optional<LockRow>> PostgresStore::lock(const std::string& ns, const std::string& resource) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  const Result<json> reply = parts_->call_one("show_lock", ns, {{"resource", resource}}, CallKind::look, kCallTimeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&]() -> std::optional<LockRow> {
    return reply->is_null() ? std::nullopt : std::optional(read_lock(*reply));
  });
}

Result<BreakReply> PostgresStore::break_lock(const BreakRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  json asked{{"resource", request.resource}, {"request", request.request}, {"act", act_json(request.act)}};
  if (request.only) asked["only"] = *request.only;
  const Result<json> reply = parts_->call_one("break_lock", request.ns, asked, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    return BreakReply{integer_in(*reply, "ended"), integer_in(*reply, "current")};
  });
}

}  // namespace fenceline
