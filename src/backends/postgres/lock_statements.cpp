#include "backends/postgres/lock_statements.hpp"

namespace fenceline::postgres {
namespace {

const std::string kNever = "-4611686018427387904";
const std::string kFenceEnd = "9007199254740991";

std::string inside(const std::string& schema) { return "\"" + schema + "\"."; }

// How a statement reads the clock. Each is the whole of its transaction and is sent when it shall run, so the time at
// which the server began with it is the time of the call: the same wherever it is named.
struct Now {
  std::string from;
  std::string lease;
  std::string wall;
  std::string waited;
};

Now now_of(const std::string& in, bool by_hand) {
  if (by_hand) return {" from " + in + "clock() c", "c.lease", "c.wall", "c.waited"};
  const std::string time = "(pg_catalog.date_part('epoch', pg_catalog.statement_timestamp()) * 1000000)::bigint";
  return {"", time, time, "0::bigint"};
}

// The row of a lock of one holder.
std::string where_plain(const std::string& in, const Now& now) {
  return now.from + " where l.ns_id = (select n.id from " + in +
         "namespace n where n.name = $1) and l.resource = $2 and l.mode = 0 and ";
}

}  // namespace

// Whoever raises the floor by hand waits for those who write to the table, so the floor that this reads stands. What
// was deleted before is no row here: one that was tidied away and came again has fence 0, and is not granted here. The
// fence that it ends leaves its key only if somebody may carry it: see sql/50_locks.sql.
Statement acquire_one_lock(const std::string& schema, bool by_hand) {
  const std::string in = inside(schema);
  const Now now = now_of(in, by_hand);
  const std::string key = "coalesce(l.guarded_as, l.resource)";
  // With a floor at the end of all fences there is no next one, and next_fence() says so.
  const std::string fence = "coalesce((select greatest(l.fence + 1, f.value + 1, " + now.wall + ") from " + in +
                            "floor f where f.value < " + kFenceEnd + "), " + in + "next_fence(greatest(l.fence, " +
                            kFenceEnd + "), 0, " + now.wall + "))";
  return Statement("update " + in + "lock l set fence = " + fence +
                   ", ended = l.fence, released = false, to_its_end = $7, lease_end = " + now.lease +
                   " + $5, ttl = $5, hold = coalesce($6, 0), read_at = " + now.lease + ", bar = coalesce(" + now.lease +
                   " + $6, " + kNever + "), freed_at = " + kNever + ", delay = $8, free_at = " + now.lease +
                   " + greatest($5 + $8, $6), granted_at = " + now.wall +
                   ", owner = $3, request = $4, pattern = $9, place = $10, previous = case when not l.released then "
                   "l.owner end, unclean = l.unclean or not l.released" +
                   where_plain(in, now) + "(l.free_at <= " + now.lease + " or l.released and l.bar <= " + now.lease +
                   ") and l.fence > 0 and l.fence < " + kFenceEnd + " and " + now.wall + " <= " + kFenceEnd +
                   " and not l.waiting and l.withdrawn <= " + now.lease +
                   " and not (l.owner = $3 and l.request = $4) returning l.fence, l.previous, " + now.waited +
                   ", case when pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(" + key +
                   ", l.ns_id)) then false else " + in + "leave_lock_key(l.ns_id, " + key + ", l.ended) end");
}

// It need not wait for the disk: a release that a crash takes back is a lease that runs out, and whatever is granted
// after it is not on disk before it.
Statement release_one_lock(const std::string& schema, bool by_hand) {
  const std::string in = inside(schema);
  const Now now = now_of(in, by_hand);
  return Statement("update " + in + "lock l set released = true, freed_at = " + now.lease + ", free_at = greatest(" +
                   now.lease + ", l.bar)" + where_plain(in, now) +
                   "l.owner = $3 and l.fence = $4 and not l.released and not l.to_its_end returning "
                   "pg_catalog.set_config('synchronous_commit', 'off', true), case when l.waiting then " +
                   in + "wake_lock($1, $2) end");
}

}  // namespace fenceline::postgres
