#!/bin/sh
# One set of option words: which commands of src/cli/commands.def take the capture as -d PATH, say JSON by --json and --format json, take "-o -"
# for the terminal, and refuse with exit status 2 a step that is no number, and (chart, report) a step or pipeline that is not there. A new
# command needs a line here.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 2 --microbatches 2 --profile "$T/job"
run 0 simulate 1f1b --pp 2 --microbatches 2 --profile "$T/more"

# command | its words before and behind the capture | what it takes: d (-d), j (--json), a (--as), o (-o -), s (--step), p (--pipeline)
cat >"$T/table" <<'TABLE'
serve||d!
cluster|-m step_trace_time|ds
info||dj
chart||djosp
report||djos
whatif||djo
plan|--layers 8|djo
compare||jo
query|SELECT(1)|daos
convert||d!
advisor||d
simulate|1f1b --pp 2 --microbatches 2|jo
schedules||-
record||-
timeline||-
formats||-
modes||-
auto-completion||-
version||-
help||-
TABLE
sed -n 's/^X(\(.*\))/\1/p' src/cli/commands.def | tr _ - | sort >"$T/known"
cut -d '|' -f 1 "$T/table" | sort | cmp - "$T/known" || fail 'a command has no line in the table, or the other way round'


while IFS='|' read -r command words takes; do
    case $takes in
        -) continue ;;
        *!) # its help alone: it would serve, or needs a file
            pipescope help "$command" | grep -q -e '-d, --profiling_path' || fail "$command has no -d"
            continue
            ;;
    esac
    case $command in compare) input="$T/job $T/more" ;; simulate) input= ;; *) input=$T/job ;; esac
    case $takes in
        d*)
            # shellcheck disable=SC2086 # words
            run 0 "$command" $words -d "$T/job"
            cp "$T/stdout" "$T/by_option"
            case $command in
                cluster | advisor) ;;
                *)
                    # shellcheck disable=SC2086 # words
                    run 0 "$command" $input $words
                    cmp -s "$T/stdout" "$T/by_option" || fail "$command: -d gives something else than the word"
                    ;;
            esac
            ;;
    esac
    case $takes in
        *j*)
            # shellcheck disable=SC2086 # words
            run 0 "$command" $input $words --json
            python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$T/stdout" || fail "$command --json is no JSON"
            cp "$T/stdout" "$T/json"
            # shellcheck disable=SC2086 # words
            [ "$command" = simulate ] || run 0 "$command" $input $words --format json
            cmp -s "$T/stdout" "$T/json" || fail "$command: --format json is not --json"
            ;;
        *a*)
            # shellcheck disable=SC2086 # words
            run 0 "$command" $input $words --format json
            python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$T/stdout" || fail "$command --format json is no JSON"
            ;;
    esac
    case $takes in
        *o*)
            # shellcheck disable=SC2086 # words
            run 0 "$command" $input $words
            cp "$T/stdout" "$T/text"
            # shellcheck disable=SC2086 # words
            run 0 "$command" $input $words -o -
            cmp -s "$T/stdout" "$T/text" || fail "$command: -o - is not the text on the terminal"
            ;;
    esac
    case $takes in
        *s*)
            # shellcheck disable=SC2086 # words
            run 2 "$command" $words -d "$T/job" --step x
            ;;
    esac
    case $command in
        chart | report)
            run 2 "$command" "$T/job" --step 99
            says 'step 99'
            ;;
    esac
    case $takes in
        *p*)
            run 2 "$command" "$T/job" --pipeline 99
            says 'pipeline 99'
            ;;
    esac
done <"$T/table"

# Which of them? And what writes several files does not take the terminal for a folder of that name.
run 2 chart "$T/job" -d "$T/more"
says 'which of them'
for words in "cluster -m all -d $T/job" "timeline --log_dir $T/job" "convert $T/job" "record"; do
    # shellcheck disable=SC2086 # words
    run 2 $words -o -
    says "'-' is no"
done

# What a variable says is judged as the option is.
printf 'no rule\n' >"$T/rules"
run 2 chart "$T/job" --comm-rules "$T/rules"
sed 's/--comm-rules/WHO/' "$T/stderr" >"$T/by_option"
PIPESCOPE_COMM_RULES=$T/rules
export PIPESCOPE_COMM_RULES
run 2 chart "$T/job"
sed 's/PIPESCOPE_COMM_RULES/WHO/' "$T/stderr" | cmp - "$T/by_option" || fail 'a wrong variable is not told as a wrong option is'
