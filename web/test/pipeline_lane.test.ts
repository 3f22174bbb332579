import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Ref } from "../src/api/types";
import { LaneTree, PIPELINE_PX } from "../src/model/lanes";
import {
  pipelineOf,
  pipelineRows,
  pipelineRowsOf,
  pipelineShown,
} from "../src/model/pipeline_rows";
import { exact } from "../src/base/time";
import { movedBy, offsets, ranks } from "../src/model/session";
import { blocksOf, pipelineDetails } from "../src/timeline/pipeline_lane";
import { ranksOnMap } from "../src/timeline/draw_axis";
import { ENGLISH } from "../src/pipeline/texts";
import { chartOf, SHAPES } from "./helpers";

const words = { kinds: [], phases: [], causes: [], sources: [] };
const rank = (key: string, n: number, origin: string): Rank =>
  ({ key, rank: n, label: key, state: "ready", origin_ns: origin, host: "" }) as Rank;

test("a rank's pipeline lies on the rank's clock, whatever chart and timeline count from", () => {
  // The chart counts from 1000, its only step begins 50 later; rank a counts from 900 and was moved by 7 in the chart.
  const chart = chartOf(
    [
      { rank: 0, start: 50, end: 80 },
      { rank: 1, start: 60, end: 90 },
    ],
    [
      { rank: 0, stage: 0, pipeline: 0 },
      { rank: 1, stage: 1, pipeline: 0 },
    ],
  );
  chart.originNs = "1000";
  const a = rank("a", 0, "900");
  ranks.set([a]);
  const more = { shapes: SHAPES, words, texts: ENGLISH };
  pipelineRows.set([
    pipelineRowsOf(chart, [["elsewhere", 0]], false, more),
    pipelineRowsOf(
      chart,
      [
        ["a", 7],
        ["", 0],
      ],
      false,
      more,
    ),
  ]);
  const found = pipelineOf(a)!;
  assert.equal(found.row.stage, 0);
  assert.equal(found.row.ops.start[0] + found.shiftNs, 50 + 100 + 7);
  offsets.set(new Map([["a", 5000]]));
  const hit = {
    rank: a,
    row: found.row,
    kind: "ops",
    index: 0,
    from: 0,
    to: 0,
    start: 0,
    end: 0,
  } as const;
  const starts = (kind: "ops" | "others"): string[] =>
    pipelineDetails({ ...hit, kind })!
      .lines.filter(([name]) => /start/i.test(name))
      .map(([, , exact]) => exact);
  assert.equal(starts("ops")[0], exact(50 + 100 + 7 + 5000), "the tip tells what the axis does");
  assert.equal(movedBy(a), 5000);
  offsets.set(new Map());
  assert.equal(pipelineOf(rank("b", 1, "900")), null, "no place in the timeline");
  pipelineShown.set(false);
  assert.equal(pipelineOf(a), null);
  pipelineShown.set(true);
});

test("pipelines stand below the headers of ranks, of closed ones too", () => {
  const tree = new LaneTree();
  const all = [rank("a", 0, "0"), rank("b", 1, "0"), rank("c", 2, "0")];
  tree.layout({
    ranks: all,
    lanesOf: () => undefined,
    pipelineOf: (r) => (r.key === "c" ? undefined : `stage ${r.rank}`),
  });
  assert.deepEqual(
    tree.items.map((i) => [i.kind, i.rank!.key]),
    [
      ["rank", "a"],
      ["pipeline", "a"],
      ["rank", "b"],
      ["pipeline", "b"],
      ["rank", "c"],
    ],
  );
  assert.equal(tree.items[1].height, PIPELINE_PX);
  assert.equal(tree.items[1].label, "stage 0");
});

test("the block of a slice is framed, and the same op of the one rank beside it", () => {
  const at = (steps: number[], stage: number, number: number) =>
    chartOf(
      steps.flatMap((step, i) => [
        { step, microbatch: 0, start: i * 100, end: i * 100 + 10 + stage },
        { step, microbatch: 1, start: i * 100 + 20, end: i * 100 + 30 + stage },
      ]),
      [{ rank: number, stage, pipeline: 0 }],
    );
  const now = at([10, 11], 5, 41);
  now.steps = [10, 11];
  const before = at([1, 2], 5, 41);
  before.steps = [1, 2];
  const apart = at([1], 6, 49);
  apart.steps = [1];
  const all = [rank("now", 41, "0"), rank("before", 41, "0"), rank("apart", 49, "0")];
  ranks.set(all);
  offsets.set(new Map([["before", 7]]));
  const more = { shapes: SHAPES, words, texts: ENGLISH };
  pipelineRows.set(
    [now, before, apart].map((chart, i) => pipelineRowsOf(chart, [[all[i].key, 0]], false, more)),
  );
  const slice = { rank: "now", start: 120, dur: 15 } as Ref;
  const own = { rank: "now", from: 120, to: 135, isOther: false };
  assert.deepEqual(blocksOf(slice, all.slice(0, 2)), [
    own,
    { rank: "before", from: 127, to: 142, isOther: true },
  ]);
  assert.deepEqual(blocksOf(slice, all), [own], "which of several is meant is not known");
  assert.deepEqual(blocksOf(slice, [all[0], all[2]]), [own], "another stage has not the same op");
  assert.deepEqual(blocksOf({ ...slice, dur: 3 }, all), [], "a part of a block is none");
  offsets.set(new Map());
  pipelineRows.set([]);
});

test("the minimap has the ranks of the list", () => {
  const all = [rank("a", 0, "0"), { ...rank("b", 1, "0"), state: "waiting" } as Rank, rank("c", 2, "0")]; // prettier-ignore
  const keys = (shown: string[] | null) =>
    ranksOnMap(all, { shownRanks: shown === null ? null : new Set(shown) }).map((r) => r.key);
  assert.deepEqual(keys(null), ["a", "c"]);
  assert.deepEqual(keys(["b", "c"]), ["c"]);
});
