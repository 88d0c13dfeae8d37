# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker is killed with a job in its hands, and another one takes it over and is at it.
fault() {
  export QUEUE=mail
  JOB=$(fenceline enqueue mail)
  export JOB
  lose_worker
  start fenceline work mail --ttl 30s -- ./hang
  until_so '[ "$(wc -l <running)" -eq 2 ]'
  shows 'job show' 'lost'
  shows 'workers list' 'gone'
  shows 'sqlite3' '\|1\|'
  shows 'psql' "$JOB +\| +1"
  shows 'HLEN' '^1$'
  finds orphans
}
mended() { [ "$(fenceline job show "$JOB" --json | jq -r .state)" = cancelled ]; }
