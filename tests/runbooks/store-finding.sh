# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# SQLite: a program that is not ours holds the write lock. PostgreSQL: autovacuum is off. Redis: no memory is left.
fault() {
  fenceline enqueue mail >/dev/null
  case $kind in
    sqlite)
      export CHECK=write_lock
      mkfifo hold
      start sh -c 'exec sqlite3 "$DB" <>hold'
      export PID=$started_pid
      echo 'begin immediate;' >hold
      ;;
    postgres)
      export CHECK=autovacuum
      psql -qX "$FENCELINE_STORE" -c 'alter system set autovacuum = off' -c 'select pg_reload_conf()' >/dev/null
      ;;
    redis)
      export CHECK=memory
      redis-cli --no-auth-warning -u "$FENCELINE_STORE" CONFIG SET maxmemory 1000000 >/dev/null
      ;;
  esac
  until_so '! mended'
  shows '--json' 'bad'
  shows 'fuser' "${PID:-none}"
  shows 'pg_settings' 'autovacuum +\| off'
  shows 'CONFIG GET' '^1000000$'
}
mended() { { fenceline doctor --json || true; } | jq -e --arg check "$CHECK" '[.findings[] | select(.name == $check) | .status] | unique == ["ok"]' >/dev/null; }
