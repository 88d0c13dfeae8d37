# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker is killed.
fault() {
  fenceline enqueue mail >/dev/null
  lose_worker
  WORKER=$(fenceline workers list --json | jq -r '.workers[0].owner')
  export WORKER
  shows 'workers list' 'gone'
  shows 'sqlite3' "$started_pid.*$WORKER"
  shows 'psql' "$WORKER.* $started_pid "
  shows 'redis-cli' "^$WORKER$"
  finds workers_gone
}
mended() { fenceline workers list --json | jq -e '.workers == []' >/dev/null; }
