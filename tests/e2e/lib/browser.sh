# Sourced by the end-to-end scripts that look at the viewer in a real browser: . tests/e2e/lib/browser.sh
# shellcheck shell=sh disable=SC2034
# shellcheck source=tests/e2e/lib/common.sh
. tests/e2e/lib/common.sh

server_pids=
stop_servers() {
    for pid in $server_pids; do
        kill "$pid" 2>/dev/null || :
    done
}
trap stop_servers EXIT
trap 'exit 1' INT TERM

# browser: sets $chromium, or skips and says what is missing. A browser over a program with sanitizers takes minutes and tells no
# more than the same pages over a plain one: there the servers are tested by tests/serve.
browser() {
    case $(dirname "$PIPESCOPE_BIN") in
    */release) ;;
    */build/*) skip "browser tests run in the release preset" ;;
    esac
    # The headless shell draws the same pages without the browser's own window, for three quarters of the processor's time.
    chromium=$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
    command -v node >/dev/null 2>&1 || skip "no node"
    [ -d web/node_modules/playwright-core ] || skip "no playwright-core: run ./dev web-test once"
    HOME=$T
    export HOME
}

# shared PATH: skips where this folder of large samples is not there.
shared() { [ -e "$PIPESCOPE_SHARED_DATA/$1" ] || skip "no sample data: $1"; }

# serve PATH [OPTION...]: starts a server on a free port and sets $url. It is stopped when the script ends.
serve() {
    server_log=$(mktemp "$T/server.XXXXXX")
    "$PIPESCOPE_BIN" serve "$@" --port 0 >"$server_log" 2>"$server_log.err" &
    server_pid=$!
    server_pids="$server_pids $server_pid"
    tries=0
    until url=$(grep -m1 '^http' "$server_log"); do
        kill -0 "$server_pid" 2>/dev/null || fail "the server of $1 ended: $(cat "$server_log.err")"
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "the server of $1 said no address in a minute"
        sleep 0.1
    done
}
