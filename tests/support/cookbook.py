#!/usr/bin/env python3
"""cookbook.py PROGRAM PAGE [--update] [--no-package]: runs every recipe of docs/cookbook.md. A recipe is a heading "### N. Question" with three blocks: sh, the
query as typed; python, the same over the package; text, what the command prints, byte for byte. Where the package offers open(), its line
is run, too, and must give as many rows. --update writes the answers into the page."""
import ast
import csv
import io
import os
import re
import shlex
import subprocess
import sys

RECIPES = 25
BLOCKS = re.compile(r"```sh\n(?P<sh>.*?)```\n\n```python\n(?P<python>.*?)```\n\n```text\n(?P<text>.*?)```\n", re.S)
# What can be run of the package where this test runs; the lines come on standard input, one literal each.
PYTHON = """
import ast, sys
pipescope = None
try:
    import pipescope
    pipescope.open("tests/data/cookbook")
except (ImportError, AttributeError, OSError, getattr(getattr(pipescope, "errors", None), "LibraryNotFound", OSError)) as why:
    print("none", why)
    sys.exit()
for path, sql in ast.literal_eval(sys.stdin.read()):
    rows = pipescope.open(path).sql(sql)
    print(rows.num_rows if hasattr(rows, "num_rows") else len(rows))
"""


def ask(program, words, *more):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    out = subprocess.run([program, *words[1:], *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=env)
    if out.returncode != 0:
        raise SystemExit("%s\nends with %d: %s" % (" ".join(words), out.returncode, out.stderr.decode()))
    return out.stdout.decode()


def python_of(block):
    """Path and text of `pipescope.open(PATH).sql(TEXT)`."""
    call = ast.parse(block).body[0].value
    opened = call.func.value
    names = (call.func.attr, opened.func.attr, opened.func.value.id)
    if names != ("sql", "open", "pipescope"):
        raise SystemExit("no line of the package: %s" % block)
    return opened.args[0].value, call.args[0].value


def recipe(program, number, part):
    blocks = BLOCKS.search(part)
    if blocks is None or len(re.findall(r"^```", part, re.M)) != 6:
        raise SystemExit("recipe %d: sh, python and text are wanted, in this order" % number)
    if not re.search(r"^Asked in: \[", part, re.M):
        raise SystemExit("recipe %d: who asked?" % number)
    words = shlex.split(blocks["sh"])
    if words[:2] != ["pipescope", "query"] or len(words) != 4:
        raise SystemExit("recipe %d: %s" % (number, blocks["sh"]))
    if python_of(blocks["python"]) != (words[2], words[3]):
        raise SystemExit("recipe %d: command and Python ask for different things" % number)
    answer = ask(program, words)
    n_rows = len(list(csv.reader(io.StringIO(ask(program, words, "--as", "csv"))))) - 1
    return blocks, words, answer, n_rows


def check_package(recipes):
    env = {**os.environ, "PYTHONPATH": os.path.join(os.getcwd(), "python")}
    asked = repr([(words[2], words[3]) for words, _ in recipes])
    out = subprocess.run([sys.executable, "-B", "-c", PYTHON], input=asked.encode(), stdout=subprocess.PIPE, check=True, env=env)
    lines = out.stdout.decode().splitlines()
    if lines and lines[0].startswith("none"):
        print("cookbook: the package is not asked: %s" % lines[0][5:])
        return
    for number, (line, (_, n_rows)) in enumerate(zip(lines, recipes), 1):
        if int(line) != n_rows:
            raise SystemExit("recipe %d: %s rows in Python, %d by the command" % (number, line, n_rows))


def main():
    program, page = sys.argv[1:3]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"(?m)^(?=### )", text)
    heads = [int(re.match(r"### (\d+)\. ", part).group(1)) for part in parts[1:]]
    if heads != list(range(1, RECIPES + 1)):
        raise SystemExit("recipes %s, wanted 1 to %d" % (heads, RECIPES))
    recipes, wrong = [], []
    for number, part in enumerate(parts[1:], 1):
        blocks, words, answer, n_rows = recipe(program, number, part)
        recipes.append((words, n_rows))
        if blocks["text"] != answer:
            wrong.append("recipe %d prints\n%s\nand the page says\n%s" % (number, answer, blocks["text"]))
            at, end = blocks.span("text")
            parts[number] = part[:at] + answer + part[end:]
    if "--update" in sys.argv:
        with open(page, "w", encoding="utf-8") as file:
            file.write("".join(parts))
    elif wrong:
        raise SystemExit("\n".join(wrong))
    if "--no-package" not in sys.argv:
        check_package(recipes)


if __name__ == "__main__":
    main()
