#!/bin/sh
# Outputs appear whole or not at all: several programs at once, links and files of others beside them, runs that a signal ends,
# inputs whose writer was killed.
# threads: a signal while threads write
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 4 --microbatches 8 --steps 3 --profile "$T/job"
run 0 convert "$T/job" -o "$T/want.json"

# The name under which a file is made is nobody's: neither a link nor a file of the user's is touched.
echo notes > "$T/precious"
ln -s precious "$T/out.json.tmp"
run 0 convert "$T/job" -o "$T/out.json"
[ "$(cat "$T/precious")" = notes ] || fail "the target of a link beside the output was overwritten"
[ -L "$T/out.json.tmp" ] || fail "a link beside the output was replaced"
cmp "$T/want.json" "$T/out.json"
rm "$T/out.json.tmp"
echo mine > "$T/chart.svg.tmp"
run 0 chart "$T/job" -o "$T/chart.svg"
[ "$(cat "$T/chart.svg.tmp")" = mine ] || fail "a file of the user's was overwritten"
rm "$T/chart.svg.tmp"

# Two programs write the same file: it is that of one of them.
for i in 1 2 3 4 5 6; do
    "$PIPESCOPE_BIN" convert "$T/job" -o "$T/both.json" --quiet &
    first=$!
    "$PIPESCOPE_BIN" convert "$T/job" -o "$T/both.json" --quiet &
    second=$!
    wait $first || fail "one of two programs failed in round $i"
    wait $second || fail "one of two programs failed in round $i"
    cmp "$T/want.json" "$T/both.json"
done
[ -z "$(find "$T" -name '*.tmp')" ] || fail "temporary files: $(find "$T" -name '*.tmp')"

# A rank whose writer was killed in the middle of a transaction: its journal is rolled back in a copy.
cp -r "$T/job" "$T/killed"
python3 - "$T/killed" <<'PY'
import os
import pathlib
import signal
import sqlite3
import sys

path = sorted(pathlib.Path(sys.argv[1]).rglob("*_profiler_*.db"))[1]
child = os.fork()
if child == 0:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")
    db.execute("BEGIN")
    db.execute("UPDATE MSTX_EVENTS SET startNs = startNs + 7")
    db.execute("UPDATE COMMUNICATION_OP SET startNs = startNs + 7")
    db.execute("CREATE TABLE more AS SELECT * FROM MSTX_EVENTS, (SELECT 1 UNION SELECT 2 UNION SELECT 3)")
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
assert os.path.getsize(f"{path}-journal") > 512
PY
run 0 convert "$T/killed" -o "$T/killed.json"
cmp "$T/want.json" "$T/killed.json"

# Ended by the user or a scheduler at any moment: what was begun is gone, what was there before stays, and the program ends by
# the signal.
python3 - "$T" <<'PY'
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

PROGRAM = os.environ["PIPESCOPE_BIN"]
T = pathlib.Path(sys.argv[1])
place = T / "ended"
tmp = T / "tmp"
tmp.mkdir()
ENV = dict(os.environ, TMPDIR=str(tmp))


def contents(root):
    return {p.relative_to(root): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}


COMMANDS = {
    "convert": ["convert", T / "job", "-o", place / "out.json.gz"],
    "killed": ["convert", T / "killed", "-o", place / "out.json"],
    "copies": ["cluster", "-m", "pp_chart", "-d", T / "job", "-o", place / "copies"],
    "workbook": ["cluster", "-m", "cluster_time_summary", "-d", T / "job", "-o", place / "book", "--export-type", "xlsx"],
    "chart": ["chart", T / "job", "-o", place / "out.svg"],
    "simulate": ["simulate", "1f1b", "--pp", "8", "--microbatches", "8", "--steps", "3", "--filler", "200", "--profile", place / "job"],
}
for name, command in COMMANDS.items():
    place.mkdir()
    begin = time.monotonic()
    done = subprocess.run([PROGRAM, *command, "--quiet"], env=ENV, capture_output=True)
    whole = time.monotonic() - begin
    want = contents(place)
    shutil.rmtree(place)
    assert done.returncode in (0, 3), (name, done)
    for k in range(12):
        place.mkdir()
        child = subprocess.Popen([PROGRAM, *command, "--quiet"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * k / 12)
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[k % 3]
        child.send_signal(number)
        status = child.wait()
        assert status in (0, 3, -number), (name, k, status)
        left = contents(place)
        for path, digest in left.items():
            assert not path.name.endswith(("tmp", "-journal", "-wal", "-shm")), (name, k, left)
            assert want.get(path) == digest or path.suffix in (".db", ".xlsx"), (name, k, path)
        assert name != "simulate" or set(left) in (set(), set(want)), (name, k, left)
        assert name != "simulate" or left or not (place / "job").exists(), "the next run would refuse the folder that is left"
        copies = list(tmp.glob("pipescope-*"))  # the thread sanitizer has a file of its own there as it begins
        assert not copies, (name, k, copies)
        shutil.rmtree(place)
PY
