#!/bin/sh
# The five commands that read and write most, under valgrind: no read of memory that nobody wrote, none beyond a block, no block lost.
# Part of `./dev release-check`; the sanitizers of every test run do not see the first.
set -eu
cd "$(dirname "$0")/../.."
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0

# check NAME STATUS ARGS...
check() {
    name=$1
    want=$2
    shift 2
    got=0
    valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
        "$PIPESCOPE_BIN" "$@" --quiet >"$T/stdout" 2>"$T/stderr" || got=$?
    if [ "$got" = "$want" ] && ! grep -q '^==[0-9]*==' "$T/stderr"; then
        echo "valgrind: $name: clean"
    else
        echo "valgrind: $name: exit $got instead of $want"
        head -n 40 "$T/stderr"
        bad=1
    fi
}

"$PIPESCOPE_BIN" --quiet simulate 1f1b --pp 2 --microbatches 4 --filler 8 --profile "$T/job" >"$T/stdout"
check "report, page" 0 report "$T/job" -o "$T/report.html"
check "chart, picture" 0 chart "$T/job" -o "$T/chart.svg"
check "cluster -m all, database" 0 cluster -m all -d "$T/job" -o "$T/all"
check "cluster -m all, workbooks" 0 cluster -m all -d "$T/job" -o "$T/books" --export_type xlsx
check "convert, gzip" 0 convert "$T/job" -o "$T/job.json.gz"
check "convert, Perfetto" 0 convert "$T/job" -o "$T/job.pftrace"
check "whatif, page" 0 whatif "$T/job" -o "$T/whatif.html"
check "report of torch.profiler" 0 report tests/data/torch_pipeline/gpipe -o "$T/torch.json"
check "chart of torch.profiler" 0 chart tests/data/torch_pipeline/gpipe -o "$T/torch.json"
check "cluster -m all of text" 0 cluster -m all -d tests/data/ascend_text/rank3_ascend_pt -o "$T/text" --export_type csv
check "convert of text" 0 convert tests/data/ascend_text/rank3_ascend_pt -o "$T/text.json"
check "whatif of workers" 0 whatif tests/data/ndtimeline -o "$T/workers.json"
exit $bad
