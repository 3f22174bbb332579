#!/bin/sh
# No room while writing: reported, exit 1 or 4, and every database is as before or complete.
# threads: writers that fail beside others
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/no_room.sh

pipescope simulate 1f1b --pp 2 --microbatches 256 --steps 4 --profile "$T/in" >"$T/log"
cp -R "$T/in" "$T/done"
run 0 -m pp_chart -d "$T/done"
dump "$T/in" >"$T/before.sql"
dump "$T/done" >"$T/after.sql"

# A limit on file sizes that the results of both, of one or of none fit into.
size=$(wc -c <"$(database "$T/in" 0)")
after=$(wc -c <"$(database "$T/done" 0)")
[ "$after" -gt $((size + 65536)) ]
for limit in "$size" $((size + 16384)) $(((size + after) / 2)) $((after + 65536)); do
    rm -rf "$T/limited"
    cp -R "$T/in" "$T/limited"
    got=0
    (
        trap '' XFSZ
        ulimit -f $((limit / 512))
        exec pipescope -m pp_chart -d "$T/limited" >"$T/stdout" 2>"$T/stderr"
    ) || got=$?
    [ "$limit" -gt "$after" ] || [ $got != 0 ] || fail "no word about the limit of $limit bytes"
    either "$T/limited" $got
done
[ $got = 0 ]

# Copies: checked before the first is written, or none is left half done.
got=0
(
    trap '' XFSZ
    ulimit -f $((size / 512))
    exec pipescope -m pp_chart -d "$T/in" -o "$T/copies" >"$T/stdout" 2>"$T/stderr"
) || got=$?
[ $got = 1 ] || fail "exit $got: $(cat "$T/stderr")"
[ -z "$(find "$T/copies" -type f -name '*.db*')" ] || fail "half a copy: $(find "$T/copies" -type f)"
same_dump "$T/in" "$T/before.sql"

# A full file system, in a mount namespace of our own so that the mount ends with it.
mkdir "$T/disk"
for flags in -m -rm; do
    if unshare $flags mount -t tmpfs none "$T/disk" 2>"$T/log"; then
        break
    fi
    flags=''
done
[ -n "$flags" ] || skip "the full file system: no tmpfs may be mounted here ($(head -n 1 "$T/log")); the rest passed"
unshare "$flags" sh tests/e2e/lib/full_disk.sh
