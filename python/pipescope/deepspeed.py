"""Pipelines of DeepSpeed (PipelineModule):

    import pipescope
    pipescope.deepspeed.record()         # before training starts

Each forward and backward of a microbatch becomes a range with a device side, PP:1F3, PP:1B3 (docs/marks.md): the instructions
ForwardPass and BackwardPass of PipelineEngine, whose functions lie in its _INSTRUCTION_MAP. Receiving and sending are instructions of
their own and stay outside. The first train_batch notes schedule, microbatches and stages (metadata pp_info, distributed_args).

Instructions name buffers, not microbatches: forwards of a schedule come in the order of the microbatches, and a backward is of the
forward that filled its buffer last.
"""
import functools
import importlib
import json

from pipescope import _jobs, _metadata, _say

MODULE = "deepspeed.runtime.pipe.engine"


class Recording:
    """What record() gives back; remove() puts the functions back."""

    def __init__(self):
        self._undo = []

    def remove(self):
        while self._undo:
            self._undo.pop()()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        return False


class _Places:
    """Of the schedule that an engine runs: forwards so far, and which of them filled each buffer."""

    __slots__ = ("n", "in_buffer")

    def __init__(self):
        self.n, self.in_buffer = 0, {}


def _places_of(engine):
    places = vars(engine).get("_pipescope_places")
    if places is None:
        places = engine._pipescope_places = _Places()
    return places


def _microbatch_of(engine, kind, args, kwargs):
    places, buffer_id = _places_of(engine), args[0] if args else kwargs["buffer_id"]
    if kind == "F":
        microbatch = places.in_buffer[buffer_id] = places.n
        places.n += 1
        return microbatch
    return places.in_buffer.get(buffer_id, 0)


def _instruction(kind, function, stream):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        microbatch = _jobs.guarded(_microbatch_of, self, kind, args, kwargs)  # counted while nothing is recorded, too

        def label():
            return None if microbatch is None else (_jobs.TYPES[kind], microbatch, "PP:%d%s%d" % (self.stage_id, kind, microbatch))

        return _jobs.labelled(label, stream, lambda: function(self, *args, **kwargs))

    wrapper.pipescope_wraps = function
    return wrapper


def _schedule(function):
    """_exec_schedule: microbatches count from 0."""
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        _jobs.guarded(setattr, self, "_pipescope_places", _Places())
        return function(self, *args, **kwargs)

    wrapper.pipescope_wraps = function
    return wrapper


def _train_batch(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        _note(self)
        _jobs.begin_step()
        try:
            return function(self, *args, **kwargs)
        finally:
            _jobs.end_step()

    wrapper.pipescope_wraps = function
    return wrapper


def _eval_batch(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        _jobs.begin_evaluation()
        return function(self, *args, **kwargs)

    wrapper.pipescope_wraps = function
    return wrapper


def _note(engine):
    """What the engine knows of itself; TrainSchedule is 1F1B. Never raises."""
    try:
        if "_pipescope_noted" in vars(engine):
            return
        engine._pipescope_noted = True
        _metadata.add_default_json("pp_info", json.dumps({"pp_type": "1f1b", "microbatch_num": int(engine.micro_batches)}))
        _metadata.add_default_json("distributed_args", json.dumps({"pipeline_model_parallel_size": int(engine.num_stages)}))
    except Exception as error:
        _say.warn_once("deepspeed-note", "DeepSpeed's sizes could not be read: %s: %s", type(error).__name__, error)


def _put_on(recording, cls, stream):
    instructions = cls._INSTRUCTION_MAP
    for instruction, function in list(instructions.items()):
        kind = {"ForwardPass": "F", "BackwardPass": "B"}.get(instruction.__name__)
        if kind is not None and not hasattr(function, "pipescope_wraps"):
            instructions[instruction] = _instruction(kind, function, stream)
            recording._undo.append(functools.partial(instructions.__setitem__, instruction, function))
    for name, make in (("_exec_schedule", _schedule), ("train_batch", _train_batch), ("eval_batch", _eval_batch)):
        function = vars(cls)[name]
        if not hasattr(function, "pipescope_wraps"):
            setattr(cls, name, make(function))
            recording._undo.append(functools.partial(setattr, cls, name, function))


def record(module=None, stream="current"):
    """Labels the pipelines of DeepSpeed. `module`: deepspeed.runtime.pipe.engine, or one like it. Does so once however often it is
    called; never raises."""
    recording = Recording()
    try:
        module = importlib.import_module(MODULE) if module is None else module
        _put_on(recording, module.PipelineEngine, stream)
    except Exception as error:
        _say.warn_once("deepspeed", "DeepSpeed's pipelines could not be labelled: %s: %s", type(error).__name__, error)
    return recording
