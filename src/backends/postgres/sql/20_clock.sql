-- The store's clocks, in microseconds. Leases and wall time are one clock here, the server's, read anew by each call; never now(), which stands still
-- in a transaction. They are two names so that a test can replace this function and move each by hand. waited: since the call arrived.
create function clock(out lease bigint, out wall bigint, out waited bigint) language plpgsql volatile as $$
begin
  wall := extract(epoch from clock_timestamp()) * 1000000;
  lease := wall;
  waited := greatest(wall - (extract(epoch from statement_timestamp()) * 1000000)::bigint, 0);
end $$;

-- What a call says no with: the code tells the kind, the message is for people.
create function fail_conflict(message text) returns void language plpgsql as $$ begin raise exception using errcode = 'FL001', message = message; end $$;
create function fail_refused(message text) returns void language plpgsql as $$ begin raise exception using errcode = 'FL002', message = message; end $$;
create function fail_not_found(message text) returns void language plpgsql as $$ begin raise exception using errcode = 'FL003', message = message; end $$;
-- A holder's fence is not the newest any more, or its delivery has another outcome; and: this store knows no fence as large, it was set back.
create function fail_stale(message text, detail text) returns void language plpgsql as $$ begin raise exception using errcode = 'FL004', message = message, detail = detail; end $$;
create function fail_behind(message text, detail text) returns void language plpgsql as $$ begin raise exception using errcode = 'FL005', message = message, detail = detail; end $$;

-- The next fence after `last`: above the floor and the wall clock. Refused past 2^53 - 1, never wrapped.
create function next_fence(last bigint, floor bigint, wall bigint) returns bigint language plpgsql immutable as $$
begin
  if greatest(last, floor) >= 9007199254740991 then
    perform fail_refused('no fences are left: the largest is 2^53-1');
  end if;
  if wall > 9007199254740991 then
    perform fail_refused('the store''s clock is past the year 2255: no fence can follow it; set the clock');
  end if;
  return greatest(last + 1, floor + 1, wall);
end $$;
