#!/usr/bin/env python3
"""What the server makes of HTTP: methods, headers, caching, limits, and what is no HTTP at all."""
import http.client
import json
import random

import serving


class Http(serving.Case):
    def test_pages(self):
        with serving.Server(self.trace()) as s:
            page = s.get("/", token=None)
            self.assertEqual(page.headers["Content-Type"], "text/html; charset=utf-8")
            self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'", page.headers["Content-Security-Policy"])
            self.assertNotIn("script-src 'unsafe", page.headers["Content-Security-Policy"])
            self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(page.headers["Referrer-Policy"], "no-referrer")
            self.assertNotIn("Access-Control-Allow-Origin", page.headers)
            self.assertNotIn(s.token.encode(), page.body)
            script = s.get("/viewer.js", token=None)
            self.assertIn("javascript", script.headers["Content-Type"])
            self.assertIn("css", s.get("/viewer.css", token=None).headers["Content-Type"])
            again = s.get("/viewer.js", token=None, headers={"If-None-Match": script.headers["ETag"]})
            self.assertEqual((again.status, again.body), (304, b""))

    def test_head_is_get_without_a_body(self):
        with serving.Server(self.trace()) as s:
            for path in ("/", "/viewer.js", "/api/ranks", "/api/nothing"):
                head, get = s.ask("HEAD", path), s.get(path)
                self.assertEqual((head.status, head.body), (get.status, b""))
                if path != "/api/ranks":  # its length may change meanwhile
                    self.assertEqual(head.headers["Content-Length"], get.headers["Content-Length"])

    def test_methods(self):
        with serving.Server(self.trace()) as s:
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
                reply = s.ask(method, "/")
                self.assertEqual(reply.status, 405, method)
                self.assertEqual(reply.headers["Allow"], "GET, HEAD")
            for method, path in serving.routes():
                other = "POST" if method == "GET" else "GET"
                reply = s.ask(other, path, b"{}" if other == "POST" else None)
                if (other, path) not in serving.routes():
                    self.assertEqual(reply.status, 405, (other, path))
                    self.assertIn(method, reply.headers["Allow"])

    def test_connections_are_kept(self):
        with serving.Server(self.trace()) as s:
            connection = http.client.HTTPConnection("127.0.0.1", s.port, timeout=serving.PATIENCE)
            headers = {"Authorization": "Bearer " + s.token}
            for path in ("/", "/api/nothing", "/api/ranks", "/viewer.css", "/api/slice?rank=x&slice=0", "/"):
                connection.request("GET", path, headers=headers)
                reply = connection.getresponse()
                reply.read()
                self.assertNotEqual(reply.headers.get("Connection"), "close", path)
                self.assertFalse(reply.will_close, path)
            connection.close()

    def test_what_never_changes_is_kept(self):
        with serving.Server(self.trace()) as s:
            key = s.wait_for(["ready"])[0]["key"]
            address = "/api/tiles?rank=%s&level=10&tile=0&lanes=0" % key
            tile = s.get(address)
            self.assertEqual(tile.status, 200)
            self.assertEqual(tile.headers["Cache-Control"], "private, max-age=31536000, immutable")
            same = s.get(address, headers={"If-None-Match": 'W/"x", ' + tile.headers["ETag"]})
            self.assertEqual((same.status, same.body), (304, b""))
            self.assertEqual(same.headers["ETag"], tile.headers["ETag"])
            other = s.get(address, headers={"If-None-Match": '"another"'})
            self.assertEqual((other.status, other.body), (200, tile.body))
            self.assertEqual(s.get(address, token=None, headers={"If-None-Match": tile.headers["ETag"]}).status, 403)
            self.assertEqual(s.get("/api/ranks").headers["Cache-Control"], "no-store")
            missing = s.get("/api/tiles?rank=none&level=10&tile=0&lanes=0")
            self.assertEqual((missing.status, missing.headers["Cache-Control"]), (404, "no-store"))

    def test_one_end_of_a_body(self):
        """What says in two ways where its body ends is refused: another program on the way may have believed the other one."""
        chunked, length = "Transfer-Encoding: chunked\r\n", "Content-Length: 17\r\n"
        with serving.Server(self.trace()) as s:
            for version, headers, status in (("1.1", chunked, b"200"), ("1.1", length + chunked, b"400"), ("1.1", chunked + length, b"400"),
                                             ("1.1", chunked + chunked, b"400"), ("1.0", chunked, b"400"),
                                             ("1.1", "Transfer-Encoding: gzip\r\n", b"400"),
                                             ("1.1", "Transfer-Encoding: gzip, chunked\r\n", b"400")):
                reply = s.raw(("POST /api/load HTTP/%s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n%s\r\n"
                               % (version, s.token, headers)).encode() + b'c\r\n{"all":true}\r\n0\r\n\r\n')
                self.assertEqual(reply.split(b" ")[1:2], [status], (version, headers))

    def test_limits(self):
        with serving.Server(self.trace()) as s:
            self.assertEqual(s.get("/api/ranks?x=" + "a" * 16000).status, 200)
            for n in (65, 900, 8000):  # of which the library could not hold all
                reply = s.get("/api/ranks?" + "&".join("a" * n))
                self.assertEqual((reply.status, reply.json()["error"]), (400, "more than 64 parameters"))
            self.assertEqual(s.get("/api/ranks?x=" + "a" * 17000).status, 414)
            self.assertIn(s.get("/api/ranks?x=" + "a" * 1000000).status, (414, 431))
            self.assertIn(s.get("/", headers={"X-Long": "a" * 100000}).status, (413, 431))
            self.assertEqual(s.get("/api/ranks?" + "a=1&" * 65).status, 400)
            many = "".join("X-%d: y\r\n" % i for i in range(100000))
            self.assertNotIn(b" 200 ", s.raw(("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n" % many).encode())[:15])
            self.assertEqual(s.ask("POST", "/api/names", b"x" * 70000).status, 413)
            head = ("POST /api/names HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                    "Content-Length: 5000000\r\nExpect: 100-continue\r\n\r\n" % s.token)
            self.assertIn(b"HTTP/1.1 413", s.raw(head.encode()))  # before a byte of it was sent
            self.assertEqual(s.ask("GET", "/api/ranks", b"a body").status, 413)
            self.assertEqual(s.ask("POST", "/api/names", b"{}").status, 400)

    def test_bodies_without_a_length(self):
        with serving.Server(self.trace()) as s:
            head = ("POST /api/names HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n" % s.token).encode()
            body = json.dumps({"rank": "none", "names": [1]}).encode()
            chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1]) for i in range(len(body)))
            self.assertIn(b" 404 ", s.raw(head + chunks + b"0\r\n\r\n").split(b"\r\n")[0])
            endless = b"%x\r\n%s\r\n" % (50000, b"x" * 50000)
            self.assertNotIn(b" 200 ", s.raw(head + endless * 100))
            self.assertEqual(s.get("/", token=None).status, 200)

    def test_nonsense(self):
        """Whatever comes, nobody else notices, and nothing but an error goes back."""
        good = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with serving.Server(self.trace()) as s:
            asks = [b"\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"GET /\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
                    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
                    b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9,
                    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
                    b"POST /api/names HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\nzz",
                    b"GET " + b"/" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"A" * 200000]
            for ask in asks:
                s.raw(ask, wait=False)
                with s.connect() as c:
                    c.sendall(ask)
                    self.assertEqual(s.get("/", token=None).status, 200)
            draw = random.Random(1)
            for _ in range(1000):
                ask = bytearray(good)
                for _ in range(draw.randrange(1, 6)):
                    ask[draw.randrange(len(ask))] = draw.randrange(256)
                s.raw(bytes(ask[:draw.randrange(len(ask) + 1)]), wait=False)
            self.assertEqual(s.get("/", token=None).status, 200)
            self.assertEqual(s.stop(), 0)


if __name__ == "__main__":
    serving.main()
