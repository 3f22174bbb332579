#!/usr/bin/env python3
"""Finds keys of JSON that are quoted by hand in strings of src: tests/lint/json_keys.py [ROOT]

base/json_write.h writes JSON. A file below may have as many hand-quoted keys as stand here and not one more; when it has
fewer, the number has to go down. Exit status 1 when a number is wrong.
"""
import os
import re
import sys

# The comments say why these keys stay.
COUNTS = {
    "src/record/ring/config.c": 1,  # in a message
    "src/record/gpu/cuda_resolve.c": 2,  # in a callback of the driver, a buffer of fixed size
    "src/record/nvtx/nvtx_names.c": 1,  # cut back to what fits, domain by domain
    "src/record/nvtx/nvtx_payload.c": 7,  # in calls of the program that is recorded, a buffer of fixed size
    "src/serve/routes/route_ranks.c": 2,  # examples in a sentence
    "src/serve/http/send.c": 1,  # a constant: the reply before there is a request
    "src/serve/routes/table_reply.c": 2,  # examples in a sentence
    "src/write/simulated/paddle_json.c": 50,  # pieces that events have in common, made once; the loop copies them
    "src/write/trace/trace_chrome.c": 2,  # a constant: the place of nobody
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
