// What holders and operators do with granted locks: renew, release, withdraw, break.
#include <algorithm>
#include <optional>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/lock_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kWithdraw = R"sql(
  INSERT INTO fenceline_lock_withdrawn (ns_id, owner, request, until) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
    SET until = excluded.until)sql";
// More than one that a withdrawal adds, so that the table shrinks.
constexpr const char* kForgetWithdrawn = R"sql(
  DELETE FROM fenceline_lock_withdrawn WHERE (ns_id, owner, request) IN
    (SELECT ns_id, owner, request FROM fenceline_lock_withdrawn WHERE until <= ?1 ORDER BY until LIMIT 16))sql";

// A word of a holder, and what it is about.
struct Said {
  std::optional<LockRecord> lock;
  std::optional<LockLease> lease;
  Reason reason = Reason::none;  // why it is refused whatever it says
};

Said look_up(Call& call, const std::optional<std::int64_t>& ns_id, const LockHolding& sent) {
  Said said;
  if (ns_id) said.lock = find_lock(call, *ns_id, sent.resource);
  if (!said.lock) {
    said.reason = Reason::not_found;
    return said;
  }
  if (said.lock->fence != sent.fence) {
    said.reason = Reason::superseded;
    return said;
  }
  said.lease = lease_of(call, *ns_id, *said.lock, sent.owner);
  if (!said.lease) said.reason = Reason::other_owner;
  else if (said.lock->to_its_end) said.reason = Reason::to_its_end;
  return said;
}

LockRefusal refuse(const LockHolding& sent, const Said& said, Reason reason) {
  return {sent, said.lock ? said.lock->fence : 0, reason};
}

}  // namespace

Result<RenewReply> renew(Call& call, const RenewRequest& request) {
  RenewReply reply;
  reply.left = request.ttl;
  reply.waited = call.waited;
  const auto ns_id = call.names.find_namespace(request.ns);
  for (const LockHolding& sent : request.locks) {
    const Said said = look_up(call, ns_id, sent);
    Reason reason = said.reason;
    if (reason == Reason::none && !said.lease->is_alive(call.now_us()))
      reason = said.lease->released ? Reason::released : Reason::expired;
    if (reason == Reason::none) renew_lease(call, *ns_id, *said.lock, sent.owner, request.ttl);
    else reply.refused.push_back(refuse(sent, said, reason));
  }
  return reply;
}

Result<ReleaseReply> release(Call& call, const ReleaseRequest& request) {
  ReleaseReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  for (const LockHolding& sent : request.locks) {
    const Said said = look_up(call, ns_id, sent);
    if (said.reason != Reason::none) {
      reply.refused.push_back(refuse(sent, said, said.reason));
      continue;
    }
    if (said.lease->released) continue;
    release_lease(call, *ns_id, *said.lock, sent.owner);
    call.freed.insert(lock_name(request.ns, sent.resource));
  }
  return reply;
}

Result<void> withdraw(Call& call, const WithdrawRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  call.db.execute(kForgetWithdrawn, call.now_us());
  call.db.execute(kWithdraw, ns_id, request.owner, request.request, call.now_us() + request.ttl.count());
  for (const std::string& name : request.names) {
    if (leave_queue(call, ns_id, name, request.owner, request.request)) call.freed.insert(lock_name(request.ns, name));
    for (const auto& lock : find_slots(call, ns_id, name, request.slots)) {
      if (!lock || lock->to_its_end) continue;
      const std::optional<LockLease> lease = lease_of(call, ns_id, *lock, request.owner);
      if (!lease || lease->request != request.request || lease->released) continue;
      release_lease(call, ns_id, *lock, request.owner);
      call.freed.insert(lock_name(request.ns, name));
    }
  }
  return {};
}

Result<BreakReply> break_lock(Call& call, const BreakRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  const std::optional<LockRecord> lock = ns_id ? find_lock(call, *ns_id, request.resource) : std::nullopt;
  if (lock && lock->break_request == request.request) return lock->broken;
  if (!lock || lock->free_from() <= call.now_us())
    return fail(Code::not_found, "lock " + request.resource + " is not held");
  if (request.only && *request.only != lock->fence)
    return fail(Code::refused, "lock " + request.resource + " has fence " + std::to_string(lock->fence) + " now, not " +
                                   std::to_string(*request.only));
  const Result<Fence> fence = next_fence(std::max(floor_of_fences(call), lock->fence), call.wall);
  if (!fence) return std::unexpected(fence.error());
  end_phase(call, *ns_id, *lock, *fence, request.request);
  enter_in_trail(call, request.ns, request.act, "lock_broken", request.resource + " " + std::to_string(lock->fence));
  call.freed.insert(lock_name(request.ns, request.resource));
  return BreakReply{lock->fence, *fence};
}

}  // namespace fenceline::sqlite
