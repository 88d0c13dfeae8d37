# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# Three workers in a row are killed with the same job in their hands.
fault() {
  export QUEUE=mail
  JOB=$(fenceline enqueue mail)
  export JOB
  lose_worker
  lose_worker
  lose_worker
  # A claim finds it lost for the third time; it runs, alone.
  start fenceline work mail --ttl 30s -- ./hang
  until_so '[ "$(wc -l <running)" -eq 4 ]'
  shows 'jobs --all' "mail.$JOB.3"
  shows 'sqlite3' "${JOB//-/}.3"
  shows 'psql' "mail .*$JOB .* 3"
  shows 'alone_leases' '^1$'
  finds poison_jobs
}
mended() { [ "$(fenceline job show "$JOB" --json | jq -r .state)" = cancelled ]; }
