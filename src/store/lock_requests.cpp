// What makes a request about locks malformed, the same on every backend.
#include <algorithm>
#include <functional>
#include <set>

#include "base/duration_text.hpp"
#include "store/request_checks.hpp"
#include "store/store.hpp"

namespace fenceline {
namespace {

constexpr DurationRange kAtMostADay{Duration{0}, std::chrono::hours{24}};

Result<void> check_names(const std::vector<std::string>& names, int slots) {
  if (names.empty()) return fail(Code::invalid, "no lock was named");
  if (names.size() > kLocksAtOnceMax) return fail(Code::invalid, "too many locks at once: at most 16");
  for (const std::string& name : names) {
    if (auto ok = check_lock_name(name); !ok) return ok;
  }
  if (std::ranges::adjacent_find(names, std::greater_equal<>{}) != names.end())
    return fail(Code::invalid, "the names of locks must be sorted, none twice");
  if (slots < 1 || slots > kLockSlotsMax) return fail(Code::invalid, "slots must be 1 to 1000");
  if (slots > 1 && names.size() > 1) return fail(Code::invalid, "slots are for one lock, not for several at once");
  return {};
}

Result<void> check_holdings(const std::vector<LockHolding>& locks) {
  if (locks.size() > static_cast<std::size_t>(kBatchMax))
    return fail(Code::invalid, "too many locks in one call: at most 10000");
  std::set<LockHolding> seen;
  for (const LockHolding& lock : locks) {
    if (auto ok = check_lock_resource(lock.resource); !ok) return ok;
    if (auto ok = check_id("owner", lock.owner); !ok) return ok;
    if (!seen.insert(lock).second) return fail(Code::invalid, "lock " + lock.resource + " was named twice");
  }
  return {};
}

}  // namespace

Result<void> check_time(std::string_view what, Duration value, DurationRange allowed) {
  return check_duration(std::string(what) + " " + format_duration(value), value, allowed);
}

Result<void> check_request(const AcquireRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_names(request.names, request.slots); !ok) return ok;
  if (auto ok = check_id("owner", request.owner); !ok) return ok;
  if (auto ok = check_id("request", request.request); !ok) return ok;
  if (auto ok = check_time("ttl", request.ttl, kTtlRange); !ok) return ok;
  if (auto ok = check_time("hold at least", request.hold_at_least, kAtMostADay); !ok) return ok;
  if (auto ok = check_time("delay", request.delay, kAtMostADay); !ok) return ok;
  if (auto ok = check_note("pattern", request.pattern); !ok) return ok;
  if (auto ok = check_note("place", request.place); !ok) return ok;
  if (request.to_its_end && (request.hold_at_least > Duration{0} || request.delay > Duration{0}))
    return fail(Code::invalid,
                "a loop lock is held to the end of its window; it takes neither hold-at-least nor a delay");
  if (request.mode == LockMode::exclusive) return {};
  if (request.slots > 1) return fail(Code::invalid, "a lock is shared or has slots, not both");
  if (request.to_its_end || request.hold_at_least > Duration{0} || request.delay > Duration{0})
    return fail(Code::invalid, "a shared lock takes neither a loop window nor hold-at-least nor a delay");
  return {};
}

Result<void> check_request(const RenewRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_time("ttl", request.ttl, kTtlRange); !ok) return ok;
  return check_holdings(request.locks);
}

Result<void> check_request(const ReleaseRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  return check_holdings(request.locks);
}

Result<void> check_request(const WithdrawRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_names(request.names, request.slots); !ok) return ok;
  if (auto ok = check_id("owner", request.owner); !ok) return ok;
  if (auto ok = check_id("request", request.request); !ok) return ok;
  return check_time("ttl", request.ttl, kTtlRange);
}

Result<void> check_request(const LocksRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (!request.prefix.empty()) {
    // The beginning of a name may end in the '#' of a slot.
    const std::string_view prefix = request.prefix.back() == '#'
                                        ? std::string_view(request.prefix).substr(0, request.prefix.size() - 1)
                                        : std::string_view(request.prefix);
    if (prefix.find('#') == std::string_view::npos) {
      if (auto ok = check_lock_name(prefix); !ok) return ok;
    }
  }
  if (!request.after.empty()) {
    if (auto ok = check_lock_resource(request.after); !ok) return ok;
  }
  if (request.limit < 1 || request.limit > 1000) return fail(Code::invalid, "limit must be 1 to 1000");
  return {};
}

Result<void> check_request(const BreakRequest& request) {
  if (auto ok = check_name("namespace", request.ns); !ok) return ok;
  if (auto ok = check_lock_resource(request.resource); !ok) return ok;
  if (auto ok = check_id("request", request.request); !ok) return ok;
  if (request.only && (*request.only < 1 || *request.only > kFenceMax))
    return fail(Code::invalid, "a fence is 1 to 2^53-1");
  return check_act(request.act);
}

}  // namespace fenceline
