#!/bin/sh
# A simulated profile: the same options give the same bytes, the rows are there, nothing foreign is overwritten.
# threads: ranks that are made side by side
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

simulate="$PIPESCOPE_BIN --quiet simulate dualpipev --pp 4 --microbatches 10 --steps 2 --filler 50 --jitter 5"

$simulate --profile "$T/a" > "$T/said"
$simulate --profile "$T/b" > /dev/null
diff -r "$T/a" "$T/b" || fail "the same options gave other bytes"
$simulate --seed 2 --profile "$T/c" > /dev/null
if diff -r "$T/a" "$T/c" > /dev/null; then
    fail "another seed gave the same bytes"
fi

# What was said. 2 x (44 + 32 + 30 + 29) marks; 2 x 10 x 4 x (2 + 4 + 4 + 2) sends and receives of 3 tasks each.
grep -q '^4 ranks, 2 steps in ' "$T/said" || fail "ranks not told"
grep -q '270 marks, 1910 device tasks, 480 sends and receives' "$T/said" || fail "rows not told: $(cat "$T/said")"
grep -q '^next: ' "$T/said" || fail "no next step told"

db=$(echo "$T"/a/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db)
[ "$(sqlite3 "$db" 'SELECT count(*) FROM MSTX_EVENTS JOIN TASK USING (connectionId)')" = 58 ] || fail "marks of rank 3"
[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ] || fail "the database is not sound"
[ -z "$(find "$T/a" -name '*.tmp*' -o -name '*-journal' -o -name '*-wal')" ] || fail "temporary files were left"

# A directory with something in it stays as it is.
mkdir "$T/full"
echo keep > "$T/full/mine"
status=0
$simulate --profile "$T/full" 2> "$T/err" || status=$?
[ $status = 2 ] || fail "a full directory gave status $status"
grep -q 'not empty' "$T/err" || fail "the message does not tell why: $(cat "$T/err")"
[ "$(ls "$T/full")" = mine ] || fail "something was written into a full directory"

# Schedules with marks like Megatron's: no microbatch in a message, one range for each op; pp_chart reads them all.
for schedule in gpipe interleaved zb-h1 zb-v dualpipe; do
    rm -rf "$T/other"
    "$PIPESCOPE_BIN" --quiet simulate $schedule --pp 2 --microbatches 4 --profile "$T/other" > "$T/said"
    db=$(echo "$T"/other/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db)
    sqlite3 "$db" "SELECT DISTINCT value FROM MSTX_EVENTS JOIN STRING_IDS ON id = message ORDER BY 1" > "$T/names"
    case $schedule in
        zb-*) want="{'name': 'WeightGradStore.pop'} {'name': 'backward_step'} {'name': 'forward_step'} " ;;
        dualpipe) want="{'name': 'WeightGradStore.pop'} {'name': 'backward_step'} {'name': 'forward_backward_overlaping'} {'name': 'forward_step'} " ;;
        *) want="{'name': 'backward_step'} {'name': 'forward_step'} " ;;
    esac
    [ "$(tr '\n' ' ' < "$T/names")" = "$want" ] || fail "marks of $schedule: $(cat "$T/names")"
    "$PIPESCOPE_BIN" --quiet -m pp_chart -d "$T/other" > "$T/said" || fail "pp_chart on $schedule"
done
