/** The canvases of the chart: blocks, what lies over them, the axis. As wide as the plot, as high as what is on screen of it. */
import { context, el } from "../base/dom";
import { AXIS_H } from "./painter";

export const ratioNow = (): number => Math.min(3, Math.max(1, window.devicePixelRatio));

export class Layers {
  readonly base = el("canvas", { class: "base" });
  readonly over = el("canvas", { class: "over", tabindex: "0", role: "img", "data-focus": "" });
  readonly axis = el("canvas", { class: "axis" });

  /** CSS pixels. */
  resize(width: number, height: number, ratio: number): void {
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.height = `${height}px`;
    }
    this.axis.width = Math.round(width * ratio);
    this.axis.height = Math.round(AXIS_H * ratio);
  }

  /** Moves them to where the first row in sight begins. */
  moveTo(top: number): void {
    this.base.style.top = this.over.style.top = `${top}px`;
  }
}

/** Of a canvas whose unit is a CSS pixel. */
export function scaled(canvas: HTMLCanvasElement, ratio: number): CanvasRenderingContext2D {
  const ctx = context(canvas);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}
