#!/bin/sh
# Several programs at once on one directory: each run succeeds or says that the databases are busy or were changed,
# and what is there in the end is what one run makes.
# threads: runs beside one another, threads in each
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

pipescope simulate 1f1b --pp 2 --microbatches 64 --steps 2 --profile "$T/in" >"$T/log"
cp -R "$T/in" "$T/once"
run 0 -m pp_chart -d "$T/once"
dump "$T/once" >"$T/want"

# start NAME ARGS...: in the background; finish NAME puts the exit status into $got, the streams into stdout, stderr
start() {
    name=$1
    shift
    (
        got=0
        pipescope "$@" >"$T/$name.out" 2>"$T/$name.err" || got=$?
        echo $got >"$T/$name.status.new"
        mv "$T/$name.status.new" "$T/$name.status"
    ) &
}
finish() {
    waited=0
    until [ -e "$T/$1.status" ]; do
        waited=$((waited + 1))
        [ $waited -lt 600 ] || fail "run $1 hangs"
        sleep 0.05
    done
    read -r got <"$T/$1.status"
    rm "$T/$1.status"
    mv "$T/$1.out" "$T/stdout"
    mv "$T/$1.err" "$T/stderr"
}

# judge: a run that did not do all says why for each rank
judge() {
    case $got in
        0) n_lost=0 ;;
        4) n_lost=1 ;;
        1) n_lost=2 ;;
        *) fail "exit $got: $(cat "$T/stderr")" ;;
    esac
    [ "$(grep -c 'rank [01]: .*\(changed since it was read; run again\|another program is writing\)' "$T/stderr")" -eq $n_lost ] ||
        fail "exit $got: $(cat "$T/stderr")"
}

for turn in 1 2 3 4 5 6 7 8; do
    rm -rf "$T/both"
    cp -R "$T/in" "$T/both"
    start a -m pp_chart -d "$T/both"
    start b -m pp_chart -d "$T/both" -j 1
    finish a
    judge
    lost=$n_lost
    finish b
    judge
    # Together they leave no rank out: one is only turned down because the other has just written.
    [ $((lost + n_lost)) -le 2 ] || fail "turn $turn: both runs left out ranks"
    same_dump "$T/both" "$T/want"
    only_databases "$T/both"
done

# Two runs into one -o.
for turn in 1 2 3 4 5 6 7 8; do
    rm -rf "$T/copies"
    start a -m pp_chart -d "$T/in" -o "$T/copies"
    start b -m pp_chart -d "$T/in" -o "$T/copies"
    finish a
    judge
    lost=$n_lost
    finish b
    judge
    [ $((lost + n_lost)) -le 2 ] || fail "turn $turn: both runs left out ranks"
    same_dump "$T/copies" "$T/want"
    only_databases "$T/copies"
done

# hold KIND END: another program has rank 1 locked for a second, then ends its transaction that way
hold() {
    rm -f "$T/locked"
    python3 - "$(database "$T/both" 1)" "$1" "$2" "$T/locked" <<'PY' &
import pathlib, sqlite3, sys, time
path, kind, end, locked = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None)
db.execute(f"BEGIN {kind}")
pathlib.Path(locked).touch()
time.sleep(1)
db.execute("INSERT INTO META_DATA VALUES ('written by', 'another program')")
db.execute(end)
PY
    until [ -e "$T/locked" ]; do sleep 0.02; done
}
for kind in IMMEDIATE EXCLUSIVE; do
    # Undone: the run waits and does everything.
    rm -rf "$T/both"
    cp -R "$T/in" "$T/both"
    hold $kind ROLLBACK
    run 0 -m pp_chart -d "$T/both"
    wait
    same_dump "$T/both" "$T/want"

    # Done: what was read before that is stale, which is said; nobody's rows are lost.
    rm -rf "$T/both"
    cp -R "$T/in" "$T/both"
    hold $kind COMMIT
    start a -m pp_chart -d "$T/both"
    finish a
    case $kind.$got in
        IMMEDIATE.4) says 'changed since it was read; run again' ;;
        IMMEDIATE.0 | EXCLUSIVE.0) ;; # read when the other was done: it could not before, or the machine is slow
        *) fail "$kind: exit $got: $(cat "$T/stderr")" ;;
    esac
    wait
    run 0 -m pp_chart -d "$T/both"
    [ "$(sql "$(database "$T/both" 1)" "SELECT value FROM META_DATA WHERE name = 'written by'")" = 'another program' ]
    sql "$(database "$T/both" 1)" "DELETE FROM META_DATA WHERE name = 'written by'"
    same_dump "$T/both" "$T/want"
    only_databases "$T/both"
done

# A reader at work, as a viewer that is open, is waited for.
rm -rf "$T/both"
cp -R "$T/in" "$T/both"
rm -f "$T/locked"
python3 - "$(database "$T/both" 0)" "$T/locked" <<'PY' &
import pathlib, sqlite3, sys, time
path, locked = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None)
rows = db.execute("SELECT * FROM TASK, MSTX_EVENTS")
rows.fetchone()
pathlib.Path(locked).touch()
time.sleep(1)
rows.close()
PY
until [ -e "$T/locked" ]; do sleep 0.02; done
run 0 -m pp_chart -d "$T/both"
wait
same_dump "$T/both" "$T/want"
