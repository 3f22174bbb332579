#!/bin/sh
# docs/pictures/make.sh: all pictures beside this script anew, from the program and its page (./dev pictures builds both first). Those of a
# recording (recorded-*.svg) need processors that nobody else uses: they are made with --recorded only. docs/pictures/README.md says what
# each shows.
set -eu

cd "$(dirname -- "$0")/../.."
build=${PIPESCOPE_BUILD:-build/release}
out=${PICTURES_OUT:-docs/pictures}
recorded=${1:-}
T=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    rm -rf "$T"
}
trap end EXIT
trap 'exit 1' INT TERM

pipescope() { "$build/pipescope" "$@" --quiet; }

# serve PATH...: sets $url.
serve() {
    [ -z "$server" ] || kill "$server"
    rm -f "$T/url"
    "$build/pipescope" serve "$@" --port 0 --quiet >"$T/url" &
    server=$!
    tries=0
    until url=$(grep -m1 "^http" "$T/url" 2>/dev/null); do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "the server of $1 said no address" >&2; exit 1; }
        sleep 0.1
    done
}

# shot NAME ADDRESS: the picture NAME.png, as web/test/pictures.mjs says.
shot() { node web/test/pictures.mjs "$chromium" "$1" "$2" "$out/$1.png"; }

# --- drawings of the program -----------------------------------------------------------------------------------------------

pipescope simulate 1f1b --pp 4 --microbatches 8 -o "$out/1f1b.svg"
pipescope simulate zb-h1 --pp 4 --microbatches 8 -o "$out/zb-h1.svg"
mkdir "$T/theory"
pipescope simulate dualpipev --pp 4 --microbatches 10 --p2p-us 400 --jitter 10 --slow-stage 2:1.15 --seed 1 --profile "$T/theory/job" >/dev/null
pipescope chart "$T/theory/job" --against dualpipev -o "$out/dualpipev-against-theory.svg"

if [ "$recorded" = --recorded ]; then
    "$build/examples/example-pipeline" --steps 6 --window 1:6 --slow-stage 2:2 --device-gflops 2 --output "$T/recorded/job"
    pipescope chart "$T/recorded/job" --step 3 -o "$out/recorded-slow-stage.svg"
    "$build/examples/example-pipeline" --schedule dualpipev --microbatches 10 --steps 8 --window 1:8 --device-gflops 2 --output "$T/dualpipev/job"
    pipescope chart "$T/dualpipev/job" --step 3 --against dualpipev -o "$out/recorded-dualpipev.svg"
fi

# --- pages in a browser ----------------------------------------------------------------------------------------------------

chromium=$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "no Chromium: the pictures of pages are as they were" >&2
    exit 77
}

pipescope chart "$T/theory/job" --against dualpipev -o "$T/page.html"
shot page-hover "file://$T/page.html"
pipescope simulate 1f1b --pp 64 --microbatches 512 -o "$T/wide.html"
shot page-64-stages-dark "file://$T/wide.html"

mkdir "$T/whatif" "$T/query" "$T/viewer" "$T/old"
pipescope simulate 1f1b --pp 4 --microbatches 8 --dp 4 --steps 6 --jitter 3 --seed 5 --slow-stage 2:1.4 --profile "$T/whatif/job" >/dev/null
serve "$T/whatif/job"
shot viewer-whatif "$url"
pipescope simulate 1f1b --pp 4 --microbatches 8 --steps 2 --profile "$T/query/job" >/dev/null
serve "$T/query/job"
shot viewer-query "$url"
serve tests/data/kineto_dualpipe/rank-3.json
shot viewer-calls "$url"
pipescope simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --filler 200 --jitter 5 --slow-stage 2:1.2 --profile "$T/viewer/job" >/dev/null
serve "$T/viewer/job"
shot viewer-timeline "$url"
shot viewer-pipeline "$url"
shot viewer-summary "$url"
pipescope simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --filler 200 --jitter 5 --profile "$T/old/baseline" >/dev/null
(cd "$T" && mv viewer/job new && mv old/baseline old.job && rmdir old && mv old.job old)
serve "$T/new" --baseline "$T/old"
shot viewer-operator "$url"
