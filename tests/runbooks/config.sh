# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker whose leases live for a second.
fault() {
  export QUEUE=mail HANDLER=true
  fenceline migrate >/dev/null 2>&1
  start fenceline work mail --ttl 1s -- true
  export PID=$started_pid
  until_so '! mended'
  shows 'workers list' "$PID.1000.mail"
  shows 'sqlite3' "\|$PID\|mail\|1000$"
  shows 'psql' " $PID "
  shows 'PING' PONG
  finds config
}
mended() { fenceline workers list --json | jq -e '[.workers[] | select(.ttl_ms < 3000)] == []' >/dev/null; }
