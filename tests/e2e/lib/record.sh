# Recording programs with the library alone, and looking at what came of it.
# shellcheck shell=sh

command -v sqlite3 >/dev/null || {
    echo "needs sqlite3"
    exit 77
}

# record_run DIR COMMAND...: runs it with recording on from the start, into DIR.
record_run() {
    record_dir=$1
    shift
    (
        PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$record_dir PIPESCOPE_QUIET=1
        export PIPESCOPE_RECORD PIPESCOPE_OUTPUT_DIR PIPESCOPE_QUIET
        "$@"
    )
}

# With the library loaded before the program. Sanitizers want to be first themselves, which does not matter here.
record_preload() {
    LD_PRELOAD=$PIPESCOPE_RECORD_LIBRARY ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" "$@"
}

# The one database below a folder.
record_database() {
    record_found=$(find "$1" -name 'ascend_pytorch_profiler*.db')
    if [ "$(printf '%s\n' "$record_found" | grep -c .)" != 1 ]; then
        echo "not one database below $1: $record_found" >&2
        return 1
    fi
    printf '%s\n' "$record_found"
}

# record_drop DATABASE KIND N: so many were counted.
record_drop() {
    record_n=$(sqlite3 "$1" "SELECT coalesce(json_extract(value, '\$.$2'), 0) FROM META_DATA WHERE name = 'collector.drops'")
    if [ "$record_n" != "$3" ]; then
        echo "$2: $record_n instead of $3: $(sqlite3 "$1" "SELECT value FROM META_DATA WHERE name = 'collector.drops'")" >&2
        return 1
    fi
}

# Whether the library was built with a sanitizer, which programs that were not cannot load.
record_sanitized() {
    nm -D "$PIPESCOPE_RECORD_LIBRARY" 2>/dev/null | grep -qE '__(asan|tsan|ubsan)_'
}

# same GOT WANTED; line LINE [FILE]: the file, or standard input, has this line. They say what was there instead.
same() {
    [ "$1" = "$2" ] || {
        printf 'FAILED: got      %s\n        instead of %s\n' "$1" "$2" >&2
        exit 1
    }
}
line() {
    record_lines=$(cat -- "${2:-/dev/stdin}")
    printf '%s\n' "$record_lines" | grep -qxF -- "$1" || {
        printf "FAILED: no line '%s' in\n%s\n" "$1" "$record_lines" >&2
        exit 1
    }
}
