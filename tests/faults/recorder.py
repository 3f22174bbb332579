"""The recorder with one call of the operating system failing (faults.py). What must come out:

  recorder          the program under test ends as without the fault, with the same output; what it recorded is in a database now or
                    after `record --recover`, or stderr says what is missing
  recorder-launch   the same below `pipescope record`, or that one says why it does not run the program
  recorder-recover  `record --recover` of what a killed process left: all of it, or an error; then another one without a fault gets all
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess

import faults

CLIENT = os.path.join(os.path.dirname(faults.LIBRARY), "record_client")
WORK = "step 3 range 20 push 5 mark 3 host 4".split()
KILLED = "meta key 1 step 3 range 50 open 2 die 9".split()
NAMES = ("recorder", "recorder-launch", "recorder-recover")
ENVIRONMENT = {"PIPESCOPE_RECORD": "1", "PIPESCOPE_EXIT_TIMEOUT_S": "5"}


def n_events(folder):
    """Rows of marks in all databases; -1: one is damaged."""
    n = 0
    for path in pathlib.Path(folder).rglob("*.db"):
        try:
            db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
            n += db.execute("SELECT count(*) FROM MSTX_EVENTS").fetchone()[0]
            db.close()
        except sqlite3.Error:
            return -1
    return n


def recover(folder):
    return subprocess.run([faults.PROGRAM, "record", "--recover", folder], capture_output=True, timeout=faults.PATIENCE, check=False)


class Run:
    def __init__(self, name, folder, environment):
        shutil.rmtree(folder, ignore_errors=True)
        out, tmp = os.path.join(folder, "out"), os.path.join(folder, "tmp")
        os.makedirs(tmp)
        own = {**os.environ, **ENVIRONMENT, "PIPESCOPE_OUTPUT_DIR": out, "TMPDIR": tmp, "NO_COLOR": "1"}
        words = {"recorder": [CLIENT, *WORK],
                 "recorder-launch": [faults.PROGRAM, "record", "-o", out, "--", CLIENT, *WORK],
                 "recorder-recover": [faults.PROGRAM, "record", "--recover", out]}[name]
        if name == "recorder-recover":
            subprocess.run([CLIENT, *KILLED], cwd=folder, env=own, capture_output=True, check=False)
        try:
            done = subprocess.run(words, cwd=folder, env={**own, **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=faults.PATIENCE, check=False)
            self.status = done.returncode
            self.said, self.errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        except subprocess.TimeoutExpired:
            self.status, self.said, self.errors = "no end", "", ""
        self.events = n_events(out)
        recover(out)
        self.events_after = n_events(out)
        self.left = sorted(p.name for p in pathlib.Path(out).rglob("*") if ".tmp" in p.name or p.name.endswith(("-journal", "-wal", "-shm")))
        self.untold = sorted(name for name in os.listdir(tmp) if name not in self.errors)


def fault_of(name, run, whole, kind):
    if run.status == "no end" or run.status < 0:
        return "ended by %s" % ("patience" if run.status == "no end" else "signal %d" % -run.status)
    if run.left and kind != "unlink":
        return "left behind: %s" % ", ".join(run.left)
    if run.untold:
        return "left in the temporary folder, without a word: %s" % ", ".join(run.untold)
    if name == "recorder" and run.status != whole.status:
        return "the program failed with status %d: %s" % (run.status, run.errors.strip()[:200])
    if run.status != whole.status and not run.errors.strip():
        return "status %d without a word" % run.status
    if -1 in (run.events, run.events_after):
        return "a database that is none"
    if run.events_after < whole.events_after and (name == "recorder-recover" or not run.errors.strip()):
        return "%d of %d events" % (run.events_after, whole.events_after)
    if name == "recorder-recover" and run.status == whole.status and run.events != whole.events:
        return "status %d, but %d of %d events" % (run.status, run.events, whole.events)
    return None
