# Sourced by the end-to-end scripts: . tests/e2e/lib/common.sh
# shellcheck shell=sh

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# skip REASON: the last line printed says why.
skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

# sample DIR [RANK...]: a small pipeline of 4 ranks with 1F1B, see the data folder.
sample() { sh "$DATA/pp_chart/1f1b_pp4_mb8/make.sh" "$@"; }

# run STATUS ARGS...: runs the program and wants this exit status; the streams are $T/stdout and $T/stderr.
run() {
    wanted=$1
    shift
    got=0
    pipescope "$@" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ "$got" = "$wanted" ] || {
        cat "$T/stdout" "$T/stderr" >&2
        fail "exit $got instead of $wanted: pipescope $*"
    }
}

# says TEXT, says_out TEXT: the last run said this on stderr, or on stdout.
says() { grep -qF -- "$1" "$T/stderr" || fail "no '$1' on stderr: $(cat "$T/stderr")"; }
says_out() { grep -qF -- "$1" "$T/stdout" || fail "no '$1' on stdout: $(cat "$T/stdout")"; }

# databases DIR: the rank databases below DIR, one a line, ordered.
databases() { find "$1" -name '*_profiler*.db' -type f | sort; }

# database DIR RANK
database() { find "$1" -name "*_profiler_$2.db" -type f; }

# sql DATABASE STATEMENTS
sql() { sqlite3 -batch -bail "$1" "$2"; }

# dump DIR: all rank databases below DIR as SQL text. Rolls back what a killed writer left.
dump() {
    (cd "$1" && databases .) | while read -r path; do
        printf -- '-- %s\n' "$path"
        sqlite3 -batch "$1/$path" .dump
    done
}

# same_dump DIR FILE: the databases of DIR hold what FILE, an earlier dump, says, and they are sound.
same_dump() {
    dump "$1" >"$T/same_dump"
    cmp -s "$T/same_dump" "$2" || {
        diff "$2" "$T/same_dump" | head -n 20 >&2
        fail "the databases of $1 differ from $2"
    }
    databases "$1" | while read -r path; do
        [ "$(sql "$path" 'PRAGMA integrity_check')" = ok ] || fail "$path is damaged"
    done || exit 1
}

# snapshot DIR: what is there to the last byte: names, kinds, modes, sizes, times, contents.
snapshot() {
    (
        cd "$1" || exit 1
        find . -printf '%p %y %m %s %T@ %l\n' | sort
        find . -type f -readable -exec sha256sum {} + | sort
    )
}

# unchanged DIR FILE: DIR is still as an earlier snapshot says.
unchanged() {
    snapshot "$1" >"$T/unchanged"
    cmp -s "$T/unchanged" "$2" || {
        diff "$2" "$T/unchanged" >&2
        fail "$1 was changed"
    }
}

# only_databases DIR: no journal, log, lock or temporary file lies beside the databases.
only_databases() {
    left=$(find "$1" \( -name '*-journal' -o -name '*-wal' -o -name '*-shm' -o -name '*.tmp' \))
    [ -z "$left" ] || fail "left behind: $left"
}
