# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A queue is paused, and its jobs wait.
fault() {
  export QUEUE=mail HANDLER=true
  JOB=$(fenceline enqueue mail)
  export JOB
  fenceline queue pause mail --reason 'the mail server moves' >/dev/null
  shows 'queue list' 'mail'
  shows 'job explain' 'the mail server moves'
  shows 'sqlite3' 'mail\|1\|0\|.*the mail server moves'
  shows 'psql' 'mail .* 1 .* 0 .*the mail server moves'
  shows 'LLEN' '^1$'
  shows 'HKEYS' '^mail$'
}
mended() { [ "$(count_of ready)" -eq 0 ]; }
