"""kill_shards.py INPUT WORK ROUNDS: kills a shard, who reduces, and a run that fills a cache with SIGKILL, again and again.

After each kill what lies under its name is whole, or not there: partials, entries of the cache, results. The same command once more, and
what follows it, arrive at the bytes of a run that nobody killed."""

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
MODES = "slow_rank,step_trace_time"


def command(work, how):
    words = [PROGRAM, "cluster", "-m", MODES, "-d", str(work / "in"), "-o", str(work / "out"), "--export_type", "csv", "--quiet"]
    return words + {"shard": ["--shard", "1/1", "--partials", str(work / "kept")],
                    "reduce": ["--reduce", str(work / "kept")],
                    "cache": ["--cache", str(work / "kept")]}[how]


def run(work, how):
    done = subprocess.run(command(work, how), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{how}: exit {done.returncode}: {done.stderr}"


def digests(folder):
    """By name, without what has no name of its own yet."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file() and ".tmp" not in path.name and not path.name.startswith(".")}


def prepare(work, how):
    for name in ("kept", "out"):
        shutil.rmtree(work / name, ignore_errors=True)
    if how == "reduce":
        run(work, "shard")


def check(work, how, whole):
    for folder in ("kept", "out"):
        for name, digest in digests(work / folder).items():
            assert whole[folder].get(name) == digest, f"{how}: {folder}/{name} is not what it should be"


def main(source, work, rounds):
    work = pathlib.Path(work)
    shutil.copytree(source, work / "in")
    chance = random.Random(1)
    n_killed = 0
    for how in ("shard", "reduce", "cache"):
        prepare(work, how)
        begun = time.monotonic()
        run(work, how)
        took_s = time.monotonic() - begun
        whole = {folder: digests(work / folder) for folder in ("kept", "out")}
        assert whole["kept"], "nothing is kept"
        for _ in range(int(rounds)):
            prepare(work, how)
            process = subprocess.Popen(command(work, how), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, took_s))
            process.send_signal(signal.SIGKILL)
            n_killed += process.wait() == -signal.SIGKILL
            check(work, how, whole)
            run(work, how)
            assert {folder: digests(work / folder) for folder in whole} == whole, f"{how}: the next run makes something else"
            if how == "shard":
                run(work, "reduce")
    print(f"{n_killed} of {3 * int(rounds)} were killed before their end")
    assert n_killed > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
