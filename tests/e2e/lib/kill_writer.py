"""kill_writer.py INPUT WORK ROUNDS: kills pipescope with SIGKILL while it writes, again and again.

After each kill every database is either as before or complete, never in between, and sound. In every third round
the program itself runs on what the kill left, and must arrive at the complete result; in another third `info` looks
at it first, which changes nothing."""

import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

PROGRAM = os.environ["PIPESCOPE_BIN"]


def databases(root):
    return sorted(path.relative_to(root) for path in root.rglob("*_profiler_*.db"))


dumps = {}  # of files that lie alone, by their bytes


def dump(path):
    """The content of a sound database. Bytes with no journal beside them mean what they meant before."""
    alone = not any(os.path.exists(f"{path}{end}") for end in ("-journal", "-wal"))
    key = hashlib.sha256(path.read_bytes()).digest() if alone else None
    if key in dumps:
        return dumps[key]
    done = subprocess.run(
        ["sqlite3", "-batch", path, "PRAGMA integrity_check", ".dump"], capture_output=True, text=True, check=True
    )
    sound, _, text = done.stdout.partition("\n")
    assert sound == "ok", f"{path}: {sound} {done.stderr}"
    if key is not None:
        dumps[key] = text
    return text


def command(root):
    return [PROGRAM, "-m", "pp_chart", "-d", str(root), "--quiet"]


def left_beside(root):
    return [path for path in root.rglob("*") if path.name.endswith(("-journal", "-wal", "-shm", ".tmp"))]


def contents(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def start(root):
    return subprocess.Popen(command(root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_journal(process, root):
    """True as soon as the first database is being written."""
    journals = [f"{root / name}-journal" for name in databases(root)]
    while process.poll() is None:
        if any(map(os.path.exists, journals)):
            return True
    return False


def watch_whole_run(source, full):
    """Seconds before the first database is written, and from then to the end. On a busy machine a run may be over before it is looked at
    again: then another one is watched."""
    for _ in range(20):
        shutil.rmtree(full, ignore_errors=True)
        shutil.copytree(source, full)
        begun = time.monotonic()
        process = start(full)
        is_seen = wait_for_journal(process, full)
        seen = time.monotonic()
        assert process.wait() == 0
        if is_seen:
            return seen - begun, time.monotonic() - seen
    raise AssertionError("20 times the program was done before it was seen to write")


def main(source, work, rounds):
    source, work, rounds = pathlib.Path(source), pathlib.Path(work), int(rounds)
    work.mkdir()
    chance = random.Random(1)
    full = work / "full"
    waiting, writing = watch_whole_run(source, full)
    before = {name: dump(source / name) for name in databases(source)}
    after = {name: dump(full / name) for name in databases(source)}
    assert all(before[name] != after[name] for name in before)

    n_killed = n_hot = n_untouched = n_complete = n_parted = 0
    for turn in range(rounds):
        root = work / "turn"
        shutil.copytree(source, root)
        process = start(root)
        if turn % 4 == 0:
            time.sleep(chance.uniform(0, waiting + writing))
        elif wait_for_journal(process, root):
            time.sleep(chance.uniform(0, writing))
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
        hot = left_beside(root)
        n_hot += len(hot) > 0
        if turn % 3 == 0:
            again = subprocess.run(command(root), capture_output=True, text=True, check=False)
            assert again.returncode == 0, f"the run after the kill: exit {again.returncode}: {again.stderr}"
            assert not left_beside(root), left_beside(root)
            assert {name: dump(root / name) for name in after} == after, "the run after the kill: another result"
        else:
            if turn % 3 == 1 and hot:
                there = contents(root)
                subprocess.run([PROGRAM, "info", root], stdout=subprocess.DEVNULL, check=True)
                assert contents(root) == there, "info changed what the kill left"
            states = []
            for name in before:
                now = dump(root / name)
                assert now in (before[name], after[name]), f"{name} is in between: turn {turn}, beside it {hot}"
                states.append(now == after[name])
            n_untouched += not any(states)
            n_complete += all(states)
            n_parted += any(states) and not all(states)
        shutil.rmtree(root)
    print(
        f"{rounds} rounds: {n_killed} killed, {n_hot} with a journal left; databases untouched {n_untouched}, "
        f"complete {n_complete}, some of each {n_parted}; writing takes {writing * 1000:.0f} ms"
    )
    assert n_killed > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
