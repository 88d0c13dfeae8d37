# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A worker is killed inside an effect; the next delivery meets the intent.
fault() {
  export QUEUE=mail EFFECT=charge
  cat >hang <<'HANDLER'
#!/bin/sh
exec fenceline effect charge -- sh -c 'echo once >>running; exec sleep 600'
HANDLER
  chmod +x hang
  JOB=$(fenceline enqueue mail)
  export JOB
  lose_worker
  fenceline work mail --drain -- ./hang >processes.log 2>&1
  until_so '[ "$(count_of waiting)" -eq 1 ]'
  shows 'effects list' "$JOB.*charge"
  shows 'job explain' 'effects resolve'
  shows 'sqlite3' "${JOB//-/}.charge.1"
  shows 'psql' "$JOB.*charge.*t "
  shows 'ZCARD' '^1$'
  finds effects_in_doubt
}
mended() { [ "$(fenceline effects list --in-doubt --json | jq '.effects | length')" -eq 0 ]; }
