#!/usr/bin/env python3
"""Times `pipescope cluster -m pp_chart` on generated clusters: first run (opConnectionId is new to the databases),
commits and fsync included, warm page cache.

usage: pp_chart.py PIPESCOPE WORK_DIR

The 1x input is 8 ranks of 1F1B with 1024 microbatches and 10 steps: 20,480 marks, 40,960 point-to-point operators
(inner stages) with three small tasks each, and 1,000,000 filler kernels a rank. 2x and 4x have 2 and 4 times the
steps and kernels. With msprof-analyze on PATH, both run on a 1/20 input, on copies, and the results are compared.
"""
import glob
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))


def generate(pipescope, work, name, steps, filler, microbatches=1024, ranks=8):
    path = os.path.join(work, f"{name}_{filler}")
    if not os.path.isdir(path):
        subprocess.run([pipescope, "simulate", "1f1b", "--pp", str(ranks), "--microbatches", str(microbatches),
                        "--steps", str(steps), "--filler", str(filler), "--seed", "1", "--profile", path, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
    return path


def copy_warm(source, target):
    """A fresh copy whose pages are in the cache and on the disk: its write-back is not part of the run."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    os.sync()
    for path in glob.glob(os.path.join(target, "*", "*", "*.db")):
        with open(path, "rb") as f:
            while f.read(1 << 22):
                pass


def run_once(command):
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command} ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(pipescope, source, scratch):
    results = []
    for _ in range(RUNS):
        copy_warm(source, scratch)
        results.append(run_once([pipescope, "cluster", "-m", "pp_chart", "-d", scratch]))
    return results


def dump(directory):
    """StepTaskInfo rows and which operators share a connection, per rank."""
    ranks = {}
    pairs = {}
    for path in sorted(glob.glob(os.path.join(directory, "*", "*", "ascend_pytorch_profiler_*.db"))):
        db = sqlite3.connect(path)
        rank = os.path.basename(path)
        ranks[rank] = db.execute("SELECT name, startNs, endNs, type FROM StepTaskInfo ORDER BY startNs").fetchall()
        for op, key in db.execute("SELECT opId, opConnectionId FROM COMMUNICATION_OP WHERE opConnectionId IS NOT NULL"):
            pairs.setdefault(key, []).append((rank, op))
        db.close()
    return ranks, sorted(tuple(p) for p in pairs.values())


def print_row(name, results, base=None):
    walls = [r[0] for r in results]
    median = statistics.median(walls)
    cpu = statistics.median(r[1] for r in results)
    memory = max(r[2] for r in results)
    ratio = f"{median / base:6.2f}" if base else "  1.00"
    print(f"{name:<24}{median:>10.2f}{min(walls):>10.2f}{max(walls):>10.2f}{cpu:>10.2f}{memory:>12.0f}  {ratio}")
    return median


def against_reference(pipescope, work):
    reference = shutil.which("msprof-analyze")
    if reference is None:
        print("\nmsprof-analyze is not on PATH: not compared (pip install msprof-analyze)")
        return
    small = generate(pipescope, work, "small", 2, ROWS // 20, 256)
    ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
    copy_warm(small, ours)
    copy_warm(small, theirs)
    wall = run_once([pipescope, "cluster", "-m", "pp_chart", "-d", ours])[0]
    other = run_once([reference, "cluster", "-m", "pp_chart", "-d", theirs])[0]
    print(f"\n1/20 input: msprof-analyze {other:.2f} s, pipescope {wall:.2f} s, {other / wall:.0f} times faster")
    print("same StepTaskInfo and pairs:", "yes" if dump(ours) == dump(theirs) else "NO")


def main():
    pipescope, work = sys.argv[1], sys.argv[2]
    scratch = os.path.join(work, "scratch")
    print(f"{'input':<24}{'wall s':>10}{'min':>10}{'max':>10}{'cpu s':>10}{'peak MB':>12}   ratio")
    base = None
    for factor in (1, 2, 4):
        source = generate(pipescope, work, f"x{factor}", 10 * factor, ROWS * factor)
        median = print_row(f"{factor}x", measure(pipescope, source, scratch), base)
        base = base or median
    shutil.rmtree(scratch, ignore_errors=True)
    against_reference(pipescope, work)


main()
