/** Paints the blocks of the rows in sight, their names, the grid and the axis.
 *
 * Coordinate spaces: time (ns from the view's origin), CSS pixels of the plot, device pixels of the canvases. */
import { context, FONT } from "../base/dom";
import { pixel, textOn, type Theme } from "../base/theme";
import { axisFor, tickText, ticksIn } from "../base/time";
import type { Viewport } from "../base/viewport";
import { CanvasGlyphs } from "./glyphs";
import { fit, LEVELS, LEVELS_FLAT, NameChoice } from "./labels";
import { N_LOOKS, type Chart, type Shapes } from "./model";
import { colourOf } from "./panels";
import { Raster, textWidth, type Scale, type Style } from "./raster";
import { firstAfter, type Lane, type View } from "./rows";
import { otherWorkH, tierSpan, type Scene } from "./scene";

export const LABEL_SIZE = 11;
export const AXIS_H = 28;

/** What is shown, and where: read by whoever paints. */
export interface Sight {
  chart: Chart;
  against: Chart | null;
  view: View;
  scene: Scene;
  shapes: Shapes;
  viewport: Viewport;
  theme: Theme;
  ratio: number;
  /** CSS pixels of the canvases; their top is that of firstRow. They show rows firstRow .. stopRow - 1. */
  width: number;
  height: number;
  firstRow: number;
  stopRow: number;
}

/** CSS pixels from the top of the canvases. */
export const yOf = (s: Sight, row: number): number => s.scene.tops[row] - s.scene.tops[s.firstRow];

/** What may be written on an op, from most to least. */
export const textsOf = (chart: Chart, op: number): string[] => chart.labels[chart.label[op]].texts;

export class Painter {
  private raster: Raster | null = null;
  private image: ImageData | null = null;
  private glyphs: CanvasGlyphs | null = null;
  private style:
    | (Style & { page: number; panel: number; line: number; hatch: number; onLook: Uint32Array })
    | null = null;
  private transferStyle: Style | null = null;
  private styleOf: Theme | null = null;
  /** How names were shortened in the last frame. */
  readonly shortened: { ops?: NameChoice; theory?: NameChoice } = {};

  /** Buffers for canvases of that size; true when they are new. */
  measure(width: number, height: number, ratio: number): boolean {
    const w = Math.round(width * ratio);
    const h = Math.max(1, Math.round(height * ratio));
    if (this.raster !== null && this.raster.width === w && this.raster.height === h) {
      return false;
    }
    this.image = new ImageData(w, h);
    this.raster = new Raster(w, h, new Uint32Array(this.image.data.buffer));
    this.glyphs = new CanvasGlyphs(LABEL_SIZE * ratio);
    this.style = null;
    return true;
  }

  private styleNow(s: Sight): NonNullable<Painter["style"]> {
    if (this.style === null || this.styleOf !== s.theme) {
      const colours = new Uint32Array(N_LOOKS);
      const onLook = new Uint32Array(N_LOOKS);
      for (let look = 0; look < N_LOOKS; look++) {
        colours[look] = pixel(colourOf(s.theme, look));
        onLook[look] = pixel(textOn(colourOf(s.theme, look)));
      }
      const r = s.ratio;
      this.styleOf = s.theme;
      this.style = {
        colours,
        onLook,
        gap: Math.round(r),
        gapFrom: 3 * r,
        radius: Math.round(2 * r),
        runGap: 4,
        page: pixel(s.theme.page),
        panel: pixel(s.theme.panel),
        line: pixel(s.theme.line),
        hatch: pixel(s.theme.hatch),
      };
      this.transferStyle = { ...this.style, radius: 0, runGap: 1.5 };
    }
    return this.style;
  }

  paint(s: Sight, canvas: HTMLCanvasElement): void {
    const raster = this.raster!;
    const style = this.styleNow(s);
    const { ratio } = s;
    const { hatches } = s.shapes;
    const scale: Scale = { startNs: s.viewport.from, pxPerNs: ratio / s.viewport.nsPerPx };
    const px = (css: number): number => Math.round(css * ratio);
    raster.fill(0, raster.height, style.page);
    const { blockH, partsY, partH, partPitch, theoryY, theoryH, transferY, transferH } = s.scene;
    const pitchPx = Math.max(4, px(6));
    for (let r = s.firstRow; r < s.stopRow; r++) {
      const y = px(yOf(s, r));
      raster.fill(y, px(blockH), style.panel);
      if (theoryH > 0) {
        raster.fill(y + px(theoryY), px(theoryH), style.panel);
      }
    }
    for (const tick of ticks(s)) {
      raster.rect(
        Math.round(tick.x * ratio),
        0,
        Math.max(1, Math.floor(ratio)),
        raster.height,
        style.line,
      );
    }
    for (let r = s.firstRow; r < s.stopRow; r++) {
      const row = s.view.rows[r];
      const y = px(yOf(s, r));
      const h = px(blockH);
      raster.hatch(row.bubbles, y, h, scale, style.hatch, pitchPx, hatches);
      const foot = px(otherWorkH(blockH));
      raster.lane(row.others, y + h - foot, foot, scale, this.transferStyle!);
      raster.ops(row, y, h, scale, style);
      row.parts.forEach((lane, k) =>
        raster.lane(lane, y + px(partsY + k * partPitch), px(partH), scale, style),
      );
      if (theoryH > 0) {
        raster.hatch(
          row.theoryBubbles,
          y + px(theoryY),
          px(theoryH),
          scale,
          style.hatch,
          pitchPx,
          hatches,
        );
        raster.lane(row.theory, y + px(theoryY), px(theoryH), scale, style);
      }
      if (transferH > 0) {
        raster.lane(row.transfers, y + px(transferY), px(transferH), scale, this.transferStyle!);
      }
    }
    this.paintLabels(s, "ops", 0, px(blockH), scale, style.onLook);
    this.paintPartLabels(s, scale, style.onLook);
    this.paintLabels(s, "theory", px(theoryY), px(theoryH), scale, style.onLook);
    context(canvas, { alpha: false }).putImageData(this.image!, 0, 0);
  }

  /** Names of the parts of passes; those of communication are told by their row. */
  private paintPartLabels(s: Sight, scale: Scale, onLook: Uint32Array): void {
    const { ratio } = s;
    const raster = this.raster!;
    const glyphs = this.glyphs!;
    const { partsY, partH, partPitch } = s.scene;
    const height = Math.round(partH * ratio);
    if (height < s.shapes.name_height * ratio) {
      return;
    }
    const endNs = scale.startNs + raster.width / scale.pxPerNs;
    for (let row = s.firstRow; row < s.stopRow; row++) {
      s.view.rows[row].parts.forEach((lane, k) => {
        const y =
          Math.round((yOf(s, row) + partsY + k * partPitch) * ratio) +
          Math.round((height - glyphs.height) / 2);
        for (let i = firstAfter(lane, scale.startNs); i < lane.n && lane.start[i] < endNs; i++) {
          const x0 = Math.max(0, (lane.start[i] - scale.startNs) * scale.pxPerNs);
          const x1 = Math.min(raster.width, (lane.end[i] - scale.startNs) * scale.pxPerNs) - ratio;
          const { name } = s.chart.parts[lane.id[i]];
          if (textWidth(name, glyphs) + 4 * ratio <= x1 - x0) {
            raster.text(name, (x0 + x1) / 2, y, glyphs, onLook[lane.look[i]]);
          }
        }
      });
    }
  }

  private paintLabels(
    s: Sight,
    kind: "ops" | "theory",
    dy: number,
    height: number,
    scale: Scale,
    onLook: Uint32Array,
  ): void {
    const { ratio } = s;
    const raster = this.raster!;
    const glyphs = this.glyphs!;
    const chart = kind === "ops" ? s.chart : s.against;
    if (height < s.shapes.name_height * ratio || chart === null) {
      return;
    }
    const least = textWidth("0", glyphs) + 4 * ratio;
    const width = (text: string): number => textWidth(text, glyphs);
    const endNs = scale.startNs + raster.width / scale.pxPerNs;
    const stop = height >= s.shapes.two_lines_height * ratio ? LEVELS : LEVELS_FLAT;
    const choice = new NameChoice(stop);
    this.shortened[kind] = choice;
    const each = (
      act: (lane: Lane, i: number, x0: number, x1: number, texts: string[], row: number) => void,
    ): void => {
      for (let row = s.firstRow; row < s.stopRow; row++) {
        const lane = s.view.rows[row][kind];
        for (let i = firstAfter(lane, scale.startNs); i < lane.n && lane.start[i] < endNs; i++) {
          if ((lane.end[i] - lane.start[i]) * scale.pxPerNs >= least) {
            // What is to be seen of the block.
            const x0 = Math.max(0, (lane.start[i] - scale.startNs) * scale.pxPerNs);
            const x1 =
              Math.min(raster.width, (lane.end[i] - scale.startNs) * scale.pxPerNs) - ratio;
            act(lane, i, x0, x1, textsOf(chart, lane.id[i]), row);
          }
        }
      }
    };
    each((lane, i, x0, x1, texts, row) =>
      choice.count(row, lane.look[i], texts, x1 - x0 - 2 * ratio, width),
    );
    each((lane, i, x0, x1, texts, row) => {
      const look = lane.look[i];
      const tier = kind === "ops" ? (s.view.rows[row].tiers?.of[i] ?? 0) : 0;
      const [top, own] = tierSpan(tier, height);
      const room = x1 - x0 - 2 * ratio;
      // Half a block has room for one line at most.
      const first = Math.min(choice.level(row, look, room), tier > 0 ? LEVELS_FLAT - 1 : stop);
      const text = fit(texts, first, tier > 0 ? LEVELS_FLAT : stop, room, width);
      if (text !== "" && own >= s.shapes.name_height * ratio) {
        const lines = text.split("\n");
        const step = Math.round(LABEL_SIZE * ratio);
        const block = glyphs.height + (lines.length - 1) * step;
        const y = Math.round(yOf(s, row) * ratio) + dy + top + Math.round((own - block) / 2);
        lines.forEach((line, k) =>
          raster.text(line, (x0 + x1) / 2, y + k * step, glyphs, onLook[look]),
        );
      }
    });
  }
}

function ticks(s: Sight): { x: number; text: string }[] {
  const { from, to } = s.viewport;
  const axis = axisFor(s.viewport.nsPerPx, s.width, to);
  // The view's own start has its tick, also where the edge of the window cuts it by a part of a pixel.
  const first = Math.abs(from) < s.viewport.nsPerPx ? 0 : from;
  return ticksIn(axis, first, to).map((ns) => ({ x: s.viewport.x(ns), text: tickText(ns, axis) }));
}

/** Over a context whose unit is a CSS pixel, at its origin. */
export function paintAxis(s: Sight, ctx: CanvasRenderingContext2D): void {
  ctx.clearRect(0, 0, s.width, AXIS_H);
  ctx.fillStyle = s.theme.quiet;
  ctx.fillRect(0, 0, s.width, 1);
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  const unit = axisFor(s.viewport.nsPerPx, s.width, s.viewport.to).unit.name;
  ticks(s).forEach((tick, i) => {
    ctx.fillRect(Math.round(tick.x), 0, 1, 5);
    // The first number carries the unit, so that no other number is pushed aside.
    const text = i === 0 ? `${tick.text} ${unit}` : tick.text;
    const half = ctx.measureText(tick.text).width / 2;
    const left = Math.max(0, tick.x - half);
    if (left + ctx.measureText(text).width <= s.width) {
      ctx.fillText(text, left, 9);
    }
  });
}
