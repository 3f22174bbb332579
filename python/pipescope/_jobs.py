"""Jobs of a pipeline: a forward or backward of one microbatch, as a range with a device side that pipescope's charts know
by name (docs/marks.md), and, with PIPESCOPE_PADDLE_LOG=1, also as the line that Paddle's static graph executor logs:

    Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1701771693000.032959, job_end_time = ...

Lines are written to stderr when the step is over, in the order in which the jobs were issued. Their times are when the
device came to the job's begin and end; without a CUDA device those of the host.
"""
import atexit
import functools
import os
import re
import sys
import time

from pipescope import _library, _say
from pipescope import mstx as _mstx

_PADDLES = re.compile(r"(forward|backward|backward_b|backward_w|recv_forward|send_backward|optimizer|lr|default)\d*")
TYPES = {"F": "forward", "B": "backward", "I": "backward_b", "W": "backward_w"}


def type_of(message):
    """Paddle's name for what a function does, by the function's name."""
    if _PADDLES.fullmatch(message):
        return message
    lower = message.lower()
    if "weightgradstore" in lower or "_weight_chunk" in lower:
        return "backward_w"
    if "forward" in lower and "backward" not in lower:
        return "forward"
    if "backward" in lower and "forward" not in lower:
        return "backward"
    return message.replace(",", ";")[:127]


# --- Paddle's log -----------------------------------------------------------------------------------------------------


def wants_log():
    return os.environ.get("PIPESCOPE_PADDLE_LOG", "0") not in ("", "0", "false", "off")


class _HostTimes:
    """Moments as Unix ns."""

    def now(self):
        return time.time_ns()

    def resolve(self, moments):
        return moments


class _CudaTimes:
    """Moments as timing events on the current stream; what they mean in Unix time is worked out when the step is over, against
    one event whose host time is known. Waits for the device then, as Paddle does."""

    def __init__(self, cuda):
        self._cuda = cuda

    def now(self):
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def resolve(self, moments):
        anchor = self._cuda.Event(enable_timing=True)
        self._cuda.synchronize()
        before = time.time_ns()
        anchor.record()
        anchor.synchronize()
        at = (before + time.time_ns()) // 2
        return [at - int(moment.elapsed_time(anchor) * 1e6) for moment in moments]


def _times():
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        if cuda is not None and cuda.is_initialized():
            return _CudaTimes(cuda)
    except Exception as error:
        _say.warn_once("paddle-cuda", "no device times for the log: %s", error)
    return _HostTimes()


def line(kind, microbatch, start_ns, end_ns):
    """Paddle prints milliseconds as a double with six decimals, made of whole microseconds."""
    return ("Profiler Info: Job (%d), type = %s, micro_batch_id = %d, job_start_time = %f, job_end_time = %f\n"
            % (microbatch, kind, microbatch, start_ns // 1000 / 1000.0, end_ns // 1000 / 1000.0))


def banner(first, end):
    """What trainers print once: how readers know the number of the first step."""
    sys.stderr.write("Schedule Profiler start at step %d and end at step %d\n" % (first, end))
    sys.stderr.flush()


class _Log:
    """The jobs of the step that runs."""

    def __init__(self):
        self._lock = _library.ForkLock()
        self._begin()

    def _begin(self):
        self._jobs = []  # [type, microbatch, begin, end]
        self._counts = {}  # type -> jobs begun without a number
        self._times = None

    def begin(self, kind, microbatch):
        try:
            with self._lock:
                if self._times is None:
                    self._times = _times()
                if microbatch is None:
                    microbatch = self._counts.get(kind, 0)
                    self._counts[kind] = microbatch + 1
                job = [kind, microbatch, self._times.now(), None]
                self._jobs.append(job)
                return job
        except Exception as error:
            _say.warn_once("paddle-log", "a job could not be logged: %s", error)
            return None

    def end(self, job):
        try:
            job[3] = self._times.now()
        except Exception as error:
            _say.warn_once("paddle-log", "a job could not be logged: %s", error)

    def flush(self):
        with self._lock:
            jobs, self._jobs, self._counts = self._jobs, [], {}
            times, self._times = self._times, None
        jobs = [job for job in jobs if job[3] is not None]
        if not jobs:
            return
        try:
            moments = times.resolve([job[2] for job in jobs] + [job[3] for job in jobs])
            sys.stderr.write("".join(line(job[0], job[1], moments[i], moments[len(jobs) + i])
                                     for i, job in enumerate(jobs)))
            sys.stderr.flush()
        except Exception as error:
            _say.warn_once("paddle-log", "the jobs of a step could not be logged: %s", error)


_log = _Log()
_window_is_open = False  # by job_schedule_profiler_range: lines are wanted even without the library
atexit.register(_log.flush)
os.register_at_fork(after_in_child=_log._begin)  # they are the parent's


def set_window(is_open):
    global _window_is_open
    _window_is_open = is_open
    if _mstx._extension is not None:
        _mstx._extension.set_window(is_open)


_begin_step = None  # what begins an iteration where adapters count them
_leave_step = None  # what ends it before the next one begins
_counts_itself = False  # the program counts its iterations


def at_step(begin, leave):
    """`begin` is called as each whole step of a pipeline begins, `leave` as an evaluation does, unless the program counts its iterations
    itself."""
    global _begin_step, _leave_step
    _begin_step = begin
    _leave_step = leave


def program_counts():
    """The program has a profile, a window, or calls step()."""
    global _counts_itself
    _counts_itself = True


def begin_step():
    """A whole training step of a pipeline begins. Never raises."""
    if _begin_step is not None and not _counts_itself:
        guarded(_begin_step)


def begin_evaluation():
    """What follows until the next step begins is in none: the step would have ops that its schedule has not."""
    if _leave_step is not None and not _counts_itself:
        guarded(_leave_step)


def end_step():
    """The step is over: its lines can be written."""
    if _log._jobs:
        _log.flush()


# --- jobs -------------------------------------------------------------------------------------------------------------


def is_on():
    return _mstx._word[0] != 0 or _window_is_open


def labelled(label, stream, call):
    """call(), as the job that label() names: (type, microbatch, message); None: as no job. A framework that looks otherwise than the one this
    was written for makes label() fail, never the call: that is said once, and the call is made as it is."""
    if not is_on():
        return call()
    begun = guarded(_begin_labelled, label, stream)
    if begun is None:
        return call()
    try:
        return call()
    finally:
        begun.__exit__(None, None, None)


def _begin_labelled(label, stream):
    named = label()
    if named is None:
        return None
    kind, microbatch, message = named
    begun = job(kind, microbatch, stream, message)
    begun.__enter__()
    return begun


def guarded(look, *args):
    """look(*args), what an adapter does around a call of a framework; None, said once, where the framework looks otherwise than expected: its
    training goes on as without us."""
    try:
        return look(*args)
    except Exception as error:
        _say.warn_once("label", "calls of this framework are not labelled, it looks otherwise than expected: %s: %s", type(error).__name__, error)
        return None


_messages = {}  # (kind, microbatch) -> text
_MAX_MESSAGES = 8192


def _new_message(key):
    kind, microbatch = key
    said = {"name": kind} if microbatch is None else {"name": kind, "current_microbatch": microbatch}
    if len(_messages) >= _MAX_MESSAGES:
        _messages.clear()  # numbers that never come again
    message = _messages[key] = str(said)
    return message


_logs = False, 0  # whether jobs are logged, and in which recording that was asked


def _logs_now():
    """wants_log(), asked once a recording."""
    global _logs
    recording = _mstx._word[0]
    if not recording or _logs[1] != recording:
        _logs = wants_log(), recording
    return _logs[0]


def _begin_line(kind, microbatch):
    return _log.begin(type_of(kind), microbatch)


class job:
    """One job around the body of a with statement, for loops that no adapter knows.

    kind: "forward", "backward", "backward_w", "optimizer" ...; microbatch: its number, None when not known. `message`: the
    range's name, by default {'name': kind, 'current_microbatch': microbatch}."""

    __slots__ = ("kind", "microbatch", "stream", "message", "_range", "_line")

    def __init__(self, kind, microbatch=None, stream="current", message=None):
        self.kind, self.microbatch, self.stream, self.message = kind, microbatch, stream, message
        self._range, self._line = 0, None

    def __enter__(self):
        if not is_on():
            return self
        message = self.message
        if message is None:
            key = self.kind, self.microbatch
            message = _messages.get(key) or _new_message(key)
        if _logs_now():
            self._line = _begin_line(self.kind, self.microbatch)
        self._range = _mstx.range_start(message, self.stream)
        return self

    def __exit__(self, *_):
        _mstx.range_end(self._range)
        if self._line is not None:
            _log.end(self._line)
        return False


if _mstx._extension is not None:
    _mstx._extension.bind_jobs(_messages, _new_message, wants_log, _begin_line, _log.end)
    job = _mstx._extension.job


def _number(value):
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def step_wrapper(func, msg=None, stream="current"):
    """`func`, a forward or backward step of a pipeline, as a job: each call becomes a range {'name': msg}, with the
    current_microbatch when the call has an argument of that name. `msg`: the function's name."""
    name = msg or getattr(func, "__name__", "step")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if not is_on():
            return func(*args, **kwargs)
        with job(name, _number(kwargs.get("current_microbatch")), stream):
            return func(*args, **kwargs)

    wrapper.pipescope_wraps = func
    return wrapper
