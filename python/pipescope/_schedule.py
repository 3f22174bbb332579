"""Which steps a profile records."""
import enum
import os

from pipescope import _say


class ProfilerAction(enum.Enum):
    """What happens in a step."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def _number(name, value, least, instead):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        _say.warn("schedule: %s must be an integer of at least %d, not %r: %d is taken", name, least, value, instead)
        return instead
    return value


class Schedule:
    """Steps counted from 0 -> ProfilerAction. Made by schedule()."""

    def __init__(self, wait, warmup, active, repeat, skip_first, skip_first_wait):
        self.wait = _number("wait", wait, 0, 0)
        self.warmup = _number("warmup", warmup, 0, 0)
        self.active = _number("active", active, 1, 1)
        self.repeat = _number("repeat", repeat, 0, 0)
        self.skip_first = _number("skip_first", skip_first, 0, 0)
        self.skip_first_wait = _number("skip_first_wait", skip_first_wait, 0, 0)
        if self.warmup == 0:
            _say.warn_once("no-warmup", "schedule: without warm-up steps the first recorded step pays for the start of the "
                           "recording (warmup=1 avoids it)")

    def __call__(self, step):
        if step < self.skip_first:
            return ProfilerAction.NONE
        step -= self.skip_first
        if self.skip_first_wait != 0:
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        if self.repeat > 0 and step / cycle >= self.repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < self.wait:
            return ProfilerAction.NONE
        if place < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    def as_dict(self):
        return dict(vars(self))


def schedule(*, wait, active, warmup=0, repeat=0, skip_first=0, skip_first_wait=0):
    """Leaves the first `skip_first` steps alone, then again and again: `wait` steps nothing, `warmup` steps made ready,
    `active` steps recorded. `repeat` such cycles, 0 for as many as there are. With `skip_first_wait` not 0 the first cycle
    does not wait. Numbers that make no sense are replaced, with a warning."""
    return Schedule(wait, warmup, active, repeat, skip_first, skip_first_wait)


class Window:
    """Steps first to end - 1, as one cycle: what PIPESCOPE_WINDOW=first:end asks for."""

    def __init__(self, first, end):
        self.first, self.end = first, end

    def __call__(self, step):
        if not self.first <= step < self.end:
            return ProfilerAction.WARMUP if step == self.first - 1 and self.first < self.end else ProfilerAction.NONE
        return ProfilerAction.RECORD_AND_SAVE if step == self.end - 1 else ProfilerAction.RECORD

    def as_dict(self):
        return {"window": [self.first, self.end]}


def parse_window(text):
    """(A, B) of "A:B"; None when it is no such text. The window is half-open: A >= B is an empty one."""
    first, colon, end = (text or "").strip().partition(":")
    try:
        return (int(first), int(end)) if colon else None
    except ValueError:
        return None


def environment_window():
    """What PIPESCOPE_WINDOW asks for, None when it is not set."""
    text = os.environ.get("PIPESCOPE_WINDOW", "")
    window = parse_window(text)
    if text.strip() and window is None:
        _say.warn_once("window", "PIPESCOPE_WINDOW=%s is no window: A:B, for steps A to B-1", text)
    return window
