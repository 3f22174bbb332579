/** The call tree of the page of calls: reading the table, the boxes of the picture, finding, going about. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Table } from "../src/api/types";
import { flameOf, focusFor, foundIn, stepFrom, timeFound, timeOf } from "../src/model/flame";
import {
  callsOf,
  longestBelow,
  modulePlaces,
  moduleRowPath,
  modulesOf,
  modulesOfWhat,
  modulesPart,
  orderedBy,
  scopeElsewhere,
  scopesFor,
  scopeWord,
  spokenTable,
} from "../src/pages/calls_model";

/** all 100: a 60 (b 40, c 20), d 39.9, e 0.1; of devices k 30 below b. */
const table: Table = {
  name: "call_tree",
  title: "",
  columns: [
    ["node", "int", "", true],
    ["parent", "int", "", true],
    ["level", "int", "", false],
    ["name", "text", "", false],
    ["kind", "text", "", false],
    ["host total", "int", "ns", false],
    ["host self", "int", "ns", false],
    ["device total", "int", "ns", false],
    ["device self", "int", "ns", false],
    ["number", "int", "", false],
    ["longest", "int", "ns", false],
    ["slice", "int", "", true],
  ],
  total: 7,
  offset: 0,
  rows: [
    [0, null, 0, "(all)", "all", 1000, 0, 30, 0, 0, null, null],
    [1, 0, 1, "a", "op", 600, 0, 30, 0, 2, 300, 5],
    [4, 1, 2, "b", "op", 400, 400, 30, 0, 1, 400, 6],
    [6, 4, 3, "k", "kernel", 0, 0, 30, 30, 1, 30, 9],
    [5, 1, 2, "c", "op", 200, 200, 0, 0, 1, 200, 7],
    [2, 0, 1, "d", "op", 399, 399, 0, 0, 1, 399, 8],
    [3, 0, 1, "aa", "op", 1, 1, 0, 0, 1, 1, 10],
  ],
};
const nodes = callsOf(table);

test("from the bottom the time is that of the name itself, and none of its callers", () => {
  const turned = callsOf(table, "callees");
  assert.deepEqual(
    turned.map((node) => node.self === null),
    turned.map((node) => node.depth > 1),
  );
});

test("what is chosen beside the picture is brought to where it is seen", () => {
  const at = (name: string): number => nodes.findIndex((n) => n.name === name);
  assert.equal(focusFor(nodes, 0, at("b"), "host"), 0, "it is seen already");
  assert.equal(focusFor(nodes, at("a"), at("b"), "host"), at("a"), "and so it is from there");
  assert.equal(focusFor(nodes, at("a"), at("d"), "host"), 0, "what lies beside the focus");
  assert.equal(focusFor(nodes, 0, at("aa"), "host"), at("aa"), "too thin in all that is above it");
  assert.equal(focusFor(nodes, at("a"), at("k"), "host"), at("a"), "it has no such time");
});

void test("the table as a tree", () => {
  assert.deepEqual(
    nodes.map((n) => n.parent),
    [-1, 0, 1, 2, 1, 0, 0],
  );
  assert.deepEqual(nodes[0].children, [1, 5, 6]);
  assert.equal(nodes[3].self!.device, 30);
  assert.equal(nodes[3].slice, 9);
  assert.equal(timeOf(nodes, ""), "device");
  assert.equal(timeOf(nodes, "host"), "host");
});

void test("what has no slices of its own has no number of them", () => {
  const spoken = spokenTable(table, nodes, "host");
  const n = spoken.columns.findIndex(([column]) => column === "number");
  assert.deepEqual(
    spoken.rows.map((row) => row[n]),
    [null, 2, 1, 1, 1, 1, 1],
  );
});

void test("the table of modules is of the same step, span or box as the tree above it, and says so", () => {
  assert.equal(modulesOfWhat("step 3"), "step 3");
  assert.equal(modulesOfWhat(""), "the whole capture");
  assert.equal(modulesOfWhat("span"), "the analysed span");
  assert.match(modulesOfWhat("box"), /the time of the box/);
  const rank = { origin_ns: "1700000000000000000" } as Rank;
  const box = { rank: "KEY", by: "modules", lanes: "1-4", from: -5, to: 250 };
  assert.deepEqual(modulesPart("box", rank, box), {
    from_ns: "1699999999999999995",
    to_ns: "1700000000000000250",
  });
  assert.deepEqual(modulesPart("step 3", rank, box), { step_id: "3" });
  assert.deepEqual(modulesPart("", rank, box), { from_ns: undefined, to_ns: undefined });
});

void test("a mode's table has the rank and the start of the longest", () => {
  const [all] = callsOf({
    ...table,
    columns: [
      ["node", "int", "", false],
      ["parent", "int", "", false],
      ["level", "int", "", false],
      ["name", "text", "", false],
      ["kind", "text", "", false],
      ["hostTotalNs", "int", "ns", false],
      ["deviceTotalNs", "int", "ns", false],
      ["longestNs", "int", "ns", false],
      ["longestStartNs", "int", "", true],
      ["longestRank", "int", "", false],
    ],
    rows: [[0, null, 0, "x", "op", 5, 6, 4, "1700000000000000010", 3]],
  });
  assert.deepEqual(
    [all.total, all.longest, all.start, all.rank],
    [{ host: 5, device: 6 }, 4, "1700000000000000010", 3],
  );
});

void test("boxes are as wide as their time, the largest first, what is thinner than a pixel is one", () => {
  const boxes = flameOf(nodes, 0, "host", 100);
  const of = (name: string) => boxes.find((b) => nodes[b.node].name === name)!;
  assert.deepEqual([of("(all)").x, of("(all)").width, of("(all)").row], [0, 100, 0]);
  assert.deepEqual([of("a").x, of("a").width, of("a").row], [0, 60, 1]);
  assert.deepEqual([of("c").x, of("c").width, of("c").row], [40, 20, 2]);
  assert.ok(Math.abs(of("d").x - 60) < 1e-9 && Math.abs(of("d").width - 39.9) < 1e-9);
  assert.deepEqual([of("aa").isThin, of("aa").n], [true, 1]);
  assert.equal(of("k"), undefined, "it has no time on the host");
  const wide = flameOf(nodes, 0, "host", 1000);
  assert.equal(wide.find((b) => nodes[b.node].name === "aa")!.isThin, false);
});

void test("what is looked at is as wide as the picture, below those above it", () => {
  const boxes = flameOf(nodes, 2, "device", 80);
  assert.deepEqual(
    boxes.map((b) => [nodes[b.node].name, b.row, b.width, b.isAbove]),
    [
      ["(all)", 0, 80, true],
      ["a", 1, 80, true],
      ["b", 2, 80, false],
      ["k", 3, 80, false],
    ],
  );
  assert.deepEqual(flameOf([], 0, "host", 80), []);
});

void test("what is found counts each moment once", () => {
  const found = foundIn(nodes, "A"); // "(all)" is no name of the capture
  assert.deepEqual(
    [...found].map((n) => nodes[n].name),
    ["a", "aa"],
  );
  assert.equal(timeFound(nodes, found, "host"), 601);
  const nested = foundIn(nodes, "=a");
  assert.equal(timeFound(nodes, new Set([...nested, 2, 3]), "host"), 600, "b and k lie below a");
  assert.deepEqual([...foundIn(nodes, "=a")], [1]);
  assert.equal(timeFound(nodes, foundIn(nodes, "=a"), "host"), 600);
  assert.equal(foundIn(nodes, " ").size, 0);
});

void test("arrows", () => {
  const go = (from: number, key: string) => nodes[stepFrom(nodes, from, key, "host")].name;
  assert.equal(go(0, "ArrowDown"), "a");
  assert.equal(go(1, "ArrowDown"), "b");
  assert.equal(go(2, "ArrowRight"), "c");
  assert.equal(go(2, "ArrowLeft"), "b");
  assert.equal(go(4, "ArrowUp"), "a");
  assert.equal(go(0, "ArrowUp"), "(all)");
  assert.equal(go(2, "ArrowDown"), "b", "what has no time of this kind is not gone to");
});

/** all: Net (Layer (forward (op, kernel), Norm)), Net's namesake elsewhere. */
const byModule = callsOf({
  ...table,
  rows: [
    [0, null, 0, "(all)", "all", 9, 0, 9, 0, 0, null, null],
    [1, 0, 1, "Net", "module", 9, 0, 9, 0, 0, null, null],
    [2, 1, 2, "Layer", "module", 9, 0, 9, 0, 0, null, null],
    [3, 2, 3, "forward", "pass", 9, 0, 9, 0, 0, null, null],
    [4, 3, 4, "mm", "op", 9, 9, 9, 0, 3, 40, 11],
    [5, 4, 5, "k", "kernel", 0, 0, 9, 9, 3, 70, 12],
    [6, 2, 3, "Norm", "module", 0, 0, 0, 0, 0, null, null],
  ],
});

void test("modules are found by the names down to them", () => {
  const places = modulePlaces(byModule);
  assert.deepEqual([...places.keys()], ["Net", "Net/Layer", "Net/Layer/Norm"]);
  assert.equal(places.get("Net/Layer/Norm"), 6);
  const row = (cells: Record<string, string>) => moduleRowPath((c) => cells[c] ?? null);
  assert.equal(row({ parentModule: "", module: "Net" }), "Net");
  assert.equal(row({ parentModule: "Net/Layer", module: "Norm" }), "Net/Layer/Norm");
});

void test("a module leads to the longest of what runs in it, or nowhere", () => {
  assert.equal(longestBelow(byModule, 1, "device"), 5);
  assert.equal(longestBelow(byModule, 1, "host"), 4, "a kernel is no time of a thread");
  assert.equal(longestBelow(byModule, 6, "device"), null);
  const waits = byModule.map((n, at) => (at === 4 ? { ...n, longest: 500 } : n));
  assert.equal(longestBelow(waits, 1, "device"), 5, "who launched it is no time of a device");
});

void test("the table has the share of all that is shown", () => {
  const spoken = spokenTable(table, nodes, "host");
  const at = spoken.columns.findIndex(([name]) => name === "share");
  assert.deepEqual(spoken.columns[at - 1][0], "host total");
  assert.deepEqual(
    spoken.rows.map((row) => row[at]),
    nodes.map((n) => (100 * n.total.host) / nodes[0].total.host),
  );
});

void test("the table of modules: one rank's rows, what is read first in front, nothing left out", () => {
  const tree: Table = {
    ...table,
    columns: ["rankID", "depth", "module", "gaps", "mfu"].map((c) => [c, "int", "", false]),
    rows: [
      [0, 1, "Net", 5, 50],
      [1, 1, "Net", 6, null],
    ],
  };
  const one = modulesOf(tree, 1);
  assert.deepEqual(
    one.columns.map(([c]) => c),
    ["rankID", "module", "mfu", "gaps", "depth"],
  );
  assert.deepEqual(one.rows, [[1, "Net", null, 6, 1]]);
  assert.equal(modulesOf(tree, null).total, 2);
});

test("a box is offered for the ranks whose lanes it crosses, and for no other", () => {
  const rank = (key: string): Rank => ({ key, label: `rank ${key}` }) as Rank;
  const steps: NonNullable<Rank["steps"]> = [[1, 0, 50]];
  const framed = { from: 0, to: 114e6, lanes: [{ rank: "4", lane: 2, rows: null }] };
  const of = (r: Rank | null, b: typeof framed | null = framed): string[] =>
    scopesFor(r, steps, null, b).map(([scope]) => scope);
  assert.deepEqual(of(rank("4")), ["", "box", "step 1"]);
  assert.deepEqual(of(rank("0")), ["", "step 1"], "its figures would be of all its time");
  assert.deepEqual(of(null), ["", "step 1"], "of all ranks together there are no boxes");
  assert.deepEqual(of(rank("4"), null), ["", "step 1"]);
  assert.equal(scopeWord("step 1"), "step 1");
  assert.equal(
    scopeElsewhere("box", rank("0")),
    "For rank 0, the box in the timeline does not apply: these are the calls of the whole capture.",
  );
});

test("below a caller those stand first that take most of the time that is looked at", () => {
  const name = (time: "host" | "device"): unknown[] =>
    orderedBy(table, nodes, time).rows.map((row) => row[3]);
  assert.deepEqual(name("host"), ["(all)", "a", "b", "k", "c", "d", "aa"]);
  const turned = { ...table, rows: table.rows.map((row) => (row.map((cell, i) => (i === 5 && row[3] === "d" ? 700 : cell)))) }; // prettier-ignore
  const byHost = orderedBy(turned, callsOf(turned), "host").rows.map((row) => row[3]);
  assert.deepEqual(byHost, ["(all)", "d", "a", "b", "k", "c", "aa"]);
  assert.deepEqual(name("device"), ["(all)", "a", "b", "k", "c", "d", "aa"]);
});
