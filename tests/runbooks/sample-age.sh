# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # conditions are asked again and again; what run has set, and reads
# Somebody locks a table of the schema; or the server hangs.
stores="postgres redis"
fault() {
  local address
  FENCELINE_LOG=info start fenceline work mail --metrics 127.0.0.1:0 -- true
  until_so 'grep -q metrics_listening processes.log'
  address=$(grep -o '"event":"metrics_listening".*' processes.log | grep -o '127.0.0.1:[0-9]*')
  export METRICS=$address
  until_so 'mended'
  if [ "$kind" = postgres ]; then
    mkfifo hold
    start sh -c 'exec psql -qAtX "$FENCELINE_STORE" <>hold'
    echo 'begin; lock table fenceline.job; select pg_backend_pid();' >hold
    until_so 'tail -n 1 processes.log | grep -qE "^[0-9]+$"'
    PID=$(tail -n 1 processes.log)
  else
    PID=$(cat "$FENCELINE_TEST_REDIS_FOLDER/redis.pid")
    kill -STOP "$PID"
  fi
  export PID
  until_so '! mended'
  shows 'curl' 'fenceline_sample_age_seconds [0-9.]+'
  shows 'pg_locks' " $PID .*job"
  shows 'ps -o' ' T'
}
# A scrape looks again when the last look is a second old: old gauges are those of a look that did not come back.
mended() { curl -sS "http://$METRICS/metrics" | awk '$1 == "fenceline_sample_age_seconds" { age = $2 } END { exit !(age < 3) }'; }
