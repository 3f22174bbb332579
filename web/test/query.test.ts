import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cell, Rank, Schema, Table } from "../src/api/types";
import { completionsAt, indexOfByte, inLines, tablesNamed } from "../src/pages/query_complete";
import { mayJump, placeOf } from "../src/pages/query_jump";
import { firstChoice, pointsOf } from "../src/pages/query_plot";
import { columnsOf } from "../src/panels/table_model";

const column = (name: string, unit = ""): [string, string, string, string] => [
  name,
  "integer",
  unit,
  `the ${name}`,
];
const SCHEMA: Schema = {
  tables: [
    {
      name: "slice",
      text: "Everything",
      set: "traces",
      example: "SELECT 1",
      columns: [column("rank"), column("id"), column("start_ns", "ns since 1970"), column("name")],
    },
    {
      name: "flow",
      text: "What caused what",
      set: "traces",
      example: "",
      columns: [column("rank"), column("from_slice"), column("to_slice")],
    },
    {
      name: "ClusterStepTraceTime",
      text: "Steps",
      set: "modes",
      example: "",
      columns: [column("step")],
    },
  ],
  functions: [
    ["percentile(x, p)", "the value at p"],
    ["human_ns(x)", "as text"],
  ],
  words: ["SELECT", "FROM", "GROUP BY", "count(", "percentile("],
};

/** "|" is the caret. */
const at = (text: string): string[] => {
  const caret = text.indexOf("|");
  return completionsAt(text.replace("|", ""), caret, SCHEMA).items.map((item) => item.text);
};

test("behind FROM and JOIN stand tables, any case", () => {
  assert.deepEqual(at("SELECT * FROM |"), ["slice", "flow", "ClusterStepTraceTime"]);
  assert.deepEqual(at("SELECT * FROM SL|"), ["slice"]);
  assert.deepEqual(at("select * from slice s join f|"), ["flow"]);
  assert.deepEqual(at("SELECT * FROM step|"), ["ClusterStepTraceTime"], "a part of its name");
});

test("behind a dot stand the columns of that table alone", () => {
  const query = "SELECT s.| FROM slice s, flow AS f";
  assert.deepEqual(at(query), ["rank", "id", "start_ns", "name"]);
  assert.deepEqual(at("SELECT f.t| FROM slice s, flow AS f"), ["to_slice"]);
  assert.deepEqual(at("SELECT slice.na| FROM slice"), ["name"]);
  assert.deepEqual(at("SELECT x.| FROM slice s"), []);
});

test("elsewhere columns of the named tables come first, each once, then functions and words", () => {
  assert.deepEqual(at("SELECT ra| FROM slice, flow"), ["rank"]);
  assert.deepEqual(at("SELECT s| FROM slice"), ["start_ns", "SELECT"]);
  assert.deepEqual(at("SELECT p|"), ["percentile("], "no table is named");
  assert.deepEqual(at("SELECT name FROM slice GRO|"), ["GROUP BY"]);
  assert.deepEqual(at("SELECT | FROM slice"), [], "nothing is typed yet");
  assert.deepEqual(at("SELECT fr| FROM flow"), ["from_slice", "FROM"]);
});

test("texts, comments and numbers are left alone", () => {
  assert.deepEqual(at("SELECT 'FROM |"), []);
  assert.deepEqual(at("SELECT 'it''s n|' FROM slice"), []);
  assert.deepEqual(at("SELECT 1 -- FROM s|"), []);
  assert.deepEqual(at("SELECT /* FROM s|"), []);
  assert.deepEqual(at("SELECT 'done', na| FROM slice"), ["name"]);
  assert.deepEqual(at("SELECT 1 -- FROM\n, na| FROM slice"), ["name"]);
  assert.deepEqual(at("SELECT 1s|"), []);
});

test("what is replaced is the whole word at the caret", () => {
  const { from, to } = completionsAt("SELECT nam FROM slice", 9, SCHEMA);
  assert.deepEqual([from, to], [7, 10]);
});

test("which tables a query names, and how they are called there", () => {
  const named = (sql: string): string[] =>
    tablesNamed(sql, SCHEMA).map(({ table, alias }) => `${table.name} ${alias}`);
  assert.deepEqual(named("SELECT 1 FROM slice a JOIN flow ON 1 WHERE 2, slice"), [
    "slice a",
    "flow flow",
  ]);
  assert.deepEqual(named('SELECT 1 FROM "slice" AS a, nope, flow'), ["slice a", "flow flow"]);
  assert.deepEqual(named("SELECT (SELECT 1 FROM flow f) FROM slice LIMIT 3"), [
    "flow f",
    "slice slice",
  ]);
});

test("an example stands in lines, and texts in it stay whole", () => {
  assert.equal(
    inLines("SELECT a FROM b WHERE c = ' FROM x' ORDER BY d LIMIT 1"),
    "SELECT a\nFROM b\nWHERE c = ' FROM x'\nORDER BY d\nLIMIT 1",
  );
  assert.equal(inLines("SELECT a\nFROM b WHERE c"), "SELECT a\nFROM b WHERE c");
});

test("a byte of UTF-8 is found in the text", () => {
  assert.equal(indexOfByte("SELECT x", 7), 7);
  assert.equal(indexOfByte("SELECT 'é时😀', x", 18), 12 + 1);
  assert.equal(indexOfByte("abc", 99), 3);
});

// --- rows -------------------------------------------------------------------------------------------------------------

const table = (columns: Table["columns"], rows: Cell[][] = []): Table => ({
  name: "query",
  title: "",
  columns,
  total: rows.length,
  offset: 0,
  rows,
});
const rank = (n: number, cluster: number, profile: number): Rank => ({
  key: `k${cluster}.${profile}`,
  rank: n,
  label: "",
  host: "",
  format: "",
  profiler: "",
  file: "",
  cluster,
  profile,
  state: "ready",
  progress: 1,
  error: "",
});
const RANKS = [rank(0, 0, 0), rank(1, 0, 1), rank(1, 0, 2), rank(0, 1, 0)];

test("a row leads to its slice, else to its moment, on the rank that it names", () => {
  const columns = columnsOf(
    table([
      ["rank", "int", "", false],
      ["which", "int", "", false, "slice"],
      ["start_ns", "int", "ns", true],
      ["dur_ns", "int", "ns", false],
    ]),
  );
  assert.ok(mayJump(columns));
  const place = (row: Cell[], cluster = 0) => placeOf(row, columns, cluster, RANKS);
  assert.deepEqual(place([0, 17, "1700000000000000005", 10]), {
    rank: RANKS[0],
    slice: 17,
    from: 1700000000000000005n,
    to: 1700000000000000015n,
  });
  assert.equal(place([0, null, "1700000000000000005", 10])?.slice, null);
  assert.equal(place([0, null, null, 10]), null);
  assert.equal(place([1, 17, null, 0]), null, "two profiles have that number");
  assert.equal(place([0, 17, null, 0], 1)?.rank.key, "k1.0");
});

test("the profile says which of several, and one rank needs no name", () => {
  const columns = columnsOf(
    table([
      ["profile", "int", "", false],
      ["slice", "int", "", false],
    ]),
  );
  assert.equal(placeOf([2, 3], columns, 0, RANKS)?.rank.key, "k0.2");
  const alone = columnsOf(table([["id", "int", "", false, "slice"]]));
  assert.equal(placeOf([3], alone, 1, RANKS)?.rank.key, "k1.0");
  assert.equal(placeOf([3], alone, 0, RANKS), null);
  assert.ok(!mayJump(columnsOf(table([["id", "int", "", false]]))), "an id of something else");
});

test("points of a plot: by x, texts in their order, moments from the first, in the unit of the column", () => {
  const reply = table(
    [
      ["name", "text", "", false],
      ["start_ns", "int", "ns", true],
      ["total_ns", "int", "ns", false],
    ],
    [
      ["b", "1700000000000002000", 3_000_000],
      ["a", "1700000000000000000", 1_000_000],
      ["c", "1700000000000001000", null],
    ],
  );
  const columns = columnsOf(reply);
  assert.deepEqual(firstChoice(columns), { x: "name", y: "total_ns" });
  const byName = pointsOf(reply.rows, columns[0], columns[2]);
  assert.deepEqual([byName.x, byName.y, byName.of.y.unit], [[0, 1], [3, 1], "ms"]);
  assert.deepEqual([byName.of.x.text(0), byName.of.x.text(0.5)], ["b", ""]);
  const byTime = pointsOf(reply.rows, columns[1], columns[2]);
  assert.deepEqual([byTime.x, byTime.y, byTime.of.x.unit], [[0, 2], [1, 3], "µs"]);
  assert.deepEqual(
    byTime.rows.map((row) => row[0]),
    ["a", "b"],
  );
  assert.deepEqual(pointsOf(reply.rows, null, columns[2]).x, [0, 1]);
});
