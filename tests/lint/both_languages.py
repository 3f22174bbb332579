"""What the report says of a capture it says in two languages (src/base/lang.h): an English sentence stands in PS_SAY, or in a table, with
the Chinese one directly behind it. What programs read (columns, titles of tables nobody is shown, errors) stays English."""

import pathlib
import re
import sys

LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')
CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SENTENCE = re.compile(r"(?:\b[a-z]{2,}\b[ ,]+){3,}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
ENGLISH_ONLY = re.compile(r"(ps_table_new|ps_fail|\.summary =|#include|#define)[^;{]*$")


def alone(path):
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    found = list(LITERAL.finditer(text))
    for here, after in zip(found, [*found[1:], None]):
        said = here.group()
        if not SENTENCE.search(said) or CHINESE.search(said) or said.startswith('"<'):
            continue
        pair = after is not None and re.fullmatch(r"[\sA-Z_]*,[\s]*", text[here.end() : after.start()])
        if pair and CHINESE.search(after.group()):
            continue
        if not ENGLISH_ONLY.search(text[: here.start()][-400:]):
            yield said


def main():
    bad = 0
    for path in sorted(pathlib.Path("src/analyze/report").glob("*.c")):
        for said in alone(path):
            bad += 1
            print(f"{path}: in English only: {said[:90]}")
    return bad > 0


sys.exit(main())
