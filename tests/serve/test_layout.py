#!/usr/bin/env python3
"""One job, one layout: commands and routes place its ranks alike, by each order of ranks."""
import glob
import json
import os
import sqlite3
import subprocess

import serving

TP, DP, PP = 2, 3, 2  # three different strides, whatever the order
STRIDES = {  # tp, dp, pp
    "tp-cp-ep-dp-pp": (1, 2, 6),
    "tp-cp-ep-pp-dp": (1, 4, 2),
    "mindspeed": (1, 2, 6),
    "mindie": (1, 2, 6),
    "vllm": (1, 4, 2),
}


def place(order, rank):
    tp, dp, pp = STRIDES[order]
    return rank // tp % TP, rank // dp % DP, rank // pp % PP


def pick(table, *names):
    at = [[c[0] for c in table["columns"]].index(n) for n in names]
    return [[row[i] for i in at] for row in table["rows"]]


class Layout(serving.Case):
    def run_program(self, *args):
        subprocess.run([serving.PROGRAM, *args, "--quiet"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.job = self.path("job")
        self.run_program("simulate", "1f1b", "--pp", str(PP), "--tp", str(TP), "--dp", str(DP),
                         "--microbatches", "4", "--steps", "1", "--profile", self.job)

    def commands(self, options):
        chart = self.path("chart.json")
        tables = self.path("tables")
        self.run_program("chart", self.job, *options, "-o", chart)
        self.run_program("cluster", "-m", "step_trace_time", "-d", self.job, *options, "-o", tables)
        with open(chart) as f:
            stages = {r["rank"]: (r["stage"], r["pipeline"]) for r in json.load(f)["ranks"]}
        os.remove(chart)
        path = os.path.join(tables, "cluster_analysis_output", "cluster_analysis.db")
        db = sqlite3.connect(path)
        try:
            rows = db.execute('SELECT "index", tp_index, dp_index, pp_index FROM ClusterStepTraceTime '
                              "WHERE type = 'rank'").fetchall()
        finally:
            db.close()
        os.remove(path)
        return stages, {int(r[0]): tuple(int(x) for x in r[1:]) for r in rows}

    def check(self, s, order, options, query):
        expected = {rank: place(order, rank) for rank in range(TP * DP * PP)}
        stages, table = self.commands(options)
        self.assertEqual(table, expected, order)
        self.assertEqual({r: p[0] for r, p in stages.items()}, {r: p[2] for r, p in expected.items()}, order)
        mode = s.get("/api/mode?name=step_trace_time&table=ClusterStepTraceTime" + query)
        self.assertEqual(mode.status, 200, mode)
        rows = pick(mode.json(), "type", "index", "tp_index", "dp_index", "pp_index")
        self.assertEqual({int(r[1]): tuple(r[2:]) for r in rows if r[0] == "rank"}, expected, order)
        summary = s.get("/api/summary?moe_tp=%d" % (TP * DP) + query.replace("&order=", "&algorithm="))
        self.assertEqual(summary.status, 200, summary)
        places = summary.json()["places"]
        self.assertEqual(summary.json()["world_size"], TP * DP * PP)
        self.assertEqual({p["rank"]: (p["tp"], p["dp"], p["pp"]) for p in places}, expected, order)
        self.assertEqual({p["rank"]: p["y"] for p in places}, {r: p[0] for r, p in stages.items()}, order)

    def test_sizes_that_tables_refuse_have_no_places(self):
        with serving.Server(self.job) as s:
            for query, kinds in (("pp=%d&tp=%d&dp=%d" % (2 * PP, TP, DP), ["world-size"]), ("pp=5", ["world-size"]),
                                 ("pp=%d&tp=%d&dp=%d" % (PP, TP, DP), [])):
                mode = s.get("/api/mode?name=step_trace_time&table=ClusterStepTraceTime&" + query)
                summary = s.get("/api/summary?" + query).json()
                self.assertEqual(summary["problem_kinds"], kinds, summary["problems"])
                self.assertEqual((mode.status == 200, "places" in summary), (kinds == [], kinds == []), query)

    def test_all_answers_are_one(self):
        with serving.Server(self.job) as s:
            self.check(s, "tp-cp-ep-dp-pp", [], "")
            for order in STRIDES:
                sizes = ["--tp", str(TP), "--dp", str(DP), "--pp", str(PP), "--order", order]
                self.check(s, order, sizes, "&tp=%d&dp=%d&pp=%d&order=%s" % (TP, DP, PP, order))

    def change_metadata(self, name, change):
        """change(value, rank) of each rank's database."""
        for path in glob.glob(os.path.join(self.job, "*", "ASCEND_PROFILER_OUTPUT", "*.db")):
            db = sqlite3.connect(path)
            try:
                cell = "SELECT value FROM META_DATA WHERE name = ?"
                rank = json.loads(db.execute(cell, ("distributed_args",)).fetchone()[0])["rank"]
                value = json.loads(db.execute(cell, (name,)).fetchone()[0])
                db.execute("UPDATE META_DATA SET value = ? WHERE name = ?", (json.dumps(change(value, rank)), name))
                db.commit()
            finally:
                db.close()

    def set_pipelines(self, pipeline_of):
        """pipeline_of(rank): its ranks by stage, as the group "pp" of each rank's metadata."""
        def change(groups, rank):
            ranks = pipeline_of(rank)
            for group in groups.values():
                if group["group_name"] == "pp":
                    group.update(group_rank=ranks.index(rank), global_ranks=ranks)
            return groups
        self.change_metadata("parallel_group_info", change)

    def test_pipelines_of_the_metadata_tell_the_order(self):
        """Nothing in the metadata names the order; the ranks of the own pipeline do."""
        self.set_pipelines(lambda rank: [rank // (TP * PP) * TP * PP + rank % TP + s * TP for s in range(PP)])
        with serving.Server(self.job) as s:
            self.check(s, "tp-cp-ep-pp-dp", [], "")
            self.assertEqual(s.get("/api/summary").json()["algorithm"], "megatron-pp-dp")

    def test_pipelines_in_no_order_place_nobody(self):
        """Stages backwards: the groups and the sizes contradict one another, which is said."""
        self.set_pipelines(lambda rank: [rank % (TP * DP) + s * TP * DP for s in reversed(range(PP))])
        with serving.Server(self.job) as s:
            summary = s.get("/api/summary").json()
            self.assertIn("the pipeline group of rank 0 makes it stage 1", " ".join(summary["problems"]))
            self.assertFalse(summary.get("places"))
            mode = s.get("/api/mode?name=step_trace_time&table=ClusterStepTraceTime").json()
            rows = pick(mode, "type", "index", "pp_index")
            self.assertEqual({int(r[1]): r[2] for r in rows if r[0] == "rank"},
                             {rank: 1 - rank // (TP * DP) for rank in range(TP * DP * PP)})

    def test_sizes_of_the_metadata(self):
        """A recording says no more than the size of the pipeline: the others are 1."""
        self.change_metadata("parallel_group_info", lambda groups, rank: {})
        self.change_metadata("distributed_args", lambda args, rank: {"pipeline_model_parallel_size": TP * DP * PP})
        with serving.Server(self.job) as s:
            summary = s.get("/api/summary").json()
            self.assertEqual((summary["collected"], summary["sizes"]["pp"], summary["sizes"]["tp"]), ({"pp": TP * DP * PP}, TP * DP * PP, 1))
            self.assertEqual([p["pp"] for p in summary["places"]], list(range(TP * DP * PP)))

    def test_sizes_that_do_not_make_the_job_place_nobody(self):
        self.change_metadata("distributed_args", lambda args, rank: dict(args, world_size=4 * TP * DP * PP))
        with serving.Server(self.job) as s:
            summary = s.get("/api/summary").json()
            self.assertIn("world_size is 48", " ".join(summary["problems"]))
            self.assertFalse(summary.get("places"))
            mode = s.get("/api/mode?name=step_trace_time&table=ClusterStepTraceTime").json()
            self.assertEqual({tuple(r) for r in pick(mode, "tp_index", "dp_index")}, {(None, None)})

    def test_an_order_that_is_none_is_refused_everywhere(self):
        with serving.Server(self.job) as s:
            self.assertEqual(s.get("/api/mode?name=step_trace_time&order=dp-tp").status, 400)
            self.assertEqual(s.get("/api/summary?algorithm=dp-tp").status, 400)
            reply = s.post("/api/simulate", {"schedule": "1f1b", "from": {"order": "dp-tp"}})
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("order", str(reply.json()["error"]))

    def test_a_simulation_speaks_the_language_of_whoever_asks(self):
        with serving.Server(self.job) as s:
            said = [s.post("/api/simulate?lang=" + lang, {"schedule": "dualpipev", "stages": 4, "microbatches": 8}).json()["chart"]["numbers"]
                    for lang in ("en", "zh")]
            self.assertIn("Numbers count on", said[0])
            self.assertIn("编号", said[1])


if __name__ == "__main__":
    serving.main()
