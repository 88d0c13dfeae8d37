// Which leases of a queue have run out and which end next, found by the rows of `claim`: one for a batch, so that a
// renewal or a settle of a thousand jobs touches one index entry. claim.bound may lie too early after a renewal of
// some of the batch; whoever looks, and may write, corrects it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Leases of these queues that have run out: all of those that lost a delivery before, and at least the `enough` of
// the others that ran out first. Sorted by lease end, then order of enqueue. Corrects bounds.
std::vector<Delivery> run_out(Call& call, const std::vector<std::int64_t>& queues, std::size_t enough);

// The first lease end that lies ahead, of owners other than this one. Corrects bounds.
std::optional<std::int64_t> next_lease_end(Call& call, const std::vector<std::int64_t>& queues,
                                           const std::string& except_owner);

// Whether some lease of these queues is alive, and whether some has run out. Only reads.
struct LeaseCensus {
  bool alive = false;
  bool run_out = false;
};
LeaseCensus take_census(Call& call, const std::vector<std::int64_t>& queues);

// How many leases of the queue have run out; stops at `most`. Only reads.
std::int64_t count_run_out(Call& call, std::int64_t queue_id, std::int64_t most);

// What this claim granted and is still running under it, in the order of the grant.
std::vector<Delivery> members(Call& call, std::int64_t claim_id, std::string_view seqs);

// These have left their claims: settled, given back, taken over or dead.
void leave_claims(Call& call, const std::vector<Delivery>& deliveries);

// The end of running deliveries that are not taken over: each is finished, or ready again.
void end_deliveries(Call& call, std::vector<Delivery>& finished, std::vector<Delivery>& ready);

// These were renewed until `lease_end`.
void renew_claims(Call& call, const std::vector<Delivery>& deliveries, std::int64_t lease_end);

}  // namespace fenceline::sqlite
