#!/usr/bin/env python3
"""From the address printed to the end: start, ports, signals, what runs while it ends."""
import os
import select
import signal
import socket
import subprocess
import threading
import time

import serving


class Life(serving.Case):
    def test_address_comes_first_and_alone(self):
        with serving.Server(self.trace()) as s:
            self.assertEqual(s.get("/", token=None).status, 200)
            self.assertEqual(s.stop(signal.SIGINT), 0)
            self.assertEqual(s.process.stdout.read(), b"")
            self.assertNotIn(s.token, s.messages())

    def test_address_is_flushed_before_anything_is_answered(self):
        """With a port and a token that are known beforehand, whoever is answered finds the address in the pipe."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen([serving.PROGRAM, "serve", self.trace(), "--port", str(port), "--token", "t"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + serving.PATIENCE
            answered = False
            while not answered and time.monotonic() < end:
                try:
                    with socket.create_connection(("127.0.0.1", port), 5) as c:
                        c.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        answered = c.recv(1) != b""
                except OSError:
                    pass
            self.assertTrue(answered)
            self.assertTrue(select.select([process.stdout], [], [], 0)[0])
            self.assertEqual(process.stdout.readline(), b"http://127.0.0.1:%d/#token=t\n" % port)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_taken_port(self):
        with serving.Server(self.trace()) as s:
            other = subprocess.run([serving.PROGRAM, "serve", self.trace(), "--port", str(s.port)],
                                   capture_output=True, timeout=serving.PATIENCE, check=False)
            self.assertEqual((other.returncode, other.stdout), (1, b""))
            self.assertIn(b"--port 0", other.stderr)

    def test_port_is_free_again(self):
        with serving.Server(self.trace()) as s:
            port = s.port
            s.get("/", token=None)
            self.assertEqual(s.stop(), 0)
        with serving.Server(self.trace(), port=port) as s:
            self.assertEqual(s.port, port)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with serving.Server(self.trace()) as s:
                self.assertEqual(s.stop(number), 0)

    def test_stops_while_asked(self):
        """Requests on the way are answered or cut, and the end comes."""
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            seq = s.get("/api/ranks").json()["seq"]
            waiting = s.connect()
            waiting.sendall(("GET /api/events?after=%d HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"
                             % (seq, s.token)).encode())
            half = s.connect()
            half.sendall(b"GET /api/ra")
            stop = threading.Event()
            statuses = []

            def ask():
                while not stop.is_set():
                    try:
                        statuses.append(s.get("/api/search?q=op").status)
                    except (OSError, serving.http.client.HTTPException):
                        return

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for t in threads:
                t.start()
            while len(statuses) < 20:
                time.sleep(0.01)
            self.assertEqual(s.stop(), 0)
            stop.set()
            for t in threads:
                t.join()
            self.assertTrue(set(statuses) <= {200, 503}, set(statuses))
            self.assertIn(b"HTTP/1.1 200", waiting.recv(4096))  # who waited is told before the end
            waiting.close()
            half.close()

    def test_second_signal_ends_at_once(self):
        with serving.Server(self.trace(n=20000)) as s:
            s.process.send_signal(signal.SIGINT)
            s.process.send_signal(signal.SIGINT)
            self.assertIn(s.process.wait(serving.PATIENCE), (0, -signal.SIGINT))

    def test_output_that_nobody_reads(self):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([serving.PROGRAM, "serve", self.trace(), "--port", "0"], stdout=write,
                                   stderr=subprocess.PIPE)
        os.close(write)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=serving.PATIENCE)
        self.assertGreaterEqual(process.returncode, 0)

    def test_warning_beyond_this_machine(self):
        with serving.Server(self.trace(), args=["--host", "0.0.0.0"]) as s:
            self.assertEqual(s.get("/api/nothing", token=None).status, 403)
            self.assertEqual(s.get("/api/nothing", headers={"Host": "evil.example"}).status, 403)
            self.assertEqual(s.get("/api/nothing", headers={"Host": "192.0.2.9:%d" % s.port}).status, 404)
            self.assertEqual(s.stop(), 0)
            self.assertIn("without encryption", s.messages())

    def test_loopback_of_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        with serving.Server(self.trace(), args=["--host", "::1"]) as s:
            self.assertEqual(s.host, "[::1]")
            with socket.create_connection(("::1", s.port), serving.PATIENCE) as c:
                c.sendall(b"GET / HTTP/1.1\r\nHost: [::1]:%d\r\nConnection: close\r\n\r\n" % s.port)
                self.assertIn(b" 200 ", c.recv(4096))

    def test_nothing_is_written_beside_the_data(self):
        path = self.trace()
        before = (sorted(os.listdir(self.folder)), os.stat(path).st_mtime_ns)
        with serving.Server(self.folder) as s:
            s.wait_for(["ready"])
            s.get("/api/search?q=op")
            s.stop()
        self.assertEqual((sorted(os.listdir(self.folder)), os.stat(path).st_mtime_ns), before)


if __name__ == "__main__":
    serving.main()
