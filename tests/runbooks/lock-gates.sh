# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# A lock that should be fenced guards nothing.
fault() {
  export LOCK=report CLASS=report HANDLER=true
  [ "$kind" = sqlite ] || export FENCELINE_GATES=$folder/gates
  printf '[lock.report]\npattern = "fenced"\n' >fenceline.toml
  fenceline lock report --class report -- true 2>/dev/null
  finds lock_gates
  shows 'locks list' '^report$'
  shows 'config show' 'lock.report.pattern\s+fenced'
  shows 'sqlite3' '^report\|'
  shows 'psql' ' report '
  shows 'redis-cli' '^report$'
}
mended() { fenceline locks list --json | jq -e '.locks[] | select(.resource == "report" and .at_gate != "never")' >/dev/null; }
