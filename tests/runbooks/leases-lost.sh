# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker is stopped past its lease.
fault() {
  hang
  JOB=$(fenceline enqueue mail)
  export JOB
  start fenceline work mail --ttl 1s -- ./hang
  export PID=$started_pid
  until_so '[ -e running ]'
  kill -STOP "$PID"
  until_so '! mended'
  shows 'sqlite3' "\|$PID\|"
  shows 'psql' 'active'
  shows 'commandstats' 'calls='
  shows 'ps -o' ' T'
}
mended() { fenceline job show "$JOB" --json | jq -e '.lease_left_ms > 0' >/dev/null; }
