/** The lane of a rank's pipeline: blocks, gaps and labels of the chart, what is under the pointer, and the critical path over all ranks. */
import type { Rank, Ref } from "../api/types";
import type { Ns } from "../base/ns";
import { pixel, textOn, type Theme } from "../base/theme";
import type { Viewport } from "../base/viewport";
import { PIPELINE_PX, type Item } from "../model/lanes";
import { pipelineOf, pipelineRows, type PipelineRows } from "../model/pipeline_rows";
import { rankOf, shiftOf } from "../model/session";
import { sameBlock, type Blocks } from "../pipeline/below";
import type { Details } from "../pipeline/details";
import { bubbleDetails, linkDetails, opDetails, otherDetails } from "../pipeline/details";
import { CanvasGlyphs } from "../pipeline/glyphs";
import { fit, LEVELS_FLAT } from "../pipeline/labels";
import {
  isDeciding,
  pieceNear,
  pieceOver,
  piecesOf,
  tracePieces,
  type PathPiece,
} from "../pipeline/path";
import { N_LOOKS, type Chart } from "../pipeline/model";
import { colourOf } from "../pipeline/panels";
import { Raster, textWidth, type Style } from "../pipeline/raster";
import { firstAfter, hit, placeOfId, type Lane, type Row } from "../pipeline/rows";
import { otherWorkH } from "../pipeline/scene";
import type { Scene } from "./scene";

const PAD_PX = 2;
const BLOCK_PX = PIPELINE_PX - 2 * PAD_PX;
const LABEL_PX = 11;

/** Its pixels, a lane at a time. */
export class PipelinePainter {
  private raster: Raster | null = null;
  private glyphs: CanvasGlyphs | null = null;
  private scale = 0;
  private theme: Theme | null = null;
  private style: (Style & { onLook: Uint32Array; panel: number; hatch: number }) | null = null;

  /** Lines of `width` pixels; good until the next call. Null: the rank has no pipeline. */
  paint(
    rank: Rank,
    view: Viewport,
    width: number,
    scale: number,
    theme: Theme,
  ): { pixels: Uint32Array; height: number } | null {
    const found = pipelineOf(rank);
    if (found === null) {
      return null;
    }
    const { rows, row, shiftNs } = found;
    const raster = this.rasterFor(width, scale);
    const style = this.styleFor(theme, scale);
    const h = raster.height;
    const at = { startNs: view.from - shiftNs, pxPerNs: scale / view.nsPerPx };
    raster.fill(0, h, style.panel);
    const pitch = Math.max(4, Math.round(6 * scale));
    raster.hatch(row.bubbles, 0, h, at, style.hatch, pitch, rows.shapes.hatches);
    const foot = Math.round(otherWorkH(BLOCK_PX) * scale);
    raster.lane(row.others, h - foot, foot, at, { ...style, radius: 0, runGap: 1.5 });
    raster.ops(row, 0, h, at, style);
    this.paintNames(rows.chart, row, at.startNs, at.pxPerNs);
    return { pixels: raster.pixels, height: h };
  }

  private rasterFor(width: number, scale: number): Raster {
    if (this.raster?.width !== width || this.scale !== scale) {
      this.raster = new Raster(width, Math.round(BLOCK_PX * scale));
      this.glyphs = new CanvasGlyphs(LABEL_PX * scale);
      this.scale = scale;
      this.style = null;
    }
    return this.raster;
  }

  private styleFor(theme: Theme, scale: number): NonNullable<PipelinePainter["style"]> {
    if (this.style === null || this.theme !== theme) {
      const colours = new Uint32Array(N_LOOKS);
      const onLook = new Uint32Array(N_LOOKS);
      for (let look = 0; look < N_LOOKS; look++) {
        colours[look] = pixel(colourOf(theme, look));
        onLook[look] = pixel(textOn(colourOf(theme, look)));
      }
      this.theme = theme;
      this.style = {
        colours,
        onLook,
        gap: Math.round(scale),
        gapFrom: 3 * scale,
        radius: Math.round(2 * scale),
        runGap: 4,
        panel: pixel(theme.panel),
        hatch: pixel(theme.hatch),
      };
    }
    return this.style;
  }

  private paintNames(chart: Chart, row: Row, startNs: Ns, pxPerNs: number): void {
    const raster = this.raster!;
    const glyphs = this.glyphs!;
    const lane = row.ops;
    const least = textWidth("0", glyphs) + 4 * this.scale;
    const endNs = startNs + raster.width / pxPerNs;
    const y = Math.round((raster.height - glyphs.height) / 2);
    for (let i = firstAfter(lane, startNs); i < lane.n && lane.start[i] < endNs; i++) {
      if ((lane.end[i] - lane.start[i]) * pxPerNs < least) {
        continue;
      }
      const x0 = Math.max(0, (lane.start[i] - startNs) * pxPerNs);
      const x1 = Math.min(raster.width, (lane.end[i] - startNs) * pxPerNs) - this.scale;
      const { texts } = chart.labels[chart.label[lane.id[i]]];
      const room = x1 - x0 - 2 * this.scale;
      const text = fit(texts, 0, LEVELS_FLAT, room, (t) => textWidth(t, glyphs));
      if (text !== "") {
        raster.text(text, (x0 + x1) / 2, y, glyphs, this.style!.onLook[lane.look[i]]);
      }
    }
  }
}

/** What of a pipeline is under the pointer; times of the timeline. */
export interface PipelineHit {
  rank: Rank;
  row: Row;
  kind: "ops" | "bubbles" | "others";
  index: number;
  /** The pointer is on the line of the critical path that comes to the op, from this one. */
  after?: number;
  from: Ns;
  to: Ns;
  /** Times of the rank. */
  start: Ns;
  end: Ns;
}

export function pipelineHit(
  scene: Scene,
  view: Viewport,
  x: number,
  y: number,
  rankShift: (rank: Rank) => Ns,
): PipelineHit | null {
  const item = scene.itemAt(y)?.item;
  const rank = item?.kind === "pipeline" ? item.rank : null;
  const found = rank === null ? null : pipelineOf(rank);
  if (rank === null || found === null) {
    return null;
  }
  const { row, shiftNs } = found;
  const at = view.ns(x) - shiftNs;
  for (const kind of ["ops", "bubbles", "others"] as const) {
    const lane = row[kind];
    const index = hit(lane, at, kind === "bubbles" ? 0 : view.nsPerPx);
    if (index >= 0) {
      return hitAt(rank, row, kind, index, shiftNs, rankShift);
    }
  }
  return null;
}

/** The edge of a block or gap of the lane at y that is nearest to x, no further than `farPx`; null: there is none. */
export function pipelineEdge(
  scene: Scene,
  view: Viewport,
  x: number,
  y: number,
  farPx: number,
): Ns | null {
  const item = scene.itemAt(y)?.item;
  const found = item?.kind === "pipeline" && item.rank !== null ? pipelineOf(item.rank) : null;
  if (found === null) {
    return null;
  }
  const { row, shiftNs } = found;
  const at = view.ns(x) - shiftNs;
  let far = farPx * view.nsPerPx;
  let best: Ns | null = null;
  for (const lane of [row.ops, row.bubbles]) {
    for (let i = firstAfter(lane, at - far); i < lane.n && lane.start[i] <= at + far; i++) {
      for (const edge of [lane.start[i], lane.end[i]]) {
        if (Math.abs(edge - at) <= far) {
          far = Math.abs(edge - at);
          best = edge + shiftNs;
        }
      }
    }
  }
  return best;
}

/** The first block that begins in the window, else the one that runs there; null: there is none. */
export function firstBlock(rank: Rank, view: Viewport, rankShift: Ns): PipelineHit | null {
  const found = pipelineOf(rank);
  if (found === null) {
    return null;
  }
  const { row, shiftNs } = found;
  const [from, to] = [view.from - shiftNs, view.from + view.span - shiftNs];
  const running = firstAfter(row.ops, from);
  let index = running;
  while (index < row.ops.n && row.ops.start[index] < from) {
    index++;
  }
  index = index < row.ops.n && row.ops.start[index] < to ? index : running;
  return index < row.ops.n && row.ops.start[index] < to
    ? hitAt(rank, row, "ops", index, shiftNs, () => rankShift)
    : null;
}

/** The line of the critical path where it goes from one block to the next, over lanes of any rank: the block that it comes to. `isOver`:
 * it lies over a slice or a block there. */
export function pathHit(
  scene: Scene,
  view: Viewport,
  x: number,
  y: number,
  rankShift: (rank: Rank) => Ns,
  isOver: boolean,
): PipelineHit | null {
  const region = scene.regionAt(y);
  if (region.isPins) {
    return null;
  }
  const tops = topsOf(scene);
  for (const rows of pipelineRows.get()) {
    const pieces = pathPieces(rows, tops, view);
    const piece = isOver ? pieceOver(pieces, x, y) : pieceNear(pieces, x, y);
    const found = piece === null || piece.after < 0 ? null : hitOfOp(rows, piece.op, rankShift);
    if (found !== null) {
      return { ...found, after: piece!.after };
    }
  }
  return null;
}

function hitOfOp(
  { chart, view, places }: PipelineRows,
  op: number,
  rankShift: (rank: Rank) => Ns,
): PipelineHit | null {
  for (const [key, { row: at }] of places) {
    const row = view.rows[at];
    const rank = row.rankRow === chart.rank[op] ? rankOf(key) : undefined;
    const shiftNs = rank === undefined ? undefined : pipelineOf(rank)?.shiftNs;
    if (rank !== undefined && shiftNs !== undefined) {
      const index = placeOfId(row.ops, chart.start[op] - view.originNs, op);
      return index < 0 ? null : hitAt(rank, row, "ops", index, shiftNs, rankShift);
    }
  }
  return null;
}

function hitAt(
  rank: Rank,
  row: Row,
  kind: PipelineHit["kind"],
  index: number,
  shiftNs: Ns,
  rankShift: (rank: Rank) => Ns,
): PipelineHit {
  const lane = row[kind];
  const [from, to] = [lane.start[index] + shiftNs, lane.end[index] + shiftNs];
  const shift = rankShift(rank);
  return { rank, row, kind, index, from, to, start: from - shift, end: to - shift };
}

export function pipelineDetails({ rank, row, kind, index, after }: PipelineHit): Details | null {
  const found = pipelineOf(rank);
  if (found === null) {
    return null;
  }
  const { chart, view, words, texts } = found.rows;
  const { shiftNs } = found; // times are those of the timeline's axis
  if (kind !== "ops") {
    return kind === "others"
      ? otherDetails(row, index, texts, shiftNs)
      : bubbleDetails(chart, row, index, words, texts, false, shiftNs);
  }
  const op = row.ops.id[index];
  if (after !== undefined) {
    return linkDetails(chart, op, after, row.ops.look[index], texts);
  }
  const look = row.ops.look[index];
  return opDetails(chart, op, view, words, texts, look, false, view.originNs - shiftNs);
}

/** A block, times of the timeline. */
interface BlockSpan {
  rank: string;
  from: Ns;
  to: Ns;
  /** It is the same op as the one that is meant, of another rank. */
  isOther: boolean;
}

const SAME_NS = 1;

/** The block that a slice is; where two ranks have pipelines here also the same op of the other one, if that is of the stage. */
export function blocksOf(slice: Ref, here: readonly Rank[]): BlockSpan[] {
  const rank = here.find((r) => r.key === slice.rank);
  const found = rank === undefined ? null : pipelineOf(rank);
  const from = found === null ? 0 : slice.start + shiftOf(rank!) - found.shiftNs;
  const at = found === null ? -1 : blockFrom(found.row.ops, from, from + slice.dur);
  if (found === null || at < 0) {
    return [];
  }
  const other = here.length === 2 ? here.find((r) => r !== rank)! : null;
  const there = other === null ? null : pipelineOf(other);
  const same =
    there?.row.stage === found.row.stage ? sameBlock(blocksIn(found), at, blocksIn(there)) : -1;
  return [
    spanOf(rank!, found, at, false),
    ...(same < 0 ? [] : [spanOf(other!, there!, same, true)]),
  ];
}

function blockFrom(lane: Lane, from: Ns, to: Ns): number {
  for (let i = firstAfter(lane, from); i < lane.n && lane.start[i] <= from + SAME_NS; i++) {
    if (Math.abs(lane.start[i] - from) <= SAME_NS && Math.abs(lane.end[i] - to) <= SAME_NS) {
      return i;
    }
  }
  return -1;
}

type Found = NonNullable<ReturnType<typeof pipelineOf>>;

/** Steps by their order: another capture may number them otherwise. */
const blocksIn = ({ rows: { chart }, row: { ops } }: Found): Blocks => ({
  chart,
  lane: ops,
  stepOf: (i) => chart.steps.indexOf(chart.step[ops.id[i]]),
});

const spanOf = (rank: Rank, { row, shiftNs }: Found, i: number, isOther: boolean): BlockSpan => ({
  rank: rank.key,
  from: row.ops.start[i] + shiftNs,
  to: row.ops.end[i] + shiftNs,
  isOther,
});

/** Frames the block that is the slice, dashed that of the same op of another rank. */
export function drawBlocks(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  slice: Ref,
  colours: { own: string; other: string; ground: string },
): void {
  const list = scene.regions[1];
  const tops = topsOf(scene);
  const here = [...tops.values()].map(({ item }) => item.rank!);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, list.top, scene.width, list.bottom - list.top);
  ctx.clip();
  for (const { rank, from, to, isOther } of blocksOf(slice, here)) {
    const [x0, x1] = [Math.max(-4, view.x(from)), Math.min(scene.width + 4, view.x(to))];
    ctx.beginPath();
    ctx.rect(x0 - 1, tops.get(rank)!.top - 1, Math.max(2, x1 - x0) + 1, BLOCK_PX + 2);
    // On any colour of a block.
    ctx.setLineDash([]);
    ctx.strokeStyle = colours.ground;
    ctx.lineWidth = 4;
    ctx.stroke();
    ctx.setLineDash(isOther ? [4, 3] : []);
    ctx.strokeStyle = isOther ? colours.other : colours.own;
    ctx.lineWidth = 2;
    ctx.stroke();
  }
  ctx.restore();
}

/** Top of each rank's pipeline on screen, CSS pixels. */
function topsOf(scene: Scene): Map<string, { item: Item; top: number }> {
  const found = new Map<string, { item: Item; top: number }>();
  const list = scene.regions[1];
  for (const item of list.items) {
    if (item.kind === "pipeline" && item.rank !== null) {
      found.set(item.rank.key, { item, top: item.y - list.scroll + list.top + PAD_PX });
    }
  }
  return found;
}

/** The critical path of each step and pipeline of all charts: along the foot of its ops, and from each to the next. That of the pipeline
 * which makes the step as long as it is stands out. CSS pixels. */
export function drawPipelinePath(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  colours: { line: string; longest: string },
): void {
  const tops = topsOf(scene);
  const list = scene.regions[1];
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, list.top, scene.width, list.bottom - list.top);
  ctx.clip();
  const pieces = pipelineRows.get().flatMap((rows) =>
    pathPieces(rows, tops, view).map((piece) => ({
      piece,
      isLong: isDeciding(rows.chart, piece.op),
    })),
  );
  for (const isLong of [false, true]) {
    tracePieces(
      ctx,
      pieces.filter((p) => p.isLong === isLong).map((p) => p.piece),
    );
    // Quiet: it crosses the lanes of the ranks in between.
    ctx.strokeStyle = isLong ? colours.longest : colours.line;
    ctx.globalAlpha = isLong ? 1 : 0.5;
    ctx.lineWidth = isLong ? 1.5 : 1;
    ctx.stroke();
  }
  ctx.restore();
}

function pathPieces(
  rows: PipelineRows,
  tops: ReturnType<typeof topsOf>,
  view: Viewport,
): PathPiece[] {
  const { chart } = rows;
  const at = new Map<number, { y: number; shiftNs: Ns }>(); // by row of the chart's ranks
  for (const { item, top } of tops.values()) {
    const found = pipelineOf(item.rank!);
    if (found?.rows === rows) {
      const shiftNs = found.shiftNs - rows.view.originNs;
      at.set(found.row.rankRow, { y: top + BLOCK_PX - 2, shiftNs });
    }
  }
  return piecesOf(chart, (op) => {
    const place = at.get(chart.rank[op]);
    return place === undefined
      ? null
      : {
          from: view.x(chart.start[op] + place.shiftNs),
          to: view.x(chart.end[op] + place.shiftNs),
          y: place.y,
        };
  });
}
