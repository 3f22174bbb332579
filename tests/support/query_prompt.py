"""`pipescope query PATH -i` on a terminal of its own: Tab completes, the arrow brings back, Ctrl-C ends a statement and not the program."""
import os
import pty
import select
import signal
import sys
import time

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;"


class Terminal:
    def __init__(self, words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execvp(words[0], words)
        self.seen = ""

    def wait_for(self, text, seconds=20):
        """What came until the text did; it is gone then."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                sys.exit("no %r but %r" % (text, self.seen))
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                sys.exit("no %r but %r, and the end" % (text, self.seen))
        before, self.seen = self.seen.split(text, 1)
        return before

    def say(self, text):
        os.write(self.fd, text.encode())


def main():
    t = Terminal(["pipescope", "query", sys.argv[1], "-i", "--timeout", "0"])
    t.wait_for("pipescope> ")
    t.say("SELECT 'an' || 'swer' AS n FROM sli\t LIMIT 1;\n")  # no table without the completion
    t.wait_for("answer")
    t.wait_for("pipescope> ")
    t.say("\x1b[A\n")
    t.wait_for("answer")
    t.wait_for("pipescope> ")
    t.say(ENDLESS + "\n")
    time.sleep(0.5)
    os.kill(t.pid, signal.SIGINT)
    t.wait_for("the query was ended")
    t.wait_for("pipescope> ")
    t.say("SELECT 6 * 7 AS n;\n")
    t.wait_for("42")
    t.wait_for("pipescope> ")
    t.say(".quit\n")
    _, status = os.waitpid(t.pid, 0)
    if status != 0:
        sys.exit("it ended with %d" % status)


if __name__ == "__main__":
    main()
