#include "backends/sqlite/lease_book.hpp"

#include <algorithm>
#include <tuple>

#include "backends/sqlite/seq_ranges.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kRunOutLossy = R"sql(
  SELECT id, bound, exact, seqs FROM claim INDEXED BY claim_lossy
  WHERE queue_id = ?1 AND live > 0 AND losses_most > 0 AND bound <= ?2 ORDER BY bound)sql";

constexpr const char* kRunOut = R"sql(
  SELECT id, bound, exact, seqs FROM claim INDEXED BY claim_bound
  WHERE queue_id = ?1 AND live > 0 AND losses_most = 0 AND bound <= ?2 ORDER BY bound)sql";

constexpr const char* kOfOthers = R"sql(
  SELECT id, bound, exact, seqs FROM claim INDEXED BY claim_bound
  WHERE queue_id = ?1 AND live > 0 AND owner <> ?2 ORDER BY bound)sql";

constexpr const char* kSomeAlive =
    "SELECT 1 FROM claim INDEXED BY claim_bound WHERE queue_id = ?1 AND live > 0 AND bound > ?2 LIMIT 1";
constexpr const char* kPastBound =
    "SELECT id, exact, seqs FROM claim INDEXED BY claim_bound WHERE queue_id = ?1 AND live > 0 AND bound <= ?2";

constexpr const char* kCorrect = "UPDATE claim SET bound = ?2, exact = ?3 WHERE id = ?1";
constexpr const char* kLeaveClaim = "UPDATE claim SET live = live - ?2 WHERE id = ?1";
// The whole of what is live was renewed: exact again. A part: an earlier end may be among the rest.
constexpr const char* kRenewClaim = R"sql(
  UPDATE claim SET bound = CASE WHEN live = ?3 THEN ?2 ELSE min(bound, ?2) END, exact = (live = ?3) WHERE id = ?1)sql";

struct Correction {
  std::int64_t claim_id;
  std::int64_t bound;
  bool exact;
};

// Not while the index that it changes is being read.
void correct_bounds(Call& call, const std::vector<Correction>& corrections) {
  for (const Correction& c : corrections) call.db.execute(kCorrect, c.claim_id, c.bound, c.exact ? 1 : 0);
}

Correction corrected(std::int64_t claim_id, const std::vector<Delivery>& live) {
  const auto [first, last] = std::minmax_element(
      live.begin(), live.end(), [](const Delivery& a, const Delivery& b) { return a.lease_end < b.lease_end; });
  return {claim_id, first->lease_end, first->lease_end == last->lease_end};
}

bool earlier(const Delivery& a, const Delivery& b) {
  return std::tie(a.lease_end, a.seq) < std::tie(b.lease_end, b.seq);
}

// True if whatever else follows at `bound` or later cannot be among the first `enough`.
bool are_complete(std::vector<Delivery>& found, std::size_t enough, std::int64_t bound) {
  if (enough == 0 || found.size() < enough) return enough == 0;
  const auto last = found.begin() + static_cast<std::ptrdiff_t>(enough) - 1;
  std::nth_element(found.begin(), last, found.end(), earlier);
  return last->lease_end < bound;
}

std::vector<Delivery> run_out_of(Call& call, const char* sql, std::int64_t queue_id,
                                 std::optional<std::size_t> enough) {
  std::vector<Delivery> found;
  std::vector<Correction> corrections;
  {
    auto rows = call.db.query(sql, queue_id, call.now_us());
    while (rows.next()) {
      if (enough && are_complete(found, *enough, rows.integer(1))) break;
      std::vector<Delivery> live = members(call, rows.integer(0), rows.bytes(3));
      if (rows.integer(2) == 0 && !live.empty()) corrections.push_back(corrected(rows.integer(0), live));
      for (Delivery& delivery : live) {
        if (delivery.lease_end > call.now_us()) continue;
        delivery.queue_id = queue_id;
        found.push_back(std::move(delivery));
      }
    }
  }
  correct_bounds(call, corrections);
  return found;
}

std::map<std::int64_t, std::int64_t> count_by_claim(const std::vector<Delivery>& deliveries) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const Delivery& delivery : deliveries) counts[delivery.claim_id] += 1;
  return counts;
}

}  // namespace

std::vector<Delivery> members(Call& call, std::int64_t claim_id, std::string_view seqs) {
  return find_running_under(call, claim_id, unpack_ranges(seqs));
}

std::vector<Delivery> run_out(Call& call, const std::vector<std::int64_t>& queues, std::size_t enough) {
  std::vector<Delivery> found;
  for (const std::int64_t queue_id : queues) {
    for (Delivery& delivery : run_out_of(call, kRunOutLossy, queue_id, std::nullopt))
      found.push_back(std::move(delivery));
    for (Delivery& delivery : run_out_of(call, kRunOut, queue_id, enough)) found.push_back(std::move(delivery));
  }
  std::sort(found.begin(), found.end(), earlier);
  return found;
}

std::optional<std::int64_t> next_lease_end(Call& call, const std::vector<std::int64_t>& queues,
                                           const std::string& except_owner) {
  std::optional<std::int64_t> next;
  std::vector<Correction> corrections;
  const auto take = [&](std::int64_t end) {
    if (end > call.now_us() && (!next || end < *next)) next = end;
  };
  for (const std::int64_t queue_id : queues) {
    auto rows = call.db.query(kOfOthers, queue_id, except_owner);
    while (rows.next()) {
      if (next && rows.integer(1) >= *next) break;
      if (rows.integer(2) != 0) {
        take(rows.integer(1));
        continue;
      }
      const std::vector<Delivery> live = members(call, rows.integer(0), rows.bytes(3));
      if (!live.empty()) corrections.push_back(corrected(rows.integer(0), live));
      for (const Delivery& delivery : live) take(delivery.lease_end);
    }
  }
  correct_bounds(call, corrections);
  return next;
}

LeaseCensus take_census(Call& call, const std::vector<std::int64_t>& queues) {
  LeaseCensus census;
  for (const std::int64_t queue_id : queues) {
    if (!census.alive) census.alive = call.db.number(kSomeAlive, queue_id, call.now_us()).has_value();
    auto rows = call.db.query(kPastBound, queue_id, call.now_us());
    while ((!census.alive || !census.run_out) && rows.next()) {
      if (rows.integer(1) != 0) {
        census.run_out = true;
        continue;
      }
      for (const Delivery& delivery : members(call, rows.integer(0), rows.bytes(2)))
        (delivery.lease_end > call.now_us() ? census.alive : census.run_out) = true;
    }
  }
  return census;
}

std::int64_t count_run_out(Call& call, std::int64_t queue_id, std::int64_t most) {
  std::int64_t count = 0;
  auto rows = call.db.query(kPastBound, queue_id, call.now_us());
  while (count < most && rows.next()) {
    for (const Delivery& delivery : members(call, rows.integer(0), rows.bytes(2)))
      count += delivery.lease_end <= call.now_us() ? 1 : 0;
  }
  return std::min(count, most);
}

void leave_claims(Call& call, const std::vector<Delivery>& deliveries) {
  for (const auto& [claim_id, count] : count_by_claim(deliveries)) call.db.execute(kLeaveClaim, claim_id, count);
}

void renew_claims(Call& call, const std::vector<Delivery>& deliveries, std::int64_t lease_end) {
  for (const auto& [claim_id, count] : count_by_claim(deliveries))
    call.db.execute(kRenewClaim, claim_id, lease_end, count);
}

}  // namespace fenceline::sqlite
