#!/usr/bin/env python3
"""Captures in plain Python: columns, rows, studies, errors; the figures of every table against `pipescope query`; what importing costs."""
import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
import xml.dom.minidom

import recording

import pipescope

DATA = os.path.join(recording.ROOT, "tests", "data")
DUALPIPE = os.path.join(DATA, "kineto_dualpipe", "rank-3.json")
WORKERS = os.path.join(DATA, "ndtimeline", "two-by-two.json")
GPIPE = os.path.join(DATA, "torch_pipeline", "gpipe")
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

# A call that is slow to heed stop(), interrupted so often while it lasts.
INTERRUPTED = """
import os, signal, threading, time, pipescope
c = pipescope.open(%r)
said = []

class Slow:
    def __getattr__(self, name):
        return getattr(real, name)

    def sql(self, *of):
        for _ in range(%d):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        time.sleep(0.5)
        said.append("ended")
        return real.sql(*of)

real, c._lib = c._lib, Slow()
try:
    with c:
        c.sql("SELECT 1")
except KeyboardInterrupt:
    said.append("interrupted")
print(*said)
"""
WAITING = """
import os, signal, threading, time, pipescope
c = pipescope.open(%r)
COUNT = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 4000000) SELECT count(*) FROM t"
said = []
other = threading.Thread(target=lambda: said.append(c.sql(COUNT).scalar()))
other.start()
while not c._turn.locked():
    time.sleep(0.001)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    c.sql("SELECT 1")
except KeyboardInterrupt:
    print("interrupted")
other.join()
print(*said)
print(c.sql("SELECT 1").scalar())
"""
# Interrupted while the library writes.
WRITING = """
import os, signal, threading, time, pipescope
with pipescope.open(%r) as c:
    chart = c.chart()
whole = chart.html

class Slow:
    def __getattr__(self, name):
        return getattr(real, name)

    def study_write(self, *of):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return real.study_write(*of)

real, chart._lib = chart._lib, Slow()
try:
    chart.write("html")
except KeyboardInterrupt:
    print("interrupted")
chart._lib = real
print("whole" if chart.html == whole else "other")
"""
CLOSING = """
import threading, time, pipescope
c = pipescope.open(%r)
COUNT = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 3000000) SELECT count(*) FROM t"
said = []
other = threading.Thread(target=lambda: said.append(c._ask(c._lib.sql, COUNT.encode()).scalar()))
other.start()
while not c._turn.locked():
    time.sleep(0.001)
c.close()
print("open" if c._end.alive else "gone")
try:
    c.sql("SELECT 1")
except ValueError:
    print("closed")
other.join()
print(*said)
print("open" if c._end.alive else "gone")
"""
AT_EXIT = """
import atexit
def at_end():
    print(t["dur_ns"] == before, c.sql("SELECT 1").scalar())
atexit.register(at_end)
import pipescope
c = pipescope.open(%r)
t = c.table("slice")
before = t["dur_ns"]
"""


def query(path, sql):
    """Rows of the command as dicts; None where the capture has nothing of the kind."""
    done = subprocess.run([recording.PROGRAM, "query", path, sql, "--as", "json"], capture_output=True, check=False,
                          timeout=recording.PATIENCE)
    if done.returncode not in (0, 3, 4):
        raise AssertionError("%s: %s" % (sql, done.stderr))
    return json.loads(done.stdout) if done.stdout else None


class Columns(recording.Case):
    def setUp(self):
        super().setUp()
        self.capture = pipescope.open(DUALPIPE)
        self.addCleanup(self.capture.close)

    def test_values(self):
        table = self.capture.sql("SELECT 7 AS whole, 0.5 AS real, 'ä' AS text, NULL AS gap, sum(dur_ns) AS total_ns FROM slice")
        self.assertEqual(table.columns, ["whole", "real", "text", "gap", "total_ns"])
        self.assertEqual([f.type for f in table.schema], ["int64", "float64", "text", "int64", "int64"])
        self.assertEqual(table.units, {"total_ns": "ns"})
        self.assertEqual(table.shape, (1, 5))
        total = query(DUALPIPE, "SELECT sum(dur_ns) AS n FROM slice")[0]["n"]
        self.assertEqual(table.rows(), [(7, 0.5, "ä", None, total)])
        self.assertEqual(list(table), table.rows())
        self.assertEqual(table.to_dicts()[0]["text"], "ä")
        self.assertEqual(table["whole"], [7])
        self.assertEqual(self.capture.sql("SELECT count(*) FROM slice WHERE 0").scalar(), 0)
        with self.assertRaises(KeyError):
            table["colour"]
        with self.assertRaises(ValueError):
            table.scalar()

    def test_empty_and_null(self):
        empty = self.capture.sql("SELECT name, dur_ns, start_ns FROM slice WHERE 0")
        self.assertEqual((len(empty), empty.rows(), empty["name"]), (0, [], []))
        self.assertEqual([f.type for f in empty.schema], ["text", "int64", "int64"])
        self.assertEqual(empty.units["start_ns"], "ns since 1970")
        holes = self.capture.sql("WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < 20) SELECT "
                                 "CASE WHEN x % 3 THEN x END AS i, CASE WHEN x % 3 THEN x / 2.0 END AS r, CASE WHEN x % 3 THEN 't' || x END AS t FROM c")
        for x, row in enumerate(holes):
            self.assertEqual(row, (x, x / 2, "t%d" % x) if x % 3 else (None, None, None))

    def test_ranks_and_tables(self):
        self.assertEqual(self.capture.ranks["rank"], [3])
        self.assertIn("slice", self.capture.tables["name"])
        self.assertEqual(self.capture.notes.columns, ["severity", "who", "text"])
        self.assertEqual(len(self.capture.table("slice", rank=3)), len(self.capture.table("slice")))
        self.assertEqual(len(self.capture.table("slice", rank=[0, 1])), 0)
        self.assertEqual(self.capture.table("slice", rank=[3], columns=["dur_ns", "name"]).columns, ["dur_ns", "name"])
        self.assertEqual(len(self.capture.table("slice", rank=[])), 0)
        self.assertEqual(self.capture.table("kernel", columns=["name"], rank=3).rows(), self.capture.sql("SELECT name FROM kernel").rows())
        for odd in ({"columns": ["no such"]}, {"columns": []}, {"rank": 3, "columns": ['"; DROP']}):
            with self.assertRaises(pipescope.QueryError):
                self.capture.table("slice", **odd)
        with self.assertRaisesRegex(pipescope.QueryError, "no such table"):
            self.capture.table("nowhere")

    def test_ranks_that_are_like_integers(self):
        class Whole:
            """As numpy's integers are."""
            def __index__(self):
                return 3

        wanted = len(self.capture.table("slice"))
        self.assertEqual(len(self.capture.table("slice", rank=Whole())), wanted)
        self.assertEqual(len(self.capture.table("slice", rank=iter([Whole(), 5]))), wanted)
        for odd in (3.0, "3", [3.0]):
            with self.assertRaises(TypeError):
                self.capture.table("slice", rank=odd)

    def test_texts_are_utf8(self):
        """In memory, where other packages read them."""
        column = self.capture.sql("SELECT CAST(x'41ff42' AS TEXT) AS t")._column("t")
        self.assertEqual(ctypes.string_at(column.bytes, 5), "A\ufffdB".encode())

    def test_rows_outlive_the_capture(self):
        table = self.capture.table("slice")
        before = table.rows()
        self.capture.close()
        gc.collect()
        self.assertEqual(table.rows(), before)
        with self.assertRaises(ValueError):
            self.capture.sql("SELECT 1")
        self.assertIn("closed", repr(self.capture))

    def test_capsules(self):
        """Streams that nobody takes are given back, also when there are many at once."""
        from pipescope import table as module
        table = self.capture.table("step")
        capsules = [table.__arrow_c_stream__() for _ in range(3)]
        self.assertEqual(len(module._held), 3)
        self.assertIn("arrow_array_stream", repr(capsules[0]))
        del capsules
        gc.collect()
        self.assertEqual(module._held, {})

    def test_capsule_as_a_consumer_takes_it(self):
        from pipescope import _native, table as module
        table = self.capture.sql("SELECT 5 AS x UNION ALL SELECT 6")
        capsule = table.__arrow_c_stream__(None)
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
        stream = _native.ArrowArrayStream.from_address(pointer(capsule, b"arrow_array_stream"))
        array = _native.ArrowArray()
        self.assertEqual(stream.get_next(ctypes.byref(stream), ctypes.byref(array)), 0)
        del table, capsule
        gc.collect()
        self.assertEqual(module._held, {})
        values = (ctypes.c_int64 * 2).from_address(array.children[0].contents.buffers[1])
        self.assertEqual(list(values), [5, 6])
        array.release(ctypes.byref(array))

    def test_pictures_of_tables(self):
        table = self.capture.sql("SELECT '<b>&' AS text, 1500000 AS total_ns, NULL AS gap")
        page = table._repr_html_()
        self.assertIn("&lt;b&gt;&amp;", page)
        self.assertNotIn("<b>&", page)
        xml.dom.minidom.parseString(page)
        self.assertIn("1500000", repr(table))
        many = self.capture.table("slice")
        self.assertIn("%d rows" % len(many), many._repr_html_())
        self.assertIn("more rows", repr(many))
        xml.dom.minidom.parseString("<div>%s</div>" % self.capture._repr_html_())


class Figures(recording.Case):
    """Every table of a few captures of different formats."""

    def marks(self):
        subprocess.run(["sh", os.path.join(DATA, "pp_chart", "1f1b_pp4_mb8", "make.sh"), self.path("marks")], check=True,
                       stdout=subprocess.DEVNULL)
        return self.path("marks")

    def same(self, table, wanted, what):
        texts = [f.type == "text" for f in table.schema]
        got = table.rows()
        self.assertEqual(len(got), len(wanted), what)
        for row, cells in zip(got, wanted):
            cells = tuple(str(v) if is_text and v is not None else v for is_text, v in zip(texts, cells.values()))
            self.assertEqual(row, cells, what)

    def test_every_table(self):
        n_tables = n_rows = 0
        for path in (self.marks(), DUALPIPE, WORKERS, GPIPE):
            with pipescope.open(path) as capture:
                for name in capture.tables["name"]:
                    wanted = query(path, "SELECT * FROM %s" % name)
                    try:
                        table = capture.table(name)
                    except pipescope.NothingFound:
                        self.assertIsNone(wanted, (path, name))
                        continue
                    self.same(table, wanted or [], (path, name))
                    n_tables += 1
                    n_rows += len(table)
        print("%d tables, %d rows" % (n_tables, n_rows))
        self.assertGreater(n_tables, 200)
        self.assertGreater(n_rows, 10000)


class Studies(recording.Case):
    def pipescope_file(self, command, path, name, *more):
        self.pipescope(command, path, "-o", self.path(name), *more)
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_chart(self):
        with pipescope.open(GPIPE) as capture:
            chart = capture.chart(against="1f1b")
            for form in ("svg", "html", "json"):
                self.assertEqual(chart.write(form), self.pipescope_file("chart", GPIPE, "chart." + form, "--against", "1f1b"))
            self.assertEqual(chart._repr_svg_(), chart.svg)
            xml.dom.minidom.parseString(chart.svg)
            self.assertEqual(len(chart.json()["ops"]), capture.sql("SELECT count(*) FROM op").scalar())
            self.assertEqual(chart.tables["PipelineStep"].rows(), capture.table("PipelineStep").rows())
            self.assertEqual(chart.tables["PipelineStep"].columns, capture.table("PipelineStep").columns)
            self.assertNotEqual(capture.chart(dark=True).svg, capture.chart().svg)
            chart.save(self.path("saved.svg"))
            with open(self.path("saved.svg"), encoding="utf-8") as file:
                self.assertEqual(file.read(), chart.svg)
            with self.assertRaisesRegex(pipescope.TooLarge, "step 99999: no such step"):
                capture.chart(step=99999)
            with self.assertRaisesRegex(pipescope.QueryError, "schedule"):
                capture.chart(against="none")
            with self.assertRaisesRegex(pipescope.UnsupportedError, "svg"):
                chart.write("pdf")
        gc.collect()
        self.assertIn("<svg", chart.svg)  # longer than the capture

    def test_report(self):
        with pipescope.open(GPIPE) as capture:
            report = capture.report()
            self.assertEqual(report.html, self.pipescope_file("report", GPIPE, "report.html"))
            self.assertEqual(report.json(), json.loads(self.pipescope_file("report", GPIPE, "report.json")))
            self.assertEqual(report.text, self.pipescope_file("report", GPIPE, "report.txt"))
            self.assertEqual(report.findings["title"], [f["title"] for f in report.json()["findings"]])
            self.assertEqual(report.findings["gain_ns"], [f["gain_ns"] for f in report.json()["findings"]])
            self.assertTrue(report.verdict)
            xml.dom.minidom.parseString(report._repr_html_().replace("<br>", "<br/>"))
            with self.assertRaisesRegex(pipescope.TooLarge, "no such step; there are"):
                capture.report(step=99999)

    def test_whatif(self):
        with pipescope.open(WORKERS) as capture:
            whatif = capture.whatif(without="stage=last")
            for form in ("svg", "html", "json"):
                self.assertEqual(whatif.write(form), self.pipescope_file("whatif", WORKERS, "whatif." + form, "--without", "stage=last"))
            self.assertEqual(whatif.causes["cause"], [c["cause"] for c in whatif.json()["causes"]])
            self.assertIn("<svg", whatif._repr_html_())
            with self.assertRaises(pipescope.QueryError):
                capture.whatif(without="weather")

    def test_captures_without(self):
        with pipescope.open(os.path.join(DATA, "kineto", "idle")) as capture:
            with self.assertRaises(pipescope.NothingFound) as caught:
                capture.chart()
            self.assertIn("no pipeline in this capture", caught.exception.message)
            self.assertTrue(caught.exception.remedy)


class Errors(recording.Case):
    def test_exact_types(self):
        with self.assertRaises(pipescope.CaptureNotFound) as caught:
            pipescope.open(self.path("nowhere"))
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertIn("nowhere", str(caught.exception))
        self.assertEqual(caught.exception.file[-7:], "nowhere")
        with self.assertRaises(pipescope.NothingFound) as caught:
            pipescope.open(self.folder)
        self.assertIsInstance(caught.exception, LookupError)
        for options, word in (({"pp": 0}, "pp"), ({"colour": "red"}, "colour"), ({"format": "none"}, "none"), ({"jobs": -1}, "jobs")):
            with self.assertRaisesRegex(pipescope.QueryError, word):
                pipescope.open(DUALPIPE, **options)
        with pipescope.open(DUALPIPE) as capture:
            with self.assertRaises(pipescope.QueryError) as caught:
                capture.sql("SELECT nam\nFROM slice")
            error = caught.exception
            self.assertIsInstance(error, ValueError)
            self.assertEqual((error.file, error.line, error.offset), ("query", 1, 7))
            self.assertEqual(error.message, "no such column: nam")
            for sql in ("DELETE FROM slice", "PRAGMA database_list", "ATTACH 'x' AS y", "", "SELECT 1; SELECT 2"):
                with self.assertRaises(pipescope.QueryError):
                    capture.sql(sql)
            self.assertEqual(capture.sql("SELECT 1").scalar(), 1)

    def test_nothing_is_dropped_behind_a_nul(self):
        with self.assertRaisesRegex(pipescope.QueryError, "NUL"):
            pipescope.open(DUALPIPE + "\0x")
        with self.assertRaisesRegex(pipescope.QueryError, "option 'format'.* NUL"):
            pipescope.open(DUALPIPE, format="kineto\0x")
        with pipescope.open(DUALPIPE) as capture:
            with self.assertRaisesRegex(pipescope.QueryError, "NUL") as caught:
                capture.sql("SELECT 1\n\0 anything")
            self.assertEqual((caught.exception.file, caught.exception.line, caught.exception.offset), ("query", 2, 9))
            for ask in (lambda: capture.table("slice\0x"), lambda: capture.table("slice", columns=["name\0x"]),
                        lambda: capture.report(step="1\0x"), lambda: capture.report().write("text\0x")):
                with self.assertRaisesRegex(pipescope.QueryError, "NUL"):
                    ask()

    def test_a_full_disk(self):
        from pipescope import errors
        self.assertIsInstance(errors.of_library(13, "no room", "x.db", 0, 2 ** 64 - 1, ""), pipescope.NoRoom)
        self.assertTrue(issubclass(pipescope.NoRoom, OSError))

    def test_unread_profiles_are_told(self):
        for rank in (0, 1):
            with open(self.path("rank-%d.json" % rank), "w", encoding="utf-8") as file:
                json.dump({"distributedInfo": {"rank": rank}, "schemaVersion": 1, "traceEvents": [
                    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]}, file)
        capture = pipescope.open(self.folder)
        os.unlink(self.path("rank-1.json"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(capture.sql("SELECT rank FROM slice").rows(), [(0,)])
            capture.sql("SELECT rank FROM slice")
        self.assertEqual([w.category for w in caught], [pipescope.PartialCaptureWarning], [str(w.message) for w in caught])
        self.assertIn("rank 1", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)
        self.assertEqual(len([n for n in capture.notes if n[0] == "error"]), 1)

    def test_studies_tell_of_unread_profiles(self):
        shutil.copytree(GPIPE, self.path("job"))
        capture = pipescope.open(self.path("job"))
        os.unlink(self.path("job", "rank_3.pt.trace.json.gz"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            capture.report()
            capture.report()
        self.assertEqual([(w.category, w.filename) for w in caught], [(pipescope.PartialCaptureWarning, __file__)])
        self.assertIn("rank 3", str(caught[0].message))

    def test_no_library(self):
        out, _ = self.run_python("import pipescope\ntry:\n    pipescope.open('.')\nexcept pipescope.LibraryNotFound as error:\n    print(error)\n",
                                 PIPESCOPE_ANALYSIS_LIBRARY=self.path("none.so"))
        self.assertIn("none.so", out)
        self.assertIn("pip install pipescope-training", out)


class Ends(recording.Case):
    def test_timeout(self):
        with pipescope.open(DUALPIPE, timeout=1) as capture:
            with self.assertRaises(pipescope.Ended) as caught:
                capture.sql(ENDLESS)
            self.assertIsInstance(caught.exception, TimeoutError)

    def test_stop_from_a_thread(self):
        with pipescope.open(DUALPIPE) as capture:
            timer = threading.Timer(0.2, capture.stop)
            timer.start()
            with self.assertRaises(pipescope.Ended):
                capture.sql(ENDLESS)
            timer.join()
            self.assertEqual(capture.sql("SELECT 1").scalar(), 1)

    def test_interrupt(self):
        with pipescope.open(DUALPIPE) as capture:
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                capture.sql(ENDLESS)
            timer.join()
            self.assertEqual(capture.sql("SELECT 1").scalar(), 1)

    def test_interrupt_then_close(self):
        """The call has ended when the capture is closed, whatever came between."""
        for n_interrupts in (1, 10):
            out, _ = self.run_python(INTERRUPTED % (DUALPIPE, n_interrupts))
            self.assertEqual(out.split(), ["ended", "interrupted"])

    def test_interrupt_of_writing(self):
        """A study is written under Ctrl-C too, also when its capture is closed; what is made so far goes."""
        out, _ = self.run_python(WRITING % GPIPE)
        self.assertEqual(out.split(), ["interrupted", "whole"])

    def test_writing_ends(self):
        """The library itself heeds a stop while it writes."""
        with pipescope.open(GPIPE) as capture:
            chart = capture.chart()
        done = threading.Event()

        def stop():
            while not done.is_set():
                chart._lib.study_stop(chart._handle)

        thread = threading.Thread(target=stop)
        thread.start()
        try:
            with self.assertRaises(pipescope.Ended):
                for _ in range(1000):
                    chart.write("html")
        finally:
            done.set()
            thread.join()
        self.assertTrue(chart.html.endswith("</html>\n"))

    def test_interrupt_ends_no_other_call(self):
        """Whoever waits for its turn is told at once; the one that has it goes on."""
        out, _ = self.run_python(WAITING % DUALPIPE)
        self.assertEqual(out.split(), ["interrupted", "4000000", "1"])

    def test_close_while_it_runs(self):
        out, _ = self.run_python(CLOSING % DUALPIPE)
        self.assertEqual(out.split(), ["open", "closed", "3000000", "gone"])

    def test_tables_at_exit(self):
        out, _ = self.run_python(AT_EXIT % DUALPIPE)
        self.assertEqual(out.split(), ["True", "1"])

    def test_threads(self):
        """Two captures, four threads."""
        captures = [pipescope.open(DUALPIPE), pipescope.open(GPIPE)]
        wanted = [c.sql("SELECT count(*) FROM slice").scalar() for c in captures]
        found = []

        def work(i):
            for _ in range(5):
                found.append((i % 2, captures[i % 2].sql("SELECT count(*) FROM slice").scalar()))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), sorted([(i, wanted[i]) for i in (0, 1)] * 10))


class Package(recording.Case):
    def test_importing_loads_no_analysis(self):
        out, _ = self.run_python("import sys, builtins\nimport pipescope\nfrom pipescope import *\n"
                                 "print([m for m in sys.modules if m.startswith('pipescope.') and m.split('.')[1] in "
                                 "('capture', 'table', 'errors', '_native')], open is builtins.open)\n")
        self.assertEqual(out.split(), ["[]", "True"])

    def test_names(self):
        for name in ("open", "Capture", "Chart", "Report", "WhatIf", "Table", "Field", "PipescopeError", "QueryError"):
            self.assertTrue(getattr(pipescope, name).__doc__, name)
        with self.assertRaises(AttributeError):
            pipescope.nothing_of_this_name

    def test_types(self):
        """The annotations hold, where mypy is there."""
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("no mypy")
        sources = [os.path.join(recording.PACKAGE, "pipescope", name + ".py") for name in ("capture", "table", "errors", "_native")]
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--follow-imports=silent",
                               "--cache-dir", self.path("mypy"), *sources], cwd=recording.PACKAGE, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    recording.main()
