import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChartTable, Table } from "../src/api/types";
import { fit, LEVELS, LEVELS_FLAT, NameChoice } from "../src/pipeline/labels";
import { Raster, type Glyphs, type Style } from "../src/pipeline/raster";
import { bubbleShare, firstAfter, hit, makeView, unmarkedShare } from "../src/pipeline/rows";
import { counterpart } from "../src/pipeline/below";
import { lightBelow, lightOf, litBy } from "../src/pipeline/overlay";
import type { Sight } from "../src/pipeline/painter";
import {
  halfAt,
  targetAfter,
  targetAt,
  targetOf,
  targetOfGap,
  targetOfText,
  targetOnPath,
  textOfTarget,
  type Target,
} from "../src/pipeline/targets";
import { at, makeScene } from "../src/pipeline/scene";
import { everyNth } from "../src/base/pen";
import { contrast, divergingOf, mix, pixel, rampOf, textOn } from "../src/base/theme";
import { axisFor, duration, exact, significant, tickText } from "../src/base/time";
import { Column, unpack, unzigzag, type Packed } from "../src/pipeline/unpack";
import { linkDetails, opDetails, otherLine, type Words } from "../src/pipeline/details";
import { isDeciding, linkOf, pieceNear, pieceOver, piecesOf } from "../src/pipeline/path";
import { ENGLISH, longestText } from "../src/pipeline/texts";
import { Viewport, WITHIN } from "../src/base/viewport";
import { chartOf, SHAPES } from "./helpers";
import { measuredOf } from "../src/pages/pipeline_figures";
import { opOf } from "../src/pages/pipeline_jump";
import { readState, writeState } from "../src/pages/pipeline_state";
import { isWord } from "../src/words";
import {
  blockTable,
  chosenRows,
  pathTable,
  replayOf,
  withLeftOut,
} from "../src/pages/pipeline_tables";

const choice = { pipeline: 0, step: 0, byPhase: false };

test("times have three significant digits and exact ones on demand", () => {
  assert.equal(duration(12_412_345), "12.4 ms");
  assert.equal(duration(999), "999 ns");
  assert.equal(duration(1_234_567_890), "1.23 s");
  assert.equal(significant(99.96), "100");
  assert.equal(exact(12401233), "12\u2009401\u2009233 ns");
});

test("ticks are round, apart, and written without loss", () => {
  const axis = axisFor(1e6, 1000, 1e9); // 1 ms a pixel, 1 s in all
  assert.equal(axis.stepNs, 100e6);
  assert.equal(axis.unit.name, "ms");
  assert.equal(tickText(300e6, axis), "300");
  const close = axisFor(10, 1000, 5e9); // far from the origin, 10 us in all
  assert.equal(close.stepNs, 1000);
  assert.notEqual(tickText(5e9, close), tickText(5e9 + close.stepNs, close));
  const later = axisFor(300, 1000, 100_500_000); // 300 us in all, at 100 ms: no "100400 µs"
  assert.equal(later.unit.name, "ms");
  assert.equal(tickText(100_400_000, later), "100.40");
});

test("arrow keys go from block to block, and from nowhere to the first in sight", () => {
  const ops = [
    { rank: 0, start: 0, end: 10 },
    { rank: 0, start: 20, end: 30 },
    { rank: 1, start: 12, end: 22 },
    { rank: 1, start: 40, end: 50 },
  ];
  const ranks = [0, 1].map((stage) => ({ rank: stage, stage, pipeline: 0 }));
  const chart = chartOf(ops, ranks);
  const view = makeView(chart, null, choice);
  const after = (from: Target | null, key: string, seen = 0) =>
    targetAfter(view, { chart, against: null }, { from: seen }, from, key);
  const op = (row: number, index: number): Target => ({ row, lane: "ops", index });
  assert.deepEqual(after(null, "ArrowRight"), op(0, 0));
  assert.deepEqual(after(null, "ArrowDown", 15), op(0, 1), "the first that the window has");
  assert.deepEqual(after(op(0, 0), "ArrowRight"), op(0, 1));
  assert.equal(after(op(0, 1), "ArrowRight"), null);
  assert.deepEqual(after(op(0, 1), "ArrowLeft"), op(0, 0));
  assert.deepEqual(after(op(0, 1), "ArrowDown"), op(1, 0), "what runs there at that time");
  assert.deepEqual(after(op(1, 1), "ArrowUp"), op(0, 1), "the last is the next to it");
  assert.equal(after(op(1, 0), "ArrowDown"), null);
});

test("the path of the pipeline that makes the step as long as it is stands out, and is told by its name", () => {
  const chart = chartOf(
    [
      { rank: 0, start: 0, end: 40 },
      { rank: 1, start: 0, end: 60 },
      { rank: 1, start: 60, end: 70 },
    ],
    [0, 1].map((pipeline) => ({ rank: pipeline, stage: 0, pipeline })),
  );
  chart.path = Uint32Array.of(0, 2, 1);
  assert.deepEqual(
    [0, 1, 2].map((op) => isDeciding(chart, op)),
    [false, true, true],
  );
  assert.equal(
    linkDetails(chart, 2, 1, 0, ENGLISH).kind,
    "critical path of pipeline 1, the longest of 2",
  );
  assert.equal(linkDetails(chart, 0, 0, 0, ENGLISH).kind, "critical path of pipeline 0");
});

test("all texts of the chart are words of the page", () => {
  const lacking = Object.keys(ENGLISH).filter((key) => !isWord(`chart.${key}`));
  assert.deepEqual(lacking, []);
});

test("labels: the first text that fits, in two lines where there is room for them", () => {
  const texts = ["7F+13B", "7+13", "7\n13"];
  const width = (text: string): number => text.length;
  assert.equal(fit(texts, 0, LEVELS, 6, width), "7F+13B");
  assert.equal(fit(texts, 0, LEVELS, 4, width), "7+13");
  assert.equal(fit(texts, 0, LEVELS, 3, width), "7\n13");
  assert.equal(fit(texts, 0, LEVELS_FLAT, 3, width), "");
  assert.equal(fit(["123", "123", "123"], 0, LEVELS, 2, width), "");
});

test("names of a picture are shortened together", () => {
  const choice = new NameChoice(2);
  const width = (text: string): number => text.length;
  for (let i = 0; i < 10; i++) {
    choice.count(0, 1, [`${i}B`, `${i}`], i < 5 ? 2 : 1, width);
  }
  assert.equal(choice.first(1), 1);
  choice.count(0, 0, ["7", "7"], 1, width);
  assert.equal(choice.first(0), 0, "what has room has its name, however many have none");
});

test("blocks of one width are named alike", () => {
  const choice = new NameChoice(2);
  // A B is wider than an F.
  const width = (text: string): number => text.length + (text.endsWith("B") ? 0.5 : 0);
  const texts = [...Array.from({ length: 9 }, (_, i) => [`1${i}F`, `1${i}`]), ["13B", "13"]];
  const rooms = texts.map((_, i) => (i === 0 ? 4 : 3 + i / 100));
  texts.forEach((t, i) => choice.count(0, 1, t, rooms[i], width));
  assert.equal(choice.first(1), 0);
  assert.deepEqual(
    texts.map((t, i) => fit(t, choice.level(0, 1, rooms[i]), 2, rooms[i], width)),
    ["10F", "11", "12", "13", "14", "15", "16", "17", "18", "13"],
  );
});

test("a microbatch lights up in what was measured and in what lies below", () => {
  const rows = [0, 1].map((step) => step * 100);
  const chart = chartOf(
    rows.flatMap((t, step) => [
      { step, microbatch: 0, start: t, end: t + 10 },
      { step, microbatch: 1, start: t + 10, end: t + 20 },
    ]),
  );
  const against = chartOf([
    { step: 1, microbatch: 1, start: 0, end: 9 },
    { step: 1, microbatch: 0, start: 9, end: 18 },
  ]);
  const lights = (step: number | null, target: Target): [number[], number[]] => {
    const view = makeView(chart, against, { pipeline: 0, step, byPhase: false });
    const s = { chart, against, view } as Sight;
    const lit = litBy(s, target)!;
    const { ops, theory } = view.rows[0];
    return [
      [...ops.id].filter((op) => lightOf(lit, chart, op) > 0),
      [...theory.id.keys()].filter((i) => lightBelow(lit, s, 0, i) > 0),
    ];
  };
  assert.deepEqual(lights(0, { row: 0, lane: "ops", index: 0 }), [[0], [1]]);
  assert.deepEqual(lights(0, { row: 0, lane: "theory", index: 0 }), [[1], [0]]);
  assert.deepEqual(lights(1, { row: 0, lane: "theory", index: 1 }), [[2], [1]]);
  // Under each of several steps lies the same theory: only that of the step is lit.
  assert.deepEqual(lights(null, { row: 0, lane: "ops", index: 3 }), [[3], [2]]);
  assert.deepEqual(lights(null, { row: 0, lane: "theory", index: 3 }), [[2], [3]]);
});

test("of a pair the microbatch that is pointed at is told from the other", () => {
  const chart = chartOf([
    { microbatch: 7, start: 0, end: 10 },
    { microbatch: 7, microbatch2: 3, start: 10, end: 20 },
    { microbatch: 3, start: 20, end: 30 },
    { microbatch: 8, microbatch2: 4, start: 30, end: 40 },
  ]);
  const charts = { chart, against: null };
  const view = makeView(chart, null, choice);
  const at = (index: number, isSecond?: true): Target => ({
    ...{ row: 0, lane: "ops", index },
    ...(isSecond === undefined ? {} : { isSecond }),
  });
  const light = (target: Target): number[] => {
    const lit = litBy({ ...charts, view } as Sight, target)!;
    return [0, 1, 2, 3].map((op) => lightOf(lit, chart, op));
  };
  assert.deepEqual(halfAt(view, charts, at(1), 12), at(1));
  assert.deepEqual(halfAt(view, charts, at(1), 17), at(1, true));
  assert.deepEqual(halfAt(view, charts, at(0), 9), at(0), "no pair");
  assert.deepEqual(light(at(1)), [2, 2, 1, 0]);
  assert.deepEqual(light(at(1, true)), [1, 2, 2, 0]);
  const key = (from: Target, name: string) => targetAfter(view, charts, { from: 0 }, from, name);
  assert.deepEqual(key(at(0), "ArrowRight"), at(1));
  assert.deepEqual(key(at(1), "ArrowRight"), at(1, true));
  assert.deepEqual(key(at(1, true), "ArrowRight"), at(2));
  assert.deepEqual(key(at(2), "ArrowLeft"), at(1, true));
  assert.deepEqual(key(at(1, true), "ArrowLeft"), at(1));
  assert.deepEqual(key(at(1), "ArrowLeft"), at(0));
});

test("the line of the critical path says and leads to the op that it comes from", () => {
  const ranks = [0, 1].map((r) => ({ rank: r, stage: r, pipeline: 0 }));
  const chart = chartOf(
    [
      { rank: 0, name: "0", microbatch: 0, start: 0, end: 40 },
      { rank: 1, name: "0", microbatch: 0, start: 60, end: 100 },
    ],
    ranks,
  );
  chart.path = Uint32Array.of(1, 0);
  assert.deepEqual(linkOf(chart, 1), { op: 1, computing: 40, waiting: 20, after: 0, wholeNs: 100 });
  assert.equal(linkOf(chart, 0)!.after, -1);
  const words = { kinds: [["F", "forward"]], phases: [], causes: [], sources: [] } as Words;
  const view = makeView(chart, null, choice);
  const { lines } = opDetails(chart, 1, view, words, ENGLISH, 0, false, 0);
  assert.deepEqual(
    lines.filter(([name]) => name === "critical path" || name === "waited before"),
    [
      ["critical path", "40 ns", "40.0 % of it"],
      ["waited before", "20 ns", "after 0 on stage 0"],
    ],
  );
  const pieces = piecesOf(chart, (op) => ({
    from: chart.start[op],
    to: chart.end[op],
    y: 30 + 100 * chart.rank[op],
  }));
  assert.equal(pieceNear(pieces, 20, 31)?.op, 0);
  const between = pieceNear(pieces, 50, 80);
  assert.deepEqual([between?.op, between?.after], [1, 0], "half way from the one row to the other");
  assert.equal(pieceNear(pieces, 20, 80), null);
  assert.equal(pieceOver(pieces, 50, 80)?.after, 0, "over a block of another rank");
  assert.equal(pieceOver(pieces, 54, 80), null, "beside the line: what lies there");
  assert.equal(pieceOver(pieces, 20, 31), null, "along a block the block is hit");
  const close = piecesOf(chart, (op) => ({ from: 40, to: 44, y: 100 * chart.rank[op] }));
  const two = [...close, ...close.map((p) => ({ ...p, x0: p.x0 + 5, x1: p.x1 + 5 }))];
  assert.equal(
    pieceOver(two, 42, 50),
    null,
    "lines that are so close leave what is below in reach",
  );
  assert.deepEqual(linkDetails(chart, 1, 0, 0, ENGLISH), {
    title: "0 \u2192 0",
    kind: "critical path",
    look: 0,
    lines: [
      ["stage", "0 \u2192 1", "rank 0 \u2192 rank 1"],
      ["waited before", "20 ns", ""],
    ],
  });
});

test("the line of the critical path is hit where it crosses what is of other ranks", () => {
  const to: Target = { row: 3, lane: "ops", index: 7 };
  const crossed: Target = { row: 1, lane: "ops", index: 2 };
  const place = { x0: 0, y0: 0, x1: 1, y1: 1 };
  const find = (op: number): Target | null => (op === 5 ? to : null);
  const between = { op: 5, after: 4, ...place };
  for (const below of [crossed, null, { ...crossed, lane: "bubbles" } as Target]) {
    assert.deepEqual(targetOnPath(below, between, find), { ...to, from: 4 });
  }
  assert.equal(targetOnPath(null, { ...between, after: -1 }, find), to);
  assert.equal(targetOnPath(crossed, null, find), crossed);
  assert.equal(targetOnPath(crossed, { ...between, op: 9 }, find), crossed, "of a row not shown");
});

test("a pipeline that makes its step as long as it is is said to", () => {
  const longest: [number, number, number][] = [[1, 2, 4]];
  assert.equal(longestText(longest, 1, 2, ENGLISH), ", the longest of 4");
  assert.equal(longestText(longest, 2, 2, ENGLISH), "");
  assert.equal(longestText(longest, 1, 0, ENGLISH), "");
  assert.equal(longestText(longest, null, 2, ENGLISH), "");
});

test("columns: varints beyond 32 bits and signs", () => {
  const bytes = [0x05, 0xac, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f];
  const column = new Column(btoa(String.fromCharCode(...bytes)));
  assert.equal(column.next(), 5);
  assert.equal(column.next(), 300);
  assert.equal(column.next(), 2 ** 40 - 1);
  assert.deepEqual([0, 1, 2, 3, 4].map(unzigzag), [0, -1, 1, -2, 2]);
});

test("unpacking rebuilds start and end from gaps", () => {
  const pack = (...bytes: number[]): string => btoa(String.fromCharCode(...bytes));
  const packed: Packed = {
    title: "t",
    schedule: "",
    how: "",
    measured: 1,
    untold: "why",
    notes: ["a note"],
    numbers: "",
    unreplayed: "no schedule",
    origin_ns: "9007199254740993",
    ranks: [
      [0, 0, 0, 1],
      [1, 1, 0, 0],
    ],
    windows: [
      [0, 2, 10, 33],
      [0, 1, 40, 50],
    ],
    n: 3,
    labels: [
      ["0", 0, 0, 0, -1, -1, -1, 5, []],
      ["0B", 1, 0, 0, -1, -1, -1, 5, ["0B", "0", "", ""]],
    ],
    runs: [0, 1, 2, 1, 1, 1],
    label: pack(0, 2, 1),
    gap: pack(0, 6, 20),
    dur: pack(20, 40, 0),
    host: pack(0, 2, 0),
    hostdur: pack(8),
    links: { n: 1, from: pack(0), to: pack(4) },
    bubbles: { n: 1, runs: [1, 1, 1], gap: pack(0), dur: pack(20), cause: pack(0), waits: pack(1) },
    others: { n: 2, runs: [1, 1, 2], gap: pack(40, 4), dur: pack(10, 2) },
    path: { n: 2, op: pack(4, 3) },
    unmarked: [[0, 1, 7]],
    overlapped: [[1, 1, 9]],
    parts: [
      [1, "attn(F)", 0, 0, 2, 5],
      [1, "combine(B)", 2, 6, 7, 3],
    ],
  };
  const chart = unpack(packed);
  assert.deepEqual(
    chart.ranks.map((r) => r.isTold),
    [true, false],
  );
  assert.deepEqual(
    chart.labels.map((l) => l.texts),
    [
      ["0", "0", "0"],
      ["0B", "0", "0"],
    ],
  );
  assert.equal(chart.untold, "why");
  assert.deepEqual(chart.notes, ["a note"]);
  assert.equal(chart.unreplayed, "no schedule");
  assert.deepEqual(
    chart.parts.map((p) => [p.name, p.start, p.end, p.row, p.look]),
    [
      ["attn(F)", 15, 20, 0, 0],
      ["combine(B)", 20, 23, 2, 6],
    ],
  );
  assert.deepEqual(chart.steps, [1, 2]);
  assert.deepEqual(chart.windows[0], { pipeline: 0, step: 2, start: 10, end: 33 });
  assert.deepEqual([...chart.start], [0, 13, 10]);
  assert.deepEqual([...chart.end], [10, 33, 20]);
  assert.deepEqual([...chart.rank], [0, 0, 1]);
  assert.equal(chart.hostStart![1], 12);
  assert.equal(chart.hostEnd![1], 16);
  assert.ok(Number.isNaN(chart.hostStart![0]));
  assert.deepEqual([chart.links.from[0], chart.links.to[0]], [0, 2]);
  assert.equal(chart.bubbles.waitsFor[0], 0);
  assert.deepEqual([...chart.others.start], [20, 27]);
  assert.deepEqual([...chart.others.end], [25, 28]);
  assert.deepEqual([...chart.path], [2, 0]);
  assert.deepEqual(chart.unmarked, [{ rank: 0, step: 1, ns: 7 }]);
  assert.deepEqual(chart.overlapped, [{ rank: 1, step: 1, ns: 9 }]);
  assert.equal(chart.originNs, "9007199254740993");
});

test("a view: rows in stage order, gaps by cause, receives left out of the window", () => {
  const ranks = [
    { rank: 7, stage: 1, pipeline: 0 },
    { rank: 3, stage: 0, pipeline: 0 },
  ];
  const chart = chartOf(
    [
      { rank: 0, start: 110, end: 120 },
      { rank: 0, start: 130, end: 150 },
      { rank: 1, start: 100, end: 110 },
      { rank: 1, start: 105, end: 115 }, // overlaps: counts once
      { rank: 1, start: 160, end: 200 },
      { rank: 1, start: 20, end: 210, kind: 7 },
    ],
    ranks,
  );
  const view = makeView(chart, null, choice);
  assert.deepEqual(
    view.rows.map((r) => r.rank),
    [3, 7],
  );
  assert.equal(view.originNs, 100);
  assert.equal(view.windowNs, 100);
  assert.equal(view.rows[0].busyNs, 55);
  assert.deepEqual(view.rows[0].causeNs, [0, 45, 0]);
  assert.deepEqual(view.rows[1].causeNs, [10, 10, 50]);
  assert.equal(view.rows[0].transfers.n, 1);
});

test("work in no op is neither busy nor bubble: the parts add up to the step", () => {
  // Ops 0..40 and 70..100; the device works 45..55 in between: 20 idle, of which 4 may be ops without marks.
  const chart = chartOf([
    { start: 0, end: 40 },
    { start: 70, end: 100 },
  ]);
  chart.isMeasured = true;
  chart.others = {
    n: 1,
    start: Float64Array.of(45),
    end: Float64Array.of(55),
    rank: Uint32Array.of(0),
    step: Float64Array.of(0),
  };
  chart.bubbles = {
    n: 2,
    start: Float64Array.of(40, 55),
    end: Float64Array.of(45, 70),
    rank: Uint32Array.of(0, 0),
    step: Float64Array.of(0, 0),
    cause: Uint8Array.of(1, 1),
    waitsFor: Int32Array.of(-1, -1),
  };
  chart.unmarked = [
    { rank: 0, step: 0, ns: 4 },
    { rank: 0, step: 1, ns: 9 },
  ];
  const [row] = makeView(chart, null, choice).rows;
  assert.deepEqual([row.busyNs, row.otherNs, row.causeNs[1]], [70, 10, 20]);
  assert.equal(row.busyNs + row.otherNs + row.causeNs[1], row.windowNs);
  assert.equal(bubbleShare([row]), 0.2);
  assert.equal(unmarkedShare([row]), 0.04);
  const view = makeView(chart, null, choice);
  assert.deepEqual(targetOf(view, 0, 50), { row: 0, lane: "others", index: 0 });
  assert.deepEqual(targetOf(view, 0, 60), { row: 0, lane: "bubbles", index: 1 });
  const { start, end } = view.rows[0].bubbles;
  const [from, to] = [start[1] + view.originNs, end[1] + view.originNs];
  assert.deepEqual(targetOfGap(view, 0, from, to + 1), { row: 0, lane: "bubbles", index: 1 });
  assert.equal(targetOfGap(view, 0, from, to + 100), null, "only a whole gap");
});

test("ops that overlap have half of the row each, and are found there; small overlaps are differences of clocks", () => {
  // A pair measured apart: 100..200 beside 120..210; then 300..400, which the next overlaps by a tenth of it at most.
  const chart = chartOf([
    { start: 0, end: 90 },
    { start: 100, end: 200 },
    { start: 120, end: 210 },
    { start: 300, end: 400 },
    { start: 395, end: 500 },
  ]);
  const view = makeView(chart, null, choice);
  const [row] = view.rows;
  assert.deepEqual([...row.tiers!.of], [0, 1, 2, 0, 0]);
  assert.deepEqual(
    row.tiers!.lanes.map((l) => [...l.id]),
    [[0, 3, 4], [1], [2]],
  );
  const scene = makeScene(view, SHAPES);
  const same = (v: number): number => v;
  const viewport = { width: 500, nsPerPx: 1, ns: same, x: same } as unknown as Viewport;
  const at = (ns: number, y: number): number | undefined =>
    targetAt(view, scene, viewport, viewport.x(ns), y)?.index;
  assert.equal(at(150, 4), 1);
  assert.equal(at(150, scene.blockH - 4), 2);
  assert.equal(at(50, 4), 0);
  assert.equal(makeView(chartOf([{ start: 0, end: 9 }]), null, choice).rows[0].tiers, null);
});

test("theory lies under the measurement from the step's start", () => {
  const chart = chartOf([
    { start: 1000, end: 1100, step: 5 },
    { start: 2000, end: 2130, step: 6 },
  ]);
  const theory = chartOf([{ start: 0, end: 90, step: 1 }]);
  const one = makeView(chart, theory, { ...choice, step: 6 });
  assert.deepEqual([one.rows[0].theory.start[0], one.rows[0].theory.end[0]], [0, 90]);
  const all = makeView(chart, theory, { ...choice, step: null });
  assert.deepEqual([...all.rows[0].theory.start], [0, 1000]);
  assert.equal(all.windowNs, 230);
});

test("finding what is under the pointer", () => {
  const chart = chartOf([
    { start: 0, end: 100 },
    { start: 10, end: 20 },
    { start: 120, end: 121 },
  ]);
  const lane = makeView(chart, null, choice).rows[0].ops;
  assert.equal(hit(lane, 15, 0), 1, "the one inside");
  assert.equal(hit(lane, 50, 0), 0);
  assert.equal(hit(lane, 110, 1), -1);
  assert.equal(hit(lane, 119, 2), 2, "a short one within reach");
  assert.equal(firstAfter(lane, 50), 0);
});

test("slices and ops: times of the host are looked for on the host, those of the device on the device", () => {
  const chart = chartOf([
    { start: 100, end: 200 },
    { start: 200, end: 300 },
    { start: 210, end: 220 }, // inside of the one before
    { start: 400, end: 500 },
  ]);
  const place = (from: number, to: number, isHost: boolean | null) => ({
    rankRow: 0,
    from,
    to,
    isHost,
  });
  assert.equal(opOf(chart, place(110, 120, true)), 0, "one clock: by the only times there are");
  chart.hostStart = Float64Array.of(10, 40, 45, 110);
  chart.hostEnd = Float64Array.of(30, 60, 50, 150);
  assert.equal(opOf(chart, place(110, 150, true)), 3, "itself");
  assert.equal(opOf(chart, place(110, 150, false)), 0, "the same span on the device");
  assert.equal(opOf(chart, place(41, 42, true)), 1, "a call in it");
  assert.equal(opOf(chart, place(46, 47, true)), 2, "the innermost");
  assert.equal(opOf(chart, place(200, 300, false)), 1);
  assert.equal(opOf(chart, place(212, 215, false)), 2);
  assert.equal(opOf(chart, place(190, 290, false)), 1, "most of it");
  assert.equal(opOf(chart, place(350, 360, false)), -1);
  assert.equal(opOf(chart, place(70, 80, true)), -1, "between launches");
});

test("the viewport keeps the time under the pointer and never leaves the chart", () => {
  const v = new Viewport(WITHIN);
  v.resize(100);
  v.setExtent(0, 1000);
  v.zoom(2, 25);
  assert.equal(v.ns(25), 250);
  v.pan(-1000);
  assert.equal(v.from, 0);
  v.pan(1e6);
  assert.equal(Math.round(v.to), 1000);
  v.zoom(1e-9, 0);
  assert.ok(v.isFit);
});

test("another chart is seen through the same window, as far as it has it", () => {
  const v = new Viewport(WITHIN);
  v.resize(100);
  v.setExtent(0, 10_000);
  v.show(5000, 7000);
  v.replaceExtent(0, 6000);
  assert.deepEqual([v.from, v.to].map(Math.round), [4000, 6000]);
  v.replaceExtent(0, 1000);
  assert.deepEqual([v.from, v.to].map(Math.round), [0, 1000]);
  v.replaceExtent(0, 3000);
  assert.deepEqual([v.from, v.to].map(Math.round), [0, 3000], "everything stays everything");
  v.zoom(1e9, 50);
  assert.equal(Math.round(v.span), WITHIN.leastSpanNs);
});

// --- pixels ------------------------------------------------------------------------------------------------------

const colours = new Uint32Array(16).map((_, i) => 0xff000001 + i);
const style: Style = { colours, gap: 1, gapFrom: 3, radius: 0, runGap: 4 };

function painted(
  ops: { start: number; end: number; kind?: number }[],
  width: number,
  height: number,
  pxPerNs: number,
): Raster {
  const raster = new Raster(width, height);
  const lane = makeView(chartOf(ops), null, choice).rows[0].ops;
  raster.lane(lane, 0, height, { startNs: 0, pxPerNs }, style);
  return raster;
}

test("a wide block is drawn with a gap to its neighbour", () => {
  const raster = painted(
    [
      { start: 0, end: 10 },
      { start: 10, end: 20, kind: 1 },
    ],
    30,
    2,
    1,
  );
  assert.deepEqual(
    [...raster.pixels.slice(0, 22)],
    [...Array<number>(9).fill(colours[0]), 0, ...Array<number>(9).fill(colours[1]), 0, 0, 0],
  );
  assert.deepEqual(raster.pixels.slice(0, 30), raster.pixels.slice(30, 60));
});

test("nothing vanishes: one op of a nanosecond in a second", () => {
  const raster = painted(
    [
      { start: 0, end: 1e9 * 0.1 },
      { start: 5e8, end: 5e8 + 1, kind: 1 },
      { start: 9e8, end: 1e9 },
    ],
    100,
    4,
    1e-7,
  );
  assert.ok(raster.pixels.includes(colours[1]));
});

test("thin blocks become stacked shares of time", () => {
  // Half a pixel forward, a quarter backward, a quarter idle, again and again.
  const ops = [];
  for (let i = 0; i < 400; i++) {
    ops.push({ start: i * 4, end: i * 4 + 2 }, { start: i * 4 + 2, end: i * 4 + 3, kind: 1 });
  }
  const raster = painted(ops, 400, 8, 0.25);
  const count = (colour: number): number => [...raster.pixels].filter((p) => p === colour).length;
  assert.ok(Math.abs(count(colours[0]) / (400 * 8) - 0.5) < 0.02);
  assert.ok(Math.abs(count(colours[1]) / (400 * 8) - 0.25) < 0.02);
  // Forward stands on the base line.
  assert.equal(raster.pixels[7 * 400 + 200], colours[0]);
});

test("groups of thin blocks are the same shares, a lone look among thousands is seen", () => {
  const ops = [];
  for (let i = 0; i < 40_000; i++) {
    ops.push({ start: i * 4, end: i * 4 + 2 }, { start: i * 4 + 2, end: i * 4 + 3, kind: 1 });
  }
  ops.splice(30_000, 0, { start: 60_003, end: 60_003, kind: 2 });
  const raster = painted(ops, 400, 8, 0.0025);
  const count = (colour: number): number => [...raster.pixels].filter((p) => p === colour).length;
  assert.ok(Math.abs(count(colours[0]) / (400 * 8) - 0.5) < 0.02);
  assert.ok(Math.abs(count(colours[1]) / (400 * 8) - 0.25) < 0.02);
  assert.ok(count(colours[2]) > 0, "it took no time, and is there");
});

test("a long block among thousands of thin ones is drawn as itself", () => {
  const ops = [];
  for (let i = 0; i < 2000; i++) {
    ops.push({ start: i, end: i + 0.5 });
  }
  ops.push({ start: 2000, end: 4000, kind: 1 });
  for (let i = 4000; i < 6000; i++) {
    ops.push({ start: i, end: i + 0.5 });
  }
  const raster = painted(ops, 300, 4, 0.05);
  assert.equal(raster.pixels[150], colours[1]);
  assert.equal(raster.pixels[100], colours[1]);
  assert.equal(raster.pixels[198], colours[1]);
  assert.equal(raster.pixels[3 * 300 + 50], colours[0], "shares stand on the base line");
  assert.equal(raster.pixels[50], 0, "half of the time is idle");
});

test("hatching skips what is too thin and keeps the rest", () => {
  const ops = [];
  for (let i = 0; i < 3000; i++) {
    ops.push({ start: i * 2, end: i * 2 + 1 });
  }
  ops.push({ start: 7000, end: 8000 });
  const lane = makeView(chartOf(ops), null, choice).rows[0].bubbles;
  const raster = new Raster(400, 6);
  raster.hatch(lane, 0, 6, { startNs: 0, pxPerNs: 0.05 }, 1, 6, SHAPES.hatches);
  assert.ok([...raster.pixels.slice(300, 350)].includes(1), "the gap of 1000");
  assert.ok(![...raster.pixels.slice(0, 290)].includes(1));
});

test("all pipelines stand below one another; stages that nobody measured get a row of the theory", () => {
  const ranks = [
    { rank: 0, stage: 0, pipeline: 0 },
    { rank: 1, stage: 0, pipeline: 1 },
  ];
  const chart = chartOf(
    [
      { rank: 0, start: 10, end: 20 },
      { rank: 1, start: 5, end: 25 },
    ],
    ranks,
  );
  const theory = chartOf(
    [
      { rank: 0, start: 0, end: 5 },
      { rank: 1, start: 5, end: 10 },
    ],
    [
      { rank: 0, stage: 0, pipeline: 0 },
      { rank: 1, stage: 1, pipeline: 0 },
    ],
  );
  const view = makeView(chart, theory, { ...choice, pipeline: null });
  assert.deepEqual(
    view.rows.map((r) => [r.pipeline, r.stage, r.rank]),
    [
      [0, 0, 0],
      [0, 1, -1],
      [1, 0, 1],
      [1, 1, -1],
    ],
  );
  assert.equal(view.originNs, 5);
  assert.deepEqual(
    [view.rows[0].theory.start[0], view.rows[2].theory.start[0]],
    [5, 0],
    "each theory from its own start",
  );
  const scene = makeScene(view, SHAPES);
  assert.equal(scene.headings.length, 2);
  assert.equal(at(scene, scene.headings[1].top + 2), null, "a heading is no row");
  assert.deepEqual(at(scene, scene.tops[2] + 1), { row: 2, lane: "ops" });
  assert.ok(
    makeScene(view, SHAPES, 10).height < scene.height,
    "lower rows where there is little room",
  );
  const roomy = makeScene(view, SHAPES, 2 * scene.height);
  assert.ok(roomy.blockH > 1.9 * scene.blockH && roomy.height <= 2 * scene.height, "higher ones");
  assert.equal(makeScene(view, SHAPES, 100 * scene.height).blockH, 4 * scene.blockH);
  // What lies below a block that has a name can have one, too.
  const lower = makeScene(view, { ...SHAPES, sizes: [[1000, 20, 2, 12, 8, 8]] });
  assert.equal(lower.theoryH, SHAPES.name_height);
  const few: typeof SHAPES.sizes = [[1000, 16, 2, 10, 6, 4]];
  const named = makeScene(view, { ...SHAPES, sizes: few }).height;
  const tight = makeScene(view, { ...SHAPES, sizes: few }, named - 4);
  assert.equal(tight.theoryH, 10, "but for rows that would go out of sight");
});

test("what a stage waited for the longest", () => {
  const ranks = [
    { rank: 0, stage: 0, pipeline: 0 },
    { rank: 1, stage: 1, pipeline: 0 },
  ];
  const chart = chartOf(
    [
      { rank: 0, start: 0, end: 40 },
      { rank: 1, start: 0, end: 10 },
      { rank: 1, start: 50, end: 60 },
    ],
    ranks,
  );
  chart.bubbles = {
    n: 1,
    start: Float64Array.of(10),
    end: Float64Array.of(50),
    rank: Uint32Array.of(1),
    step: Float64Array.of(0),
    cause: Uint8Array.of(1),
    waitsFor: Int32Array.of(0),
  };
  assert.deepEqual(makeView(chart, null, choice).rows[1].waits, { stage: 0, ns: 30 });
});

test("text stays inside the image", () => {
  const glyphs: Glyphs = {
    height: 3,
    get: () => ({ advance: 4, width: 4, mask: new Uint8Array(12).fill(255) }),
  };
  const raster = new Raster(10, 3);
  raster.text("1234", 1, -1, glyphs, 5);
  assert.equal([...raster.pixels].filter((p) => p === 5).length, 9 * 2);
});

test("hatching tells the causes apart", () => {
  const lane = makeView(
    chartOf([
      { start: 50, end: 60 },
      { start: 90, end: 91 },
      { start: 99, end: 100 },
    ]),
    null,
    choice,
  ).rows[0].bubbles;
  const of = (cause: number): string => {
    const raster = new Raster(100, 6);
    const one = { ...lane, look: new Uint8Array(lane.n).fill(cause) };
    raster.hatch(one, 0, 6, { startNs: 0, pxPerNs: 1 }, 1, 6, SHAPES.hatches);
    return raster.pixels.join("");
  };
  assert.equal(new Set([of(0), of(1), of(2)]).size, 3);
});

test("rows and lanes by y", () => {
  const chart = chartOf([
    { start: 0, end: 10 },
    { start: 3, end: 4, kind: 6 },
  ]);
  const scene = makeScene(makeView(chart, chartOf([{ start: 0, end: 5 }]), choice), SHAPES);
  assert.deepEqual(at(scene, 1), { row: 0, lane: "ops" });
  assert.deepEqual(at(scene, scene.theoryY), { row: 0, lane: "theory" });
  assert.deepEqual(at(scene, scene.transferY), { row: 0, lane: "transfers" });
  assert.equal(at(scene, -1), null);
  assert.equal(at(scene, scene.height), null);
});

test("colours", () => {
  assert.equal(pixel("#123456"), 0xff563412);
  assert.equal(mix(pixel("#ffffff"), pixel("#000000"), 0.5), 0xff7f7f7f);
  assert.equal(mix(pixel("#204060"), pixel("#ffffff"), 1), pixel("#204060"));
  assert.equal(textOn("#195283"), "#ffffff");
  assert.equal(textOn("#f3e4a1"), "#14181d");
});

test("text on any cell of a matrix can be read, and labels stand wherever there is room", () => {
  const light = { panel: "#f6f7f9", accent: "#2f6bd0", ink: "#14181d" };
  const dark = { panel: "#1c2127", accent: "#6fa2f5", ink: "#e8ebee" };
  for (const theme of [light, dark]) {
    for (const ground of [...rampOf(theme), ...divergingOf(theme, "#c2303f")]) {
      const found = contrast(textOn(ground), ground);
      assert.ok(found >= 4.5, `${textOn(ground)} on ${ground}: ${found.toFixed(2)}`);
    }
  }
  for (let grey = 0; grey < 256; grey++) {
    const ground = `#${grey.toString(16).padStart(2, "0").repeat(3)}`;
    assert.ok(contrast(textOn(ground), ground) >= 4.5, ground);
  }
  assert.deepEqual(
    [everyNth(20, 18), everyNth(18, 18), everyNth(17, 18), everyNth(1, 18)],
    [1, 1, 2, 18],
  );
});

test("tables of a chart: rows of what is shown, and which pipeline a row is of where several stand together", () => {
  const chart = chartOf(
    [],
    [
      { rank: 0, stage: 0, pipeline: 0 },
      { rank: 1, stage: 0, pipeline: 1 },
    ],
  );
  const stages = {
    name: "PipelineBubble",
    title: "",
    columns: [
      ["step", "int", "", false],
      ["stage", "int", "", false],
      ["rank", "int", "", false],
    ] as never,
    rows: [
      [1, 0, 0],
      [1, 0, 1],
      [2, 0, 0],
      [2, 0, 1],
    ],
  };
  const waits = {
    name: "PipelineWaits",
    title: "",
    columns: [
      ["step", "int", "", false],
      ["stage", "int", "", false],
      ["other", "int", "ns", false],
    ] as never,
    rows: [
      [1, 0, 10],
      [1, 0, 11],
      [2, 0, 20],
      [2, 0, 21],
    ],
  };
  assert.deepEqual(chosenRows(waits, stages, chart, 2, 1).rows, [[2, 0, 21]]);
  const both = chosenRows(waits, stages, chart, 1, null);
  assert.deepEqual(
    both.columns.map(([name]) => name),
    ["step", "pipeline", "stage", "other"],
  );
  assert.deepEqual(both.rows, [
    [1, 0, 0, 10],
    [1, 1, 0, 11],
  ]);
  assert.deepEqual(chosenRows(stages, stages, chart, null, 0).rows, [
    [1, 0, 0],
    [2, 0, 0],
  ]);
});

test("the links of the critical path: where each is, and all of them are the step", () => {
  const ranks = [
    { rank: 0, stage: 0, pipeline: 0, isTold: true },
    { rank: 4, stage: 1, pipeline: 0, isTold: true },
  ];
  const chart = chartOf(
    [
      { rank: 0, step: 1, start: 100, end: 200, name: "0" },
      { rank: 0, step: 1, start: 200, end: 300, name: "1" }, // not on the path
      { rank: 1, step: 1, start: 190, end: 350, name: "0" }, // began before its input was there
      { rank: 1, step: 1, start: 360, end: 400, name: "0B" },
    ],
    ranks,
  );
  chart.path = Uint32Array.from([3, 2, 0]);
  const table = pathTable(chart, 1, null, (kind) => `kind ${kind}`);
  assert.deepEqual(
    table.columns.map(([name]) => name),
    ["stage", "rank", "op", "kind", "start", "computing", "waiting before", "row"],
  );
  assert.deepEqual(table.rows, [
    [0, 0, "0", "kind 0", 0, 100, 0, 0],
    [1, 4, "0", "kind 0", 90, 150, 0, 2],
    [1, 4, "0B", "kind 0", 260, 40, 10, 3],
  ]);
  const sum = table.rows.reduce((all, row) => all + Number(row[5]) + Number(row[6]), 0);
  assert.equal(sum, 300, "the whole of the step");
  assert.deepEqual(pathTable(chart, null, null, String).rows[1], [
    1,
    1,
    4,
    "0",
    "0",
    90,
    150,
    0,
    2,
  ]);
  assert.deepEqual(pathTable(chart, 2, null, String).rows, []);
  const blocks = blockTable(chart, 1, 0, (kind) => `kind ${kind}`, "yes");
  assert.deepEqual(
    blocks.columns.map(([name]) => name),
    [
      ...["stage", "rank", "op", "kind", "microbatch"],
      ...["start", "end", "duration", "critical path", "row"],
    ],
  );
  assert.deepEqual(
    blocks.rows.map((row) => row.filter((_, i) => i !== 4)),
    [
      [0, 0, "0", "kind 0", 0, 100, 100, "yes", 0],
      [0, 0, "1", "kind 0", 100, 200, 100, "", 1],
      [1, 4, "0", "kind 0", 90, 250, 160, "yes", 2],
      [1, 4, "0B", "kind 0", 260, 300, 40, "yes", 3],
    ],
  );
});

test("a row of other schedules lays below what its figures are of", () => {
  assert.deepEqual(replayOf("1f1b (replayed)"), { under: "replay", form: null });
  assert.deepEqual(replayOf("1f1b, stages balanced"), { under: "theory:1f1b", form: null });
  assert.equal(replayOf("zb-h1").form?.schedule, "zb-h1");
  assert.equal(replayOf("interleaved, 3 chunks").form?.chunks, 3);
});

test("schedules that cannot be compared stand after the others, each with its reason", () => {
  const replayed = {
    name: "PipelineReplay",
    title: "",
    columns: [
      ["schedule", "text", "", false],
      ["gain", "int", "ns", false],
    ],
    rows: [["1f1b (replayed)", 0]],
    total: 1,
    offset: 0,
  } as Table;
  const leftOut = {
    name: "PipelineNotReplayed",
    title: "",
    columns: [
      ["schedule", "text", "", false],
      ["why", "text", "", false],
    ],
    rows: [["dualpipe", "needs an even number of microbatches"]],
  } as ChartTable;
  const both = withLeftOut(replayed, leftOut);
  assert.deepEqual(both.rows, [
    ["1f1b (replayed)", 0, ""],
    ["dualpipe", null, "needs an even number of microbatches"],
  ]);
  assert.equal(both.total, 2);
  assert.equal(withLeftOut(replayed, undefined), replayed, "none: no column of reasons");
});

test("gaps are bubble only where the chart tells of one", () => {
  const chart = chartOf([
    { start: 0, end: 40 },
    { start: 60, end: 100 },
  ]);
  assert.equal(bubbleShare(makeView(chart, null, choice).rows), 0.2);
  chart.isMeasured = true; // the device worked in the gap: no bubble in the file
  assert.equal(bubbleShare(makeView(chart, null, choice).rows), 0);
  assert.equal(measuredOf(makeView(chart, null, choice)).bubble, 0, "nor beside a simulation");
  chart.ranks[0].isTold = false;
  assert.equal(bubbleShare(makeView(chart, null, choice).rows), null);
  assert.equal(measuredOf(makeView(chart, null, choice)).bubble, null);
});

test("parts of ops lie in three rows below them", () => {
  const chart = chartOf([{ start: 0, end: 40 }]);
  chart.parts = [
    { op: 0, name: "attn(F)", row: 0, look: 0, start: 0, end: 10 },
    { op: 0, name: "mlp(W)", row: 1, look: 3, start: 5, end: 20 },
    { op: 0, name: "combine(F)", row: 2, look: 6, start: 10, end: 40 },
  ];
  const view = makeView(chart, null, choice);
  assert.deepEqual(
    view.rows[0].parts.map((lane) => [lane.n, lane.id[0]]),
    [
      [1, 0],
      [1, 1],
      [1, 2],
    ],
  );
  const scene = makeScene(view, SHAPES);
  assert.ok(scene.partH > 0 && scene.pitch >= scene.partsY + 3 * scene.partPitch);
  assert.equal(
    makeScene(makeView(chartOf([{ start: 0, end: 40 }]), null, choice), SHAPES).partH,
    0,
  );
});

test("a block that is kept lit stands in the address by what it is", () => {
  const chart = chartOf(
    [
      { rank: 0, step: 1, start: 100, end: 110, microbatch: 0 },
      { rank: 1, step: 1, start: 112, end: 122, microbatch: 0, microbatch2: 1 },
      { rank: 1, step: 1, start: 125, end: 130, microbatch: 1 },
    ],
    [
      { rank: 40, stage: 0, pipeline: 0 },
      { rank: 41, stage: 1, pipeline: 0 },
    ],
  );
  const view = makeView(chart, chart, { pipeline: 0, step: 1, byPhase: false });
  const all: Target[] = [
    { row: 0, lane: "ops", index: 0 },
    { row: 1, lane: "ops", index: 0, isSecond: true },
    { row: 1, lane: "bubbles", index: 1 },
    { row: 1, lane: "theory", index: 1 },
  ];
  assert.equal(textOfTarget(view, all[0]), "ops:40:0,10");
  assert.equal(textOfTarget(view, all[1]), "ops:41:12,22:2");
  for (const target of all) {
    assert.deepEqual(targetOfText(view, textOfTarget(view, target)), target);
  }
  const alone = makeView(chart, null, { pipeline: 0, step: 1, byPhase: false });
  for (const gone of ["theory:41:25,30", "ops:42:0,10", "ops:40:0,11", "names:40:0,10", ""]) {
    assert.equal(targetOfText(alone, gone), null, gone);
  }
});

test("while the chart is on its way the address keeps what it asked for", () => {
  const asked = {
    pipeline: "1",
    step: "2",
    under: "beside:1",
    lit: "ops:41:12,22",
    panel: "simulate",
  };
  writeState(asked);
  assert.deepEqual(readState(null, "ops:41:12,22"), asked);
  writeState({ ...asked, panel: "nothing" });
  assert.equal(readState(null, null).panel, undefined);
});

test("the same op in the chart below: by stage, step, kind, microbatch, chunk and place", () => {
  const F = 0;
  const B = 1;
  const ranks = [{ rank: 0, stage: 0, pipeline: 0 }];
  const opsAt = (starts: [step: number, kind: number, microbatch: number, start: number][]) =>
    chartOf(
      starts.map(([step, kind, microbatch, start]) => ({
        step,
        kind,
        microbatch,
        start,
        end: start + 10 + kind,
      })),
      ranks,
    );
  const measured = opsAt([
    [1, F, 0, 100],
    [1, B, 0, 120],
    [1, F, -1, 140],
    [1, F, -1, 155],
    [2, F, 0, 200],
    [2, B, 1, 220],
  ]);
  const other = opsAt([
    [1, F, 0, 1000],
    [1, B, 0, 1015],
    [1, F, -1, 1041],
    [1, F, -1, 1052],
    [2, F, 0, 1200],
  ]);
  const charts = { chart: measured, against: other };
  const view = makeView(measured, other, { pipeline: 0, step: null, byPhase: false });
  const [{ ops, theory }] = view.rows;
  const pairs = Array.from({ length: ops.n }, (_, index) => {
    const found = counterpart(view, charts, { row: 0, lane: "ops", index });
    assert.ok(found === null || found.lane === "theory");
    return found === null ? null : [ops.start[index], theory.start[found.index]];
  });
  // Each step of the other lies below that of its number, from the same start.
  assert.deepEqual(pairs, [[0, 0], [20, 15], [40, 41], [55, 52], [100, 100], null]);
  const back = counterpart(view, charts, { row: 0, lane: "theory", index: 3 });
  assert.deepEqual(back, { row: 0, lane: "ops", index: 3 });
  const gap: Target = { row: 0, lane: "bubbles", index: 0 };
  assert.equal(counterpart(view, charts, gap), null);
  assert.equal(counterpart(view, { chart: measured, against: null }, { ...gap, lane: "ops" }), null); // prettier-ignore
});

test("how the same op there differs is said from the block that is looked at", () => {
  const said = (startNs: number, durationNs: number) =>
    otherLine("before", { startNs, durationNs }, 10_400_000, ENGLISH);
  assert.deepEqual(said(-700_000, -1_860_000), [
    "before",
    "starts 700 \u00b5s earlier, takes 1.86 ms less",
    "10.4 ms",
  ]);
  assert.equal(said(5, 6)[1], "starts 5 ns later, takes 6 ns longer");
  assert.equal(said(0, 0)[1], "starts at the same time, takes as long");
});
