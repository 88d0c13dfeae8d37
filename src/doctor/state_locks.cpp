// Locks: long waits and their holders, and leases that expired without a release.
#include <algorithm>
#include <charconv>

#include "doctor/state_look.hpp"
#include "model/schedule.hpp"
#include "services/lock_options.hpp"

namespace fenceline::doctor {
namespace {

constexpr int kPagesMost = 10;
constexpr std::size_t kNamespacesLooked = 20;
constexpr std::string_view kLoop = "loop";  // it is never released: its window ends by itself

std::string at_place(const std::string& place) { return place.empty() ? "" : " (" + place + ")"; }

// The process of a holder, if it is known to be stopped: its place is "HOST:PID" then.
std::optional<std::int64_t> stopped(const StateLook& look, const LockHolder& holder) {
  const std::size_t colon = holder.place.rfind(':');
  if (colon == std::string::npos || !look.options.stopped) return std::nullopt;
  std::int64_t pid = 0;
  const char* end = holder.place.data() + holder.place.size();
  if (std::from_chars(holder.place.data() + colon + 1, end, pid).ptr != end || pid <= 0) return std::nullopt;
  return look.options.stopped(holder.place.substr(0, colon), pid, look.now - holder.granted_at) ? std::optional(pid)
                                                                                                : std::nullopt;
}

// What ran out is taken over, and released, under a new fence. What is held is never broken unseen: its holder may be
// well, and at work.
std::string mend(const LockRow& row) {
  const bool is_slot = row.resource.find('#') != std::string::npos;
  if (row.free_in || is_slot) return "fenceline locks show " + row.resource;
  return "fenceline lock " + row.resource + " -- true";
}

const LockHolder* ran_out(const LockRow& row) {
  if (row.pattern == kLoop) return nullptr;
  const auto found =
      std::ranges::find_if(row.holders, [](const LockHolder& holder) { return holder.left <= Duration{0}; });
  return found == row.holders.end() ? nullptr : &*found;
}

void judge_debt(const StateLook& look, FindingList& list, const LockRow& row) {
  const LockHolder* holder = ran_out(row);
  if (!holder) return;
  list.add(FindingStatus::warning,
           "lock " + row.resource + ": the lease of " + holder->owner + at_place(holder->place) + " under fence " +
               std::to_string(row.fence) + " expired " + rough(-holder->left) + " ago without a release",
           mend(row), look.now + holder->left);
}

void judge_wait(StateLook& look, FindingList& list, const LockRow& row) {
  StateNumbers& numbers = look.looked.numbers;
  numbers.lock_waiters += row.waiters_count;
  if (row.waiters.empty()) return;
  if (row.pattern == to_string(LockPattern::election) && row.free_in) return;  // they stand by, for as long as it leads
  const auto first = std::ranges::min_element(row.waiters, {}, &LockWaiter::since);
  const Duration waits = look.now - first->since;
  numbers.lock_wait_longest = std::max(numbers.lock_wait_longest, waits);
  if (waits < kLockWaitLong) return;
  std::string holder = "no one holds it", remedy = mend(row);
  if (!row.holders.empty()) {
    const LockHolder& one = row.holders.front();
    holder = one.owner + at_place(one.place) + " holds it under fence " + std::to_string(row.fence) + " since " +
             moment(one.granted_at, look.now);
    if (one.left <= Duration{0}) holder += ", and its lease has expired";
    if (const std::optional<std::int64_t> pid = stopped(look, one)) {
      holder += ", and is stopped";
      remedy = "kill -CONT " + std::to_string(*pid);
    }
  }
  list.add(FindingStatus::warning,
           "lock " + row.resource + ": " + counted(row.waiters_count, "waiter") + ", " + first->owner +
               at_place(first->place) + " for " + rough(waits) + "; " + holder,
           row.holders.empty() ? "fenceline locks show " + row.resource : remedy, first->since);
}

// `visit` is shown every lock of a namespace, up to a bound.
template <class Visit>
Result<void> each_lock(StateLook& look, const std::string& ns, int pages, Visit visit) {
  LocksRequest request{.ns = ns, .limit = kPage};
  for (int page = 0;; ++page) {
    const Result<LocksReply> reply = look.store.locks(request);
    if (!reply) return std::unexpected(reply.error());
    for (const LockRow& row : reply->locks) {
      if (row.resource != kSchedulerLock) visit(row);  // it only saves work: see schedules_late
    }
    if (!reply->next) return {};
    if (page + 1 == pages || !look.has_time()) {
      look.cut_short();
      return {};
    }
    request.after = *reply->next;
  }
}

// Of other namespaces only the number: their operators run doctor there.
Result<void> debt_elsewhere(StateLook& look, FindingList& list) {
  const Result<std::vector<std::string>> names = look.store.namespaces();
  if (!names) return std::unexpected(names.error());
  std::size_t looked_at = 0;
  for (const std::string& ns : *names) {
    if (ns == look.options.ns) continue;
    if (looked_at++ == kNamespacesLooked || !look.has_time()) {
      look.cut_short();
      return {};
    }
    std::int64_t debt = 0;
    std::optional<WallTime> since;
    const Result<void> read = each_lock(look, ns, 1, [&](const LockRow& row) {
      const LockHolder* holder = ran_out(row);
      if (!holder) return;
      debt += 1;
      since = std::min(since.value_or(WallTime::max()), look.now + holder->left);
    });
    if (!read) return read;
    if (debt > 0)
      list.add(FindingStatus::warning,
               "namespace " + ns + ": " + counted(debt, "lease") + " of locks expired and " +
                   (debt == 1 ? "was" : "were") + " not released",
               "fenceline doctor --namespace " + ns, since);
  }
  return {};
}

}  // namespace

Result<LockFindings> locks(StateLook& look) {
  FindingList wait("lock_wait",
                   "waiters do nothing else meanwhile; a holder that hangs but renews keeps the lock forever",
                   "fenceline locks list --held");
  FindingList debt(
      "lock_debt",
      "its holder died or hangs and may still write: its fence is refused only after a newer one is granted",
      "fenceline locks list");
  std::int64_t all = 0;
  const Result<void> read = each_lock(look, look.options.ns, kPagesMost, [&](const LockRow& row) {
    all += 1;
    judge_wait(look, wait, row);
    judge_debt(look, debt, row);
  });
  if (!read) return std::unexpected(read.error());
  look.looked.numbers.lock_debt = debt.size();
  if (look.options.other_namespaces) {
    if (const Result<void> elsewhere = debt_elsewhere(look, debt); !elsewhere)
      return std::unexpected(elsewhere.error());
  }
  const std::string known = counted(all, "lock") + " checked";
  return LockFindings{look.told(std::move(wait), known + ", no long waits"),
                      look.told(std::move(debt), known + ", none expired without a release")};
}

}  // namespace fenceline::doctor
