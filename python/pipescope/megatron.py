"""Megatron's pipelines, and those of MindSpeed:

    import pipescope
    pipescope.megatron.record()          # before training starts

Each forward_step and backward_step of megatron.core.pipeline_parallel.schedules becomes a range with a device side, named
{'name': 'forward_step', 'current_microbatch': 3} as docs/marks.md describes; so do the functions of MindSpeed's DualPipeV
and of overlapped 1F1B where they are loaded. The first training step notes schedule, microbatches and sizes (metadata
pp_info, distributed_args) and which process group is for what.
"""
import functools
import importlib
import json
import sys

from pipescope import _groups, _jobs, _metadata, _say

MODULE = "megatron.core.pipeline_parallel.schedules"

# Modules that are looked through when they are there, besides the one that is named.
OTHERS = ("megatron.core.pipeline_parallel.combined_1f1b",
          "mindspeed.core.pipeline_parallel.dualpipev.dualpipev_schedules",
          "mindspeed_llm.core.pipeline_parallel.dualpipe.dualpipev_schedules")

STEPS = ("forward_step", "backward_step", "forward_step_with_model_graph", "forward_step_no_model_graph",
         "backward_step_with_model_graph", "combined_forward_backward_step")

# A whole step of the pipeline -> its schedule.
WHOLE = {"forward_backward_no_pipelining": None,
         "forward_backward_pipelining_without_interleaving": "1f1b",
         "forward_backward_pipelining_with_interleaving": "interleaved",
         "forward_backward_pipelining_with_cutinhalf": "dualpipev"}

_SIZES = {"tensor_model_parallel_size": "get_tensor_model_parallel_world_size",
          "pipeline_model_parallel_size": "get_pipeline_model_parallel_world_size",
          "data_parallel_size": "get_data_parallel_world_size",
          "context_parallel_size": "get_context_parallel_world_size"}

_GROUPS = {"tp": "get_tensor_model_parallel_group", "pp": "get_pipeline_model_parallel_group",
           "dp": "get_data_parallel_group", "cp": "get_context_parallel_group", "ep": "get_expert_model_parallel_group"}


class Recording:
    """What record() gives back; remove() puts the functions back."""

    def __init__(self):
        self._before = []  # (owner, name, what it was)

    def _replace(self, owner, name, value):
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def remove(self):
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        return False


# --- ranges -----------------------------------------------------------------------------------------------------------


def _name_of_step(name, kwargs):
    """What the call does, by the arguments that say so."""
    if name == "forward_step_with_model_graph" and kwargs.get("extra_block_kwargs") is not None:
        return "forward_backward_overlaping"  # as MindSpeed spells it
    if name == "combined_forward_backward_step":
        if kwargs.get("b_model", name) is None:
            return "forward_step"
        if kwargs.get("f_model", name) is None:
            return "backward_step"
        return "forward_backward_overlapping"
    return name


def _step(name, function, stream):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not _jobs.is_on():
            return function(*args, **kwargs)
        with _jobs.job(_name_of_step(name, kwargs), _jobs._number(kwargs.get("current_microbatch")), stream):
            return function(*args, **kwargs)

    wrapper.pipescope_wraps = function
    return wrapper


def _pop(store, name, function, stream):
    """WeightGradStore.pop: nothing is recorded when there is nothing to do."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        cache = getattr(args[0] if args else store, "cache", None)
        if not _jobs.is_on() or (hasattr(cache, "__len__") and len(cache) == 0):
            return function(*args, **kwargs)
        with _jobs.job("WeightGradStore." + name, None, stream):
            return function(*args, **kwargs)

    wrapper.pipescope_wraps = function
    return wrapper


def _whole(name, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        _note(WHOLE[name], kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            _jobs.end_step()

    wrapper.pipescope_wraps = function
    return wrapper


# --- metadata ---------------------------------------------------------------------------------------------------------

_noted = set()


def _note(pp_type, kwargs):
    """pp_info and what parallel_state knows, at the first step of training. Never raises."""
    microbatches = kwargs.get("num_microbatches")
    if kwargs.get("forward_only") or (pp_type, microbatches) in _noted:
        return
    _noted.add((pp_type, microbatches))
    try:
        info = {"pp_type": pp_type} if pp_type else {}
        if isinstance(microbatches, int):
            info["microbatch_num"] = microbatches
        if info:
            _metadata.add_default_json("pp_info", json.dumps(info))
        _note_sizes(sys.modules.get("megatron.core.parallel_state"))
    except Exception as error:
        _say.warn_once("megatron-note", "Megatron's sizes could not be read: %s: %s", type(error).__name__, error)


def _note_sizes(state):
    if state is None:
        return
    sizes = {}
    for key, name in _SIZES.items():
        try:
            sizes[key] = int(getattr(state, name)())
        except Exception:  # a release without it, or a group that was not made
            continue
    if sizes:
        _metadata.add_default_json("distributed_args", json.dumps(sizes))
    for kind, name in _GROUPS.items():
        try:
            _groups.name_group(getattr(state, name)(), kind)
        except Exception:
            continue


# --- putting it on ----------------------------------------------------------------------------------------------------


def _owners(function, name):
    """Modules that took the function's name at import (`from ...schedules import forward_step`)."""
    for module in list(sys.modules.values()):
        module_name = getattr(module, "__name__", None)
        if isinstance(module_name, str) and module_name.split(".")[0] in ("megatron", "mindspeed", "mindspeed_llm"):
            if vars(module).get(name) is function:
                yield module


def _put_on(recording, module, name, make):
    function = vars(module).get(name)
    if not callable(function) or hasattr(function, "pipescope_wraps"):
        return
    wrapper = make(name, function)
    recording._replace(module, name, wrapper)
    for other in _owners(function, name):
        recording._replace(other, name, wrapper)


def _put_on_module(recording, module, stream):
    for name in STEPS:
        _put_on(recording, module, name, lambda n, f: _step(n, f, stream))
    for name in WHOLE:
        _put_on(recording, module, name, _whole)
    store = vars(module).get("WeightGradStore")
    for name in ("pop", "pop_single", "pop_all"):
        own = vars(store).get(name) if isinstance(store, type) else None
        if own is None or hasattr(getattr(store, name), "pipescope_wraps"):
            continue
        wrapper = _pop(store, name, getattr(store, name), stream)
        # Bound already where it is a class method: then a static one replaces it.
        is_bound = isinstance(own, (staticmethod, classmethod))
        recording._replace(store, name, staticmethod(wrapper) if is_bound else wrapper)


def record(module=None, stream="current"):
    """Marks the steps of Megatron's schedules. `module`: the one that holds forward_step and backward_step, when it is not
    megatron.core.pipeline_parallel.schedules. Does so once however often it is called; never raises."""
    recording = Recording()
    try:
        if module is None:
            module = importlib.import_module(MODULE)
        _put_on_module(recording, module, stream)
        for name in OTHERS:
            if name in sys.modules and sys.modules[name] is not module:
                _put_on_module(recording, sys.modules[name], stream)
        if not recording._before and not hasattr(vars(module).get("forward_step"), "pipescope_wraps"):
            _say.warn_once("megatron-none", "%s has neither forward_step nor backward_step: nothing is marked",
                           getattr(module, "__name__", module))
    except Exception as error:
        _say.warn_once("megatron", "Megatron's schedules could not be marked: %s: %s", type(error).__name__, error)
    return recording
