"""The real server on a free port of 127.0.0.1, and ways to ask it. For the tests beside this file.

    with Server(path) as s:
        reply = s.get("/api/ranks")         # Reply(status, headers, body)
        s.get("/", token=None, headers={"Host": "localhost"})

The program is $PIPESCOPE_BIN, or build/release/pipescope. Everything ends with the `with`.
"""
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("PIPESCOPE_BIN") or os.path.join(ROOT, "build", "release", "pipescope")
IDLE_S = 30  # after which the server hangs up on who says nothing
PATIENCE = 120  # seconds for anything that should take none; sanitizers are slow


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %r" % (self.status, self.body[:200])


class Server:
    def __init__(self, *paths, args=(), port=0, env=None, files=None):
        """`files`: how many it may have open, connections too."""
        self.paths, self.args, self.port_wanted, self.env, self.files = paths, list(args), port, env, files
        self.process = None

    def __enter__(self):
        command = [PROGRAM, "serve", *self.paths, "--port", str(self.port_wanted), *self.args]
        if self.files is not None:
            command = ["sh", "-c", 'ulimit -n %d; exec "$0" "$@"' % self.files, *command]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=self.env)
        self.url = self.first_line()
        match = re.fullmatch(r"http://([^/]+):(\d+)/#token=([A-Za-z0-9_-]+)", self.url)
        if not match:
            self.process.kill()
            self.process.wait()
            raise AssertionError("no address: %r\n%s" % (self.url, self.messages()))
        self.host, self.port, self.token = match.group(1), int(match.group(2)), match.group(3)
        return self

    def first_line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        return self.process.stdout.readline().decode().rstrip("\n") if ready else ""

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def messages(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self, number=signal.SIGTERM):
        """The exit status; negative when a signal killed it."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def ask(self, method, address, body=None, token="", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Host": "127.0.0.1:%d" % self.port}
        if token is not None:
            sent["Authorization"] = "Bearer " + (token or self.token)
        sent.update(headers or {})
        try:
            connection.request(method, address, body, sent)
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        finally:
            connection.close()

    def get(self, address, **more):
        return self.ask("GET", address, **more)

    def post(self, address, value, **more):
        return self.ask("POST", address, json.dumps(value), **more)

    def raw(self, data, wait=True):
        """Sends bytes and gives all that comes back until the server hangs up; without `wait` hangs up itself, unread. The
        bytes should ask for `Connection: close`, else the server waits for more, as it should."""
        with self.connect() as s:
            got = b""
            try:
                s.sendall(data)
                while wait:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    got += piece
            except ConnectionError:
                pass
            return got

    def ranks(self):
        reply = self.get("/api/ranks")
        assert reply.status == 200, reply
        return reply.json()["ranks"]

    def wait_for(self, states, n=None):
        """The ranks, once `n` (all) of them are in one of these states."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ranks = self.ranks()
            there = [r for r in ranks if r["state"] in states]
            if len(there) >= (len(ranks) if n is None else n):
                return ranks
            time.sleep(0.02)
        raise AssertionError("ranks stay %s" % [(r["label"], r["state"]) for r in ranks])


def routes():
    """(method, path) of all routes, as the sources list them."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(ROOT, "src", "serve"))
             for name in names]
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = file.read()
    names = set(re.findall(r"^X\((\w+)\)", texts["routes.def"], re.M))
    found = []
    for name in sorted(n for n in texts if n.endswith(".c")):
        for route, path, method in re.findall(
                r'ps_route_(\w+)\s*=\s*\{\s*\.path\s*=\s*"(/api/[^"]+)",\s*\.method\s*=\s*"([A-Z]+)"', texts[name]):
            if route in names:
                names.remove(route)
                found.append((method, path))
    assert not names, "no source for %s" % names
    return found


def trace(path, n=50, rank=None, name="op"):
    """A small trace of one rank."""
    events = [{"ph": "X", "pid": 1, "tid": 1 + i % 3, "ts": i * 10, "dur": 8, "cat": "cpu_op", "name": "%s%d" % (name, i % 7)}
              for i in range(n)]
    head = {"distributedInfo": {"rank": rank, "world_size": 64}} if rank is not None else {}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({**head, "schemaVersion": 1, "traceEvents": events}))
    return path


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def trace(self, name="trace.json", **more):
        return trace(self.path(name), **more)


def main():
    """Runs the tests of the calling file; the file counts as one for CTest."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
