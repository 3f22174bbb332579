#!/usr/bin/env python3
"""Who may ask: 403 on every route without the token, with a wrong one, for a foreign Host and for a foreign Origin."""
import os
import stat

import serving


class Who(serving.Case):
    def test_every_route(self):
        routes = serving.routes()
        self.assertGreater(len(routes), 10)
        with serving.Server(self.trace()) as s:
            own = "127.0.0.1:%d" % s.port
            wrong = s.token[:-1] + ("A" if s.token[-1] != "A" else "B")
            asks = [
                {"token": None},
                {"token": wrong},
                {"token": s.token + "x"},
                {"headers": {"Host": "evil.example"}},
                {"headers": {"Host": "evil.example:%d" % s.port}},
                {"headers": {"Origin": "http://evil.example"}},
                {"headers": {"Origin": "null"}},
                {"headers": {"Origin": "http://127.0.0.1:%d" % (s.port ^ 1)}},
                {"headers": {"Authorization": "Basic " + s.token}},
            ]
            for method, path in routes:
                for more in asks:
                    reply = s.ask(method, path, b"{}" if method == "POST" else None, **more)
                    self.assertEqual(reply.status, 403, (method, path, more))
                    self.assertIn("error", reply.json())
                reply = s.ask(method, path + "?none=%zz", b"{}" if method == "POST" else None,
                              headers={"Origin": "http://" + own})
                self.assertEqual(reply.status, 400, (method, path))  # who may ask, and asks nonsense

    def test_unknown_addresses_tell_nothing_without_the_token(self):
        with serving.Server(self.trace()) as s:
            self.assertEqual(s.get("/api/nothing", token=None).status, 403)
            self.assertEqual(s.get("/api/nothing").status, 404)
            self.assertEqual(s.get("/api/").status, 404)

    def test_pages_need_no_token_but_a_host(self):
        with serving.Server(self.trace()) as s:
            for path in ("/", "/viewer.js", "/viewer.css"):
                self.assertEqual(s.get(path, token=None).status, 200)
                self.assertEqual(s.get(path, headers={"Host": "evil.example"}).status, 403)
                self.assertEqual(s.get(path, headers={"Origin": "http://evil.example"}).status, 403)

    def test_tunnels(self):
        """The port at the other end of a tunnel is another one."""
        with serving.Server(self.trace()) as s:
            for host in ("127.0.0.1:9999", "localhost:1234", "localhost", "[::1]:80", "LOCALHOST:%d" % s.port):
                more = {"headers": {"Host": host, "Origin": "http://" + host}}
                self.assertNotEqual(s.get("/api/nothing", **more).status, 403, host)

    def test_hosts_in_http_1_0_and_twice(self):
        with serving.Server(self.trace()) as s:
            ask = "GET / HTTP/%s\r\n%sConnection: close\r\n\r\n"
            self.assertIn(b" 403 ", s.raw((ask % ("1.0", "")).encode()))
            self.assertIn(b" 200 ", s.raw((ask % ("1.0", "Host: localhost\r\n")).encode()))
            two = "Host: localhost\r\nHost: evil.example\r\n"
            self.assertNotIn(b" 200 ", s.raw((ask % ("1.1", two)).encode()))
            two = "Host: evil.example\r\nHost: localhost\r\n"
            self.assertNotIn(b" 200 ", s.raw((ask % ("1.1", two)).encode()))

    def test_given_token(self):
        with serving.Server(self.trace(), args=["--token", "my-token_1"]) as s:
            self.assertEqual(s.token, "my-token_1")
            self.assertEqual(s.get("/api/nothing").status, 404)
        with serving.Server(self.trace()) as a, serving.Server(self.trace()) as b:
            self.assertNotEqual(a.token, b.token)
            self.assertGreaterEqual(len(a.token), 22)  # 128 bits

    def test_no_route_takes_a_path(self):
        secret = self.path("secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("SECRET")
        os.chmod(secret, stat.S_IRUSR)
        with serving.Server(self.trace()) as s:
            up = "/.." * 20
            for path in (secret, up + secret, "/%2e%2e" * 20 + secret, "/viewer.js/.." + secret, "//" + secret,
                         "/viewer.js/" + up + secret, "/api/../viewer.js", "/.", "/\\..\\", "/viewer.js%00.html",
                         "http://127.0.0.1:%d%s" % (s.port, secret), "*"):
                reply = s.raw(("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
                               % (path, s.token)).encode())
                self.assertNotIn(b"SECRET", reply)
                self.assertNotIn(b" 200 ", reply.split(b"\r\n")[0], path)
            for method, path in serving.routes():
                if method == "GET":
                    for name in ("rank", "name", "cluster", "q", "key", "path", "file"):
                        reply = s.get("%s?%s=%s" % (path, name, secret))
                        self.assertNotIn(b"SECRET", reply.body)


if __name__ == "__main__":
    serving.main()
