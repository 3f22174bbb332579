#!/usr/bin/env python3
"""Invariants of what pipescope says of a capture: check.py PATH... or check.py --group NAME.

Runs every command on each capture and compares what they say with one another, with the trace, and with what they say of the same
capture written otherwise. docs/check-capture.md tells what is checked. Exit status 0: all hold; 1: some do not; 77: nothing was there.
"""
import argparse
import os
import sys
import tempfile
import traceback

import commands
import evidence
import formats
import metamorphic
import outcome
import pages
import samples
import tables
from program import Broken, Capture

KINDS = (tables, evidence, commands, formats, metamorphic, pages)
WRITTEN_OTHERWISE = (formats, metamorphic)
ABSENT = "nothing of this kind in the capture"


def check(capture, results, kinds, only):
    absent = []
    for kind in kinds:
        for name, function in kind.CHECKS:
            if only and only not in name:
                continue
            try:
                faults = function(capture)
            except Broken as error:
                faults = [str(error)]
            except Exception:  # a check that breaks is a fault of its own, and must not hide the others
                faults = ["the check broke: " + traceback.format_exc(limit=-2).strip().replace("\n", " / ")]
            if faults is None:
                absent.append(name)
            else:
                results.put(capture.name, name, faults)
    if absent:
        results.skip(capture.name, absent, ABSENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a capture: any path that pipescope reads")
    parser.add_argument("--group", help="captures of the project: " + ", ".join(sorted(samples.GROUPS)))
    parser.add_argument("--only", default="", help="checks whose name has this in it")
    parser.add_argument("--as-it-is", action="store_true", help="no checks of the capture written otherwise")
    parser.add_argument("--verbose", action="store_true", help="tell what holds, too")
    options = parser.parse_args()
    if not options.paths and not options.group:
        parser.error("give a PATH or a --group")
    kinds = [kind for kind in KINDS if not (options.as_it_is and kind in WRITTEN_OTHERWISE)]
    known = outcome.known_faults() if options.group else {}
    results = outcome.Outcome(known, verbose=options.verbose)
    with tempfile.TemporaryDirectory(prefix="pipescope-check-") as folder:
        wanted = [(os.path.basename(os.path.abspath(p)), p) for p in options.paths]
        for path in options.paths:
            if not os.path.exists(path):
                parser.error("no such path: %s" % path)
        if options.group:
            for name, path, missing in samples.of_group(options.group, folder):
                if missing:
                    results.say("skipped %s: %s" % (name, missing))
                    results.skipped += 1
                else:
                    wanted.append((name, path))
        for n, (name, path) in enumerate(wanted):
            check(Capture(name, path, os.path.join(folder, "work-%d" % n)), results, kinds, options.only)
        if not options.only and not options.as_it_is:
            results.unmet({name for name, _ in wanted})
    status = results.tally()
    sys.exit(77 if options.group and not wanted and not status else status)


if __name__ == "__main__":
    main()
