"""Megatron's pipelines, and those of MindSpeed:

    import pipescope
    pipescope.megatron.record()          # before training starts

Each forward_step and backward_step of megatron.core.pipeline_parallel.schedules becomes a range with a device side, named
{'name': 'forward_step', 'current_microbatch': 3, 'stage': 5} as docs/marks.md describes: the stage counted over the whole
model, and a backward with the numbers of the forward whose output it was given. So do the functions of MindSpeed's DualPipeV
and of overlapped 1F1B where they are loaded. Functions that are put in the place of these later on, as MindSpeed does with those of
Megatron, are marked too. The first training step notes schedule, microbatches and sizes (metadata
pp_info, distributed_args) and which process group is for what.
"""
import functools
import importlib
import inspect
import json
import sys
import types

from pipescope import _groups, _jobs, _metadata, _say

MODULE = "megatron.core.pipeline_parallel.schedules"

# Modules that are looked through when they are there, besides the one that is named.
OTHERS = ("megatron.core.pipeline_parallel.combined_1f1b",
          "mindspeed.core.pipeline_parallel.dualpipev.dualpipev_schedules",
          "mindspeed_llm.core.pipeline_parallel.dualpipe.dualpipev_schedules")

STEPS = ("forward_step", "backward_step", "backward_step_multimodule", "forward_step_with_model_graph", "forward_step_no_model_graph",
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
        self._watched = []  # modules

    def _replace(self, owner, name, value):
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def remove(self):
        while self._watched:
            self._watched.pop().__class__ = types.ModuleType
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        return False


# --- which microbatch, which stage ------------------------------------------------------------------------------------


class _Run:
    """The step of the pipeline that runs: which pieces of the model it was given, and where they lie."""

    def __init__(self, pp_type, kwargs):
        models = kwargs.get("model")
        self.models = models if isinstance(models, (list, tuple)) else [models]
        # Only schedules whose pieces lie in a loop: piece c of rank r is stage c * ranks + r.
        self.rank, self.ranks = (None, None) if pp_type == "dualpipev" else _pipeline_place(kwargs.get("pg_collection"))

    def chunk_of(self, model, said):
        """The piece of the model: what the call says, else which of the step's models it is."""
        if isinstance(said, int):
            return said
        return next((i for i, own in enumerate(self.models) if own is model), None)

    def stage_of(self, chunk):
        return None if chunk is None or self.ranks is None else chunk * self.ranks + self.rank


def _pipeline_place(groups):
    """(rank, ranks) of this process in its pipeline, by the groups that the step was given, else by parallel_state; (None, None)
    where neither knows: pipelines of several modules have more than one."""
    try:
        if groups is not None:
            return int(groups.pp.rank()), int(groups.pp.size())
        state = sys.modules["megatron.core.parallel_state"]
        return int(state.get_pipeline_model_parallel_rank()), int(state.get_pipeline_model_parallel_world_size())
    except Exception:
        return None, None


_run = None  # the _Run of the step that runs


class _Job:
    """A forward, as it is carried to its backward by the tensors that it gave."""

    __slots__ = ("microbatch", "chunk", "stage")

    def __init__(self, microbatch, chunk, stage):
        self.microbatch, self.chunk, self.stage = microbatch, chunk, stage


_UNKNOWN = _Job(None, None, None)


def _tensors_in(value):
    """The tensors of an output: one, a list, or a dict by module."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors_in(part)
    elif value is not None:
        yield value


def _tag(output, job):
    for tensor in _tensors_in(output):
        try:
            tensor.pipescope_job = job
        except AttributeError:  # whatever takes no attributes
            continue


def _tagged(output):
    return next((job for job in (getattr(t, "pipescope_job", None) for t in _tensors_in(output)) if job is not None), _UNKNOWN)


def _getter(function):
    """get(args, kwargs, name): an argument by its name, however it was passed; None without it."""
    try:
        places = {name: i for i, name in enumerate(inspect.signature(function).parameters)}
    except (TypeError, ValueError):
        places = {}

    def get(args, kwargs, name):
        if name in kwargs:
            return kwargs[name]
        at = places.get(name, len(args))
        return args[at] if at < len(args) else None

    return get


# --- ranges -----------------------------------------------------------------------------------------------------------

# How pieces, inputs and outputs are called in the functions that do a forward, a backward, or both.
_FORWARDS = {"forward_step": ("model", "vp_stage"), "combined_forward_backward_step": ("f_model", "f_model_chunk_id"),
             "forward_step_with_model_graph": ("model", "model_chunk_id"), "forward_step_no_model_graph": ("model", "model_chunk_id")}
_BACKWARDS = {"backward_step": "output_tensor", "backward_step_multimodule": "output_tensor", "backward_step_with_model_graph": "output_tensor",
              "combined_forward_backward_step": "b_output_tensor"}


def _jobs_of(name, get, args, kwargs):
    """(forward, backward) of a call, each a _Job or None."""
    microbatch = _jobs._number(get(args, kwargs, "current_microbatch"))
    if name == "combined_forward_backward_step":
        has_forward, has_backward = (get(args, kwargs, which) is not None for which in ("f_model", "b_model"))
    else:
        has_backward = name in _BACKWARDS or name.startswith("backward")
        has_forward = not has_backward
    forward = backward = None
    if has_forward:
        model, said = _FORWARDS.get(name, (None, None))
        chunk = stage = None
        if model is not None and _run is not None:
            chunk = _run.chunk_of(get(args, kwargs, model), get(args, kwargs, said))
            stage = _run.stage_of(chunk)
        forward = _Job(microbatch, chunk, stage)
    if has_backward:
        backward = _tagged(get(args, kwargs, _BACKWARDS[name])) if name in _BACKWARDS else _UNKNOWN
        if backward.microbatch is None and forward is None:
            backward = _Job(microbatch, backward.chunk, backward.stage)
    return forward, backward


def _name_of_step(name, forward, backward, kwargs):
    """What the call does, by the arguments that say so."""
    if name == "forward_step_with_model_graph" and kwargs.get("extra_block_kwargs") is not None:
        return "forward_backward_overlaping"  # as MindSpeed spells it
    if name == "combined_forward_backward_step":
        if forward is None or backward is None:
            return "backward_step" if forward is None else "forward_step"
        return "forward_backward_overlapping"
    return "backward_step" if name == "backward_step_multimodule" else name


def _message(name, forward, backward):
    """As docs/marks.md describes."""
    first = forward or backward
    said = {"name": name, "current_microbatch": first.microbatch, "stage": first.stage}
    if forward is not None and backward is not None:
        said.update(backward_microbatch=backward.microbatch, backward_stage=backward.stage)
    return str({key: value for key, value in said.items() if value is not None})


def _log_kind(name, job):
    """The job's type in Paddle's log, where pieces of a model have numbers."""
    kind = _jobs.type_of(name)
    several = _run is not None and len(_run.models) > 1 and job.chunk is not None
    return kind + str(job.chunk) if several and kind in ("forward", "backward") else name


def _step(name, function, stream):
    get = _getter(function)
    messages = {}  # (name, numbers) -> text

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        forward, backward = _jobs.guarded(_jobs_of, name, get, args, kwargs) or (None, None)

        def label():
            first = forward or backward
            if first is None:
                return None
            said = _name_of_step(name, forward, backward, kwargs)
            key = (said, first.microbatch, first.stage) + ((backward.microbatch, backward.stage) if backward else ())
            message = messages.get(key)
            if message is None:
                message = messages[key] = _message(said, forward, backward)
            return _log_kind(said, first), first.microbatch, message

        result = _jobs.labelled(label, stream, lambda: function(*args, **kwargs))
        if forward is not None and name in _FORWARDS:  # recorded or not: its backward may be
            _jobs.guarded(_tag, result[0] if isinstance(result, tuple) and result else result, forward)
        return result

    wrapper.pipescope_wraps = function
    return wrapper


def _pop(store, name, function, stream):
    """WeightGradStore.pop: nothing is recorded when there is nothing to do."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        def label():
            cache = getattr(args[0] if args else store, "cache", None)
            is_empty = hasattr(cache, "__len__") and len(cache) == 0
            return None if is_empty else ("WeightGradStore." + name, None, None)

        return _jobs.labelled(label, stream, lambda: function(*args, **kwargs))

    wrapper.pipescope_wraps = function
    return wrapper


def _whole(name, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        global _run
        _jobs.guarded(_note, WHOLE[name], kwargs)
        if kwargs.get("forward_only"):
            _jobs.begin_evaluation()
        else:
            _jobs.begin_step()
        before, _run = _run, _jobs.guarded(_Run, WHOLE[name], kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            _run = before
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


def _watch(recording, module, stream):
    """A function that is put into the module from now on is marked as well: by whoever sets it as an attribute."""
    if type(module) is not types.ModuleType:  # watched, or with a class of its own
        return

    class Watched(types.ModuleType):
        def __setattr__(self, name, value):
            is_new = callable(value) and not hasattr(value, "pipescope_wraps")
            if is_new and name in STEPS:
                value = _step(name, value, stream)
            elif is_new and name in WHOLE:
                value = _whole(name, value)
            super().__setattr__(name, value)

    module.__class__ = Watched
    recording._watched.append(module)


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
                _watch(recording, sys.modules[name], stream)
        _watch(recording, module, stream)
        if not recording._before and not hasattr(vars(module).get("forward_step"), "pipescope_wraps"):
            _say.warn_once("megatron-none", "%s has neither forward_step nor backward_step: nothing is marked",
                           getattr(module, "__name__", module))
    except Exception as error:
        _say.warn_once("megatron", "Megatron's schedules could not be marked: %s: %s", type(error).__name__, error)
    return recording
