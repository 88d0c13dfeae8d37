# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A handler that says of two jobs that they can never be done.
fault() {
  export QUEUE=mail HANDLER=true
  JOB=$(fenceline enqueue mail)
  export JOB
  fenceline enqueue mail >/dev/null
  fenceline work mail --drain -- sh -c 'echo "no such address"; echo "no such address" >&2; exit 65' >processes.log 2>&1
  until_so '[ "$(count_of dead)" -eq 2 ]'
  shows 'dead list   #' '2.*mail.*no such address'
  shows 'dead list --each' "$JOB"
  shows 'job show' '65'
  shows 'from queue where' 'mail\|\|2'
  shows 'from done d' "${JOB//-/}"
  shows 'psql' "mail .*$JOB .* 65 "
  shows 'redis-cli' '^2$'
  finds dead_letters
}
mended() { [ "$(count_of dead)" -eq 0 ] && [ "$(count_of 'done')" -eq 2 ]; }
