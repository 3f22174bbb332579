#!/bin/sh
# The recipes of docs/scale.md, with processes of this machine in the place of sbatch, kubectl and ssh: each ends with the results of one
# process.
# threads: shards of every mode
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/recipes.sh

run 0 simulate 1f1b --pp 2 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet

export MODES=every JOB="$T/in" PARTIALS="$T/partials" OUT="$T/out" HOSTS='one two three'
results() { (cd "$OUT" && find . -type f -name '*.csv' -exec sha256sum {} + | sort) && sql "$OUT/cluster_analysis_output/cluster_analysis.db" .dump; }
run 0 cluster -m $MODES -d "$JOB" -o "$OUT"
results >"$T/whole"

# ends_well NAME
ends_well() {
    results | cmp -s - "$T/whole" || fail "$1: other results than those of one process"
    rm -r "$OUT" "$PARTIALS"
}
rm -r "$OUT"

mkdir "$T/bin"
PATH=$T/bin:$PATH
cat >"$T/bin/sbatch" <<'END'
#!/bin/sh
# One process a task, all at once.
for word; do
    case $word in
        --array=1-*) SLURM_ARRAY_TASK_COUNT=${word#--array=1-} ;;
        --wrap=*) command=${word#--wrap=} ;;
    esac
done
export SLURM_ARRAY_TASK_COUNT
status=0
pids=
for SLURM_ARRAY_TASK_ID in $(seq "$SLURM_ARRAY_TASK_COUNT"); do
    export SLURM_ARRAY_TASK_ID
    sh -c "$command" &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid" || status=1
done
exit $status
END
cat >"$T/bin/ssh" <<'END'
#!/bin/sh
shift
exec sh -c "$*"
END
chmod +x "$T/bin/sbatch" "$T/bin/ssh"

for name in Slurm ssh; do
    recipe "### $name" sh >"$T/$name.sh"
    [ -s "$T/$name.sh" ] || fail "no recipe for $name"
    sh -e "$T/$name.sh" >"$T/stdout" 2>"$T/stderr" || fail "$name: $(cat "$T/stderr")"
    ends_well $name
done

# Of Kubernetes the command of a container, which knows its index.
recipe '### Kubernetes' yaml | sed -n "s|^ *- \(pipescope .*\)|\1|p" |
    sed "s|-m all|-m $MODES|; s|/job|$JOB|; s|/partials|$PARTIALS|" >"$T/container.sh"
[ "$(wc -l <"$T/container.sh")" = 1 ] || fail "no command of a container"
for round in 1 2; do
    for index in $(seq 0 15); do
        JOB_COMPLETION_INDEX=$index sh -e "$T/container.sh" 2>"$T/stderr" || fail "index $index: $(cat "$T/stderr")"
    done
    run 0 cluster -m $MODES -d "$JOB" -o "$OUT" --reduce "$PARTIALS"
    [ $round = 2 ] || says 'run the shards again'
done
ends_well Kubernetes
