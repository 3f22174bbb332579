#!/usr/bin/env python3
"""Files that a client sends: opened like those that lie here, private, below a bound, and gone in the end."""
import glob
import os
import signal
import stat

import serving


class Upload(serving.Case):
    def setUp(self):
        super().setUp()
        self.tmp = self.path("tmp")
        os.makedirs(self.tmp)

    def server(self, *args):
        return serving.Server(self.trace(), args=args, env=dict(os.environ, TMPDIR=self.tmp))

    def sent(self, n=50):
        with open(serving.trace(self.path("more.json"), n=n, rank=7), "rb") as f:
            return f.read()

    def left(self):
        return glob.glob(self.tmp + "/**", recursive=True)[1:]

    def test_it_opens_is_private_and_goes_when_it_is_closed(self):
        with self.server() as s:
            s.wait_for(["ready"])
            reply = s.ask("POST", "/api/upload?name=../../a%20b/rank7.json", body=self.sent())
            self.assertEqual((reply.status, reply.json()), (200, {"cluster": 1}), reply)
            s.wait_for(["ready"], 2)
            self.assertEqual([r["rank"] for r in s.ranks() if r["cluster"] == 1], [7])
            folder, file = sorted(self.left())
            self.assertEqual(os.path.basename(file), "rank7.json")
            self.assertEqual([stat.S_IMODE(os.stat(p).st_mode) for p in (folder, file)], [0o700, 0o600])
            self.assertEqual(s.post("/api/close", {"cluster": 1}).status, 200)
            self.assertEqual(self.left(), [])

    def test_what_cannot_be_removed_at_the_end_is_told(self):
        with self.server() as s:
            self.assertEqual(s.ask("POST", "/api/upload?name=rank7.json", body=self.sent()).status, 200)
            s.wait_for(["ready"], 2)
            folder, _ = sorted(self.left())
            os.makedirs(os.path.join(folder, "in the way"))
            self.assertEqual(s.stop(), 1)
            self.assertIn(folder, s.messages())

    def test_what_is_refused_leaves_nothing(self):
        with self.server("--memory", "4MB") as s:
            s.wait_for(["ready"])
            for address, body, headers, status in [
                    ("/api/upload?name=a.json", b"", {}, 400),
                    ("/api/upload", self.sent(), {}, 400),
                    ("/api/upload?name=a.json", b"no profile\n" * 50, {}, 409),
                    ("/api/upload?name=a.json", b" " * (5 << 20), {}, 413),
                    ("/api/upload?name=a.json", self.sent(), {"Origin": "http://elsewhere"}, 403)]:
                try:
                    reply = s.ask("POST", address, body=body, headers=headers)
                except (BrokenPipeError, ConnectionResetError):
                    continue  # it had hung up before all of it was sent
                self.assertEqual(reply.status, status, (address, reply))
                self.assertNotIn(self.tmp, reply.json()["error"])
            self.assertEqual(s.ask("POST", "/api/upload?name=a.json", body=self.sent(), token=None).status, 403)
            self.assertEqual(self.left(), [])

    def test_a_name_of_dots_is_none_of_a_folder(self):
        with self.server() as s:
            s.wait_for(["ready"])
            self.assertEqual(s.ask("POST", "/api/upload?name=..", body=self.sent()).status, 200)
            self.assertEqual([os.path.basename(p) for p in sorted(self.left())][1:], ["_."])

    def test_it_goes_with_the_server_whatever_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.server() as s:
                s.wait_for(["ready"])
                self.assertEqual(s.ask("POST", "/api/upload?name=a.json", body=self.sent(20000)).status, 200)
                self.assertNotEqual(self.left(), [])
                s.process.send_signal(number)
                s.process.wait(serving.PATIENCE)
                self.assertEqual(self.left(), [], number)


if __name__ == "__main__":
    serving.main()
