-- Whether this is COMMIT. Deferred triggers also run when somebody says SET CONSTRAINTS ALL IMMEDIATE, and what they lock then is locked for as long as the client likes. A trigger that cannot
-- tell is put off: it defers itself again and writes `hop` into its own note, and the event of that fires once more in the very same command if that is COMMIT, else in a later one.
create function commit_is_under_way(hop timestamptz) returns boolean language plpgsql as $$
begin
  return coalesce(hop = statement_timestamp(), false) or coalesce(current_query() ~* E'^\\s*(commit|end)(\\s+(work|transaction))?\\s*;?\\s*$', false);
end $$;

-- A transaction that was prepared would keep its locks for as long as nobody ends it, and hold up whoever wants to take over; and it outlives a crash, which `superseded` does not. The words may
-- have comments between them: a false alarm costs less than one that was missed.
create function refuse_prepare() returns void language plpgsql as $$
begin
  if current_setting('max_prepared_transactions')::int > 0 and current_query() ~* E'\\mprepare\\M.*\\mtransaction\\M' then
    raise exception using errcode = '0A000', message = 'a transaction under a fence cannot be prepared: no takeover would be possible until it ended; commit it';
  end if;
end $$;

