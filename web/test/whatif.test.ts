import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cell, Table } from "../src/api/types";
import { rangeOf } from "../src/panels/chart_heat";
import {
  causesOf,
  factorsOf,
  partsOf,
  slowdownEnds,
  stepsOf,
  toggled,
  workerPart,
  type Worker,
} from "../src/pages/whatif_model";

const tableOf = (columns: [string, string][], rows: Cell[][]): Table => ({
  name: "t",
  title: "",
  total: rows.length,
  offset: 0,
  columns: columns.map(([name, unit]) => [name, "int", unit, false]),
  rows,
});

const WORKER: Worker = { rank: 7, stage: 1, replica: 3, tp: 1, slowdown: 1, isWorst: false };

test("a question is a list of parts: a click adds one or takes it back", () => {
  assert.deepEqual(partsOf(" worker=2,0; ;kind=gc "), ["worker=2,0", "kind=gc"]);
  assert.equal(toggled("", "stage=2"), "stage=2");
  assert.equal(toggled("stage=2", "worker=2,1"), "stage=2;worker=2,1");
  assert.equal(toggled("stage=2; worker=2,1", "stage=2"), "worker=2,1");
  assert.equal(workerPart(WORKER, 1), "worker=1,3");
  assert.equal(workerPart(WORKER, 2), "rank=7", "a stage of a replica has two workers");
});

test("the map's scale begins at as usual, and noise has no strong colour", () => {
  const worker = (slowdown: number): Worker => ({ ...WORKER, slowdown });
  assert.deepEqual(slowdownEnds([worker(0.99), worker(1.24), worker(1.02)]), [1, 1.24]);
  assert.deepEqual(slowdownEnds([worker(0.997), worker(1.002)]), [1, 1.01]);
  const cells = [0.99, 1.24].map((value, row) => ({ row, column: 0, value }));
  assert.deepEqual(rangeOf({ cells }), [0.99, 1.24]);
  assert.deepEqual(rangeOf({ cells, ends: [1, 1.24] }), [1, 1.24]);
});

test("the parts of a step add up to what was measured, and none is negative", () => {
  const steps = tableOf(
    [
      ["step", ""],
      ["measured", "ns"],
      ["no_delay", "ns"],
      ["ideal", "ns"],
    ],
    [
      [1, 100, 90, 70],
      [2, 100, 80, 85], // kinds that differ by stage: all alike the step is longer
      [3, 75, 80, 60], // a replay longer than the measurement
    ],
  );
  const parts = stepsOf(steps);
  assert.deepEqual(parts[0], { step: "1", ideal: 70, slower: 20, between: 10 });
  assert.deepEqual(parts[1], { step: "2", ideal: 80, slower: 0, between: 20 });
  assert.deepEqual(parts[2], { step: "3", ideal: 60, slower: 20, between: 0 });
});

test("the stages of a plan as factors of those measured", () => {
  const stages = tableOf(
    [
      ["stage", ""],
      ["microbatch now", "ns"],
      ["microbatch planned", "ns"],
    ],
    [
      [0, 30, 34],
      [1, 30, 30],
      [2, 40, 30],
      [3, 0, 0],
    ],
  );
  assert.deepEqual(factorsOf(stages), { 0: 1.1333, 2: 0.75 });
});

test("what is not known of a cause is no figure", () => {
  const causes = tableOf(
    ["cause", "holds", "figure", "threshold", "evidence", "remedy"].map((name) => [name, ""]),
    [["links", "unknown", null, 0.5, "no transfers are recorded as ops", "look"]],
  );
  assert.equal(causesOf(causes)[0].figure, null);
  assert.equal(causesOf(causes)[0].holds, "unknown");
});
