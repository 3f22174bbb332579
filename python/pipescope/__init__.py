"""Recording ranges of a running program, on the device's own time, for pipescope.

    import pipescope
    from pipescope import mstx

    with pipescope.profile(schedule=pipescope.schedule(wait=1, warmup=1, active=2, repeat=1),
                           on_trace_ready=pipescope.tensorboard_trace_handler("out")) as prof:
        for batch in loader:
            with mstx.annotate("forward", stream="current"):
                ...
            prof.step()

docs/recording.md tells the rest. Needs nothing but the library libpipescope-record.so; without it nothing is recorded and
nothing fails. PyTorch is used when the program has loaded it.

Asking captures (docs/python.md), loaded when it is first used:

    capture = pipescope.open("out")
    capture.sql("SELECT name, sum(dur_ns) AS total_ns FROM slice GROUP BY name").to_pandas()
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from pipescope import mstx
from pipescope._groups import parallel_group_info
from pipescope._hooks import (hook_modules, mark_attention, mark_fused_attention, patch_attention, patch_dataloader,
                              patch_save, unhook)
from pipescope._jobs import job, step_wrapper
from pipescope._library import available, directory, stats
from pipescope._metadata import add_metadata, add_metadata_json
from pipescope._ops import record_ops
from pipescope._profile import profile, step, tensorboard_trace_handler
from pipescope._schedule import ProfilerAction, schedule
from pipescope._session import export, is_recording, name_stream, op, set_option, start, stop
from pipescope._sync import ClockOffset, FolderStore, sync
from pipescope._window import add_window_arguments, job_schedule_profiler_range

if _TYPE_CHECKING:
    from pipescope import errors as errors
    from pipescope.capture import Capture as Capture, Chart as Chart, Report as Report, Study as Study, WhatIf as WhatIf, open as open
    from pipescope.errors import (CaptureChanged as CaptureChanged, CaptureDamaged as CaptureDamaged, CaptureNotFound as CaptureNotFound,
                                  Ended as Ended, InternalError as InternalError, LibraryNotFound as LibraryNotFound,
                                  NoRoom as NoRoom, NothingFound as NothingFound, OutOfMemory as OutOfMemory, PartialCaptureWarning as PartialCaptureWarning,
                                  PipescopeError as PipescopeError, QueryError as QueryError, TooLarge as TooLarge,
                                  UnsupportedError as UnsupportedError)
    from pipescope.table import Field as Field, Table as Table

__all__ = ["mstx", "profile", "schedule", "ProfilerAction", "tensorboard_trace_handler", "step", "start", "stop", "export",
           "is_recording", "set_option", "op", "name_stream", "job", "step_wrapper", "job_schedule_profiler_range",
           "add_window_arguments", "add_metadata", "add_metadata_json", "parallel_group_info", "hook_modules", "unhook",
           "patch_dataloader", "patch_save", "patch_attention", "record_ops", "mark_attention", "mark_fused_attention", "available",
           "directory", "stats", "sync", "ClockOffset", "FolderStore"]


def _tell_clash():
    """A distribution of the package index that has this name, too, in the same place."""
    try:
        from pipescope_training import clash
    except ImportError:  # a copy without the distribution: a checkout's, an installed program's
        return
    said = clash()
    if said is not None:
        from pipescope import _say
        _say.warn_once("clash", "%s", said)


_tell_clash()

# Of the analysis: recording programs do not pay for it. `from pipescope import *` leaves Python's own open() alone.
_LAZY = dict.fromkeys(("open", "Capture", "Study", "Chart", "Report", "WhatIf"), "capture")
_LAZY.update(dict.fromkeys(("Table", "Field"), "table"))
_LAZY.update(dict.fromkeys(("PipescopeError", "LibraryNotFound", "CaptureNotFound", "CaptureDamaged", "CaptureChanged", "UnsupportedError",
                            "QueryError", "TooLarge", "NothingFound", "Ended", "OutOfMemory", "NoRoom", "InternalError",
                            "PartialCaptureWarning"), "errors"))


def __getattr__(name):
    if name in _LAZY:
        import importlib
        value = getattr(importlib.import_module("pipescope." + _LAZY[name]), name)
        globals()[name] = value
        return value
    if name == "__version__":
        try:
            from pipescope._version import VERSION
            return VERSION
        except ImportError:  # not installed: the library's
            from pipescope import _library
            lib = _library.functions()
            return lib.version().decode() if lib else "0"
    if name in ("pipelining", "megatron", "deepspeed", "paddle", "torch_npu", "capture", "table", "errors"):
        import importlib
        return importlib.import_module("pipescope." + name)
    raise AttributeError("module 'pipescope' has no attribute %r" % name)
