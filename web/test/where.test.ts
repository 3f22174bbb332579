/** The grid of ranks: where each stands, what is known of it, whom it is joined with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import type { Entry, Values } from "../src/pages/summary_model";
import {
  cornerOf,
  differenceOf,
  DOT_PX,
  linkOffset,
  NUMBER_PX,
  dimensionsOf,
  figuresOfSteps,
  figuresOfTable,
  filterOf,
  gridFor,
  membersOf,
  metricAtFirst,
  metricOf,
  METRICS,
  placeAt,
  unplaced,
  worstStep,
  type Spot,
} from "../src/pages/where_model";

const spot = (rank: number, place: Partial<Spot>): Spot => ({
  rank: String(rank),
  key: `key ${rank}`,
  pp: 0,
  dp: 0,
  cp: 0,
  tp: 0,
  ep: 0,
  ...place,
});

const NONE: Values = {
  computing: null,
  communication: null,
  pure_computing: null,
  overlapped: null,
  exposed: null,
  free: null,
  preparing: null,
  step_time: null,
  after: null,
  exposed_no_receive: null,
  stage: null,
  receives: null,
  pipeline_bubble: null,
};
const entry = (index: string, step: string, values: Partial<Values>): Entry => ({
  type: "rank",
  step,
  index,
  dp: null,
  pp: null,
  tp: null,
  values: { ...NONE, ...values },
});

test("a difference is of ranks that both know", () => {
  const now = new Map([
    ["0", 30],
    ["1", 20],
    ["2", 5],
  ]);
  const base = new Map([
    ["0", 10],
    ["1", 25],
    ["3", 7],
  ]);
  assert.deepEqual(
    [...differenceOf(now, base)],
    [
      ["0", 20],
      ["1", -5],
    ],
  );
});

test("where: each place of every grid is found again at its middle, and none beside it", () => {
  for (const dims of [
    { pp: 4, dp: 2, cp: 1, tp: 2 },
    { pp: 16, dp: 128, cp: 1, tp: 8 },
    { pp: 1, dp: 16384, cp: 1, tp: 1 },
    { pp: 3, dp: 5, cp: 2, tp: 7 },
  ]) {
    const grid = gridFor(dims, 900, 480);
    assert.ok(grid.cell >= 4, `${JSON.stringify(dims)}: cells of ${grid.cell} px`);
    assert.ok(grid.width <= 900.001 && grid.height <= 480.001, JSON.stringify(grid));
    for (const pp of [0, dims.pp - 1]) {
      for (const dp of [0, dims.dp >> 1, dims.dp - 1]) {
        const place = { pp, dp, cp: dims.cp - 1, tp: dims.tp - 1 };
        const [x, y] = cornerOf(grid, place);
        assert.deepEqual(placeAt(grid, x + grid.cell / 2, y + grid.cell / 2), place);
      }
    }
    assert.equal(placeAt(grid, grid.width + 1, 1), null);
    assert.equal(placeAt(grid, 1, grid.height + 1), null);
    assert.equal(placeAt(grid, -1, 1), null);
  }
});

test("where: links meet cells beside their figures", () => {
  const wide = gridFor({ pp: 2, dp: 2, cp: 1, tp: 1 }, 900, 480);
  assert.ok(wide.cell >= NUMBER_PX && linkOffset(wide) > 0.8 * wide.cell);
  assert.ok(linkOffset(wide) + DOT_PX <= wide.cell);
  const many = gridFor({ pp: 16, dp: 128, cp: 1, tp: 8 }, 900, 480);
  assert.equal(linkOffset(many), many.cell / 2, "where there are none, in the middle");
});

test("where: what is not known is not 0", () => {
  const entries = [
    entry("0", "1", { computing: 10, exposed: 0, free: 30 }),
    entry("0", "2", { computing: 20, exposed: 10, free: 30 }),
    entry("1", "1", { free: 5 }),
    { ...entry("(0,1)", "1", { computing: 7 }), type: "stage" },
  ];
  assert.deepEqual([...figuresOfSteps(entries, null, metricOf("computing"))], [["0", 15]]);
  assert.deepEqual([...figuresOfSteps(entries, "2", metricOf("computing"))], [["0", 20]]);
  assert.deepEqual([...figuresOfSteps(entries, "1", metricOf("exposed"))], [["0", 0]]);
  assert.deepEqual([...figuresOfSteps(entries, "1", metricOf("computing_share"))], [["0", 25]]);
  // Of a step a part of which is not known nothing is a share.
  assert.equal(figuresOfSteps(entries, "1", metricOf("free_share")).get("1"), undefined);
});

const late: Table = {
  name: "SlowRankLateness",
  title: "",
  total: 4,
  offset: 0,
  columns: [
    ["rankId", "int", "", false],
    ["lateTime(us)", "real", "", false],
    ["cameLast", "int", "", false],
  ],
  rows: [
    [0, 1.5, 2],
    [0, 2, 1],
    [1, null, 0],
    [2, 0, 0],
  ],
};

test("where: rows of communicators add up, those of steps are a mean; empty cells are not known", () => {
  const metric = metricOf("late");
  const figures = figuresOfTable(late, metric.source!, metric.unit, null);
  assert.deepEqual(
    [...figures],
    [
      ["0", 3500],
      ["2", 0],
    ],
  );
  const last = metricOf("came_last");
  assert.equal(figuresOfTable(late, last.source!, last.unit, "7").get("0"), 3);
  const busy = metricOf("busy");
  const bubble: Table = {
    ...late,
    columns: [
      ["step", "int", "", false],
      ["rank", "int", "", false],
      ["busy", "int", "ns", false],
    ],
    rows: [
      [1, 3, 10],
      [2, 3, 30],
    ],
  };
  const ofStep = (step: string | null) => figuresOfTable(bubble, busy.source!, busy.unit, step);
  assert.equal(ofStep(null).get("3"), 20);
  assert.equal(ofStep("2").get("3"), 30);
  assert.equal(worstStep("3", ["1", "2"], ofStep), "2");
  assert.equal(worstStep("4", ["1", "2"], ofStep), null);
});

test("where: filters of places, and of what is known", () => {
  const s = spot(9, { pp: 2, dp: 1 });
  assert.equal(filterOf("pp=2 dp=0-1")!(s, 1), true);
  assert.equal(filterOf("pp=1")!(s, 1), false);
  assert.equal(filterOf("rank=0-7,9")!(s, 1), true);
  assert.equal(filterOf("unknown")!(s, undefined), true);
  assert.equal(filterOf("unknown")!(s, 0), false);
  assert.equal(filterOf("known")!(s, 0), true);
  assert.equal(filterOf("known")!(s, null), true);
  assert.equal(filterOf("")!(s, undefined), true);
  for (const wrong of ["pp", "pp=", "pp=x", "stage=1", "pp=1-"]) {
    assert.equal(filterOf(wrong), null, wrong);
  }
});

test("where: a rank's group, dimensions that differ, ranks without places", () => {
  assert.deepEqual(membersOf({ pp: [0, 1, 0, 1] }, "pp", "2"), ["0", "2"]);
  assert.deepEqual(membersOf({}, "tp", "2"), []);
  assert.deepEqual(membersOf({ pp: [0, 1] }, "pp", "7"), []);
  assert.deepEqual(dimensionsOf([spot(0, {}), spot(1, { tp: 1 })]), ["tp"]);
  const plain = unplaced([
    { rank: "10", key: "b" },
    { rank: "9", key: "a" },
  ]);
  assert.deepEqual(
    plain.map((s) => [s.rank, s.dp]),
    [
      ["9", 0],
      ["10", 1],
    ],
  );
});

test("where: every figure has its own name", () => {
  const all = Object.values(METRICS).flat();
  assert.equal(new Set(all.map((m) => m.id)).size, all.length);
  assert.equal(metricOf("nothing of the kind").id, "computing");
});

test("where: what nobody chose is a figure that is known", () => {
  assert.equal(metricAtFirst([entry("0", "1", { computing: 5, receives: 1 })]), "computing");
  assert.equal(
    metricAtFirst([entry("0", "1", { receives: 1, pipeline_bubble: 2 })]),
    "busy",
    "of a chart that is there",
  );
  assert.equal(
    metricAtFirst([entry("0", "1", { communication: 5, receives: 1 })]),
    "receives",
    "receives alone make no chart",
  );
  assert.equal(metricAtFirst([entry("0", "1", { communication: 5 })]), "communication");
});
