#!/bin/sh
# --memory: what all ranks leave for a reduce does not fit, and goes into a file; the results are the same, byte for byte, also through a
# cache and shards, and the process holds no more than it may.
# threads: one and two
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

lies_in_memory() { df -P "$1" | awk 'END {exit $1 != "tmpfs" && $1 != "ramfs"}'; }
# As the program does (base/spill.c): the second where the first is memory by another name.
if lies_in_memory "${TMPDIR:-/var/tmp}" && lies_in_memory /var/tmp; then
    skip 'files for memory that does not fit lie in memory here'
fi

# Sanitizers hold more than the program does, and take long.
case $PIPESCOPE_BIN in
*/release/* | */bin/*) microbatches=512 ;;
*) microbatches=64 ;;
esac
run 0 simulate 1f1b --pp 8 --dp 4 --microbatches $microbatches --steps 2 --profile "$T/job" --quiet
run 0 cluster -m every -d "$T/job" -o "$T/plain" --quiet
run 0 report "$T/job" -o "$T/plain.json"
run 0 cluster -m every -d "$T/job" -o "$T/small" --memory 16M --verbose
says "of memory lay in a file, at most"
cmp "$T/plain/cluster_analysis_output/cluster_analysis.db" "$T/small/cluster_analysis_output/cluster_analysis.db"
for threads in 1 2; do
    run 0 cluster -m every -d "$T/job" -o "$T/cached$threads" -j $threads --memory 16M --cache "$T/cache" --quiet
    cmp "$T/plain/cluster_analysis_output/cluster_analysis.db" "$T/cached$threads/cluster_analysis_output/cluster_analysis.db"
done
run 0 report "$T/job" -o "$T/small.json" --memory 16M
cmp "$T/plain.json" "$T/small.json"
for shard in 1 2; do
    pipescope cluster -m slow_rank -d "$T/job" --shard $shard/2 --partials "$T/parts" --memory 16M --quiet
done
run 0 cluster -m slow_rank -d "$T/job" -o "$T/once" --quiet
run 0 cluster -m slow_rank -d "$T/job" -o "$T/reduced" --reduce "$T/parts" --memory 16M --quiet
diff -r "$T/once" "$T/reduced"

[ $microbatches = 512 ] || exit 0
# A disk that does not give back what lay in the file is told, and nothing half-written stays.
if [ -e "${PIPESCOPE_PROGRAMS:-}/lib_lost_memory.so" ]; then
    LD_PRELOAD=$PIPESCOPE_PROGRAMS/lib_lost_memory.so
    export LD_PRELOAD
    run 1 cluster -m every -d "$T/job" -o "$T/lost" --memory 16M
    unset LD_PRELOAD
    says 'the disk does not give back what --memory had put into a file'
    [ -z "$(find "$T/lost" -type f 2>/dev/null)" ] || fail "left: $(find "$T/lost" -type f)"
fi
# A limit that the kernel keeps: private memory, of which files are no part.
(
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -d 30000
    run 0 cluster -m slow_rank -d "$T/job" -o "$T/limited" -j 1 --memory 16M --quiet
)
diff -r "$T/once" "$T/limited"
