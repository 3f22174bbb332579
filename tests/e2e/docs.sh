#!/bin/sh
# Commands on the pages are commands of the program: every verb and option in their code is one that its help knows; and what the
# pages ask to try on captures of the repository works.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 tests/e2e/lib/doc_commands.py >"$T/faults" || fail "pages name what the program does not have: $(cat "$T/faults")"

# docs/start.md: "Try it".
run 0 chart tests/data/torch_pipeline/dualpipev
run 0 chart tests/data/paddle_logs/pp4_1f1b_2x2
says_out 'Schedule 1f1b: recognised'
run 0 simulate 1f1b --pp 4 --microbatches 8 --f-us 9000 --b-us 21000
run 0 simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --profile "$T/made"
run 0 chart "$T/made" --against dualpipev
says_out 'dualpipev (replayed)'
