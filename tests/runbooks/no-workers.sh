# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A job waits, and there is nobody.
fault() {
  export QUEUE=mail HANDLER=true
  fenceline enqueue mail >/dev/null
  shows 'queue list' 'mail'
  shows 'from queue' 'mail\|1\|0'
  shows 'from worker' '^0\|'
  shows 'psql' '^ +0 '
  shows 'redis-cli' '^0$'
}
mended() { [ "$(count_of 'done')" -eq 1 ]; }
