#!/bin/sh
# Each exit status once: 0 done, 1 failed, 2 usage or no such path, 3 nothing to analyse, 4 in part.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
run 0 -m pp_chart -d "$T/in"
run 0 info "$T/in"

run 0
says_out 'usage: pipescope COMMAND'
run 2 -m '' -d "$T/in"
says 'no mode given'
run 2 -m pp_chart
says 'no input given'
run 2 -m pp_chart -d "$T/nowhere"
says 'there is no such file or directory'
run 2 info "$T/nowhere"
run 2 info
run 2 -m pp_char -d "$T/in"
says "did you mean 'pp_chart'?"
run 2 -m '' -d "$T/in"
run 2 -m pp_chart, -d "$T/in" --no-such-option
run 2 -m pp_chart -d "$T/in" --pp 0
run 2 -m pp_chart -d "$T/in" --order sideways

mkdir "$T/empty"
run 3 -m pp_chart -d "$T/empty"
says 'no profiler database found'
[ ! -e "$T/empty/cluster_analysis_output" ] || fail "an output folder without output"
run 3 info "$T/empty"
sql "$(database "$T/in" 1)" 'DELETE FROM MSTX_EVENTS'
run 3 -m pp_chart -d "$T/in" --rank_list 1
says 'rank 1: '

# A rank without marks among others is a part that is missing; so is one that cannot be read.
run 4 -m pp_chart -d "$T/in"
says 'rank 1: '
says_out 'Wrote into 3 databases'
echo nonsense >"$(database "$T/in" 1)"
run 4 -m pp_chart -d "$T/in"
run 4 info "$T/in"
run 1 -m pp_chart -d "$T/in" --rank_list 1
run 1 info "$(database "$T/in" 1)"
for rank in 0 2 3; do echo nonsense >"$(database "$T/in" $rank)"; done
run 1 -m pp_chart -d "$T/in"
[ "$(wc -l <"$T/stderr")" -eq 4 ]
