#!/bin/sh
# examples/torch_pipeline.py recorded by pipescope, which labels every schedule of PyTorch: 1F1B, too.
# $PIPESCOPE_PYTHON names a Python that has PyTorch; else python3 is tried.
set -eu
# shellcheck source=tests/e2e/lib/common.sh
. tests/e2e/lib/common.sh
# shellcheck source=tests/e2e/lib/record.sh
. tests/e2e/lib/record.sh

python=${PIPESCOPE_PYTHON:-python3}
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip "no recorder library in this build"
record_sanitized && skip "Python has no sanitizer"
"$python" -c 'import torch.distributed.pipelining' >"$T/import" 2>&1 ||
    skip "$python has no torch.distributed.pipelining (name one that has it in PIPESCOPE_PYTHON)"

record() {
    PIPESCOPE_LIBRARY=$PIPESCOPE_RECORD_LIBRARY "$python" examples/torch_pipeline.py --recorder pipescope --schedule "$1" \
        --ranks "$2" --microbatches "$3" --width 32 --rows 4 -o "$T/recorded_$1" >"$T/log" 2>&1 || {
        tail -n 30 "$T/log" >&2
        fail "$1 was not recorded"
    }
    run 0 chart "$T/recorded_$1"
    says_out "Schedule $4: $5"
    # Both steps of every rank, each with all forwards; modules as PyTorch calls them.
    run 0 chart "$T/recorded_$1" -o "$T/recorded.json"
    "$python" - "$T/recorded.json" "$2" "$3" "$6" <<'PYTHON' || fail "ops of $1"
import collections
import json
import sys

chart = json.load(open(sys.argv[1]))
ranks, microbatches, chunks = map(int, sys.argv[2:])
forwards = collections.Counter((op["rank"], op["step"], op["chunk"]) for op in chart["ops"] if op["kind"] == "F")
assert len(forwards) == 2 * ranks * chunks and set(forwards.values()) == {microbatches}, forwards
PYTHON
    [ "$(sql "$(database "$T/recorded_$1" 0)" "SELECT count(DISTINCT m.value) FROM MSTX_EVENTS e JOIN STRING_IDS d
        ON d.id = e.domainId JOIN STRING_IDS m ON m.id = e.message WHERE d.value = 'Module'")" -ge 2 ] || fail "modules of $1"
}
record 1f1b 2 4 1f1b 'from metadata' 1
run 0 cluster -m module_statistic -d "$T/recorded_1f1b" -o "$T/modules"
[ "$(sql "$T/modules/cluster_analysis_output/cluster_analysis.db" "SELECT count(*) FROM ModuleTree
    WHERE module = 'Linear' AND calls > 0 AND forwardTime > 0 AND backwardTime > 0")" = 2 ] || fail "modules with their backward passes"
record interleavedzerobubble 2 4 interleaved-zb '' 2 # recognised, or from metadata where PyTorch's own class runs it
