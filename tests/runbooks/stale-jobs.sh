# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# The only worker is killed with a job in its hands, and nobody takes it over.
fault() {
  export QUEUE=mail HANDLER=true
  JOB=$(fenceline enqueue mail)
  export JOB
  lose_worker
  shows 'jobs --state running' "mail.$JOB"
  shows 'sqlite3' 'mail.*1$'
  shows 'psql' ' mail .* 1$'
  shows 'redis-cli' '^1$'
  shows 'workers list' 'gone'
  finds stale_jobs
}
mended() { [ "$(count_of running)" -eq 0 ]; }
