import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "../src/api/types";
import {
  groupOfRanks,
  linksOf,
  pairsOf,
  strangerOf,
  strangersOf,
} from "../src/pages/communication_model";

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
