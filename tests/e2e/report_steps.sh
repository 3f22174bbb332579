#!/bin/sh
# report: what is told of a step is the same whether the capture holds work outside of its steps or not; the rank that is slow is
# named among healthy ones.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

simulate() {
    "$PIPESCOPE_BIN" simulate "$@" --quiet >/dev/null
}

report() {
    "$PIPESCOPE_BIN" report "$@" --quiet
}

# 36 workers: the slowest 3 % are two, of which one alone is slow.
simulate 1f1b --pp 2 --microbatches 4 --dp 18 --steps 1 --slow-rank 29:2 --profile "$T/slow"
report "$T/slow" >"$T/out"
tr '\n' ' ' <"$T/out" | grep -q 'Rank 29 (stage 1, replica [0-9]*) is slower than those with the same work' ||
    fail "the slow rank is not named: $(head -n 5 "$T/out")"

# Without the window of the last step its transfers lie outside of all steps: what a step waits for stays the same.
simulate 1f1b --pp 2 --microbatches 4 --dp 2 --steps 3 --profile "$T/all"
report "$T/all" >"$T/out"
tr -s '\n ' ' ' <"$T/out" | grep -o 'Receives of rank 0 (stage 0) wait [0-9.]* ms in each step' >"$T/three" ||
    fail "no receives in: $(cat "$T/out")"
python3 - "$T/all" <<'END'
import pathlib, sqlite3, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.db"):
    db = sqlite3.connect(path)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'STEP_TIME'").fetchone():
        db.execute("DELETE FROM STEP_TIME WHERE id = (SELECT max(id) FROM STEP_TIME)")
    db.commit()
    db.close()
END
report "$T/all" 2>/dev/null >"$T/out"
tr -s '\n ' ' ' <"$T/out" | grep -o 'Receives of rank 0 (stage 0) wait [0-9.]* ms in each step' >"$T/two" || true
cmp "$T/three" "$T/two" || fail "$(cat "$T/three"), but without the last window: $(cat "$T/two")"
