"""Captures in Python: `pipescope.open(path)`. docs/python.md shows what to do with them.

In process, through libpipescope.so: nothing is written, no program is started, no output is parsed.
"""
from __future__ import annotations

import contextlib
import ctypes
import html
import json
import operator
import os
import threading
import warnings
import weakref
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List, Optional, Set, SupportsIndex, TypeVar, Union

from pipescope import _native, errors
from pipescope.table import Table

__all__ = ["open", "Capture", "Study", "Chart", "Report", "WhatIf"]

Result = TypeVar("Result")


class _Call(Generic[Result]):
    """A call of the library, which may run in a thread of its own. `work` gets the handle of the capture, or of the study."""

    def __init__(self, of: Union["Capture", "Study"], work: Callable[[int], Result]):
        self._of, self._work = of, work
        self._guard = threading.RLock()
        self._handle = 0
        self._runs = self._given_up = False
        self._done: List[Result] = []
        self._failed: List[BaseException] = []
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            with self._of._in_use() as handle, self._of._turn:
                with self._guard:
                    self._handle, self._runs = handle, not self._given_up
                if self._runs:
                    self._do(handle)
        except BaseException as error:  # noqa: B036  (raised again by result(), in the thread that asked)
            self._failed.append(error)
        finally:
            self.ended.set()

    def _do(self, handle: int) -> None:
        try:
            self._done.append(self._work(handle))
        finally:
            with self._guard:
                self._runs = False

    def _stop(self) -> bool:
        """Whether it runs. Nobody else's call is stopped: it is this one that has the turn."""
        with self._guard:
            self._given_up = True
            if self._runs:
                self._of._stop_call(self._handle)
            return self._runs

    def give_up(self) -> None:
        """Ends it and waits for that, whatever comes between; where it waits for its turn, it will do nothing then. What it made goes with it."""
        while True:
            try:
                while self._stop():  # again: the library forgets a stop that came before it began
                    self.ended.wait(0.05)
                return
            except BaseException:  # noqa: B036  (the first one is raised)
                continue

    def result(self) -> Result:
        if self._failed:
            raise self._failed.pop()
        return self._done.pop()


def _interruptible(of: Union["Capture", "Study"], work: Callable[[int], Result]) -> Result:
    """Runs it so that Ctrl-C (a notebook's stop button) ends it: the library knows nothing of Python's signals, which only the main thread sees."""
    call = _Call(of, work)
    if threading.current_thread() is not threading.main_thread():
        call.run()
        return call.result()
    thread = threading.Thread(target=call.run, name="pipescope")
    try:
        try:
            thread.start()
        except RuntimeError:
            if thread.ident is not None:
                raise
            call.run()  # no thread can be made any more: the interpreter ends
        call.ended.wait()  # not join(): a thread whose join() was interrupted counts as ended up to Python 3.12
    except BaseException:
        call.give_up()
        raise
    return call.result()


class Capture:
    """A capture that is open: the profiles of one rank or of a thousand, of any format. Made by `pipescope.open`.

    Profiles are read when something is asked of them, with the columns that it needs, and stay in memory until the capture is closed.
    May be used from several threads, whose calls wait for one another.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], options: Dict[str, Any]):
        lib, error = _native.functions(), _native.Error()
        self.path: str = os.fspath(path)
        self._lib = lib
        name, texts = _native.text(os.fsencode(self.path), "the path"), _native.option_texts(options)
        self._turn = threading.Lock()  # of the call that runs
        self._guard = threading.RLock()  # of the handle and of the number of calls that run or wait
        self._n_calls = 0
        self._handle = lib.open(name, texts, ctypes.byref(error))
        if not self._handle:
            _native.check(error.code, error)
        self._end = weakref.finalize(self, lib.close, self._handle)
        self._end.atexit = False  # threads and exit handlers may still ask
        self._told: Set[str] = set()

    # --- life ---

    def close(self) -> None:
        """Gives back what was read. Tables and studies that were made stay; calls that run in other threads go on, and the last one gives it back."""
        with self._guard:
            self._handle = None
            self._end_unless_used()

    def _end_unless_used(self) -> None:
        if self._handle is None and self._n_calls == 0:
            self._end()

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[int]:
        """The handle, which stays while this lasts."""
        with self._guard:
            handle = self._open_handle()
            self._n_calls += 1
        try:
            yield handle
        finally:
            with self._guard:
                self._n_calls -= 1
                self._end_unless_used()

    def _stop_call(self, handle: int) -> None:
        self._lib.stop(handle)

    def stop(self) -> None:
        """Ends the call that runs now in another thread, which raises Ended."""
        with self._guard:
            self._lib.stop(self._open_handle())

    def __enter__(self) -> "Capture":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<pipescope.Capture %s%s>" % (self.path, "" if self._handle else ", closed")

    def _repr_html_(self) -> str:
        return "<p>pipescope: <code>%s</code></p>%s" % (html.escape(self.path), self.ranks._repr_html_() if self._handle else "")

    def _open_handle(self) -> int:
        if not self._handle:
            raise ValueError("%s is closed" % self.path)
        return int(self._handle)

    def _ask(self, function: Callable[..., int], *arguments: Any) -> Table:
        def work(handle: int) -> Table:
            stream, error = _native.ArrowArrayStream(), _native.Error()
            _native.check(function(handle, *arguments, ctypes.byref(stream), ctypes.byref(error)), error)
            return Table(stream)

        self._open_handle()
        return _interruptible(self, work)

    def _warn(self, depth: int = 4) -> None:
        """Names profiles that could not be read, each once; `depth`: of the caller to name."""
        for severity, who, text in self.notes:
            said = "%s: %s" % (who, text) if who else str(text)
            if severity == "error" and said not in self._told:
                self._told.add(said)
                warnings.warn(said, errors.PartialCaptureWarning, stacklevel=depth - 1)

    # --- columns ---

    @property
    def ranks(self) -> Table:
        """The profiles that were found, a row each: rank (-1 unknown), profile (number from 0), machine, host, profiler, format, path. Reads none."""
        return self._ask(self._lib.ranks)

    @property
    def tables(self) -> Table:
        """The tables that there may be, a row each: name, text (what it holds). docs/sql.md has their columns."""
        return self._ask(self._lib.tables)

    @property
    def notes(self) -> Table:
        """What was odd so far, a row each: severity ("info", "loss", "error"), who (a rank, or ""), text."""
        return self._ask(self._lib.notes)

    def sql(self, query: str) -> Table:
        """The rows of one SELECT over the tables of docs/sql.md, in SQLite's language. Read-only.

        QueryError: no SQL, or names that are not known, with line and byte. NothingFound: a table of which the capture has nothing. Ended: the
        timeout. PartialCaptureWarning names profiles that could not be read; the others are in the answer."""
        out = self._ask(self._lib.sql, _native.text(query.encode(), "the query", "query"))
        self._warn()
        return out

    def table(self, name: str, rank: Union[SupportsIndex, Iterable[SupportsIndex], None] = None, columns: Optional[Iterable[str]] = None) -> Table:
        """A table as it is ("slice", "kernel", "op", a mode's, a view's), of all ranks or of those given, with all columns or those given. Ranks and
        columns that are not wanted are not read."""
        wanted = None if columns is None else [_native.text(c.encode(), "the name of a column") for c in columns]
        names = None if wanted is None else (ctypes.c_char_p * (len(wanted) + 1))(*wanted, None)
        ranks = None if rank is None else _ranks_of(rank)
        numbers = None if ranks is None else (ctypes.c_int64 * max(len(ranks), 1))(*ranks)
        out = self._ask(self._lib.table, _native.text(name.encode(), "the name of a table"), names, numbers, len(ranks or ()))
        self._warn()
        return out

    # --- studies ---

    def chart(self, step: Optional[int] = None, pipeline: Optional[int] = None, against: Optional[str] = None, dark: bool = False,
              **options: Any) -> "Chart":
        """The pipeline of a step (the usual one where none is said), as `pipescope chart` draws it; `against`: the theory of a schedule below it. Options
        are those of the command, with underscores. NothingFound says what the capture lacks."""
        return Chart(self, "chart", dict(options, step=step, pipeline=pipeline, against=against, dark=dark or None))

    def report(self, step: Optional[int] = None, **options: Any) -> "Report":
        """Findings with evidence, as `pipescope report` has them; `step`: of the chart in it."""
        return Report(self, "report", dict(options, step=step))

    def whatif(self, without: Optional[str] = None, scale: Optional[str] = None, **options: Any) -> "WhatIf":
        """Who makes steps slower than they could be, as `pipescope whatif` says; `without` ("worker=2,1;kind=optimizer") and `scale`
        ("stage=2:-10%") ask what they would be."""
        return WhatIf(self, "whatif", dict(options, without=without, scale=scale))


def _ranks_of(rank: Any) -> List[int]:
    """Of one, which may be numpy's, or of several."""
    try:
        return [operator.index(rank)]
    except TypeError:
        return [operator.index(r) for r in rank]


class Study:
    """What an analysis of the whole job found: made once, given as tables and in forms for people."""

    def __init__(self, capture: Capture, what: str, options: Dict[str, Any]):
        texts = _native.option_texts(options)
        self._lib, self._what = capture._lib, what
        self._title = capture.path
        self._turn = capture._turn

        def work(handle: int) -> int:
            error = _native.Error()
            study = self._lib.study_of(handle, what.encode(), texts, ctypes.byref(error))
            if not study:
                _native.check(error.code, error)
            weakref.finalize(self, self._lib.study_free, study).atexit = False
            return int(study)

        capture._open_handle()
        self._handle = _interruptible(capture, work)
        capture._warn(5)

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[int]:
        """The handle, which stays as long as the study, also where the capture is closed."""
        yield self._handle

    def _stop_call(self, handle: int) -> None:
        self._lib.study_stop(handle)

    def write(self, form: str) -> str:
        """The study as "text", "html" (a page that needs nothing else), "json", and of charts and whatif "svg". UnsupportedError: no such form."""
        wanted = _native.text(form.encode(), "the form")

        def work(handle: int) -> str:
            out, error = _native.Text(), _native.Error()
            _native.check(self._lib.study_write(handle, wanted, ctypes.byref(out), ctypes.byref(error)), error)
            try:
                return ctypes.string_at(out.bytes, out.size).decode("utf-8", "replace") if out.bytes else ""
            finally:
                self._lib.text_free(ctypes.byref(out))

        return _interruptible(self, work)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a file in the form that its ending names: .html, .json, .svg, .txt."""
        form = os.path.splitext(os.fspath(path))[1][1:].lower()
        text = self.write({"txt": "text"}.get(form, form))
        with _open_file(path, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def text(self) -> str:
        """What the command prints, at most 100 columns wide."""
        return self.write("text")

    @property
    def html(self) -> str:
        """A page that needs nothing else."""
        return self.write("html")

    def json(self) -> Dict[str, Any]:
        """The data as the command's .json has them."""
        out: Dict[str, Any] = json.loads(self.write("json"))
        return out

    @property
    def tables(self) -> Dict[str, Table]:
        """The tables that it is made of, by name."""
        names, i = [], 0
        while (name := self._lib.study_table_name(self._handle, i)) is not None:
            names.append(name.decode())
            i += 1
        return {name: self._table(name) for name in names}

    def _table(self, name: str) -> Table:
        stream, error = _native.ArrowArrayStream(), _native.Error()
        _native.check(self._lib.study_table(self._handle, name.encode(), ctypes.byref(stream), ctypes.byref(error)), error)
        return Table(stream)

    def __repr__(self) -> str:
        return "<pipescope.%s of %s>" % (type(self).__name__, self._title)


class Chart(Study):
    """The pipeline of a step. A notebook shows the picture; `html` is the page with all steps, in which one moves about."""

    @property
    def svg(self) -> str:
        """The picture."""
        return self.write("svg")

    def _repr_svg_(self) -> str:
        return self.svg


class Report(Study):
    """Findings with evidence. A notebook shows the verdict and the findings; `html` is the page."""

    @property
    def verdict(self) -> str:
        """The paragraph that every form begins with."""
        return str(self.json().get("verdict", ""))

    @property
    def findings(self) -> Table:
        """A row each, the largest gain first: what, where, the figure and its threshold, gain (ns), what to try."""
        return self._table("findings")

    def _repr_html_(self) -> str:
        said = self.json()
        rows = []
        for f in said.get("findings", ()):
            gain = "" if f.get("gain_ns") is None else "%s%.3g ms" % ("at most " if f.get("gain_from") == "bound" else "", f["gain_ns"] / 1e6)
            rows.append('<tr><td style="text-align:right">%s</td><td>%s</td><td style="text-align:left"><b>%s</b><br>%s</td>'
                        '<td style="text-align:right;white-space:nowrap">%s</td><td style="text-align:left">%s</td></tr>' % (
                            f["finding"], html.escape(f["severity"]), html.escape(f["title"]), html.escape(f["what"]),
                            gain, html.escape(f["try"])))
        table = ('<table border="1" class="dataframe pipescope"><thead><tr><th></th><th>severity</th><th style="text-align:left">finding</th>'
                 '<th>gain</th><th style="text-align:left">try</th></tr></thead><tbody>%s</tbody></table>' % "".join(rows))
        return "<div><p>%s</p>%s</div>" % (html.escape(str(said.get("verdict", ""))), table if rows else "<p>No finding.</p>")


class WhatIf(Study):
    """Who makes steps slower. A notebook shows the causes and the map of workers."""

    @property
    def svg(self) -> str:
        """The map of workers: a cell a stage and replica, by how much each slows the steps down. NothingFound without workers."""
        return self.write("svg")

    @property
    def causes(self) -> Table:
        """A row each: cause, whether it holds, its figure and threshold, evidence, remedy."""
        return self._table("whatif_causes")

    def _repr_html_(self) -> str:
        try:
            picture = self.svg
        except errors.NothingFound:
            picture = ""
        tables = self.tables
        causes = tables["whatif_causes"]._repr_html_() if "whatif_causes" in tables else ""
        return "<div>%s%s</div>" % (picture, causes)


_open_file = open


def open(path: Union[str, "os.PathLike[str]"], *, format: Optional[str] = None, rank_from: Optional[str] = None,  # noqa: A001,A002
         jobs: Optional[int] = None, timeout: Optional[int] = None, **options: Any) -> Capture:
    """Finds the profiles below a path: a file, a rank's folder or a job's, of any format that pipescope knows. None is read yet.

    format     read files as this format, whatever they look like (`pipescope formats`)
    rank_from  of a file in which processes are ranks: the first group of this regular expression in a process's name is its rank
    jobs       threads; one per processor where it is not said
    timeout    seconds after which a call ends, with all that it reads; never where it is not said
    options    those of `pipescope query --help` for what metadata should have said and for single modes: pp=4, tp=2, top_num=20 ...

    CaptureNotFound: no such path. NothingFound: no profile below it. QueryError: an option out of its bounds. LibraryNotFound: libpipescope.so
    """
    return Capture(path, dict(options, format=format, rank_from=rank_from, jobs=jobs, timeout=timeout))
