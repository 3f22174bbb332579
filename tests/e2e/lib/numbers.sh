# Sourced by the scripts that compare the numbers of pages with the command line: . tests/e2e/lib/numbers.sh
# shellcheck shell=sh
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

numbers_asked=
# numbers NAME PATH [BASE]: begins with a capture, beside its baseline where there is one.
numbers() {
    if [ $# -gt 2 ]; then
        serve "$2" --baseline "$3"
    else
        serve "$2"
    fi
    name=$1
    shift
    node web/test/numbers.mjs "$chromium" "$PIPESCOPE_BIN" "$name" "$url" "$@" >"$T/numbers.$server_pid" 2>&1 &
    numbers_asked="$numbers_asked $!:$server_pid"
}

# numbers_end: waits for all of them, shows what they said and ends.
numbers_end() {
    status=0
    for pair in $numbers_asked; do
        wait "${pair%:*}" || status=1
        cat "$T/numbers.${pair#*:}"
    done
    exit "$status"
}
