import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import { curvesOf } from "../src/pages/memory_model";

test("what a curve said last holds to the end of all curves, and nothing is said before its first value", () => {
  const names = ["series", "owner", "what", "device", "time", "value"];
  const table: Table = {
    name: "memory_curve",
    title: "",
    total: 4,
    offset: 0,
    columns: names.map((name) => [name, name === "owner" ? "text" : "int", "", false]),
    rows: [
      [0, "PTA", "allocated", 0, 10, 5],
      [0, "PTA", "allocated", 0, 20, 7],
      [1, "GE", "allocated", 0, 15, 1],
      [1, "GE", "allocated", 0, 40, 2],
    ],
  };
  const { x, lines } = curvesOf(table);
  assert.deepEqual(x, [10, 15, 20, 40]);
  assert.deepEqual(lines[0].values, [5, 5, 7, 7]);
  assert.deepEqual(lines[1].values, [null, 1, 1, 2]);
});
