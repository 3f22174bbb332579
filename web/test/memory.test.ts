import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import { curvesOf, heldLines, peakAbout } from "../src/pages/memory_model";
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

test("a click means the highest point near it, and what is held is said beside the curve", () => {
  const values = [1, 9, 4, 7];
  const line = { name: "", owner: "", what: "allocated", values };
  const other = { ...line, what: "reserved", values: [20, 20, 30, 20] };
  assert.equal(peakAbout({ x: [10, 20, 30, 40], lines: [other, line] }, 2, 3), 40);
  assert.equal(peakAbout({ x: [10, 20, 30, 40], lines: [line] }, 0, 3), 20);
  const names = ["owner", "device", "time", "number", "held", "allocated", "unexplained"];
  const held = (rest: number | null): Table => ({
    ...{ name: "memory_held", title: "", total: 1, offset: 0 },
    columns: names.map((name) => [name, "int", "", false]),
    rows: [["operators", 0, 2e6, 3, 2 ** 30, rest === null ? null : 2 ** 30 + rest, rest]],
  });
  const [sum] = heldLines(held(null), null);
  assert.equal(sum, "operators at 2.000 ms: 1024 MiB in 3 allocations of the operators below.");
  assert.match(heldLines(held(0), null)[0], /at the peak, 2.000 ms.* all that the curve says/);
  assert.match(heldLines(held(2 ** 20), 5)[0], /at 2.000 ms.*other 1.00 MiB are unknown/);
  assert.match(heldLines(held(-(2 ** 20)), 5)[0], /1.00 MiB less/);
});
