"""Command lines of the tables of docs/msprof-analyze.md: flags.py PAGE FOLDER.

A line for each flag: the exit status it should have, a bar, the words that standard error should have, a bar, the command line. What a
flag names (DIR, NEW, BASE, OUT, LOGS) lies in FOLDER; a command gets what it cannot do without.
"""
import re
import sys

NAMES = {"DIR": "job", "NEW": "job", "BASE": "job", "OUT": "out", "LOGS": "logs"}
NEEDED = {
    "cluster": ["-d DIR", "-o OUT"],
    "compare": ["-d NEW", "-bp BASE"],
    "advisor": ["-d DIR"],
    "auto-completion": [],
    "Paddle's profiler_helper_static.py": ["--log_dir LOGS", "-o OUT"],
}
SAME = {"-d": "--profiling_path", "-o": "--output_path", "-bp": "--benchmark_profiling_path", "--bp": "--benchmark_profiling_path"}


def name_of(flag):
    word = flag.split()[0]
    return SAME.get(word, word)


def main():
    page, folder = sys.argv[1:]
    command = None
    for line in open(page, encoding="utf-8"):
        if line.startswith("## "):
            command = line[3:].strip()
        row = re.match(r"\| (`.*`) \| (same|other|ignored|refused) \| (.*)\|$", line)
        if not row:
            continue
        for flag in re.findall(r"`([^`]*)`", row.group(1)):
            status = 2 if row.group(2) == "refused" else 0
            reason = row.group(3).split(";")[0].strip().replace("`", "") if status == 2 else ""
            words = [flag] + [n for n in NEEDED[command] if name_of(n) != name_of(flag)]
            if flag == "--top_num 5":
                words.append("-m hccl_sum")
            if name_of(flag) == "--benchmark_profiling_path" and command == "cluster":
                words.append("-m cluster_time_compare_summary")
            text = " ".join(words)
            for name, place in NAMES.items():
                text = re.sub(r"\b%s\b" % name, "%s/%s" % (folder, place), text)
            verb = "timeline" if command.startswith("Paddle") else command
            print(status, reason, verb + " " + text, sep="|")


main()
