#!/bin/sh
# The part of record_process.sh that mounts: runs in a mount namespace of its own, so that nothing outlives it.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/recorded.sh
PIPESCOPE_RING_SLOTS=4096
export PIPESCOPE_RING_SLOTS

# lost: how many events the metadata say were lost because rings were full.
lost() {
    sql "$(databases "$1")" "SELECT coalesce(json_extract(value, '\$.ring_full'), 0) FROM META_DATA WHERE name = 'collector.drops'"
}

# counted FOLDER RANGES: each of so many ranges is a row, is one whose end found no room any more, or is counted as lost.
counted() {
    rows=$(sql "$(databases "$1")" 'SELECT count(*) FROM MSTX_EVENTS')
    open=$(sql "$(databases "$1")" 'SELECT count(*) FROM PIPESCOPE_OPEN_RANGES')
    [ $((rows + open + $(lost "$1"))) = "$2" ] || fail "$rows ranges, $open open ones and $(lost "$1") lost are not $2"
}

# It fills up: the program goes on and is told once; raw files stay; with room there is a database of all that was written, and
# what is missing has been counted.
mount -t tmpfs -o size=2m none "$T/disk"
control disk start slowly 100000
says 'cannot write the raw file'
[ "$(grep -c 'cannot write the raw' "$T/stderr")" = 1 ] || fail "said more than once: $(cat "$T/stderr")"
says 'the raw files stay'
[ -n "$(find "$T/disk" -name events.spool)" ] || fail 'the raw files are gone'
mount -o remount,size=64m "$T/disk"
run 0 record --recover "$T/disk"
counted "$T/disk" 100000
[ "$rows" -gt 5000 ] || fail "only $rows ranges"
[ "$rows" -lt 100000 ] || fail 'the disk was not full'
umount "$T/disk"

# What found no room waits in memory: all of it is there when the database goes to another disk. (A ring that holds all of it loses nothing
# however late its writer comes.)
mount -t tmpfs -o size=19m none "$T/disk"
PIPESCOPE_MAX_BYTES=4G PIPESCOPE_RING_SLOTS=262144 control disk start slowly 100000 stop exportto "$T/elsewhere" stats
said 'start 0 stop 0 export 0 ranges 100000 lost 0 safe 1'
says 'events are kept in memory meanwhile'
says 'they are in memory until they are exported'
recorded elsewhere 100000
umount "$T/disk"

# That memory has an end, too. (With rings that hold more than the program writes between two pauses: what they lose on a busy machine never
# comes to that memory, and would leave room in it.)
mount -t tmpfs -o size=2m none "$T/disk"
PIPESCOPE_MAX_BYTES=16M control disk start slowly 500000 stop exportto "$T/little" stats
says 'the memory for events is used up'
counted "$T/little" 500000
[ "$rows" -gt 20000 ] || fail "only $rows ranges"
umount "$T/disk"

# There is room again after a while: all is written.
mount -t tmpfs -o size=12m none "$T/disk"
head -c 7m /dev/zero >"$T/disk/filler"
(
    sleep 1
    rm "$T/disk/filler"
) &
PIPESCOPE_RING_SLOTS=65536 control disk start slowly 30000 sleep 2500 range 1000 stats
wait
says 'cannot write the raw file'
rows=$(sql "$(databases "$T/disk")" 'SELECT count(*) FROM MSTX_EVENTS')
[ "$rows" = 31000 ] || fail "$rows ranges and $(lost "$T/disk") lost are not 31000"
[ -z "$(find "$T/disk" -name FRAMEWORK)" ] || fail 'raw files are left'
umount "$T/disk"

# Not even the rings fit: nothing but memory then.
mount -t tmpfs -o size=64k none "$T/disk"
control disk start range 1000 stop export stats
said 'start 0 stop 0 export -3 ranges 1000 lost 0 safe 0'
says 'bytes are free'
[ -z "$(find "$T/disk" -mindepth 1)" ] || fail "left behind: $(find "$T/disk")"
umount "$T/disk"

# The same under `pipescope record`: what has no place at all is a failure with its reason; where a part has one, that part is kept and
# said to be one.
mount -t tmpfs -o size=64k none "$T/disk"
run 1 record -o "$T/disk" -- "$PIPESCOPE_PROGRAMS/record_control" start range 1000
says 'what was recorded is in memory only: make room, or name another disk'
says 'all that a process recorded is lost, it was in memory only: process '
says 'pipescope: make room there, or record to another disk'
! grep -q 'nothing was recorded' "$T/stderr" || fail "$(cat "$T/stderr")"
umount "$T/disk"

mount -t tmpfs -o size=512k none "$T/disk"
run 4 record -o "$T/disk" -- "$PIPESCOPE_PROGRAMS/record_control" start slowly 20000
says ' no_room)'
says 'only a first part was kept, for want of room on the disk'
rows=$(sql "$(databases "$T/disk")" 'SELECT count(*) FROM MSTX_EVENTS')
missing=$(sql "$(databases "$T/disk")" 'SELECT sum(count) FROM PIPESCOPE_DROPS')
[ "$rows" -gt 500 ] || fail "only $rows ranges"
[ $((rows + missing)) = 20000 ] || fail "$rows ranges and $missing left out are not 20000"
umount "$T/disk"

# A limit of the option is said in the same way.
run 4 record -o "$T/limited" --max_disk 1M -- "$PIPESCOPE_PROGRAMS/record_control" start slowly 100000
says ' max_disk: '
says 'only a first part was kept'

# A file system that is read-only.
mount -t tmpfs -o size=1m none "$T/disk"
mount -o remount,ro "$T/disk"
control disk start range 1000 stop export stats
said 'start 0 stop 0 export -3 ranges 1000 lost 0 safe 0'
says 'events are kept in memory'
umount "$T/disk"
