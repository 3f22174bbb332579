#!/usr/bin/env python3
"""Columns in pyarrow, pandas, polars and DuckDB: the same values, and numbers without a copy. Skipped by name where they cannot be had."""
import gc
import os
import re

import recording

if __name__ == "__main__":
    recording.go_on_in_frames_python()

import duckdb
import numpy
import pandas
import polars
import pyarrow

import pipescope

DUALPIPE = os.path.join(recording.ROOT, "tests", "data", "kineto_dualpipe", "rank-3.json")
HOLES = ("WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < 20) SELECT x, CASE WHEN x % 3 THEN 1736410576099964056 + x END AS i, "
         "CASE WHEN x % 3 THEN x / 2.0 END AS r, CASE WHEN x % 3 THEN 't' || x END AS t FROM c")


class Frames(recording.Case):
    def setUp(self):
        super().setUp()
        self.capture = pipescope.open(DUALPIPE)
        self.addCleanup(self.capture.close)
        self.slices = self.capture.table("slice")
        self.holes = self.capture.sql(HOLES)

    def test_arrow(self):
        table = pyarrow.table(self.slices)
        table.validate(full=True)
        self.assertEqual([tuple(row.values()) for row in table.to_pylist()], self.slices.rows())
        self.assertEqual(table.schema.field("start_ns").metadata, {b"unit": b"ns since 1970"})
        self.assertEqual(self.slices.to_arrow(), table)
        for field in self.slices.schema:
            column, = table.column(field.name).chunks
            self.assertEqual(column.buffers()[1].address, self.slices.address(field.name), field)
        holes = pyarrow.table(self.holes)
        holes.validate(full=True)
        self.assertEqual([tuple(row.values()) for row in holes.to_pylist()], self.holes.rows())

    def test_pandas_without_a_copy(self):
        frame = self.slices.to_pandas()
        self.assertEqual(frame.shape, self.slices.shape)
        self.assertEqual(list(frame.columns), self.slices.columns)
        self.assertEqual(frame.attrs["units"], self.slices.units)
        n_shared = 0
        for field in self.slices.schema:
            values = frame[field.name]
            if field.type == "text":
                self.assertEqual([None if pandas.isna(v) else v for v in values], self.slices[field.name], field)
                continue
            self.assertEqual([None if pandas.isna(v) else v for v in values], self.slices[field.name], field)
            inner = values.array._data if values.isna().any() else values.to_numpy()
            self.assertEqual(inner.__array_interface__["data"][0], self.slices.address(field.name), field)
            n_shared += 1
        self.assertGreaterEqual(n_shared, 9)
        self.assertEqual(frame.groupby("name")["dur_ns"].sum().to_dict(),
                         dict(self.capture.sql("SELECT name, sum(dur_ns) FROM slice GROUP BY name").rows()))

    def test_pandas_holes(self):
        frame = self.holes.to_pandas()
        self.assertEqual([str(t) for t in frame.dtypes][:3], ["int64", "Int64", "float64"])
        for name in "xirt":
            self.assertEqual([None if pandas.isna(v) else v for v in frame[name]], self.holes[name])
        self.assertEqual(frame["r"].to_numpy().__array_interface__["data"][0], self.holes.address("r"))
        self.assertEqual(len(self.capture.sql("SELECT name, dur_ns FROM slice WHERE 0").to_pandas()), 0)

    def test_numpy(self):
        lengths = self.slices.numpy("dur_ns")
        self.assertEqual((lengths.dtype, lengths.shape, lengths.flags.writeable), (numpy.int64, (len(self.slices),), False))
        self.assertEqual(lengths.ctypes.data, self.slices.address("dur_ns"))
        self.assertEqual(int(lengths.sum()), self.capture.sql("SELECT sum(dur_ns) FROM slice").scalar())
        self.assertEqual(list(self.slices.numpy("name")), self.slices["name"])

    def test_polars(self):
        frame = polars.DataFrame(self.slices)
        self.assertEqual(frame.rows(), self.slices.rows())
        self.assertEqual(polars.DataFrame(self.holes).rows(), self.holes.rows())

    def test_duckdb(self):
        slices = self.slices  # noqa: F841  (the query names it)
        sql = "SELECT kind, count(*), CAST(sum(dur_ns) AS BIGINT) FROM slice%s GROUP BY kind ORDER BY kind"
        self.assertEqual(duckdb.sql(sql % "s").fetchall(), self.capture.sql((sql % "").replace("BIGINT", "INTEGER")).rows())

    def test_values_outlive_all_else(self):
        table, frame, lengths = self.slices.to_arrow(), self.slices.to_pandas(), self.slices.numpy("dur_ns")
        total = self.capture.sql("SELECT sum(dur_ns) FROM slice").scalar()
        self.slices = None
        self.capture.close()
        gc.collect()
        self.assertEqual([table["dur_ns"].to_numpy().sum(), frame["dur_ns"].sum(), lengths.sum()], [total] * 3)

    def test_page(self):
        """What docs/python.md shows runs as it stands there."""
        with open(os.path.join(recording.ROOT, "docs", "python.md"), encoding="utf-8") as page:
            blocks = re.findall(r"```python\n(.*?)```", page.read(), re.S)
        self.assertEqual(len(blocks), 3)
        names = {}
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for block in blocks:
            exec(block.replace("/runs/job7", os.path.join(recording.ROOT, "tests", "data", "torch_pipeline", "gpipe")), names)
        self.assertTrue(os.path.exists("step3.html"))
        names["capture"].close()

    def test_studies(self):
        findings = self.capture.report().findings
        self.assertEqual(list(findings.to_pandas()["title"]), findings["title"])
        self.assertEqual(polars.DataFrame(findings).rows(), findings.rows())


if __name__ == "__main__":
    recording.main()
