# Sourced by the scripts that do the parity list: . tests/e2e/lib/parity.sh
# shellcheck shell=sh
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

parity_pids=
# parity KIND PATH: begins with a capture; KIND is its column in docs/parity.md.
parity() {
    serve "$(cd "$2" && pwd)"
    PIPESCOPE_SERVER=$server_pid node web/test/parity.mjs "$chromium" "$url" "$1" >"$T/parity.$server_pid" 2>&1 &
    parity_pids="$parity_pids $!:$server_pid"
}

# parity_end: waits for all of them and shows what they said.
parity_end() {
    status=0
    for pair in $parity_pids; do
        wait "${pair%:*}" || status=1
        cat "$T/parity.${pair#*:}"
    done
    exit "$status"
}
