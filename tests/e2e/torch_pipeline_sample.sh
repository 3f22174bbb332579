#!/bin/sh
# The traces kept in tests/data/torch_pipeline hold the labels of their schedules, and nothing that names a machine.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

for schedule in dualpipev gpipe; do
    python3 tests/e2e/lib/check_torch_labels.py "$DATA/torch_pipeline/$schedule" "$schedule" 4 8 || fail "$schedule"
done
for path in "$DATA"/torch_pipeline/*/*.gz; do
    gzip -dc "$path" >"$T/trace"
    if grep -qE '"(host_name|traceName|username)"|/tmp/|/home/|/root/' "$T/trace"; then
        fail "$path names the machine that it was made on"
    fi
done
run 0 chart "$DATA/torch_pipeline/dualpipev"
says_out 'Schedule dualpipev: recognised, 100.0 % of ops agree.'
run 0 chart "$DATA/torch_pipeline/gpipe"
says_out 'Schedule gpipe: recognised, 100.0 % of ops agree.'
says 'start before what they need has ended' # these traces have no operators that send: what sends is inside the ops
