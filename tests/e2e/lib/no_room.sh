# Sourced by disk_full.sh and full_disk.sh, after common.sh.
# shellcheck shell=sh

# either DIR STATUS: each database of DIR is that of $T/in or that of $T/done, and the exit status says which.
either() {
    only_databases "$1"
    n_done=0
    for rank in 0 1; do
        sqlite3 "$(database "$1" $rank)" .dump >"$T/now"
        sqlite3 "$(database "$T/in" $rank)" .dump >"$T/old"
        sqlite3 "$(database "$T/done" $rank)" .dump >"$T/new"
        if cmp -s "$T/now" "$T/new"; then
            n_done=$((n_done + 1))
        else
            cmp "$T/now" "$T/old"
        fi
        [ "$(sql "$(database "$1" $rank)" 'PRAGMA integrity_check')" = ok ]
    done
    case $2.$n_done in
        0.2 | 4.1 | 1.0) ;;
        *) fail "exit $2 with $n_done databases written: $(cat "$T/stderr")" ;;
    esac
}
