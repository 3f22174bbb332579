#!/bin/sh
# Each line of docs/msprof-analyze.md: flags of other tools work as it says. And what completes words in a shell.
set -eu
# shellcheck source=tests/e2e/lib/common.sh
. tests/e2e/lib/common.sh

sample "$T/job"

cp -r "$DATA/paddle_logs/pp4_1f1b_2x2" "$T/logs"
python3 tests/support/flags.py docs/msprof-analyze.md "$T" >"$T/lines"
n=0
while IFS='|' read -r wanted reason words; do
    rm -rf "$T/out" && mkdir "$T/out"
    # shellcheck disable=SC2086 # a command line
    run "$wanted" --quiet $words
    [ -z "$reason" ] || says "$reason"
    n=$((n + 1))
done <"$T/lines"
[ "$n" -ge 60 ] || fail "only $n flags in the table"

# The three ways to begin, and what is asked wrongly.
for words in "-d $T/job" "cluster -d $T/job" "cluster $T/job -m all"; do
    rm -rf "$T/out"
    # shellcheck disable=SC2086
    run 0 $words -o "$T/out"
    [ -s "$T/out/cluster_analysis_output/cluster_analysis.db" ] || fail "no database of: $words"
done
run 2 cluster "$T/job" -d "$T/job"
says "two inputs"
run 2 cluster
says "no input given: -d DIR"
run 2 compare "$T/job"
says "NEW BASE"
run 2 compare "$T/job" -bp "$T/job"
says "give both sides"
run 0 compare "$T/job" --baseline "$T/job"
run 2 compare "$T/job" "$T/job" --baseline "$T/job"
says "give both sides"
run 2 cluster -mode all -d "$T/job"
says "did you mean '--mode'"

run 2 compare "$T/job" "$T/job" --benchmark_profiling_path "$T/job"
says "give both sides"
run 0 advisor -d "$T/job" -cv 8.0.0 --verbose
says "--cv is accepted and does nothing: read from the profile"
run 0 compare "$T/job" "$T/job" --max_kernel_num 3 --verbose
says "--max_kernel_num is accepted and does nothing"

# For programs: JSON and nothing else.
rm -rf "$T/out"
run 0 cluster "$T/job" --agent -o "$T/out"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["done"] == 4' "$T/stdout"
run 0 advisor -d "$T/job" --agent
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["format"] == "pipescope-report"' "$T/stdout"

# Parts of a comparison.
run 0 compare "$T/job" "$T/job" --enable_api_compare -o "$T/part.json"
python3 -c 'import json, sys; assert list(json.load(open(sys.argv[1]))["tables"]) == ["ApiCompare"]' "$T/part.json"
run 0 compare "$T/job" "$T/job" --disable_details -o "$T/part.json"
python3 -c 'import json, sys; assert list(json.load(open(sys.argv[1]))["tables"]) == ["OverallCompare", "StepCompare", "StageCompare", "CompareNotes"]' "$T/part.json"

# Words in a shell.
command -v bash >/dev/null || skip "no bash"
cat >"$T/words.bash" <<'BASH'
eval "$(pipescope auto-completion bash)"
words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _pipescope
    printf '%s: %s\n' "$*" "${COMPREPLY[*]}"
}
words pipescope ch
words pipescope --quiet rep
words pipescope chart --ag
words pipescope chart --against dual
words pipescope cluster --export_type ""
words pipescope simulate --ord
words pipescope simulate --order mega
words pipescope chart ./
words pipescope chart -o x
words pipescope cluster --forc
BASH
bash "$T/words.bash" >"$T/words"
cat >"$T/wanted" <<'TEXT'
pipescope ch: chart
pipescope --quiet rep: report
pipescope chart --ag: --against
pipescope chart --against dual: dualpipe dualpipev
pipescope cluster --export_type : db csv json xlsx text
pipescope simulate --ord: 
pipescope simulate --order mega: 
pipescope chart ./: 
pipescope chart -o x: 
pipescope cluster --forc: 
TEXT
diff "$T/wanted" "$T/words" >&2 || fail "other words are completed"
if command -v fish >/dev/null; then
    pipescope auto-completion fish >"$T/words.fish"
    fish --no-execute "$T/words.fish" || fail "fish does not read its completions"
fi
if command -v zsh >/dev/null; then
    pipescope auto-completion zsh >"$T/words.zsh"
    zsh -n "$T/words.zsh" || fail "zsh does not read its completions"
fi
