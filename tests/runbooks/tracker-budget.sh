# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # conditions are asked again and again; what run has set, and reads
# A tracker that allows a few hundred requests an hour, and a worker that uses them up.
stores=github
fault() {
  export FILE=docs.toml REPOSITORY=$FENCELINE_TEST_GITHUB_REPOSITORY
  a_pipeline_on_github
  as ana POST issues '{"title":"a page","labels":["stage:ready"]}' >/dev/null
  start env FENCELINE_GITHUB_TOKEN_FILE="$FENCELINE_TEST_GITHUB_FOLDER/token.worker" fenceline work docs --pipeline docs.toml --stage ready --idempotent --expect 10m -- sleep 600
  export PID=$started_pid
  until_so '[ "$(left)" -lt 500 ]'
  shows 'ratelimit' '[Rr]emaining: [0-9]{1,3}.?$'
  shows 'fenceline doctor' 'tracker_budget.*warning'
}
left() { as ana GET issues -D - -o answer | tr -d '\r' | awk -F ': ' 'tolower($1) == "x-ratelimit-remaining" { print $2 }'; }
mended() { ! kill -0 "$PID" 2>/dev/null; }
