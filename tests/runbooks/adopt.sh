# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# An application with three scripts that take locks of their own, and a Prometheus without rules.
fault() {
  local one
  mkdir app
  for one in report publish close; do
    printf '#!/bin/sh\n# was: flock /var/lock/%s\necho total 12\n' $one >app/$one
    chmod +x app/$one
    printf '[lock.%s]\npattern = "fenced"\nwait = "10s"\n' $one >>fenceline.toml
  done
  [ "$kind" = sqlite ] || export FENCELINE_GATES=$folder/gates
  export PROMETHEUS=$folder/prometheus
  mkdir -p "$PROMETHEUS/rules"
  printf 'rule_files: [rules/*.rules.yml]\nscrape_configs:\n  - job_name: fenceline\n    static_configs: [{targets: ["127.0.0.1:9464"]}]\n' >"$PROMETHEUS/prometheus.yml"
  ln -s "$project/ops" ops
  fenceline migrate >/dev/null 2>&1
  case $kind in
    postgres) psql -qX "$FENCELINE_STORE" -c 'create table ledger (id int)' ;;
    redis) redis-cli --no-auth-warning -u "$FENCELINE_STORE" SET nightly-lock me >/dev/null ;;
  esac
  shows 'grep -rnE' 'flock'
  shows '--scan' 'nightly-lock'
  shows 'locks list' 'report'
  shows 'check config' 'rules? found'
}
mended() {
  [ -s report.csv ] && [ -s "$PROMETHEUS/rules/fenceline.rules.yml" ] &&
    [ "$(fenceline locks list --all --json | jq '[.locks[] | select(.at_gate != "never")] | length')" -eq 3 ]
}
