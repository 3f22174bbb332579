/** Where each row's lanes lie, in CSS pixels from the plot's top. Of several pipelines each has a heading above its rows. */
import type { RowSize, Shapes } from "./model";
import type { View } from "./rows";

export interface Scene {
  blockH: number;
  /** Rows of parts below the blocks: forward, backward, communication. */
  partsY: number;
  partH: number;
  partPitch: number;
  transferY: number;
  transferH: number;
  theoryY: number;
  theoryH: number;
  /** Height of a row with what parts it from the next. */
  pitch: number;
  /** Top of each row, and the height of all. */
  tops: Float64Array;
  height: number;
  n: number;
  headings: { top: number; pipeline: number }[];
}

export const HEADING_H = 24;
export const N_PART_ROWS = 3;
/** Where not all rows fit, the first blocks that are no higher. */
const ROOMY = 16;
/** So many times as high as usual rows are where there is room for it. */
const MOST_GROWTH = 4;

/** Work in no op lies at the foot of its row (ps_other_work_height). */
export const otherWorkH = (blockH: number): number => (blockH > 9 ? blockH / 3 : 3);

/** Top and height of a block in its row: whole (0), the upper half (1) or the lower one (2). */
export function tierSpan(tier: number, blockH: number): [top: number, height: number] {
  const half = Math.floor(blockH / 2);
  return tier === 0 ? [0, blockH] : tier === 1 ? [0, half - 1] : [half, blockH - half];
}

/** `room`: blocks of few rows are made lower, down to where their names can still be read, so that all rows or more of them fit
 * in so many pixels; and higher where those pixels are more than all rows need. */
export function makeScene(view: View, shapes: Shapes, room = Infinity): Scene {
  const { sizes, name_height: least } = shapes;
  const usual = Math.max(
    sizes.findIndex(([mostRows]) => view.rows.length <= mostRows),
    0,
  );
  const legible = sizes.slice(usual).filter(([, block], i) => i === 0 || block >= least);
  const fitting = legible.map((size) => withNames(size, least));
  // Names below are given up before rows go out of sight.
  const scenes = [...fitting, ...legible.slice(-1)].map((size) => sceneOf(view, size));
  if (room < Infinity && scenes[0].height > 0 && scenes[0].height < room) {
    return sceneOf(view, grown(fitting[0], Math.min(MOST_GROWTH, room / scenes[0].height)));
  }
  return (
    scenes.find((s) => s.height <= room) ??
    scenes.find((s) => s.blockH <= ROOMY && room < Infinity) ??
    scenes[0]
  );
}

/** Where a block can be named, what lies below it can be, too. */
function withNames([mostRows, block, between, lower, ...rest]: RowSize, least: number): RowSize {
  return [mostRows, block, between, block >= least ? Math.max(lower, least) : lower, ...rest];
}

/** Lanes so many times as high; what parts them stays. */
function grown([mostRows, block, between, lower, transfers, below]: RowSize, by: number): RowSize {
  const times = (height: number): number => Math.floor(height * by);
  return [mostRows, times(block), between, times(lower), times(transfers), below];
}

function sceneOf(view: View, size: RowSize): Scene {
  const [, blockH, between, lower, transfers, below] = size;
  const n = view.rows.length;
  const transferH = view.hasTransfers ? transfers : 0;
  const theoryH = view.theoryShare !== null ? lower : 0;
  const partH = view.hasParts ? lower : 0;
  const partsY = blockH + between;
  const partPitch = partH + between;
  const above = partH > 0 ? partsY + N_PART_ROWS * partPitch - between : blockH;
  const theoryY = above + between;
  const transferY = theoryY + (theoryH > 0 ? theoryH + between : 0);
  const used = transferH > 0 ? transferY + transferH : theoryH > 0 ? theoryY + theoryH : above;
  const pitch = used + below;
  const tops = new Float64Array(n + 1);
  const headings: Scene["headings"] = [];
  let y = 0;
  view.rows.forEach((row, i) => {
    if (view.pipelines.length > 1 && (i === 0 || view.rows[i - 1].pipeline !== row.pipeline)) {
      headings.push({ top: y, pipeline: row.pipeline });
      y += HEADING_H;
    }
    tops[i] = y;
    y += pitch;
  });
  tops[n] = y;
  return {
    blockH,
    partsY,
    partH,
    partPitch,
    transferY,
    transferH,
    theoryY,
    theoryH,
    pitch,
    tops,
    height: y,
    n,
    headings,
  };
}

/** The last row that begins at y or above, 0 before all of them. */
export function rowAt(scene: Scene, y: number): number {
  let low = 0;
  let high = scene.n;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (scene.tops[middle] <= y) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

export type LaneKind = "ops" | "theory" | "transfers";

/** The row and lane at y; null between two. Gaps of a row belong to the lane above them. */
export function at(scene: Scene, y: number): { row: number; lane: LaneKind } | null {
  const row = rowAt(scene, y);
  const inside = y - (scene.tops[row] ?? 0);
  if (scene.n === 0 || inside < 0 || inside >= scene.pitch) {
    return null;
  }
  if (scene.transferH > 0 && inside >= scene.transferY) {
    return inside < scene.transferY + scene.transferH ? { row, lane: "transfers" } : null;
  }
  if (scene.theoryH > 0 && inside >= scene.theoryY) {
    return inside < scene.theoryY + scene.theoryH ? { row, lane: "theory" } : null;
  }
  return inside < scene.blockH ? { row, lane: "ops" } : null;
}
