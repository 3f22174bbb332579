"""A window of iterations, as Paddle's trainers have it.

    parser = argparse.ArgumentParser()
    pipescope.add_window_arguments(parser)      # --job_schedule_profiler_start, --job_schedule_profiler_end
    args = parser.parse_args()
    for step in range(n_steps):
        with pipescope.job_schedule_profiler_range(step, args.job_schedule_profiler_start, args.job_schedule_profiler_end):
            train_step()

The window is half-open. PIPESCOPE_WINDOW=A:B sets it where the program gives none (start >= end, the default of the
arguments).
"""
import atexit
import os

from pipescope import _groups, _jobs, _library, _metadata, _say, _streams
from pipescope._schedule import environment_window


class _Recording:
    """The recording of the window, one after the other."""

    def __init__(self):
        self.is_ours = False
        self.said = None  # window that was announced

    def begin(self, iter_id, window):
        _jobs.set_window(True)
        if _jobs.wants_log() and self.said != window:
            _jobs.banner(*window)
        self.said = window
        lib = _library.functions()
        if lib is None:
            return
        if not self.is_ours:
            _library.set_option("window", "")  # start and stop are called here
            _groups.settle_rank()
            code = lib.start()
            self.is_ours = code == _library.OK
            if not self.is_ours and not lib.enabled():  # else the program records already: only steps are marked
                _say.warn_once("window-start", "recording could not be started: %s", _library.error_text(code))
        lib.step_begin(iter_id, _streams.device_address())

    def end_step(self):
        _jobs.end_step()
        _jobs.set_window(False)
        lib = _library.functions()
        if lib is not None:
            lib.step_end()

    def end(self):
        """What was recorded, in words; "" for nothing of ours."""
        lib = _library.functions()
        if lib is None or not self.is_ours:
            return ""
        self.is_ours = False
        _groups.note_groups(_metadata.add_default_json)
        code = lib.stop()
        text = _library.recorded_text(_library.directory()) if code == _library.OK else ""
        code = lib.export(None) if code == _library.OK else code
        if code not in (_library.OK, _library.NOTHING):
            _say.warn("the recording could not be written: %s", _library.error_text(code))
        return text if code == _library.OK else ""

    def end_and_say(self):
        text = self.end()
        if text and not _say.launched():
            _say.warn("%s", text)


_recording = _Recording()
atexit.register(lambda: _recording.end_and_say())
os.register_at_fork(after_in_child=lambda: _recording.__init__())


class job_schedule_profiler_range:
    """Around the body of iteration `iter_id`: records it when start <= iter_id < end. The with statement gives whether it
    does. After the body of iteration end - 1 what was recorded is written and, with exit_after_prof, the process exits with
    status 0 by SystemExit, also when the body raised. start >= end: never, unless PIPESCOPE_WINDOW says otherwise."""

    def __init__(self, iter_id, start, end, exit_after_prof=True):
        window = (start, end) if start < end else environment_window()
        self._iter_id = iter_id
        self._window = window if window is not None and window[0] < window[1] else None
        self._exits = exit_after_prof
        self.status = self._window is not None and self._window[0] <= iter_id < self._window[1]

    def __enter__(self):
        if self._window is not None:
            _jobs.program_counts()
        if self.status:
            _recording.begin(self._iter_id, self._window)
        elif self._window is not None and self._iter_id >= self._window[1]:
            _recording.end_and_say()  # iterations were skipped, end - 1 among them
        return self.status

    def __exit__(self, kind, error, trace):
        if not self.status:
            return False
        _recording.end_step()
        if self._iter_id == self._window[1] - 1:
            if not self._exits:
                _recording.end_and_say()
            else:
                said = _recording.end()
                _say.warn("%sthe process ends here, after the last iteration of its window %d:%d (exit_after_prof=False "
                          "lets it go on)", said + "; " if said else "", *self._window)
                if error is not None and not isinstance(error, SystemExit):
                    _say.warn("the last recorded iteration ended by %s: %s", kind.__name__, error)
                raise SystemExit(0)
        return False


def add_window_arguments(parser):
    """Adds --job_schedule_profiler_start and --job_schedule_profiler_end to an argparse parser (or group); -1: off."""
    parser.add_argument("--job_schedule_profiler_start", type=int, default=-1, metavar="STEP",
                        help="first iteration to record (-1: none)")
    parser.add_argument("--job_schedule_profiler_end", type=int, default=-1, metavar="STEP",
                        help="the iteration behind the last one to record (-1: none)")
    return parser
