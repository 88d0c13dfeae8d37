-- What runs with the rights of the owner is for those whom the owner named: allow().
do $$
declare
  f regprocedure;
begin
  for f in select p.oid from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosecdef loop
    execute format('revoke execute on function %s from public', f);
  end loop;
end $$;
