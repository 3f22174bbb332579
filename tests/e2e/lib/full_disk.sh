#!/bin/sh
# The part of disk_full.sh that mounts: runs in a mount namespace of its own, so that nothing outlives it.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/no_room.sh

# full KILOBYTES: $T/disk is a file system with the input, that much room, and a filler to delete
full() {
    mount -t tmpfs -o size=32m none "$T/disk"
    cp -R "$T/in" "$T/disk/in"
    room=$(df -Pk "$T/disk" | awk 'NR == 2 { print $4 }')
    head -c "$((room - $1))k" /dev/zero >"$T/disk/filler"
}

for kilobytes in 0 8 64 200; do
    full $kilobytes
    got=0
    pipescope -m pp_chart -d "$T/disk/in" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ $got != 0 ] || fail "no word about $kilobytes kilobytes of room"
    grep -q 'full\|I/O' "$T/stderr" || fail "does not tell why: $(cat "$T/stderr")"
    rm "$T/disk/filler"
    either "$T/disk/in" $got
    run 0 -m pp_chart -d "$T/disk/in"
    same_dump "$T/disk/in" "$T/after.sql"
    umount "$T/disk"
done

# Copies are measured before the first is made.
full 1000
run 1 -m pp_chart -d "$T/disk/in" -o "$T/disk/copies"
says 'the copies need'
says 'nothing was written'
[ -z "$(find "$T/disk/copies" -type f)" ]
umount "$T/disk"

# Tables of the cluster: none of them is there half, and no empty database.
for kilobytes in 0 8 64; do
    mount -t tmpfs -o size=32m none "$T/disk"
    room=$(df -Pk "$T/disk" | awk 'NR == 2 { print $4 }')
    head -c "$((room - kilobytes))k" /dev/zero >"$T/disk/filler"
    run 1 -m all -d "$T/in" -o "$T/disk/out"
    says 'cluster_analysis.db'
    says 'full'
    left=$(find "$T/disk" -type f ! -name filler)
    [ -z "$left" ] || fail "left on a full disk: $left"
    run 1 report "$T/in" -o "$T/disk/report.html"
    says 'report.html'
    [ ! -e "$T/disk/report.html" ] || fail "half a report on a full disk"
    umount "$T/disk"
done
