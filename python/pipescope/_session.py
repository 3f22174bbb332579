"""The plain calls of record.h, for programs that say themselves when to record. All give True when it was done."""
from pipescope import _groups, _library, _metadata, _say, _streams
from pipescope import mstx as _mstx


def _done(what, code):
    if code != _library.OK:
        _say.warn_once((what, code), "%s: %s", what, _library.error_text(code))
    return code == _library.OK


def start():
    """Begins to record, into a new folder."""
    lib = _library.functions()
    if lib is None:
        return False
    _groups.settle_rank()
    return _done("start", lib.start())


def stop():
    """Ends recording."""
    lib = _library.functions()
    if lib is None:
        return False
    _groups.note_groups(_metadata.add_default_json)
    return _done("stop", lib.stop())


def export(directory=None):
    """Writes the database of what was recorded last; a process that ends does so by itself. `directory`: where its folder goes,
    None to leave it where it was recorded."""
    lib = _library.functions()
    if lib is None:
        return False
    return _done("export", lib.export(None if directory is None else _path(directory)))


def _path(directory):
    import os
    return os.fsencode(directory)


def set_option(name, value):
    """An option of the library (docs/recording.md), from the next start on. None: its default."""
    return _library.set_option(name, value)


def is_recording():
    """Whether anything is recorded now."""
    return _mstx.recording()


def name_stream(stream, name):
    """A name for a stream, shown in timelines."""
    lib = _library.functions()
    address = None if stream is None else _streams.address_of(stream)
    return bool(lib and address is not None
                and _done("name_stream", lib.name_stream(address, name.encode("utf-8", "replace"))))


class op:
    """An operator of a framework, with the kernel it stands for, around the body of a with statement: for machines where no
    profiler knows of operators. `shapes`: "64,128;128,32"."""

    __slots__ = ("_name", "_shapes", "_stream", "_id")

    def __init__(self, name, shapes=None, stream="current"):
        self._name, self._shapes, self._stream, self._id = name, shapes, stream, 0

    def __enter__(self):
        if _mstx._word[0]:
            lib = _library.functions()
            shapes = None if self._shapes is None else self._shapes.encode("utf-8", "replace")
            self._id = lib.op_begin(self._name.encode("utf-8", "replace"), shapes, _streams.address_of(self._stream))
        return self

    def __exit__(self, *_):
        if self._id:
            _library.functions().op_end(self._id)
            self._id = 0
        return False
