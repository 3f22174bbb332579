"""Pipelines of torch.distributed.pipelining, every schedule of it:

    schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=loss)
    pipescope.pipelining.record(schedule)

Each forward and backward of a microbatch on a stage becomes a range with a device side, named as PyTorch names the actions
of its schedules (docs/marks.md):

    PP:3F7   forward of microbatch 7 on stage 3        PP:3B7   its whole backward
    PP:3I7   its input gradient alone                  PP:3W7   its weight gradient

    PP:(3F7;4B2)OVERLAP_F_B   both in one, where a function of the program runs them

PyTorch itself writes such labels for some schedules only (none for Schedule1F1B), and only for its own profiler. The ranges
hold the computation; unlike PyTorch's they leave out the waiting for what a stage receives.

Functions that a program registers for actions (register_custom_function, as torchtitan's graph_pp does) are labelled in their place: what
they receive is waited for before the range begins.

`record` also notes which schedule it is and how many microbatches there are (metadata pp_info), and which group is the
pipeline's.
"""
import functools
import json

from pipescope import _groups, _jobs, _metadata, _say

# Class of PyTorch -> name of the schedule as pipescope knows it.
SCHEDULES = {
    "ScheduleGPipe": "gpipe", "Schedule1F1B": "1f1b", "ScheduleInterleaved1F1B": "interleaved",
    "ScheduleInterleavedZeroBubble": "interleaved-zb", "ScheduleZBVZeroBubble": "zb-v", "ScheduleDualPipeV": "dualpipev",
    "ScheduleLoopedBFS": "looped-bfs",
}

_MARKS = {"F": "forward_step", "B": "backward_step", "I": "backward_step", "W": "WeightGradStore.pop"}

# Types of actions that may be a function of the program's -> kind, None for a pair.
_CUSTOM = {"FORWARD": "F", "FULL_BACKWARD": "B", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W", "OVERLAP_F_B": None}


def _label(*parts):
    """`parts`: (stage, kind, microbatch), two of a pair."""
    text = ";".join("%d%s%d" % part for part in parts)
    return "PP:" + text if len(parts) == 1 else "PP:(%s)OVERLAP_F_B" % text


def _mark(*parts):
    _, kind, microbatch = parts[0]
    return str({"name": _MARKS[kind] if len(parts) == 1 else "forward_backward_overlapping", "current_microbatch": microbatch})


class Recording:
    """What record() gives back; remove() takes the labels off."""

    def __init__(self):
        self._before = []  # (object, attribute)
        self._functions = []  # (functions by type of action, type, function)
        self.in_function = False  # of the program's, which is labelled as a whole

    def _replace(self, owner, name, wrapper):
        setattr(owner, name, wrapper)
        self._before.append((owner, name))

    def remove(self):
        while self._before:
            owner, name = self._before.pop()
            vars(owner).pop(name, None)  # the class's method shows again
        while self._functions:
            functions, kind, function = self._functions.pop()
            functions[kind] = function

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        return False


def _stages_of(schedule):
    if isinstance(schedule, (list, tuple)):
        return list(schedule)
    if hasattr(schedule, "forward_one_chunk"):
        return [schedule]
    stages = getattr(schedule, "_stages", None)
    return list(stages) if stages is not None else [schedule._stage]


def _wrap_stage(recording, stage, chunk, name_of, stream):
    number = int(stage.stage_index)
    names = {}  # (kind, microbatch) -> message

    def wrap(name, kind_of):
        method = getattr(stage, name, None)
        if method is None:  # older releases have no split backward
            return
        if hasattr(method, "pipescope_wraps"):
            return

        @functools.wraps(method)
        def wrapper(*args, **kwargs):
            def label():
                kind = None if recording.in_function else kind_of(args, kwargs)
                if kind is None:
                    return None
                microbatch = args[0] if args else kwargs.get("fwd_chunk_id", kwargs.get("bwd_chunk_id", 0))
                message = names.get((kind, microbatch))
                if message is None:
                    message = names[kind, microbatch] = name_of((number, kind, microbatch))
                return _jobs.TYPES[kind] + chunk, microbatch, message

            return _jobs.labelled(label, stream, lambda: method(*args, **kwargs))

        wrapper.pipescope_wraps = method
        recording._replace(stage, name, wrapper)

    def backward(args, kwargs):
        if not getattr(stage, "has_backward", True):
            return None  # it returns at once
        full = kwargs.get("full_backward", args[2] if len(args) > 2 else True)
        return "B" if full else "I"

    wrap("forward_one_chunk", lambda args, kwargs: "F")
    wrap("backward_one_chunk", backward)
    wrap("backward_weight_one_chunk", lambda args, kwargs: "W" if getattr(stage, "has_backward", True) else None)


def _receive(schedule, parts):
    """Waits for what an action's function would wait for itself, and leaves it nothing to wait for."""
    for stage, kind, microbatch in parts:
        works = getattr(schedule, "fwd_recv_ops" if kind == "F" else "bwd_recv_ops", {})
        for work in works.get((stage, microbatch), ()) if kind != "W" else ():
            work.wait()
        if works.get((stage, microbatch)) and kind != "W":
            works[stage, microbatch] = []


def _wrap_function(recording, schedule, function, kind, name_of, stream):
    chunks = {int(s.stage_index): i for i, s in enumerate(_stages_of(schedule))}
    names = {}  # action -> message

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        def label():
            action = args[0] if args else kwargs["action"]
            actions = action.sub_actions if kind is None else [action]
            parts = [(a.stage_index, _CUSTOM[a.computation_type.name], a.microbatch_index) for a in actions]
            _receive(schedule, parts)
            message = names.get(action)
            if message is None:
                message = names[action] = name_of(*parts)
            stage, first, microbatch = parts[0]
            chunk = str(chunks.get(stage, 0)) if len(chunks) > 1 else ""
            recording.in_function = True  # the functions of stages inside of it are its parts
            return (_jobs.TYPES[first] if kind else "forward_backward") + chunk, microbatch, message

        try:
            return _jobs.labelled(label, stream, lambda: function(*args, **kwargs))
        finally:
            recording.in_function = False

    wrapper.pipescope_wraps = function
    return wrapper


def _wrap_functions(recording, schedule, name_of, stream):
    """Those that are registered by now."""
    functions = getattr(schedule, "_comp_type_to_function_map", None) or {}
    for of, function in list(functions.items()):
        if of.name in _CUSTOM and not hasattr(function, "pipescope_wraps"):
            functions[of] = _wrap_function(recording, schedule, function, _CUSTOM[of.name], name_of, stream)
            recording._functions.append((functions, of, function))


def _wrap_step(recording, schedule, name_of, stream):
    step = getattr(schedule, "step", None)
    if step is None or hasattr(step, "pipescope_wraps"):
        return

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        if getattr(schedule, "_has_backward", True):  # training
            _jobs.begin_step()
        else:
            _jobs.begin_evaluation()
        _jobs.guarded(_wrap_functions, recording, schedule, name_of, stream)
        try:
            return step(*args, **kwargs)
        finally:
            _jobs.end_step()

    wrapper.pipescope_wraps = step
    recording._replace(schedule, "step", wrapper)


def _note(schedule, stages):
    name = next((SCHEDULES[c.__name__] for c in type(schedule).__mro__ if c.__name__ in SCHEDULES), None)
    microbatches = getattr(schedule, "_n_microbatches", None)
    info = {}
    if name is not None:
        info["pp_type"] = name
    if isinstance(microbatches, int):
        info["microbatch_num"] = microbatches
    if info:
        _metadata.add_default_json("pp_info", json.dumps(info))
    for stage in stages:
        if hasattr(stage, "group"):
            _groups.name_group(stage.group, "pp")
    size = getattr(stages[0], "group_size", None)
    if isinstance(size, int):
        _metadata.add_default_json("distributed_args", json.dumps({"pipeline_model_parallel_size": size}))


def record(schedule, labels="actions", stream="current"):
    """Labels the forwards and backwards of a schedule (or of a stage, or of a list of stages) of this rank. Does so once however
    often it is called; never raises.

    labels: "actions" for PP:3F7; "marks" for {'name': 'forward_step', 'current_microbatch': 7}, which analyses made for
    Ascend read (`pipescope cluster -m pp_chart`) but which does not name the stage."""
    recording = Recording()
    try:
        stages = _stages_of(schedule)
        name_of = {"actions": _label, "marks": _mark}[labels]
        for i, stage in enumerate(stages):
            _wrap_stage(recording, stage, str(i) if len(stages) > 1 else "", name_of, stream)
        _wrap_step(recording, schedule, name_of, stream)
        _note(schedule, stages)
    except Exception as error:
        _say.warn_once("pipelining", "the schedule could not be labelled: %s: %s", type(error).__name__, error)
    return recording
