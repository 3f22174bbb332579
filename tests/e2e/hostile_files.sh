#!/bin/sh
# Profiles made to do harm, or by someone with other files at the places where ours go: nothing outside of the profile
# and the output directory is written or deleted, nothing is replaced that was not ours, nothing hangs.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# quick STATUS ARGS...: a run that may not hang, and ends so
quick() {
    want=$1
    shift
    got=0
    timeout 20 pipescope "$@" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ $got = "$want" ] || fail "exit $got instead of $want: pipescope $*: $(cat "$T/stderr")"
}

# A rollback journal that ends with the name of a file, which libsqlite3 would delete after rolling back.
sample "$T/in" 0
path=$(database "$T/in" 0)
echo mine >"$T/mine"
python3 - "$path" "$T/mine" <<'PY'
import struct, sys
name = sys.argv[2].encode()
magic = bytes.fromhex("d9d505f920a163d7")
head = magic + struct.pack(">IIIII", 0, 1, 1000, 512, 4096)
end = struct.pack(">I", 0) + name + struct.pack(">II", len(name), sum(name)) + magic
open(sys.argv[1] + "-journal", "wb").write(head.ljust(512, b"\0") + end)
PY
cp "$path-journal" "$T/journal"
cp "$path" "$T/database"
quick 0 info "$T/in"
[ -e "$T/mine" ] || fail 'info deleted the file that the journal names'
cmp "$path-journal" "$T/journal"
quick 1 -m pp_chart -d "$T/in"
says 'move the journal away'
[ -e "$T/mine" ] || fail 'pp_chart deleted the file that the journal names'
cmp "$path-journal" "$T/journal"
cmp "$path" "$T/database"

# Views without a last row in place of tables; the chart does not look for devices.
for table in META_DATA NPU_INFO TASK; do
    rm -rf "$T/in"
    sample "$T/in" 0
    sql "$(database "$T/in" 0)" "DROP TABLE IF EXISTS $table; CREATE VIEW $table AS
        WITH RECURSIVE n(name) AS (SELECT 'a' UNION ALL SELECT name FROM n)
        SELECT name, name AS value, name AS startNs, name AS endNs FROM n"
    quick 1 info "$T/in"
    says "$table is a view or a virtual table, and only tables are read"
    quick "$([ $table = NPU_INFO ] && echo 0 || echo 1)" -m pp_chart -d "$T/in"
done
says 'TASK is a view or a virtual table, and only tables are read'

# Pipes in place of the profiler's JSON files.
rm -rf "$T/in"
sample "$T/in"
for name in profiler_info_0.json profiler_metadata.json; do
    rm "$T"/in/node0_1000*/$name
    mkfifo "$(echo "$T"/in/node0_1000*)/$name"
done
quick 0 info "$T/in"
quick 0 -m pp_chart -d "$T/in" -o "$T/pipes"

# A pipe in place of a journal.
mkfifo "$(database "$T/in" 2)-journal"
quick 4 info "$T/in"
quick 4 -m pp_chart -d "$T/in"

# One database and -o: its sidecars would lie outside of it.
rm -rf "$T/in"
sample "$T/in"
mkdir -p "$T/outer/middle"
run 0 -m pp_chart -d "$(database "$T/in" 0)" -o "$T/outer/middle/out"
[ "$(cd "$T/outer" && find . -type f)" = ./middle/out/ascend_pytorch_profiler_0.db ] || fail "$(find "$T/outer")"

# Sidecars of others are kept.
place=$T/kept/$(basename "$(echo "$T"/in/node0_1001*)")
mkdir -p "$place"
echo mine >"$place/profiler_metadata.json"
run 0 -m pp_chart -d "$T/in" -o "$T/kept"
[ "$(cat "$place/profiler_metadata.json")" = mine ]

# Names that steer the terminal.
sql "$(database "$T/in" 0)" "DROP TABLE IF EXISTS HOST_INFO; CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
    INSERT INTO HOST_INFO VALUES ('1', 'a' || char(27) || '[31mred');
    INSERT INTO META_DATA VALUES ('pp_info', 'b' || char(27) || ']0;title' || char(7))"
run 0 info "$T/in"
says_out 'a [31mred'
if grep -q "$(printf '\033')" "$T/stdout"; then
    fail 'info hands on escape sequences'
fi

# Times too far apart for a difference.
sql "$(database "$T/in" 0)" 'UPDATE TASK SET startNs = -9223372036854775807 WHERE rowid = 1;
    UPDATE TASK SET endNs = 9223372036854775807 WHERE rowid = 2'
quick 0 info "$T/in"
says '2 rows have a time that is missing, not a number or ends before it starts'
