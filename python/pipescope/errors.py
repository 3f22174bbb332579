"""What the analysis raises. Every exception is a PipescopeError and one of Python's own kinds, and says file, place and remedy.

    try:
        capture.sql("SELECT nam FROM slice")
    except pipescope.QueryError as error:
        print(error.message, error.line, error.offset)
"""
from __future__ import annotations

from typing import Optional

__all__ = ["PipescopeError", "LibraryNotFound", "CaptureNotFound", "CaptureDamaged", "CaptureChanged", "UnsupportedError", "QueryError",
           "TooLarge", "NothingFound", "Ended", "OutOfMemory", "NoRoom", "InternalError", "PartialCaptureWarning"]


class PipescopeError(Exception):
    """What went wrong.

    message: one sentence.
    file:    whose place it is ("query": the SQL); "" where no file is concerned.
    line:    in that file, from 1; None unknown.
    offset:  byte in that file, from 0; None unknown.
    remedy:  what to do about it; may be "".
    """

    def __init__(self, message: str, file: str = "", line: Optional[int] = None, offset: Optional[int] = None, remedy: str = ""):
        place = file + (":%d" % line if line is not None else "") + (" (byte %d)" % offset if offset is not None else "")
        super().__init__((place + ": " if place else "") + message + (" (%s)" % remedy if remedy else ""))
        self.message, self.file, self.line, self.offset, self.remedy = message, file, line, offset, remedy


class LibraryNotFound(PipescopeError, OSError):
    """libpipescope.so is not there, or something that it needs."""

    def __str__(self) -> str:
        return str(self.args[0])


class CaptureNotFound(PipescopeError, FileNotFoundError):
    """There is no such path."""

    def __str__(self) -> str:
        return str(self.args[0])


class CaptureDamaged(PipescopeError, OSError):
    """A file could not be read, or not as what it should be."""

    def __str__(self) -> str:
        return str(self.args[0])


class CaptureChanged(CaptureDamaged):
    """A file changed while it was read."""


class UnsupportedError(PipescopeError, NotImplementedError):
    """A format, or a form of a study, that is not known."""


class QueryError(PipescopeError, ValueError):
    """No SQL, a name that is not known, something that is not allowed; an option out of its bounds."""


class TooLarge(PipescopeError, ValueError):
    """A query that is too large or too deep, a step that is not there."""


class NothingFound(PipescopeError, LookupError):
    """The capture has nothing of what was asked for; the message says what it lacks."""


class Ended(PipescopeError, TimeoutError):
    """The call was stopped, or its time (timeout) was over."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfMemory(PipescopeError, MemoryError):
    """Memory ran out."""


class NoRoom(PipescopeError, OSError):
    """The disk is full: below TMPDIR, where a database whose last write was not finished is copied."""

    def __str__(self) -> str:
        return str(self.args[0])


class InternalError(PipescopeError, RuntimeError):
    """A fault of pipescope itself."""


class PartialCaptureWarning(UserWarning):
    """Profiles that could not be read are not in the answer."""


# Codes of pipescope.h.
_OF_CODE = {1: OutOfMemory, 2: CaptureDamaged, 3: CaptureNotFound, 4: CaptureDamaged, 5: UnsupportedError, 6: TooLarge, 7: QueryError,
            8: NothingFound, 10: Ended, 11: CaptureChanged, 13: NoRoom}


def of_library(code: int, message: str, file: str, line: int, offset: int, remedy: str) -> PipescopeError:
    kind = _OF_CODE.get(code, InternalError)
    return kind(message, file, line or None, offset if offset != 2 ** 64 - 1 else None, remedy)
