#!/bin/sh
# The lines for Slurm of docs/scale.md, run by Slurm itself: its two daemons serve this machine alone, below $T and on loopback. Both the array of
# shards and the job of MPI end with the results of one process.
# threads: shards of every mode
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/recipes.sh

for program in slurmctld slurmd sbatch srun sinfo; do
    command -v $program >/dev/null || skip "no Slurm: apt-get install slurmctld slurmd slurm-client"
done

# --- a cluster of one machine ---

port=$(python3 -c 'import socket
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0)), b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1])')
mkdir "$T/state" "$T/spool" "$T/jobs"
cat >"$T/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${port% *}
SlurmdPort=${port#* }
AuthType=auth/none
CredType=cred/none
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.pid
SlurmctldLogFile=$T/slurmctld.log
SlurmdLogFile=$T/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
export SLURM_CONF="$T/slurm.conf"
slurmctld -D -f "$SLURM_CONF" >"$T/slurmctld.out" 2>&1 &
controller=$!
slurmd -D -f "$SLURM_CONF" >"$T/slurmd.out" 2>&1 &
node=$!
# Jobs go before the daemons that know of them.
end_cluster() {
    scancel --user="$(id -un)" --signal=KILL 2>/dev/null || true
    kill $node $controller 2>/dev/null || true
    wait $node $controller 2>/dev/null || true
}
trap end_cluster EXIT

state=
for _ in $(seq 60); do
    state=$(sinfo --noheader --format=%T 2>/dev/null) || state=
    [ "$state" != idle ] || break
    if ! kill -0 $controller 2>/dev/null || ! kill -0 $node 2>/dev/null; then
        break
    fi
    sleep 0.5
done
[ "$state" = idle ] || skip "Slurm does not start here: $(cat "$T/slurmctld.out" "$T/slurmd.out" "$T"/slurm*.log | tail -n 3)"

# --- what it runs ---

run 0 simulate 1f1b --pp 2 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet
export MODES=every JOB="$T/in" PARTIALS="$T/partials" OUT="$T/out"
results() { (cd "$OUT" && find . -type f -name '*.csv' -exec sha256sum {} + | sort) && sql "$OUT/cluster_analysis_output/cluster_analysis.db" .dump; }
run 0 cluster -m $MODES -d "$JOB" -o "$OUT"
results >"$T/whole"
rm -r "$OUT"

# ends_well NAME COMMAND...
ends_well() {
    name=$1
    shift
    (cd "$T/jobs" && timeout 300 "$@") >"$T/stdout" 2>"$T/stderr" || fail "$name: $(cat "$T/stderr" "$T"/jobs/*.out)"
    results | cmp -s - "$T/whole" || fail "$name: other results than those of one process: $(cat "$T"/jobs/*.out)"
    rm -r "$OUT" "$PARTIALS"
}

recipe '### Slurm' sh >"$T/array.sh"
[ -s "$T/array.sh" ] || fail "no recipe for Slurm"
ends_well array sh -e "$T/array.sh"

# The processes of this machine in the place of those of eight.
if [ -x "$(dirname "$PIPESCOPE_BIN")/pipescope-mpi" ] && srun --mpi=list 2>&1 | grep -qw pmix; then
    recipe '## MPI: one job of many processes' sh 2 |
        sed 's/^sbatch --nodes=8 --ntasks-per-node=8 --cpus-per-task=4/sbatch --wait --nodes=1 --ntasks=2/; s/ --cpus-per-task=4//' >"$T/mpi.sh"
    grep -q 'sbatch --wait .*--ntasks=2 .*srun --mpi=pmix' "$T/mpi.sh" || fail "no line for MPI below Slurm"
    ends_well MPI sh -e "$T/mpi.sh"
else
    echo "no MPI below Slurm here: its line was not run"
fi
