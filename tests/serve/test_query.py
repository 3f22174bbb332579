#!/usr/bin/env python3
"""/api/query and /api/schema: the rows of the command, only of ranks that the query leaves; hostile queries end with a status and a sentence,
and leave nothing."""
import contextlib
import json
import os
import sqlite3
import subprocess
import urllib.parse

import serving

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
KEPT = 100000  # rows of a query
AUTO = 16  # ranks that are read unasked


def address(sql, **params):
    return "/api/query?" + urllib.parse.urlencode({"sql": sql, **params})


class Queries(serving.Case):
    def many(self, n_ranks):
        os.mkdir(self.path("job"))
        for i in range(n_ranks):
            serving.trace(self.path("job", "rank%d.json" % i), rank=i)
        return self.path("job")

    def rows(self, s, sql, **params):
        reply = s.get(address(sql, **params))
        self.assertEqual(reply.status, 200, reply)
        return reply.json()

    def command(self, path, sql):
        out = subprocess.run([serving.PROGRAM, "query", path, sql, "--as", "json"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=False)
        self.assertIn(out.returncode, (0, 3, 4), out.stderr)
        # In pairs: names of columns may be alike.
        return [[value for _, value in row] for row in json.loads(out.stdout, object_pairs_hook=list)] if out.returncode != 3 else None

    def test_every_example_as_the_command(self):
        path = os.path.join(serving.ROOT, "tests", "data", "torch_pipeline", "dualpipev")
        with serving.Server(path) as s:
            s.wait_for(["ready"])
            tables = s.get("/api/schema").json()["tables"]
            self.assertGreater(len(tables), 100)
            n_same = 0
            for table in tables[:13] + tables[13::5]:
                expected = self.command(path, table["example"])
                reply = s.get(address(table["example"], limit=5000))
                if expected is None:
                    self.assertEqual(reply.status, 409, reply)
                    continue
                self.assertEqual(reply.status, 200, reply)
                got = reply.json()
                rows = [[int(c) if isinstance(c, str) and column[1] == "int" else c for column, c in zip(got["columns"], row)]
                        for row in got["rows"]]
                self.assertEqual(rows, expected, table["name"])
                n_same += 1
            self.assertGreater(n_same, 12)

    def captures(self):
        """An Ascend database, text of Ascend, PyTorch, a job of four ranks."""
        data = os.path.join(serving.ROOT, "tests", "data")
        with open(os.path.join(data, "ascend_db", "pytorch.sql"), encoding="utf-8") as file:
            with contextlib.closing(sqlite3.connect(self.path("ascend_pytorch_profiler_0.db"))) as db:
                db.executescript(file.read())
        return [self.path("ascend_pytorch_profiler_0.db"), os.path.join(data, "ascend_text", "rank3_ascend_pt"),
                os.path.join(data, "cookbook"), os.path.join(data, "ndtimeline", "two-by-two.json")]

    def test_ranks_in_memory_say_what_files_say(self):
        for path in self.captures():
            with serving.Server(path) as s:
                s.wait_for(["ready"])
                for table in s.get("/api/schema").json()["tables"][:13]:
                    sql = "SELECT * FROM " + table["name"]
                    expected = self.command(path, sql)
                    reply = s.get(address(sql, format="records"))
                    if expected is None:
                        self.assertEqual(reply.status, 409, reply)
                        continue
                    self.assertEqual(reply.status, 200, reply)
                    rows = [[value for _, value in row] for row in json.loads(reply.body, object_pairs_hook=list)]
                    # A column whose values differ in type is text here.
                    self.assertEqual([list(map(str, row)) for row in rows], [list(map(str, row)) for row in expected],
                                     (path, table["name"]))

    def test_columns_say_what_they_hold(self):
        with serving.Server(self.trace(rank=3)) as s:
            s.wait_for(["ready"])
            got = self.rows(s, "SELECT rank, id AS which, start_ns, dur_ns, sum(dur_ns) OVER () AS all_ns, name FROM (SELECT * FROM slice)")
            self.assertEqual(got["columns"], [["rank", "int", "", False], ["which", "int", "", False, "slice"], ["start_ns", "int", "ns", True],
                                              ["dur_ns", "int", "ns", False], ["all_ns", "int", "ns", False], ["name", "text", "", False]])
            self.assertEqual(got["rows"][1], [3, 1, 10000, 8000, 400000, "op1"])
            self.assertEqual((got["n_rows"], got["total"], got["notes"]), (50, 50, []))
            self.assertGreater(got["elapsed_ns"], 0)
            rank = s.ranks()[0]
            self.assertEqual((rank["cluster"], rank["profile"], rank["rank"]), (0, 0, 3))

    def test_pages_order_and_files(self):
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            sql = "SELECT id, name FROM slice"
            page = self.rows(s, sql, sort="name", desc=1, offset=2, limit=2)
            self.assertEqual((page["total"], page["rows"]), (50, [[20, "op6"], [27, "op6"]]))
            self.assertEqual(self.rows(s, sql, filter='{"name":"op6"}')["total"], 7)
            reply = s.get(address(sql + " LIMIT 1", format="csv"))
            self.assertEqual((reply.status, reply.body), (200, b"id,name\r\n0,op0\r\n"))
            self.assertEqual(s.get(address(sql, sort="nope")).status, 400)

    def test_ranks_that_are_excluded_are_not_read(self):
        with serving.Server(self.many(20)) as s:
            s.wait_for(["ready"], AUTO)
            for i in range(AUTO, 20):
                if i != 17:
                    with open(self.path("job", "rank%d.json" % i), "w", encoding="utf-8") as file:
                        file.write("[broken")
            got = self.rows(s, "SELECT rank, count(*) AS n FROM slice WHERE rank IN (3, 17) GROUP BY rank")
            self.assertEqual((got["rows"], got["notes"]), ([[3, 50], [17, 50]], []))
            got = self.rows(s, "SELECT rank, count(*) AS n FROM slice GROUP BY rank")
            self.assertEqual([note.split(":")[0] for note in got["notes"]], ["rank 16", "rank 18", "rank 19"])
            self.assertEqual([row[0] for row in got["rows"]], [*range(AUTO), 17])
            # Read for the query: that one looked at them is no reason to keep them.
            self.assertEqual([r["state"] for r in s.ranks()].count("waiting"), 4)

    def test_ranks_in_memory_are_not_read_again(self):
        with serving.Server(self.many(2)) as s:
            s.wait_for(["ready"])
            for i in range(2):
                os.unlink(self.path("job", "rank%d.json" % i))
            got = self.rows(s, "SELECT rank, count(*) AS n, count(DISTINCT key) AS k FROM slice JOIN meta USING (rank) GROUP BY rank")
            self.assertEqual([row[0] for row in got["rows"]], [0, 1])
            self.assertEqual(got["notes"], [])

    def test_what_is_wrong_has_its_place(self):
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            reply = s.get(address("SELECT name,\n  nme FROM slice"))
            self.assertEqual(reply.status, 400)
            self.assertEqual(reply.json(), {"error": "no such column: nme", "line": 2, "byte": 15})
            self.assertEqual(s.get("/api/query").status, 400)
            self.assertEqual(s.get(address("SELECT 1", cluster=7)).status, 404)
            self.assertEqual(s.get(address("SELECT 1", timeout=0)).status, 400)
            self.assertEqual(s.get(address("SELECT 1 -- " + "x" * 17000)).status, 414)
            self.assertEqual(s.get(address("SELECT 1", tp="x")).status, 400)
            self.assertEqual(s.get(address("SELECT * FROM op")).status, 409)
            self.assertEqual(s.get(address("SELECT 1"), token=None).status, 403)
            self.assertEqual(s.get(address("SELECT 1"), headers={"Origin": "http://elsewhere.example"}).status, 403)
            self.assertEqual(s.get(address("SELECT 1"), headers={"Host": "elsewhere.example"}).status, 403)
            self.assertEqual(s.post("/api/query", {"sql": "SELECT 1"}).status, 405)

    def test_hostile_queries(self):
        new = self.path("new.db")
        before = set(os.listdir(self.folder)) | {"trace.json"}
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            for status, sql, words, timeout in [
                    (503, ENDLESS + " SELECT count(*) FROM c", "was ended after 1 s", 1),
                    (507, ENDLESS + " SELECT x, hex(zeroblob(20000)) FROM c ORDER BY x", "more memory than it may have", 600),
                    (507, ENDLESS + " SELECT hex(zeroblob(1000000)) FROM c", "more memory than it may have", 600),
                    (507, ENDLESS + " SELECT group_concat(hex(zeroblob(20000000))) OVER () FROM c", "more memory than it may have", 600),
                    (503, "SELECT count(*) FROM slice a, slice b, slice c, slice d, slice e, slice f", "was ended after 1 s", 1),
                    (400, "SELECT zeroblob(1000000000)", "too big", 60),
                    (400, "SELECT load_extension('/tmp/x.so')", "only SELECT is allowed", 60),
                    (400, "ATTACH '%s' AS new" % new, "only SELECT is allowed", 60),
                    (400, "VACUUM INTO '%s'" % new, "only SELECT is allowed", 60),
                    (400, "PRAGMA writable_schema = ON", "only SELECT is allowed", 60),
                    (400, "SELECT * FROM pragma_database_list", "only SELECT is allowed", 60),
                    (400, "CREATE TABLE t AS SELECT * FROM slice", "only SELECT is allowed", 60),
                    (400, "INSERT INTO slice VALUES (1)", "", 60),
                    (400, "DELETE FROM slice", "", 60),
                    (400, "EXPLAIN SELECT 1", "only SELECT is allowed", 60),
                    (400, "SELECT writefile('%s', 'x')" % new, "no such function", 60),
                    (400, "SELECT 1; SELECT 2", "one statement at a time", 60),
                    (400, "SELECT ?", "stands for a value", 60),
                    (400, "", "the query is empty", 60),
                    (400, "SELECT 1" + "+1" * 1500, "Expression tree is too large", 60),
                    (400, "SELECT " + "(" * 5000, "stack overflow", 60)]:
                reply = s.get(address(sql, timeout=timeout))
                self.assertEqual(reply.status, status, (sql[:80], reply))
                self.assertIn(words, reply.json()["error"], sql[:80])
            for sql, words in [("SELECT nme FROM slice", "没有列 nme"), ("SELECT 1; SELECT 2", "一次只能运行一条语句：此处有另一条"),
                               ("SELECT * FROM nowhere", "没有表 nowhere（"), ("EXPLAIN SELECT 1", "只允许 SELECT"), ("", "查询为空")]:
                reply = s.get(address(sql, lang="zh"))
                self.assertEqual(reply.status, 400, reply)
                self.assertIn(words, reply.json()["error"])
            # What was refused left the server as it was.
            self.assertEqual(self.rows(s, "SELECT count(*) FROM slice")["rows"], [[50]])
            self.assertEqual([r["state"] for r in s.ranks()], ["ready"])
        self.assertEqual(set(os.listdir(self.folder)), before)

    def test_rows_beyond_those_that_are_kept_are_counted(self):
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            got = self.rows(s, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) SELECT x FROM c" % (KEPT + 7))
            self.assertEqual((got["total"], got["n_rows"], len(got["rows"])), (KEPT, KEPT + 7, 100))

    def test_who_hangs_up_ends_the_query(self):
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            request = "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (
                address(ENDLESS + " SELECT count(*) FROM c", timeout=600), s.token)
            for _ in range(3):
                with s.connect() as c:
                    c.sendall(request.encode())
            # It would wait for its turn for ten minutes, and is told so after seconds.
            reply = s.get(address("SELECT 1 AS one"))
            self.assertEqual((reply.status, reply.json().get("rows")), (200, [[1]]))

    def test_the_end_of_the_server_ends_it(self):
        with serving.Server(self.trace()) as s:
            s.wait_for(["ready"])
            with s.connect() as c:
                c.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (
                    address(ENDLESS + " SELECT count(*) FROM c", timeout=600), s.token)).encode())
                self.assertEqual(s.stop(), 0)

    def test_the_schema(self):
        with serving.Server(self.trace()) as s:
            reply = s.get("/api/schema").json()
            slices = next(t for t in reply["tables"] if t["name"] == "slice")
            self.assertEqual((slices["set"], slices["columns"][1]), ("traces", ["id", "integer", "", "number of the slice in its rank, by start"]))
            self.assertEqual(slices["columns"][6][:3], ["start_ns", "integer", "ns since 1970"])
            view = next(t for t in reply["tables"] if t["name"] == "device_sum")
            self.assertEqual((view["set"], view["columns"][0][0]), ("views", "rank"))
            self.assertIn("SELECT", reply["words"])
            self.assertIn("percentile(x, p)", [f[0] for f in reply["functions"]])
            listed = subprocess.run([serving.PROGRAM, "query", "--schema"], stdout=subprocess.PIPE, check=True).stdout.decode()
            for table in reply["tables"]:
                self.assertIn("# %s\n" % table["name"], listed)
                self.assertIn(table["example"], listed)


if __name__ == "__main__":
    serving.main()
