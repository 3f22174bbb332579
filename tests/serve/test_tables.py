"""Every number on a page is that of the command line: each cell of each table that a page may ask for, beside the same table of `query`, `cluster`,
`whatif` and `plan`."""
import contextlib
import glob
import json
import os
import re
import sqlite3
import subprocess
import unittest
from decimal import Decimal
from urllib.parse import urlencode

import serving

SHARED = os.environ.get("PIPESCOPE_SHARED_DATA") or os.path.join(serving.ROOT, "..", "shared", "data")
MOST = 5000  # rows of one reply
OF_LOADED = ("path", "ranks loaded", "start time", "collected for")
# Links that no matrix of ranks has a place for: a note of the command counts them, and the capture has them (test_links_of_unknown_ranks).
SERVED_ALONE = ("LinksOfUnknownRanks",)
# Tables of whatif of which the command has all columns, by the name that they have there.
WHATIF_LISTS = {"whatif_workers": "slowdown_by_worker", "whatif_causes": "causes", "whatif_repairs": "repairs"}
# Of the others its slowdowns; the rest is asked part by part: what a question about it calls it.
WHATIF_PARTS = {"whatif_kinds": ("kind", "slowdown_by_kind", "kind=%s"), "whatif_stages": ("stage", "slowdown_by_stage", "stage=%s"),
                "whatif_replicas": ("replica", "slowdown_by_dp", "replica=%s")}
RELATIVE = 1e-9  # files have 17 digits, so that only the last of them may differ


def parsed(text):
    return json.loads(text, parse_float=Decimal)


def command(*args, may_fail=False):
    done = subprocess.run([serving.PROGRAM, *args], capture_output=True, check=False)
    if done.returncode not in (0, 4) and not may_fail:
        raise AssertionError("%s: %d %s" % (args, done.returncode, done.stderr.decode(errors="replace")[-400:]))
    return done.stdout.decode() if done.returncode in (0, 4) else None


def plain(text):
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("%", "percent").replace("/s", "pers"))


def spelled(columns, other):
    """Columns of the page as the command spells them, with the unit or without; None: it has none."""
    known = {plain(name): name for name in other}
    return [next((known[p] for p in (plain(c[0]), plain(c[0] + c[2])) if p in known), None) for c in columns]


def alike(page, other):
    if page == other:
        return True
    try:
        a, b = Decimal(page), Decimal(other)
    except (TypeError, ArithmeticError, ValueError):
        return False
    return abs(a - b) <= Decimal(RELATIVE) * max(abs(a), abs(b))


class Tables(serving.Case):
    def differences(self, name, page, other):
        """`page`: a table; `other`: rows as objects. All columns of the page must be there, but for the server's own key of a rank."""
        if len(page["rows"]) != len(other):
            return ["%s: %d rows on the page, %d of the command" % (name, len(page["rows"]), len(other))]
        names = spelled(page["columns"], other[0]) if other else []
        found = []
        for column, at in zip(page["columns"], names):
            if at is None and column[0] != "key":
                found.append("%s: the command has no %s, but %s" % (name, column[0], sorted(other[0])))
        for n, (one, two) in enumerate(zip(page["rows"], other)):
            for column, at, value in zip(page["columns"], names, one):
                if at is not None and at != "key" and not alike(value, two[at]):
                    found.append("%s: row %d: %s is %s on the page, %s of the command" % (name, n, column[0], value, two[at]))
        return found[:5]

    def rows_of(self, reply):
        return [dict(zip([column[0] for column in reply["columns"]], row)) for row in reply["rows"]]

    def picked(self, reply, columns, sort):
        """Some columns of a table, in another order."""
        at = [[c[0] for c in reply["columns"]].index(name) for name in columns]
        rows = [[row[i] for i in at] for row in reply["rows"]]
        by = [columns.index(name) for name in sort]
        return {"columns": [reply["columns"][i][:2] + ["", False] for i in at], "rows": sorted(rows, key=lambda row: [row[i] for i in by])}

    def all_of(self, s, address, **params):
        """The whole table of the page; None where it says that there is nothing."""
        found = None
        while found is None or len(found["rows"]) < found["total"]:
            at = 0 if found is None else len(found["rows"])
            reply = s.get("%s?%s" % (address, urlencode({**params, "limit": MOST, "offset": at})))
            if reply.status == 409:
                return None
            self.assertEqual(reply.status, 200, "%s %s: %s" % (address, params, reply))
            table = parsed(reply.body)
            if found is None:
                found = table
            else:
                found["rows"] += table["rows"]
        return found

    def query(self, path, sql):
        text = command("query", path, sql, "--as", "json", "--quiet", may_fail=True)
        return None if text is None else parsed(text)

    # --- views: those of a rank, those of all --------------------------------------------------------------------------------

    def check_view(self, s, path, view, epoch, rank=None):
        asked = {"name": view["name"], **({"rank": rank["key"]} if rank else {}), **({"lang": "en"} if "lang" in view["params"] else {})}
        page = self.all_of(s, "/api/view", **asked)
        where = "" if rank is None else " WHERE rank = %d" % rank["rank"]
        other = self.query(path, 'SELECT * FROM "%s"%s' % (view["name"], where))
        if page is None or other is None:
            return [] if not page and not other else ["%s: %s" % (view["name"], "not on the page" if page is None else "only on the page")]
        moments = epoch.get(view["name"], set())
        for i, name in enumerate(spelled(page["columns"], other[0]) if other and rank else []):
            for row in page["rows"] if name in moments else []:
                row[i] = None if row[i] is None else row[i] + int(rank["origin_ns"])
        if view["name"] == "base_info":  # what only ranks in memory tell, and the path as it was given
            page["rows"], other = ([row for row in rows if list(row if isinstance(row, list) else row.values())[0] not in OF_LOADED]
                                   for rows in (page["rows"], other))
        self.seen.append(view["name"])
        if view["name"] in ("kernel_details", "operator_details") and other and rank["format"] == "ascend-db":
            self.add_measured(path, rank, page, other)
        return self.differences(view["name"], page, other)

    def add_measured(self, path, rank, page, other):
        """What the profiler measured of kernels has a column on the page, and no table of the command: it is compared with the file."""
        missing = [c[0] for c, at in zip(page["columns"], spelled(page["columns"], other[0])) if at is None]
        tasks = self.query(path, "SELECT slice, value FROM arg WHERE rank = %d AND key = 'globalTaskId'" % rank["rank"])
        of_slice = {row["slice"]: row["value"] for row in tasks}
        db = sqlite3.connect("file:%s?mode=ro&immutable=1" % os.path.join(path, rank["file"]), uri=True)
        measured = {(task, name): value for task, name, value in db.execute(
            "SELECT p.globalTaskId, s.value, p.value FROM TASK_PMU_INFO p JOIN STRING_IDS s ON s.id = p.name")} if missing else {}
        db.close()
        for row in other:
            row.update({name: measured.get((of_slice.get(row["slice"]), name)) for name in missing})

    def check_views(self, s, path):
        epoch = {}
        for line in command("query", path, "--schema", "--quiet").splitlines():
            parts = line.split()
            if line.rstrip().endswith("since epoch"):
                epoch.setdefault(parts[0], set()).add(parts[1])
        faults = []
        ranks = s.ranks()
        for view in s.get("/api/views").json()["views"]:
            for rank in [None] if view["of"] == "cluster" else (ranks[0], ranks[-1]):
                faults += self.check_view(s, path, view, epoch, rank)
        return faults

    # --- modes ------------------------------------------------------------------------------------------------------------------

    def check_modes(self, s, path):
        out = self.path("out")
        command("cluster", "-m", "every", "-d", path, "-o", out, "--export_type", "json", "--quiet")
        faults = []
        modes = re.search(r"-m every .*?: (.*?)\n\n", command("modes"), re.S).group(1).split("write only to the output folder: ")[-1]
        for mode in re.findall(r"\w+", modes.split("folder:")[-1]):
            reply = s.get("/api/mode?name=%s&limit=%d" % (mode, MOST))
            folder = os.path.join(out, "cluster_analysis_output", "".join(word.capitalize() for word in mode.split("_")))
            files = [parsed(open(file, encoding="utf-8").read()) for file in sorted(glob.glob(os.path.join(folder, "*.json")))]
            if reply.status != 200:
                self.assertEqual(reply.status, 409, "%s: %s" % (mode, reply))
                faults += ["%s: only of the command" % mode] if files else []
                continue
            shown = [table["name"] for table in parsed(reply.body)["tables"]]
            faults += ["%s: several tables are called %s" % (mode, name) for name in sorted(set(shown)) if shown.count(name) > 1]
            for short in parsed(reply.body)["tables"]:
                if short["name"] in SERVED_ALONE:
                    continue
                table = self.all_of(s, "/api/mode", name=mode, table=short["name"])
                if not table["rows"]:
                    continue
                self.seen.append(short["name"])
                alikes = [file for file in files if file and None not in spelled(table["columns"], file[0])]
                # Of what has a file for each rank, or none, the database has all ranks.
                alikes = [file for file in alikes if len(file) == len(table["rows"])] or [self.query(path, 'SELECT * FROM "%s"' % short["name"]) or []]
                each = [self.differences("%s of %s" % (short["name"], mode), table, file) for file in alikes]
                faults += min(each, key=len)
        return faults

    # --- pipelines, questions ---------------------------------------------------------------------------------------------------

    def check_questions(self, s, path):
        faults = []
        reply = s.get("/api/chart?cluster=0")
        for name in ("PipelineStep", "PipelineBubble", "PipelineWaits", "PipelineReplay"):
            other = self.query(path, 'SELECT * FROM "%s"' % name)
            page = next((t for t in parsed(reply.body)["tables"] if t["name"] == name), None) if reply.status == 200 else None
            if (page is None) != (other is None):
                faults.append("%s: on one side only" % name)
            elif page is not None:
                self.seen.append(name)
                faults += self.differences(name, page, other)
                faults += self.differences(name + " alone", self.all_of(s, "/api/chart", cluster=0, table=name), other)
        reply = s.get("/api/whatif?cluster=0")
        text = command("whatif", path, "--json", may_fail=True)
        if (reply.status == 200) != (text is not None):
            faults.append("whatif: on one side only")
        elif text is not None:
            tables = {t["name"]: t for t in parsed(reply.body)["tables"]}
            self.assertEqual(set(tables), {"whatif", "whatif_steps", *WHATIF_LISTS, *WHATIF_PARTS})
            self.seen += tables
            faults += self.whatif_faults({name: self.rows_of(t) for name, t in tables.items()}, parsed(text))
            for name, key in WHATIF_LISTS.items():
                faults += self.differences(name, tables[name], parsed(text)[key])
            for name, names in WHATIF_PARTS.items():
                faults += self.part_faults(path, name, tables, parsed(text), *names)
        reply = s.get("/api/plan?cluster=0&layers=2,2,2,2")
        text = command("plan", path, "--layers", "2,2,2,2", "--json", may_fail=True)
        if (reply.status == 200) != (text is not None):
            faults.append("plan: on one side only")
        for table in parsed(reply.body)["tables"] if text is not None else []:
            self.seen.append(table["name"])
            key = re.sub("^plan_(?=.)", "", table["name"])
            if key == "list":
                faults += self.plan_list_faults(self.rows_of(table), parsed(text)["schedules"])
            else:
                faults += self.differences(table["name"], table, parsed(text)[key])
        return faults

    def plan_list_faults(self, page, file):
        """The list of plans is what the terminal shows of the schedules: fewer columns under shorter names."""
        pairs = {"no.": "number", "step": "step_ns", "gain": "gain_share_percent", "held": "layers_held", "beaten by": "beaten_by"}
        if len(page) != len(file):
            return ["plan_list: %d rows, %d of the command" % (len(page), len(file))]
        return ["plan_list: %s is %s, %s of the command" % (name, shown[name], row[key])
                for shown, row in zip(page, file) for name, key in pairs.items() if name in shown and shown[name] != row[key]]

    def whatif_faults(self, page, file):
        """The file of the command has figures by their names, the page has tables."""
        job = page["whatif"][0]
        pairs = [(name, job[page_name], file[name]) for name, page_name in
                 (("slowdown", "slowdown"), ("launch_slowdown", "launch_slowdown"), ("waste_percent", "waste"), ("M_S", "M_S"), ("M_W", "M_W"),
                  ("length_correlation", "length_correlation"))]
        for row in page["whatif_steps"]:
            step = str(row["step"])
            pairs.append(("slowdown of step " + step, row["slowdown"], file["slowdown_by_step"][step]))
            for name, column in (("step_time_measured_s", "measured"), ("step_time_no_delay_s", "no_delay"), ("step_time_ideal_s", "ideal")):
                pairs.append((name + " " + step, Decimal(row[column]) / 10**9, file[name][step]))
        return ["whatif: %s is %s on the page, %s of the command" % pair for pair in pairs if not alike(pair[1], pair[2])]

    def part_faults(self, path, name, tables, file, column, slowdowns, question):
        """Parts of the job, each beside what the command says of it and answers when it is asked what a step takes without it."""
        job = self.rows_of(tables["whatif"])[0]
        real, ideal = job["no_delay"], job["ideal"]
        rows = self.rows_of(tables[name])
        self.assertEqual([str(row[column]) for row in rows], list(file[slowdowns]), name)
        faults = []
        for row in rows:
            part = str(row[column])
            (answer,) = parsed(command("whatif", path, "--without", question % part, "--json"))["answer"]
            # Times are whole ns, of which slowdowns and shares are not made: half a ns of each is lost.
            pairs = [("slowdown", row["slowdown"], file[slowdowns][part], 0), ("without", row["without"], answer["step_ns"], 0),
                     ("alone", row["alone"], file[slowdowns][part] * ideal, 2)]
            if real - ideal > 1000:
                pairs.append(("share", row["share"], Decimal(real - answer["step_ns"]) / (real - ideal), Decimal(4) / (real - ideal)))
            faults += ["%s: %s of %s is %s on the page, %s of the command" % (name, what, part, a, b)
                       for what, a, b, room in pairs if not alike(a, b) and not (a is not None and abs(a - b) <= room)]
        return faults

    # --- slices -----------------------------------------------------------------------------------------------------------------

    def check_slices(self, s, path):
        """Events View, Slice List and search, each beside a query over slices."""
        faults = []
        rank = s.ranks()[0]
        names = {}
        for node in s.get("/api/lanes?rank=" + rank["key"]).json()["nodes"]:
            if node["lane"] < 0 or node["kind"] in ("counter", "overlap") or node["slices"] == 0:
                continue
            page = self.all_of(s, "/api/slices", rank=rank["key"], lanes=node["lane"])
            ids = ",".join(str(row["slice"]) for row in self.rows_of(page))
            other = self.query(path, "SELECT id AS slice, name, start_ns - %s AS start, dur_ns AS duration FROM slice WHERE rank = %d AND id IN (%s) "
                                     "ORDER BY start_ns, id" % (rank["origin_ns"], rank["rank"], ids))
            faults += self.differences("slices of " + node["name"], self.picked(page, ("slice", "name", "start", "duration"), ("start", "slice")), other)
            stats = self.all_of(s, "/api/stats", rank=rank["key"], lanes=node["lane"])
            other = self.query(path, 'SELECT name, sum(dur_ns) AS "wall time", max(dur_ns) AS max, min(dur_ns) AS min, count(*) AS occurrences FROM slice '
                                     "WHERE rank = %d AND id IN (%s) GROUP BY name ORDER BY name" % (rank["rank"], ids))
            faults += self.differences("sums of " + node["name"], self.picked(stats, tuple(other[0]), ("name",)), other)
            names.update({row["name"]: row["occurrences"] for row in other})
        for name in sorted(names, key=names.get)[-3:]:
            found = self.all_of(s, "/api/search/table", q=name, case=1, ranks=rank["key"])
            other = self.query(path, "SELECT id AS slice, name, dur_ns AS duration FROM slice WHERE rank = %d AND instr(name, '%s') > 0 ORDER BY id" %
                               (rank["rank"], name.replace("'", "''")))
            faults += self.differences("search for " + name, self.picked(found, ("slice", "name", "duration"), ("slice",)), other)
        tree = self.all_of(s, "/api/call_tree", rank=rank["key"], by="callers")
        faults += self.differences("call tree", tree, self.query(path, "SELECT * FROM calls WHERE rank = %d" % rank["rank"]))
        self.seen += ["slices", "stats", "search", "call_tree"]
        return faults

    def check(self, path, least):
        self.seen = []
        with serving.Server(path) as s:
            s.post("/api/load", {"all": True})
            s.wait_for(("ready",))
            faults = self.check_views(s, path) + self.check_modes(s, path) + self.check_questions(s, path) + self.check_slices(s, path)
        self.assertEqual(faults, [], "\n" + "\n".join(faults))
        self.assertGreaterEqual(len(set(self.seen)), least, sorted(set(self.seen)))

    def test_simulated_job(self):
        job = self.path("job")
        command("simulate", "1f1b", "--pp", "4", "--microbatches", "6", "--dp", "2", "--steps", "2", "--filler", "40", "--jitter", "5",
                "--slow-stage", "2:1.3", "--profile", job, "--quiet")
        self.check(job, 60)

    def test_links_of_unknown_ranks(self):
        """The only table that no file has: each row is one of the capture's, as many as the command's note counts."""
        job = self.path("job")
        command("simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--profile", job, "--quiet")
        folder = next(at for at, _, files in os.walk(job) if "ascend_pytorch_profiler_0.db" in files)
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "analysis.db"))) as db, db:
            db.execute("CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, "
                       "transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT)")
            # Of a group that nothing else tells of only the place of rank 0 is known.
            links = [("allreduce-top1", place, 4.125 * place, 2.0625 + place) for place in range(4)]
            db.executemany("INSERT INTO CommAnalyzerMatrix VALUES (?, '17', '0', ?, 'HCCS', ?, ?, 2.0, 'step1', 'collective', 'op')", links)
        note = subprocess.run([serving.PROGRAM, "cluster", "-m", "communication_matrix_sum", "-d", job, "-o", self.path("out")],
                              capture_output=True, check=False, text=True)
        self.assertIn("3 links lead to a place of a group whose global rank is not known", note.stdout + note.stderr)
        with serving.Server(job) as s:
            s.wait_for(("ready",))
            table = self.all_of(s, "/api/mode", name="communication_matrix_sum", table="LinksOfUnknownRanks")
        shown = [[row[c] for c in ("hccl_op_name", "src_rank", "src_place", "dst_rank", "dst_place", "transit_size", "transit_time")]
                 for row in self.rows_of(table)]
        self.assertEqual([row for row in shown if row[0] != "Total Op Info"],
                         [[op, 0, None, None, place, Decimal(size), Decimal(time)] for op, place, size, time in links if place > 0])
        self.assertEqual([row[1:] for row in shown if row[0] == "Total Op Info"], [])

    def test_whether_there_is_a_table(self):
        """Who asks whether an analysis makes a table of this capture is told that it does not; a table that is needed is missing."""
        job = self.path("job")
        command("simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--profile", job, "--quiet")
        with serving.Server(job) as s:
            s.wait_for(("ready",))
            for address in ("/api/mode?name=call_tree&table=CallTreeModules", "/api/chart?table=PipelineNothing"):
                self.assertEqual(s.get(address).status, 404, address)
                reply = s.get(address + "&nothing=1")
                self.assertEqual((reply.status, reply.json()["tables"]), (200, []), address)

    def test_real_databases(self):
        path = os.path.join(SHARED, "ascend", "db", "level1")
        if not os.path.exists(path):
            self.skipTest("no sample data: ascend/db/level1")
        self.check(path, 60)


if __name__ == "__main__":
    serving.main()
