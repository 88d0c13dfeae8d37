# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# The holder of a lock is killed, and nobody wants the lock.
fault() {
  export LOCK=deploy HANDLER=true
  # shellcheck disable=SC2016 # the fence is known inside only
  start fenceline lock deploy --ttl 1s -- sh -c 'echo "$FENCELINE_FENCE" >fence; exec sleep 600'
  until_so '[ -s fence ]'
  kill -KILL "$started_pid"
  until_so '[ "$(fenceline locks show deploy --json | jq -r .state)" = expired ]'
  shows 'locks list' "deploy.$(cat fence)"
  shows 'locks show' 'expired'
  shows 'sqlite3' "deploy.$(cat fence)"
  shows 'psql' "deploy .*$(cat fence)"
  shows 'HGETALL' "$(cat fence)"
  finds lock_debt
}
mended() { [ "$(fenceline locks list --json | jq '[.locks[] | select(.state == "expired")] | length')" -eq 0 ]; }
