/** The page of comparisons: what lost most, how its slices are found, which ranks stand beside one another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Table } from "../src/api/types";
import { headlineOf, headlineWord, pairsOf, slicesOf, slowest } from "../src/pages/compare_model";

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
  assert.equal(headlineWord({ now: 33e7 + 5, base: 33e7, lost: 5 }), "compare.barely-longer");
  assert.equal(headlineWord({ now: 33e7, base: 33e7, lost: 0 }), "compare.as-long");
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

void test("the slices of a row", () => {
  const finds = (q: string | null, name: string, flags = ""): boolean =>
    q !== null && new RegExp(q, flags).test(name);
  const conv = slicesOf("KernelCompare", "Conv2D");
  assert.ok(finds(conv, "Conv2D10") && finds(conv, "Conv2D_3") && finds(conv, "Conv2D"));
  assert.ok(!finds(conv, "Conv2DBackpropFilter10"));
  const sum = slicesOf("CommunicationCompare", "allreduce");
  assert.ok(finds(sum, "hcom_allReduce__576_0_1", "i") && finds(sum, "nccl:all_reduce", "i"));
  assert.ok(!finds(sum, "allgather", "i"));
  const call = slicesOf("ApiCompare", "void f(int*)");
  assert.ok(finds(call, "void f(int*)") && !finds(call, "void f(int*) const"));
  assert.equal(slicesOf("KernelTypeCompare", "Conv2D"), null, "a type is no name");
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
