"""pipescope.profile: recording by a schedule, with the calls of torch.profiler and torch_npu.profiler.

Each cycle of the schedule is a recording of its own, in a folder of its own. The transitions (from the action of a step to
that of the next):

    NONE -> WARMUP                       make ready
    NONE, WARMUP -> RECORD...            start
    RECORD -> RECORD...                  go on
    RECORD_AND_SAVE -> anything          stop, write, call on_trace_ready, then as from NONE
    RECORD, WARMUP -> anything earlier   a schedule that contradicts itself: a warning, then stop and write
"""
import atexit
import json
import os
import threading
import weakref

from pipescope import _groups, _jobs, _library, _metadata, _say, _streams, _sync
from pipescope._schedule import ProfilerAction, Window, environment_window

NONE, WARMUP, RECORD, SAVE = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                              ProfilerAction.RECORD_AND_SAVE)

MAX_WORKER = 226
MAX_TRACE_ID = 1024

_open = weakref.WeakSet()  # profiles that have not been stopped
_writers = []  # threads that write in the background


def _wait_for_writers():
    while _writers:
        _writers.pop().join()


def _at_exit():
    for profile in list(_open):
        profile._sync_clocks = False  # the other ranks may be gone
        profile.stop()
    _wait_for_writers()


atexit.register(_at_exit)


class TensorboardTraceHandler:
    """What tensorboard_trace_handler gives: called with the profile after each cycle."""

    def __init__(self, dir_name, worker_name, analyse_flag, async_mode):
        self.dir_name = None if dir_name is None else os.fspath(dir_name)
        self.worker_name = worker_name
        self.analyse_flag, self.async_mode = bool(analyse_flag), bool(async_mode)
        if worker_name is not None and (not isinstance(worker_name, str) or not worker_name
                                        or len(worker_name) > MAX_WORKER):
            _say.warn("worker_name must be a str of 1 to %d characters: the name of the machine is taken", MAX_WORKER)
            self.worker_name = None

    def __call__(self, profile):
        profile._write(self.dir_name, self.analyse_flag, self.async_mode)


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
    """Where the folders of the recordings are made, and when their databases are written.

    dir_name: None for the option output_dir (PIPESCOPE_OUTPUT_DIR, else the working directory).
    worker_name: first part of the folders' names.
    async_mode: written in the background; else before the training goes on.
    analyse_flag: False to have them written when the process ends."""
    return TensorboardTraceHandler(dir_name, worker_name, analyse_flag, async_mode)


class profile:
    """Records steps of a training loop.

        with pipescope.profile(schedule=pipescope.schedule(wait=1, warmup=1, active=2, repeat=1),
                               on_trace_ready=pipescope.tensorboard_trace_handler("out")) as prof:
            for batch in loader:
                train(batch)
                prof.step()

    Without a schedule everything between start and stop is recorded, and steps are not told apart. PIPESCOPE_WINDOW=A:B in the
    environment replaces the schedule.

    sync_clocks: True to call pipescope.sync() as each recording starts and before it stops, or the store for it. Then all ranks must
    have a profile with the same schedule: they wait for one another there.

    options: of the library ("backend", "level", "domain_include" ...), for this profile. `config` is what is noted of the
    profile's arguments in profiler_info."""

    def __init__(self, *, schedule=None, on_trace_ready=None, options=None, metadata=None, config=None,
                 custom_trace_id_callback=None, sync_clocks=False):
        window = environment_window()
        if window is not None:
            schedule = Window(*window)
            _say.warn_once("window-says", "PIPESCOPE_WINDOW: steps %d to %d are recorded", window[0], window[1] - 1)
        if schedule is not None and not callable(schedule):
            _say.warn("schedule must be callable: everything is recorded")
            schedule = None
        if on_trace_ready is not None and not callable(on_trace_ready):
            _say.warn("on_trace_ready must be callable: it is not called")
            on_trace_ready = None
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = NONE
        self.folders = []  # of what was recorded, in order
        self._options = dict(options or {})
        self._config = config or {}
        self._trace_id_callback = custom_trace_id_callback
        self._sync_clocks = sync_clocks
        self._started = self._stopped = False
        self._pid = os.getpid()  # a forked child has a copy of this object, but not of the recording
        self._recording = False  # by this profile
        self._written = True
        self._set = []  # names of options
        self._folder, self._number = "", 0  # of the last recording
        self._figures = {}  # folder -> what it holds, in words, until that is said
        for key, value in (metadata or {}).items():
            self.add_metadata_json(key, json.dumps(value))

    # --- as the caller sees it ---

    def start(self):
        """Enters the action of step 0."""
        if self._started and not self._stopped:
            _say.warn("this profile was started before: nothing is done")
            return
        self._started, self._stopped, self._pid = True, False, os.getpid()
        self.step_num = 0
        _open.add(self)
        _jobs.program_counts()
        self._settle_options()
        self._enter(NONE, self._action_of(0))
        self._begin_step()

    def step(self):
        """Ends a step and begins the next."""
        if self._pid != os.getpid():
            return
        if not self._started or self._stopped:
            _say.warn_once("step-after-stop", "step() of a profile that is not running does nothing")
            return
        if self.schedule is None:
            _say.warn_once("step-without-schedule", "without a schedule step() tells no steps apart, as in torch_npu: all "
                           "is one recording without steps. For steps give profile(schedule=pipescope.schedule(wait=0, "
                           "warmup=0, active=N, repeat=1)), N steps")
        self._end_step()
        self.step_num += 1
        self._enter(self.current_action, self._action_of(self.step_num))
        self._begin_step()

    def stop(self):
        """Ends the profile; what is being recorded is written."""
        if not self._started or self._stopped or self._pid != os.getpid():
            return
        self._end_step()
        self._stopped = True
        _open.discard(self)
        action, self.current_action = self.current_action, NONE
        if action is WARMUP:
            _say.warn("incorrect schedule: stopped while warming up, nothing was recorded")
            self._cool_down()
        elif action is RECORD and self.schedule is not None:
            _say.warn("incorrect schedule: stopped in the middle of a cycle; what was recorded is written")
            self._finish()
        elif action in (RECORD, SAVE):
            self._finish()
        self._release_options()

    def add_metadata(self, key, value):
        """A text for profiler_metadata.json, in every recording of this process."""
        return _metadata.add_metadata(key, value)

    def add_metadata_json(self, key, value):
        """The same; the text is JSON."""
        return _metadata.add_metadata_json(key, value)

    def export_chrome_trace(self, path):
        """Copies the Chrome trace of the last recording, which there is when export_type has text."""
        import shutil
        source = os.path.join(self.folders[-1] if self.folders else "", "ASCEND_PROFILER_OUTPUT", "trace_view.json")
        try:
            shutil.copyfile(source, path)
        except OSError as error:
            _say.warn("there is no Chrome trace to copy (export_type must have Text): %s; or write one with `pipescope "
                      "convert`", error)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False

    def __del__(self):
        try:
            self._sync_clocks = False
            self.stop()
        except Exception:  # the interpreter may be half gone
            pass

    # --- transitions ---

    def _action_of(self, step):
        if self.schedule is None:
            return RECORD
        try:
            action = self.schedule(step)
            return ProfilerAction(getattr(action, "value", action))  # another library's enum of the same values
        except Exception as error:
            _say.warn_once("schedule-failed", "the schedule failed in step %d (%s: %s): not recorded", step,
                           type(error).__name__, error)
            return NONE

    def _enter(self, before, after):
        self.current_action = after
        if before is SAVE:
            self._finish()
            before = NONE
        elif (before is RECORD and after in (NONE, WARMUP)) or (before is WARMUP and after is NONE):
            _say.warn("incorrect schedule: step %d is %s after %s", self.step_num, after.name, before.name)
            if before is RECORD:
                self._finish()
            else:
                self._cool_down()
            before = NONE
        if before is NONE and after is WARMUP:
            self._warm_up()
        elif before in (NONE, WARMUP) and after in (RECORD, SAVE):
            self._begin()

    def _begin_step(self):
        lib = _library.functions()
        if lib is not None and self.schedule is not None and lib.enabled():
            lib.step_begin(self.step_num, _streams.device_address())

    def _end_step(self):
        _jobs.end_step()
        lib = _library.functions()
        if lib is not None and self.schedule is not None and lib.enabled():
            lib.step_end()

    # --- the library ---

    def _settle_options(self):
        if _library.functions() is None:
            return
        options = dict(self._options, window="")  # the schedule decides
        handler = self.on_trace_ready
        if isinstance(handler, TensorboardTraceHandler):
            options.update((name, value) for name, value in (("output_dir", handler.dir_name),
                                                             ("worker", handler.worker_name)) if value is not None)
        self._set = [name for name, value in options.items() if _library.set_option(name, value)]

    def _release_options(self):
        """They were for this profile."""
        for name in self._set:
            _library.set_option(name, None)
        self._set = []

    def _warm_up(self):
        lib = _library.functions()
        if lib is not None:
            _groups.settle_rank()
            lib.warmup()

    def _begin(self):
        lib = _library.functions()
        if lib is None:
            return
        _groups.settle_rank()
        code = lib.start()
        self._recording = code == _library.OK
        if isinstance(self.schedule, Window) and _jobs.wants_log():
            _jobs.banner(self.schedule.first, self.schedule.end)
        if code == _library.WRONG_TIME and lib.enabled():
            _say.warn_once("passive", "the program records already: this profile only marks its steps")
            self._note()
        elif not self._recording:
            _say.warn("recording could not be started: %s", _library.error_text(code))

        if self._recording:
            self._sync(60)

    def _sync(self, timeout_s):
        if self._sync_clocks:
            _sync.sync(None if self._sync_clocks is True else self._sync_clocks, timeout_s=timeout_s)

    def _cool_down(self):
        """Of a warm-up nothing stays."""
        lib = _library.functions()
        if lib is not None and not lib.enabled():
            lib.stop()

    def _finish(self):
        lib = _library.functions()
        if lib is None or not self._recording:
            return
        self._recording = False
        self._sync(_sync.LAST_PATIENCE_S)
        self._note()
        code = lib.stop()
        if code != _library.OK:
            _say.warn("recording could not be stopped: %s", _library.error_text(code))
        self._written, self._folder, self._number = False, _library.directory(), lib.last()
        self._figures[self._folder] = _library.recorded_text("%s")
        if self.on_trace_ready is not None:
            try:
                self.on_trace_ready(self)
            except Exception as error:
                _say.warn("on_trace_ready failed: %s: %s", type(error).__name__, error)
        if not self._written:
            self._write(None, True, False)

    def _note(self):
        """Metadata that is known only now."""
        _groups.note_groups(_metadata.add_default_json)
        if self._trace_id_callback is None:
            return  # the library makes one
        try:
            said = str(self._trace_id_callback())
        except Exception as error:
            _say.warn_once("trace-id", "custom_trace_id_callback failed: %s: %s", type(error).__name__, error)
            return
        if 0 < len(said) <= MAX_TRACE_ID:
            _metadata.add_metadata("trace_id", said)

    def _write(self, dir_name, analyse, in_background):
        """Writes what was recorded last; by the handlers, and after them when none did."""
        if self._written:
            return
        self._written = True
        if not analyse:
            return  # the library writes it when the process ends
        if in_background:
            before = list(_writers)
            thread = threading.Thread(target=self._export, args=(dir_name, self._folder, self._number, before),
                                      name="pipescope-export")
            _writers[:] = [t for t in before if t.is_alive()] + [thread]
            thread.start()
        else:
            self._export(dir_name, self._folder, self._number)

    def _export(self, dir_name, folder, number, before=()):
        """`before`: threads that write what was recorded earlier."""
        for thread in before:
            thread.join()
        lib = _library.functions()
        handler = self.on_trace_ready
        in_place = dir_name is None or (isinstance(handler, TensorboardTraceHandler) and dir_name == handler.dir_name)
        if not in_place:
            try:
                os.makedirs(dir_name, mode=0o750, exist_ok=True)
            except OSError as error:
                _say.warn("%s: %s; the recording stays in %s", dir_name, error, folder)
                in_place = True
        code = lib.export_recording(number, None if in_place else os.fsencode(dir_name))
        figures = self._figures.pop(folder, "")
        if code != _library.OK:
            if code != _library.NOTHING:
                _say.warn("the recording could not be written: %s", _library.error_text(code))
            return
        folder = folder if in_place else os.path.join(dir_name, os.path.basename(folder))
        self.folders.append(folder)
        if figures and not _say.launched():
            _say.tell(figures, folder)
        self._add_config(folder)

    def _add_config(self, folder):
        """The arguments of this profile, into profiler_info_<rank>.json."""
        schedule = self.schedule
        said = schedule.as_dict() if hasattr(schedule, "as_dict") else None if schedule is None else str(schedule)
        common = dict({"schedule": said}, **self._config.get("common_config", {}))
        try:
            names = [n for n in os.listdir(folder) if n.startswith("profiler_info") and n.endswith(".json")]
            for name in names:
                _complete(os.path.join(folder, name), common, self._config.get("experimental_config", {}))
        except (OSError, ValueError, AttributeError) as error:
            _say.warn_once("info", "profiler_info in %s could not be completed: %s", folder, error)


def _complete(path, common, experimental):
    with open(path, encoding="utf-8") as file:
        info = json.load(file)
    config = info.setdefault("config", {})
    config.setdefault("common_config", {}).update(common)
    config.setdefault("experimental_config", {}).update(experimental)
    with open(os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w", encoding="utf-8") as file:
        json.dump(info, file, indent=4, default=str)
    os.replace(path + ".tmp", path)


def step():
    """Ends an iteration and begins the next, for loops without a profile. Call it as an iteration begins (or at its end, and once
    before the loop: what comes before the first call is in no step). With PIPESCOPE_WINDOW=A:B iterations A to B - 1 are
    recorded, counted from 0."""
    _jobs.program_counts()
    begin_step()


def begin_step():
    """The same for who is not the program."""
    _jobs.end_step()
    lib = _library.functions()
    if lib is not None:
        _groups.settle_rank()
        lib.step(_streams.device_address())


def leave_step():
    """The iteration is over, and the next one does not begin yet."""
    lib = _library.functions()
    if lib is not None:
        lib.step_end()
