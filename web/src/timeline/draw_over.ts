/** Draws what lies over the rows: the box, what is selected and what it is linked to, flows, markers, the pointer's time.
 * CSS pixels; the context is scaled. */
import type { Ref } from "../api/types";
import { FONT } from "../base/dom";
import type { Ns } from "../base/ns";
import type { Item } from "../model/lanes";
import { box, boxLocked, selected, type Box } from "../model/session";
import { baseSlice, markers } from "../model/timeline";
import { lanesOf, shiftAt } from "../model/tree";
import type { Viewport } from "../base/viewport";
import { boxExtent } from "../model/boxes";
import { LABEL_FONT_PX } from "./draw_base";
import { curveOf, drawCurve, isSeen, type Curve } from "./flow_shape";
import type { Flows } from "./flows";
import { labelFor, type TextWidths } from "./labels";
import { flowTint, tintOf, type Palette } from "./palette";
import { drawBlocks, drawPipelinePath } from "./pipeline_lane";
import { spotOf, type Region, type Scene, type Spot } from "./scene";
import { sliceWord } from "../words";

export interface Hovered {
  ref: Pick<Ref, "rank" | "lane" | "row" | "slice">;
  /** viewNs */
  from: Ns;
  to: Ns;
}

export interface OverState {
  palette: Palette;
  flows: Flows;
  hover: Hovered | null;
  /** Where the pointer is, CSS pixels; null: elsewhere. */
  cursorX: number | null;
  /** While a box is being drawn with Alt, it says that it will zoom. */
  isZoomBox: boolean;
  widths: TextWidths;
}

export function lookOf(ref: Ref): number {
  const lanes = lanesOf(ref.rank);
  const node = lanes?.nodes[lanes.nodeOfLane(ref.lane)];
  return node?.look ?? ref.tint;
}

export function drawOver(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  state: OverState,
): void {
  const { scale } = scene;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, scene.width, scene.height);
  ctx.font = `${LABEL_FONT_PX}px ${FONT}`;
  ctx.textBaseline = "middle";
  drawMarkerLines(ctx, scene, view, state.palette);
  const lit = state.flows.lit();
  for (const region of scene.regions) {
    if (region.bottom > region.top) {
      ctx.save();
      ctx.beginPath();
      const top = scene.clearTop(region);
      ctx.rect(0, top, scene.width, region.bottom - top);
      ctx.clip();
      const current = selected.get();
      lit.forEach((ref) => drawLit(ctx, scene, region, view, ref, state));
      if (state.hover !== null) {
        outline(
          ctx,
          scene,
          region,
          view,
          state.hover.ref,
          state.hover.from,
          state.hover.to,
          state.palette.ink,
          1,
        );
      }
      const base = baseSlice.get();
      if (base !== null) {
        outlineRef(ctx, scene, region, view, base, state.palette.quiet, 2, [4, 3]);
      }
      if (current !== null) {
        outlineRef(ctx, scene, region, view, current, state.palette.accent, 2);
      }
      ctx.restore();
    }
  }
  drawPipelinePath(ctx, scene, view, { line: state.palette.quiet, longest: state.palette.ink });
  const current = selected.get();
  if (current !== null) {
    const { accent, ink, page } = state.palette;
    drawBlocks(ctx, scene, view, current, { own: accent, other: ink, ground: page });
  }
  drawFlows(ctx, scene, view, state);
  drawBox(ctx, scene, view, state);
  if (scene.regions[0].bottom > 0) {
    ctx.fillStyle = state.palette.accent;
    ctx.fillRect(0, scene.regions[0].bottom - 1, scene.width, 1);
  }
  if (state.cursorX !== null) {
    ctx.strokeStyle = state.palette.quiet;
    ctx.globalAlpha = 0.5;
    line(ctx, state.cursorX, 0, scene.height);
    ctx.globalAlpha = 1;
  }
}

function line(ctx: CanvasRenderingContext2D, x: number, y0: number, y1: number): void {
  const at = Math.round(x) + 0.5;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(at, y0);
  ctx.lineTo(at, y1);
  ctx.stroke();
}

// --- slices ------------------------------------------------------------------------------------------------------------

interface Rect {
  x0: number;
  x1: number;
  top: number;
  bottom: number;
}

function spotIn(
  scene: Scene,
  region: Region,
  rank: string,
  lane: number,
  row: number,
): Spot | null {
  const lanes = lanesOf(rank);
  return lanes === undefined ? null : spotOf(scene, region, lanes, lane, row);
}

export function rectOf(
  scene: Scene,
  region: Region,
  view: Viewport,
  ref: Hovered["ref"],
  from: Ns,
  to: Ns,
): Rect | null {
  const spot = spotIn(scene, region, ref.rank, ref.lane, ref.row);
  if (spot === null || !spot.isOwn || spot.bottom <= region.top || spot.top >= region.bottom) {
    return null;
  }
  const x0 = view.x(from);
  const x1 = Math.max(view.x(to), x0 + 1);
  return x1 < -4 || x0 > scene.width + 4
    ? null
    : {
        x0: Math.max(-8, x0),
        x1: Math.min(scene.width + 8, x1),
        top: spot.top,
        bottom: spot.bottom,
      };
}

function outline(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  region: Region,
  view: Viewport,
  ref: Hovered["ref"],
  from: Ns,
  to: Ns,
  colour: string,
  width: number,
  dash: number[] = [],
): void {
  const r = rectOf(scene, region, view, ref, from, to);
  if (r !== null) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    const pad = width / 2;
    ctx.strokeRect(
      r.x0 - pad,
      r.top - pad,
      Math.max(r.x1 - r.x0, 2) + 2 * pad,
      r.bottom - r.top + 2 * pad,
    );
    ctx.setLineDash([]);
  }
}

function outlineRef(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  region: Region,
  view: Viewport,
  ref: Ref,
  colour: string,
  width: number,
  dash: number[] = [],
): void {
  const shift = shiftAt(ref.rank, ref.lane);
  if (shift !== null) {
    outline(
      ctx,
      scene,
      region,
      view,
      ref,
      ref.start + shift,
      ref.start + ref.dur + shift,
      colour,
      width,
      dash,
    );
  }
}

/** Where a slice is drawn, in every region that shows it. */
export function rectsOf(scene: Scene, view: Viewport, ref: Ref): Rect[] {
  const shift = shiftAt(ref.rank, ref.lane);
  return shift === null
    ? []
    : scene.regions
        .map((region) =>
          region.bottom > region.top
            ? rectOf(scene, region, view, ref, ref.start + shift, ref.start + ref.dur + shift)
            : null,
        )
        .filter((r): r is Rect => r !== null);
}

/** A slice that does not step back. */
function drawLit(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  region: Region,
  view: Viewport,
  ref: Ref,
  state: OverState,
): void {
  const shift = shiftAt(ref.rank, ref.lane);
  const r =
    shift === null
      ? null
      : rectOf(scene, region, view, ref, ref.start + shift, ref.start + ref.dur + shift);
  if (r === null) {
    return;
  }
  const look = lookOf(ref);
  ctx.fillStyle = state.palette.css[look];
  ctx.fillRect(r.x0, r.top, Math.max(1, r.x1 - r.x0), r.bottom - r.top);
  const x0 = Math.max(0, r.x0);
  const room = Math.min(scene.width, r.x1) - x0;
  const text =
    r.bottom - r.top >= 14 ? labelFor(sliceWord(ref.name), ref.dur, 1, room, state.widths) : "";
  if (text !== "") {
    ctx.fillStyle = state.palette.text[look];
    ctx.fillText(
      text,
      x0 + Math.max(3, (room - state.widths.of(text)) / 2),
      (r.top + r.bottom) / 2,
    );
  }
}

// --- flows -------------------------------------------------------------------------------------------------------------

/** Where a flow's end is drawn: in the row of its slice, among the pinned rows when that is not on screen or closed; else in what is
 * closed around it. */
function endOf(scene: Scene, rank: string, lane: number, row: number): number | null {
  const [pins, listed] = scene.regions;
  const own = spotIn(scene, listed, rank, lane, row);
  if (own === null || !own.isOwn || own.bottom <= listed.top || own.top >= listed.bottom) {
    const pinned = pins.bottom > 0 ? spotIn(scene, pins, rank, lane, row) : null;
    if (pinned !== null) {
      return Math.min(pins.bottom, Math.max(pins.top, (pinned.top + pinned.bottom) / 2));
    }
  }
  return own === null ? null : (own.top + own.bottom) / 2;
}

export interface DrawnFlow extends Curve {
  colour: string;
  kind: string;
  isOfSelected: boolean;
  from: Ref | null;
  to: Ref | null;
}

/** All flows that are on screen, thin ones first. */
export function flowsOnScreen(
  scene: Scene,
  view: Viewport,
  palette: Palette,
  flows: Flows,
): DrawnFlow[] {
  const found: DrawnFlow[] = [];
  for (const { rank, kind, flows: rows } of flows.inWindow.values()) {
    const colour = tintOf(palette, flowTint(kind));
    const shifts = new Map<string, number | null>();
    const shift = (key: string, lane: number): number | null => {
      const id = `${key}|${lane}`;
      let known = shifts.get(id);
      if (known === undefined) {
        shifts.set(id, (known = shiftAt(key, lane)));
      }
      return known;
    };
    for (const [, , fromLane, fromRow, fromNs, toLane, toRow, toNs, fromRank = rank] of rows) {
      const a = shift(fromRank, fromLane);
      const b = shift(rank, toLane);
      const y0 = a === null ? null : endOf(scene, fromRank, fromLane, fromRow);
      const y1 = b === null ? null : endOf(scene, rank, toLane, toRow);
      if (y0 !== null && y1 !== null) {
        const curve = curveOf(view.x(fromNs + a!), y0, view.x(toNs + b!), y1);
        if (isSeen(curve, scene.width, scene.height)) {
          found.push({ ...curve, colour, kind, isOfSelected: false, from: null, to: null });
        }
      }
    }
  }
  for (const { kind, from, to } of flows.ofSelected) {
    const a = shiftAt(from.rank, from.lane);
    const b = shiftAt(to.rank, to.lane);
    const y0 = a === null ? null : endOf(scene, from.rank, from.lane, from.row);
    const y1 = b === null ? null : endOf(scene, to.rank, to.lane, to.row);
    if (y0 !== null && y1 !== null) {
      // From where it leaves to where the other begins: an enqueue ends before its dequeue starts.
      const fromNs = Math.min(from.start + from.dur + a!, Math.max(from.start + a!, to.start + b!));
      const curve = curveOf(view.x(fromNs), y0, view.x(to.start + b!), y1);
      found.push({
        ...curve,
        colour: tintOf(palette, flowTint(kind)),
        kind,
        isOfSelected: true,
        from,
        to,
      });
    }
  }
  return found;
}

function drawFlows(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  state: OverState,
): void {
  const all = flowsOnScreen(scene, view, state.palette, state.flows);
  const byColour = new Map<string, DrawnFlow[]>();
  for (const flow of all) {
    const key = `${flow.isOfSelected ? 1 : 0}${flow.colour}`;
    const there = byColour.get(key);
    if (there === undefined) {
      byColour.set(key, [flow]);
    } else {
      there.push(flow);
    }
  }
  for (const group of byColour.values()) {
    const isStrong = group[0].isOfSelected;
    ctx.globalAlpha = isStrong ? 1 : state.flows.ofSelected.length > 0 ? 0.35 : 0.8;
    ctx.strokeStyle = isStrong ? state.palette.accent : group[0].colour;
    ctx.lineWidth = isStrong ? 2 : 1;
    ctx.beginPath();
    group.forEach((flow) => drawCurve(ctx, flow, isStrong ? 9 : 6));
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

// --- box and markers ---------------------------------------------------------------------------------------------------

/** What a box covers on screen; several rectangles when lanes are pinned too. */
export function boxRects(scene: Scene, view: Viewport, b: Box): Rect[] {
  const x0 = view.x(b.from);
  const x1 = view.x(b.to);
  if (b.lanes === null) {
    return [{ x0, x1, top: 0, bottom: scene.height }];
  }
  const found: Rect[] = [];
  for (const region of scene.regions) {
    const itemOf = (rank: string, lane: number): Item | undefined => {
      const lanes = lanesOf(rank);
      return lanes === undefined ? undefined : scene.tree.itemOfLane(lanes, lane, region.isPins);
    };
    const extent = region.bottom > region.top ? boxExtent(b.lanes, itemOf, 0) : null;
    if (extent !== null) {
      const top = Math.max(region.top, extent[0] - region.scroll + region.top);
      const bottom = Math.min(region.bottom, extent[1] - region.scroll + region.top);
      if (top < bottom) {
        found.push({ x0, x1, top, bottom });
      }
    }
  }
  return found;
}

function drawBox(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  state: OverState,
): void {
  const current = box.get();
  if (current === null) {
    return;
  }
  const { palette } = state;
  for (const r of boxRects(scene, view, current)) {
    const x0 = Math.max(-2, Math.min(scene.width + 2, r.x0));
    const x1 = Math.max(-2, Math.min(scene.width + 2, r.x1));
    ctx.globalAlpha = boxLocked.get() ? 0.2 : 0.12;
    ctx.fillStyle = palette.accent;
    ctx.fillRect(x0, r.top, x1 - x0, r.bottom - r.top);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 1;
    ctx.setLineDash(state.isZoomBox ? [4, 3] : []);
    ctx.strokeRect(
      Math.round(x0) + 0.5,
      r.top + 0.5,
      Math.max(1, Math.round(x1 - x0)),
      r.bottom - r.top - 1,
    );
    ctx.setLineDash([]);
  }
}

function drawMarkerLines(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: Viewport,
  palette: Palette,
): void {
  for (const m of markers.get()) {
    const x0 = view.x(m.from);
    const x1 = m.to === null ? x0 : view.x(m.to);
    if (x1 < -1 || x0 > scene.width + 1) {
      continue;
    }
    ctx.strokeStyle = ctx.fillStyle = tintOf(palette, m.colour);
    if (m.to !== null) {
      ctx.globalAlpha = 0.08;
      ctx.fillRect(Math.max(0, x0), 0, Math.min(scene.width, x1) - Math.max(0, x0), scene.height);
      ctx.globalAlpha = 1;
      line(ctx, x1, 0, scene.height);
    }
    line(ctx, x0, 0, scene.height);
  }
}
