#!/bin/sh
# The library in programs of all kinds: loaded late and unloaded, recording begun by the option and by the program, windows,
# folders that cannot be written to, a disk that is full.
# threads: forks, unloading and windows beside the writer
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/recorded.sh
control=${PIPESCOPE_PROGRAMS-none}/record_control
[ -x "$control" ] || skip 'no recorder in this build'
forget_options

# The program loads the library from a thread, late, and unloads it.
PIPESCOPE_OUTPUT_DIR=$T/late "$PIPESCOPE_PROGRAMS/record_loader" "$PIPESCOPE_RECORD_LIBRARY" 2>"$T/stderr" ||
    fail "loaded late: $(cat "$T/stderr")"
recorded late 300

# First events of threads in handlers that interrupted malloc: nothing calls it there, nothing is lost.
status=0
PIPESCOPE_OUTPUT_DIR=$T/handler "$PIPESCOPE_PROGRAMS/record_handler" "$PIPESCOPE_RECORD_LIBRARY" >"$T/stdout" 2>"$T/stderr" || status=$?
if [ $status != 77 ]; then
    [ $status = 0 ] || fail "handlers: exit $status: $(cat "$T/stderr")"
    said 'malloc 0 marks 309 ranges 16 lost 0 rings used again'
    recorded handler 325
fi

# The option alone: no word of the program's; one line that says where.
PIPESCOPE_RECORD=1 control auto range 4
recorded auto 4
says '4 ranges, 0 marks recorded in'
[ "$(wc -l <"$T/stderr")" = 1 ] || fail "more than one line: $(cat "$T/stderr")"
PIPESCOPE_RECORD=1 PIPESCOPE_QUIET=1 control quiet range 4
recorded quiet 4
[ ! -s "$T/stderr" ] || fail "quiet, but said: $(cat "$T/stderr")"
PIPESCOPE_RECORD=1 control nothing range 0
recorded nothing
PIPESCOPE_RECORD=0 control off range 4
recorded off

# The program takes control: what ran before is a recording of its own, when there was anything.
PIPESCOPE_RECORD=1 control taken range 5 start range 7 stop range 3
said 'start 0 stop 0'
recorded taken 5 7
says 'the program starts a recording itself'
PIPESCOPE_RECORD=1 control taken_empty start range 7 stop export
said 'start 0 stop 0 export 0'
recorded taken_empty 7
PIPESCOPE_RECORD=1 control taken_stop range 6 stop range 2 export start range 1
said 'stop 0 export 0 start 0'
recorded taken_stop 1 6

# A window by the environment, with and without steps.
PIPESCOPE_RECORD=1 PIPESCOPE_WINDOW=1:3 control window range 1 step 0 range 1 step 1 range 2 step 2 range 3 step 3 range 9
recorded window 7 # with the two steps
PIPESCOPE_WINDOW=1:3 control no_steps start range 3 stop
recorded no_steps
says 'the program has no steps'
PIPESCOPE_WINDOW=10:30 control no_step start step 1 range 3 stop
recorded no_step
says 'no step of the window began'

# Options that make no sense are named, and the program goes on.
PIPESCOPE_BACKEND=gpu PIPESCOPE_LEVEL=9 control options start range 1
recorded options 1
says 'PIPESCOPE_BACKEND'
says 'PIPESCOPE_LEVEL'

# A folder that cannot be made: memory, a code, one line; status 0.
: >"$T/file"
control file/below start range 10 stop export stats
said 'start 0 stop 0 export -3 ranges 10 lost 0 safe 0'
says 'events are kept in memory'
says "$T/file"
mkdir "$T/closed"
chmod 555 "$T/closed"
if [ "$(id -u)" != 0 ]; then
    control closed start range 10 stop export
    said 'start 0 stop 0 export -3'
    recorded closed
fi

# A limit on the disk: new events are left out and counted as that, open ranges get their ends, and it is said.
PIPESCOPE_MAX_DISK=1M PIPESCOPE_KEEP_RAW=1 control limited start slowly 100000 stop export
said 'start 0 stop 0 export 0'
says 'what the option max_disk allows: new ranges'
says 'events lost ('
says ' max_disk'
database=$(databases "$T/limited")
[ "$(sql "$database" 'SELECT count(*) BETWEEN 5000 AND 20000 FROM MSTX_EVENTS')" = 1 ] || fail 'not as much as the limit allows'
[ "$(sql "$database" 'SELECT count(*) FROM PIPESCOPE_OPEN_RANGES')" = 0 ] || fail 'ranges without their ends'
[ "$(sql "$database" "SELECT sum(count) > 50000 FROM PIPESCOPE_DROPS WHERE kind = 'max_disk'")" = 1 ] || fail 'not counted'
[ "$(wc -c <"$(find "$T/limited" -name events.spool)")" -le 1048576 ] || fail 'the raw file is larger than it may be'
PIPESCOPE_MAX_DISK=0 control unlimited start slowly 20000 stop export
recorded unlimited 20000

# What waits for its export goes into the log of its own folder.
[ -s "$(find "$T/auto" -path '*/logs/recorder.log')" ] || fail 'no log beside the database'

# A full disk, in a mount namespace of our own so that the mount ends with it.
mkdir "$T/disk"
for flags in -m -rm; do
    if unshare $flags mount -t tmpfs none "$T/disk" 2>"$T/log"; then
        break
    fi
    flags=''
done
[ -n "$flags" ] || skip "the full disk: no tmpfs may be mounted here ($(head -n 1 "$T/log")); the rest passed"
unshare "$flags" sh tests/e2e/lib/record_full_disk.sh
