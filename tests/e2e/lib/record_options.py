"""The table of options in docs/recording/options.md, made of src/record/ring/options.def: record_options.py [--update]

Without --update says whether the page is as the list; exit status 1 when it is not.
"""
import re
import sys

LIST = "src/record/ring/options.def"
PAGE = "docs/recording/options.md"
HEAD = "| option | variable | default | |\n|---|---|---|---|\n"
LINE = re.compile(r'^X\((\w+), "([^"]*)", "([^"]*)", "([^"]*)"\)')


def table():
    rows = []
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line)
            if match:
                name, variable, default, text = match.groups()
                shown = "`%s`" % default if default else ""
                rows.append("| `%s` | `%s` | %s | %s |\n" % (name, variable, shown, text.replace("|", "\\|")))
    return HEAD + "".join(rows)


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    begin = page.index(HEAD)
    end = begin
    while page.startswith("|", end):
        end = page.index("\n", end) + 1
    wanted = page[:begin] + table() + page[end:]
    if "--update" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif wanted != page:
        print("%s: its table of options is not %s; mend it with: python3 tests/e2e/lib/record_options.py --update" % (PAGE, LIST))
        return 1
    return 0


sys.exit(main())
