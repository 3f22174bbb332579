#!/usr/bin/env python3
"""job_schedule_profiler_range as Paddle's trainers use it, PIPESCOPE_WINDOW, the arguments, and Paddle's log line."""
import argparse
import contextlib
import io
import os
import re
import unittest

import recording

FAKE = recording.use_fake_library()

import pipescope  # noqa: E402
from pipescope import _jobs, _window  # noqa: E402

LINE = re.compile(r"^Profiler Info: Job \((\d+)\), type = ([^,]+), micro_batch_id = (\d+), "
                  r"job_start_time = (\d{13})\.(\d{6}), job_end_time = (\d{13})\.(\d{6})\n$")


def run(n, start, end, exits=False, body=lambda i: None):
    """The iterations whose status was true, and the exit code."""
    true = []
    try:
        for i in range(n):
            with pipescope.job_schedule_profiler_range(i, start, end, exits) as status:
                if status:
                    true.append(i)
                body(i)
    except SystemExit as error:
        return true, error.code
    return true, None


class Base(unittest.TestCase):
    def setUp(self):
        FAKE.__init__()
        _window._recording = _window._Recording()
        os.environ.pop("PIPESCOPE_WINDOW", None)
        os.environ.pop("PIPESCOPE_PADDLE_LOG", None)
        _jobs._log._begin()


class Range(Base):
    def test_vectors(self):
        for (start, end), true in (((3, 6), [3, 4, 5]), ((0, 5), [0, 1, 2, 3, 4]), ((3, 5), [3, 4]), ((5, 3), []),
                                   ((-1, -1), []), ((3, 3), []), ((9, 20), [9])):
            self.assertEqual(run(10, start, end), (true, None), (start, end))

    def test_the_last_iteration_is_recorded(self):
        bodies = []
        self.assertEqual(run(10, 3, 6, True, lambda i: bodies.append((i, FAKE.is_on))), ([3, 4, 5], 0))
        self.assertEqual(bodies, [(0, False), (1, False), (2, False), (3, True), (4, True), (5, True)])
        self.assertEqual(FAKE.take(), ["start", ("begin", 3), "end", ("begin", 4), "end", ("begin", 5), "end", "stop",
                                       "export"])

    def test_exit_is_the_default(self):
        with self.assertRaises(SystemExit) as caught:
            with pipescope.job_schedule_profiler_range(0, 0, 1):
                pass
        self.assertEqual(caught.exception.code, 0)

    def test_exit_replaces_what_the_body_raised(self):
        def body(i):
            raise ValueError("in %d" % i)

        self.assertEqual(run(1, 0, 1, True, body), ([0], 0))
        with self.assertRaises(ValueError):
            run(2, 0, 2, True, body)

    def test_what_is_said(self):
        """One line: what was recorded, where, and why the process ends."""
        with contextlib.ExitStack() as stack:
            stack.callback(os.environ.update, PIPESCOPE_QUIET="1")
            os.environ["PIPESCOPE_QUIET"] = "0"
            logs = stack.enter_context(self.assertLogs("pipescope"))
            run(10, 3, 6, True)
            run(10, 3, 6)
        self.assertEqual(len(logs.output), 2, logs.output)
        self.assertRegex(logs.output[0], r"pipescope: 1 range, 2 marks recorded in .*; the process ends here, .*window 3:6")
        self.assertRegex(logs.output[1], r"pipescope: 1 range, 2 marks recorded in \S+$")

    def test_past_the_end(self):
        """A run that is resumed behind end - 1 does not exit; one that jumps over it stops recording."""
        with pipescope.job_schedule_profiler_range(7, 3, 6) as status:
            self.assertFalse(status)
        self.assertEqual(FAKE.take(), [])
        for i in (3, 8):
            with pipescope.job_schedule_profiler_range(i, 3, 6):
                pass
        self.assertEqual(FAKE.take(), ["start", ("begin", 3), "end", "stop", "export"])

    def test_environment(self):
        os.environ["PIPESCOPE_WINDOW"] = "2:4"
        self.assertEqual(run(10, -1, -1), ([2, 3], None))
        self.assertEqual(run(10, 5, 6), ([5], None), "what the program says wins")
        os.environ["PIPESCOPE_WINDOW"] = "x"
        self.assertEqual(run(10, -1, -1), ([], None))

    def test_environment_replaces_a_schedule(self):
        os.environ["PIPESCOPE_WINDOW"] = "2:4"
        with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=1)) as p:
            for _ in range(6):
                p.step()
        self.assertEqual([c for c in FAKE.take() if c[0] != "metadata"],
                         ["warmup", "start", ("begin", 2), "end", ("begin", 3), "end", "stop", "export"])

    def test_arguments(self):
        parser = argparse.ArgumentParser()
        self.assertIs(pipescope.add_window_arguments(parser), parser)
        args = parser.parse_args([])
        self.assertEqual((args.job_schedule_profiler_start, args.job_schedule_profiler_end), (-1, -1))
        args = parser.parse_args(["--job_schedule_profiler_start", "3", "--job_schedule_profiler_end=6"])
        self.assertEqual((args.job_schedule_profiler_start, args.job_schedule_profiler_end), (3, 6))

    def test_someone_records_already(self):
        FAKE.is_on = True
        run(3, 1, 2)
        self.assertEqual(FAKE.take(), [("begin", 1), "end"])


class PaddleLog(Base):
    def logged(self, function):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            function()
        return err.getvalue().splitlines(keepends=True)

    def jobs(self, lines):
        found = [LINE.match(line) for line in lines if line.startswith("Profiler Info")]
        self.assertTrue(all(found), lines)
        for m in found:
            self.assertEqual(m.group(1), m.group(3))
            self.assertLessEqual((int(m.group(4)), m.group(5)), (int(m.group(6)), m.group(7)))
        return [(m.group(2), int(m.group(1))) for m in found]

    def test_form(self):
        text = _jobs.line("forward", 3, 1701771693000032959, 1701771693012870999)
        self.assertEqual(text, "Profiler Info: Job (3), type = forward, micro_batch_id = 3, "
                               "job_start_time = 1701771693000.031982, job_end_time = 1701771693012.870117\n")

    def test_steps(self):
        os.environ["PIPESCOPE_PADDLE_LOG"] = "1"
        forward = pipescope.step_wrapper(lambda **kw: None, "forward_step")
        backward = pipescope.step_wrapper(lambda: None, "backward_step")

        def body(_):
            forward(current_microbatch=0)
            forward(current_microbatch=1)
            backward()
            backward()
            with pipescope.job("optimizer", 0):
                pass

        lines = self.logged(lambda: run(4, 1, 3, body=body))
        self.assertEqual(lines[0], "Schedule Profiler start at step 1 and end at step 3\n")
        step = [("forward", 0), ("forward", 1), ("backward", 0), ("backward", 1), ("optimizer", 0)]
        self.assertEqual(self.jobs(lines), step * 2)

    def test_off(self):
        forward = pipescope.step_wrapper(lambda: None, "forward_step")
        self.assertEqual(self.logged(lambda: run(4, 1, 3, body=lambda i: forward())), [])

    def test_types(self):
        self.assertEqual([_jobs.type_of(m) for m in ("forward_step", "backward_step_with_model_graph", "WeightGradStore.pop",
                                                     "forward_backward_overlaping", "optimizer")],
                         ["forward", "backward", "backward_w", "forward_backward_overlaping", "optimizer"])


if __name__ == "__main__":
    recording.main(needs_library=False)
