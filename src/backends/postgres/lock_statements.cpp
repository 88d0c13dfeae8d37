#include "backends/postgres/lock_statements.hpp"

namespace fenceline::postgres {
namespace {

const std::string kNever = "-4611686018427387904";
const std::string kFenceEnd = "9007199254740991";

std::string inside(const std::string& schema) { return "\"" + schema + "\"."; }

// The clock, the number of the namespace and, if asked for, the floor, each read once; and the row of a lock of one holder.
std::string from_now(const std::string& in, bool by_hand, bool with_floor) {
  const std::string rest = ", (select n.id from " + in + "namespace n where n.name = $1) as ns" + (with_floor ? ", (select f.value from " + in + "floor f) as floor" : "");
  const std::string clock = by_hand ? "select k.lease, k.wall, k.waited" + rest + " from " + in + "clock() k offset 0"
                                    : "select t as lease, t as wall, u.* from (select (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000000)::bigint as t, "
                                      "(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp()) * 1000000)::bigint as waited" + rest + " offset 0) u";
  return " from (" + clock + ") c where l.ns_id = c.ns and l.resource = $2 and l.mode = 0 and ";
}

}  // namespace

// Whoever raises the floor by hand waits for those who write to the table, so the floor that this reads stands. What was deleted before is no row here: one that was tidied away and came again has fence 0, and
// is not granted here. The fence that it ends leaves its key only if somebody may carry it: see sql/50_locks.sql.
Statement acquire_one_lock(const std::string& schema, bool by_hand) {
  const std::string in = inside(schema);
  const std::string key = "coalesce(l.guarded_as, l.resource)";
  return Statement("update " + in + "lock l set fence = greatest(l.fence + 1, c.floor + 1, c.wall), ended = l.fence, released = false, to_its_end = $7, lease_end = c.lease + $5, bar = coalesce(c.lease + $6, " + kNever +
                   "), freed_at = " + kNever +
                   ", delay = $8, free_at = c.lease + greatest($5 + $8, $6), granted_at = c.wall, owner = $3, request = $4, pattern = $9, place = $10, previous = case when not l.released then l.owner end" +
                   from_now(in, by_hand, true) + "l.free_at <= c.lease and l.fence > 0 and greatest(l.fence, c.floor, c.wall - 1) < " + kFenceEnd +
                   " and not l.waiting and l.withdrawn <= c.lease and not (l.owner = $3 and l.request = $4) returning l.fence, l.previous, c.waited, "
                   "case when pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(" + key + ", l.ns_id)) then false else " + in + "leave_lock_key(l.ns_id, " + key + ", l.ended) end");
}

Statement renew_one_lock(const std::string& schema, bool by_hand) {
  const std::string in = inside(schema);
  return Statement("update " + in + "lock l set lease_end = c.lease + $5, free_at = greatest(c.lease + $5 + l.delay, l.bar)" + from_now(in, by_hand, false) +
                   "l.owner = $3 and l.fence = $4 and l.lease_end > c.lease and not l.released and not l.to_its_end returning c.waited");
}

// It need not wait for the disk: a release that a crash takes back is a lease that runs out, and whatever is granted after it is not on disk before it.
Statement release_one_lock(const std::string& schema, bool by_hand) {
  const std::string in = inside(schema);
  return Statement("update " + in + "lock l set released = true, freed_at = c.lease, free_at = greatest(c.lease, l.bar)" + from_now(in, by_hand, false) +
                   "l.owner = $3 and l.fence = $4 and not l.released and not l.to_its_end returning pg_catalog.set_config('synchronous_commit', 'off', true), case when l.waiting then " + in +
                   "wake_lock($1, $2) end");
}

}  // namespace fenceline::postgres
