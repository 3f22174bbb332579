/** The chart: names of the rows, the plot, figures beside it, the axis. It lives inside one element and scrolls with whatever
 * holds that; who owns it says what to show and is told what the pointer does. It listens to no keys.
 *
 * Drawing happens in one animation frame, reads state and never changes it. */
import { context, el, FONT } from "../base/dom";
import type { Theme } from "../base/theme";
import { textOn } from "../base/theme";
import { bubbleDetails, opDetails, type Details, type Words } from "./details";
import type { Chart } from "./model";
import { isGap, laneOf, Overlay, type Target } from "./overlay";
import { AXIS_H, paintAxis, Painter, type Sight } from "./painter";
import { colourOf } from "./panels";
import { broken, drawLegend, placeLegend } from "./picture";
import { firstAfter, hit, makeView, type Choice, type Row, type View } from "./rows";
import { at, HEADING_H, makeScene, rowAt, type Scene } from "./scene";
import { fill, type Texts } from "./texts";
import { Viewport } from "./viewport";

const PART_NAME_MIN = 11;

export type { Target } from "./overlay";

/** Figures beside the rows. */
export interface Column {
  head: string;
  width: number;
  cell: (row: Row) => string;
  title?: (row: Row) => string;
}

export interface ViewOptions {
  words: Words;
  texts: Texts;
  /** What scrolls; null: the window. */
  scroller: HTMLElement | null;
  columns: Column[];
  /** Pixels that the rows should fit in, if they can. Not given: any. */
  room?: () => number;
  /** A click (without dragging) on a block or gap, or on nothing. Not given: it is pinned. */
  onClick?: (target: Target | null, event: PointerEvent) => void;
  /** A double click zooms in. */
  zoomsOnDouble: boolean;
  /** After the window has moved, or what is pinned. */
  onMoved?: () => void;
}

/** A block or gap for those outside; times from the chart's origin. */
export interface Place {
  row: Row;
  /** Row in the chart's ops, -1: a gap, or an op of the theory. */
  op: number;
  startNs: number;
  endNs: number;
}

const LIST_MIN_PITCH = 12;
/** After a chart was shown, when nothing else is asked for. */
const PREPARE_MS = 400;

export class ChartView {
  readonly viewport = new Viewport();
  view!: View;
  private scene!: Scene;
  private chart!: Chart;
  private against: Chart | null = null;
  private theme!: Theme;
  private words: Words;
  private texts: Texts;
  private columns: Column[];
  private hovered: Target | null = null;
  private pinned_: Target | null = null;
  private arrows = false;
  private readonly painter = new Painter();
  private readonly overlay = new Overlay(this.painter);
  private frame = 0;
  private later = 0;
  private baseDirty = true;
  private width = 0;
  private height = 1;
  private firstRow = 0;
  private stopRow = 0;
  private dragging: { x: number; moved: boolean } | null = null;
  private readonly stop = new AbortController();
  private readonly observer: ResizeObserver;

  private readonly base = el("canvas", { class: "base" });
  private readonly over = el("canvas", { class: "over", tabindex: "0", role: "img" });
  private readonly axis = el("canvas", { class: "axis" });
  private readonly names = el("div", { class: "names" });
  private readonly shares = el("div", { class: "shares" });
  private readonly plot = el("div", { class: "plot" });
  private readonly corner = el("div", { class: "corner" });
  private readonly tip = el("div", { class: "pp-tip", role: "tooltip", hidden: "" });

  constructor(
    private readonly root: HTMLElement,
    private readonly options: ViewOptions,
  ) {
    this.words = options.words;
    this.texts = options.texts;
    this.columns = options.columns;
    this.plot.append(this.base, this.over);
    root.classList.add("chart");
    root.append(
      this.names,
      this.plot,
      this.shares,
      this.corner,
      this.axis,
      el("div", { class: "corner" }),
      this.tip,
    );
    this.listen();
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.plot);
    if (options.scroller !== null) {
      this.observer.observe(options.scroller);
    }
  }

  destroy(): void {
    this.stop.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
    this.root.replaceChildren();
  }

  // --- what is shown ---------------------------------------------------------------------------------------------

  /** Takes a chart and a choice of it. The window stays where it was with `keepWindow`. */
  set(chart: Chart, against: Chart | null, choice: Choice, theme: Theme, keepWindow = false): void {
    this.chart = chart;
    this.against = against;
    this.theme = theme;
    this.view = makeView(chart, against, choice, this.words.causes.length);
    this.scene = makeScene(this.view, this.options.room?.());
    this.hovered = this.pinned_ = null;
    this.showTip(null, 0, 0);
    this.firstRow = 0;
    this.overlay.reset(this.sight());
    this.layRows();
    this.measure();
    if (keepWindow) {
      this.viewport.bound(this.view.endNs, this.width);
    } else {
      this.viewport.fit(this.view.endNs, this.width);
    }
    this.draw();
    clearTimeout(this.later);
    this.later = window.setTimeout(() => this.overlay.prepare(), PREPARE_MS);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.draw();
  }

  setTexts(words: Words, texts: Texts, columns: Column[]): void {
    this.words = words;
    this.texts = texts;
    this.columns = columns;
    this.layRows();
    this.draw();
  }

  setArrows(on: boolean): void {
    this.arrows = on;
    this.drawOver();
  }

  /** More arrows are in sight than anybody could follow, so none is drawn. */
  get tooManyArrows(): boolean {
    return this.overlay.tooMany;
  }

  setLabel(text: string): void {
    this.over.setAttribute("aria-label", text);
  }

  get pinned(): Target | null {
    return this.pinned_;
  }

  pin(target: Target | null): void {
    this.pinned_ = target;
    this.drawOver();
    this.options.onMoved?.();
  }

  /** What a target is. */
  placeOf(target: Target): Place {
    const row = this.view.rows[target.row];
    const lane = laneOf(this.sight(), target);
    const isTheory = target.lane === "theory" || target.lane === "theoryBubbles";
    return {
      row,
      op: isTheory || isGap(target) ? -1 : lane.id[target.index],
      startNs: lane.start[target.index] + this.view.originNs,
      endNs: lane.end[target.index] + this.view.originNs,
    };
  }

  /** The op or gap of a rank (row of the chart's ranks) at a time from the chart's origin; null when it is not shown. */
  find(rankRow: number, ns: number): Target | null {
    const row = this.view.rows.findIndex((r) => r.rankRow === rankRow);
    if (row < 0) {
      return null;
    }
    const t = ns - this.view.originNs;
    for (const lane of ["ops", "transfers", "bubbles"] as const) {
      const index = hit(this.view.rows[row][lane], t, 0);
      if (index >= 0) {
        return { row, lane, index };
      }
    }
    return null;
  }

  /** Brings a row and a span of time (from the chart's origin) into sight, with room around. */
  show(rankRow: number, startNs: number, endNs: number, room = 12): void {
    const middle = (startNs + endNs) / 2 - this.view.originNs;
    const half = (Math.max(endNs - startNs, 1000) * room) / 2;
    this.viewport.show(Math.max(0, middle - half), middle + half);
    this.viewport.pan(0);
    const row = this.view.rows.findIndex((r) => r.rankRow === rankRow);
    if (row >= 0) {
      this.scrollTo(row);
    }
    this.moved();
  }

  private scrollTo(row: number): void {
    const { scroller } = this.options;
    const seen = this.visible();
    const top = this.plot.getBoundingClientRect().top + this.scene.tops[row];
    if (top < seen.top || top + this.scene.pitch > seen.top + seen.height - AXIS_H) {
      (scroller ?? window).scrollBy({ top: top - seen.top - seen.height / 2 });
    }
  }

  // --- window ----------------------------------------------------------------------------------------------------

  zoom(factor: number, x = this.width / 2): void {
    this.viewport.zoom(factor, x);
    this.moved();
  }

  fit(): void {
    this.viewport.fit(this.view.endNs, this.width);
    this.moved();
  }

  /** By a share of the width. */
  panBy(share: number): void {
    this.pan(this.width * share);
  }

  private pan(px: number): void {
    this.viewport.pan(px);
    this.moved();
  }

  /** From the view's origin; null: everything. */
  get window(): { from: number; to: number } | null {
    return this.viewport.isFit ? null : { from: this.viewport.startNs, to: this.viewport.stopNs };
  }

  showWindow(from: number, to: number): void {
    this.viewport.show(from, to);
    this.viewport.pan(0);
    this.moved();
  }

  private moved(): void {
    this.draw();
    this.options.onMoved?.();
  }

  // --- rows ------------------------------------------------------------------------------------------------------

  /** Beside the rows of parts, where they are high enough to read. */
  private partNames(row: Row, i: number): HTMLElement[] {
    const { tops, partsY, partH, partPitch } = this.scene;
    const { texts } = this;
    const named = [texts.partForward, texts.partBackward, texts.partCommunication];
    return partH < PART_NAME_MIN
      ? []
      : row.parts.flatMap((lane, k) => {
          if (lane.n === 0) {
            return [];
          }
          const line = el("div", {}, el("span", {}, named[k]));
          line.style.top = `${tops[i] + partsY + k * partPitch}px`;
          line.style.height = line.style.lineHeight = `${partH}px`;
          return [line];
        });
  }

  private layRows(): void {
    const { tops, blockH, pitch, height, headings } = this.scene;
    const { texts } = this;
    const place = (line: HTMLElement, row: number): HTMLElement => {
      line.style.top = `${tops[row]}px`;
      line.style.height = line.style.lineHeight = `${blockH}px`;
      return line;
    };
    const rankText = (row: Row): string =>
      row.rank < 0 && row.rankRow < 0 ? texts.notMeasured : `${texts.rank} ${row.rank}`;
    this.names.replaceChildren(
      ...headings.map((h) => {
        const head = el("div", { class: "heading" }, fill(texts.pipeline, h.pipeline));
        head.style.top = `${h.top}px`;
        head.style.height = head.style.lineHeight = `${HEADING_H}px`;
        return head;
      }),
      ...this.view.rows.map((row, i) =>
        place(
          el(
            "div",
            {},
            el("b", {}, `${texts.stage} ${row.stage < 0 ? "?" : row.stage}`),
            el("span", {}, rankText(row)),
          ),
          i,
        ),
      ),
      ...this.view.rows.flatMap((row, i) => this.partNames(row, i)),
    );
    let right = 0;
    const columns = [...this.columns].reverse().map((column, c) => {
      const { width } = column;
      const offset = right;
      right += width;
      const shown = c === this.columns.length - 1 || pitch >= LIST_MIN_PITCH;
      const put = (cell: HTMLElement): HTMLElement => {
        cell.style.right = `${offset}px`;
        cell.style.width = `${width}px`;
        return cell;
      };
      return [
        put(el("div", { class: "head" }, column.head)),
        ...(shown
          ? this.view.rows.map((row, i) => {
              const isMeasured = row.ops.n > 0;
              const line = put(
                place(
                  el(
                    "div",
                    {},
                    isMeasured
                      ? column.cell(row)
                      : c === this.columns.length - 1 && row.rankRow >= 0
                        ? texts.noOps
                        : "",
                  ),
                  i,
                ),
              );
              line.title = isMeasured ? (column.title?.(row) ?? "") : "";
              return line;
            })
          : []),
      ];
    });
    this.shares.replaceChildren(...columns.flat());
    this.shares.style.width = `${right}px`;
    this.corner.textContent = texts.fromStart;
    this.root.classList.toggle("tiny", blockH < 12);
    for (const node of [this.plot, this.names, this.shares]) {
      node.style.height = `${height}px`;
    }
  }

  // --- size ------------------------------------------------------------------------------------------------------

  private get ratio(): number {
    return Math.min(3, Math.max(1, window.devicePixelRatio));
  }

  private visible(): { top: number; height: number } {
    const { scroller } = this.options;
    return scroller === null
      ? { top: 0, height: window.innerHeight }
      : { top: scroller.getBoundingClientRect().top, height: scroller.clientHeight };
  }

  /** Fits canvases and buffers to the plot; true when something changed. */
  private measure(): boolean {
    const width = Math.max(100, Math.floor(this.plot.clientWidth));
    const height = Math.max(
      1,
      Math.min(this.scene.height, this.visible().height + 2 * this.scene.pitch + HEADING_H),
    );
    const ratio = this.ratio;
    const isNew = this.painter.measure(width, height, ratio);
    this.width = width;
    this.height = height;
    if (!isNew) {
      return false;
    }
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.height = `${height}px`;
    }
    this.axis.width = Math.round(width * ratio);
    this.axis.height = Math.round(AXIS_H * ratio);
    return true;
  }

  private resized(): void {
    if (this.scene === undefined || this.plot.clientWidth === 0) {
      return;
    }
    const scene = makeScene(this.view, this.options.room?.());
    if (scene.pitch !== this.scene.pitch) {
      this.scene = scene;
      this.layRows();
    }
    if (this.measure()) {
      this.viewport.resize(this.width);
      this.draw();
    }
  }

  // --- drawing ---------------------------------------------------------------------------------------------------

  private sight(): Sight {
    return {
      chart: this.chart,
      against: this.against,
      view: this.view,
      scene: this.scene,
      viewport: this.viewport,
      theme: this.theme,
      ratio: this.ratio,
      width: this.width,
      height: this.height,
      firstRow: this.firstRow,
      stopRow: this.stopRow,
    };
  }

  private draw(): void {
    this.baseDirty = true;
    this.drawOver();
  }

  private drawOver(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.place();
        const sight = this.sight();
        if (this.baseDirty) {
          this.baseDirty = false;
          this.painter.paint(sight, this.base);
          const ctx = context(this.axis);
          ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
          paintAxis(sight, ctx);
        }
        this.paintOver(sight);
      });
    }
  }

  private paintOver(sight: Sight): void {
    const ctx = context(this.over);
    ctx.setTransform(sight.ratio, 0, 0, sight.ratio, 0, 0);
    this.overlay.paint(sight, ctx, this.hovered ?? this.pinned_, this.arrows);
  }

  /** Moves the canvases over the rows that are on screen. */
  private place(): void {
    const { tops, n } = this.scene;
    const above = this.visible().top - this.plot.getBoundingClientRect().top;
    const from = rowAt(this.scene, above);
    let stop = from;
    while (stop < n && tops[stop + 1] - tops[from] <= this.height + 0.5) {
      stop++;
    }
    if (from !== this.firstRow || stop !== this.stopRow) {
      this.firstRow = from;
      this.stopRow = stop;
      this.baseDirty = true;
    }
    this.base.style.top = this.over.style.top = `${tops[from] ?? 0}px`;
  }

  // --- what is hovered -------------------------------------------------------------------------------------------

  private targetAt(x: number, y: number): Target | null {
    const place = at(this.scene, y);
    if (place === null || x < 0 || x > this.width) {
      return null;
    }
    const row = this.view.rows[place.row];
    const ns = this.viewport.ns(x);
    const index = hit(row[place.lane], ns, this.viewport.nsPerPx);
    if (index >= 0) {
      return { row: place.row, lane: place.lane, index };
    }
    if (place.lane === "transfers") {
      return null;
    }
    const lane = place.lane === "theory" ? "theoryBubbles" : "bubbles";
    const gap = hit(row[lane], ns, 0);
    return gap >= 0 ? { row: place.row, lane, index: gap } : null;
  }

  private detailsOf(target: Target): Details {
    const row: Row = this.view.rows[target.row];
    const lane = laneOf(this.sight(), target);
    if (isGap(target)) {
      return bubbleDetails(
        this.chart,
        row,
        target.index,
        this.words,
        this.texts,
        target.lane === "theoryBubbles",
      );
    }
    const isTheory = target.lane === "theory";
    const chart = isTheory ? this.against! : this.chart;
    const op = lane.id[target.index];
    // Where the op lies in the view says how far its own time is from it.
    const shift = chart.start[op] - lane.start[target.index];
    return opDetails(
      chart,
      op,
      this.view,
      this.words,
      this.texts,
      lane.look[target.index],
      isTheory,
      shift,
    );
  }

  private showTip(target: Target | null, clientX: number, clientY: number): void {
    if (target === null) {
      this.tip.hidden = true;
      return;
    }
    const d = this.detailsOf(target);
    const swatch = el("i", { class: d.look === null ? "pp-swatch pp-wait" : "pp-swatch" });
    if (d.look !== null) {
      swatch.style.background = colourOf(this.theme, d.look);
    }
    this.tip.replaceChildren(
      el("div", { class: "pp-tiphead" }, swatch, el("b", {}, d.title), el("span", {}, d.kind)),
      el(
        "table",
        {},
        ...d.lines.map(([name, value, exact]) =>
          el(
            "tr",
            {},
            el("th", {}, name),
            el("td", {}, value),
            el("td", { class: "quiet" }, exact),
          ),
        ),
      ),
    );
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    const left =
      clientX + 16 + box.width > window.innerWidth ? clientX - 16 - box.width : clientX + 16;
    const top =
      clientY + 16 + box.height > window.innerHeight ? clientY - 12 - box.height : clientY + 16;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.max(4, top)}px`;
  }

  // --- input -----------------------------------------------------------------------------------------------------

  private plotPoint(event: MouseEvent): [number, number] {
    const box = this.plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private listen(): void {
    const { over } = this;
    const { signal } = this.stop;
    over.addEventListener("wheel", (event) => this.wheel(event), { passive: false, signal });
    over.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button === 0) {
          over.setPointerCapture(event.pointerId);
          this.dragging = { x: event.clientX, moved: false };
        }
      },
      { signal },
    );
    over.addEventListener("pointermove", (event) => this.pointerMove(event), { signal });
    over.addEventListener(
      "pointerup",
      (event) => {
        const drag = this.dragging;
        this.dragging = null;
        over.classList.remove("dragging");
        if (drag !== null && !drag.moved) {
          const target = this.targetAt(...this.plotPoint(event));
          if (this.options.onClick !== undefined) {
            this.options.onClick(target, event);
          } else {
            this.pin(target);
          }
        }
      },
      { signal },
    );
    over.addEventListener("pointercancel", () => (this.dragging = null), { signal });
    over.addEventListener("pointerleave", () => this.leave(), { signal });
    over.addEventListener(
      "dblclick",
      (event) => this.options.zoomsOnDouble && this.zoom(2, this.plotPoint(event)[0]),
      { signal },
    );
    (this.options.scroller ?? window).addEventListener("scroll", () => this.drawOver(), {
      passive: true,
      signal,
    });
    window.addEventListener("resize", () => this.resized(), { signal });
  }

  private wheel(event: WheelEvent): void {
    const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * pixels * 0.002), this.plotPoint(event)[0]);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX !== 0 ? event.deltaX : event.deltaY) * pixels);
    }
  }

  private pointerMove(event: PointerEvent): void {
    if (this.dragging !== null) {
      const by = event.clientX - this.dragging.x;
      if (this.dragging.moved || Math.abs(by) > 3) {
        this.dragging.moved = true;
        this.dragging.x = event.clientX;
        this.over.classList.add("dragging");
        this.showTip(null, 0, 0);
        this.pan(-by);
      }
      return;
    }
    const target = this.targetAt(...this.plotPoint(event));
    const before = this.hovered;
    this.showTip(target, event.clientX, event.clientY);
    if (
      target?.row !== before?.row ||
      target?.lane !== before?.lane ||
      target?.index !== before?.index
    ) {
      this.hovered = target;
      this.drawOver();
    }
  }

  private leave(): void {
    this.hovered = null;
    this.showTip(null, 0, 0);
    this.drawOver();
  }

  // --- picture ---------------------------------------------------------------------------------------------------

  /** What is in sight with its names, axis and legend, under lines of text: whole without the page. */
  picture(title: string, text: string[]): HTMLCanvasElement {
    const { ratio, theme } = this;
    const s = this.sight();
    const left = Math.max(120, this.names.clientWidth);
    const measure = context(el("canvas"));
    const right = left + s.width + 12;
    const lines = broken(measure, text, right - 12);
    const legend = placeLegend(measure, s.view, this.words, this.texts, 12, right);
    const top = 28 + lines.length * 18 + 12;
    const rowsH = (this.scene.tops[s.stopRow] ?? 0) - (this.scene.tops[s.firstRow] ?? 0);
    const canvas = el("canvas");
    canvas.width = Math.round((left + s.width + 24) * ratio);
    canvas.height = Math.round((top + rowsH + AXIS_H + 20 + legend.height) * ratio);
    const ctx = context(canvas);
    ctx.scale(ratio, ratio);
    ctx.fillStyle = theme.page;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    const write = (
      text: string,
      x: number,
      y: number,
      size: number,
      colour: string,
      weight = 400,
    ): void => {
      ctx.font = `${weight} ${size}px ${FONT}`;
      ctx.fillStyle = colour;
      ctx.fillText(text, x, y);
    };
    ctx.textBaseline = "middle";
    write(title, 12, 20, 18, theme.ink, 600);
    lines.forEach((line, i) => write(line, 12, 44 + i * 18, 12, theme.quiet));
    ctx.textAlign = "right";
    for (let r = s.firstRow; r < s.stopRow; r++) {
      const row = s.view.rows[r];
      const y = top + this.scene.tops[r] - this.scene.tops[s.firstRow] + this.scene.blockH / 2;
      if (this.scene.pitch >= 9 || r % 8 === 0) {
        write(
          `${this.texts.stage} ${row.stage < 0 ? "?" : row.stage}  ${this.texts.rank} ${row.rank}`,
          left - 8,
          y,
          this.scene.pitch >= 12 ? 11 : 9,
          theme.ink,
        );
      }
    }
    const src = Math.round(rowsH * ratio);
    for (const layer of [this.base, this.over]) {
      ctx.drawImage(
        layer,
        0,
        0,
        layer.width,
        Math.min(src, layer.height),
        left,
        top,
        s.width,
        Math.min(src, layer.height) / ratio,
      );
    }
    ctx.textAlign = "left";
    ctx.drawImage(this.axis, left, top + rowsH + 2, s.width, AXIS_H);
    drawLegend(ctx, legend, top + rowsH + AXIS_H + 10, theme);
    return canvas;
  }

  /** Colours of a block's ground and text, for what stands around the chart. */
  inkOn(look: number): string {
    return textOn(colourOf(this.theme, look));
  }

  /** How many ops are in sight: what a frame is about. */
  opsInSight(): number {
    let n = 0;
    for (let r = this.firstRow; r < this.stopRow; r++) {
      const lane = this.view.rows[r].ops;
      const from = firstAfter(lane, this.viewport.startNs);
      let low = from;
      let high = lane.n;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (lane.start[middle] < this.viewport.stopNs) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      n += low - from;
    }
    return n;
  }
}
