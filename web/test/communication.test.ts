import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import {
  groupOfRanks,
  groupsOf,
  linksOf,
  ofRanks,
  ofType,
  pairsOf,
  ranksWithout,
  strangerOf,
  strangersOf,
  TOTAL,
  typeOf,
} from "../src/pages/communication_model";
import { Columns } from "../src/pages/columns";
import { rankTimes, timesOf } from "../src/pages/communication_times_model";
import { rangeOf } from "../src/panels/chart_heat";
import { offered } from "../src/panels/long_select_model";
import { sizesOf, transportsOf } from "../src/pages/communication_transport_model";

const tableOf = (columns: string[], rows: Table["rows"]): Table => ({
  name: "",
  title: "",
  total: rows.length,
  offset: 0,
  columns: columns.map((name) => [name, "text", "", false]),
  rows,
});

const timesOfTable = (table: Table) => timesOf(Columns.of(table));

test("links to places whose rank is not known stand behind the ranks of the matrix", () => {
  const known = tableOf(
    ["hccl_op_name", "group_name", "src_rank", "dst_rank", "transit_size"],
    [["total", "dp", 0, 1, 5]],
  );
  const placed = tableOf(
    ["hccl_op_name", "group_name", "src_rank", "dst_rank", "src_place", "dst_place"],
    [
      ["total", "tp", 1, null, null, 2],
      ["total", "tp", null, 0, 2, null],
      ["total", "dp", 0, null, null, 2], // another place: that of another group
    ],
  );
  const tables = { main: Columns.of(known), placed: Columns.of(placed) };
  const strangers = strangersOf(tables);
  const pairs = pairsOf(linksOf(tables, strangers), { step: "", group: "", op: "total" }, false);
  assert.equal(
    pairs[0].example,
    "total",
    "the one that is chosen, where no name of a sample is kept",
  );
  assert.ok(
    pairs.every((p) => Number.isNaN(p.bandwidth)),
    "links of which no time is known are no slowest ones",
  );
  assert.deepEqual(strangers, [
    { group: "dp", place: 2 },
    { group: "tp", place: 2 },
  ]);
  assert.deepEqual(
    pairs.map((p) => [p.source, p.destination]),
    [
      [0, 1],
      [0, -1],
      [1, -2],
      [-2, 0],
    ],
  );
  assert.equal(strangerOf(strangers, 0), undefined);
  assert.deepEqual(strangerOf(strangers, pairs[3].source), { group: "tp", place: 2 });
});

test("a map of a thousand ranks that all send to all has a range of colours", () => {
  const cells = Array.from({ length: 300_000 }, (_, i) => ({ row: 0, column: i, value: 1 + i }));
  cells.push({ row: 1, column: 0, value: NaN });
  assert.deepEqual(rangeOf({ cells }), [1, 300_000]);
  assert.deepEqual(rangeOf({ cells, isDifference: true }), [-300_000, 300_000]);
});

test("a table by its columns has what its pages have, numbers and texts in one column, too", () => {
  const page = tableOf(["Group_Name", "wait_time"], [["dp", 3], ["pp", null]]); // prettier-ignore
  page.columns[1][2] = "us";
  const columns = new Columns({ ...page, total: 4 });
  columns.add(page.rows);
  columns.add([[null, 5], [7, 9]]); // prettier-ignore
  const groups = columns.texts("group name");
  assert.deepEqual(
    [...groups.at].map((at) => groups.words[at]),
    ["dp", "pp", "", "7"],
  );
  assert.deepEqual(columns.choices("group name"), ["7", "dp", "pp"]);
  assert.deepEqual([...columns.ns("wait time")], [3000, NaN, 5000, 9000]);
  assert.deepEqual([...columns.numbers("rank")], [NaN, NaN, NaN, NaN]);
  assert.deepEqual(columns.texts("step").words, [""]);
});

test("totals that say nothing of waiting have what is known of their operators", () => {
  const columns = ["step", "rank_id", "hccl_op_name", "group_name", "elapsed_time", "wait_time"];
  const rows = timesOfTable({
    ...tableOf(columns, [
      ["1", 0, "send", "pp", 20, null],
      ["1", 0, "receive", "pp", 60, 58],
      ["1", 0, TOTAL, "pp", 80, null],
      ["1", 1, "send", "pp", 20, null],
      ["1", 1, TOTAL, "pp", 20, null],
      ["1", 2, "receive", "pp", 60, 58],
      ["1", 2, TOTAL, "pp", 60, 50],
    ]),
    columns: columns.map((name) => [name, "text", name.endsWith("time") ? "ns" : "", false]),
  });
  const times = rankTimes(rows, { step: "", group: "", op: TOTAL });
  assert.deepEqual(
    times.map((r) => [r.rank, r.elapsed, r.hasWait, r.wait]),
    [
      [0, 80, true, 58],
      [1, 20, false, 0],
      [2, 60, true, 50], // the profile's own
    ],
  );
});

test("tasks tell of no first wait: its ratio is not known, and not 0", () => {
  const columns = ["step", "rank_id", "hccl_op_name", "group_name", "elapsed_time"];
  columns.push("transit_time", "wait_time", "synchronization_time");
  const rows = timesOfTable({
    ...tableOf(columns, [
      ["1", 0, TOTAL, "pp", 80, 20, 60, null],
      ["1", 1, TOTAL, "pp", 80, 20, 60, 40],
    ]),
    columns: columns.map((name) => [name, "text", name.endsWith("time") ? "ns" : "", false]),
  });
  const times = rankTimes(rows, { step: "", group: "", op: TOTAL });
  assert.deepEqual(
    times.map((r) => [r.hasSync, r.syncRatio, r.waitRatio]),
    [
      [false, null, 0.75],
      [true, 40 / 60, 0.75],
    ],
  );
});

test("a group of ranks leads to its communicator, whatever order its ranks are in", () => {
  const mapping = tableOf(
    ["type", "rank_set", "group_name"],
    [
      ["p2p", "(0,2)", "single"],
      ["collective", "(0,2)", "dp of 0"],
      ["collective", "(1,3)", "dp of 1"],
      ["collective", "(0,1,2,3)", "world"],
    ],
  );
  assert.equal(groupOfRanks(mapping, ["2", "0"]), "dp of 0");
  assert.equal(groupOfRanks(mapping, ["0", "2", "1", "3"]), "world");
  assert.equal(groupOfRanks(mapping, ["0", "1"]), null);
});

test("a transport counts an operator once, and its packets by their size", () => {
  const columns: Table["columns"] = [
    ["step", "text", "", false],
    ["rank_id", "int", "", false],
    ["hccl_op_name", "text", "", false],
    ["group_name", "text", "", false],
    ["band_type", "text", "", false],
    ["transit_size", "real", "MB", false],
    ["transit_time", "real", "ms", false],
    ["package_size", "real", "MB", false],
    ["count", "real", "count", false],
    ["total_duration", "real", "ms", false],
  ];
  const rows = [
    ["1", 0, "Total Op Info", "dp", "HCCS", 28, 2, 2, 12, 1.5], // 12 x 2 MB and 2 x 2 MB of one operator
    ["1", 0, "Total Op Info", "dp", "HCCS", 28, 2, 1, 4, 0.5],
    ["1", 0, "Total Op Info", "dp", "RDMA", 0, 0, 0, 0, 0], // nothing went there
    ["1", 1, "Total Op Info", "dp", "HCCS", 10, 1, 2, 5, 1],
    ["1", 1, "hcom_allReduce__1", "dp", "HCCS", 10, 1, 2, 5, 1], // in the total
    ["1", 1, "Total Op Info", "pp", "RDMA", 7, 1, 7, 1, 1],
    ["1", 1, "Total Op Info", "dp", "SDMA", 10, 1, 2, 5, 1], // the sum of HCCS, PCIE and SIO
  ];
  const table: Table = { ...tableOf([], rows), columns };
  const all = transportsOf(table, { step: "", group: "", op: "Total Op Info" });
  assert.deepEqual(all, [
    {
      name: "HCCS",
      size_bytes: 38e6,
      time_ns: 3e6,
      packets: [
        { size_bytes: 1e6, n: 4, time_ns: 5e5 },
        { size_bytes: 2e6, n: 17, time_ns: 2.5e6 },
      ],
    },
    {
      name: "RDMA",
      size_bytes: 7e6,
      time_ns: 1e6,
      packets: [{ size_bytes: 7e6, n: 1, time_ns: 1e6 }],
    },
  ]);
  assert.deepEqual(sizesOf(all), [1e6, 2e6, 7e6]);
  const alone: Table = { ...table, rows: [["1", 0, "Total Op Info", "dp", "SDMA", 3, 1, 3, 1, 1]] };
  const known = transportsOf(alone, { step: "", group: "", op: "Total Op Info" });
  assert.deepEqual(
    known.map((x) => x.name),
    ["SDMA"],
  );
  const one = transportsOf(table, {
    step: "1",
    group: "dp",
    op: ofType(typeOf("hcom_allReduce__1")),
  });
  assert.deepEqual(
    one.map((x) => [x.name, x.size_bytes]),
    [["HCCS", 10e6]],
  );
});

test("ranks without a communicator of their own are a choice that shows none", () => {
  assert.equal(ranksWithout(ofRanks(["0", "4"])), "0, 4");
  assert.equal(ranksWithout("group_name_0"), null);
  assert.equal(ranksWithout(""), null);
});

test("of very many options those with all words of what is typed are offered, the one that is meant first", () => {
  const all = Array.from({ length: 7000 }, (_, i) => [`op${i}`, `hcom_send__${i} of pp`] as const);
  assert.deepEqual(
    offered(all, "", 3).map(([name]) => name),
    ["op0", "op1", "op2"],
  );
  assert.deepEqual(
    offered(all, "PP send__699", 200).map(([name]) => name),
    ["op699", ...Array.from({ length: 10 }, (_, i) => `op${6990 + i}`)],
  );
  assert.equal(offered(all, "hcom_send__6999 of pp", 2)[0][0], "op6999");
  assert.deepEqual(offered(all, "recv", 200), []);
  const three = ["all of type send", "hcom_send__1", "send"].map((n) => [n, n] as const);
  assert.deepEqual(
    offered(three, "SEND", 9).map(([name]) => name),
    ["send", "all of type send", "hcom_send__1"],
  );
});

test("groups stand in the order in which people count: by name, then by their first rank", () => {
  const mapping = tableOf(
    ["group name", "rank set", "pg name", "type"],
    [
      ["x1", "(10,11)", "tp", ""],
      ["x2", "(2,3)", "tp", ""],
      ["x3", "(0,8)", "dp", ""],
    ],
  );
  const names = groupsOf(mapping, ["x1", "x2", "x3"]).map((g) => g.text);
  assert.deepEqual(names, ["dp (0,8)", "tp (2,3)", "tp (10,11)"]);
});

test("a name that sends and collectives share is of both, in whatever order they are named", () => {
  const rows = [
    ["0", "(0,1)", "default_pg", "p2p"],
    ["0", "(0,1)", "default_pg", "collective"],
  ];
  for (const all of [rows, [...rows].reverse()]) {
    const mapping = tableOf(["group name", "rank set", "pg name", "type"], all);
    assert.deepEqual(
      groupsOf(mapping, ["0"]).map((g) => g.isP2p),
      [true],
    );
  }
});
