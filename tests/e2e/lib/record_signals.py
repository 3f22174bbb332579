"""Sends signals to `pipescope record`: record_signals.py PIPESCOPE FOLDER

The command is this file with other words: it says which signals come and ends when it is told to.
"""
import os
import pty
import select
import signal
import subprocess
import sys
import time

LIMIT_S = 30
TOLD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def child(ignored):
    """Prints the name of each signal; ends with status 9 after "end" on standard input or 20 s."""
    def say(number, frame):
        os.write(1, (signal.Signals(number).name + "\n").encode())

    for number in TOLD:
        if number not in ignored:
            signal.signal(number, say)
    os.write(1, b"ready\n")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        ready, _, _ = select.select([0], [], [], 0.2)
        if ready and b"end" in os.read(0, 100):
            return 9
    return 10


class Talk:
    """Lines of a stream, waited for."""

    def __init__(self, fd):
        self.fd = fd
        self.text = b""

    def until(self, wanted):
        end = time.monotonic() + LIMIT_S
        while wanted not in self.text:
            left = end - time.monotonic()
            ready, _, _ = select.select([self.fd], [], [], max(0, left))
            try:
                part = os.read(self.fd, 4096) if ready else b""
            except OSError:
                part = b""
            assert part, "no %r came, only %r" % (wanted, self.text)
            self.text += part

    def rest(self):
        while True:
            try:
                part = os.read(self.fd, 4096)
            except OSError:
                part = b""
            if not part:
                return self.text
            self.text += part


def command(pipescope, *words):
    return [pipescope, "record", "--quiet", "--", sys.executable, "-B", os.path.abspath(__file__), "child", *words]


def wait(process, status):
    got = process.wait(LIMIT_S)
    assert got == status, "exit status %s instead of %s" % (got, status)


def test_passed_on(pipescope):
    process = subprocess.Popen(command(pipescope), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    talk = Talk(process.stdout.fileno())
    talk.until(b"ready\n")
    for number in TOLD:
        process.send_signal(number)
        talk.until(number.name.encode() + b"\n")
    process.stdin.write(b"end\n")
    process.stdin.flush()
    wait(process, 9)
    text = talk.rest()
    for number in TOLD:
        assert text.count(number.name.encode()) == 1, text


def test_ended_by(pipescope):
    """A command that a signal ends gives 128 + N, and so does one that sends it to the whole group itself."""
    process = subprocess.Popen([pipescope, "record", "--quiet", "--", "sleep", "20"])
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    wait(process, 128 + signal.SIGTERM)
    script = "trap 'echo caught' USR1; kill -USR1 0; sleep 0.3; echo end"
    process = subprocess.Popen([pipescope, "record", "--quiet", "--", "sh", "-c", script], stdout=subprocess.PIPE,
                               start_new_session=True)
    out, _ = process.communicate(timeout=LIMIT_S)
    wait(process, 0)
    assert out == b"caught\nend\n", out


def test_ignored(pipescope):
    """What was ignored before stays so: nohup."""
    process = subprocess.Popen(command(pipescope, "SIGHUP"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    talk = Talk(process.stdout.fileno())
    talk.until(b"ready\n")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGUSR1)
    talk.until(b"SIGUSR1\n")
    process.stdin.write(b"end\n")
    process.stdin.flush()
    wait(process, 9)
    assert b"SIGHUP" not in talk.rest()


def state(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return int(file.read().split()[0])


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def test_stopped(pipescope):
    """TSTP to us stops both, CONT lets both go on. In a group of its own: the kernel does not stop a group that no shell looks
    after, which ours may be."""
    process = subprocess.Popen(command(pipescope), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=os.setpgrp)
    talk = Talk(process.stdout.fileno())
    talk.until(b"ready\n")
    inner = child_of(process.pid)
    process.send_signal(signal.SIGTSTP)
    until(lambda: state(inner) == "T" and state(process.pid) == "T")
    process.send_signal(signal.SIGCONT)
    until(lambda: state(inner) != "T" and state(process.pid) != "T")
    process.stdin.write(b"end\n")
    process.stdin.flush()
    wait(process, 9)


def test_terminal(pipescope):
    """The terminal sends to the whole group: the command gets Ctrl+C once; Ctrl+Z stops us as well, so that the shell
    notices."""
    leader, terminal = pty.openpty()
    process = subprocess.Popen(command(pipescope), stdin=terminal, stdout=terminal, stderr=terminal,
                               start_new_session=True, preexec_fn=lambda: take_terminal())
    os.close(terminal)
    talk = Talk(leader)
    talk.until(b"ready")
    os.write(leader, b"\x03")
    talk.until(b"SIGINT")
    process.send_signal(signal.SIGUSR1)
    talk.until(b"SIGUSR1")
    inner = child_of(process.pid)
    # The group of a session's leader is orphaned: the kernel does not stop it, and neither do we hang.
    os.write(leader, b"\x1a")
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGCONT)
    until(lambda: state(inner) != "T" and state(process.pid) != "T")
    os.write(leader, b"end\n")
    wait(process, 9)
    text = talk.rest()
    assert text.count(b"SIGINT") == 1, text


def take_terminal():
    import fcntl
    import termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_shell_job(pipescope):
    """An interactive shell's Ctrl+Z, jobs and fg."""
    leader, terminal = pty.openpty()
    shell = subprocess.Popen(["sh", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                             preexec_fn=lambda: take_terminal(), env=dict(os.environ, PS1="prompt> ", ENV=""))
    os.close(terminal)
    talk = Talk(leader)
    talk.until(b"prompt> ")
    words = " ".join("'%s'" % word for word in command(pipescope))
    os.write(leader, (words + "; echo status $?\n").encode())
    talk.until(b"ready")
    os.write(leader, b"\x1a")
    talk.until(b"status 14")  # 128 + SIGTSTP or SIGSTOP: the shell has its terminal again
    talk.text = b""
    os.write(leader, b"fg; echo back $?\n")
    time.sleep(0.3)
    os.write(leader, b"end\n")
    talk.until(b"back 9")
    os.write(leader, b"exit\n")
    shell.wait(LIMIT_S)


def main():
    if sys.argv[1] == "child":
        return child([signal.Signals[name] for name in sys.argv[2:]])
    for number in TOLD:  # a test that was put in the background has been told to ignore some
        signal.signal(number, signal.SIG_DFL)
    os.chdir(sys.argv[2])
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test(sys.argv[1])
            print("ok", name, flush=True)
    return 0


sys.exit(main())
