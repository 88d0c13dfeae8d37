# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A person holds an item of a pipeline.
fault() {
  export PIPELINE=mail
  printf '[pipeline]\nname = "mail"\nstages = ["write", "review"]\n' >mail.toml
  fenceline pipeline apply mail.toml >/dev/null 2>&1
  JOB=$(fenceline enqueue mail)
  export JOB
  fenceline stage hold "$JOB" --reason 'ask legal' >/dev/null
  shows 'board' 'on_hold'
  shows 'job explain' 'ask legal'
  shows 'sqlite3' "${JOB//-/}"
  shows 'psql' "$JOB"
  shows 'redis-cli' '^1$'
  finds items_on_hold
}
mended() { ! fenceline job explain "$JOB" | grep -q 'ask legal\|a drill'; }
