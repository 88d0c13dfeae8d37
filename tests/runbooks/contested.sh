# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # conditions are asked again and again; what run has set, and reads
# A bot moves an issue against the workers, again and again.
stores=github
fault() {
  export PIPELINE=docs FILE=docs.toml REPOSITORY=$FENCELINE_TEST_GITHUB_REPOSITORY TOKEN_OF_WORKERS=$FENCELINE_TEST_GITHUB_FOLDER/token.worker
  a_pipeline_on_github
  ITEM=$(as ana POST issues '{"title":"a page","labels":["stage:ready"]}' | jq .number)
  export ITEM
  until_so fight
  next_second
  shows 'board' 'contested'
  shows 'labels=contested' 'a page'
  shows '/events' 'eve.*labeled.*stage:review'
  finds contested
}
# One move, which is put back. The tracker tells moments by the second: two within one are one.
fight() {
  as eve DELETE "issues/$ITEM/labels/stage:ready" >/dev/null
  as eve POST "issues/$ITEM/labels" '{"labels":["stage:review"]}' >/dev/null
  FENCELINE_GITHUB_TOKEN_FILE=$FENCELINE_TEST_GITHUB_FOLDER/token.worker fenceline tracker sweep --pipeline docs.toml >>processes.log 2>&1
  ! mended
}
# The label goes a little later: what counts is what is written down.
mended() { ! fenceline board docs --pipeline docs.toml | grep -q contested; }
