import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import { linksOf, pairsOf, strangerOf, strangersOf } from "../src/pages/communication_model";

const tableOf = (columns: string[], rows: Table["rows"]): Table => ({
  name: "",
  title: "",
  total: rows.length,
  offset: 0,
  columns: columns.map((name) => [name, "text", "", false]),
  rows,
});

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
  const strangers = strangersOf(placed);
  const pairs = pairsOf(
    linksOf(known, placed, strangers),
    { step: "", group: "", op: "total" },
    false,
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
