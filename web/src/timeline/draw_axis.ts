/** Draws the minimap, the axis with the visible span in its middle, and the strip of markers under it. CSS pixels. */
import { FONT } from "../base/dom";
import { mix, pixel } from "../base/theme";
import { PieceFinder, RANK_PART, type TimelineData } from "./data";
import { analysisSpan, box, shiftOf } from "../model/session";
import { markers, type Marker } from "../model/timeline";
import type { LaneTree } from "../model/lanes";
import { lanesOf, tree, wantLanes } from "../model/tree";
import type { Rank } from "../api/types";
import { Viewport } from "../base/viewport";
import { labelPlace, spanText, TICK_TEXT, ticksBeside, ticksOf } from "./axis";
import { nameFor, type TextWidths } from "./labels";
import { addCoverage } from "./paint";
import { tintOf, type Palette } from "./palette";
import { t } from "../words";

export const MINIMAP_PX = 36;
export const AXIS_PX = 28;
export const STRIP_PX = 16;
/** The length of the box begins here, below the visible span. */
const LENGTH_TOP = 14;
/** Ranks in the minimap. */
const MOST_RANKS = 8;

export function drawAxis(
  ctx: CanvasRenderingContext2D,
  view: Viewport,
  scale: number,
  palette: Palette,
  cursorX: number | null,
  widths: TextWidths,
): void {
  const { width } = view;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.fillStyle = palette.page;
  ctx.fillRect(0, 0, width, AXIS_PX + STRIP_PX);
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "middle";
  drawBoxSpan(ctx, view, palette);
  drawTicks(ctx, view, palette);
  drawAnalysis(ctx, view, palette);
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, AXIS_PX - 1, width, 1);
  ctx.fillRect(0, AXIS_PX + STRIP_PX - 1, width, 1);
  drawMarkers(ctx, view, palette, widths);
  if (cursorX !== null) {
    ctx.fillStyle = palette.quiet;
    ctx.fillRect(Math.round(cursorX), AXIS_PX, 1, STRIP_PX);
  }
}

function drawTicks(ctx: CanvasRenderingContext2D, view: Viewport, palette: Palette): void {
  const { ticks, base } = ticksOf(view.from, view.nsPerPx, view.width);
  const span = spanText(view.span);
  const middle = `\u2190 ${base === "" ? "" : `${base} \u00b7 `}${span} \u2192`;
  ctx.font = `600 11px ${FONT}`;
  const room = ctx.measureText(middle).width + 16;
  const left = (view.width - room) / 2;
  ctx.fillStyle = palette.ink;
  ctx.fillText(middle, left + 8, 9);
  ctx.font = `11px ${FONT}`;
  ctx.fillStyle = palette.line;
  ticks.forEach(({ ns }) => ctx.fillRect(Math.round(view.x(ns)), 15, 1, AXIS_PX - 15));
  const label = drawBoxLength(ctx, view, palette);
  ctx.fillStyle = palette.quiet;
  // In a line of their own below the span.
  for (const { x, text } of ticksBeside(view, label, (of) => ctx.measureText(of).width)) {
    ctx.fillText(text, x + TICK_TEXT, 20);
  }
}

function drawBoxSpan(ctx: CanvasRenderingContext2D, view: Viewport, palette: Palette): void {
  const selection = box.get();
  if (selection !== null) {
    const x0 = Math.max(0, view.x(selection.from));
    const x1 = Math.min(view.width, view.x(selection.to));
    ctx.globalAlpha = 0.2;
    ctx.fillStyle = palette.accent;
    ctx.fillRect(x0, 0, Math.max(0, x1 - x0), AXIS_PX);
    ctx.globalAlpha = 1;
  }
}

/** How long the box is, where it covers no slices; the place that it takes. */
function drawBoxLength(
  ctx: CanvasRenderingContext2D,
  view: Viewport,
  palette: Palette,
): { x0: number; x1: number } | null {
  const selection = box.get();
  const text = selection === null ? "" : spanText(selection.to - selection.from);
  const place =
    selection === null
      ? null
      : labelPlace(view, selection.from, selection.to, ctx.measureText(text).width + 10);
  if (place !== null) {
    ctx.fillStyle = palette.accent;
    ctx.fillRect(place.x0, LENGTH_TOP, place.x1 - place.x0, AXIS_PX - 1 - LENGTH_TOP);
    ctx.fillStyle = palette.page;
    ctx.fillText(text, place.x0 + 5, (LENGTH_TOP + AXIS_PX) / 2);
  }
  return place;
}

/** The span that the tables keep to (T-32): a bracket, where the box is a tint. */
function drawAnalysis(ctx: CanvasRenderingContext2D, view: Viewport, palette: Palette): void {
  const span = analysisSpan.get();
  const [x0, x1] = span === null ? [0, 0] : [view.x(span.from), view.x(span.to)];
  if (x1 > 0 && x0 < view.width && x1 > x0) {
    ctx.fillStyle = palette.ink;
    const left = Math.max(0, x0);
    ctx.fillRect(left, 0, Math.min(view.width, x1) - left, 2);
    for (const x of [Math.round(x0), Math.round(x1) - 2]) {
      ctx.fillRect(x, 0, 2, AXIS_PX);
    }
  }
}

/** The analysed span at x of the axis, in words; "": there is none. */
export function analysisAt(view: Viewport, x: number): string {
  const span = analysisSpan.get();
  return span !== null && view.x(span.from) - 3 <= x && x <= view.x(span.to) + 3
    ? t("list.analysed", spanText(span.to - span.from))
    : "";
}

/** Beside the flag, and before the next one. */
const NAME_LEFT = 10;
const NAME_APART = 3;

/** What stands beside the flag of each marker in sight: as much of its name as there is room for until the next flag. */
export function markerNames(
  view: Viewport,
  all: readonly Marker[],
  widths: TextWidths,
): { x: number; text: string }[] {
  const flags = all
    .flatMap((m) => (m.to === null ? [m.from] : [m.from, m.to]))
    .map((ns) => view.x(ns))
    .sort((a, b) => a - b);
  return all.flatMap((m) => {
    const name = m.name !== "" ? m.name : m.to !== null ? spanText(m.to - m.from) : "";
    const flag = view.x(m.from);
    const x = Math.max(2, flag + NAME_LEFT);
    const isSeen = flag <= view.width && (m.to === null ? flag > -NAME_LEFT : view.x(m.to) > 0);
    const next = flags.find((at) => at > Math.max(flag, 0)) ?? view.width;
    const text = isSeen ? nameFor(name, next - NAME_APART - x, widths) : "";
    return text === "" ? [] : [{ x, text }];
  });
}

function drawMarkers(
  ctx: CanvasRenderingContext2D,
  view: Viewport,
  palette: Palette,
  widths: TextWidths,
): void {
  for (const m of markers.get()) {
    const x0 = view.x(m.from);
    const x1 = m.to === null ? x0 : view.x(m.to);
    if (x1 < -100 || x0 > view.width + 10) {
      continue;
    }
    const colour = tintOf(palette, m.colour);
    ctx.fillStyle = colour;
    const top = AXIS_PX + 2;
    if (m.to !== null) {
      ctx.globalAlpha = 0.3;
      ctx.fillRect(Math.max(0, x0), top, Math.min(view.width, x1) - Math.max(0, x0), STRIP_PX - 4);
      ctx.globalAlpha = 1;
      flag(ctx, x1, top, -1);
    }
    flag(ctx, x0, top, 1);
  }
  ctx.fillStyle = palette.ink;
  for (const { x, text } of markerNames(view, markers.get(), widths)) {
    ctx.fillText(text, x, AXIS_PX + 8);
  }
}

function flag(ctx: CanvasRenderingContext2D, x: number, top: number, side: number): void {
  ctx.beginPath();
  ctx.moveTo(x, top + STRIP_PX);
  ctx.lineTo(x, top);
  ctx.lineTo(x + side * 8, top + 4);
  ctx.lineTo(x, top + 8);
  ctx.fill();
  ctx.fillRect(Math.round(x), top, 1, STRIP_PX);
}

/** The marker whose flag, or name, is at x of the strip. */
export function markerAt(view: Viewport, x: number): number | null {
  let best: number | null = null;
  let least = 9;
  for (const m of markers.get()) {
    for (const at of m.to === null ? [view.x(m.from)] : [view.x(m.from), view.x(m.to)]) {
      const far = Math.abs(at + (at === view.x(m.from) ? 3 : -3) - x);
      if (far < least) {
        least = far;
        best = m.id;
      }
    }
  }
  best ??=
    markers.get().find((m) => m.to !== null && view.x(m.from) <= x && x <= view.x(m.to))?.id ??
    null;
  return best;
}

// --- minimap -----------------------------------------------------------------------------------------------------------

/** Ranks that the minimap has a line for: those of the list that are read. */
export const ranksOnMap = (
  all: readonly Rank[],
  list: Pick<LaneTree, "shownRanks"> = tree,
): Rank[] =>
  all
    .filter((r) => r.state === "ready" && (list.shownRanks?.has(r.key) ?? true))
    .slice(0, MOST_RANKS);

export class Minimap {
  /** Shows all there is. */
  readonly whole = new Viewport();
  private readonly finder: PieceFinder<Uint8Array>;
  private image: ImageData | null = null;

  constructor(data: TimelineData) {
    this.finder = new PieceFinder(data.coverage);
  }

  draw(
    ctx: CanvasRenderingContext2D,
    view: Viewport,
    scale: number,
    palette: Palette,
    ranks: Rank[],
  ): void {
    const width = Math.max(1, Math.round(view.width * scale));
    const height = Math.round(MINIMAP_PX * scale);
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
    }
    this.whole.resize(view.width);
    this.whole.setExtent(view.extent.from, view.extent.to);
    const pixels = new Uint32Array(this.image.data.buffer);
    const ground = pixel(palette.panel);
    pixels.fill(ground);
    const shown = ranksOnMap(ranks);
    const pad = Math.round(3 * scale);
    const each = (height - 2 * pad) / Math.max(1, shown.length);
    const line = new Uint32Array(width);
    const ink = mix(pixel(palette.quiet), ground, 0.9);
    shown.forEach((rank, i) => {
      line.fill(ground);
      if (lanesOf(rank.key) === undefined) {
        void wantLanes(rank.key);
        return;
      }
      const n = this.finder.find(rank.key, RANK_PART, shiftOf(rank), this.whole, scale, true);
      for (let p = 0; p < n; p++) {
        const piece = this.finder.get(p);
        addCoverage(line, width, piece.tile, piece, ink, ground);
      }
      const gap = each >= 4 ? 1 : 0;
      for (let y = Math.round(pad + i * each); y < Math.round(pad + (i + 1) * each) - gap; y++) {
        pixels.set(line, y * width);
      }
    });
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.putImageData(this.image, 0, 0);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    this.frame(ctx, view, palette);
  }

  private frame(ctx: CanvasRenderingContext2D, view: Viewport, palette: Palette): void {
    const [x0, x1] = this.edges(view);
    ctx.globalAlpha = 0.55;
    ctx.fillStyle = palette.page;
    ctx.fillRect(0, 0, x0, MINIMAP_PX);
    ctx.fillRect(x1, 0, view.width - x1, MINIMAP_PX);
    ctx.globalAlpha = 1;
    ctx.fillStyle = palette.accent;
    for (const m of markers.get()) {
      ctx.fillStyle = tintOf(palette, m.colour);
      ctx.fillRect(this.whole.x(m.from), 0, 1, MINIMAP_PX);
    }
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 1;
    ctx.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(1, Math.round(x1 - x0) - 1), MINIMAP_PX - 1);
    ctx.fillStyle = palette.accent;
    for (const x of [x0, x1]) {
      ctx.fillRect(Math.round(x) - 2, MINIMAP_PX / 2 - 7, 4, 14);
    }
    ctx.fillStyle = palette.line;
    ctx.fillRect(0, MINIMAP_PX - 1, view.width, 1);
  }

  /** Where the window's edges are; at least a few pixels apart. */
  edges(view: Viewport): [number, number] {
    const x0 = Math.max(0, Math.min(view.width, this.whole.x(view.from)));
    const x1 = Math.max(0, Math.min(view.width, this.whole.x(view.to)));
    return x1 - x0 < 3
      ? [Math.max(0, (x0 + x1) / 2 - 1.5), Math.min(view.width, (x0 + x1) / 2 + 1.5)]
      : [x0, x1];
  }
}
