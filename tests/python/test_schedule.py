#!/usr/bin/env python3
"""schedule() against a slow reference, and profile() as it walks through one: what it asks of the library at each step."""
import json
import random
import unittest

import recording

FAKE = recording.use_fake_library()

import pipescope  # noqa: E402
from pipescope import _metadata, _profile  # noqa: E402
from pipescope import _say  # noqa: E402
from pipescope._schedule import ProfilerAction, Window, parse_window  # noqa: E402

NONE, WARMUP, RECORD, SAVE = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                              ProfilerAction.RECORD_AND_SAVE)


def slowly(n_steps, wait, warmup, active, repeat, skip_first, skip_first_wait):
    """The actions of the first steps, written down one by one."""
    actions = [NONE] * skip_first
    cycle = [NONE] * wait + [WARMUP] * warmup + [RECORD] * (active - 1) + [SAVE]
    place = wait if skip_first_wait else 0
    cycles = 0
    while len(actions) < n_steps:
        if repeat and cycles == repeat:
            actions.append(NONE)
            continue
        actions.append(cycle[place])
        place += 1
        if place == len(cycle):
            place, cycles = 0, cycles + 1
    return actions[:n_steps]


class Table(unittest.TestCase):
    def test_the_example(self):
        schedule = pipescope.schedule(wait=1, warmup=1, active=3, repeat=1, skip_first=5)
        self.assertEqual([schedule(s) for s in range(13)],
                         [NONE] * 6 + [WARMUP] + [RECORD] * 2 + [SAVE] + [NONE] * 3)

    def test_200_schedules(self):
        rng = random.Random(7)
        for _ in range(200):
            given = {"wait": rng.randint(0, 4), "warmup": rng.randint(0, 4), "active": rng.randint(1, 5),
                     "repeat": rng.randint(0, 3), "skip_first": rng.randint(0, 6), "skip_first_wait": rng.randint(0, 1)}
            schedule = pipescope.schedule(**given)
            self.assertEqual([schedule(s) for s in range(60)], slowly(60, **given), given)

    def test_numbers_that_make_no_sense(self):
        schedule = pipescope.schedule(wait=-1, warmup="x", active=0, repeat=True, skip_first=None, skip_first_wait=1.5)
        self.assertEqual(schedule.as_dict(), {"wait": 0, "warmup": 0, "active": 1, "repeat": 0, "skip_first": 0,
                                              "skip_first_wait": 0})

    def test_keywords_only(self):
        with self.assertRaises(TypeError):
            pipescope.schedule(1, 2, 3)

    def test_windows(self):
        self.assertEqual([parse_window(t) for t in ("3:6", " 0:5 ", "", None, "3", "a:b", "5:3")],
                         [(3, 6), (0, 5), None, None, None, None, (5, 3)])
        window = Window(3, 6)
        self.assertEqual([window(s) for s in range(8)], [NONE, NONE, WARMUP, RECORD, RECORD, SAVE, NONE, NONE])
        self.assertEqual([Window(5, 3)(s) for s in range(8)], [NONE] * 8)
        self.assertEqual([Window(0, 1)(s) for s in range(3)], [SAVE, NONE, NONE])


class Listed:
    """A schedule that is a list."""

    def __init__(self, *actions):
        self.actions = actions

    def __call__(self, step):
        return self.actions[step] if step < len(self.actions) else NONE


class Machine(unittest.TestCase):
    def setUp(self):
        FAKE.__init__()
        self.warnings = []
        self.said, _say.warn = _say.warn, lambda text, *values: self.warnings.append(text % values)
        self.ready = []

    def tearDown(self):
        _say.warn = self.said

    def profile(self, *actions, **more):
        schedule = Listed(*actions) if actions else None
        return pipescope.profile(schedule=schedule, on_trace_ready=lambda p: self.ready.append(p.step_num), **more)

    def calls(self):
        """But for the metadata of each recording."""
        return [c for c in FAKE.take() if c[0] != "metadata"]

    def test_a_cycle(self):
        p = self.profile(NONE, WARMUP, RECORD, SAVE, NONE)
        p.start()
        self.assertEqual(self.calls(), [])
        p.step()
        self.assertEqual(self.calls(), ["warmup"])
        p.step()
        self.assertEqual(self.calls(), ["start", ("begin", 2)])
        p.step()
        self.assertEqual(self.calls(), ["end", ("begin", 3)])
        p.step()
        self.assertEqual(self.calls(), ["end", "stop", "export"])
        self.assertEqual(self.ready, [4])
        p.stop()
        self.assertEqual((self.calls(), self.ready, self.warnings), ([], [4], []))

    def test_cycles_one_after_the_other(self):
        for following, calls in ((WARMUP, ["warmup"]), (RECORD, ["start", ("begin", 1)]), (SAVE, ["start", ("begin", 1)])):
            FAKE.__init__()
            p = self.profile(SAVE, following, NONE)
            p.start()
            self.assertEqual(self.calls(), ["start", ("begin", 0)])
            p.step()
            self.assertEqual(self.calls(), ["end", "stop", "export"] + calls)
            p.stop()

    def test_schedules_that_contradict_themselves(self):
        for before, calls in ((RECORD, ["end", "stop", "export"]), (WARMUP, ["stop"])):
            FAKE.__init__()
            self.warnings.clear()
            p = self.profile(before, NONE)
            p.start()
            self.calls()
            p.step()
            self.assertEqual(self.calls(), calls)
            self.assertEqual([w.split(":")[0] for w in self.warnings], ["incorrect schedule"])
            p.stop()
            self.assertEqual(self.calls(), [])
        p = self.profile(RECORD, WARMUP)
        p.start()
        self.calls()
        p.step()
        self.assertEqual(self.calls(), ["end", "stop", "export", "warmup"])
        p.stop()

    def test_stop_while_warming_up(self):
        p = self.profile(WARMUP)
        p.start()
        p.stop()
        self.assertEqual((self.calls(), self.ready), (["warmup", "stop"], []))
        self.assertEqual(len(self.warnings), 1)

    def test_stop_while_recording(self):
        for action, n_warnings in ((RECORD, 1), (SAVE, 0)):
            FAKE.__init__()
            self.warnings.clear()
            self.ready.clear()
            p = self.profile(action)
            p.start()
            p.stop()
            self.assertEqual((self.calls(), self.ready), (["start", ("begin", 0), "end", "stop", "export"], [0]))
            self.assertEqual(len(self.warnings), n_warnings)

    def test_without_schedule(self):
        with self.profile() as p:
            p.step()
            p.step()
        self.assertEqual((self.calls(), self.ready), (["start", "stop", "export"], [2]))
        self.assertTrue(all(w.startswith("without a schedule step() tells no steps apart") for w in self.warnings))

    def test_step_after_stop(self):
        with self.profile(SAVE) as p:
            pass
        self.calls()
        p.step()
        p.stop()
        self.assertEqual(self.calls(), [])

    def test_dropped_without_stop(self):
        p = self.profile()
        p.start()
        del p
        self.assertEqual(self.calls(), ["start", "stop", "export"])

    def test_someone_records_already(self):
        FAKE.is_on = True
        with self.profile(NONE, SAVE, NONE) as p:
            p.step()
            p.step()
        self.assertEqual(self.calls(), [("begin", 0), "end", ("begin", 1), "end", ("begin", 2), "end"])
        self.assertEqual(self.ready, [])

    def test_errors_are_swallowed(self):
        def fails(*_):
            raise RuntimeError("no")

        with pipescope.profile(schedule=Listed(SAVE, NONE), on_trace_ready=fails) as p:
            p.step()
        self.assertEqual(self.calls(), ["start", ("begin", 0), "end", "stop", "export"])
        with pipescope.profile(schedule=fails):
            pass
        self.assertEqual(self.calls(), [])
        FAKE.codes["start"] = -2
        with self.profile(SAVE) as p:
            p.step()
        self.assertNotIn("export", self.calls())
        pipescope.profile(schedule=3, on_trace_ready=4)
        self.assertGreaterEqual(len(self.warnings), 4)

    def test_options_are_for_one_profile(self):
        handler = pipescope.tensorboard_trace_handler("out", worker_name="w")
        with pipescope.profile(on_trace_ready=handler, options={"backend": "host"}):
            self.assertEqual(FAKE.options, {"backend": b"host", "window": b"", "output_dir": b"out", "worker": b"w"})
        self.assertEqual(FAKE.options, {"backend": None, "window": None, "output_dir": None, "worker": None})
        self.assertIsNone(pipescope.tensorboard_trace_handler("out", worker_name="w" * 227).worker_name)

    def test_handlers(self):
        with pipescope.profile(on_trace_ready=pipescope.tensorboard_trace_handler("out", analyse_flag=False)):
            pass
        self.assertEqual(self.calls(), ["start", "stop"])
        with pipescope.profile(on_trace_ready=lambda p: pipescope.tensorboard_trace_handler(".")(p)):
            pass
        self.assertEqual(self.calls(), ["start", "stop", ("export", b".")])
        with pipescope.profile(on_trace_ready=pipescope.tensorboard_trace_handler("out", async_mode=True)):
            pass
        _profile._wait_for_writers()
        self.assertEqual(self.calls(), ["start", "stop", "export"])

    def test_actions_of_another_library(self):
        """torch.profiler has an enum of its own with the same values."""
        class Other:
            def __init__(self, value):
                self.value = value

        with self.profile(Other(3)):
            pass
        self.assertEqual(self.calls(), ["start", ("begin", 0), "end", "stop", "export"])


class Metadata(unittest.TestCase):
    def setUp(self):
        FAKE.__init__()
        _metadata._sizes.clear()
        _metadata._said.clear()

    def test_kept(self):
        p = pipescope.profile()
        p.add_metadata("a", "text \"q\"")
        p.add_metadata_json("pp_info", json.dumps({"pp_type": "1f1b"}))
        self.assertEqual(FAKE.take(), [("metadata", "a", '"text \\"q\\""'), ("metadata", "pp_info", '{"pp_type": "1f1b"}')])

    def test_refused(self):
        p = pipescope.profile()
        for key, value in ((1, "x"), ("k", 2), ("k" * 4097, "x"), ("k", "x" * 4097)):
            self.assertFalse(p.add_metadata(key, value))
        self.assertFalse(p.add_metadata_json("k", "{no"))
        self.assertEqual(FAKE.take(), [])

    def test_all_together(self):
        took = [pipescope.add_metadata("k%02d" % i, "x" * 4000) for i in range(14)]
        self.assertEqual(took, [True] * 12 + [False] * 2)
        self.assertTrue(pipescope.add_metadata("k00", "y" * 4000))

    def test_what_the_program_says_wins(self):
        self.assertTrue(_metadata.add_default_json("pp_info", "1"))
        self.assertTrue(pipescope.add_metadata_json("pp_info", "2"))
        self.assertFalse(_metadata.add_default_json("pp_info", "3"))


if __name__ == "__main__":
    recording.main(needs_library=False)
