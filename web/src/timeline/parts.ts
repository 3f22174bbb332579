/** The elements of the timeline: names on the left, canvases on the right, above them the minimap and the axis. */
import { el } from "../base/dom";
import { AXIS_PX, MINIMAP_PX, STRIP_PX } from "./draw_axis";

export class Parts {
  readonly root = el("div", { class: "tl" });
  readonly minimap = el("canvas", { class: "tl-minimap" });
  readonly axis = el("canvas", { class: "tl-axis" });
  readonly axes = el("div", { class: "tl-axes" }, this.minimap, this.axis);
  /** Scrolls; what is in it stays where it is, and a space of the height of all lanes gives it something to scroll. */
  readonly scroller = el("div", { class: "tl-scroll", tabindex: "0", "data-focus": "" });
  readonly labelColumn = el("div", { class: "tl-labels" });
  readonly base = el("canvas", { class: "tl-base" });
  readonly over = el("canvas", { class: "tl-over", role: "img" });
  readonly corner = el("div", { class: "tl-corner" });
  readonly edge = el("div", {
    class: "tl-edge",
    role: "separator",
    "aria-orientation": "vertical",
    tabindex: "0",
  });
  private readonly stick = el("div", { class: "tl-stick" });
  private readonly space = el("div", { class: "tl-space" });

  constructor() {
    this.stick.append(this.labelColumn, el("div", { class: "tl-plot" }, this.base, this.over));
    this.scroller.append(this.stick, this.space);
    this.root.append(
      el("div", { class: "tl-top" }, this.corner, this.axes),
      this.scroller,
      this.edge,
    );
  }

  /** Another page may be in front, with this one behind it. */
  get isSeen(): boolean {
    return this.scroller.getClientRects().length > 0;
  }

  setLabelWidth(px: number): void {
    this.root.style.setProperty("--label-width", `${px}px`);
  }

  setHeight(px: number): void {
    this.stick.style.height = `${px}px`;
  }

  /** How far there is to scroll. */
  setSpace(px: number): void {
    this.space.style.height = `${px}px`;
  }

  /** Of the plot, CSS pixels. */
  resizeCanvases(width: number, height: number, scale: number): void {
    sizeCanvas(this.base, width, height, scale);
    sizeCanvas(this.over, width, height, scale);
    sizeCanvas(this.axis, width, AXIS_PX + STRIP_PX, scale);
    sizeCanvas(this.minimap, width, MINIMAP_PX, scale);
  }
}

function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number, scale: number): void {
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
