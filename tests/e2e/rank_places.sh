#!/bin/sh
# -d takes the cluster, one rank directory, its inner folder or its database, from any working directory.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/all"
run 0 -m pp_chart -d "$T/all"
path=$(database "$T/all" 2)
sql "$path" 'SELECT * FROM StepTaskInfo' >"$T/labels"

one() { # one DIRECTORY WORD: from DIRECTORY, `-d WORD` labels rank 2 and knows its metadata
    rm -rf "$T/one"
    sample "$T/one" 2
    path=$(database "$T/one" 2)
    # The database itself does not know the stage: profiler_metadata.json beside its folder does.
    sql "$path" "DELETE FROM META_DATA"
    cd "$T/one/$1" || exit 1
    run 0 -m pp_chart -d "$2" --step_id 5
    run 0 -m pp_chart -d "$2"
    cd "$OLDPWD" || exit 1
    sql "$path" 'SELECT * FROM StepTaskInfo' | cmp - "$T/labels"
    says_out 'stage 2  rank 2'
    only_databases "$T/one"
}
dir=node0_1002_20250109012610002_ascend_pt
db=ascend_pytorch_profiler_2.db
one . .
one . "$dir"
one . "$dir/"
one . "$dir/ASCEND_PROFILER_OUTPUT"
one . "$dir/ASCEND_PROFILER_OUTPUT/$db"
one "$dir" .
one "$dir" ..
one "$dir" ASCEND_PROFILER_OUTPUT/
one "$dir/ASCEND_PROFILER_OUTPUT" .
one "$dir/ASCEND_PROFILER_OUTPUT" ./
one "$dir/ASCEND_PROFILER_OUTPUT" ..
one "$dir/ASCEND_PROFILER_OUTPUT" "$db"
one "$dir/ASCEND_PROFILER_OUTPUT" "$T/one"

# Names that a shell, a URI or a terminal would take for something else.
odd="$T/100% of #1? 'it'"
mkdir "$odd"
sample "$odd/in"
run 0 -m pp_chart -d "$odd/in"
run 0 -m pp_chart -d "$odd/in" -o "$odd/out"
only_databases "$odd"
dump "$odd/in" >"$T/in.sql"
same_dump "$odd/out" "$T/in.sql"
run 0 info "$odd/in" --json
python3 -m json.tool "$T/stdout" >/dev/null
