#!/usr/bin/env python3
"""What outputs say of what they lack: lacking.py tells WHO WHY FILE... | silent FILE... | lists FILE...

tells: each file, as text, whatever it is packed in, says that WHO is lacking, and WHY. silent: none says that anything is. lists:
each JSON file has one row in its list of what is lacking. The first file of which that is not so is named, with exit status 1.
"""
import gzip
import json
import re
import sqlite3
import sys
import zipfile

LACKS = re.compile(r"lacks|Not in it")
SAYS_IT_LACKS = re.compile(r'lacks"|_lacks|Not in it')


def text_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:15] == b"SQLite format 3":
        return "\n".join(sqlite3.connect(path).iterdump())
    if data[:2] == b"PK":
        book = zipfile.ZipFile(path)
        data = b"\n".join(book.read(name) for name in book.namelist())
    elif data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("utf-8", "replace")
    # Sentences of a picture are broken into lines wherever a path happens to end.
    return re.sub(r"</text>\s*<text[^>]*>", " ", text) if path.endswith(".svg") else text


def tells(path, who, why):
    text = path + "\n" + text_of(path)
    if not LACKS.search(text):
        return "does not say that something is lacking"
    if who not in text:
        said = [line for line in text.split("\n") if LACKS.search(line)]
        return "does not name %s: %s" % (who, "\n".join(said)[:600])
    return None if why in text else "does not say why: " + why


def silent(path):
    return "says that something is lacking" if SAYS_IT_LACKS.search(text_of(path)) else None


def lists(path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["lacks"]
    return None if len(rows) == 1 else "its list is " + json.dumps(rows)


def main(check, *words):
    said = words[:2] if check == "tells" else ()
    files = words[len(said):]
    if not files:
        sys.exit("lacking.py: no files")
    for path in files:
        fault = {"tells": tells, "silent": silent, "lists": lists}[check](path, *said)
        if fault:
            sys.exit("%s %s" % (path, fault))


if __name__ == "__main__":
    main(*sys.argv[1:])
