"""What people read of a capture is said in two languages (src/base/lang.h): an English sentence stands in PS_SAY, or in a call or table with
the Chinese one directly behind it. In the rooms of the report that goes for every sentence; in the others below for those that are said: put
into an error, a buffer or a text. What programs read (columns, titles of tables, which pages have their own of) stays English."""

import pathlib
import re
import sys

LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI[a-z]\d\d|"(?:[^"\\\n]|\\.)*"))*')
CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SENTENCE = re.compile(r"(?:\b[a-z]{2,}\b[ ,]+){3,}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
ENGLISH_ONLY = re.compile(r"(ps_table_new|ps_fail|\.summary =|#include|#define)[^;{]*$")
SAID = re.compile(r"\b(ps_fail|ps_fail_file|ps_reply_say|ps_buf_addf|ps_buf_add_str|snprintf)\([^;{}]*$")

WHOLE = ("src/analyze/report",)
SAYING = ("src/analyze/modes", "src/analyze/modules", "src/analyze/pipeline", "src/analyze/views", "src/analyze/whatif", "src/analyze/mfu",
          "src/run", "src/serve/rank", "src/serve/cluster", "src/serve/cross", "src/model")
# Files that say something in English alone, and why; by the beginning of what they say.
STAYS = {
    "ep_load_balance.c": ("input shapes of", "where the numbers come from: names of operators"),
    "module_tables.c": ("modules of rank", "the title of a table"),
    "schedule_plan_tables.c": ("stages of plan", "the title of a table"),
    "comm_kernels.c": ("", "what is wrong with a file of the user's, as a compiler says it"),
    "simulated_step.c": ("", "what is wrong with numbers that a program sent"),
    "view.c": ("%s: %.60s is none of", "a parameter that a program sent"),
    "loaded.c": ("", "lanes that a program asked for"),
    "cluster_ask.c": ("cluster: there is no", "a number that a program sent"),
    "modes.c": ("baseline: there is no", "a number that a program sent"),
    "roots.c": ("no such folder", "an option of the terminal"),
    "run_cluster_tables.c": (("read-only", "left by an earlier run"), "what is wrong with a folder"),
    "uploads.c": ("say what the file", "a parameter that a program sent"),
}
# Errors of files, of the terminal and of processes are in English: docs/languages.md.
ENGLISH_FILES = re.compile(r"(crew|shards|paddle|memory|output|run_key|partial|cluster_files)\w*\.c$|run\.c$|host_labels\.c$|uploads\.c$")


def alone(path, is_whole):
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    found = list(LITERAL.finditer(text))
    for here, after in zip(found, [*found[1:], None]):
        said = here.group()
        before = text[: here.start()][-600:]
        if not SENTENCE.search(said) or CHINESE.search(said) or said.startswith('"<'):
            continue
        pair = after is not None and re.fullmatch(r"[\sA-Z_]*,[\s]*", text[here.end() : after.start()])
        if pair and CHINESE.search(after.group()):
            continue
        if is_whole and ENGLISH_ONLY.search(before):
            continue
        if not is_whole and not SAID.search(before):
            continue
        yield said


def main():
    bad = 0
    for room in WHOLE + SAYING:
        for path in sorted(pathlib.Path(room).glob("*.c")):
            begin, _why = STAYS.get(path.name, (None, ""))
            for said in alone(path, room in WHOLE):
                if (begin is not None and said[1:].startswith(begin)) or (room == "src/run" and ENGLISH_FILES.search(path.name)):
                    continue
                bad += 1
                print(f"{path}: in English only: {said[:90]}")
    return bad > 0


sys.exit(main())
