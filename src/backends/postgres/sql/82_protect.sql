-- Tables of the application that take no write under an older fence, whoever writes them: protect, unprotect.
--
-- Each protected table has functions of its own, which know its columns by name, and these triggers, the last by their names, so that they see what other triggers made of a row:
--   zz_fenceline_1_assigned  before update OF the fence, for each row: the statement says its fence. It tells the next one by turning the new fence into a negative number.
--   zz_fenceline_2_row       before insert, update or delete, for each row: checks, and fills the fence in.
--   zz_fenceline_3_truncate  before truncate: on each partition too, which PostgreSQL does not see to by itself.
create table protected (
  id int generated always as identity primary key, ns text not null, resource text[] not null, fence text not null, refuses boolean not null, made_at bigint not null);

create function refuse_unfenced(source int, what text) returns void language plpgsql as $$
begin
  perform count_refusal(source, 'unfenced');
  raise exception using errcode = 'FL006', message = what || case when what ~ '^(deleting|truncating|taking away)' then '; say' else '; assign the fence, or say' end || ' act_as(resource, fence) first in the transaction';
end $$;

-- The fence under which a row of a resource is written: the one that the statement assigned, else that of act_as. Null: none, and that is allowed.
create function row_fence(source int, ns_name text, resource_ text, assigned bigint, remembered bigint, refuses boolean, what text) returns bigint language plpgsql as $$
declare
  fence_ bigint := coalesce(assigned, acting_fence(ns_name, resource_));
begin
  if fence_ is not null then
    perform admit(ns_name, resource_, fence_, remembered, source);
  elsif refuses then
    perform refuse_unfenced(source, format('%s a row of %s without a fence is refused', what, coalesce(resource_, 'nobody')));
  end if;
  return fence_;
end $$;

create function checked_insert(source int, ns_name text, resource_ text, new_fence bigint, refuses boolean) returns bigint language plpgsql as $$
begin
  return coalesce(row_fence(source, ns_name, resource_, nullif(new_fence, 0), null, refuses, 'inserting'), new_fence);
end $$;

-- The fence that the row shall have. A new one below zero was assigned by the statement: -1 is none, -1 - n is n.
create function checked_update(source int, ns_name text, old_resource text, new_resource text, old_fence bigint, new_fence bigint, refuses boolean) returns bigint language plpgsql as $$
declare
  assigned bigint := nullif(case when new_fence < 0 then -1 - new_fence when new_fence is distinct from old_fence then new_fence end, 0);
  fence_ bigint;
begin
  if old_resource is not distinct from new_resource then
    fence_ := row_fence(source, ns_name, new_resource, assigned, old_fence, refuses, 'updating');
  else
    -- Whoever says a fence for the new one has none for the old one by that, even where people may write without.
    perform row_fence(source, ns_name, old_resource, null, old_fence, refuses or assigned is not null, 'taking away');
    fence_ := row_fence(source, ns_name, new_resource, assigned, null, refuses, 'giving away');
  end if;
  if fence_ is null and new_fence = -1 and old_fence > 0 then perform refuse_unfenced(source, format('taking the fence off a row of %s is refused', old_resource)); end if;
  return coalesce(fence_, case when new_fence = -1 then old_fence else new_fence end);
end $$;

create function checked_delete(source int, ns_name text, resource_ text, old_fence bigint, refuses boolean) returns void language plpgsql as $$
begin
  perform row_fence(source, ns_name, resource_, null, old_fence, refuses, 'deleting');
end $$;

-- TRUNCATE takes all rows away: for each resource of them. The caller has read them, by its own rights.
create function checked_truncate(source int, resources text[], fences bigint[]) returns void language plpgsql security definer set search_path from current as $$
declare
  p protected;
  acts boolean := nullif(current_setting('fenceline.acting', true), '') is not null;
begin
  select * into p from protected where id = source;
  if not acts and p.refuses then perform refuse_unfenced(source, 'truncating without a fence is refused'); end if;
  if acts and current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception using errcode = '0A000', message = 'a protected table is truncated in a transaction that is READ COMMITTED: others do not see all of its rows';
  end if;
  perform row_fence(source, p.ns, u.r, null, u.f, p.refuses, 'truncating') from unnest(resources, fences) as u (r, f);
end $$;

-- The SQL of a resource's name from a row. One column's text is the name as it is. By format(), which calls what PostgreSQL itself brings along: a cast may be somebody's own function.
create function resource_sql(row_name text, columns_ text[]) returns text language sql immutable as $$
  select format(case when cardinality(columns_) = 1 then 'plain_resource(%s)' else 'resource(%s)' end,
                (select string_agg(format('case when %1$s%2$I is not null then format(''%%s'', %1$s%2$I) end', row_name, c), ', ' order by n) from unnest(columns_) with ordinality as u (c, n)));
$$;

-- Writes the functions of a protected table and gives its number. They run with the rights of the store's owner, who need not own the table; whoever protects it makes the triggers, and
-- nobody else can put these functions on a table.
create function make_protection(columns_ text[], fence_ text, refuses_ boolean, ns_name text, moves boolean, maker regrole) returns int language plpgsql security definer set search_path from current as $$
declare
  id_ int;
  schema_ text := current_schema();
  body text;
begin
  -- Of tables that were dropped: no trigger has its functions any more.
  perform forget_protection(p.id) from protected p
  where not exists (select 1 from pg_trigger t join pg_proc f on f.oid = t.tgfoid
                    where f.pronamespace = schema_::regnamespace and f.proname in (format('protects_%s', p.id), format('protects_%s_truncate', p.id)));
  insert into protected (ns, resource, fence, refuses, made_at) values (ns_name, columns_, fence_, refuses_, (clock()).wall) returning id into id_;
  execute format('create sequence %I.%I minvalue 0 start 0', schema_, format('refused_%s_stale', id_));
  execute format('create sequence %I.%I minvalue 0 start 0', schema_, format('refused_%s_behind', id_));
  execute format('create sequence %I.%I minvalue 0 start 0', schema_, format('refused_%s_unfenced', id_));
  body := format($f$
    begin
      if tg_op = 'UPDATE' then
        if tg_nargs > 0 then
          if new.%1$I < 0 then raise exception using errcode = '22023', message = format('%%s is no fence', new.%1$I); end if;
          new.%1$I := -1 - coalesce(new.%1$I, 0);
          return new;
        end if;
        new.%1$I := checked_update(%2$s, %3$L, %4$s, %5$s, old.%1$I, new.%1$I, %6$L);
        %7$s
        return new;
      elsif tg_op = 'INSERT' then
        new.%1$I := checked_insert(%2$s, %3$L, %5$s, new.%1$I, %6$L);
        return new;
      end if;
      %8$s
      perform checked_delete(%2$s, %3$L, %4$s, old.%1$I, %6$L);
      return old;
    end $f$,
    fence_, id_, ns_name, resource_sql('old.', columns_), resource_sql('new.', columns_), refuses_,
    -- An update that moves a row to another partition goes on as a DELETE there, of the row that was checked just now, and an INSERT here.
    case when moves then 'perform set_config(''fenceline.moving'', md5(tg_relid || old::text), true);' else '' end,
    case when moves then 'if current_setting(''fenceline.moving'', true) = md5(tg_relid || old::text) then perform set_config(''fenceline.moving'', '''', true); return old; end if;' else '' end);
  execute format('create function %1$I.%2$I() returns trigger language plpgsql security definer set search_path = %1$I, pg_catalog, pg_temp as %3$L', schema_, format('protects_%s', id_), body);
  body := format($f$
    declare
      names text[];
      fences bigint[];
    begin
      if nullif(current_setting('fenceline.acting', true), '') is not null then
        execute format('select array_agg(r), array_agg(f) from (select %%s as r, max(%%I) as f from only %%s group by 1) as u', %2$L, %3$L, tg_relid::regclass) into names, fences;
      end if;
      perform %1$I.checked_truncate(%4$s, names, fences);
      return null;
    end $f$,
    schema_, format('%I.%s', schema_, resource_sql('', columns_)), fence_, id_);
  execute format('create function %I.%I() returns trigger language plpgsql set row_security = off as %L', schema_, format('protects_%s_truncate', id_), body);
  execute format('revoke execute on function %1$I.%2$I(), %1$I.%3$I() from public', schema_, format('protects_%s', id_), format('protects_%s_truncate', id_));
  execute format('grant execute on function %1$I.%2$I(), %1$I.%3$I() to %4$s', schema_, format('protects_%s', id_), format('protects_%s_truncate', id_), maker);
  return id_;
end $$;

-- Forgets one whose triggers are gone; PostgreSQL refuses while there is one.
create function forget_protection(id_ int) returns void language plpgsql security definer set search_path from current as $$
declare
  schema_ text := current_schema();
  kind text;
begin
  execute format('drop function if exists %I.%I()', schema_, format('protects_%s', id_));
  execute format('drop function if exists %I.%I()', schema_, format('protects_%s_truncate', id_));
  foreach kind in array array['stale', 'behind', 'unfenced'] loop
    execute format('drop sequence if exists %I.%I', schema_, format('refused_%s_%s', id_, kind));
  end loop;
  delete from protected where id = id_;
end $$;

-- One line for a role that may call what applications call, and no more, instead of the name of something inside.
create function check_may(what text, may boolean) returns void language plpgsql as $$
begin
  if not may then raise exception using errcode = '42501', message = format('only the owner of schema %s can %s', current_schema(), what); end if;
end $$;

-- The number by which a table is protected, by its own trigger; null: it is not.
create function protection_of(table_ regclass) returns int language sql stable set search_path from current as $$
  select substring(f.proname from '^protects_([0-9]+)$')::int from pg_trigger t join pg_proc f on f.oid = t.tgfoid
  where t.tgrelid = table_ and t.tgname = 'zz_fenceline_2_row' and f.pronamespace = current_schema()::regnamespace;
$$;

-- From now on no row of the table is inserted, updated or deleted, and the table not truncated, under an older fence than the newest of the row's resource. A statement says its fence by
-- assigning the column, or runs under act_as; one that does neither is refused, or with unfenced => 'allow' let through. resource: a column, or several. Asked again, it sees to new partitions.
create function protect("table" regclass, resource text[], fence text, unfenced text default 'refuse', namespace text default 'default') returns void
language plpgsql set search_path from current as $$
#variable_conflict use_variable
declare
  columns_ text[] := array(select trim(c) from unnest(protect.resource) as c);
  schema_ text := current_schema();
  is_parted boolean;
  id_ int;
  one record;
  column_ text;
begin
  perform check_may('protect a table', has_function_privilege('make_protection(text[], text, boolean, text, boolean, regrole)', 'execute'));
  select * into one from pg_class c where c.oid = "table";
  if one.relkind not in ('r', 'p') or one.relpersistence = 't' or one.relnamespace = current_schema()::regnamespace or one.relnamespace = 'pg_catalog'::regnamespace then
    perform fail_refused(format('%s cannot be protected: name a plain table of your own, not a view or a temporary table', "table"));
  end if;
  is_parted := one.relkind = 'p';
  if not is_parted and exists (select 1 from pg_inherits i where i.inhparent = "table") then
    perform fail_refused(format('%s has tables that inherit from it, which its triggers do not see; protect those, or use partitions', "table"));
  end if;
  perform check_name('namespace', protect.namespace);
  if unfenced is null or unfenced not in ('refuse', 'allow') then perform fail_refused('unfenced must be ''refuse'' or ''allow'''); end if;
  if coalesce(cardinality(columns_), 0) = 0 then perform fail_refused('name the column of the resource: resource => ''run_id'''); end if;
  foreach column_ in array columns_ || protect.fence loop
    select a.* into one from pg_attribute a where a.attrelid = "table" and a.attname = column_ and a.attnum > 0 and not a.attisdropped;
    if not found then perform fail_refused(format('%s has no column %s', "table", coalesce(column_, 'null'))); end if;
    -- Its text is taken with the rights of the store's owner: by functions of PostgreSQL itself only.
    -- And it must be one text for one value, in every session: no dates, no numbers with a fraction.
    if not exists (select 1 from pg_type t where t.oid = one.atttypid and (t.typtype = 'e' or t.oid = any (array['text', 'varchar', 'uuid', 'int2', 'int4', 'int8']::regtype[]))) then
      perform fail_refused(format('column %s of %s is of a type whose text may differ from session to session; name one of text, varchar, uuid, smallint, integer, bigint or an enum', column_, "table"));
    end if;
    if one.attgenerated <> '' then perform fail_refused(format('column %s of %s is generated, which is done after the check; name one that is written', column_, "table")); end if;
  end loop;
  if one.atttypid <> 'bigint'::regtype then perform fail_refused(format('column %s of %s holds fences and must be a bigint', fence, "table")); end if;
  if fence = any (columns_) then perform fail_refused('the fence and the resource are two columns'); end if;

  id_ := protection_of("table");
  if id_ is not null and not exists (select 1 from protections() p where p.id = id_ and p.resource = columns_ and p.fence = protect.fence and p.unfenced = protect.unfenced and p.namespace = protect.namespace) then
    perform unprotect("table");
    id_ := null;
  end if;
  if id_ is null then
    id_ := make_protection(columns_, fence, unfenced = 'refuse', namespace, is_parted, current_user::regrole);
    execute format('create trigger zz_fenceline_1_assigned before update of %I on %s for each row execute function %I.%I(''assigned'')', fence, "table", schema_, format('protects_%s', id_));
    execute format('create trigger zz_fenceline_2_row before insert or update or delete on %s for each row execute function %I.%I()', "table", schema_, format('protects_%s', id_));
  end if;
  for one in
    select t.relid from pg_partition_tree("table") as t where not exists (select 1 from pg_trigger g where g.tgrelid = t.relid and g.tgname = 'zz_fenceline_3_truncate')
    union select "table" where not exists (select 1 from pg_trigger g where g.tgrelid = "table" and g.tgname = 'zz_fenceline_3_truncate')
  loop
    execute format('create trigger zz_fenceline_3_truncate before truncate on %s for each statement execute function %I.%I()', one.relid::regclass, schema_, format('protects_%s_truncate', id_));
  end loop;
end $$;
create function protect("table" regclass, resource text, fence text, unfenced text default 'refuse', namespace text default 'default') returns void
language plpgsql set search_path from current as $$
begin
  perform protect("table", string_to_array(protect.resource, ','), protect.fence, protect.unfenced, protect.namespace);
end $$;

-- Undoes it, and its counts.
create function unprotect("table" regclass) returns void language plpgsql set search_path from current as $$
#variable_conflict use_variable
declare
  id_ int := protection_of("table");
  one record;
begin
  perform check_may('take the protection off a table', has_function_privilege('forget_protection(int)', 'execute'));
  if id_ is null then perform fail_not_found(format('%s is not protected', "table")); end if;
  for one in
    select t.tgrelid::regclass as at, t.tgname from pg_trigger t join pg_proc f on f.oid = t.tgfoid
    where f.pronamespace = current_schema()::regnamespace and f.proname in (format('protects_%s', id_), format('protects_%s_truncate', id_)) and t.tgparentid = 0
  loop
    execute format('drop trigger %I on %s', one.tgname, one.at);
  end loop;
  perform forget_protection(id_);
end $$;

-- What is protected how, by whom it is found: "table" is null if it was dropped. gaps: what is open in it.
create function protections(out id int, out "table" regclass, out resource text[], out fence text, out unfenced text, out namespace text, out stale bigint, out behind bigint, out unfenced_refused bigint,
                            out gaps text) returns setof record language plpgsql stable security definer set search_path from current as $$
declare
  p protected;
begin
  for p in select * from protected x order by x.id loop
    id := p.id;
    resource := p.resource;
    fence := p.fence;
    unfenced := case when p.refuses then 'refuse' else 'allow' end;
    namespace := p.ns;
    select t.tgrelid into "table" from pg_trigger t join pg_proc f on f.oid = t.tgfoid
    where f.proname = format('protects_%s', p.id) and f.pronamespace = current_schema()::regnamespace and t.tgname = 'zz_fenceline_2_row' and t.tgparentid = 0;
    stale := refusals_of(p.id, 'stale');
    behind := refusals_of(p.id, 'behind');
    unfenced_refused := refusals_of(p.id, 'unfenced');
    select string_agg(distinct u.gap, '; ') into gaps from (
      select format('trigger %s of %s is disabled', t.tgname, t.tgrelid::regclass) as gap from pg_trigger t join pg_proc f on f.oid = t.tgfoid
      where f.pronamespace = current_schema()::regnamespace and f.proname in (format('protects_%s', p.id), format('protects_%s_truncate', p.id)) and t.tgenabled in ('D', 'R')
      union all
      select format('%s can be truncated: protect %s again', r.relid::regclass, "table") from pg_partition_tree("table") as r
      where not exists (select 1 from pg_trigger t where t.tgrelid = r.relid and t.tgname = 'zz_fenceline_3_truncate')
      union all
      select format('%s inherits from %s, and its rows are not checked', i.inhrelid::regclass, "table") from pg_inherits i join pg_class c on c.oid = i.inhparent
      where i.inhparent = "table" and c.relkind = 'r'
      union all
      select format('trigger %s of %s comes after the check and may change what was checked; give it a name before zz_fenceline', t.tgname, "table") from pg_trigger t
      where t.tgrelid = "table" and not t.tgisinternal and t.tgtype & 3 = 3 and t.tgname::text collate "C" > 'zz_fenceline_2_row') as u;
    return next;
  end loop;
end $$;
create function refusals_of(source int, kind text) returns bigint language plpgsql stable security definer set search_path from current as $$
declare
  n bigint;
begin
  -- Null until it was used, and then it began with 0.
  return coalesce(pg_sequence_last_value(to_regclass(format('refused_%s_%s', source, kind))) + 1, 0);
end $$;

-- How many writes were refused since a table was protected. The first row: calls of guard, gate and act_as.
create view refusals as
  select null::regclass as "table", null::text as resource, null::text as fence, null::text as unfenced, null::text as namespace, refusals_of(0, 'stale') as stale, refusals_of(0, 'behind') as behind,
         0::bigint as unfenced_refused, null::text as gaps
  union all
  select p."table", array_to_string(p.resource, ','), p.fence, p.unfenced, p.namespace, p.stale, p.behind, p.unfenced_refused, p.gaps from protections() as p;

-- For doctor: what was refused is as it should be; a gap is not.
create function guards_finding() returns jsonb language plpgsql stable security definer set search_path from current as $$
declare
  counts text;
  gaps_ text;
  mends text;
begin
  select string_agg(format('%s: %s stale, %s behind, %s unfenced', coalesce(r."table"::text, case when r.resource is null then 'calls' else 'a table that was dropped' end), r.stale, r.behind, r.unfenced_refused), '; '), string_agg(r.gaps, '; ')
  into counts, gaps_
  from (select * from refusals order by stale + behind + unfenced_refused desc limit 20) as r where r."table" is not null or r.stale + r.behind > 0;
  select string_agg(format('alter table %s enable trigger %I', t.tgrelid::regclass, t.tgname), '; ' order by t.tgrelid, t.tgname) into mends from pg_trigger t join pg_proc f on f.oid = t.tgfoid
  where f.pronamespace = current_schema()::regnamespace and f.proname ~ '^protects_[0-9]' and t.tgenabled in ('D', 'R');
  return jsonb_build_object('name', 'guards', 'status', case when gaps_ is null then 0 else 2 end,
    'detail', case when gaps_ is not null then gaps_ when counts is null then 'no table is protected' else 'refused so far: ' || counts end,
    'remedy', case when gaps_ is null then '' else coalesce(mends, 'protect it again, see docs/tables-postgresql.md') end);
end $$;

-- Lifts the floor above all that protected tables and gates remember, so that the next grants pass: for a store that was set back. Reads the tables by the caller's rights. Answers the floor.
create function rebase(reason text default '') returns bigint language plpgsql set search_path from current as $$
declare
  most bigint := 0;
  one record;
  highest bigint;
  -- What lies further ahead was never granted: it would keep everybody out.
  limit_ bigint := (clock()).wall + 86400000000;
begin
  perform check_may('raise the floor', has_function_privilege('lift_floor(bigint, text, text)', 'execute'));
  for one in select p."table" as t, p.fence as f from protections() as p where p."table" is not null loop
    execute format('select max(%1$I) from %2$s where %1$I <= $1', one.f, one.t) into highest using limit_;
    most := greatest(most, highest);
    execute format('select max(%1$I) from %2$s where %1$I > $1', one.f, one.t) into highest using limit_;
    if highest is not null then
      raise warning 'fence % of % was never granted, and no rebase can pass it', highest, one.t using hint = 'unprotect the table, set its column to 0 in these rows, and protect it again';
    end if;
  end loop;
  return lift_floor(most, session_user::text, coalesce(rebase.reason, ''));
end $$;
create function lift_floor(most bigint, actor text, reason text) returns bigint language plpgsql security definer set search_path from current as $$
begin
  return raise_floor('', jsonb_build_object('floor', greatest(most, (select max(m.fence) from gate_memory m where m.fence <= (clock()).wall + 86400000000), 0), 'act', jsonb_build_object('actor', actor, 'reason', reason)));
end $$;

-- Forgets the largest fence that was let in for a resource of which no lease lives here: for one that was a mistake. Answers it. For the schema's owner.
create function forget_gate(resource text, reason text default '', namespace text default 'default') returns bigint language plpgsql set search_path from current as $$
declare
  forgotten bigint;
begin
  perform check_may('forget a gate', has_table_privilege('gate_memory', 'delete'));
  delete from gate_memory m where m.ns_id = find_ns(forget_gate.namespace) and m.resource = plain_resource(forget_gate.resource) returning m.fence into forgotten;
  delete from superseded s where s.ns_id = find_ns(forget_gate.namespace) and s.resource = plain_resource(forget_gate.resource);
  if forgotten is null then perform fail_not_found(format('no gate of %s is remembered in namespace %s', forget_gate.resource, forget_gate.namespace)); end if;
  perform note_act(forget_gate.namespace, session_user::text, 'gate_forget', forget_gate.resource, coalesce(forget_gate.reason, ''), (clock()).wall);
  return forgotten;
end $$;
