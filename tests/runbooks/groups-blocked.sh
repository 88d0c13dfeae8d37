# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# The head of a group waits because of an effect that nobody knows of; one is behind it.
fault() {
  export QUEUE=mail HANDLER=true EFFECT=charge
  JOB=$(fenceline enqueue mail --group ana)
  NEXT=$(fenceline enqueue mail --group ana)
  export JOB NEXT
  fenceline work mail --drain -- fenceline effect charge -- false >processes.log 2>&1
  until_so '[ "$(count_of waiting)" -eq 1 ]'
  shows '--state waiting' "$JOB"
  shows 'job explain' "$JOB"
  shows 'sqlite3' "ana.${JOB//-/}.1"
  shows 'psql' "ana .*$JOB .* 1"
  shows 'HGET' '^1$'
  shows '--scan' 'ana'
  finds groups_blocked
}
mended() { [ "$(count_of 'done')" -eq 2 ]; }
