#!/bin/sh
# Tables that modes and views make for a query: their columns are those of docs/sql.md, their figures those of the viewer and of the modes, every
# example runs.
# threads: modes that a statement runs
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

captures=$(sh tests/support/query_captures.sh "$T")
# The list needs all captures.
# shellcheck disable=SC2086
[ -n "${QUERY_SHARE:-}" ] || python3 tests/support/made_columns.py $captures
# shellcheck disable=SC2086
python3 tests/support/query_views.py $captures

# What a capture has, for people and for programs.
run 0 query tests/data/kineto_dualpipe/rank-3.json --schema
says_out 'ClusterStepTraceTime'
run 0 query tests/data/kineto_dualpipe/rank-3.json --schema --as csv -o "$T/schema.csv"
grep -q '^kernel_launch,slice,INTEGER' "$T/schema.csv" || fail "the view kernel_launch: $(cat "$T/schema.csv")"
run 2 query "$T/nobody" --schema

# Options of modes are those of cluster.
run 0 query "$T/marks" "SELECT 'n=' || count(*) FROM HcclTopOpStats" --as csv --top_num 2
says_out 'n=2'
run 0 query "$T/marks" "SELECT 'n=' || count(*) FROM HcclTopOpStats" --as csv --top_num 3
says_out 'n=3'
run 0 query "$T/marks" "SELECT 'n=' || count(DISTINCT step) FROM ClusterStepTraceTime" --as csv --step_id 5
says_out 'n=1'
run 0 query "$T/marks" "SELECT 'n=' || count(DISTINCT step) FROM ClusterStepTraceTime" --as csv
says_out 'n=2'
