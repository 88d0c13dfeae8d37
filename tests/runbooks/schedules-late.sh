# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A schedule that ticks each second, and nobody who fires it.
fault() {
  export SCHEDULE=beat QUEUE=beats HANDLER=true
  fenceline schedule add beat --every 1s --queue beats >/dev/null 2>&1
  shows 'schedule list' 'beat'
  shows 'sqlite3' '^beat\|'
  shows 'psql' ' beat '
  shows 'redis-cli' '^beat$'
}
mended() { fenceline schedule history beat --json | jq -e '.ticks != []' >/dev/null; }
