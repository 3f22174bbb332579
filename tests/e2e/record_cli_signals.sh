#!/bin/sh
# Signals to `pipescope record` reach the command, and once; Ctrl+C and Ctrl+Z of a terminal too.
# threads: the recorder when a signal comes
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip 'no recorder library in this build'
unset PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD PIPESCOPE_LAUNCH
command -v python3 >/dev/null || skip 'needs python3'
python3 -B tests/e2e/lib/record_signals.py "$PIPESCOPE_BIN" "$T"
