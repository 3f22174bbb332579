#!/bin/sh
# What NCCL itself says through NVTX, on a machine without a GPU: its ranges, its layouts, the payload of AllReduce. The library
# is that of PIPESCOPE_NCCL_LIBRARY, else a package of the Python package index (200 MB, kept below build/cache).
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/record.sh
# shellcheck disable=SC1091
. tests/e2e/lib/packages.sh
command -v python3 >/dev/null || skip 'needs python3'
case $PIPESCOPE_BIN in
*/build/release/*) ;;
*) skip 'only in the release build' ;;
esac
library=${PIPESCOPE_NCCL_LIBRARY:-}
if [ -z "$library" ]; then
    [ "$(uname -m)" = x86_64 ] || skip 'the package of NCCL is for x86-64'
    folder=$(package nvidia-nccl-cu12 2.26.2 60) || skip 'the package nvidia-nccl-cu12 cannot be had'
    library=$folder/nvidia/nccl/lib/libnccl.so.2
fi

CUDA_VISIBLE_DEVICES='' PIPESCOPE_NCCL_MARKS=1 record_run "$T/nccl" env NVTX_INJECTION64_PATH="$PIPESCOPE_RECORD_LIBRARY" \
    timeout 60 "$PIPESCOPE_PROGRAMS/nccl_calls" "$library" >"$T/out"
cat "$T/out"
line '7 calls failed, as they must' "$T/out"
db=$(record_database "$T/nccl")
sqlite3 "$db" "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId
    WHERE d.value = 'NCCL' AND eventType = 2 ORDER BY connectionId" >"$T/names"
for call in ncclCommInitAll ncclAllReduce ncclAllGather ncclBroadcast ncclSend ncclRecv; do
    grep -qx "$call" "$T/names" || fail "no range $call: $(cat "$T/names")"
done
payload() {
    sqlite3 "$db" "SELECT payload FROM PIPESCOPE_NVTX JOIN MSTX_EVENTS USING (connectionId)
        JOIN STRING_IDS m ON m.id = message WHERE m.value = '$1'"
}
# has CALL NAME VALUE: by the layout that NCCL registered; names differ between releases.
has() {
    payload "$1" | grep -q "\"[^\"]*$2[^\"]*\":$3[,}]" || fail "$1: no $2 of $3: $(payload "$1")"
}
has ncclAllReduce '[Mm]essage size' 4096
has ncclAllReduce '[Rr]eduction' '"Sum"'
has ncclAllGather '[Mm]essage size' 2048
has ncclBroadcast 'Root' 1
has ncclSend '[Pp]eer' 3
has ncclRecv '[Pp]eer' 2
# with the communicator, which older releases do not tell, the calls also become marks of communication
if payload ncclAllReduce | grep -q communicator; then
    sqlite3 "$db" "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId
        WHERE d.value = 'communication'" >"$T/marks"
    grep -q '"opName": "ncclAllReduce", .*"count": "4096"' "$T/marks" || fail "no mark of AllReduce: $(cat "$T/marks")"
    grep -q '"opName": "ncclRecv", .*"srcRank": "2"' "$T/marks" || fail "no mark of Recv: $(cat "$T/marks")"
fi
echo "ncclAllReduce: $(payload ncclAllReduce)"
