#!/usr/bin/env python3
"""How the observer of PyTorch's operators is built, and what happens where it cannot be."""
import os
import stat
import subprocess

import recording
from test_ops import END, Case


class Building(Case):
    SAID = "pipescope: record_ops: the observer in C++ is left out, a dispatch mode in Python does its work at a higher cost: "

    def test_refused(self):
        """The dispatch mode does the work then, and one line says why."""
        empty = self.path("empty")
        os.mkdir(empty, 0o700)
        _, err = self.torch("""
pipescope.start()
with pipescope.record_ops(): torch.mm(torch.ones(2, 3), torch.ones(3, 4))
with pipescope.record_ops(): torch.mm(torch.ones(4, 3), torch.ones(3, 4))
""" + END, PIPESCOPE_CACHE_DIR=empty, CXX="false")
        self.assertEqual(err, self.SAID + "false ended with status 1: no word\n")
        self.assertEqual([row for row in self.operators() if row[0] == "aten::mm"], [("aten::mm", "2,3;3,4"), ("aten::mm", "4,3;3,4")])
        self.assertEqual(os.listdir(empty), ["observer.lock"], "nothing half built stays")

    def test_reasons(self):
        out, err = self.torch("""
from pipescope import _observer
def why(**env):
    os.environ.update(env)
    _observer._why = _observer._observer = None
    with pipescope.record_ops(): pass
    print(_observer._why)
os.mkdir("mine", 0o700)
os.mkdir("open", 0o700)
os.chmod("open", 0o777)
why(PIPESCOPE_CACHE_DIR="mine", CXX="no-such-compiler")
why(PIPESCOPE_CACHE_DIR="open")
why(PIPESCOPE_CACHE_DIR="/dev/null/folder")
why(PIPESCOPE_TORCH_OBSERVER="/dev/null")
why(PIPESCOPE_TORCH_OBSERVER="1", PIPESCOPE_CACHE_DIR="mine")
torch.__file__ = "/elsewhere/__init__.py"
why()
why(PIPESCOPE_TORCH_OBSERVER="0")
""")
        reasons = ["there is no C++ compiler (no-such-compiler; name one in CXX)",
                   "open can be written by others (name another folder in PIPESCOPE_CACHE_DIR)",
                   "no folder to build it in (PIPESCOPE_CACHE_DIR): ", "it could not be loaded: ",
                   "there is no C++ compiler (no-such-compiler; name one in CXX)",
                   "this PyTorch has no headers (/elsewhere/include)", ""]
        for said, reason in zip(out.split("\n"), reasons):
            self.assertTrue(said.startswith(reason) and bool(said) == bool(reason), (said, reason))
        self.assertEqual(err.count(self.SAID), 6, "not when it was asked for")

    def test_together(self):
        """Processes that want it at once build it once. A compiler that only copies a finished one, slowly."""
        self.observed("pipescope.record_ops()")
        built = [name for name in os.listdir(recording.CACHE) if name.endswith(".so")]
        empty, compiler = self.path("cache"), self.path("compiler")
        with open(compiler, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho run >>"%s"\nsleep 1\nwhile [ "$1" != -o ]; do shift; done\ncat "%s" >"$2"\n'
                       % (self.path("runs"), os.path.join(recording.CACHE, built[0])))
        os.chmod(compiler, 0o700)
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import torch\nfrom pipescope import _observer\n_observer._built(torch)\n")
        env = recording.clean_environment(CXX=compiler, PIPESCOPE_CACHE_DIR=empty)
        processes = [subprocess.Popen([recording.torch_python(), script], env=env, stderr=subprocess.DEVNULL) for _ in range(3)]
        self.assertEqual([process.wait(recording.PATIENCE) for process in processes], [0, 0, 0])
        with open(self.path("runs"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "run\n")
        self.assertEqual(len([name for name in os.listdir(empty) if name.endswith(".so")]), 1)
        self.assertEqual(stat.S_IMODE(os.stat(empty).st_mode), 0o700)


if __name__ == "__main__":
    recording.main()
