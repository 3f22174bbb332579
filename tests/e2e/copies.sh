#!/bin/sh
# -o DIR: mirrored copies with the results; the input stays as it is to the last byte.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
sample "$T/direct"
run 0 -m pp_chart -d "$T/direct"
dump "$T/direct" >"$T/want"
snapshot "$T/in" >"$T/before"

run 0 -m pp_chart -d "$T/in" -o "$T/new/out"
unchanged "$T/in" "$T/before"
says_out 'Wrote 4 copies, the first is '
same_dump "$T/new/out" "$T/want"
only_databases "$T/new/out"
# The copy of a rank directory is one too: names and the profiler's JSON files.
(cd "$T/in" && find . | sort) >"$T/names"
(cd "$T/new/out" && find . | sort) | cmp - "$T/names"
(cd "$T/in" && find . -name '*.json') | while read -r name; do
    cmp "$T/in/$name" "$T/new/out/$name"
done
python3 tests/e2e/lib/check_sample.py "$T/new/out" "$DATA/pp_chart/1f1b_pp4_mb8/expected.json"

# Own copies are replaced, half-made ones are swept away.
path=$(database "$T/new/out" 0)
sql "$path" 'DROP TABLE StepTaskInfo'
cp "$path" "$path.tmp" # as of a run that was killed; it has our mark
run 0 -m pp_chart -d "$T/in" -o "$T/new/out"
same_dump "$T/new/out" "$T/want"
only_databases "$T/new/out"

# A foreign file of that name is kept and reported, the other ranks are written.
mkdir "$T/foreign"
cp -R "$T/new/out/." "$T/foreign"
rm "$T/foreign"/*/*/*.db
for rank in 1 2; do
    place=$(basename "$(dirname "$(dirname "$(database "$T/in" $rank)")")")/ASCEND_PROFILER_OUTPUT
    case $rank in
        1) echo 'my notes' ;;
        2) cat "$(database "$T/in" 2)" ;; # another profile
    esac >"$T/foreign/$place/ascend_pytorch_profiler_$rank.db"
    cp "$T/foreign/$place/ascend_pytorch_profiler_$rank.db" "$T/foreign_$rank"
done
run 4 -m pp_chart -d "$T/in" -o "$T/foreign"
says_out 'Wrote 2 copies'
[ "$(grep -c 'exists and is no copy made by pipescope: choose another -o directory' "$T/stderr")" -eq 2 ]
cmp "$(database "$T/foreign" 1)" "$T/foreign_1"
cmp "$(database "$T/foreign" 2)" "$T/foreign_2"
unchanged "$T/in" "$T/before"

# -o inside -d: later runs read the originals.
cp -R "$T/in" "$T/inside"
run 0 -m pp_chart -d "$T/inside" -o "$T/inside/out"
same_dump "$T/inside/out" "$T/want"
for again in 1 2; do
    run 0 -m pp_chart -d "$T/inside" -o "$T/inside/out"
    says '4 copies that an earlier run wrote are left out: the originals are here'
    same_dump "$T/inside/out" "$T/want"
    run 0 info "$T/inside" --json
    [ "$(grep -c '"StepTaskInfo"' "$T/stdout")" -eq 0 ] || fail "run $again: info reads the copies"
done
mv "$T/inside/out" "$T/moved"
(cd "$T/inside" && find . | sort) | cmp - "$T/names"
dump "$T/inside" >"$T/inside.sql"
same_dump "$T/in" "$T/inside.sql"
# Copies by themselves are a profile as any other.
run 0 -m pp_chart -d "$T/moved"
same_dump "$T/moved" "$T/want"

# -o that is the input, by name or through a link, or that is a file.
run 2 -m pp_chart -d "$T/in" -o "$T/in/."
says 'leave -o out to write in place'
ln -s in "$T/link"
run 2 -m pp_chart -d "$T/in" -o "$T/link"
run 1 -m pp_chart -d "$T/in" -o "$T/want"
says 'exists and is not a directory'
unchanged "$T/in" "$T/before"
