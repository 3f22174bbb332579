#!/bin/sh
# Databases in WAL mode: reading leaves nothing beside them, writing takes in what the -wal holds and removes it.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# to_wal DIR: WAL mode, all in the main file
to_wal() {
    databases "$1" | while read -r path; do
        [ "$(sql "$path" 'PRAGMA journal_mode = WAL')" = wal ]
    done || exit 1
    only_databases "$1"
}

# crash DIR [EXTRA]: each database gets a row that is only in its -wal, as left by a writer that was killed
crash() {
    python3 - "$1" <<'PY'
import os, pathlib, signal, sqlite3, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*_profiler_*.db")):
    child = os.fork()
    if child == 0:
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("DELETE FROM MSTX_EVENTS WHERE rowid = 3")
        db.execute("INSERT INTO META_DATA VALUES ('only', 'in the wal')")
        db.commit()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert os.path.getsize(f"{path}-wal") > 0
PY
}

# listing DIR: names and contents, also of the -shm, the index over the -wal that readers at work share
listing() {
    (cd "$1" && find . | sort && find . -type f -exec sha256sum {} + | sort)
}

# labels DIR: one line for each database
labels() {
    databases "$1" | while read -r path; do
        sql "$path" "SELECT count(*), (SELECT value FROM META_DATA WHERE name = 'only') FROM StepTaskInfo"
        [ "$(sql "$path" 'PRAGMA integrity_check')" = ok ] || fail "$path is damaged"
    done || exit 1
}
repeat() { printf '%s\n%s\n%s\n%s\n' "$1" "$1" "$1" "$1"; }

sample "$T/clean"
to_wal "$T/clean"
snapshot "$T/clean" >"$T/before"
run 0 info "$T/clean"
unchanged "$T/clean" "$T/before"
run 0 -m pp_chart -d "$T/clean" -o "$T/clean_copies"
unchanged "$T/clean" "$T/before"
run 0 -m pp_chart -d "$T/clean"
only_databases "$T/clean"
only_databases "$T/clean_copies"
repeat '32|' >"$T/want"
labels "$T/clean" | cmp - "$T/want"
labels "$T/clean_copies" | cmp - "$T/want"

# With and without the -shm, which is lost when a directory is copied without care.
repeat '31|in the wal' >"$T/want"
for shm in kept lost; do
    sample "$T/$shm"
    crash "$T/$shm"
    [ $shm = kept ] || find "$T/$shm" -name '*-shm' -delete
    listing "$T/$shm" >"$T/before"
    run 0 info "$T/$shm" --json
    [ "$(grep -o '"MSTX_EVENTS": 31' "$T/stdout" | wc -l)" -eq 4 ] || fail "info does not see the -wal: $(cat "$T/stdout")"
    listing "$T/$shm" | cmp - "$T/before"
    run 0 -m pp_chart -d "$T/$shm" -o "$T/${shm}_copies"
    listing "$T/$shm" | cmp - "$T/before"
    run 0 -m pp_chart -d "$T/$shm" --export_type csv -o "$T/${shm}_csv"
    listing "$T/$shm" | cmp - "$T/before"
    run 0 -m pp_chart -d "$T/$shm"
    only_databases "$T/$shm"
    only_databases "$T/${shm}_copies"
    labels "$T/$shm" | cmp - "$T/want"
    labels "$T/${shm}_copies" | cmp - "$T/want"
done

# An empty -wal beside an ordinary database.
sample "$T/empty"
databases "$T/empty" | while read -r path; do : >"$path-wal"; done
snapshot "$T/empty" >"$T/before"
run 0 info "$T/empty"
unchanged "$T/empty" "$T/before"
run 0 -m pp_chart -d "$T/empty"
repeat '32|' >"$T/want"
labels "$T/empty" | cmp - "$T/want"

# Whose program still has them open: what it wrote so far is read, and its files stay as they are.
sample "$T/live"
python3 - "$T/live" <<'PY'
import hashlib, os, pathlib, sqlite3, subprocess, sys

folder = pathlib.Path(sys.argv[1])
def listing():
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}

open_ones = []
for path in sorted(folder.rglob("*_profiler_*.db")):
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("DELETE FROM MSTX_EVENTS WHERE rowid = 3")
    db.commit()
    open_ones.append(db)
before = listing()
assert any(name.endswith("-shm") for name in before)
for command in ("info", "report", "chart", "convert"):
    words = [os.environ["PIPESCOPE_BIN"], command, str(folder)]
    words += ["-o", str(folder.parent / "live.json")] if command == "convert" else []
    done = subprocess.run(words + (["--json"] if command == "info" else []), capture_output=True, text=True)
    assert done.returncode == 0, (command, done)
    assert command != "info" or done.stdout.count('"MSTX_EVENTS": 31') == 4, done.stdout
    assert listing() == before, "%s changed what another program has open" % command
PY
