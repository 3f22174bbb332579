#!/usr/bin/env python3
"""Many clients, and slow ones."""
import resource
import selectors
import socket
import time

import serving

N = 1000


def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = N + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return True


class Clients(serving.Case):
    def crowd(self, s, request, n=N):
        """n connections that are all open at once, each with one request; the first line of each reply."""
        selector = selectors.DefaultSelector()
        sockets = []
        for _ in range(n):
            c = s.connect()
            c.setblocking(False)
            sockets.append(c)
            selector.register(c, selectors.EVENT_READ, bytearray())
        for c in sockets:
            c.sendall(request)
        left, lines = n, []
        end = time.monotonic() + serving.PATIENCE
        while left > 0:
            self.assertLess(time.monotonic(), end, "%d of %d were not answered" % (left, n))
            for key, _ in selector.select(1):
                try:
                    piece = key.fileobj.recv(65536)
                except BlockingIOError:
                    continue
                key.data.extend(piece)
                if not piece:
                    lines.append(bytes(key.data).split(b"\r\n")[0])
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    left -= 1
        return lines

    def test_a_thousand_at_once(self):
        if not raise_limit():
            self.skipTest("too few files may be open here")
        with serving.Server(self.trace(n=500)) as s:
            key = s.wait_for(["ready"])[0]["key"]
            for path in ("/api/tiles?rank=%s&level=3&tile=0&lanes=0" % key, "/api/search?q=op1", "/viewer.js"):
                request = ("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
                           % (path, s.token)).encode()
                self.assertEqual(set(self.crowd(s, request)), {b"HTTP/1.1 200 OK"}, path)
            self.assertEqual(s.stop(), 0)

    def test_many_wait_for_a_change(self):
        """Those who wait hold no thread: others are answered meanwhile, and the end wakes them all."""
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            seq = s.get("/api/ranks").json()["seq"]
            ask = ("GET /api/events?after=%d HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
                   % (seq, s.token)).encode()
            waiting = [s.connect() for _ in range(300)]
            for c in waiting:
                c.sendall(ask)
            for _ in range(20):
                self.assertEqual(s.get("/api/search?q=op").status, 200)
            ready = [c for c in waiting if self.has_reply(c)]
            self.assertEqual(ready, [])
            self.assertEqual(s.stop(), 0)
            for c in waiting:
                self.assertIn(b"HTTP/1.1 200 OK", c.recv(4096))
                c.close()

    @staticmethod
    def has_reply(c):
        c.setblocking(False)
        try:
            return c.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return False
        finally:
            c.settimeout(serving.PATIENCE)

    def test_slow_clients_hinder_nobody(self):
        with serving.Server(self.trace()) as s:
            key = s.wait_for(["ready"])[0]["key"]
            slow = [s.connect() for _ in range(200)]
            for i, c in enumerate(slow):
                c.sendall(b"GET /api/ranks HTTP/1.1\r\nHost: loc"[:1 + i % 30])
            readers = [s.connect() for _ in range(20)]  # ask for a lot and do not read it
            for c in readers:
                c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                c.sendall(b"GET /viewer.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            for i in range(100):
                slow[i].sendall(b"x")
                self.assertEqual(s.get("/api/slice?rank=%s&slice=%d" % (key, i % 50)).status, 200)
                self.assertEqual(s.get("/", token=None).status, 200)
            for c in slow + readers:
                c.close()
            self.assertEqual(s.stop(), 0)

    def test_idle_clients_lock_nobody_out(self):
        """All places are taken by connections that say nothing: whoever comes next is answered long before their half minute is over."""
        with serving.Server(self.trace(), files=256) as s:
            idle = [s.connect() for _ in range(400)]  # those beyond the limit wait to be taken
            with s.connect() as c:
                c.settimeout(serving.IDLE_S / 2)
                c.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                self.assertIn(b"HTTP/1.1 200 OK", c.recv(4096))
            for c in idle:
                c.close()
            self.assertEqual(s.stop(), 0)

    def test_clients_that_go_away(self):
        with serving.Server(self.trace(n=2000)) as s:
            key = s.wait_for(["ready"])[0]["key"]
            for path in ("/api/search?q=op", "/api/slices?rank=%s&limit=1000" % key, "/viewer.js", "/api/events?after=999999"):
                request = ("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (path, s.token)).encode()
                for _ in range(50):
                    c = s.connect()
                    c.sendall(request)
                    c.close()
            self.assertEqual(s.get("/", token=None).status, 200)
            self.assertEqual(s.stop(), 0)


if __name__ == "__main__":
    serving.main()
