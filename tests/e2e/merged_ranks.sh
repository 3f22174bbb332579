#!/bin/sh
# One file of trace events that holds several ranks is read as that many, and one of workers whose ranks are not told never passes for one stage.
# threads: ranks of one file
set -eu
python3 "$(dirname "$0")/lib/merged_ranks.py" "$PIPESCOPE_BIN" "$T"
