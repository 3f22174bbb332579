#!/bin/sh
# pipescope-mpi: a job of processes makes, byte for byte, what one thread makes, for every mode and command that reads ranks. A process that dies is
# named with its ranks, the rest goes on, and nothing half-written stays; where MPI ends the job, --resume takes up what is there.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

bin_dir=$(dirname "$PIPESCOPE_BIN")
case $bin_dir in
    */asan* | */tsan | */fuzz) skip "Open MPI itself is not clean under the sanitizers: unit.crew looks at the rest" ;;
esac
if [ ! -x "$bin_dir/pipescope-mpi" ]; then
    [ -z "${CI:-}" ] || fail "there is no pipescope-mpi, and CI always has one"
    skip "no MPI: ./dev setup installs Open MPI"
fi

# Open MPI's, unless somebody says otherwise.
mpirun=${PIPESCOPE_MPIRUN:-mpirun --oversubscribe --allow-run-as-root --bind-to none}

# mpi N STATUS ARGS...: the program in N processes. What MPI itself says is left out of $T/stderr.
mpi() {
    n=$1
    wanted=$2
    shift 2
    got=0
    $mpirun -n "$n" pipescope-mpi "$@" \
        >"$T/stdout" 2>"$T/all_stderr" </dev/null || got=$?
    sed '/^-----\|^=====/,$d' "$T/all_stderr" >"$T/stderr"
    [ "$got" = "$wanted" ] || {
        cat "$T/stdout" "$T/all_stderr" >&2
        fail "exit $got instead of $wanted: $n processes, $*"
    }
}

# results DIR: tables as files, and databases of ranks as text
results() {
    (cd "$1" && find . -type f ! -name '*.db' -exec sha256sum {} + | sort)
    dump "$1"
}

run 0 simulate 1f1b --pp 4 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet
run 0 simulate 1f1b --pp 4 --dp 2 --microbatches 4 --steps 2 --filler 60 --profile "$T/base" --quiet
run 0 simulate 1f1b --pp 4 --microbatches 4 --steps 3 --dp 2 --slow-stage 2:1.5 --profile "$T/slow" --quiet

# --- the same bytes ---

every="cluster -m every,pp_chart -d $T/in -o $T/out --export_type csv"
# shellcheck disable=SC2086
run 0 $every -j 1
results "$T/out" >"$T/wanted"
cp "$T/stdout" "$T/shown"
rm -r "$T/out"
for n in 1 2 4; do
    # shellcheck disable=SC2086
    mpi $n 0 $every
    results "$T/out" | cmp -s - "$T/wanted" || fail "$n processes make something else"
    cmp -s "$T/stdout" "$T/shown" || fail "$n processes say something else"
    rm -r "$T/out"
done

# into databases of ranks
run 0 cluster -m pp_chart -d "$T/in" -o "$T/out" -j 1
results "$T/out" >"$T/wanted"
rm -r "$T/out"
mpi 2 0 cluster -m pp_chart -d "$T/in" -o "$T/out"
results "$T/out" | cmp -s - "$T/wanted" || fail "other databases"
rm -r "$T/out"

# in place, and as workbooks: whoever holds a rank writes its tables
for type in db text; do
    cp -R "$T/in" "$T/place"
    run 0 cluster -m pp_chart -d "$T/place" -j 1 --export_type $type
    results "$T/place" >"$T/wanted"
    cp "$T/stdout" "$T/shown"
    rm -r "$T/place"
    cp -R "$T/in" "$T/place"
    mpi 2 0 cluster -m pp_chart -d "$T/place" --export_type $type
    results "$T/place" | cmp -s - "$T/wanted" || fail "$type: other tables of ranks"
    cmp -s "$T/stdout" "$T/shown" || fail "$type: something else is said: $(diff "$T/shown" "$T/stdout" | head)"
    rm -r "$T/place"
done

# with less memory than the job wants, in the process that reduces
every="cluster -m every -d $T/in -o $T/out"
# shellcheck disable=SC2086
run 0 $every -j 1
results "$T/out" >"$T/wanted"
rm -r "$T/out"
# shellcheck disable=SC2086
mpi 2 0 $every --memory 8M --verbose
says 'of memory lay in a file, at most'
results "$T/out" | cmp -s - "$T/wanted" || fail "with little memory something else is made"
rm -r "$T/out"

# a mode that compares
compares="cluster -m cluster_time_compare_summary -d $T/in --bp $T/base -o $T/out --export_type csv"
# shellcheck disable=SC2086
run 0 $compares -j 1
results "$T/out" >"$T/wanted"
rm -r "$T/out"
# shellcheck disable=SC2086
mpi 2 0 $compares
results "$T/out" | cmp -s - "$T/wanted" || fail "a mode that compares makes something else"
rm -r "$T/out"

# same ARGS...: what two processes write to the terminal
same() {
    run 0 "$@" -j 1
    cp "$T/stdout" "$T/shown"
    cp "$T/stderr" "$T/said"
    mpi 2 0 "$@"
    cmp -s "$T/stdout" "$T/shown" || fail "$* says something else: $(diff "$T/shown" "$T/stdout" | head)"
    cmp -s "$T/stderr" "$T/said" || fail "$* says something else: $(diff "$T/said" "$T/stderr" | head)"
}
same chart "$T/slow"
same report "$T/slow" --json
same whatif "$T/slow" --threshold slow=1.2
same compare "$T/base" "$T/in"
same info "$T/slow" --json
printf 'MatMulV2 all-reduce\n' >"$T/rules"
same info "$T/slow" --comm-rules "$T/rules"

# --- a rank that fails ---

cp -R "$T/in" "$T/broken"
printf 'no database' >"$(database "$T/broken" 2)"
run 4 cluster -m slow_rank -d "$T/broken" -o "$T/out" -j 1
cp "$T/stderr" "$T/said"
results "$T/out" >"$T/wanted"
rm -r "$T/out"
mpi 2 4 cluster -m slow_rank -d "$T/broken" -o "$T/out"
cmp -s "$T/stderr" "$T/said" || fail "a rank that fails: $(diff "$T/said" "$T/stderr")"
results "$T/out" | cmp -s - "$T/wanted" || fail "with a rank that fails something else is made"
rm -r "$T/out"

# --- a process that dies ---

run 0 simulate 1f1b --pp 8 --dp 4 --microbatches 8 --steps 2 --filler 40000 --profile "$T/long" --quiet
run 0 cluster -m slow_rank -d "$T/long" -o "$T/out" -j 1 --export_type csv
results "$T/out" >"$T/wanted"
rm -r "$T/out"

# begin_long: two processes, in the background, that keep what they make in $T/kept; returns when the first has made something, and the worker of the
# second stands still, with all its ranks. Of each the process of MPI and its worker are in $T/pids: "1 PID WORKER".
begin_long() {
    $mpirun -n 2 pipescope-mpi \
        cluster -m slow_rank -d "$T/long" -o "$T/out" -j 1 --export_type csv --resume "$T/kept" \
        >"$T/stdout" 2>"$T/stderr" </dev/null &
    job=$!
    python3 - "$job" "$T/kept" >"$T/pids" <<'PYTHON'
import glob, os, signal, sys, time

end = time.monotonic() + 120


def wait_for(what):
    found = what()
    while not found and time.monotonic() < end:
        time.sleep(0.001)
        found = what()
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def processes(pid):
    """Those of MPI below the process, which may have processes of its own between: their number, pid and worker."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        facts = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    number = facts.get(b"OMPI_COMM_WORLD_RANK") or facts.get(b"PMI_RANK")
    below = children(pid)
    if number is not None:
        return [(number.decode(), pid, below[0])] if below else []
    return [found for child in below for found in processes(child)]


def both():
    try:
        found = processes(sys.argv[1])
    except OSError:  # one of them has just ended
        found = []
    return found if len(found) == 2 else None


found = wait_for(both)
(worker,) = [worker for number, _, worker in found if number == "1"]
# It moves in small steps: the job begins only when all workers have answered.
while not glob.glob(sys.argv[2] + "/job-1/1/rank-*") and time.monotonic() < end:
    os.kill(int(worker), signal.SIGCONT)
    time.sleep(0.005)
    os.kill(int(worker), signal.SIGSTOP)
    time.sleep(0.03)
for line in found:
    print(*line)
PYTHON
}

# of PROCESS COLUMN
of() { awk -v process="$1" -v column="$2" '$1 == process { print $column }' "$T/pids"; }

nothing_half_written() {
    left=$(find "$T/out" "$T/long" -name '*.tmp' -o -name '*-journal' -o -name '*-wal' 2>/dev/null | head -n 3)
    [ -z "$left" ] || fail "half-written files stay: $left"
}

begin_long
kill -9 "$(of 1 3)"
status=0
wait "$job" || status=$?
[ "$status" = 4 ] || fail "exit $status when a worker is killed: $(cat "$T/stderr")"
grep -q 'process 1 on [^ ]*, which had ranks [0-9, ]*[0-9.]*, was ended by signal 9' "$T/stderr" ||
    fail "the process that died is not named with its ranks: $(cat "$T/stderr")"
[ -d "$T/out" ] || fail "what the others made is not written"
nothing_half_written
rm -r "$T/out" "$T/kept"

# A process of MPI: MPI ends the job, and the next run goes on.
begin_long
kill -9 "$(of 1 2)"
kill -9 "$(of 1 3)" 2>"$T/log" || true # it stands still and holds the job's output open: MPICH's mpirun would wait for it
status=0
wait "$job" || status=$?
[ "$status" != 0 ] || fail "exit 0 when a process of MPI is killed"
[ ! -e "$T/out" ] || fail "something is written: $(ls -R "$T/out")"
nothing_half_written
mpi 2 0 cluster -m slow_rank -d "$T/long" -o "$T/out" --export_type csv --resume "$T/kept" --verbose
results "$T/out" | cmp -s - "$T/wanted" || fail "a job that goes on makes something else"
read_now=$(sed -n 's/^pipescope: read \([0-9]*\) ranks\{0,1\}, took \([0-9]*\) up from .*/\1/p' "$T/stderr")
taken_up=$(sed -n 's/^pipescope: read \([0-9]*\) ranks\{0,1\}, took \([0-9]*\) up from .*/\2/p' "$T/stderr")
[ $((read_now + taken_up)) = 32 ] || fail "not all of 32 ranks: $(cat "$T/stderr")"
[ "$taken_up" -gt 0 ] || fail "nothing is taken up"
rm -r "$T/out"

# --- wrong words ---

mpi 1 2 cluster -m slow_rank -d "$T/in" --shard 1/2 --partials "$T/kept"
says 'processes of one MPI job share the ranks out by themselves'
run 2 cluster -m slow_rank -d "$T/in" --resume "$T/kept"
says '--resume is for several processes'
