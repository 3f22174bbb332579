#!/bin/sh
# whatif on merged timelines of growing jobs: bench/whatif.sh PIPESCOPE WORK
#
# Time, processor time and peak memory, for each op. The goal is 1024 ranks x 50 steps x 512 microbatches (151 million ops) within 60 s
# and 8 GB; what the largest job here takes is told for as many ops. BENCH_WHATIF adds jobs ("16 64 50 512": 25.6 GB of JSON).
set -eu
pipescope=$1
work=$2/whatif
mkdir -p "$work"
make=$2/whatif_job
printf '%-28s %12s %10s %8s %9s %10s %10s\n' 'stages replicas steps mb' ops 'json, GB' 'wall, s' 'cpu, s' 'ns cpu/op' 'bytes/op'
run() {
    file=$work/$1-$2-$3-$4.json
    [ -f "$file" ] || "$make" "$1" "$2" "$3" "$4" >"$file"
    python3 - "$pipescope" "$file" "$1" "$2" "$3" "$4" <<'PY'
import os
import resource
import subprocess
import sys
import time

program, path = sys.argv[1:3]
p, d, steps, m = map(int, sys.argv[3:])
ops = d * steps * (2 * p * m + 4 * (p - 1) * m + 3 * p)
begin = time.monotonic()
subprocess.run([program, "whatif", path, "-o", path + ".out.json", "--quiet"], check=True,
               stdout=subprocess.DEVNULL)
wall = time.monotonic() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
os.remove(path + ".out.json")
print(f"{p} {d} {steps} {m}".ljust(28), f"{ops:12d} {os.path.getsize(path) / 1e9:10.2f} {wall:8.1f} {cpu:9.2f} {1e9 * cpu / ops:10.0f} "
      f"{peak / ops:10.1f}")
full = 64 * 50 * (2 * 16 * 512 + 4 * 15 * 512 + 3 * 16)
if ops > 5e6:
    print(f"  for {full} ops as much: {cpu / ops * full:.0f} s of processors, {peak / ops * full / 1e9:.1f} GB")
PY
}
run 16 4 10 128
run 16 4 10 512
run 16 4 50 512
run 16 16 10 512
for job in ${BENCH_WHATIF:+"$BENCH_WHATIF"}; do
    # shellcheck disable=SC2086
    run $job
done
