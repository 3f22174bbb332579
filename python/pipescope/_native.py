"""libpipescope.so, found and called through ctypes.

Looked for in this order; the first that can be loaded counts:
  1. PIPESCOPE_ANALYSIS_LIBRARY
  2. beside this file, where the wheel has it
  3. in the lib folder of the installation that this file belongs to (PREFIX/share/pipescope/python)
  4. the loader's path

Not the recorder (pipescope/_library.py): that one runs in training programs and needs nothing but the C library. This one is loaded by the first
`pipescope.open`.
"""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Iterator, List, Mapping, Optional

from pipescope import errors

FILE = "libpipescope.so.0"
INTERFACE = 1  # PS_LIB_INTERFACE that this file was written for

OK = 0


class ArrowSchema(ctypes.Structure):
    """struct ArrowSchema of the C data interface."""


class ArrowArray(ctypes.Structure):
    """struct ArrowArray of the C data interface."""


class ArrowArrayStream(ctypes.Structure):
    """struct ArrowArrayStream of the C stream interface."""


_release_schema = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
_release_array = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
_release_stream = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)), ("release", _release_schema), ("private_data", ctypes.c_void_p)]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", _release_array), ("private_data", ctypes.c_void_p)]
ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))),
    ("release", _release_stream), ("private_data", ctypes.c_void_p)]


class Error(ctypes.Structure):
    """ps_lib_error."""
    _fields_ = [("code", ctypes.c_int32), ("line", ctypes.c_uint32), ("offset", ctypes.c_uint64), ("file", ctypes.c_char * 256),
                ("message", ctypes.c_char * 512), ("remedy", ctypes.c_char * 256)]


class Text(ctypes.Structure):
    """ps_lib_text."""
    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Functions:
    """What the library offers; those that may take long give up the interpreter's lock, also to close and free."""

    def __init__(self, path: str):
        self.path = path
        library, quick = ctypes.CDLL(path), ctypes.PyDLL(path)
        self._keep = (library, quick)
        text, handle, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
        options = ctypes.POINTER(ctypes.c_char_p)
        stream, error = ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(Error)

        def of(where: Any, name: str, result: Any, *arguments: Any) -> Any:
            function = getattr(where, name)
            function.restype, function.argtypes = result, arguments
            return function

        self.version = of(quick, "ps_lib_version", text)
        self.interface = of(quick, "ps_lib_interface", number)
        if self.interface() < INTERFACE:
            raise OSError("%s is older than this package" % path)
        self.open = of(library, "ps_lib_open", handle, text, options, error)
        self.close = of(library, "ps_lib_close", None, handle)
        self.stop = of(quick, "ps_lib_stop", None, handle)
        self.sql = of(library, "ps_lib_sql", number, handle, text, stream, error)
        self.table = of(library, "ps_lib_table", number, handle, text, options, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t, stream, error)
        self.ranks = of(library, "ps_lib_ranks", number, handle, stream, error)
        self.tables = of(library, "ps_lib_tables", number, handle, stream, error)
        self.notes = of(library, "ps_lib_notes", number, handle, stream, error)
        self.stream_again = of(quick, "ps_lib_stream_again", number, stream, stream, error)
        self.study_of = of(library, "ps_lib_study_of", handle, handle, text, options, error)
        self.study_free = of(library, "ps_lib_study_free", None, handle)
        self.study_stop = of(quick, "ps_lib_study_stop", None, handle)
        self.study_table_name = of(quick, "ps_lib_study_table_name", text, handle, ctypes.c_size_t)
        self.study_table = of(library, "ps_lib_study_table", number, handle, text, stream, error)
        self.study_write = of(library, "ps_lib_study_write", number, handle, text, ctypes.POINTER(Text), error)
        self.text_free = of(quick, "ps_lib_text_free", None, ctypes.POINTER(Text))


def _candidates() -> Iterator[str]:
    named = os.environ.get("PIPESCOPE_ANALYSIS_LIBRARY")
    if named:
        yield named
        return  # whoever names one wants no other
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (here, os.path.join(here, "..", "..", "..", "..", "lib")):
        path = os.path.normpath(os.path.join(folder, FILE))
        if os.path.exists(path):
            yield path
    yield FILE


_lock = threading.Lock()
_functions: Optional[Functions] = None


def functions() -> Functions:
    """The library's functions. LibraryNotFound says what was tried."""
    global _functions
    with _lock:
        reasons: List[str] = []
        for path in () if _functions is not None else _candidates():
            try:
                _functions = Functions(path)
                break
            except (OSError, AttributeError) as error:
                reasons.append(str(error))
        if _functions is None:
            raise errors.LibraryNotFound(
                "%s could not be loaded: %s" % (FILE, "; ".join(reasons)),
                remedy="`pip install pipescope-training` has it beside the package; or name the file in PIPESCOPE_ANALYSIS_LIBRARY")
        return _functions


def text(data: bytes, what: str, file: str = "") -> bytes:
    """As the library takes it: it would not see what is behind a NUL."""
    at = data.find(0)
    if at >= 0:
        raise errors.QueryError("%s has a NUL in it" % what, file, data.count(b"\n", 0, at) + 1 if file else None, at)
    return data


def option_texts(options: Mapping[str, Any]) -> Any:
    """Options as the library takes them: "name=value", ended by NULL; those that are None are not said."""
    said = [text(b"%s=%s" % (name.encode(), ("%d" % value if isinstance(value, bool) else str(value)).encode()), "option %r" % name)
            for name, value in options.items() if value is not None]
    return (ctypes.c_char_p * (len(said) + 1))(*said, None)


def check(code: int, error: Error) -> None:
    """Raises what the library says of a call that failed."""
    if code != OK:
        raise errors.of_library(error.code, error.message.decode("utf-8", "replace"), error.file.decode("utf-8", "replace"),
                                error.line, error.offset, error.remedy.decode("utf-8", "replace"))
