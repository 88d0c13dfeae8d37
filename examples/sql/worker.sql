-- A worker in plain SQL, by psql: examples/sql/run plays two of these. It claims and commits, then works and completes in one transaction with its own write.
-- Variables: worker (a name for this start, never used again). The job and its fence come from the claim.

-- 1. Claim. One statement, committed at once: from here on the job is ours for 30 s.
select job, fence, payload ->> 'order' as "order" from fenceline.claim('invoices', :'worker', ttl => '30 seconds')
\gset

-- 2. Work, and complete: one transaction. If somebody else has the job by now, COMMIT says FL004 and nothing of it happened.
begin;
insert into sql_invoice (order_id, written_by) values (:order, :'worker');
select fenceline.complete(:'job', :fence, result => 'invoice written');
commit;
