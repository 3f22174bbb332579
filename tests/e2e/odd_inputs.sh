#!/bin/sh
# Files and directories as people leave them: the good ranks are done, each bad one is named, nothing hangs.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/good"
run 0 -m pp_chart -d "$T/good" --rank_list 0,1
sql "$(database "$T/good" 0)" 'SELECT * FROM StepTaskInfo' >"$T/labels"

# bad HOW: rank 2 spoilt that way among good ranks
bad() {
    rm -rf "$T/in"
    sample "$T/in"
    path=$(database "$T/in" 2)
    case $1 in
        empty) : >"$path" ;;
        text) echo 'hello' >"$path" ;;
        short) printf 'SQLite format 3\0' >"$path" ;;
        zeros) head -c 8192 /dev/zero >"$path" ;;
        cut) head -c 50000 "$path" >"$T/cut" && cp "$T/cut" "$path" ;;
        noise)
            page=$(sql "$path" "SELECT rootpage FROM sqlite_master WHERE name = 'MSTX_EVENTS'")
            printf 'noise, noise, noise, noise' | dd of="$path" bs=1 seek=$((4096 * (page - 1))) conv=notrunc 2>"$T/log"
            ;;
        other) rm "$path" && sql "$path" 'CREATE TABLE t (a)' ;;
        directory) rm "$path" && mkdir "$path" ;;
        dangling) rm "$path" && ln -s nowhere "$path" ;;
        circle) rm "$path" && ln -s "$(basename "$path")" "$path" ;;
        pipe) rm "$path" && mkfifo "$path" ;;
        views) sql "$path" 'DROP TABLE TASK; CREATE VIEW TASK AS SELECT * FROM TASK' ;;
    esac
}
for how in empty text short zeros cut other directory dangling circle pipe views noise; do
    bad $how
    snapshot "$(dirname "$(dirname "$path")")" >"$T/before"
    got=0
    timeout 10 pipescope -m pp_chart -d "$T/in" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ $got = 4 ] || fail "$how: exit $got: $(cat "$T/stderr")"
    grep -q 'ascend_pytorch_profiler_2.db' "$T/stderr" || fail "$how: rank 2 is not named: $(cat "$T/stderr")"
    unchanged "$(dirname "$(dirname "$path")")" "$T/before"
    sql "$(database "$T/in" 0)" 'SELECT * FROM StepTaskInfo' | cmp - "$T/labels"
    sql "$(database "$T/in" 3)" 'SELECT 1 FROM StepTaskInfo LIMIT 1' >"$T/log"
    got=0
    timeout 10 pipescope info "$T/in" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ $got = 4 ] || fail "$how: info: exit $got: $(cat "$T/stderr")"
    unchanged "$(dirname "$(dirname "$path")")" "$T/before"
done

# Links that go round in circles, and that lead to a rank twice.
rm -rf "$T/in"
sample "$T/in"
ln -s . "$T/in/here"
ln -s .. "$T/in/up"
ln -s "$T/in" "$T/in/$(basename "$(dirname "$(dirname "$(database "$T/in" 0)")")")/again"
run 0 -m pp_chart -d "$T/in" --quiet
says_out 'Wrote into 4 databases'

# A directory that may not be read: root reads it all the same.
if [ "$(id -u)" != 0 ]; then
    rm -rf "$T/in"
    sample "$T/in"
    chmod a-rx "$(dirname "$(database "$T/in" 3)")"
    run 4 -m pp_chart -d "$T/in"
    says 'cannot read the directory: Permission denied'
    chmod u+rx "$T"/in/*/ASCEND_PROFILER_OUTPUT
fi

# A directory of which nothing can be read is no empty one.
mkdir -p "$T/lost/a_ascend_pt/ASCEND_PROFILER_OUTPUT"
ln -s nowhere "$T/lost/a_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
run 1 -m pp_chart -d "$T/lost"
says 'ascend_pytorch_profiler_0.db'
run 1 info "$T/lost"

# A folder of a rank that is a link to nowhere, or round itself, is no absence: the rank is lost. Other links that lead nowhere are
# nothing to us.
for target in nowhere node0_1009_20250109081616009_ascend_pt; do
    rm -rf "$T/in"
    sample "$T/in"
    ln -s nowhere "$T/in/latest"
    run 0 info "$T/in"
    ln -s "$target" "$T/in/node0_1009_20250109081616009_ascend_pt"
    for command in info chart report "cluster -m pp_chart -d"; do
        # shellcheck disable=SC2086 # a command with its options
        run 4 $command "$T/in"
        says 'node0_1009_20250109081616009_ascend_pt: a link that leads'
    done
    mkdir -p "$T/alone"
    ln -sf "$target" "$T/alone/node0_1009_20250109081616009_ascend_pt"
    run 1 chart "$T/alone"
    says 'a link that leads'
    rm -r "$T/alone"
done

# Two profiles of a rank: the newer is read, by the time in its name.
rm -rf "$T/in"
sample "$T/in"
old=$(dirname "$(dirname "$(database "$T/in" 0)")")
cp -R "$old" "$T/in/node0_1000_20240101000000000_ascend_pt"
snapshot "$T/in/node0_1000_20240101000000000_ascend_pt" >"$T/before"
run 0 -m pp_chart -d "$T/in"
says 'of each the newest profile is read (a database before text), from '
says '; 1 other is left out, from '
says 'node0_1000_20240101000000000_ascend_pt (name one folder'
head -n 1 "$T/stderr" | grep -q 'ranks are here more than once' || fail 'the choice is not said first'
unchanged "$T/in/node0_1000_20240101000000000_ascend_pt" "$T/before"

# What the profiler says of itself is broken, or of another kind: it is not known, and said.
for text in '{"config": {"experimental_config": {"_profiler_level": "Lev' '{"config": {"experimental_config": {"_profiler_level": 5}}}' '{"config": []}'; do
    rm -rf "$T/in"
    sample "$T/in"
    echo "$text" >"$(echo "$T"/in/node0_1000_*_ascend_pt)/profiler_info_0.json"
    run 0 info "$T/in" --json
    says 'rank 0: profiler_info_0.json: '
done
