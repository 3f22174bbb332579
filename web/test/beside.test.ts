/** Two captures side by side in one table: who stands beside whom, and what is worked out of both. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Session, Table } from "../src/api/types";
import { baselineFrom, baselineOf, partnerOf, rankBeside } from "../src/model/baseline";
import { firstCapture, nameOf, openCaptures, shortNames } from "../src/model/captures";
import { shownAs, valueText } from "../src/base/format";
import { beside, hasCommon, hiddenBeside } from "../src/pages/beside";
import {
  choiceBeside,
  lacking,
  chosenType,
  ofType,
  pairChanges,
  TOTAL,
  type Pair,
} from "../src/pages/communication_model";
import { columnsOf } from "../src/panels/table_model";
import { Columns } from "../src/pages/columns";
import { endsTogether, opsOf, rankTimes, timesOf } from "../src/pages/communication_times_model";
import { curvesBeside } from "../src/pages/memory_model";
import { columnWord } from "../src/words";

const table = (rows: Table["rows"], notes?: string[]): Table => ({
  name: "operators",
  title: "Operators",
  columns: [
    ["name", "text", "", false],
    ["place", "int", "", false],
    ["total", "int", "ns", false],
    ["avg", "real", "ns", false],
  ],
  total: rows.length,
  offset: 0,
  rows,
  ...(notes === undefined ? {} : { notes }),
});
const PAIRING = { keys: ["name"], plain: ["place"], sums: ["total"] };

void test("each number beside that of the baseline, the difference and its share", () => {
  const both = beside(
    table([
      ["mm", 1, 300, 30],
      ["new", 2, 50, 50],
    ]),
    table([
      ["mm", 9, 200, 20],
      ["gone", 8, 40, 40],
    ]),
    PAIRING,
  );
  assert.deepEqual(
    both.columns.map(([name, , unit]) => `${name}|${unit}`),
    [
      "name|",
      "place|",
      "total|ns",
      "total base|ns",
      "total difference|ns",
      "total change|%",
      "avg|ns",
      "avg base|ns",
      "avg difference|ns",
      "avg change|%",
    ],
  );
  assert.deepEqual(both.rows, [
    ["mm", 1, 300, 200, 100, 50, 30, 20, 10, 50],
    ["new", 2, 50, 0, 50, null, 50, null, null, null],
    ["gone", 8, 0, 40, -40, -100, null, 40, null, null],
  ]);
  assert.equal(both.total, 3);
});

void test("rows of one key pair up in their order; other columns and their order do not matter", () => {
  const base = table([
    ["a", 0, 1, 1],
    ["a", 0, 2, 2],
  ]);
  const turned: Table = {
    ...base,
    columns: [...base.columns].reverse(),
    rows: base.rows.map((row) => [...row].reverse()),
  };
  const both = beside(
    table([
      ["a", 0, 5, 5],
      ["a", 0, 7, 7],
      ["a", 0, 9, 9],
    ]),
    turned,
    PAIRING,
  );
  assert.deepEqual(
    both.rows.map((row) => row.slice(2, 5)),
    [
      [5, 1, 4],
      [7, 2, 5],
      [9, 0, 9],
    ],
  );
});

void test("what is hidden at first, and what columns are called", () => {
  assert.deepEqual(hiddenBeside(table([]), PAIRING, ["total"]), ["avg base", "avg change"]);
  assert.equal(columnWord("total difference"), "Total difference");
  assert.equal(columnWord("calls base"), "Calls base");
});

void test("a difference of nothing is 0, one of next to nothing says so", () => {
  const shown = shownAs("share difference", "real", "%", false, []);
  assert.equal(valueText(0, shown), "0");
  assert.equal(valueText(-0, shown), "0");
  assert.equal(valueText(-0.04, shown), "\u2212<0.1");
  assert.equal(valueText(-0.06, shown), "\u22120.1");
});

void test("both sides and what lies between them have as many decimals", () => {
  const stages: Table = {
    ...table([]),
    columns: [
      ["new", "int", "ns", false],
      ["base", "int", "ns", false],
      ["lost", "int", "ns", false],
      ["in free", "int", "ns", false],
    ],
    rows: [
      [480_960_000, 480_455_000, 505_000, 1_230_000],
      [600_650_000, 479_551_000, 121_099_000, 4_560_000],
    ],
  };
  const decimals = columnsOf(stages).map((column) => column.shown.decimals);
  assert.equal(new Set(decimals.slice(0, 3)).size, 1);
  const columns = [...table([]).columns, ["total base", "int", "ns", false] as const];
  const both = columnsOf({
    ...table([]),
    columns: [...columns, ["total difference", "int", "ns", false]],
    rows: [["a", 0, 803_050_000, 4, 701_100_000, 101_950_000]],
  } as Table);
  const digits = [2, 4, 5].map((i) => both[i].shown.decimals);
  assert.equal(new Set(digits).size, 1);
});

void test("the partner of a rank, while its capture is open", () => {
  const opened = {
    clusters: [{ path: "a" }, { path: "b" }, { path: "c", closed: true }],
    baseline: 1,
  } as unknown as Session;
  assert.equal(baselineOf(opened, "told"), 1);
  assert.equal(baselineOf(opened, "none"), null);
  assert.equal(baselineOf(opened, 2), null, "closed");
  assert.deepEqual(openCaptures(opened), [
    [0, "a"],
    [1, "b"],
  ]);
  assert.equal(firstCapture({ clusters: [{ closed: true }, {}] } as unknown as Session), 1);
  assert.equal(nameOf("runs/new/"), "new");
  assert.deepEqual(
    shortNames([
      [0, "a/x"],
      [1, "b/x"],
      [4, "b/y"],
    ]),
    [
      [0, "a/x"],
      [1, "b/x"],
      [4, "y"],
    ],
  );
  assert.deepEqual(
    shortNames([
      [0, "/data/runs/before/job"],
      [1, "/data/runs/after/job/"],
      [2, "/data/job2"],
    ]).map(([, name]) => name),
    ["before/job", "after/job", "job2"],
    "no more of the path than tells them apart",
  );
  const rank = (key: string, number: number, cluster: number): Rank =>
    ({ key, rank: number, cluster }) as Rank;
  const ranks = [rank("a", 0, 0), rank("b", 1, 0), rank("c", 1, 1)];
  assert.equal(partnerOf(ranks, ranks[1], opened, 1)?.key, "c");
  assert.equal(partnerOf(ranks, ranks[0], opened, 1), null);
  assert.equal(partnerOf(ranks, ranks[2], opened, 1), null, "of the baseline itself");
  assert.equal(partnerOf(ranks, ranks[0], opened, "rank:1")?.key, "b", "of the same capture");
  assert.equal(partnerOf(ranks, ranks[1], opened, "rank:1"), null, "itself");
  assert.equal(partnerOf(ranks, ranks[1], opened, "rank:7"), null);
  assert.deepEqual(["rank:7", "none", "2", "", "rank:x"].map(baselineFrom), ["rank:7", "none", 2, "told", "told"]); // prettier-ignore
  assert.equal(rankBeside("rank:7"), 7);
  assert.equal(rankBeside(3), null);
});

const OPS_COLUMNS = ["step", "rank_id", "hccl_op_name", "group_name"].map(
  (name): Table["columns"][0] => [name, "text", "", false],
);

const opsTable = (...rows: [step: string, rank: number, op: string, group: string][]): Columns =>
  Columns.of({ ...table(rows), columns: OPS_COLUMNS });

void test("the same choice in another capture", () => {
  const group = (name: string, text: string) => ({ name, text, isP2p: false });
  const here = {
    table: opsTable(["4", 0, "x", "h1"], ["3", 0, "x", "own"]),
    steps: ["3", "4"],
    groups: [group("h1", "dp 0,1"), group("own", "own")],
  };
  const there = {
    table: opsTable(["8", 0, "x", "h2"], ["7", 0, "x", "own"]),
    steps: ["7", "8"],
    groups: [group("h2", "dp 0,1"), group("own", "own")],
  };
  const found = (choice: { step: string; group: string; op: string }) =>
    choiceBeside(choice, here, there);
  assert.deepEqual(found({ step: "4", group: "h1", op: "x" }), {
    step: "8",
    group: "h2",
    op: "x",
  });
  assert.deepEqual(found({ step: "", group: "own", op: "x" }), {
    step: "",
    group: "own",
    op: "x",
  });
});

void test("operators that are numbered anew stand beside those of their type", () => {
  const [same, taken, gone] = [999, 875, 860].map((n) => `hcom_allReduce__${n}_0_1`);
  const of = (rows: Columns) => ({ table: rows, steps: [], groups: [] });
  const here = of(opsTable(["1", 0, same, "g"], ["1", 0, taken, "g"], ["1", 0, gone, "g"]));
  const there = of(opsTable(["1", 0, same, "g"], ["1", 0, taken, "g"], ["1", 1, taken, "g"]));
  const found = (op: string) => choiceBeside({ step: "", group: "", op }, here, there).op;
  assert.equal(found(TOTAL), TOTAL);
  assert.equal(found(same), same);
  assert.equal(chosenType(found(gone)), "allreduce");
  assert.equal(chosenType(found(taken)), "allreduce", "other ranks have what is called so there");
  const times = timesOf(
    Columns.of({
      ...table([
        ["1", 0, "hcom_allReduce__860_3_1", "g", 0, 5],
        ["1", 0, "hcom_allReduce__860_4_1", "g", 0, 7],
        ["1", 0, "hcom_send__1_1_1", "g", 0, 1],
        ["1", 0, TOTAL, "g", 0, 13],
        ["1", 1, "hcom_allReduce__860_3_1", "g", 2, 9],
      ]),
      columns: [
        ...OPS_COLUMNS,
        ["start_timestamp", "real", "ns", true],
        ["elapsed_time", "real", "ns", true],
      ],
    }),
  );
  const choice = { step: "", group: "", op: ofType("allreduce") };
  assert.deepEqual(
    rankTimes(times, choice).map((r) => r.elapsed),
    [12, 9],
  );
  const rows = opsOf(times, choice);
  assert.deepEqual(rows, [0, 1, 4]);
  assert.deepEqual(
    [...endsTogether(times, rows, { step: "1", group: "g", op: "hcom_allReduce__860_3_1" })],
    [
      [0, 6],
      [1, 0],
    ],
    "moved to where the last one ends",
  );
  const names = (...all: string[]): Table => ({
    ...{ name: "", title: "", total: 1, offset: 0, rows: all.map((n) => [n]) },
    columns: [["name", "text", "", false]],
  });
  const pairing = { keys: ["name"] };
  assert.ok(hasCommon(names("a", "b"), names("b"), pairing));
  assert.ok(!hasCommon(names("a"), names("b"), pairing));
});

void test("links of both captures, and those of one alone", () => {
  const pair = (source: number, destination: number, size: number): Pair => ({
    ...{ source, destination, size, transport: ["HCCS"], example: "", time_ns: 1, bandwidth: size },
  });
  const found = pairChanges([pair(0, 1, 5), pair(1, 0, 6)], [pair(0, 1, 8), pair(2, 0, 9)]);
  assert.deepEqual(
    found.map(({ now, base }) => [now?.size ?? null, base?.size ?? null]),
    [
      [5, 8],
      [6, null],
      [null, 9],
    ],
  );
});

void test("curves of both captures on one axis", () => {
  const curve = (time: number, value: number): Table => ({
    name: "memory_curve",
    title: "",
    columns: ["series", "owner", "what", "device", "time", "value"].map((name) => [
      name,
      name === "owner" || name === "what" ? "text" : "int",
      "",
      false,
    ]),
    total: 1,
    offset: 0,
    rows: [[0, "op", "allocated", 0, time, value]],
  });
  const both = curvesBeside(curve(100, 5), curve(1100, 9), -1000, "(baseline)");
  assert.deepEqual(both.x, [100]);
  assert.deepEqual(
    both.lines.map((l) => [l.name, l.values]),
    [
      ["op allocated", [5]],
      ["op allocated (baseline)", [9]],
    ],
  );
});

void test("what of a choice the baseline has nothing for is said", () => {
  const there = { steps: ["1"], groups: [{ name: "h1", text: "dp 0,1", isP2p: false }] };
  const lacks = (step: string, group: string) => lacking({ step, group, op: TOTAL }, there);
  assert.deepEqual(lacks("", ""), []);
  assert.deepEqual(lacks("1", "h1"), []);
  assert.deepEqual(lacks("2", "h1"), ["step"]);
  assert.deepEqual(lacks("1", "h2"), ["group"]);
});
