"""Marks and ranges, with the calls of mstx.

    from pipescope import mstx

    id = mstx.range_start("forward", stream="current")      # 0 while nothing is recorded
    ...
    mstx.range_end(id)

    with mstx.annotate("load data"):                         # also a decorator
        ...

A range with a stream also gets the times of the device (pipescope/_streams.py says what a stream may be). Domains group
ranges; "Module" is read by module statistics, "flash_attn_args" and "mfu_flops" by the accounting of FLOPs.

Nothing here raises: what is wrong is said once and the call does nothing. While nothing is recorded a call reads one word
and returns; messages are not looked at.

Where the package was built with its CPython extension (extension.c), the calls that are made often are in C and take
the place of those here at the end of this file: the same calls at a sixth of the cost. They hand back to those here whatever
is unusual. PIPESCOPE_PYTHON_EXTENSION=0 leaves the extension alone; a path names its file.
"""
import ctypes
import functools
import os
import sys
import threading

from pipescope import _library, _say, _streams
from pipescope._streams import address_of

__all__ = ["mark", "range_start", "range_end", "range_push", "range_pop", "mstx_range", "annotate", "get_tool_id", "wrap",
           "hook_modules", "unhook", "patch_dataloader", "patch_save", "patch_attention"]

_MAX_CACHED = 8192
_MAX_SMALL_ID = 0x80000000  # ids below it can be passed as a C int

# Until the library is loaded (at the end of this file).
_word = memoryview(b"\0\0\0\0").cast("I")
_c_mark = _c_start = _c_end = None

_bytes = {}  # message -> bytes
_domains = {"default": None}  # name -> address
_handles = {"default": 0}  # the same as numbers, for the extension
_new_domain = _library.ForkLock()


def _encode(message):
    """The message's bytes, for what the cache does not know; None, with a word about it, for what is no message."""
    if not isinstance(message, str) or not message:
        _say.warn_once("message", "a message must be a str that is not empty, not %.80r: nothing is recorded", message)
        return None
    raw = message.encode("utf-8", "replace")
    if len(message) <= 256:
        if len(_bytes) >= _MAX_CACHED:
            _bytes.clear()  # messages that never come again
        _bytes[message] = raw
    return raw


def _is_domain(name):
    """With a word about what is none."""
    if isinstance(name, str) and name:
        return True
    _say.warn_once("domain", "a domain must be a str that is not empty, not %.80r: nothing is recorded", name)
    return False


def _domain(name):
    """Address of a domain that is not known yet. KeyError, with a word about it, for what is no domain."""
    if not _is_domain(name):
        raise KeyError(name)
    lib = _library.functions()
    with _new_domain:
        address = lib.domain_named(name.encode("utf-8", "replace")) if lib else None
        if address is None:
            _say.warn_once("domains", "no room for the domain %.80r: its ranges are not recorded", name)
            raise KeyError(name)
        _domains[name] = ctypes.c_void_p(address)
        _handles[name] = address
    return _domains[name]


def mark(message, stream=None, domain="default"):
    """A moment."""
    if not _word[0]:
        return
    try:
        raw = _bytes.get(message) if type(message) is str else None
        raw = raw or _encode(message)
        if raw is not None:
            _c_mark(_domains[domain] if domain in _domains else _domain(domain), raw,
                    None if stream is None else address_of(stream))
    except Exception as error:
        _failed("mark", error)


def range_start(message, stream=None, domain="default"):
    """Begins a range, which any thread may end. Its id; 0 when it is not recorded."""
    if not _word[0]:
        return 0
    try:
        return _c_start(_domains[domain], _bytes[message], None if stream is None else address_of(stream))
    except Exception:  # a message or domain met for the first time, or a wrong one
        return _start_slowly(message, stream, domain)


def _start_slowly(message, stream, domain):
    try:
        raw = _encode(message)
        if raw is None:
            return 0
        return _c_start(_domains[domain] if domain in _domains else _domain(domain), raw,
                        None if stream is None else address_of(stream))
    except Exception as error:
        _failed("range_start", error)
        return 0


def range_end(range_id, domain="default"):
    """Ends a range in the domain it was begun in. 0 is no range."""
    if not _word[0]:
        return
    try:
        if range_id.__class__ is int and 0 < range_id < _MAX_SMALL_ID:
            _c_end(_domains[domain], range_id)
        elif range_id != 0 or not isinstance(range_id, int):
            _end_slowly(range_id, domain)
    except Exception:
        _end_slowly(range_id, domain)


def _end_slowly(range_id, domain):
    try:
        if not isinstance(range_id, int) or not 0 <= range_id < 1 << 64:
            _say.warn_once("range-id", "a range is ended by the int that range_start gave, not %.80r", range_id)
        elif range_id != 0:
            _c_end(_domains[domain] if domain in _domains else _domain(domain), ctypes.c_uint64(range_id))
    except Exception as error:
        _failed("range_end", error)


def _failed(what, error):
    if not isinstance(error, KeyError):  # of which _domain has spoken
        _say.warn_once(("failed", what, type(error)), "%s: %s: %s", what, type(error).__name__, error)


# --- nested ranges ----------------------------------------------------------------------------------------------------


class _Stacks(threading.local):
    """The open ranges of this thread: domain -> ids, or None before the first. Those of an earlier recording are forgotten
    when a new one is met: `of` holds the recording's number under the key 0."""

    of = None


_stacks = _Stacks()


def range_push(message, stream=None, domain="default"):
    """Begins a range inside of those this thread has open in the domain. The depth before: 0 for the first; -1 when it is
    not recorded."""
    recording = _word[0]
    if not recording:
        return -1
    range_id = range_start(message, stream, domain)
    if range_id == 0:
        return -1
    of = _stacks.of
    if of is None or of[0] != recording:
        of = _stacks.of = {0: recording}
    stack = of.get(domain)
    if stack is None:
        of[domain] = [range_id]
        return 0
    stack.append(range_id)
    return len(stack) - 1


def range_pop(domain="default"):
    """Ends the innermost range that this thread pushed in the domain. The depth after; -1 when there is none."""
    recording = _word[0]
    of = _stacks.of if recording else None
    if of is None or of[0] != recording:
        return -1
    try:
        stack = of.get(domain)
    except TypeError:
        stack = None
    if not stack or domain == 0:
        _is_domain(domain)
        return -1
    range_end(stack.pop(), domain)
    return len(stack)


# --- decorators -------------------------------------------------------------------------------------------------------


def wrap(func, msg, stream="current", domain="default"):
    """`func` with a range named `msg` around each call; the range ends also when it raises."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if not _word[0]:
            return func(*args, **kwargs)
        range_id = range_start(msg, stream, domain)
        try:
            return func(*args, **kwargs)
        finally:
            range_end(range_id, domain)

    return wrapper


def mstx_range(message, stream=None, domain="default"):
    """Decorator: a range around each call of the function."""

    def decorate(func):
        return wrap(func, message, stream, domain)

    return decorate


class annotate:
    """A range around the body of a with statement, or, as a decorator, around each call of a function, whose name it takes
    when the message is empty."""

    __slots__ = ("message", "stream", "domain", "_open")

    def __init__(self, message="", stream=None, domain="default"):
        self.message, self.stream, self.domain = message, stream, domain
        self._open = []  # ids: one object may be entered several times

    def __enter__(self):
        self._open.append(range_start(self.message or "annotate", self.stream, self.domain))
        return self

    def __exit__(self, *_):
        if self._open:
            range_end(self._open.pop(), self.domain)
        return False

    def __call__(self, func):
        return wrap(func, self.message or getattr(func, "__name__", "annotate"), self.stream, self.domain)


def get_tool_id():
    """Which tool records: the library's own number, 0 without it."""
    lib = _library.functions()
    if lib is None:
        return 0
    out = ctypes.c_uint64(0)
    lib.tool_id(ctypes.byref(out))
    return out.value


def recording():
    """Whether anything is recorded now."""
    return _word[0] != 0


def _attach():
    global _word, _c_mark, _c_start, _c_end
    lib = _library.functions()
    if lib is not None:
        _c_mark, _c_start, _c_end = lib.mark, lib.range_start, lib.range_end
        _word = lib.word
        _extend(lib)


def _load_extension():
    """The module _recorder; None without one."""
    named = os.environ.get("PIPESCOPE_PYTHON_EXTENSION") or "1"
    if named.lower() in ("0", "false", "no", "off"):
        return None
    try:
        if os.sep not in named:
            from pipescope import _recorder
            return _recorder
        from importlib import machinery, util
        loader = machinery.ExtensionFileLoader("pipescope._recorder", named)
        module = util.module_from_spec(util.spec_from_file_location("pipescope._recorder", named, loader=loader))
        loader.exec_module(module)
        return module
    except ImportError as error:  # not built, for another Python, or in use by another interpreter of this process
        if os.sep in named:
            _say.warn_once("extension", "PIPESCOPE_PYTHON_EXTENSION cannot be used: %s", error)
        return None


def _extend(lib):
    """Puts the calls of the extension in the place of those above."""
    global _extension, _helpers
    _helpers = (_handles, sys.modules, vars(_streams), mark, _start_slowly, _end_slowly, _is_domain, _streams.handle_of, wrap)
    _extension = _load_extension()
    if _extension is not None:
        _extension.bind(*lib.addresses(), *_helpers)
        names = globals()
        for name in ("mark", "range_start", "range_end", "range_push", "range_pop", "annotate"):
            names[name] = getattr(_extension, name)


_extension = _helpers = None
_attach()

from pipescope._hooks import (hook_modules, patch_attention, patch_dataloader, patch_save,  # noqa: E402
                              unhook)
