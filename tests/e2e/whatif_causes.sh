#!/bin/sh
# The cause that whatif names is the cause that was planted. WHATIF_CASES: how many jobs.
set -eu
python3 "$(dirname "$0")/lib/whatif_causes.py" "$PIPESCOPE_BIN" "$T" "${WHATIF_CASES:-216}"
