/** The page of comparisons: what lost most, how its slices are found, which ranks stand beside one another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Table } from "../src/api/types";
import { durations } from "../src/base/time";
import {
  baseDetailOf,
  headlineOf,
  headlineWord,
  nested,
  notesOf,
  pairsOf,
  ranksBeside,
  apartBy,
  slowedRanks,
  whoseWord,
  slicesOf,
  slowest,
  placesAt,
  stagesOf,
  stepsOf,
  timesText,
} from "../src/pages/compare_model";
import {
  isSame,
  paramsOf,
  proposedRanks,
  proposedSteps,
  type Side,
  ALL,
} from "../src/pages/compare_sides";

const table = (name: string, rows: Table["rows"]): Table => ({
  name,
  title: "",
  columns: [
    ["name", "text", "", false],
    ["new", "int", "ns", false],
    ["base", "int", "ns", false],
    ["lost", "int", "ns", false],
  ],
  total: rows.length,
  offset: 0,
  rows,
});

void test("the step of both", () => {
  const overall = table("OverallCompare", [
    ["step", 212, 152, 60],
    ["computing", 100, 80, 20],
  ]);
  assert.deepEqual(headlineOf(overall), { now: 212, base: 152, lost: 60 });
  assert.equal(headlineWord({ now: 212, base: 152, lost: 60 }), "compare.longer");
  const times = (now: number, base: number) => timesText({ now, base, lost: now - base });
  assert.deepEqual(
    [times(212, 152), times(114.4, 100), times(150, 100), times(100.4, 100), times(80, 100), times(1, 0)], // prettier-ignore
    ["1.39", "1.14", "1.5", "1.004", "0.8", "–"],
    "as `pipescope compare` says it",
  );
  assert.equal(headlineWord({ now: 33e7 + 5, base: 33e7, lost: 5 }), "compare.barely-longer");
  assert.equal(headlineWord({ now: 33e7, base: 33e7, lost: 0 }), "compare.as-long");
  assert.deepEqual(durations(1_005_140_000, 1_000_000_000), ["1.0051 s", "1.0000 s"]);
  assert.deepEqual(durations(1_004_900_000, 999_760_000), ["1.0049 s", "0.9998 s"], "in one unit");
  assert.deepEqual(durations(212e6, 152e6), ["212 ms", "152 ms"]);
  assert.deepEqual(durations(212, 211), ["212 ns", "211 ns"]);
  assert.equal(durations(272_090_000, 272_000_000), null);
  assert.equal(headlineOf(table("OverallCompare", [])), null);
  assert.equal(headlineOf(null), null);
});

void test("what lost most, of tables that do not lie in one another", () => {
  const tables = new Map([
    [
      "KernelCompare",
      table("KernelCompare", [
        ["mm", 30, 10, 20],
        ["add", 5, 9, -4],
      ]),
    ],
    ["CommunicationCompare", table("CommunicationCompare", [["allreduce", 50, 20, 30]])],
    ["OperatorCompare", table("OperatorCompare", [["aten::mm", 90, 10, 80]])],
  ]);
  assert.deepEqual(
    slowest(tables, 10).map((r) => [r.table, r.name, r.lost]),
    [
      ["CommunicationCompare", "allreduce", 30],
      ["KernelCompare", "mm", 20],
    ],
  );
  assert.equal(slowest(tables, 1).length, 1);
});

void test("the slices of a row are asked by what they are, not by their names", () => {
  assert.deepEqual(slicesOf("CommunicationCompare", "receive", "pp"), {
    q: "receive",
    row: "communication",
    detail: "pp",
  });
  assert.deepEqual(slicesOf("KernelTypeCompare", "Conv2D", ""), {
    q: "Conv2D",
    row: "kernel type",
  });
  assert.equal(slicesOf("ModuleCompare", "decoder", ""), null, "a module is no slice");
});

void test("parts of a step lie in their sums", () => {
  const overall = table("OverallCompare", [
    ["step", 212, 152, 60],
    ["communication", 50, 20, 30],
    ["  not overlapped", 40, 10, 30],
  ]);
  const { columns, rows } = nested(overall);
  assert.equal(columns.at(-1)![0], "level");
  assert.deepEqual(
    rows.map((row) => [row[0], row.at(-1)]),
    [
      ["step", 0],
      ["communication", 0],
      ["not overlapped", 1],
    ],
  );
});

void test("rank with rank", () => {
  const rank = (key: string, number: number, cluster: number): Rank =>
    ({ key, rank: number, cluster }) as Rank;
  const ranks = [rank("a", 0, 0), rank("b", 1, 0), rank("c", 1, 1), rank("d", 2, 1)];
  assert.deepEqual(
    pairsOf(ranks, 0, 1).map((p) => [p.rank, p.now.key, p.base.key]),
    [[1, "b", "c"]],
  );
});

void test("ranks beside one another: where each is, and what its step lost", () => {
  const overview = (rows: Table["rows"]): Table => ({
    ...table("overview", rows),
    columns: [
      ["rank_id", "int", "", false],
      ["not overlapped", "int", "ns", false],
      ["free", "int", "ns", false],
      ["e2e", "int", "ns", false],
      ["computing", "int", "ns", false],
      ["pp", "int", "", false],
    ],
  });
  const base = overview([
    [1, 5, 5, 100, 90, 0],
    [0, 5, 5, 100, 90, 1],
  ]);
  const both = ranksBeside(
    overview([
      [0, 5, 6, 110, 99, 0],
      [1, 5, null, 140, 130, 1],
      [7, 1, 1, 1, 1, 2], // of the new one alone
    ]),
    base,
    new Map([[1, 150]]),
    new Map(),
  );
  assert.deepEqual(
    both.columns.map(([name]) => name),
    ["rank", "stage", "new", "base", "lost", "in computing", "not overlapped", "in free"],
  );
  assert.deepEqual(both.rows, [
    [1, 1, 150, 100, 50, 40, 0, null],
    [0, 0, 110, 100, 10, 9, 0, 1],
  ]);
  assert.deepEqual([...stagesOf(base)].sort(), [
    [0, 1],
    [1, 0],
  ]);
  const lost = (...all: [stage: number, lost: number | null][]): Table => ({
    ...both,
    rows: all.map(([stage, ns], rank) => [rank, stage, 9, 5, 4, ns, 0, 0]),
  });
  assert.deepEqual(slowedRanks(both), {
    ranks: [1],
    stage: 1,
    lost: 40,
    others: 9,
    isOneOther: true,
  });
  assert.deepEqual(slowedRanks(lost([0, 0], [2, 87], [2, 88], [1, 1])), {
    ranks: [2, 1], // both of the stage
    stage: 2,
    lost: 88,
    others: 0,
    isOneOther: false,
  });
  assert.equal(slowedRanks(lost([0, 50], [1, 90], [1, 0]))?.stage, null);
  assert.equal(slowedRanks(lost([0, 4], [0, 4], [1, 4])), null, "all alike");
  assert.equal(slowedRanks(lost([0, 0], [1, 0])), null);
  assert.equal(slowedRanks(lost([0, 40], [1, null])), null, "what is not known is no 0");
  const small = lost([0, 0], [1, 40]);
  const long = { ...small, rows: small.rows.map((row) => row.map((v, i) => (i === 2 ? 4001 : v))) };
  assert.equal(slowedRanks(long), null, "less than a hundredth of the step");
  assert.equal(slowedRanks(null), null);
  const ends = (preparing: number | null, after: number): Table => ({
    ...table("overview", [[1, 100 + after, 90, preparing, after]]),
    columns: ["rank_id", "e2e", "computing", "preparing", "after"].map((name) => [
      name,
      "int",
      name === "rank_id" ? "" : "ns",
      false,
    ]),
  });
  const late = ranksBeside(ends(null, 80), ends(3, 4), new Map(), new Map());
  assert.deepEqual(
    late.columns.slice(-2).map(([name]) => name),
    ["in free", "after the last work"],
    "what is known of the ends of steps",
  );
  assert.deepEqual(late.rows, [[1, 180, 104, 76, 0, null, null, 76]]);
  const unplaced = ranksBeside(overview([[1, 5, 5, 100, 90, null]]), base, new Map(), new Map());
  assert.ok(!unplaced.columns.some(([name]) => name === "stage"), "nobody knows the stages");
  assert.equal(stagesOf(overview([[1, 5, 5, 100, 90, null]])).size, 0);
  const alone = overview([[0, 5, 5, 100, 90, 0]]);
  const single = ranksBeside(alone, alone, new Map(), new Map());
  assert.ok(!single.columns.some(([name]) => name === "stage"), "one stage tells nothing");
  assert.equal(stagesOf(alone).size, 0);
});

void test("a step of a rank is the mean of those that it has", () => {
  const rank = (cluster: number, number: number, steps?: Rank["steps"]): Rank =>
    ({ cluster, rank: number, steps }) as Rank;
  const known = [rank(0, 0, [[1, 0, 10], [2, 10, 31]]), rank(0, 1), rank(1, 0, [[1, 0, 7]])]; // prettier-ignore
  const side = (cluster: number, step = ""): Side => ({ cluster, rank: "", step });
  assert.deepEqual([...stepsOf(known, side(0))], [[0, 16]]);
  assert.deepEqual([...stepsOf(known, side(1))], [[0, 7]]);
  assert.deepEqual([...stepsOf(known, side(0, "2"))], [[0, 21]], "the step that is chosen");
});

const side = (rank: string, step: string, cluster = 0): Side => ({ cluster, rank, step });

void test("what is asked of two sides", () => {
  assert.deepEqual(paramsOf({ now: side("", ""), base: side("all", "all", 1) }), {
    name: "compare",
    cluster: 0,
    baseline: 1,
  });
  assert.deepEqual(paramsOf({ now: side("9", ""), base: side("1", "4") }), {
    name: "compare",
    cluster: 0,
    baseline: 0,
    rank_list: "9",
    base_rank_list: "1",
    base_step: "4",
  });
});

void test("the same ranks and steps of one capture are no two sides", () => {
  const same = (now: Side, base: Side): boolean => isSame({ now, base });
  assert.ok(same(side("", ""), side("all", "all")));
  assert.ok(same(side("2", "7"), side("2", "7")));
  assert.ok(!same(side("2", ""), side("3", "")));
  assert.ok(!same(side("2", ""), side("", "")));
  assert.ok(!same(side("2", "7"), side("2", "8")));
  assert.ok(!same(side("2", "7"), side("2", "7", 1)));
});

void test("ranks of one capture are proposed: who computes longest, and who stands for the others", () => {
  const overview = (rows: Table["rows"]): Table => ({
    ...table("overview", rows),
    columns: ["rank_id", "computing", "pp"].map((name) => [name, "int", "", false]),
  });
  const all = [0, 1, 2, 3, 4];
  const staged = overview([
    [0, 50, 0],
    [1, 52, 0],
    [2, 70, 1],
    [3, 90, 1],
    [4, 60, 1],
  ]);
  assert.deepEqual(proposedRanks(staged, all), { now: "3", base: "4", reason: "stage" });
  const alone = overview([
    [0, 50, 0],
    [1, 90, 1],
    [2, 70, 2],
    [3, 60, 3],
  ]);
  assert.deepEqual(proposedRanks(alone, all), { now: "1", base: "3", reason: "computing" });
  const marks = overview(all.map((rank) => [rank, null, 0]));
  assert.deepEqual(proposedRanks(marks, all), { now: "1", base: "0", reason: "first" });
  assert.deepEqual(proposedRanks(null, [4, 2]), { now: "4", base: "2", reason: "first" });
  assert.equal(proposedRanks(staged, [3]), null);
  assert.equal(proposedRanks(staged, [2, 3])?.reason, "other", "of one there is no median");
  assert.equal(proposedRanks(staged, [0, 2, 3])?.reason, "other of stage");
});

void test("steps of the only rank are proposed: the longest, and the median of the others", () => {
  const rank = (...lengths: number[]): Rank =>
    ({ steps: lengths.map((ns, i) => [i + 5, 0, ns]) }) as unknown as Rank;
  assert.deepEqual(proposedSteps(rank(10, 30, 20, 12)), { now: "6", base: "8" });
  assert.equal(proposedSteps(rank(10)), null);
  assert.equal(proposedSteps(undefined), null);
});

void test("the base calls a communicator otherwise", () => {
  const both: Table = {
    ...table("CommunicationCompare", [["allreduce", "Group tp Communication", "tp"]]),
    columns: ["name", "group", "group base"].map((name) => [name, "text", "", false]),
  };
  assert.equal(baseDetailOf(both, "allreduce", "Group tp Communication"), "tp");
  const alike = table("KernelCompare", [["mm", 1, 2, 3]]);
  assert.equal(baseDetailOf(alike, "mm", "4,4"), "4,4");
  const notes: Table = { ...table("CompareNotes", [["stages", "Stage 2 lost."]]), columns: [["of", "text", "", false], ["what", "text", "", false]] }; // prettier-ignore
  assert.deepEqual(notesOf(notes), ["Stage 2 lost."]);
  assert.deepEqual(notesOf(undefined), []);
});

test("slices below a name are of the chosen rank, else of the stage that lost most", () => {
  const stages: Table = {
    name: "StageCompare",
    title: "",
    columns: [
      ["stage", "int", "", false],
      ["lost", "int", "ns", false],
    ],
    rows: [
      [0, -4],
      [1, 90],
      [2, 7],
    ],
    total: 3,
    offset: 0,
  };
  const stageOf = new Map([
    [0, 0],
    [1, 1],
    [2, 1],
    [3, 2],
  ]);
  assert.deepEqual(placesAt("3", stages, stageOf), { rank: 3 });
  assert.deepEqual(placesAt("", stages, stageOf), { stage: 1, ranks: [1, 2] });
  assert.equal(placesAt("", stages, new Map()), null, "nobody knows the stages");
  assert.equal(placesAt("", { ...stages, rows: [[0, -4]] }, stageOf), null, "none lost any");
  assert.equal(placesAt("", undefined, stageOf), null);
});

void test("the tables say whose times they are", () => {
  const side = (rank: string) => ({ cluster: 0, rank, step: "" });
  const word = (now: string, base: string): string =>
    whoseWord({ now: side(now), base: side(base) }).word;
  assert.equal(word("", ALL), "compare.of-all");
  assert.equal(word("3", "3"), "where.rank");
  assert.equal(word("3", "4"), "compare.of-two");
  assert.equal(word("3", ALL), "compare.of-one-now");
  assert.equal(word("", "4"), "compare.of-one-base");
});

void test("rows of one name show what tells them apart", () => {
  const rows = [["mm", "4,4"], ["add", "4"], ["mm", "8,8"]].map(([name, detail]) => ({ name, detail })); // prettier-ignore
  assert.deepEqual(apartBy(rows), ["4,4", "", "8,8"]);
});
