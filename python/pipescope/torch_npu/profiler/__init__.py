"""torch_npu.profiler: the names and options of Ascend's PyTorch profiler. Options that mean nothing here are accepted, noted
in profiler_info and named in one warning."""
import enum
import os
import sys

from pipescope import _profile, _say
from pipescope._library import directory as _directory
from pipescope._ops import record_ops
from pipescope._profile import tensorboard_trace_handler
from pipescope._schedule import ProfilerAction, schedule

__all__ = ["profile", "_KinetoProfile", "schedule", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity",
           "ProfilerLevel", "AiCMetrics", "ExportType", "HostSystem", "_ExperimentalConfig", "supported_activities",
           "supported_profiler_level", "supported_ai_core_metrics", "supported_export_type", "analyse"]


class ProfilerActivity(enum.Enum):
    CPU = 0
    NPU = 1
    CUDA = 2
    GPU = 3


class ProfilerLevel(enum.Enum):
    Level_none = "none"
    Level0 = "0"
    Level1 = "1"
    Level2 = "2"


class AiCMetrics(enum.Enum):
    AiCoreNone = "ACL_AICORE_NONE"
    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    ResourceConflictRatio = "ResourceConflictRatio"
    MemoryUB = "MemoryUB"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"


class ExportType(enum.Enum):
    Text = "text"
    Db = "db"


class HostSystem(enum.Enum):
    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


def supported_activities():
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


def supported_profiler_level():
    return set(ProfilerLevel)


def supported_ai_core_metrics():
    return set(AiCMetrics)


def supported_export_type():
    return set(ExportType)


_unused = set()


def _say_unused(names):
    """One warning for each option."""
    new = sorted(set(names) - _unused)
    _unused.update(new)
    if new:
        _say.warn("options of Ascend's profiler without a meaning here, noted only: %s", ", ".join(new))


def _plain(value):
    """For JSON."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _listed(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


class _ExperimentalConfig:
    """Of its options profiler_level, mstx (msprof_tx), mstx_domain_include, mstx_domain_exclude and export_type mean something
    here. Ranges are recorded unless mstx=False is said; with Level_none always."""

    # Without a meaning here: name -> default.
    _NOTED = {"aic_metrics": AiCMetrics.AiCoreNone, "l2_cache": False, "data_simplification": True, "record_op_args": False,
              "op_attr": False, "gc_detect_threshold": None, "host_sys": None, "sys_io": False,
              "sys_interconnection": False}

    def __init__(self, profiler_level=ProfilerLevel.Level0, aic_metrics=AiCMetrics.AiCoreNone, l2_cache=False,
                 msprof_tx=None, data_simplification=True, record_op_args=False, op_attr=False, gc_detect_threshold=None,
                 export_type=None, host_sys=None, mstx=None, mstx_domain_include=None, mstx_domain_exclude=None,
                 sys_io=False, sys_interconnection=False, **unknown):
        if not isinstance(profiler_level, ProfilerLevel):
            _say.warn("profiler_level must be a ProfilerLevel: Level0 is taken")
            profiler_level = ProfilerLevel.Level0
        self.profiler_level = profiler_level
        self.mstx = msprof_tx if mstx is None else mstx
        self.mstx_domain_include = [str(name) for name in _listed(mstx_domain_include)]
        self.mstx_domain_exclude = [str(name) for name in _listed(mstx_domain_exclude)]
        if self.mstx_domain_include and self.mstx_domain_exclude:
            _say.warn("mstx_domain_include and mstx_domain_exclude are both given: the first counts")
            self.mstx_domain_exclude = []
        self.export_type = _listed(export_type) or [ExportType.Db]
        self._noted = {"aic_metrics": aic_metrics, "l2_cache": l2_cache, "data_simplification": data_simplification,
                       "record_op_args": record_op_args, "op_attr": op_attr, "gc_detect_threshold": gc_detect_threshold,
                       "host_sys": host_sys or None, "sys_io": sys_io, "sys_interconnection": sys_interconnection}
        self._unknown = unknown
        _say_unused([name for name, value in self._noted.items() if value != self._NOTED[name]] + list(unknown))

    def _options(self):
        options = {"level": self.profiler_level.value,
                   "export_type": "db,text" if any(getattr(e, "value", e) == "text" for e in self.export_type) else "db"}
        if self.mstx is False and self.profiler_level is not ProfilerLevel.Level_none:
            options["domain_include"] = "(none)"  # no domain has this name: steps and kernels only
        elif self.mstx_domain_include:
            options["domain_include"] = ",".join(self.mstx_domain_include)
        elif self.mstx_domain_exclude:
            options["domain_exclude"] = ",".join(self.mstx_domain_exclude)
        return options

    def _as_dict(self):
        said = {"_profiler_level": self.profiler_level, "_msprof_tx": self.mstx is not False,
                "_export_type": self.export_type, "_mstx_domain_include": self.mstx_domain_include,
                "_mstx_domain_exclude": self.mstx_domain_exclude}
        said.update(("_" + name, value) for name, value in list(self._noted.items()) + list(self._unknown.items()))
        return {name: _plain(value) for name, value in said.items()}


class profile(_profile.profile):
    """torch_npu.profiler.profile."""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_modules=False, with_flops=False, experimental_config=None,
                 custom_trace_id_callback=None, **unknown):
        if experimental_config is not None and not isinstance(experimental_config, _ExperimentalConfig):
            _say.warn("experimental_config must be a torch_npu.profiler._ExperimentalConfig: the default is taken")
            experimental_config = None
        experimental = experimental_config or _ExperimentalConfig()
        common = {"activities": [_plain(a) for a in _listed(activities)] or ["CPU", "NPU"],
                  "record_shapes": bool(record_shapes), "profile_memory": bool(profile_memory),
                  "with_stack": bool(with_stack), "with_flops": bool(with_flops), "with_modules": bool(with_modules)}
        common.update((name, _plain(value)) for name, value in unknown.items())
        flags = ("profile_memory", "with_stack", "with_flops", "with_modules")
        _say_unused([name for name in flags if common[name]] + list(unknown))
        options = experimental._options()
        if activities is not None and not any(str(_plain(a)) in ("NPU", "CUDA", "GPU") for a in _listed(activities)):
            options["backend"] = "host"
        super().__init__(schedule=schedule, on_trace_ready=on_trace_ready, options=options,
                         config={"common_config": common, "experimental_config": experimental._as_dict()},
                         custom_trace_id_callback=custom_trace_id_callback)
        on_host = activities is None or any(_plain(a) == "CPU" for a in _listed(activities))
        self._wants_ops = (on_host and experimental.profiler_level is not ProfilerLevel.Level_none
                           and os.environ.get("PIPESCOPE_TORCH_OPS", "1") not in ("0", "false", "off"))
        self._shapes = bool(record_shapes)
        self._ops = None

    # Ascend's profiler knows the operators of the framework. PIPESCOPE_TORCH_OPS=0 leaves them out.

    def _begin(self):
        super()._begin()
        if self._recording and self._wants_ops and "torch" in sys.modules:
            self._ops = record_ops(self._shapes)

    def _finish(self):
        if self._ops is not None:
            self._ops.remove()
            self._ops = None
        super()._finish()


class _KinetoProfile(profile):
    """The same without a schedule: everything from start to stop."""

    def __init__(self, *, activities=None, **options):
        options.pop("schedule", None)
        super().__init__(activities=activities, **options)


def analyse(profiler_path="", max_process_number=None, export_type=None):
    """Writes the database of this process' last recording when that has not been done yet. Recordings of processes that died
    are completed by `pipescope record --recover DIR`."""
    from pipescope import _library

    lib = _library.functions()
    code = lib.export(None) if lib else _library.NOTHING
    if code not in (_library.OK, _library.WRONG_TIME, _library.NOTHING):
        _say.warn("%s could not be written: %s", _directory(), _library.error_text(code))
    if code != _library.OK:
        _say.warn("nothing is left to be written in this process; raw files of others: `pipescope record --recover %s`",
                  profiler_path or "DIR")
