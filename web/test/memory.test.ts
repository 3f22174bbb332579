import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import { curvesOf } from "../src/pages/memory_model";
import { language } from "../src/words";

test("curves are named in the language of the page", () => {
  const row = (owner: string, what: string, series: number) => [series, owner, what, 0, 1, 1];
  const table: Table = {
    ...{ name: "memory_curve", title: "", total: 2, offset: 0 },
    columns: ["series", "owner", "what", "device", "time", "value"].map((n) => [
      n,
      "int",
      "",
      false,
    ]),
    rows: [row("operators", "allocated", 0), row("APP/HBM", "", 1)],
  };
  const names = () => curvesOf(table).lines.map((l) => l.name);
  assert.deepEqual(names(), ["operators allocated", "APP/HBM"]);
  language.set("zh");
  assert.deepEqual(names(), ["算子 已分配", "APP/HBM"]);
  language.set("en");
});

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
