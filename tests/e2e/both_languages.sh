#!/bin/sh
# What people read is in the language that they ask in: every command and every route over small captures of all formats, asked for
# Chinese, says no English sentence. tests/e2e/lib/both_languages.py lists what stays English, and why.
set -eu

QUERY_SHARE=${QUERY_SHARE:-6} sh tests/support/query_captures.sh "$T/captures" >"$T/list"
python3 tests/e2e/lib/both_languages.py "$T" "$T/list"
