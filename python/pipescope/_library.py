"""libpipescope-record.so, found and called through ctypes.

Looked for in this order; the first that can be loaded counts:
  1. a copy that the process has already (LD_PRELOAD, NVTX_INJECTION64_PATH, linked): there must be only one recorder
  2. PIPESCOPE_LIBRARY
  3. a copy that NVTX or mstx will be told to load later on
  4. beside this file, where the wheel has it
  5. the loader's path

Without it every call of the package does nothing; the first that needed it says so once.

Functions that may wait (start, stop, export, and those that take a lock which a start or a stop holds while it waits for the disk) are
called with the interpreter's lock released, those of ranges and operators with the lock held: giving it up costs more than they
do, and they wait for nothing but the folder of a recording, once, at its first event (warmup() makes that before).
"""
import ctypes
import os
import threading

from pipescope import _say

FILE = "libpipescope-record.so"

# Name the library where NVTX and mstx are to load it.
INJECTIONS = ("NVTX_INJECTION64_PATH", "MSTX_INJECTION_PATH")

# Codes of record.h.
OK, BAD_ARGUMENT, WRONG_TIME, IO, NO_MEMORY, NOTHING, UNAVAILABLE = 0, -1, -2, -3, -4, -5, -6


class Stats(ctypes.Structure):
    """ps_record_stats."""
    _fields_ = [("size", ctypes.c_uint32), ("n_threads", ctypes.c_uint32), ("n_ranges", ctypes.c_uint64),
                ("n_marks", ctypes.c_uint64), ("n_ops", ctypes.c_uint64), ("n_device", ctypes.c_uint64),
                ("n_dropped", ctypes.c_uint64), ("spool_bytes", ctypes.c_uint64), ("crash_safe", ctypes.c_uint32),
                ("recording", ctypes.c_uint32), ("backend", ctypes.c_char * 16)]


def _loaded_copies():
    """Paths of the library that the process has mapped, in the order of their addresses."""
    paths = []
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                path = os.fsdecode(line.split(None, 5)[-1].rstrip(b"\n"))
                if os.path.basename(path).startswith("libpipescope-record.so") and path not in paths:
                    paths.append(path)
    except (OSError, IndexError):
        pass
    return paths


def _say_copies(path):
    """Two copies are two recorders, each with a folder of its own: those that are there, and those that NVTX and mstx will load."""
    copies = _loaded_copies()
    copies += [named for named in (os.environ.get(name, "") for name in INJECTIONS)
               if os.path.basename(named).startswith("libpipescope-record.so") and os.path.exists(named)]
    others = [other for other in copies if os.path.realpath(other) != os.path.realpath(path)]
    if others:
        _say.warn_once("copies", "this process has two copies of the recorder, %s (which Python uses) and %s: what reaches one is not "
                       "in the recording of the other; name the same file in PIPESCOPE_LIBRARY, %s", path, others[0],
                       " and ".join(INJECTIONS))


def _candidates():
    loaded = _loaded_copies()
    if loaded:
        yield loaded[0]
        return  # also when it cannot be used: a second recorder would write the same events again
    named = os.environ.get("PIPESCOPE_LIBRARY")
    if named:
        yield named
    for name in INJECTIONS:
        path = os.environ.get(name, "")
        if os.path.basename(path).startswith("libpipescope-record.so"):
            yield path
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), FILE)
    if os.path.exists(beside):
        yield beside
    yield FILE
    yield FILE + ".0"  # where only what runs was installed


class _Functions:
    """What the library offers. `hot` ones keep the interpreter's lock and take raw arguments: bytes, None, and
    ctypes.c_void_p for addresses; plain integers are passed as C ints."""

    def __init__(self, path):
        self.path = path
        waiting, quick = ctypes.CDLL(path), ctypes.PyDLL(path)  # quick: no lock is taken in them
        self._keep = (waiting, quick)
        text, address, size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint32

        def of(library, name, result, *arguments):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            return function

        number = ctypes.c_int
        self.error_text = of(quick, "ps_record_error_text", text, number)
        self.version = of(quick, "ps_record_version", text)
        self.set = of(waiting, "ps_record_set", number, text, text)
        self.warmup = of(waiting, "ps_record_warmup", number)
        self.start = of(waiting, "ps_record_start", number)
        self.stop = of(waiting, "ps_record_stop", number)
        self.export = of(waiting, "ps_record_export", number, text)
        self.last = of(waiting, "ps_record_last", ctypes.c_uint64)
        self.export_recording = of(waiting, "ps_record_export_recording", number, ctypes.c_uint64, text)
        self.discard = of(waiting, "ps_record_discard", number)
        self.enabled = of(quick, "ps_record_enabled", number)
        self.directory = of(waiting, "ps_record_directory", number, text, size)
        self.domain_named = of(waiting, "ps_record_domain_named", address, text)
        # A step may start, stop and export.
        self.step_begin = of(waiting, "ps_record_step_begin_on", number, ctypes.c_int64, address)
        self.step_end = of(waiting, "ps_record_step_end", number)
        self.step = of(waiting, "ps_record_step_on", number, address)
        self.add_metadata = of(waiting, "ps_record_add_metadata", number, text, text)
        self.name_stream = of(waiting, "ps_record_name_stream", number, address, text)
        try:
            self.clock_offset = of(waiting, "ps_record_clock_offset", number, number, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, text)
        except AttributeError:  # the process has loaded an older one
            self.clock_offset = None
        self.get_stats = of(waiting, "ps_record_get_stats", number, ctypes.POINTER(Stats))
        self.op_begin = of(quick, "ps_record_op_begin", ctypes.c_uint64, text, text, address)
        self.op_begin_backward = of(quick, "ps_record_op_begin_backward", ctypes.c_uint64, text, text, address, ctypes.c_uint64)
        self.op_begin_host = None  # the process has loaded an older one
        if hasattr(quick, "ps_record_op_begin_host"):
            self.op_begin_host = of(quick, "ps_record_op_begin_host", ctypes.c_uint64, text, text, ctypes.c_uint64)
        self.op_end = of(quick, "ps_record_op_end", None, ctypes.c_uint64)
        self.tool_id = of(quick, "mstxGetToolId", None, ctypes.POINTER(ctypes.c_uint64))

        # Hot: without argtypes, which cost 50 ns an argument. mstx's own entry points: they know its rules for messages.
        hot = ctypes.PyDLL(path)
        self._keep += (hot,)
        self.mark, self.range_start, self.range_end = (
            hot.mstxDomainMarkA, hot.mstxDomainRangeStartA, hot.mstxDomainRangeEnd)
        self.mark.restype = self.range_end.restype = None
        self.range_start.restype = ctypes.c_uint64

        # The word that is not 0 while recording.
        self._word_address = of(quick, "ps_record_enabled_word", address)()
        self.word = memoryview((ctypes.c_uint32 * 1).from_address(self._word_address)).cast("B").cast("I")

    def addresses(self):
        """Of the word, and of mark, range_start and range_end: for the extension, which opens no library itself."""
        return [self._word_address] + [ctypes.cast(f, ctypes.c_void_p).value
                                       for f in (self.mark, self.range_start, self.range_end)]

    def when_begun(self, call):
        """call() after each call of this thread that may begin a recording."""

        def then(function):
            def wrapper(*arguments):
                code = function(*arguments)
                call()
                return code

            return wrapper

        for name in ("start", "step_begin", "step"):
            setattr(self, name, then(getattr(self, name)))

    def operator_addresses(self):
        """Of the word and of what operators are recorded by, for the observer (pipescope/_observer.py)."""
        return [self._word_address] + [ctypes.cast(f, ctypes.c_void_p).value for f in (self.op_begin, self.op_begin_backward,
                                                                                       self.op_begin_host, self.op_end)]


_locks = []


class ForkLock:
    """A lock that is free in a forked child, whoever held it in the parent. For with statements."""

    def __init__(self):
        self._lock = threading.Lock()
        _locks.append(self)

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
        return False


def _after_fork():
    for lock in _locks:
        lock._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

_lock = ForkLock()
_functions = None
_looked = False


def _load():
    reasons = []
    for path in _candidates():
        try:
            functions_of = _Functions(path)
            _say_copies(path)
            return functions_of
        except (OSError, AttributeError, ValueError) as error:
            reasons.append(str(error))
            if path == os.environ.get("PIPESCOPE_LIBRARY"):
                _say.warn_once("named", "PIPESCOPE_LIBRARY cannot be used: %s", error)
    _say.warn_once("library", "%s was not found, so nothing will be recorded (`pip install pipescope-training` has it "
                   "beside the package; or name it in PIPESCOPE_LIBRARY): %s", FILE, reasons[-1] if reasons else "")
    return None


def functions():
    """The library's functions; None when there is no library."""
    global _functions, _looked
    if not _looked:
        with _lock:
            if not _looked:
                _functions = _load()
                _looked = True
    return _functions


def available():
    return functions() is not None


def error_text(code):
    lib = functions()
    return lib.error_text(code).decode("utf-8", "replace") if lib else "no library"


def set_option(name, value):
    """True when it was taken. None: back to the default."""
    if name == "quiet":
        _say.set_quiet(value)
    lib = functions()
    if lib is None:
        return False
    code = lib.set(name.encode(), None if value is None else str(value).encode("utf-8", "replace"))
    if code != OK:
        _say.warn_once(("set", name, value), "option %s = %r was not taken: %s", name, value, error_text(code))
    return code == OK


def directory():
    """The folder of the current or last recording, "" when there is none."""
    lib = functions()
    if lib is None:
        return ""
    buffer = ctypes.create_string_buffer(4096 + 512)
    lib.directory(buffer, len(buffer))
    return os.fsdecode(buffer.value)


def recorded_text(folder):
    """One line on the last recording, just stopped, for people."""
    figures = stats()
    ranges, lost = figures.get("n_ranges", 0), figures.get("n_dropped", 0)
    return "%s, %s recorded in %s%s" % (
        _say.counted(ranges, "range"), _say.counted(figures.get("n_marks", 0), "mark"), folder,
        ", %s lost (collector.drops says why)" % _say.counted(lost, "event") if lost else "")


def stats():
    """What was recorded, as a dict; empty without the library."""
    lib = functions()
    if lib is None:
        return {}
    out = Stats()
    out.size = ctypes.sizeof(Stats)
    if lib.get_stats(ctypes.byref(out)) != OK:
        return {}
    result = {name: getattr(out, name) for name, _ in Stats._fields_ if name != "size"}
    result["backend"] = out.backend.decode("ascii", "replace")
    result["crash_safe"], result["recording"] = bool(out.crash_safe), bool(out.recording)
    return result
