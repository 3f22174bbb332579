"""Asks everything in Chinese and finds English sentences in what comes back: both_languages.py FOLDER LIST, where LIST holds paths of
captures, a line each. Names that captures hold (kernels, ranges, files) are theirs; what else stays English says why below."""
import json
import os
import re
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "serve"))
import serving  # noqa: E402 pylint: disable=wrong-import-position

SENTENCE = re.compile(r"(?:\b[a-z]{2,}\b[ ,;:]+){2,}\b[a-z]{2,}\b")
CHINESE = re.compile("[\u4e00-\u9fff]")

# Members of replies and columns of tables that hold names, which are the same in all languages: why.
NAMES = {
    "title": "pages have titles of their own, by the name of the table; the terminal shows names and columns as programs read them",
    "columns": "names of columns",
    "kinds": "the page has words for the letters that stand beside them",
    "name": "of what the capture holds, or of a table",
    "help": "of parameters, for programs",
    "file": "a path",
    "path": "a path",
    "places": "where in a file something is, as the file has it",
}
# Columns of tables: names of the capture, or the key of a row that programs look for.
COLUMNS = {
    "name", "OpName", "kernelList", "kernel_list", "GroupName", "groupName", "group_id", "group name", "value", "slowKernel", "shapes",
    "line",  # to paste into a program
    "schedule",  # "gpipe, stages balanced": the row's name
    "part",  # ModuleCoverage: the row's name
    "modulesFrom",  # the kind of its modules, for programs
    "path",  # overall: the row's name; the page has words for it
    "part of a step",  # the row's name; the page has words for it
    "metadata",  # as it stands in the capture
}
HELPERS = ("capture_facts", "job_layout", "memory_facts", "pp_labels")  # modes that nobody asks for
# Texts that captures of tests hold.
OF_CAPTURES = re.compile(
    r"no length either|no pid, no tid|one of each|relu|ReduceSplitK|H2D by the file|from stage \d|dp of stage|^\(launched by|^\(outside of")


class Search:
    def __init__(self):
        self.found = {}

    def look(self, where, text):
        if SENTENCE.search(text) and not CHINESE.search(text) and not OF_CAPTURES.search(text):
            self.found.setdefault((where, re.sub(r"\d+", "#", text)[:160]), text)

    def values(self, where, value, member=""):
        """All texts of JSON; of lists of rows those whose column may hold sentences."""
        if isinstance(value, dict):
            if isinstance(value.get("rows"), list) and "columns" in value:
                self.rows(where, value)
            for key, inner in value.items():
                if key not in NAMES and key != "rows" and key not in COLUMNS:
                    self.values(where, inner, key)
        elif isinstance(value, list):
            for inner in value:
                self.values(where, inner, member)
        elif isinstance(value, str):
            self.look("%s, %s" % (where, member), value)

    def rows(self, where, table):
        names = [c[0] if isinstance(c, list) else c["name"] if isinstance(c, dict) else c for c in table["columns"]]
        for row in table["rows"]:
            for name, cell in zip(names, row if isinstance(row, list) else []):
                if name not in COLUMNS and isinstance(cell, str):
                    self.look("%s, column %s" % (where, name), cell)

    def lines(self, where, text):
        """Of the terminal: what ends as a sentence does."""
        for line in text.splitlines():
            if line.rstrip().endswith((".", ":")):
                self.look(where, line.strip())


# --- the server --------------------------------------------------------------------------------------------------------------


def addresses(server, modes):
    key = urllib.parse.quote(server.ranks()[0]["key"])
    for path in ("session", "ranks", "chart", "summary", "whatif", "plan?layers=8,8,8,8", "events?after=0"):
        yield path
    for by in ("clock", "start", "steps"):
        yield "align?by=" + by
    for view in server.get("/api/views").json()["views"]:
        yield "view?name=%s&rank=%s" % (view["name"], key)
        yield "view?name=%s&rank=%s&from=900000000000&to=900000000001" % (view["name"], key)
    for mode in modes:
        yield "mode?name=" + mode
    for path in ("call_tree?rank=%s&by=callers", "lanes?rank=%s", "stats?rank=%s&lanes=0", "stats?rank=%s&lanes=0&from=1&to=2", "flows/kinds?rank=%s"):
        yield path % key
    yield "query?sql=" + urllib.parse.quote("SELECT no FROM such")


def ask_server(search, capture, modes):
    with serving.Server(capture) as server:
        server.wait_for(["ready", "failed"])
        for path in addresses(server, modes):
            name = path.split("&")[0]
            for lang in ("", "&lang=zh" if "?" in path else "?lang=zh"):  # English first: nothing of it may be kept for the other
                reply = server.get("/api/" + path + lang)
            search.values("/api/" + name, reply.json())
        for body in ({"path": "/nowhere"}, {"path": os.path.join(os.path.dirname(os.path.abspath(__file__)))}):
            search.values("/api/open", server.post("/api/open?lang=zh", body).json())
        search.values("/api/close", server.post("/api/close?lang=zh", {"cluster": 0}).json())


# --- the terminal ------------------------------------------------------------------------------------------------------------


def commands(capture, folder):
    out = os.path.join(folder, "out.json")
    for command in (["info", capture], ["chart", capture], ["report", capture], ["whatif", capture], ["plan", capture, "--layers", "8,8,8,8"],
                    ["compare", capture, capture]):
        yield command
        yield command + ["-o", out]
    yield ["query", capture, "SELECT count(*) FROM slice"]
    yield ["query", capture, "SELECT what FROM cluster_advice"]
    yield ["cluster", "-m", "every", "-d", capture, "-o", os.path.join(folder, "written"), "--export_type", "csv"]


def run_commands(search, capture, folder):
    for command in commands(capture, folder):
        where = "pipescope " + " ".join(command[:1] + [w for w in command[2:] if w.startswith("-")])
        out = command[-1] if "-o" in command and command[-1].endswith(".json") else None
        if out and os.path.exists(out):
            os.remove(out)  # of the command before
        done = subprocess.run([serving.PROGRAM, *command, "--lang", "zh"], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, 2, 3, 4), (command, done.returncode, done.stderr)
        search.lines(where, done.stdout)
        for line in done.stderr.splitlines():
            search.look(where, line)
        if out and os.path.exists(out):
            with open(out, encoding="utf-8") as f:
                search.values(where, json.load(f))


def main():
    folder, captures = sys.argv[1], sys.argv[2]
    with open("src/analyze/core/analyses.def", encoding="utf-8") as f:
        modes = [m for m in re.findall(r"^X\((\w+)", f.read(), re.M) if m not in HELPERS]
    search = Search()
    with open(captures, encoding="utf-8") as f:
        for capture in f.read().split():
            ask_server(search, capture, modes)
            run_commands(search, capture, folder)
    for (where, _), text in sorted(search.found.items()):
        print("%s: in English only: %s" % (where, text[:200]))
    assert not search.found, "%d sentences" % len(search.found)


main()
