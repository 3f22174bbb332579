"""What came of the checks: one line each, those that are known to fail set apart, and a tally at the end."""
import os

KNOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_faults.txt")
SHOWN = 5  # places of one failing check


def known_faults(path=KNOWN):
    """{(capture, check): reason} of a file of lines `capture | check | reason`."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for n, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split("|", 2)]
            if len(parts) != 3 or not all(parts):
                raise SystemExit("%s:%d: want `capture | check | reason`" % (path, n))
            found[parts[0], parts[1]] = parts[2]
    return found


class Outcome:
    """Takes the result of each check of each capture; `known` maps (capture, check) to the reason why it fails today."""

    def __init__(self, known, say=print, verbose=False):
        self.known, self.say, self.verbose = known, say, verbose
        self.passed = self.failed = self.skipped = self.excused = 0
        self.met = set()

    def put(self, capture, check, faults):
        """`faults`: sentences that name table, row, column and both values; none: the check holds."""
        reason = self.known.get((capture, check))
        self.met.add((capture, check))
        if not faults and reason is None:
            self.passed += 1
            if self.verbose:
                self.say("ok %s: %s" % (capture, check))
            return
        if not faults:
            self.failed += 1
            self.say("FAILED %s: %s: holds now: take its line out of %s" % (capture, check, os.path.basename(KNOWN)))
            return
        if reason is not None:
            self.excused += 1
            self.say("known %s: %s: %s" % (capture, check, reason))
        else:
            self.failed += 1
            self.say("FAILED %s: %s" % (capture, check))
        if reason is None or self.verbose:
            for fault in faults[:SHOWN]:
                self.say("    " + fault)
            if len(faults) > SHOWN:
                self.say("    and %d more" % (len(faults) - SHOWN))

    def skip(self, capture, checks, why):
        """One line for all checks of a capture that are left out for the same reason."""
        self.skipped += len(checks)
        self.met.update((capture, check) for check in checks)
        self.say("skipped %s: %s: %s" % (capture, ", ".join(checks), why))

    def unmet(self, captures):
        """Entries of captures that were checked whose check does not exist (any more)."""
        for capture, check in self.known:
            if capture in captures and (capture, check) not in self.met:
                self.failed += 1
                self.say("FAILED %s: %s: is a known fault, but no such check ran" % (capture, check))

    def tally(self):
        known = " (%d known faults passed over)" % self.excused if self.excused else ""
        self.say("%d passed, %d failed, %d skipped%s" % (self.passed, self.failed, self.skipped + self.excused, known))
        return 1 if self.failed else 0
