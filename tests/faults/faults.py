#!/usr/bin/env python3
"""Lets the N-th call of the operating system fail, in every command, and holds the program to its word.

    faults.py [--each N] [--memory N | --places] [--command NAME] [--kind KIND] [--call N] [--sticks] [--patience S] [--jobs N]
              [--verbose] [--show]

For each command on a small capture, and for each kind of call (tests/programs/lib_faults.c): the command runs once as it is, then with
its N-th call of that kind failing, for N = 1, 2, 3, ... (--each: at most so many, spread over all; --places: of allocations the first and the last
that the same functions ask for, called by one another in the same order). What must come out:

  the same    status, output and files as without the fault; or
  an error    another status, words on stderr, and each file that is there is one that the whole run writes, byte for byte. With
              status 4 (some ranks failed) files may lack those ranks; then they say so inside, also where the whole run lacks something.

Where a command keeps something for later runs (a cache, partials), what lies there afterwards is whole, or missing; the same command
again, without the fault, gives all that the whole run gave.

Wrong are: a signal, no end within PATIENCE seconds, the status of the whole run with other output, silence, a file that nobody
asked for (also in the temporary folder), a change of the input. Exit status 0: nothing wrong; 1: something; 2: usage.
"""
import argparse
import collections
import concurrent.futures
import difflib
import gzip
import hashlib
import itertools
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import traceback
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("PIPESCOPE_BIN") or os.path.join(ROOT, "build", "release", "pipescope")
LIBRARY = os.path.join(os.environ.get("PIPESCOPE_PROGRAMS") or os.path.join(ROOT, "build", "release", "programs"), "lib_faults.so")
DATA = os.path.join(ROOT, "tests", "data")
PATIENCE = 30  # seconds for what takes a tenth of one; --patience
PARTLY = 4

QUERY = "query {in} SELECT/**/rank,count(*),sum(dur_ns)FROM/**/slice/**/GROUP/**/BY/**/rank "
KEEPING = "cluster -m slow_rank -d {in} -o {out} -j 1 --export_type csv "

# name: (capture, words). {in} is a copy of the capture where the command writes into it, else the capture; {out} a folder that is not there;
# {kept} one that later runs find as this one leaves it.
COMMANDS = {
    "info": ("job", "info {in} --json -j 1"),
    "report": ("job", "report {in} -j 1"),
    "report-file": ("job", "report {in} -j 1 -o {out}.html"),
    "chart": ("job", "chart {in} -j 1"),
    "chart-svg": ("job", "chart {in} -j 1 -o {out}.svg"),
    "chart-json": ("kineto", "chart {in} -j 1 -o {out}.json"),
    "convert": ("job", "convert {in} -o {out}.json.gz"),
    "convert-perfetto": ("kineto", "convert {in} -o {out}.pftrace"),
    "cluster-all": ("job", "cluster -m all -d {in} -o {out} -j 1"),
    "cluster-csv": ("job", "cluster -m step_trace_time,slow_rank -d {in} -o {out} -j 1 --export_type csv"),
    "pp_chart-copy": ("job", "cluster -m pp_chart -d {in} -o {out} -j 1"),
    "pp_chart-place": ("job", "cluster -m pp_chart -d {in} -j 1"),
    "modules": ("modules", "cluster -m module_statistic -d {in} -o {out} -j 1 --export_type text"),
    "compare": ("modules", "compare {in} {in} -o {out}.xlsx"),
    "timeline": ("paddle", "timeline --log_dir {in} -o {out} -j 1"),
    "whatif": ("workers", "whatif {in} -o {out}.json"),
    "text": ("text", "report {in} -j 1 -o {out}.json"),
    "cache": ("job", KEEPING + "--cache {kept}"),
    "cache-again": ("job", KEEPING + "--cache {kept}"),
    "shard": ("job", KEEPING + "--shard 1/1 --partials {kept}"),
    "reduce": ("job", KEEPING + "--reduce {kept}"),
    "query": ("job", QUERY + "-j 1"),
    "query-file": ("job", QUERY + "-o {out}.csv -j 1"),
    "query-arrow": ("kineto", QUERY + "-o {out}.arrow -j 1"),
    "query-modes": ("job", "query {in} SELECT/**/*FROM/**/ClusterStepTraceTime,base_info -o {out}.json -j 1"),
    "info-text": ("job", "info {in} -j 1"),
    "plan": ("kineto", "plan {in} --layers 2,2,2,2 -o {out}.json -j 1"),
    "whatif-trace": ("job", "whatif {in} -o {out}.pftrace -j 1"),
    "chart-html": ("job", "chart {in} -j 1 -o {out}.html"),
    "report-xlsx": ("text", "compare {in} {in} -o {out}.json -j 1"),
    "advisor": ("job", "advisor all -d {in} -o {out}"),
    "simulate": (None, "simulate 1f1b --pp 2 --microbatches 2 --profile {out}"),
}
CHANGES_INPUT = {"pp_chart-place"}
KEEPS = {"cache": None, "cache-again": "cache", "shard": None, "reduce": "shard"}  # with what was run before it


# --- captures ------------------------------------------------------------------------------------------------------------

def simulated(folder):
    subprocess.run([PROGRAM, "--quiet", "simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--filler", "8", "--profile", folder],
                   check=True, stdout=subprocess.DEVNULL)


def with_setup(case):
    def make(folder):
        os.makedirs(folder)
        work = folder + ".work"
        os.makedirs(work)
        path = os.path.dirname(os.path.abspath(PROGRAM)) + os.pathsep + os.environ["PATH"]
        subprocess.run(["sh", "-eu", os.path.join(ROOT, "tests", "golden", case, "setup")], cwd=work, check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "T": work, "DATA": DATA, "PATH": path})
        shutil.rmtree(folder)
        os.rename(os.path.join(work, "in"), folder)

    return make


def copied(*parts):
    return lambda folder: shutil.copytree(os.path.join(DATA, *parts), folder)


CAPTURES = {
    "job": simulated,
    "kineto": copied("torch_pipeline", "gpipe"),
    "modules": with_setup("cluster/range-around-backward"),
    "paddle": copied("paddle_logs", "pp4_1f1b_2x2"),
    "workers": copied("ndtimeline"),
    "text": copied("ascend_text", "rank3_ascend_pt"),
}


# --- one run -------------------------------------------------------------------------------------------------------------

def dumped(path):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.db")
        shutil.copyfile(path, copy)
        if os.path.exists(path + "-journal"):
            shutil.copyfile(path + "-journal", copy + "-journal")
        try:
            db = sqlite3.connect(copy)
            text = "\n".join(db.iterdump())
            db.close()
        except sqlite3.Error as error:
            text = "damaged: %s" % error
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


DUMPED = {}  # by the bytes of the database and its journal: most are those of the run before


def content(path):
    """Of a database what is in it, as whoever opens it next finds it: pages may lie elsewhere, and a journal is rolled back."""
    with open(path, "rb") as file:
        data = file.read()
    sum_of = hashlib.sha256(data)
    if data[:15] != b"SQLite format 3":
        return sum_of.hexdigest()
    if os.path.exists(path + "-journal"):
        with open(path + "-journal", "rb") as file:
            sum_of.update(b"journal" + file.read())
    key = sum_of.digest()
    if key not in DUMPED:
        DUMPED[key] = dumped(path)
    return DUMPED[key]


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder): content(os.path.join(at, name))
            for at, _, names in os.walk(folder) for name in names}


def unpacked(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"PK":
        book = zipfile.ZipFile(path)
        return b"".join(book.read(name) for name in book.namelist())
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def says_lacks(path):
    """Whether the file says that something is lacking in it, or one beside it that can hold nothing but rows."""
    data = unpacked(path)
    if data[:15] == b"SQLite format 3":
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        return bool(db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE '%lacks'").fetchone()[0])
    beside = [name for name in os.listdir(os.path.dirname(path)) if "_lacks." in name]
    return b"lacks" in data or b"Not in it" in data or bool(beside)


class Run:
    """The command once, in folders of its own, or in those where it ran before; what it left is noted."""

    def __init__(self, name, captures, folder, environment, is_again=False):
        capture, words = COMMANDS[name]
        if not is_again:
            shutil.rmtree(folder, ignore_errors=True)
            for part in ("out", "tmp"):
                os.makedirs(os.path.join(folder, part))
            if KEEPS.get(name):
                Run(KEEPS[name], captures, folder, {}, is_again=True)
        source = captures.get(capture)
        if name in CHANGES_INPUT:
            shutil.copytree(source, os.path.join(folder, "in"))
            source = os.path.join(folder, "in")
        out = os.path.join(folder, "out", "result")
        kept = os.path.join(folder, "kept")
        words = [word.replace("{in}", source or "").replace("{out}", out).replace("{kept}", kept) for word in words.split()]
        try:
            done = subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
                                  env={**os.environ, "TMPDIR": os.path.join(folder, "tmp"), "NO_COLOR": "1", **environment})
            self.status = done.returncode
            self.said, self.errors = (text.decode(errors="replace").replace(folder, "@") for text in (done.stdout, done.stderr))
        except subprocess.TimeoutExpired:
            self.status, self.said, self.errors = "no end", "", ""
        self.folder = os.path.join(folder, "out")
        self.written = files_below(self.folder)
        self.partly = [path for path in self.written if not says_lacks(os.path.join(folder, "out", path))]
        self.kept = files_below(kept)
        self.left = files_below(os.path.join(folder, "tmp"))
        self.input = files_below(source) if source else {}


def is_told(run, path):
    """A file that could not be removed is named."""
    return os.path.basename(path) in run.errors


def calls_of(path):
    """How many calls of each kind were counted."""
    with open(path, "rb") as file:
        data = file.read()
    end = data.rfind(b"\0") + 1  # of the numbers; behind them stand the names
    kinds = data[end:].decode().split()
    return dict(zip(kinds, struct.unpack("%dl" % len(kinds), data[:end])))


def lacks_more(run, whole):
    """Where the whole run lacks something, too: whether stderr names a file, or a reason of a rank, that it does not name there, and so does all
    that is other."""
    more = [line for line in run.errors.splitlines() if line not in whole.errors.splitlines()]
    named = [name.encode() for name in re.findall(r"[\w.-]+\.\w+", "\n".join(more))]
    named += [line.rsplit(": ", 1)[-1].encode() for line in more if ": rank " in line]
    other = [unpacked(os.path.join(run.folder, path)) for path, text in run.written.items() if text != whole.written.get(path)]
    if run.said != whole.said:
        other.append(run.said.encode())
    return all(any(name in data for name in named) for data in other)


def fault_of(run, whole, kind):
    """What is wrong with a run in which a call failed, or None."""
    if kind == "unlink":
        for files in (run.written, run.left, run.kept):
            for path in [p for p in files if p not in whole.written and p not in whole.kept and is_told(run, p)]:
                del files[path]
    if run.status == "no end" or run.status < 0:
        return "ended by %s" % ("patience" if run.status == "no end" else "signal %d" % -run.status)
    if run.left:
        return "left in the temporary folder: %s" % ", ".join(sorted(run.left))
    is_other = run.said != whole.said or run.written != whole.written
    if run.status == whole.status and is_other and not (run.status == PARTLY and lacks_more(run, whole)):
        return "status %s, but other %s" % (run.status, "output" if run.said != whole.said else "files")
    if run.status != whole.status:
        if not run.errors.strip():
            return "status %s without a word" % run.status
        if run.status not in (1, PARTLY):
            return "status %s: %s" % (run.status, run.errors.strip()[:200])
        strange = sorted(path for path in set(run.written) - set(whole.written) if not (run.status == PARTLY and "_lacks." in path))
        if strange:
            return "left behind: %s" % ", ".join(strange)
        cut = sorted(name for name, text in run.written.items() if name in whole.written and text != whole.written[name])
        if cut and run.status != PARTLY:
            return "half-written: %s" % ", ".join(cut)
        mute = sorted(set(cut) & set(run.partly))
        if mute:
            return "does not say what it lacks: %s" % ", ".join(mute)
        if kind != "memory" and kind != "thread" and not any(c in run.errors for c in "/.@"):
            return "names no file: %s" % run.errors.strip()[:200]
    return None


def kept_fault(run, whole, again):
    """What is wrong with what was kept, or with the run after it."""
    strange = sorted(set(run.kept) - set(whole.kept))
    if strange:
        return "kept what is none: %s" % ", ".join(strange)
    cut = sorted(path for path, text in run.kept.items() if text != whole.kept[path])
    if cut and run.status != PARTLY:  # a partial may say that its rank failed
        return "kept in part: %s" % ", ".join(cut)
    for what in ("status", "said", "written", "kept", "left"):
        if getattr(again, what) != getattr(whole, what):
            return "the next run: other %s: %s" % (what, again.errors.strip()[:200])
    return None


def input_fault(run, whole, before, name):
    if name not in CHANGES_INPUT:
        return None if run.input == before else "changed the input"
    bad = sorted(path for path, text in run.input.items() if text not in (before.get(path), whole.input.get(path)) and not is_told(run, path))
    return "neither the old state nor the new: %s" % ", ".join(bad) if bad else None


def show(run, whole):
    """Where the call came from, and what is other than without the fault."""
    for line in run.errors.splitlines():
        frame = re.match(r".*pipescope\(\+(0x[0-9a-f]+)\)", line)
        print("  " + (subprocess.run(["addr2line", "-fspe", PROGRAM, frame.group(1)], capture_output=True, text=True, check=False).stdout.strip()
                      if frame else line))
    for line in difflib.unified_diff(whole.said.splitlines(), run.said.splitlines(), "whole", "with the fault", n=0, lineterm=""):
        print("  " + line)
    for path in sorted(set(whole.written) | set(run.written)):
        if whole.written.get(path) != run.written.get(path):
            print("  %s: %s" % (path, "other" if path in whole.written and path in run.written else "missing" if path in whole.written else "strange"))


# --- all of them ---------------------------------------------------------------------------------------------------------

def spread(n, most):
    """At most `most` of 1..n: the first ones, then ever farther apart, and the last."""
    if most is None or n <= most:
        return list(range(1, n + 1))
    first = list(range(1, max(2, most // 2)))
    rest = most - len(first)
    if rest <= 0:
        return first
    ratio = (n / first[-1]) ** (1.0 / rest)
    return sorted(set(first) | {min(n, round(first[-1] * ratio ** (i + 1))) for i in range(rest)})


def places_of(counts, n):
    """The first and the last allocation of each place, of those that were noted."""
    with open(counts + ".places", "rb") as file:
        data = file.read(8 * n)
    places = struct.unpack("%dQ" % (len(data) // 8), data[:len(data) // 8 * 8])
    first, last = {}, {}
    for call, place in enumerate(places, 1):
        first.setdefault(place, call)
        last[place] = call
    return sorted({*first.values(), *last.values()})


class Harness:
    def __init__(self, options, folder, share=(0, 1)):
        """`share`: (i, n), the i-th of n that check the same command between them."""
        self.options, self.folder, self.share = options, folder, share
        self.captures = {}
        self.tally = collections.Counter()
        self.wrong = []

    def capture(self, name):
        if name and name not in self.captures:
            path = os.path.join(self.folder, "captures", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            CAPTURES[name](path)
            self.captures[name] = path

    def run(self, name, **environment):
        return Run(name, self.captures, os.path.join(self.folder, "run"), environment)

    def wish(self, kind, call):
        """The environment in which that call fails."""
        wish = {"LD_PRELOAD": LIBRARY, "FAULT": "%s:%d" % (kind, call)}
        if self.options.sticks:
            wish["FAULT_STICKS"] = "1"
        if self.options.show:
            wish["FAULT_TRACE"] = "1"
        return wish

    def calls_to_fail(self, counts):
        """(kind, N) of all calls that were counted, as far as they are asked for and this share's."""
        own, n_shares = self.share
        yield from itertools.islice(self.calls_asked_for(counts), own, None, n_shares)

    def calls_asked_for(self, counts):
        for kind, n in calls_of(counts).items():
            if self.options.kind in (None, kind):
                most = self.options.memory or self.options.each if kind == "memory" else self.options.each
                calls = places_of(counts, n) if kind == "memory" and self.options.places else spread(n, most)
                for call in [self.options.call] if self.options.call else calls:
                    yield kind, call

    def counting(self, counts):
        """The environment in which calls are counted."""
        return {"LD_PRELOAD": LIBRARY, "FAULT_COUNT": counts, **({"FAULT_PLACES": counts + ".places"} if self.options.places else {})}

    def note(self, name, kind, call, fault, run):
        self.tally[(name, kind, "wrong" if fault else "right")] += 1
        if fault:
            self.wrong.append("WRONG %s, %s %d: %s" % (name, kind, call, fault))
            print(self.wrong[-1])
        elif self.options.verbose:
            print("ok %s, %s %d: status %s %s" % (name, kind, call, run.status, run.errors.strip()[:160]))
        sys.stdout.flush()

    def check_call(self, name, kind, call, whole, before):
        run = self.run(name, **self.wish(kind, call))
        fault = fault_of(run, whole, kind) or input_fault(run, whole, before, name)
        if name in KEEPS and not fault:
            fault = kept_fault(run, whole, Run(name, self.captures, os.path.join(self.folder, "run"), {}, is_again=True))
        self.note(name, kind, call, fault, run)
        if self.options.show:
            show(run, whole)

    def check_command(self, name):
        self.capture(COMMANDS[name][0])
        source = self.captures.get(COMMANDS[name][0])
        before = files_below(source) if source else {}
        counts = os.path.join(self.folder, "counts-" + name)
        whole = self.run(name, **self.counting(counts))
        if whole.status not in (0, PARTLY):
            raise SystemExit("%s does not run: status %s: %s" % (name, whole.status, whole.errors))
        for kind, call in self.calls_to_fail(counts):
            self.check_call(name, kind, call, whole, before)

    def check_recorder(self, name):
        counts, folder = os.path.join(self.folder, "counts-" + name), os.path.join(self.folder, "recorder")
        whole = recorder.Run(name, folder, self.counting(counts))
        if whole.status != 0 or whole.events <= 0:
            raise SystemExit("%s does not run: status %s: %s" % (name, whole.status, whole.errors))
        for kind, call in self.calls_to_fail(counts):
            again = os.path.join(self.folder, "counts-again")
            if os.path.exists(again):
                os.remove(again)
            run = recorder.Run(name, folder, {**self.wish(kind, call), "FAULT_COUNT": again})
            self.note(name, kind, call, recorder.fault_of(name, run, whole, kind), run)

    def check_server(self, name):
        counts = os.path.join(self.folder, "counts-" + name)
        self.capture("job")
        whole = served.Run(self.captures["job"], self.counting(counts))
        if whole.status != 0 or whole.failed:
            raise SystemExit("%s does not run: status %s: %s" % (name, whole.status, whole.errors))
        for kind, call in self.calls_to_fail(counts):
            run = served.Run(self.captures["job"], self.wish(kind, call))
            self.note(name, kind, call, served.fault_of(run, whole), run)

    def check(self, name):
        if name in recorder.NAMES:
            self.check_recorder(name)
        elif name in served.NAMES:
            self.check_server(name)
        else:
            self.check_command(name)

    def add(self, other):
        self.tally += other.tally
        self.wrong += other.wrong

    def print_table(self, names):
        kinds = sorted({kind for _, kind, _ in self.tally})
        print("\nruns/wrong%s" % "".join("%11s" % kind for kind in kinds))
        for name in names:
            cells = [(self.tally[(name, kind, "right")], self.tally[(name, kind, "wrong")]) for kind in kinds]
            print("%-16s%s" % (name, "".join("%11s" % ("%d/%d" % (right + wrong, wrong) if right + wrong else "-") for right, wrong in cells)))
        for fault in self.wrong:
            print(fault)
        right = sum(n for (_, _, how), n in self.tally.items() if how == "right")
        print("%d runs, %d wrong" % (right + len(self.wrong), len(self.wrong)))


def shares_of(options, names):
    """(name, (i, n)) of what is checked by itself: a server waits more than it works, and the many runs of it are shared out among the others."""
    n_shares = 1 if options.jobs == 1 else 2 * options.jobs
    waiting = [(name, (i, n_shares)) for name in names if name in served.NAMES for i in range(n_shares)]
    working = [(name, (0, 1)) for name in names if name not in served.NAMES]
    places = [((i + 0.5) / len(some), task) for some in (waiting, working) for i, task in enumerate(some)]
    return [task for _, task in sorted(places)]


def check_all(options, names, folder):
    """Every command, or share of one, in a folder of its own, `options.jobs` of them at once."""
    whole = Harness(options, folder)

    def check(task):
        name, share = task
        own = Harness(options, os.path.join(folder, "%s-%d" % (name, share[0])), share)
        os.makedirs(own.folder)
        try:
            own.check(name)
        except Exception:  # the others are worth knowing all the same  pylint: disable=broad-exception-caught
            own.wrong.append("WRONG %s: not run to its end: %s" % (name, traceback.format_exc()))
        return own

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for own in pool.map(check, shares_of(options, names)):
            whole.add(own)
    return whole


def set_patience(seconds):
    global PATIENCE  # pylint: disable=global-statement
    PATIENCE = serving.PATIENCE = seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--each", type=int, help="at most so many calls of a kind in a command; all without it")
    parser.add_argument("--memory", type=int, help="at most so many allocations in a command, which are most of the calls")
    parser.add_argument("--places", action="store_true", help="of allocations the first and the last of each place that asks for them")
    names = [*COMMANDS, *served.NAMES, *(recorder.NAMES if os.path.exists(recorder.CLIENT) else ())]
    parser.add_argument("--command", choices=sorted(names))
    parser.add_argument("--kind")
    parser.add_argument("--call", type=int)
    parser.add_argument("--sticks", action="store_true", help="all calls from that one on fail, as on a full disk")
    parser.add_argument("--patience", type=int, default=PATIENCE,
                        help="seconds after which a run counts as without an end (%(default)s): a busy machine wants more")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at once (%(default)s)")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--show", action="store_true", help="with --call: where it is called, and what differs")
    options = parser.parse_args()
    set_patience(options.patience)
    if not os.path.exists(LIBRARY):
        parser.error("no %s: build the tests first" % os.path.relpath(LIBRARY, ROOT))
    with tempfile.TemporaryDirectory(prefix="pipescope-faults-") as folder:
        names = [options.command] if options.command else names
        harness = check_all(options, names, folder)
        harness.print_table(names)
    sys.exit(1 if harness.wrong else 0)


if __name__ == "__main__":
    sys.modules["faults"] = sys.modules["__main__"]
    import recorder  # pylint: disable=wrong-import-position
    import served  # pylint: disable=wrong-import-position
    import serving  # pylint: disable=wrong-import-position

    main()
