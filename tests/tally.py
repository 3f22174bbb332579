#!/usr/bin/env python3
"""Adds up what CTest wrote: tests/tally.py FILE.xml...   (ctest --output-junit FILE.xml)

A cmocka program prints one TAP line a case, so each case counts; a golden case or a script counts as one. A program
that crashed before it had run all its cases has failed in every case it did not report; one that reported only good
cases and still failed (a leak found at exit) has failed once more. A file that is missing or empty is one failure.
Names what was skipped, shows the end of what failed printed, names what failed, and prints as its last line
`N passed, N failed, N skipped`.
Exit status: 0 when something passed and nothing failed, else 1.
"""
import os
import re
import sys
import xml.etree.ElementTree as ET

TAP_LINE = re.compile(r"^(not )?ok\b[ \t]*\d*[ \t]*(?:-[ \t]*)?(.*)$", re.M)
TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.M)


SHOWN_LINES = 120  # of all tests that failed


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []  # (name, why)
        self.skipped = []
        self.outputs = []  # (name, what it printed) of the tests that failed

    def add_unit(self, name, output, program_ok):
        planned = sum(int(n) for n in TAP_PLAN.findall(output))
        seen = failed = 0
        for bad, title in TAP_LINE.findall(output):
            seen += 1
            case = name + ": " + title.replace("# SKIP", "").strip()
            if "# SKIP" in title:
                self.skipped.append((case, ""))
            elif bad:
                failed += 1
                self.failed.append((case, ""))
            else:
                self.passed += 1
        unreported = max(0, planned - seen)
        for _ in range(unreported):
            self.failed.append((name, "a case that was never reported, the program ended early: " + last_line(output)))
        if not program_ok and failed + unreported == 0:
            self.failed.append((name, "the program failed outside its cases: " + last_line(output)))

    def add(self, case, where):
        name = where + " " + case.get("name", "?")
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        ok = case.get("status") == "run"
        if not ok and (skipped is None or TAP_LINE.search(output)):
            self.outputs.append((name, output))
        if skipped is not None:
            reason = skipped.get("message", "")
            if not reason.startswith("SKIP_"):
                self.failed.append((name, "did not run: " + reason))
                return
            if not TAP_LINE.search(output):
                self.skipped.append((name, last_line(output).replace("skipped: ", "")))
                return
            ok = False  # a program whose number of failed cases happens to be the skip code
        if case.get("name", "").startswith("unit.") and TAP_PLAN.search(output):
            self.add_unit(name, output, ok)
        elif ok:
            self.passed += 1
        else:
            failure = case.find("failure")
            why = failure.get("message", "") if failure is not None else ""
            self.failed.append((name, why))


    def show_outputs(self):
        """The ends of what the tests that failed printed: a reader of a long log finds them beside the names."""
        for name, output in self.outputs:
            print("-- the end of what %s printed" % name)
            for line in output.rstrip().splitlines()[-max(4, SHOWN_LINES // len(self.outputs)):]:
                print("   " + line)


def print_entries(title, entries):
    for name, why in entries:
        print("%-8s %s%s" % (title, name, ": " + why if why else ""))


def main(files):
    tally = Tally()
    for file in files:
        where = "[" + os.path.basename(os.path.dirname(os.path.abspath(file))) + "]"
        try:
            cases = list(ET.parse(file).getroot().iter("testcase"))
        except (OSError, ET.ParseError):
            tally.failed.append((where, "no results: the build or the test run broke off"))
            continue
        if not cases:
            tally.failed.append((where, "no tests were found"))
        for case in cases:
            tally.add(case, where)
    print_entries("skipped", tally.skipped)
    tally.show_outputs()
    print_entries("failed", tally.failed)
    print("%d passed, %d failed, %d skipped" % (tally.passed, len(tally.failed), len(tally.skipped)))
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
