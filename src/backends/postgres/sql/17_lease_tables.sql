-- How long each lease, bar and kept slot is. A server's clock that was ahead and came back leaves ends that lie further ahead than that. The step that meets such an end moves it to now plus this
-- length (L3): see bring_leases_back (42_todo.sql, 44_claim.sql) and bring_locks_back (50_locks.sql). Null: granted by an older version; its end stands.
--
-- read_at of a claim: what the lease clock showed when a lease under it was last granted or renewed. read_at of a lock: the same of a shared phase.
alter table job add column if not exists ttl bigint;
alter table claim add column if not exists read_at bigint;
alter table slot add column if not exists ttl bigint;
alter table lock add column if not exists ttl bigint, add column if not exists hold bigint, add column if not exists read_at bigint;
alter table lock_sharer add column if not exists ttl bigint;
create index if not exists claim_read_at on claim (queue_id, read_at) where live > 0;
create index if not exists slot_read_at on slot (home_id, (lease_end - ttl));
