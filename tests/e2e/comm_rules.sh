#!/bin/sh
# What communicates: DeepEP and symmetric memory by the table, a kernel of one's own by a rule, in every command that reads
# profiles; rules that are none.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 - "$T/a.json" <<'END'
import json
import sys

KERNELS = [("void gemm_bf16<128>(float*)", 1000, 7),
           ("void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*)", 20, 20),
           ("void deep_ep::internode::dispatch<false, 8>(int4*, float*)", 600, 20),
           ("void deep_ep::internode::combine<false, 8>(int4*, float*)", 700, 20),
           ("void (anonymous namespace)::multimem_all_reduce_kernel<float, 16>(float*)", 80, 7),
           ("void mine::exchange_tokens<3>(int*)", 500, 20)]
events, at, step_begin = [], 1000, 1000
for step in (1, 2):
    for number, (name, length, stream) in enumerate(KERNELS):
        link = 100 * step + number
        args = {"correlation": link, "device": 0, "stream": stream}
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 1, "ts": at, "dur": 4,
                    "args": {"correlation": link}},
                   {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": link, "pid": 9, "tid": 1, "ts": at},
                   {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at + 10, "dur": length,
                    "args": args},
                   {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": link, "pid": 0, "tid": stream, "ts": at + 10}]
        at += length + 20
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 9, "tid": 1,
                   "ts": step_begin, "dur": at - step_begin, "args": {}})
    step_begin = at
with open(sys.argv[1], "w") as file:
    json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU"}],
               "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "traceEvents": events}, file)
END

# step_times REPORT.json: computing and exposed communication of a step, us
step_times() {
    python3 - "$1" <<'END'
import json
import sys

with open(sys.argv[1]) as file:
    row = json.load(file)["overview"][0]
print("%d %d" % (row["computing_ns"] // 1000, row["exposed_ns"] // 1000))
END
}

run 0 report "$T/a.json" -o "$T/plain.json"
[ "$(step_times "$T/plain.json")" = "1520 1380" ] || fail "$(step_times "$T/plain.json")"
grep -q '"comm-unknown"' "$T/plain.json" || fail "mine::exchange_tokens raises no question"

printf '# ours\nmine::exchange*   all-to-all\n' >"$T/rules"
run 0 report "$T/a.json" --comm-rules "$T/rules" -o "$T/ruled.json"
[ "$(step_times "$T/ruled.json")" = "1020 1880" ] || fail "$(step_times "$T/ruled.json")"
if grep -q '"comm-unknown"' "$T/ruled.json"; then fail "what a rule says is no question"; fi

# By the variable; the option comes first, and an empty variable is none.
PIPESCOPE_COMM_RULES=$T/rules
export PIPESCOPE_COMM_RULES
run 0 report "$T/a.json" -o "$T/by_variable.json"
cmp -s "$T/ruled.json" "$T/by_variable.json" || fail "the variable says something else than the option"
printf 'deep_ep::** computing' >"$T/other"
run 0 report "$T/a.json" --comm-rules "$T/other" -o "$T/other.json"
[ "$(step_times "$T/other.json")" = "2820 80" ] || fail "$(step_times "$T/other.json")"
PIPESCOPE_COMM_RULES=
run 0 report "$T/a.json" -o "$T/by_variable.json"
cmp -s "$T/plain.json" "$T/by_variable.json" || fail "an empty variable is no file"
unset PIPESCOPE_COMM_RULES

# Every other command takes it.
run 0 info "$T/a.json" --comm-rules "$T/rules"
run 0 compare "$T/a.json" "$T/a.json" --comm-rules "$T/rules"
run 0 convert "$T/a.json" -o "$T/ruled.trace.json" --comm-rules "$T/rules"
run 0 convert "$T/a.json" -o "$T/plain.trace.json"
if cmp -s "$T/ruled.trace.json" "$T/plain.trace.json"; then fail "convert does not ask the rules"; fi
run 0 -m cluster_time_summary -d "$T/a.json" -o "$T/sums" --export_type csv --comm-rules "$T/rules"
run 3 chart "$T/a.json" --comm-rules "$T/rules"

# What is no rule, and no file.
printf 'mine::exchange all-to-all\nwarm sned\n' >"$T/bad"
for command in report chart info; do
    run 2 "$command" "$T/a.json" --comm-rules "$T/bad"
    says "bad:2: --comm-rules: 'sned': no kind"
done
run 2 serve "$T/a.json" --comm-rules "$T/bad"
says "bad:2:"
run 2 report "$T/a.json" --comm-rules "$T/nowhere"
says "nowhere"
