#!/usr/bin/env python3
"""Finds keys of JSON that are quoted by hand in strings of src: tests/lint/json_keys.py [ROOT]

base/json_write.h writes JSON. A file below may have as many hand-quoted keys as stand here and not one more; when it has
fewer, the number has to go down. Exit status 1 when a number is wrong.
"""
import os
import re
import sys

# Where a comment says why, the keys stay; the others wait to be moved to the writer.
COUNTS = {
    "src/record/clock.c": 9,
    "src/record/config.c": 2,
    "src/record/cuda_resolve.c": 2,  # in a callback of the driver, a buffer of fixed size
    "src/record/nvtx_names.c": 1,
    "src/record/nvtx_payload.c": 7,  # in calls of the program that is recorded, a buffer of fixed size
    "src/record/self_test.c": 4,
    "src/record/session_clock.c": 6,
    "src/record/session_facts.c": 16,
    "src/record/export/clock_offsets.c": 12,
    "src/record/export/profile.c": 24,
    "src/record/export/table_facts.c": 17,
    "src/record/export/table_marks.c": 6,
    "src/record/export/trace_view.c": 18,
    "src/serve/route_align.c": 7,
    "src/serve/route_events.c": 2,
    "src/serve/route_flows.c": 29,
    "src/serve/route_lanes.c": 12,
    "src/serve/route_merge.c": 3,
    "src/serve/route_names.c": 1,
    "src/serve/route_near.c": 1,
    "src/serve/route_ranks.c": 7,  # 2 of them: examples in a sentence
    "src/serve/route_search.c": 12,
    "src/serve/route_slice.c": 20,
    "src/serve/route_stats.c": 4,
    "src/serve/route_views.c": 6,
    "src/serve/send.c": 1,  # a constant: the reply before there is a request
    "src/serve/table_reply.c": 10,  # 4 of them: examples in a sentence
    "src/write/ascend_profile.c": 13,
    "src/write/ascend_profile_rank.c": 14,
    "src/write/chart_pack.c": 16,
    "src/write/paddle_json.c": 50,
    "src/write/trace_chrome.c": 2,  # a constant: the place of nobody
}
KEY = re.compile(r'\\"[^\\" ]*\\" ?:')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)


def count(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return len(KEY.findall(COMMENT.sub("", file.read())))


def main(root):
    faults = []
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root).replace(os.sep, "/")
            found, allowed = count(full), COUNTS.get(path, 0)
            if found > allowed:
                faults.append("%s: %d keys of JSON quoted by hand, %d allowed: write them by base/json_write.h"
                              % (path, found, allowed))
            elif found < allowed:
                faults.append("%s: %d keys of JSON quoted by hand, %d listed: lower the number in tests/lint/json_keys.py"
                              % (path, found, allowed))
    for line in faults:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))
