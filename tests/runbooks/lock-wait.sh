# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# The holder of a lock hangs under a long lease, and somebody waits for it.
fault() {
  export LOCK=deploy
  # shellcheck disable=SC2016 # the fence is known inside only
  start fenceline lock deploy --ttl 10m -- sh -c 'echo "$FENCELINE_FENCE" >fence; exec sleep 600'
  until_so '[ -s fence ]'
  FENCE=$(cat fence)
  export FENCE
  start fenceline lock deploy --wait 10m -- touch granted
  until_so '[ "$(fenceline locks show deploy --json | jq .waiters_count)" -eq 1 ]'
  shows 'locks list' 'deploy\s+held'
  shows 'locks show' "$FENCE"
  shows 'as waiters' 'deploy.*1'
  shows 'as granted' "deploy.*$FENCE"
  shows 'ZCARD' '^1$'
  shows 'HKEYS' "$FENCE"
}
mended() { [ -e granted ]; }
