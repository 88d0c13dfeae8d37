# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker is stopped past its lease, and another one has its job.
fault() {
  hang
  JOB=$(fenceline enqueue mail)
  export JOB
  start fenceline work mail --ttl 1s -- ./hang
  export PID=$started_pid
  until_so "fenceline workers list --json | jq -e '[.workers[].holding[]?.job] | index(\"$JOB\") != null' >/dev/null"
  kill -STOP "$PID"
  start fenceline work mail --ttl 30s -- ./hang
  until_so '[ "$(wc -l <running)" -eq 2 ]'
  until_so "! mended"
  shows 'workers list' "\"pid\":$PID,\"gone\":true.*$JOB"
  shows 'job show' 'running'
  shows 'from run r' '[0-9]+\|'
  shows 'from worker' "\|$PID\|"
  shows 'as believes' " $PID .*$JOB"
  shows 'ps -o' ' T'
  finds beliefs
}
mended() { fenceline workers list --json | jq -e '[.workers[] | select(.gone)] == []' >/dev/null; }
