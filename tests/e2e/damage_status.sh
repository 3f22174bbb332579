#!/bin/sh
# One truth in all commands: a path without a profile is 3, a profile of which nothing can be read is 1, a text file that
# ends in the middle is read as far as it goes.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
echo '{"hello": 1}' >"$T/hello.json"
: >"$T/empty.json"
mkdir "$T/empty"
cp "$(database "$T/in" 1)" "$T/cut.db"
truncate -s 50000 "$T/cut.db"

# each STATUS PATH: all commands that read a profile agree
each() {
    for mode in step_trace_time pp_chart every slow_rank,hccl_sum communication_bottleneck; do
        run "$1" -m $mode -d "$2" -o "$T/out"
    done
    run "$1" report "$2"
    run "$1" info "$2"
    run "$1" chart "$2"
    run "$1" convert "$2" -o "$T/x.json"
    run "$1" compare "$2" "$T/in"
    run "$1" compare "$T/in" "$2"
    [ ! -e "$T/out/cluster_analysis_output" ] || fail "an output folder without output"
}
each 3 "$T/empty"
each 3 "$T/empty.json"
says 'the file is empty (0 bytes)'
each 3 "$T/hello.json"
says 'not a profile that pipescope knows'
each 1 "$T/cut.db"
says 'cut off in page'
says 'copy the file again'
run 4 convert "$T/in" "$T/hello.json" -o "$T/x.json"
says 'hello.json: not a profile'

# Two text ranks, one cut off before its device: what it lacks is a part that is missing, also in a set of modes.
for rank in 3 4; do
    cp -R "$DATA/ascend_text/rank3_ascend_pt" "$T/text_rank$rank"
    rm "$T/text_rank$rank/ASCEND_PROFILER_OUTPUT/communication_matrix.json" # it is odd on purpose
    mkdir -p "$T/text"
    mv "$T/text_rank$rank" "$T/text/rank${rank}_ascend_pt"
done
cut=$T/text/rank4_ascend_pt
mv "$cut/profiler_info_3.json" "$cut/profiler_info_4.json"
run 0 -m step_trace_time,free_analysis -d "$T/text" -o "$T/text_out"
trace=$cut/ASCEND_PROFILER_OUTPUT/trace_view.json
truncate -s "$(($(stat -c %s "$trace") / 2))" "$trace"
run 4 -m every -d "$T/text" -o "$T/text_out"
says 'ends in the middle'
run 4 -m every -d "$T/text" -o "$T/text_out" --strict
says '(--strict makes it fatal)'
run 0 compare "$T/text" "$T/text" # what is left of the rank has a part to compare

# A mode that compares ranks says that there is nothing to compare, and which rank could not be read.
run 2 -m hccl_sum -d "$T/in" -o "$T/one" --rank_list 0 --step_id 99
run 3 -m slow_rank -d "$T/in" -o "$T/one" --rank_list 0
says 'ranks are compared with one another'
truncate -s 50000 "$(database "$T/in" 1)"
run 1 -m slow_rank -d "$T/in" -o "$T/one" --rank_list 0,1
says 'rank 1: '
says 'cut off in page'
says 'copy the file again'
[ ! -e "$T/one" ] || fail "an output folder without output"
