"""Pipelines of Paddle's dynamic graph (fleet.distributed_model of a PipelineLayer):

    import pipescope
    pipescope.paddle.record()            # before training starts

Each forward and backward of a microbatch becomes a range with a device side, PP:1F3, PP:1B3 (docs/marks.md): _forward_step and
_backward_step of PipelineParallel, which its schedules (1F1B, interleaved, FthenB) share; the stage is counted over the whole model. Receiving
and sending are outside. The first train_batch notes microbatches and stages (metadata pp_info, distributed_args).

Microbatches of a chunk come in order, counted from 0 in each train_batch; a backward is of the forward whose output it is given.

DualPipeV has passes of its own (DualPipeVParallel, module dualpipev): phase 0 goes down the stages, phase 1 comes back, and the engine counts microbatches
by phase. A backward for which it stores its weight gradients (enable_zb) is PP:1I3, the pop that computes them PP:1W3, first in, first out; a pair that runs
overlapped is PP:(1F3;6B2)OVERLAP_F_B.
"""
import collections
import functools
import importlib
import json
import sys

from pipescope import _jobs, _metadata, _say

MODULE = "paddle.distributed.fleet.meta_parallel.pipeline_parallel"
DUALPIPEV = "paddle.distributed.fleet.meta_parallel.dualpipev"
# Class of Paddle -> name of the schedule as pipescope knows it. The first that an engine is.
SCHEDULES = (("DualPipeVParallel", "dualpipev"), ("PipelineParallelWithInterleaveFthenB", None), ("PipelineParallelWithInterleave", "interleaved"), ("PipelineParallel", "1f1b"))


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
    """Of the batch that an engine runs."""

    __slots__ = ("n", "of_output", "weights", "trains")

    def __init__(self, trains=True):
        self.trains = trains  # else no backward asks for an output, and none is kept
        self.weights = collections.deque()  # of DualPipeV: stage and microbatch of backwards whose weight gradients are to come
        self.n = {}  # chunk -> forwards so far
        self.of_output = {}  # id of an output -> (chunk, microbatch, the output: its id is nobody else's meanwhile)


def _places_of(engine):
    places = vars(engine).get("_pipescope_places")
    if places is None:
        places = engine._pipescope_places = _Places()
    return places


def _tensors(value):
    """Those of an output: a tensor, or some in tuples, lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
    elif value is not None:
        yield value


def _run(engine, kind, place, stream, call):
    def label():
        chunk, microbatch = place
        message = "PP:%d%s%d" % (chunk * int(engine.num_stages) + int(engine.stage_id), kind, microbatch)
        suffix = str(chunk) if getattr(engine, "num_model_chunks", 1) > 1 else ""
        return _jobs.TYPES[kind] + suffix, microbatch, message

    return call() if place is None else _jobs.labelled(label, stream, call)


def _chunk_of(args, kwargs, at):
    chunk = kwargs.get("chunk_id", args[at] if len(args) > at else None)
    return chunk if isinstance(chunk, int) else 0


def _next_forward(engine, args, kwargs):
    """(piece of the model, microbatch): forwards of a piece come in the order of the microbatches."""
    places, chunk = _places_of(engine), _chunk_of(args, kwargs, 2)
    microbatch = places.n.get(chunk, 0)
    places.n[chunk] = microbatch + 1
    return chunk, microbatch


def _note_outputs(engine, place, result):
    places = _places_of(engine)
    for tensor in _tensors(result) if places.trains else ():
        places.of_output[id(tensor)] = place + (tensor,)


def _forward_of(engine, args, kwargs):
    """The place of the forward whose output a backward is given; None unknown."""
    output = kwargs.get("output_tensor", args[1] if len(args) > 1 else None)
    found = [_places_of(engine).of_output.pop(id(tensor), None) for tensor in _tensors(output)]
    return next((place[:2] for place in found if place is not None), None)


def _forward(function, stream):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        place = _jobs.guarded(_next_forward, self, args, kwargs)
        result = _run(self, "F", place, stream, lambda: function(self, *args, **kwargs))
        if place is not None:
            _jobs.guarded(_note_outputs, self, place, result)
        return result

    wrapper.pipescope_wraps = function
    return wrapper


def _backward(function, stream):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        place = _jobs.guarded(_forward_of, self, args, kwargs)
        return _run(self, "B", place, stream, lambda: function(self, *args, **kwargs))

    wrapper.pipescope_wraps = function
    return wrapper


# --- DualPipeV ----------------------------------------------------------------------------------------------------------


def _stage_of(engine, phase):
    rank, ranks = int(getattr(engine, "stage_id", 0)), int(getattr(engine, "num_stages", 1))
    return rank if phase == 0 else 2 * ranks - 1 - rank


def _place_of(engine, phase, counter):
    """Stage and microbatch of what the engine does next; None where it does not say."""
    counted = getattr(engine, counter, None)
    return None if counted is None else (_stage_of(engine, phase), counted[phase])


def _labelled(kinds, places_of, stream, call):
    """`places_of()`: (stage, microbatch), one for each of `kinds`: two are an overlapped pair."""
    def label():
        places = places_of()
        if None in places:
            return None
        parts = ["%d%s%d" % (stage, kind, microbatch) for kind, (stage, microbatch) in zip(kinds, places)]
        message = "PP:" + parts[0] if len(parts) == 1 else "PP:(%s)OVERLAP_F_B" % ";".join(parts)
        return _jobs.TYPES[kinds[0]], places[0][1], message

    return _jobs.labelled(label, stream, call)


def _compute_forward(function, stream):
    @functools.wraps(function)
    def wrapper(self, phase, *args, **kwargs):
        return _labelled("F", lambda: [_place_of(self, phase, "current_f_acc_id")], stream,
                         lambda: function(self, phase, *args, **kwargs))

    wrapper.pipescope_wraps = function
    return wrapper


def _compute_backward(function, stream):
    @functools.wraps(function)
    def wrapper(self, phase, enable_zb=False, *args, **kwargs):
        def call():
            return function(self, phase, enable_zb, *args, **kwargs)

        if getattr(self, "forward_only", False):
            return call()
        if enable_zb:  # also while nothing is recorded: the batch may go on when something is
            _jobs.guarded(lambda: _places_of(self).weights.append(_place_of(self, phase, "current_b_acc_id")))
        return _labelled("I" if enable_zb else "B", lambda: [_place_of(self, phase, "current_b_acc_id")], stream, call)

    wrapper.pipescope_wraps = function
    return wrapper


def _compute_both(function, stream):
    @functools.wraps(function)
    def wrapper(self, forward_phase, backward_phase, *args, **kwargs):
        def call():
            return function(self, forward_phase, backward_phase, *args, **kwargs)

        if getattr(self, "forward_only", False) or not getattr(self, "overlapped_forward_backward", False):
            return call()  # one after the other, by the functions above
        return _labelled("FB", lambda: [_place_of(self, forward_phase, "current_f_acc_id"),
                                        _place_of(self, backward_phase, "current_b_acc_id")], stream, call)

    wrapper.pipescope_wraps = function
    return wrapper


_in_weights = []  # engines in their _weight_pass: the pop inside of it is theirs, what comes before it waits for others


def _weights(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        _in_weights.append(self)
        try:
            return function(self, *args, **kwargs)
        finally:
            _in_weights.pop()

    wrapper.pipescope_wraps = function
    return wrapper


def _pop_weights(function, stream):
    @functools.wraps(function.__func__)
    def wrapper(cls, *args, **kwargs):
        def call():
            return function.__func__(cls, *args, **kwargs)

        place = _jobs.guarded(lambda: _places_of(_in_weights[-1]).weights.popleft() if _in_weights and _places_of(_in_weights[-1]).weights else None)
        if place is None:
            return call()
        return _labelled("W", lambda: [place], stream, call)

    wrapper.pipescope_wraps = function
    return classmethod(wrapper)


def _record_dualpipev(recording, module, stream):
    engine, store = module.DualPipeVParallel, module.WeightGradStore
    _put_on(recording, engine, "_forward_compute", lambda f: _compute_forward(f, stream))
    _put_on(recording, engine, "_backward_compute", lambda f: _compute_backward(f, stream))
    _put_on(recording, engine, "_forward_backward_compute", lambda f: _compute_both(f, stream))
    _put_on(recording, engine, "_weight_pass", _weights)
    _put_on(recording, engine, "train_batch", lambda f: _batch(f, True))
    _put_on(recording, engine, "eval_batch", lambda f: _batch(f, False))
    pop = vars(store).get("pop")
    if isinstance(pop, classmethod) and not hasattr(pop.__func__, "pipescope_wraps"):
        store.pop = _pop_weights(pop, stream)
        recording._undo.append(functools.partial(setattr, store, "pop", pop))


# --- batches --------------------------------------------------------------------------------------------------------------


def _batch(function, trains):
    """train_batch, eval_batch: microbatches count from 0."""
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        _jobs.guarded(setattr, self, "_pipescope_places", _Places(trains))
        if trains:
            _note(self)
            _jobs.begin_step()
        else:
            _jobs.begin_evaluation()
        try:
            return function(self, *args, **kwargs)
        finally:
            _jobs.guarded(setattr, self, "_pipescope_places", _Places())
            _jobs.end_step()

    wrapper.pipescope_wraps = function
    return wrapper


def _note(engine):
    """What the engine knows of itself. Never raises."""
    try:
        if "_pipescope_noted" in vars(engine):
            return
        engine._pipescope_noted = True
        names = [c.__name__ for c in type(engine).__mro__]
        schedule = next((of for name, of in SCHEDULES if name in names), None)
        info = {"pp_type": schedule} if schedule else {}
        info["microbatch_num"] = int(engine.accumulate_steps)
        _metadata.add_default_json("pp_info", json.dumps(info))
        _metadata.add_default_json("distributed_args", json.dumps({"pipeline_model_parallel_size": int(engine.num_stages)}))
    except Exception as error:
        _say.warn_once("paddle-note", "Paddle's sizes could not be read: %s: %s", type(error).__name__, error)


def _put_on(recording, cls, name, make):
    function = vars(cls).get(name)
    if callable(function) and not hasattr(function, "pipescope_wraps"):
        setattr(cls, name, make(function))
        recording._undo.append(functools.partial(setattr, cls, name, function))


def record(module=None, stream="current"):
    """Labels the pipelines of Paddle's dynamic graph. `module`: paddle.distributed.fleet.meta_parallel.pipeline_parallel or dualpipev, or one
    like them. Does so once however often it is called; never raises."""
    recording = Recording()
    try:
        module = importlib.import_module(MODULE) if module is None else module
        if hasattr(module, "DualPipeVParallel"):
            _record_dualpipev(recording, module, stream)
        elif DUALPIPEV in sys.modules and hasattr(sys.modules[DUALPIPEV], "DualPipeVParallel"):
            _record_dualpipev(recording, sys.modules[DUALPIPEV], stream)
        base = module.PipelineParallel
        _put_on(recording, base, "_forward_step", lambda f: _forward(f, stream))
        _put_on(recording, base, "_backward_step", lambda f: _backward(f, stream))
        for cls in list(vars(module).values()):
            if isinstance(cls, type) and issubclass(cls, base):
                _put_on(recording, cls, "train_batch", lambda f: _batch(f, True))
                _put_on(recording, cls, "eval_batch", lambda f: _batch(f, False))
    except Exception as error:
        _say.warn_once("paddle", "Paddle's pipelines could not be labelled: %s: %s", type(error).__name__, error)
    return recording
