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

# shifted_clock OFFSET FOLDER: a library in FOLDER, and beside it the file `clock` that says by how much the clock of a process that preloads it is off; whoever replaces
# that file sets the clock. Sets `clock_env`, the environment of such a process, and exports FENCELINE_TEST_CLOCK, the file.
shifted_clock() {
  local library root unit
  [[ $1 =~ ^([+-])([0-9]{1,4})([smh])$ ]] || give_up "--clock '$1' is not an offset; write +1h or -1h" 64
  case ${BASH_REMATCH[3]} in s) unit=1 ;; m) unit=60 ;; *) unit=3600 ;; esac
  echo "${BASH_REMATCH[1]}$((BASH_REMATCH[2] * unit))" >"$2/clock" && chmod 644 "$2/clock" || exit 70
  root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
  library=$root/build/shifted_clock-$(sha256sum <"$root/tests/support/shifted_clock.cpp" | cut -c 1-16).so
  if ! [ -r "$library" ]; then
    mkdir -p "$root/build" && ${CXX:-c++} -std=c++20 -O2 -shared -fPIC -o "$library.$$" "$root/tests/support/shifted_clock.cpp" && mv "$library.$$" "$library" || exit 70
  fi
  cp "$library" "$2/clock.so" && chmod 755 "$2/clock.so" || exit 70 # where another user may read it
  export FENCELINE_TEST_CLOCK=$2/clock
  # shellcheck disable=SC2034 # for who calls this
  clock_env=("LD_PRELOAD=$2/clock.so" "FENCELINE_CLOCK_FILE=$2/clock")
}
