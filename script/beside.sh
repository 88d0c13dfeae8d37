# shellcheck shell=bash
# What the scripts that run a command beside a server of its own share. Descriptor 9 is theirs.

# keep_clean FOLDER: whatever happens to the script, SIGKILL included, someone outside its family of processes sees the pipe close, kills every process that
# stands in FOLDER (servers, or what is about to become one) and removes it.
keep_clean() {
  kept_clean=$1
  mkfifo "$1/alive" || exit 70
  exec 9<>"$1/alive"
  local cleaner
  cleaner=$(
    cat <<'CLEANER'
trap '' INT TERM HUP
cat >/dev/null
folder=$1
cd /
# A second look finds what was just being started.
for _ in 1 2; do
  for process in /proc/[0-9]*; do
    case $(readlink "$process/cwd") in "$folder" | "$folder"/*) kill -KILL "${process#/proc/}" ;; esac
  done
done
rm -rf "$folder"
CLEANER
  )
  (setsid bash -c "$cleaner" cleaner "$1" <"$1/alive" >/dev/null 2>&1 9>&- &)
  trap cleaned_up EXIT
}
# shellcheck disable=SC2317 # called by the trap
cleaned_up() {
  exec 9>&-
  for _ in {1..500}; do
    [ -d "$kept_clean" ] || return
    sleep 0.02
  done
  echo "$0: $kept_clean could not be removed within 10 s" >&2
}

# run_beside COMMAND [ARGUMENT...]: the command stands in the background so that a signal can be passed on while it runs; what that changes for it is undone.
# Ends with its status.
run_beside() {
  env --default-signal=INT,QUIT "$@" <&0 9>&- &
  command=$!
  trap 'kill -TERM $command 2>/dev/null' TERM HUP
  # At a terminal Ctrl-C has reached the command already.
  trap '[ -t 0 ] || kill -INT $command 2>/dev/null' INT
  wait $command
  status=$?
  while kill -0 $command 2>/dev/null; do
    wait $command
    status=$?
  done
  exit $status
}
