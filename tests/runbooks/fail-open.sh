# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# Work that goes on without its lock, as its store cannot be reached.
fault() {
  export LOCK=report CLASS=bold HANDLER=true LOG=$folder/lock.log
  printf '[lock.bold]\nwait = "1s"\non_acquire_error = "open"\n' >fenceline.toml
  FENCELINE_LOG=warn FENCELINE_STORE=redis://127.0.0.1:1 fenceline lock report --class bold -- touch did-it 2>"$LOG"
  [ -e did-it ] || fail 'the work was not done'
  fenceline migrate >/dev/null 2>&1
  shows 'grep lock_failed_open' 'report'
  shows 'config show' 'lock.bold.on_acquire_error\s+open'
}
mended() { fenceline locks show report >/dev/null 2>&1; }
