#!/bin/sh
# Captures of real training without marks: every rank says what is missing, exit 3, and not one byte changes.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

[ -d "$PIPESCOPE_SHARED_DATA/ascend/db" ] || skip "no shared data ascend/db"
for from in "$PIPESCOPE_SHARED_DATA"/ascend/db/*; do
    level=$(basename "$from")
    cp -R "$from" "$T/$level"
    chmod -R u+w "$T/$level"
    n=$(databases "$T/$level" | wc -l)
    snapshot "$T/$level" >"$T/before"

    run 3 -m pp_chart -d "$T/$level"
    [ "$(wc -l <"$T/stderr")" -eq "$n" ] || fail "$level: not one line for each of $n ranks: $(cat "$T/stderr")"
    [ "$(grep -c 'pipescope: rank [0-9]*: .*mstx' "$T/stderr")" -eq "$n" ] || fail "$level: $(cat "$T/stderr")"
    [ ! -s "$T/stdout" ] || fail "$level: printed $(cat "$T/stdout")"
    unchanged "$T/$level" "$T/before"

    # A mode that finds something among others that do not: in part, and each says so.
    run 4 -m p2p_pairing,mstx2commop,pp_chart -d "$T/$level" -o "$T/copies_$level"
    for line in 'mstx2commop: all %s ranks: COMMUNICATION_OP is there already' 'pp_chart: all %s ranks: no MSTX_EVENTS'; do
        # shellcheck disable=SC2059
        says "$(printf "$line" "$n")"
    done
    unchanged "$T/$level" "$T/before"
    run 0 info "$T/$level"
    says_out "$n ranks"
    says_out 'no mstx marks: pp_chart has nothing to label'
    unchanged "$T/$level" "$T/before"
    run 0 info "$T/$level" --json
    python3 -m json.tool "$T/stdout" >/dev/null
    unchanged "$T/$level" "$T/before"

    # Neither does it on files that nobody may write.
    chmod -R a-w "$T/$level"
    snapshot "$T/$level" >"$T/before"
    run 3 -m pp_chart -d "$T/$level"
    unchanged "$T/$level" "$T/before"
done

# Text results hold no database: the message tells how to get one.
from=$PIPESCOPE_SHARED_DATA/ascend/text/level1
[ ! -d "$from" ] || {
    run 3 -m pp_chart -d "$from"
    says '2 rank directories hold text results only'
    run 0 info "$from"
    says_out ascend-text
}
