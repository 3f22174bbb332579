#!/bin/sh
# One set of option words: which commands of src/cli/commands.def take the capture as -d PATH, say JSON by --json and --format json, take "-o -"
# for the terminal, and refuse with exit status 2 a step that is no number, and a step, pipeline or rank that is not there, with those that
# are. A new command needs a line here.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 2 --microbatches 2 --profile "$T/job"
run 0 simulate 1f1b --pp 2 --microbatches 2 --profile "$T/more"

# command | its words before and behind the capture | what it takes: d (-d), j (--json), a (--as), o (-o -), s (--step), p (--pipeline), r (--rank)
cat >"$T/table" <<'TABLE'
serve||d!
cluster|-m step_trace_time|dsr
info||djo
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
        chart | report | cluster)
            # shellcheck disable=SC2086 # words
            run 2 "$command" $words -d "$T/job" --step 99
            says 'step 99: no such step; there are: 1'
            ;;
    esac
    case $takes in
        *p*)
            run 2 "$command" "$T/job" --pipeline 99
            says 'pipeline 99: no such pipeline; there are: 0'
            ;;
    esac
    case $takes in
        *r)
            for option in --rank --rank_list; do
                # shellcheck disable=SC2086 # words
                run 2 "$command" $words -d "$T/job" $option 99
                says 'rank 99: no such rank; there are: 0-1'
            done
            # shellcheck disable=SC2086 # words
            run 4 "$command" $words -d "$T/job" -o "$T/out" --rank 0,99
            ;;
    esac
done <"$T/table"
[ -d "$T/out" ] || fail 'the rank that is there is not analysed'

# Every mode: what takes no step takes none that is not there, either; and nothing is written.
run 2 cluster -m every -d "$T/job" -o "$T/no_step" --export_type csv --step_id 99
says 'step 99: no such step; there are: 1'
[ ! -e "$T/no_step" ] || fail 'something was written'
# A shard may have none of the ranks that have the step: who reduces says it. A cache remembers it.
run 0 cluster -m pp_chart -d "$T/job" --step 99 --shard 1/1 --partials "$T/partials"
run 2 cluster -m pp_chart -d "$T/job" --step 99 --reduce "$T/partials"
says 'step 99: no such step; there are: 1'
for _ in 1 2; do
    run 2 cluster -m pp_chart -d "$T/job" --step 99 --cache "$T/cache"
    says 'step 99: no such step; there are: 1'
done

# info into a file: the same text and the same data as on the terminal.
COLUMNS=120
LC_ALL=C.UTF-8
export COLUMNS LC_ALL
run 0 info "$T/job"
cp "$T/stdout" "$T/text"
run 0 info "$T/job" -o "$T/info.txt"
says_out "wrote $T/info.txt"
cmp "$T/info.txt" "$T/text"
run 0 info "$T/job" --json
cp "$T/stdout" "$T/json"
run 0 info "$T/job" -o "$T/info.json"
cmp "$T/info.json" "$T/json"
run 2 info "$T/job" -o "$T/info.html"
says 'end it in .txt or .json'

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
