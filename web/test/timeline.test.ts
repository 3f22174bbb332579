import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneNode, Rank } from "../src/api/types";
import {
  HEADER_PX,
  LaneTree,
  PREVIEW_PX,
  ROW_PX,
  headId,
  idOf,
  type LayoutInput,
} from "../src/model/lanes";
import { outlineShift, takeOutline } from "../src/model/outlines";
import { Names } from "../src/model/names";
import { RankLanes } from "../src/model/rank_lanes";
import {
  absolute,
  autoOffset,
  forgetReference,
  fromAbsolute,
  offsets,
  ranks,
  shiftOf,
} from "../src/model/session";
import { LOOK_COMPUTING } from "../src/timeline/palette";
import { TileStore } from "../src/model/tile_store";
import { levelFor, levelOfSpan, readCounters, readTile, tileNs, tilesOf } from "../src/model/tiles";
import { applyTree, pack, treeState, unpackList } from "../src/model/view_state";
import { Viewport, ZoomHistory } from "../src/base/viewport";
import type { Marker } from "../src/model/timeline";
import { markerNames } from "../src/timeline/draw_axis";
import { alignTo, movedBetween, movedText, withOffset } from "../src/timeline/alignment";
import { labelPlace, longTime, spanText, ticksBeside, ticksOf } from "../src/timeline/axis";
import { LOOK_FREE, workingLanes } from "../src/model/working_lanes";
import { boxExtent, lanesCrossed, rowsCrossed } from "../src/model/boxes";
import { CounterPainter, stackedOf, StackPainter } from "../src/timeline/counters";
import { curveOf, distanceTo, isSeen, svgPath } from "../src/timeline/flow_shape";
import { imageAsRects } from "../src/timeline/export";
import { quantised } from "../src/timeline/flows";
import { cutMiddle, labelFor, TextWidths, withoutParent } from "../src/timeline/labels";
import { Matches, nameTest } from "../src/timeline/matches";
import { addCoverage, LabelList, RowPainter } from "../src/timeline/paint";
import { previewRow, previewSpan, Scene, stuckRank, type Region } from "../src/timeline/scene";

// --- window ------------------------------------------------------------------------------------------------------------

const HOUR = 3600e9;

test("what is shown first may be a part; Fit shows everything, and that stays so", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 1000, { from: 300, to: 500 });
  assert.ok(view.from > 290 && view.to < 510);
  view.resize(500);
  assert.ok(view.from > 290 && view.to < 510);
  assert.equal(view.isChosen || view.isAllChosen, false, "the address says nothing of it");
  view.fit();
  assert.ok(view.isFit && view.isAllChosen);
  view.setExtent(0, 1001, { from: 300, to: 500 });
  assert.ok(view.isFit);
  view.home();
  assert.equal(view.isFit, false);
  view.setExtent(0, 1000);
  assert.ok(view.isFit, "no part: everything");
  assert.equal(view.isAllChosen, false);
});

test("what is led to is legible: a sliver is brought to a width that is read, what is read leaves the window", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 3_000_000);
  view.show(1_000_000, 2_000_000);
  view.leadTo(1_500_000, 1_502_000); // 2 px
  assert.ok(2000 / view.nsPerPx >= 100, "it is legible");
  assert.ok(view.from <= 1_500_000 - 4000 && view.to >= 1_502_000 + 4000, "with what is around");
  view.show(1_000_000, 2_000_000);
  view.leadTo(1_500_000, 1_540_000);
  assert.deepEqual([view.from, view.to], [1_000_000, 2_000_000], "40 px: it is read there");
  view.leadTo(1_980_000, 2_020_000);
  assert.equal(view.span, 1_000_000, "half in sight: moved, not zoomed");
  assert.ok(view.to >= 2_020_000);
  const before = [view.from, view.to];
  view.leadTo(1_900_000, 1_900_000);
  assert.deepEqual([view.from, view.to], before, "an instant has no width");
});

test("a window of 1 ns is exact a hundred hours from the origin", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 100 * HOUR);
  const ns = 99 * HOUR + 123_456_789;
  view.show(ns - 50, ns + 50);
  for (let i = 0; i < 40; i++) {
    view.zoom(1.5, view.x(ns));
  }
  assert.ok(Math.abs(view.span - 1) < 1e-9, `${view.span}`);
  assert.ok(
    Math.abs(view.x(ns + 1) - view.x(ns) - 1000) < 1e-6,
    "one nanosecond is as wide as the window",
  );
  assert.ok(view.x(ns) >= -1 && view.x(ns) <= 1001);
  view.pan(250);
  assert.ok(Math.abs(view.x(ns + 1) - view.x(ns) - 1000) < 1e-6);
});

test("zooming out shows everything, at most", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 100 * HOUR);
  assert.ok(view.isFit);
  view.show(HOUR, HOUR + 1000);
  for (let i = 0; i < 100; i++) {
    view.zoom(1 / 2, 300);
  }
  assert.ok(view.from <= 0 || view.to >= 100 * HOUR);
  assert.ok(Math.abs(view.span - 102 * HOUR) < HOUR);
});

test("the time under the pointer stays where it is", () => {
  const view = new Viewport();
  view.resize(800);
  view.setExtent(0, 1e9);
  const at = view.ns(200);
  view.zoom(7, 200);
  assert.ok(Math.abs(view.x(at) - 200) < 1e-6);
  const { from, to } = view;
  view.resize(400);
  assert.ok(
    Math.abs(view.from - from) < 1 && Math.abs(view.to - to) < 1,
    "resizing keeps the edges",
  );
});

test("the window follows what there is until one is chosen", () => {
  const view = new Viewport();
  view.resize(100);
  view.setExtent(0, 1000);
  view.setExtent(0, 5000);
  assert.ok(view.to > 5000);
  view.show(100, 200);
  view.setExtent(0, 9000);
  assert.equal(view.from, 100);
  assert.ok(Math.abs(view.to - 200) < 1e-9);
});

test("Backspace goes back by gestures, not by events", () => {
  const view = new Viewport();
  view.resize(100);
  view.setExtent(0, 1000);
  const history = new ZoomHistory();
  view.show(0, 500);
  history.note(view, 0);
  view.show(0, 400);
  history.note(view, 50);
  view.show(0, 300);
  history.note(view, 1000);
  view.show(0, 100);
  assert.equal(history.n, 2);
  assert.ok(history.undo(view));
  assert.ok(Math.abs(view.to - 300) < 1e-6);
  assert.ok(history.undo(view));
  assert.ok(Math.abs(view.to - 500) < 1e-6);
  assert.ok(!history.undo(view));
});

test("ticks are round and say how far they are from a base when they are far out", () => {
  const near = ticksOf(0, 1e5, 1000);
  assert.equal(near.base, "");
  assert.ok(near.ticks.every((tick) => tick.ns % 1e6 === 0));
  const far = ticksOf(12_345_678_900, 0.001, 1000);
  assert.notEqual(far.base, "");
  assert.ok(far.ticks.length >= 1 && far.ticks.every((tick) => Number.isInteger(tick.ns)));
  assert.match(far.ticks[0].text, /^\+/);
  assert.equal(longTime(12_345_678_901), "12.345\u2009678\u2009901 s");
  assert.equal(spanText(100 * HOUR), "100.00 h");
  assert.equal(spanText(1), "1 ns");
  assert.equal(spanText(0.25), "0.25 ns");
});

// --- tiles -------------------------------------------------------------------------------------------------------------

test("the level is the largest whose buckets are at most a pixel", () => {
  assert.equal(levelFor(0.001), 0);
  assert.equal(levelFor(1), 0);
  assert.equal(levelFor(1.999), 0);
  assert.equal(levelFor(2), 1);
  for (let k = 1; k <= 50; k++) {
    assert.equal(levelFor(2 ** k), k);
    assert.equal(levelFor(2 ** k * 0.999), k - 1);
  }
  assert.equal(levelFor(1e30), 52);
  assert.deepEqual(tilesOf(0, 0, 1024), [0, 0]);
  assert.deepEqual(tilesOf(0, 1023, 1025), [0, 1]);
  assert.deepEqual(tilesOf(3, -1, 1), [-1, 0]);
  assert.ok(tileNs(levelOfSpan(100 * HOUR)) >= 100 * HOUR);
});

interface TestEntry {
  start: number;
  end: number;
  row?: number;
  count?: number;
  look?: number;
  busy?: number;
}

function tileBuffer(lanes: [number, TestEntry[]][]): ArrayBuffer {
  const all = lanes.flatMap(([, entries]) => entries);
  const n = all.length;
  const out = new ArrayBuffer(16 + lanes.length * 8 + n * 24);
  const view = new DataView(out);
  [0x31545350, lanes.length, n, 0].forEach((v, i) => view.setUint32(i * 4, v, true));
  lanes.forEach(([lane, entries], i) => {
    view.setUint32(16 + i * 8, lane, true);
    view.setUint32(20 + i * 8, entries.length, true);
  });
  const base = 16 + lanes.length * 8;
  all.forEach((e, i) => {
    view.setFloat32(base + i * 4, e.start, true);
    view.setFloat32(base + n * 4 + i * 4, e.end, true);
    view.setUint32(base + n * 8 + i * 4, 100 + i, true);
    view.setUint32(base + n * 12 + i * 4, 7, true);
    view.setUint32(base + n * 16 + i * 4, e.count ?? 1, true);
    view.setUint16(base + n * 20 + i * 2, e.row ?? 0, true);
    view.setUint8(base + n * 22 + i, e.look ?? 0);
    view.setUint8(base + n * 23 + i, e.busy ?? 255);
  });
  return out;
}

const laneTile = (...entries: TestEntry[]) => readTile(tileBuffer([[0, entries]])).get(0)!.value;

test("tiles are read as they are written", () => {
  const found = readTile(
    tileBuffer([
      [
        3,
        [
          { start: 0, end: 5 },
          { start: 1, end: 2, row: 2 },
        ],
      ],
      [9, []],
      [12, [{ start: 7, end: 8, look: 4 }]],
    ]),
  );
  assert.deepEqual([...found.keys()], [3, 9, 12]);
  assert.deepEqual([...found.get(3)!.value.rowAt], [0, 1, 1, 2]);
  assert.equal(found.get(9)!.value.n, 0);
  assert.deepEqual([...found.get(9)!.value.rowAt], [0]);
  assert.equal(found.get(12)!.value.look[0], 4);
  assert.equal(found.get(12)!.value.slice[0], 102);
  assert.throws(() => readTile(new ArrayBuffer(16)));
});

test("counters are read with their padding", () => {
  const n = 2;
  const out = new ArrayBuffer(16 + 8 + n * 28);
  const view = new DataView(out);
  [0x31435350, 1, n, 0, 5, n].forEach((v, i) => view.setUint32(i * 4, v, true));
  [1.5, 2.5].forEach((v, i) => view.setFloat64(24 + i * 8, v, true));
  [1, 2].forEach((v, i) => view.setFloat64(40 + i * 8, v, true));
  [3, 4].forEach((v, i) => view.setFloat64(56 + i * 8, v, true));
  [-1, 9].forEach((v, i) => view.setInt32(72 + i * 4, v, true));
  const { value } = readCounters(out).get(5)!;
  assert.deepEqual(
    [[...value.last], [...value.least], [...value.most], [...value.bucket]],
    [
      [1.5, 2.5],
      [1, 2],
      [3, 4],
      [-1, 9],
    ],
  );
});

const settled = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

test("missing parts of a tile are asked for together, once; what nobody wants is given up", async () => {
  const asked: string[] = [];
  const aborted: string[] = [];
  const answers: (() => void)[] = [];
  const store = new TileStore<number>({
    maxBytes: 1e6,
    arrived: () => undefined,
    fetch: (rank, level, tile, parts, signal) =>
      new Promise((done) => {
        const name = `${rank}/${level}/${tile}:${parts.join("+")}`;
        asked.push(name);
        signal.addEventListener("abort", () => aborted.push(name));
        answers.push(() => done(new Map(parts.map((p) => [p, { value: p * 10, bytes: 8 }]))));
      }),
  });
  store.begin();
  [1, 2, 2].forEach((lane) => store.want("a", 3, 0, lane));
  store.want("a", 3, 1, 1);
  store.end();
  assert.deepEqual(asked, ["a/3/0:1+2", "a/3/1:1"]);
  store.begin();
  [1, 2, 3].forEach((lane) => store.want("a", 3, 0, lane));
  store.end();
  assert.deepEqual(asked.slice(2), ["a/3/0:3"], "only what is not on its way");
  assert.deepEqual(aborted, ["a/3/1:1"]);
  answers[0]();
  await settled();
  assert.equal(store.get(store.level("a", 3), 0, 2), 20);
  assert.equal(store.get(store.level("a", 3), 1, 1), undefined);
});

test("tiles stay within their bytes, the longest unused go first", async () => {
  const store = new TileStore<number>({
    maxBytes: 10_000,
    arrived: () => undefined,
    fetch: (_rank, _level, tile, parts) =>
      Promise.resolve(new Map(parts.map((p) => [p, { value: tile, bytes: 1500 }]))),
  });
  for (let tile = 0; tile < 20; tile++) {
    store.begin();
    store.get(store.level("a", 0), 0, 0);
    store.want("a", 0, tile, 0);
    store.end();
    await settled();
  }
  assert.ok(store.bytesKept <= 10_000);
  assert.equal(store.get(store.level("a", 0), 0, 0), 0, "used in every frame");
  assert.equal(store.get(store.level("a", 0), 5, 0), undefined);
  assert.equal(store.get(store.level("a", 0), 19, 0), 19);
});

test("a failure is not asked for again at once", async () => {
  let now = 0;
  let n = 0;
  const store = new TileStore<number>({
    maxBytes: 1e6,
    arrived: () => undefined,
    now: () => now,
    fetch: () => (n++, Promise.reject(new Error("no"))),
  });
  const ask = async (): Promise<void> => {
    store.begin();
    store.want("a", 0, 0, 0);
    store.end();
    await settled();
  };
  await ask();
  await ask();
  assert.equal(n, 1);
  now = 5000;
  await ask();
  assert.equal(n, 2);
});

test("names are asked for in one batch", async () => {
  const asked: number[][] = [];
  const names = new Names(
    () => undefined,
    (_rank, ids) => {
      asked.push(ids);
      return Promise.resolve({ names: ids.map((id): [string, number] => [`name ${id}`, 0]) });
    },
  );
  assert.equal(names.get("a", 5), undefined);
  names.get("a", 6);
  names.get("a", 5);
  await settled();
  assert.deepEqual(asked, [[5, 6]]);
  assert.equal(names.get("a", 6), "name 6");
});

test("what is led to is shown in its middle, but not beside what there is to see", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 1e9);
  view.show(5e8, 6e8);
  view.reveal(2e8, 2.1e8);
  assert.equal(Math.round(view.from), 1.55e8);
  view.reveal(1e6, 2e6);
  assert.equal(Math.round(view.from), -1e6, "no more than the margin");
  assert.equal(Math.round(view.span), 1e8);
  view.reveal(1e9 - 5, 1e9);
  assert.equal(Math.round(view.to), 1e9 + 1e6);
  view.show(0, 1e7);
  view.reveal(1.2e9, 1.21e9); // of a rank that was moved there
  assert.ok(view.to > 1e9);
});

test("going to a time keeps the zoom, and makes room to move where all is shown", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 1e9);
  view.centre(5e8);
  assert.equal(Math.round(view.span), 2.5e8);
  assert.equal(Math.round((view.from + view.to) / 2), 5e8);
  view.show(0, 1e6);
  view.centre(7e8);
  assert.equal(Math.round(view.span), 1e6);
  assert.equal(Math.round((view.from + view.to) / 2), 7e8);
});

// --- lanes -------------------------------------------------------------------------------------------------------------

const node = (
  id: string,
  parent: number,
  lane: number,
  extra: Partial<LaneNode> = {},
): LaneNode => ({
  id,
  parent,
  name: id,
  kind: lane < 0 ? "group" : "device",
  lane,
  rows: 1,
  slices: 10,
  device: -1,
  unit: "",
  start: 0,
  end: 100,
  ...extra,
});

const rankNamed = (key: string, extra: Partial<Rank> = {}): Rank => ({
  key,
  rank: 0,
  label: key,
  host: "",
  format: "",
  profiler: "",
  cluster: 0,
  profile: 0,
  file: "",
  state: "ready",
  progress: 1,
  error: "",
  origin_ns: "0",
  start: 0,
  end: 100,
  ...extra,
});

function sample(): {
  tree: LaneTree;
  input: LayoutInput;
  lanes: Map<string, RankLanes>;
  layout: () => string[];
} {
  const lanes = new Map<string, RankLanes>();
  for (const key of ["a", "b"]) {
    lanes.set(
      key,
      new RankLanes(key, [
        node("host", -1, -1),
        node("host/1", 0, 0, { kind: "host", rows: 3 }),
        node("host/1/py", 0, 1, { kind: "python", rows: 30 }),
        node("dev", -1, -1, { device: 0 }),
        node("dev/s1", 3, 2, { device: 0 }),
        node("dev/s2", 3, 3, { device: 0 }),
        node("dev/s3", 3, 4, { device: 0 }),
      ]),
    );
  }
  const tree = new LaneTree();
  const input: LayoutInput = {
    ranks: [rankNamed("a"), rankNamed("b"), rankNamed("c", { state: "waiting" })],
    lanesOf: (key) => lanes.get(key),
  };
  return {
    tree,
    input,
    lanes,
    layout: () => (
      tree.layout(input),
      tree.items.map((i) => (i.kind === "hidden" ? `${i.id}#${i.hidden.length}` : i.id))
    ),
  };
}

test("counters that do not change share a row, which opens them", () => {
  const { tree, lanes, input, layout } = sample();
  const counter = (id: string, parent: number, lane: number, extra: Partial<LaneNode> = {}) =>
    node(id, parent, lane, { kind: "counter", device: 0, ...extra });
  lanes.set(
    "a",
    new RankLanes("a", [
      node("dev", -1, -1),
      counter("dev/hbm", 0, 0),
      counter("dev/freq", 0, 1, { idle: true }),
      node("dev/mem", 0, -1),
      counter("dev/mem/1", 3, 2, { idle: true }),
      counter("dev/mem/2", 3, 3, { idle: true }),
      node("dev/llc", 0, -1),
      counter("dev/llc/1", 6, 4, { idle: true }),
      counter("dev/llc/2", 6, 5),
    ]),
  );
  input.ranks = [rankNamed("a")];
  const closed = ["a", "a|dev", "a|dev/hbm", "a|dev/llc", "a|dev/llc/1", "a|dev/llc/2"];
  assert.deepEqual(layout(), [...closed, "a|dev#idle"], "one alone stays where it is");
  const row = tree.items.find((i) => i.kind === "idle")!;
  assert.deepEqual(row.hidden, ["a|dev/freq", "a|dev/mem/1", "a|dev/mem/2"]);
  tree.setOpen(row, true);
  const opened = [...closed, "a|dev#idle", "a|dev/freq", "a|dev/mem", "a|dev/mem/1", "a|dev/mem/2"];
  assert.deepEqual(layout(), opened);
  tree.setOpen(row, false);
  assert.equal(tree.reveal(input, "a", 3), "a|dev/mem/2");
  assert.deepEqual(layout(), opened, "what leads to one opens it");
});

test("the first rank is open, the others are closed, unread ones have a row", () => {
  const { tree, layout } = sample();
  assert.deepEqual(layout(), [
    "a",
    "a|host",
    "a|host/1",
    "a|host/1/py",
    "a|dev",
    "a|dev/s1",
    "a|dev/s2",
    "a|dev/s3",
    "b",
    "c",
  ]);
  assert.equal(tree.items[9].kind, "unread");
  assert.equal(tree.items[2].height, 3 * ROW_PX + 4);
  assert.equal(tree.items[3].height, PREVIEW_PX, "deep lanes are closed");
  assert.equal(tree.height, tree.items[9].y + tree.items[9].height);
  assert.equal(tree.items[tree.indexAt(tree.items[5].y + 3)].id, "a|dev/s1");
});

test("opening and closing all, and revealing a lane", () => {
  const { tree, input, lanes, layout } = sample();
  layout();
  tree.openAll(input, tree.items[0], false);
  assert.deepEqual(layout(), ["a", "b", "c"]);
  assert.equal(tree.itemOfLane(lanes.get("a")!, 2)?.id, "a", "flows end at what is closed");
  assert.equal(tree.reveal(input, "b", 3), "b|dev/s2");
  assert.ok(layout().includes("b|dev/s2"));
  tree.openAll(input, null, true);
  assert.ok(layout().includes("a|host/1/py") && tree.item("a|host/1/py")!.isOpen);
});

test("hidden lanes leave a row that brings them back", () => {
  const { tree, lanes, layout } = sample();
  tree.hide(["a|dev/s1", "a|dev/s3", "b"]);
  assert.deepEqual(layout(), [
    "a",
    "a|host",
    "a|host/1",
    "a|host/1/py",
    "a|dev",
    "a|dev/s2",
    "a|dev#2",
    "c",
    "hidden#1",
  ]);
  assert.equal(tree.itemOfLane(lanes.get("a")!, 2), undefined, "hidden lanes hide flows");
  tree.show(tree.items[6].hidden);
  assert.equal(layout().filter((id) => id.startsWith("a|dev/")).length, 3);
  tree.show(null);
  assert.equal(layout().length, 10);
});

test("pinned rows: order, same lanes of all ranks, only the outer one of two", () => {
  const { tree, input, layout } = sample();
  layout();
  const item = tree.item("a|dev/s2")!;
  assert.deepEqual(tree.sameAs(input, item), ["a|dev/s2", "b|dev/s2"]);
  tree.pin(tree.sameAs(input, item));
  tree.pin(["a|host"]);
  tree.pin(["a|host/1"]);
  layout();
  assert.deepEqual(
    tree.pins.map((i) => i.id),
    ["a|dev/s2", "b|dev/s2", "a|host", "a|host/1", "a|host/1/py"],
  );
  assert.deepEqual(
    tree.pins.map((i) => i.owner),
    ["a", "b", "a", "", ""],
    "which rank it is of",
  );
  tree.move("^", tree.pinned, "a|host", "a|dev/s2");
  layout();
  assert.equal(tree.pins[0].id, "a|host");
  tree.unpin(tree.sameAs(input, item));
  assert.deepEqual(tree.pinned, ["a|host", "a|host/1"]);
  tree.unpin(null);
  layout();
  assert.equal(tree.pinsHeight, 0);
});

test("order of siblings, filters of ranks and lanes", () => {
  const { tree, input, layout } = sample();
  layout();
  const { parent, ids } = tree.siblings(input, tree.item("a|dev/s1")!);
  tree.move(parent, ids, "a|dev/s3", "a|dev/s1");
  assert.deepEqual(
    layout().filter((id) => id.startsWith("a|dev/")),
    ["a|dev/s3", "a|dev/s1", "a|dev/s2"],
  );
  tree.shownNames = new Set(["dev/s2"]);
  assert.deepEqual(layout(), ["a", "a|dev", "a|dev/s2", "b", "c"]);
  tree.shownRanks = new Set(["a"]);
  assert.deepEqual(layout(), ["a", "a|dev", "a|dev/s2"]);
});

test("merged streams stand where the first of them stood, and come apart again", () => {
  const { lanes, layout } = sample();
  const a = lanes.get("a")!;
  a.addMerged([4, 6], { lane: 40, rows: 2, slices: 20 });
  assert.deepEqual(
    layout().filter((id) => id.startsWith("a|dev/")),
    ["a|dev/s1+dev/s3", "a|dev/s2"],
  );
  assert.equal(a.nodeOfLane(4), 7);
  assert.equal(a.nodeOfLane(40), 7);
  assert.deepEqual(a.lanesBelow(3), [40, 3]);
  a.unmerge(7);
  assert.deepEqual(layout().filter((id) => id.startsWith("a|dev/")).length, 3);
});

test("groups around one thing share its row", () => {
  const lanes = new RankLanes("a", [
    node("host", -1, -1),
    node("p", 0, -1),
    node("cann", 1, -1),
    node("acl", 2, 0),
    node("py", 1, 1),
  ]);
  const tree = new LaneTree();
  const input: LayoutInput = { ranks: [rankNamed("a")], lanesOf: () => lanes };
  tree.layout(input);
  assert.deepEqual(
    tree.items.map((i) => i.label),
    ["a", "host \u203a p", "cann \u203a acl", "py"],
  );
  const { parent, ids } = tree.siblings(input, tree.items[2]);
  assert.deepEqual([parent, ids, headId(tree.items[2])], ["a|p", ["a|cann", "a|py"], "a|cann"]);
  tree.hide(["a|acl"]);
  tree.layout(input);
  assert.deepEqual(
    tree.items.map((i) => (i.kind === "hidden" ? "#" : i.label)),
    ["a", "host \u203a p", "cann", "#", "py"],
  );
});

test("a rank that is being read has the lanes of what is there so far", () => {
  const busy = "0".repeat(510) + "8f";
  const outline = takeOutline({
    origin_ns: "1000",
    ...{ bucket_ns: 2, slices: 65536, start: 1020, end: 1024 },
    lanes: [
      { process: "python 1", name: "Thread 1", slices: 5, busy },
      { process: "python 1", name: "Thread 2", slices: 5, busy },
      { process: "GPU 0", name: "Stream 7", slices: 5, busy },
    ],
  });
  assert.deepEqual([...outline.lanes[0].busy.slice(509)], [0, 136, 255]);
  const { tree, input, layout } = sample();
  const reading = rankNamed("a", { state: "reading" });
  input.ranks = [reading, ...input.ranks.slice(1)];
  assert.deepEqual(layout(), ["a", "b", "c"]); // the second stays closed, as it is when the first is there
  input.outlineOf = (key) => (key === "a" ? outline : undefined);
  layout();
  assert.deepEqual(
    tree.items.map((i) => [i.kind, i.label, i.node, i.depth]),
    [
      ["unread", "a", -1, 0],
      ["outline", "python 1", -1, 1],
      ["outline", "Thread 1", 0, 2],
      ["outline", "Thread 2", 1, 2],
      ["outline", "GPU 0 \u203a Stream 7", 2, 1],
      ["rank", "b", -1, 0],
      ["unread", "c", -1, 0],
    ],
  );
  tree.setOpen(tree.items[0], false);
  assert.deepEqual(layout(), ["a", "b", "c"]);
});

test("what is there so far is where the others are, and begins with them where it is of another time", () => {
  const outline = { originNs: 5000n, bucketNs: 2, start: 10, end: 30, lanes: [] };
  const reading = rankNamed("z", { state: "reading" });
  delete reading.origin_ns;
  forgetReference();
  ranks.set([reading]);
  assert.equal(outlineShift(reading, outline), -10);
  const there = rankNamed("a", { state: "ready", origin_ns: "4990", start: 0, end: 100 });
  ranks.set([there, reading]);
  assert.equal(outlineShift(reading, outline), 10);
  assert.equal(outlineShift(reading, { ...outline, originNs: 900000n }), -10);
  ranks.set([]);
  forgetReference();
});

test("heights follow the window where that is asked for", () => {
  const { tree, layout } = sample();
  const id = idOf("a", "host/1");
  tree.autoHeight.add(id);
  tree.rowsNeeded.set(id, 2);
  layout();
  assert.equal(tree.item(id)!.height, 2 * ROW_PX + 4);
  tree.isAutoAll = true;
  layout();
  assert.equal(tree.item(id)!.height, 3 * ROW_PX + 4, "the mark turns around");
});

test("several hosts are a level of their own", () => {
  const { tree, lanes } = sample();
  tree.layout({
    ranks: [rankNamed("a", { host: "n1" }), rankNamed("b", { host: "n0" })],
    lanesOf: (key) => lanes.get(key),
  });
  assert.deepEqual(
    tree.items.filter((i) => i.kind === "host").map((i) => i.label),
    ["n0", "n1"],
  );
});

test("tens of thousands of lanes are laid out in a moment and found by halving", () => {
  const nodes = [
    node("g", -1, -1),
    ...Array.from({ length: 50_000 }, (_, i) => node(`l${i}`, 0, i)),
  ];
  const lanes = new RankLanes("a", nodes);
  const tree = new LaneTree();
  tree.layout({ ranks: [rankNamed("a")], lanesOf: () => lanes });
  assert.equal(tree.items.length, 50_002);
  assert.equal(tree.items[tree.indexAt(tree.items[40_000].y)].id, tree.items[40_000].id);
});

test("the tree's state survives the address", () => {
  const { tree, layout } = sample();
  tree.opened.set("a|x,y~z%", false);
  tree.hide(["b|host"]);
  tree.pin(["a|dev", "b|dev"]);
  tree.order.set("a|dev", ["a|dev/s3", "a|dev/s1"]);
  tree.shownRanks = new Set(["a", "b"]);
  tree.isAutoAll = true;
  layout();
  const copy = new LaneTree();
  applyTree(copy, treeState(tree));
  assert.deepEqual(treeState(copy), treeState(tree));
  assert.deepEqual([...copy.opened], [["a|x,y~z%", false]]);
  assert.deepEqual(treeState(new LaneTree()), {});
  assert.deepEqual(unpackList(pack(["a,b", "", "c~d%2c"])), ["a,b", "", "c~d%2c"]);
});

// --- ranks in time -----------------------------------------------------------------------------------------------------

test("ranks keep their clocks; one of another day begins with the first", () => {
  forgetReference();
  const epoch = 1_700_000_000_000_000_000n;
  const first = rankNamed("a", { origin_ns: String(epoch), start: 0, end: 1000 });
  const near = rankNamed("b", { origin_ns: String(epoch + 400n), start: 0, end: 1000 });
  const far = rankNamed("c", {
    origin_ns: String(epoch + 86_400_000_000_000n),
    start: 50,
    end: 1000,
  });
  ranks.set([first, near, far]);
  assert.equal(shiftOf(first), 0);
  assert.equal(shiftOf(near), 400);
  assert.equal(autoOffset(near), 0);
  assert.equal(shiftOf(far) + 50, 0);
  offsets.set(new Map([["b", -100]]));
  assert.equal(shiftOf(near), 300);
  ranks.set([near, first, far]);
  assert.equal(shiftOf(first), 0, "the origin of the view stays");
  assert.equal(fromAbsolute(absolute(12345)!), 12345);
  offsets.set(new Map());
  forgetReference();
});

test("aligning moves a rank, or a part of the same rank", () => {
  const base = { ref: { rank: "a", start: 100, dur: 10 }, shift: 0, part: "device/0" };
  const other = { ref: { rank: "b", start: 40, dur: 30 }, shift: 5, part: "device/0" };
  assert.deepEqual([...alignTo(new Map(), base, other, false)!], [["b", 55]]);
  assert.deepEqual([...alignTo(new Map([["b", 5]]), base, other, true)!], [["b", 5 + 110 - 75]]);
  const host = { ref: { rank: "a", start: 90, dur: 1 }, shift: 0, part: "host" };
  assert.deepEqual([...alignTo(new Map(), base, host, false)!], [["a|host", 10]]);
  assert.equal(alignTo(new Map(), base, { ...base }, false), null);
  assert.equal(withOffset(new Map([["a", 1]]), "a", 0).size, 0);
  const moved = movedBetween(new Map([["a", 1]]), new Map([["b", -3.53e6]]));
  assert.deepEqual(moved, [
    ["a", -1],
    ["b", -3.53e6],
  ]);
  assert.equal(
    movedText(moved.slice(1), (key) => `rank ${key}`),
    "rank b moved by \u22123.53 ms",
  );
  assert.equal(movedText([], String), "nothing had to move");
  const many = ["a", "b", "c", "d"].map((key, i): [string, number] => [key, -i * 1e6]);
  assert.equal(movedText(many, String), "4 ranks moved, by 3.00 ms at most");
});

// --- pixels ------------------------------------------------------------------------------------------------------------

const COLOURS = Uint32Array.from({ length: 18 }, (_, i) => (0xff000000 | (i + 1)) >>> 0);
const GROUND = 0xffffffff;
const whole = (width: number, perBucket = 1) => ({ at: 0, perBucket, clipFrom: 0, clipTo: width });

test("slices are drawn at the nearest pixels, with one free between wide neighbours", () => {
  const painter = new RowPainter(20, 1);
  painter.begin(GROUND);
  const tile = laneTile({ start: 0, end: 8, look: 2 }, { start: 8, end: 20, look: 3 });
  painter.add(tile, 0, 2, whole(20), COLOURS, true);
  painter.finish();
  assert.equal(painter.line[0], COLOURS[2]);
  assert.equal(painter.line[6], COLOURS[2]);
  assert.equal(painter.line[7], GROUND);
  assert.equal(painter.line[8], COLOURS[3]);
  assert.equal(painter.line[19], COLOURS[3], "no gap where the image ends");
});

test("nothing vanishes: a thousandth of a pixel is seen, and more of it is stronger", () => {
  const painter = new RowPainter(8, 1);
  painter.begin(0xff000000);
  const bright = new Uint32Array(18).fill(0xffffffff);
  painter.add(
    laneTile(
      { start: 1.1, end: 1.101 },
      { start: 3, end: 3.9 },
      { start: 5, end: 6, count: 40, busy: 128 },
    ),
    0,
    3,
    whole(8),
    bright,
    true,
  );
  painter.finish();
  const light = (px: number): number => painter.line[px] & 255;
  assert.ok(light(1) > 60, "seen");
  assert.ok(light(3) > light(5) && light(5) > light(1), "by busy share");
  assert.equal(light(0), 0);
  assert.equal(painter.nDrawn, 3);
});

test("instants are signs where there is room, and lines where there is not", () => {
  const painter = new RowPainter(40, 1);
  painter.begin(GROUND);
  painter.add(
    laneTile(
      { start: 5, end: 5, look: 17 },
      { start: 7, end: 7, look: 17 },
      { start: 30, end: 30, look: 17 },
    ),
    0,
    3,
    whole(40),
    COLOURS,
    true,
  );
  painter.finish();
  assert.equal(painter.nChevrons, 2);
  assert.notEqual(painter.line[7], GROUND);
  const pixels = new Uint32Array(40 * 18).fill(GROUND);
  painter.copy(pixels, 0, 18);
  assert.equal(pixels[5], COLOURS[17]);
  painter.begin(GROUND);
  painter.hideInstants = true;
  painter.add(laneTile({ start: 5, end: 5, look: 17 }), 0, 1, whole(40), COLOURS, true);
  assert.equal(painter.nChevrons, 0);
});

test("a slice over several tiles is labelled once", () => {
  const painter = new RowPainter(200, 1);
  painter.labels = new LabelList();
  painter.begin(GROUND);
  painter.add(
    laneTile({ start: 10, end: 150 }),
    0,
    1,
    { at: 0, perBucket: 1, clipFrom: 0, clipTo: 100 },
    COLOURS,
    true,
  );
  painter.add(
    laneTile({ start: -90, end: 50 }),
    0,
    1,
    { at: 100, perBucket: 1, clipFrom: 100, clipTo: 200 },
    COLOURS,
    false,
  );
  assert.equal(painter.labels.n, 1);
  assert.deepEqual([painter.labels.x0[0], painter.labels.x1[0]], [10, 150]);
});

test("coverage keeps the busiest bucket of a pixel", () => {
  const line = new Uint32Array(4).fill(0xff000000);
  const busy = new Uint8Array(1024);
  busy[5] = 255;
  addCoverage(
    line,
    4,
    busy,
    { at: 0, perBucket: 0.5, clipFrom: 0, clipTo: 4 },
    0xffffffff,
    0xff000000,
  );
  assert.deepEqual(
    [...line].map((p) => (p & 255) > 0),
    [false, false, true, false],
  );
  // Two buckets to a pixel: one that is busy is half of it.
  const bright = (which: number[]): number => {
    busy.fill(0);
    which.forEach((b) => (busy[b] = 255));
    line.fill(0xff000000);
    addCoverage(
      line,
      4,
      busy,
      { at: 0, perBucket: 0.5, clipFrom: 0, clipTo: 4 },
      0xffffffff,
      0xff000000,
    );
    return line[2] & 255;
  };
  assert.ok(bright([4]) < bright([4, 5]));
});

test("what a closed row shows is tasks of the device, no marks, waits or free time where they are known", () => {
  const node = (lane: number, kind: LaneNode["kind"], look?: number, device = 0) => ({
    lane,
    kind,
    look,
    device,
  });
  const nodes = [
    node(0, "device"),
    node(1, "marks"),
    node(2, "comm"),
    node(3, "overlap", LOOK_FREE),
    node(4, "overlap", LOOK_COMPUTING),
  ];
  const lanes = { nodes, nodeOfLane: (lane: number) => lane } as unknown as RankLanes;
  assert.deepEqual(workingLanes(lanes, [0, 1, 2, 3, 4]), [0]);
  assert.deepEqual(workingLanes(lanes, [2, 3]), [2]);
  assert.deepEqual(workingLanes(lanes, [3, 4]), [4], "of the overlap analysis what is not free");
});

test("a counter keeps its peaks and holds its last value", () => {
  const painter = new CounterPainter();
  painter.resize(10);
  painter.begin();
  painter.add(
    {
      n: 3,
      bucket: Int32Array.of(-1, 2, 6),
      last: Float64Array.of(1, 4, 2),
      least: Float64Array.of(1, 0, 2),
      most: Float64Array.of(1, 9, 2),
    },
    whole(10),
  );
  assert.equal(painter.at(0), 1);
  assert.equal(painter.at(2), 9);
  assert.equal(painter.at(4), 4);
  assert.equal(painter.at(9), 2);
  const pixels = new Uint32Array(100).fill(GROUND);
  painter.paint(pixels, 0, 10, 0, 10, 1, 2);
  assert.deepEqual([painter.least, painter.most], [0, 9]);
  assert.equal(pixels[2], 1, "the peak reaches the top");
});

test("rates of one unit stand on top of one another while their group is closed", () => {
  const node = (unit: string, kind: LaneNode["kind"] = "counter", lane = 3) => ({
    kind,
    unit,
    lane,
  });
  assert.deepEqual(stackedOf([node("MB/s"), node("MB/s", "counter", 4)]), [3, 4]);
  assert.deepEqual(stackedOf([node("MB/s")]), [], "one alone is no stack");
  assert.deepEqual(stackedOf([node("MB/s"), node("KB")]), []);
  assert.deepEqual(stackedOf([node("MHz"), node("MHz")]), [], "frequencies make no sum");
  assert.deepEqual(stackedOf([node("MB"), node("MB")]), [], "reserved holds what is allocated");
  assert.deepEqual(stackedOf([node("MB/s"), node("MB/s", "other")]), []);
  const counter = new CounterPainter();
  counter.resize(10);
  const stack = new StackPainter();
  stack.begin();
  for (const value of [6, 4]) {
    counter.begin();
    const at = Float64Array.of(value);
    counter.add({ n: 1, bucket: Int32Array.of(5), last: at, least: at, most: at }, whole(10));
    stack.add(counter, 10);
  }
  assert.equal(stack.most, 10);
  const pixels = new Uint32Array(100).fill(GROUND);
  stack.paint(pixels, 0, 10, 0, 10, (series) => series + 1);
  const column = (x: number): number[] => Array.from({ length: 10 }, (_, y) => pixels[y * 10 + x]);
  assert.deepEqual(column(7), [2, 2, 2, 2, 1, 1, 1, 1, 1, 1], "the first one at the bottom");
  assert.deepEqual(column(2), Array<number>(10).fill(GROUND), "nothing is known before");
});

test("a picture becomes few rectangles", () => {
  const pixels = Uint32Array.of(
    0xff000001,
    0xff000001,
    GROUND,
    0xff000001,
    0xff000001,
    GROUND,
    GROUND,
    0xff000002,
    GROUND,
  );
  assert.deepEqual(imageAsRects(pixels, 3, 3, GROUND, 1), [
    '<rect x="0" y="0" width="2" height="2" fill="#010000"/>',
    '<rect x="1" y="2" width="1" height="1" fill="#020000"/>',
  ]);
});

test("what is searched for stands out", async () => {
  const q = { text: "mm", matchCase: false, word: false, regex: false, args: false };
  assert.equal(nameTest({ ...q, text: "" }, null), null);
  assert.ok(nameTest(q, null)!("aten::addMM"));
  assert.ok(!nameTest({ ...q, matchCase: true }, null)!("aten::addMM"));
  assert.ok(
    !nameTest({ ...q, word: true }, null)!("aten::addmm") &&
      nameTest({ ...q, word: true }, null)!("aten::mm"),
  );
  const found = { total: 1, ranks: [], names: [["x", 0, 1]] as [string, number, number][] };
  assert.ok(
    nameTest({ ...q, regex: true }, found)!("x") && !nameTest({ ...q, regex: true }, found)!("mm"),
  );
  const names = new Names(
    () => undefined,
    (_rank, ids) =>
      Promise.resolve({ names: ids.map((id): [string, number] => [id === 7 ? "mm" : "add", 0]) }),
  );
  const matches = new Matches(names);
  matches.set(nameTest(q, null));
  matches.begin("a");
  assert.ok(!matches.is(7), "not known yet");
  await settled();
  assert.ok(matches.is(7) && !matches.is(8));
  const painter = new RowPainter(20, 1);
  painter.matches = matches;
  painter.faint = new Uint32Array(18).fill(5);
  painter.begin(GROUND);
  const tile = laneTile({ start: 0, end: 5 }, { start: 10, end: 15 });
  tile.name[1] = 9;
  painter.add(tile, 0, 2, whole(20), COLOURS, true);
  assert.deepEqual([painter.line[1], painter.line[11]], [COLOURS[0], 5]);
});

test("closed lanes show all rows in little room", () => {
  for (const rows of [1, 2, 7, 20, 300]) {
    for (let row = 0; row < rows; row++) {
      const [from, to] = previewSpan(row, rows);
      assert.ok(from >= 2 && to > from && to <= PREVIEW_PX - 2, `${row} of ${rows}: ${from}-${to}`);
    }
  }
  assert.equal(previewRow(3, 1), 0);
  assert.equal(previewRow(21, 20), 19);
});

// --- labels, boxes, flows ----------------------------------------------------------------------------------------------

test("labels: name and duration, name, its beginning, nothing", () => {
  const widths = new TextWidths(() => 6);
  assert.equal(labelFor("aten::mm", 1500, 1, 200, widths), "aten::mm  1.50 \u00b5s");
  assert.equal(labelFor("aten::mm", 1500, 1, 60, widths), "aten::mm");
  assert.equal(labelFor("aten::mm", 1500, 1, 42, widths), "aten:\u2026");
  assert.equal(labelFor("aten::mm", 1500, 1, 26, widths), "");
  assert.equal(labelFor("aten::mm", 1500, 12, 200, widths), "aten::mm  \u00d7 12");
  assert.equal(labelFor("ab\ud83d\ude00cd", 1, 1, 24 + 6, widths), "", "never half of a character");
  assert.equal(
    labelFor("aclnnMatmul_MatMulCommon_MatMulV2", 1, 1, 15 * 6 + 6, widths),
    "aclnnMa\u2026atMulV2",
  );
  assert.equal(cutMiddle("Group abcdef", 6 * 7, widths), "Gro\u2026def");
  const rates = [0, 1].map((n) => withoutParent(`LLC ${n} Read/Hit Rate`, "LLC"));
  assert.deepEqual(
    rates.map((name) => cutMiddle(name, 6 * 7, widths)),
    ["0 R\u2026ate", "1 R\u2026ate"],
    "told apart, as LLC\u2026ate would not be",
  );
  assert.equal(withoutParent("Memory used", "Mem"), "Memory used", "another word");
  assert.equal(withoutParent("HBM", "HBM"), "HBM");
});

test("names of markers give way before the next flag, and do not overlap", () => {
  const widths = new TextWidths(() => 6);
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 1000);
  view.show(0, 1000);
  const marker = (id: number, from: number, to: number | null, name: string): Marker => ({
    id,
    from,
    to,
    name,
    colour: 0,
  });
  const names = (...all: Marker[]) => markerNames(view, all, widths);
  const later = marker(2, 170, null, "second");
  assert.deepEqual(names(marker(1, 100, null, "first step"), later, marker(3, 400, 900, "")), [
    { x: 110, text: "first st\u2026" },
    { x: 180, text: "second" },
    { x: 410, text: "500 ns" },
  ]);
  const near = names(marker(1, 150, null, "first step"), later);
  assert.deepEqual(
    near.map((n) => n.text),
    ["second"],
    "too little says nothing",
  );
  assert.deepEqual(names(marker(1, -50, null, "gone")), [], "its flag is out of sight");
  assert.equal(names(marker(1, -50, 500, "reaches in"))[0].x, 2);
});

test("the rank of what is at the top stays in sight until the next one comes", () => {
  const { tree, layout } = sample();
  layout();
  const { items } = tree;
  const first = items.find((i) => i.kind === "rank")!;
  const next = items.find((i) => i.y > first.y && (i.kind === "rank" || i.kind === "unread"))!;
  const at = (scroll: number) => {
    const region: Region = { isPins: false, top: 0, bottom: 100, scroll, items };
    return stuckRank(
      region,
      items.findIndex((i) => i.y + i.height > scroll),
    );
  };
  assert.equal(at(first.y), null, "its own row is there");
  assert.deepEqual(at(first.y + 40)?.item, first);
  assert.equal(at(first.y + 40)?.top, 0);
  assert.equal(at(next.y - 10)?.top, 10 - HEADER_PX, "pushed away");
  assert.equal(at(next.y), null);
});

test("the header that stays hides what is below it, and a jump ends below it", () => {
  const { tree, layout } = sample();
  layout();
  const scene = new Scene(tree);
  const head = tree.items.find((i) => i.kind === "rank")!;
  const after = tree.items.findIndex((i) => i.y > head.y && ["rank", "unread"].includes(i.kind));
  const item = tree.items[after - 1];
  scene.height = item.y + item.height - head.y;
  scene.scrollTop = head.y + HEADER_PX + 10;
  scene.update();
  assert.equal(scene.itemAt(HEADER_PX - 1)?.item, head);
  assert.notEqual(scene.itemAt(HEADER_PX)?.item, head);
  assert.equal(scene.clearTop(scene.regions[1]), HEADER_PX);
  scene.scrollTo(tree.items[tree.items.indexOf(head) + 1]);
  assert.equal(scene.scrollTop, head.y, "the rank's own row is in sight where there is room");
  scene.height = item.height + HEADER_PX;
  scene.scrollTop = tree.height;
  scene.update();
  scene.scrollTo(item);
  assert.ok(item.y - scene.scrollTop >= HEADER_PX, "below the header");
  assert.ok(item.y + item.height - scene.scrollTop <= scene.height);
});

test("the length of a box stands in the middle of what is in sight of it", () => {
  const view = new Viewport();
  view.resize(1000);
  view.setExtent(0, 1000);
  view.show(0, 1000);
  assert.deepEqual(labelPlace(view, 400, 600, 50), { x0: 475, x1: 525 });
  assert.deepEqual(labelPlace(view, 900, 5000, 50), { x0: 925, x1: 975 });
  assert.deepEqual(labelPlace(view, 0, 10, 50), { x0: 0, x1: 50 }, "not cut by the edge");
  assert.equal(labelPlace(view, 2000, 3000, 50), null);
  const ticks = ticksBeside(view, labelPlace(view, 0, 500, 100), () => 30);
  assert.ok(ticks.some(({ text }) => text !== ""));
  for (const { x, text } of ticks.filter((tick) => tick.text !== "")) {
    assert.ok(x + 34 < 200 || x > 300, `${text} at ${x} is covered`);
  }
});

test("a box holds what it crosses; a closed row stands for all below it", () => {
  const { tree, input, layout } = sample();
  layout();
  const host = tree.item("a|host/1")!;
  const s1 = tree.item("a|dev/s1")!;
  assert.deepEqual(rowsCrossed(host, 2, 3), [0, 1]);
  assert.deepEqual(rowsCrossed(host, 25, 60), [1, 3]);
  const crossed = lanesCrossed(tree.items, 0, host.y + 25, s1.y + 4, true);
  assert.deepEqual(crossed, [
    { rank: "a", lane: 0, rows: [1, 3] },
    { rank: "a", lane: 1, rows: null },
    { rank: "a", lane: 2, rows: [0, 1] },
  ]);
  const b = tree.item("b")!;
  assert.deepEqual(
    lanesCrossed(tree.items, 0, b.y + 2, b.y + 5, false).map((l) => l.lane),
    [0, 1, 2, 3, 4],
  );
  input.pipelineOf = (rank) => (rank.key === "b" ? "Pipeline" : undefined);
  layout();
  const pipeline = tree.items.find((item) => item.kind === "pipeline")!;
  assert.deepEqual(
    lanesCrossed(tree.items, 0, pipeline.y + 2, pipeline.y + 5, false).map((l) => l.rank + l.lane),
    ["b0", "b1", "b2", "b3", "b4"],
    "a pipeline alone is all of its rank",
  );
  delete input.pipelineOf;
  layout();
  const itemOf = (rank: string, lane: number) => tree.itemOfLane(input.lanesOf(rank)!, lane);
  assert.deepEqual(boxExtent(crossed, itemOf, 0), [host.y + 22, s1.y + 22]);
  assert.deepEqual(boxExtent(null, itemOf, 77), [0, 77]);
  assert.equal(boxExtent([], itemOf, 77), null);
});

test("flows leave to the right and come in from the left, also backwards in time", () => {
  const back = curveOf(300, 10, 100, 50);
  assert.ok(back.bend > 0);
  assert.match(svgPath(back), /^M300 10C400 10 0 50 100 50M/);
  assert.ok(isSeen(back, 400, 100));
  assert.ok(!isSeen(curveOf(-500, 10, -400, 20), 400, 100));
  assert.ok(isSeen(curveOf(-1e12, 10, 1e12, 20), 400, 100));
  assert.ok(Math.abs(curveOf(-1e12, 10, 5, 20).x0) < 1e5);
  assert.ok(distanceTo(back, 300, 10) < 1e-9 && distanceTo(back, 300, 90) > 30);
});

test("flows of a window are asked for in steps", () => {
  const [from, to] = quantised(1000, 2000);
  assert.ok(from <= 1000 && to >= 2000);
  assert.deepEqual(quantised(1010, 2010), [from, to], "a small pan asks for nothing new");
});
