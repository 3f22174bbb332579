/** The chart: names of the rows, the plot, figures beside it, the axis. It lives inside one element and scrolls with whatever
 * holds that; who owns it says what to show and is told what the pointer does. Of keys it listens to arrows alone, while
 * the keyboard has led to it.
 *
 * Drawing happens in one animation frame, reads state and never changes it. */
import { el } from "../base/dom";
import type { Theme } from "../base/theme";
import { Viewport, WITHIN } from "../base/viewport";
import { counterpart } from "./below";
import { listenToPlot } from "./chart_gestures";
import {
  bubbleDetails,
  linkDetails,
  opDetails,
  otherDetails,
  otherLine,
  type Details,
  type Words,
} from "./details";
import { Layers, ratioNow, scaled } from "./layers";
import { Margins, type Column } from "./margins";
import type { Chart, Shapes } from "./model";
import { Overlay } from "./overlay";
import { AXIS_H, paintAxis, Painter, type Sight } from "./painter";
import { paintPicture } from "./picture";
import { makeView, type Choice, type View } from "./rows";
import { HEADING_H, makeScene, rowAt, type Scene } from "./scene";
import {
  isGap,
  halfAt,
  isOther,
  isSame,
  isTheory,
  laneOf,
  opsInSight,
  pairAt,
  placeOf,
  targetAfter,
  targetAt,
  targetOf,
  targetOfGap,
  targetOfOp,
  targetOfText,
  targetOnPath,
  textOfTarget,
  type Place,
  type Target,
} from "./targets";
import type { Texts } from "./texts";
import { Tip } from "./tip";

export interface ViewOptions {
  words: Words;
  texts: Texts;
  shapes: Shapes;
  /** What scrolls; null: the window. */
  scroller: HTMLElement | null;
  columns: Column[];
  /** Above the rows of a pipeline; not given: its number. */
  pipelineText?: (pipeline: number) => string;
  /** Pixels that the rows should fit in, if they can. Not given: any. */
  room?: () => number;
  /** A click (without dragging) on a block or gap, or on nothing. Not given: it is pinned. */
  onClick?: (target: Target | null, event: PointerEvent) => void;
  /** A double click zooms in. */
  zoomsOnDouble: boolean;
  /** After the window has moved, or what is pinned. */
  onMoved?: () => void;
}

/** After a chart was shown, when nothing else is asked for. */
const PREPARE_MS = 400;
/** Shorter ops are shown as if they took so long. */
const SHOWN_LEAST_NS = 1000;

export class ChartView {
  readonly viewport = new Viewport(WITHIN);
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
  private path = false;
  private readonly painter = new Painter();
  private readonly overlay = new Overlay(this.painter);
  private frame = 0;
  private later = 0;
  private baseDirty = true;
  private width = 0;
  private height = 1;
  private firstRow = 0;
  private stopRow = 0;
  private readonly stop = new AbortController();
  private readonly observer: ResizeObserver;

  private readonly layers = new Layers();
  private readonly margins = new Margins();
  private readonly plot = el("div", { class: "plot" });
  private readonly corner = el("div", { class: "corner" });
  private readonly tip = new Tip();

  constructor(
    private readonly root: HTMLElement,
    private readonly options: ViewOptions,
  ) {
    this.words = options.words;
    this.texts = options.texts;
    this.columns = options.columns;
    this.build();
    this.listen();
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.plot);
    if (options.scroller !== null) {
      this.observer.observe(options.scroller);
    }
  }

  private build(): void {
    const { names, shares } = this.margins;
    this.plot.append(this.layers.base, this.layers.over);
    this.root.classList.add("chart");
    this.root.append(names, this.plot, shares);
    this.root.append(this.corner, this.layers.axis, el("div", { class: "corner" }));
    this.root.append(this.tip.element);
  }

  private listen(): void {
    const { signal } = this.stop;
    listenToPlot(this.plot, this.layers.over, signal, {
      zoom: (factor, x) => this.zoom(factor, x),
      pan: (px) => this.pan(px),
      hover: (at, event) => this.hover(at === null ? null : this.targetAt(at.x, at.y), event),
      click: (at, event) => this.click(this.targetAt(at.x, at.y), event),
      double: (x) => this.options.zoomsOnDouble && this.zoom(2, x),
    });
    this.layers.over.addEventListener("keydown", (event) => this.key(event), { signal });
    (this.options.scroller ?? window).addEventListener("scroll", () => this.drawOver(), {
      passive: true,
      signal,
    });
    window.addEventListener("resize", () => this.resized(), { signal });
  }

  destroy(): void {
    this.stop.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
    this.root.replaceChildren();
  }

  // --- what is shown ---------------------------------------------------------------------------------------------

  /** Takes a chart and a choice of it. The window stays where it was with `keepWindow`; what is pinned as far as it is shown. */
  set(chart: Chart, against: Chart | null, choice: Choice, theme: Theme, keepWindow = false): void {
    const pinned = this.chart === chart ? this.pinnedText : null;
    this.chart = chart;
    this.against = against;
    this.theme = theme;
    this.view = makeView(chart, against, choice, this.words.causes.length);
    this.scene = makeScene(this.view, this.options.shapes, this.options.room?.());
    this.hovered = null;
    this.pinned_ = pinned === null ? null : targetOfText(this.view, pinned);
    this.tip.hide();
    this.firstRow = 0;
    this.overlay.reset(this.sight());
    this.layRows();
    this.measure();
    const isAsWide = this.viewport.width === this.width;
    this.viewport.resize(this.width);
    this.viewport.replaceExtent(0, this.view.endNs);
    if (!keepWindow || !isAsWide) {
      this.viewport.fit();
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

  /** The critical path over the blocks. */
  setPath(on: boolean): void {
    this.path = on;
    this.drawOver();
  }

  setArrows(on: boolean): void {
    this.arrows = on;
    this.drawOver();
  }

  /** More arrows are in sight than anybody could follow, so none is drawn. */
  get tooManyArrows(): boolean {
    return this.overlay.tooMany;
  }

  /** Where the focus is nowhere: keys go on in the chart. */
  takeFocus(): void {
    const now = document.activeElement;
    if (now === null || now === document.body || now.tagName === "MAIN") {
      this.layers.over.focus({ preventScroll: true });
    }
  }

  setLabel(text: string): void {
    this.layers.over.setAttribute("aria-label", text);
  }

  get pinned(): Target | null {
    return this.pinned_;
  }

  pin(target: Target | null): void {
    this.pinned_ = target;
    this.tip.hide();
    this.drawOver();
    this.options.onMoved?.();
  }

  /** What is pinned, as the address has it; null: nothing. */
  get pinnedText(): string | null {
    return this.pinned_ === null ? null : textOfTarget(this.view, this.pinned_);
  }

  /** False: it is not shown. */
  pinText(text: string): boolean {
    const target = targetOfText(this.view, text);
    if (target !== null) {
      this.pin(target);
    }
    return target !== null;
  }

  placeOf(target: Target): Place {
    return placeOf(this.view, target);
  }

  find(rankRow: number, ns: number): Target | null {
    return targetOf(this.view, rankRow, ns);
  }

  findGap(rankRow: number, from: number, to: number): Target | null {
    return targetOfGap(this.view, rankRow, from, to);
  }

  findOp(op: number): Target | null {
    return targetOfOp(this.view, op);
  }

  /** How many ops are in sight: what a frame is about. */
  opsInSight(): number {
    return opsInSight(this.view.rows.slice(this.firstRow, this.stopRow), this.viewport);
  }

  // --- window ----------------------------------------------------------------------------------------------------

  zoom(factor: number, x = this.width / 2): void {
    this.viewport.zoom(factor, x);
    this.moved();
  }

  fit(): void {
    this.viewport.fit();
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
    return this.viewport.isFit ? null : { from: this.viewport.from, to: this.viewport.to };
  }

  showWindow(from: number, to: number): void {
    this.viewport.show(from, to);
    this.moved();
  }

  /** Brings a row and a span of time (from the chart's origin) into sight, with room around. */
  show(rankRow: number, startNs: number, endNs: number, room = 12): void {
    const middle = (startNs + endNs) / 2 - this.view.originNs;
    const half = (Math.max(endNs - startNs, SHOWN_LEAST_NS) * room) / 2;
    this.viewport.show(Math.max(0, middle - half), middle + half);
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

  private moved(): void {
    this.draw();
    this.options.onMoved?.();
  }

  // --- size ------------------------------------------------------------------------------------------------------

  private layRows(): void {
    const { pipelineText } = this.options;
    this.margins.lay(this.view, this.scene, this.columns, this.texts, pipelineText);
    this.corner.textContent = this.texts.fromStart;
    this.root.classList.toggle("tiny", this.scene.blockH < 12);
    this.plot.style.height = `${this.scene.height}px`;
  }

  private visible(): { top: number; height: number } {
    const { scroller } = this.options;
    return scroller === null
      ? { top: 0, height: window.innerHeight }
      : { top: scroller.getBoundingClientRect().top, height: scroller.clientHeight };
  }

  /** Fits canvases and buffers to the plot; true when something changed. */
  private measure(): boolean {
    const { scene } = this;
    this.width = Math.max(100, Math.floor(this.plot.clientWidth));
    this.height = Math.max(
      1,
      Math.min(scene.height, this.visible().height + 2 * scene.pitch + HEADING_H),
    );
    const isNew = this.painter.measure(this.width, this.height, ratioNow());
    if (isNew) {
      this.layers.resize(this.width, this.height, ratioNow());
    }
    return isNew;
  }

  private resized(): void {
    if (this.scene === undefined || this.plot.clientWidth === 0) {
      return;
    }
    const scene = makeScene(this.view, this.options.shapes, this.options.room?.());
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
      shapes: this.options.shapes,
      viewport: this.viewport,
      theme: this.theme,
      ratio: ratioNow(),
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
        this.paint(this.sight());
      });
    }
  }

  private paint(sight: Sight): void {
    const { base, over, axis } = this.layers;
    if (this.baseDirty) {
      this.baseDirty = false;
      this.painter.paint(sight, base);
      paintAxis(sight, scaled(axis, sight.ratio));
    }
    this.overlay.paint(
      sight,
      scaled(over, sight.ratio),
      this.hovered ?? this.pinned_,
      this.arrows,
      this.path,
    );
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
    this.layers.moveTo(tops[from] ?? 0);
    this.root.classList.toggle("more-below", this.isMoreBelow(above));
  }

  /** Rows go on below what scrolls; `above`: how much of the plot is above it. */
  private isMoreBelow(above: number): boolean {
    const { scroller } = this.options;
    return scroller !== null && this.scene.height > above + this.visible().height - AXIS_H + 1;
  }

  /** What is in sight with its names, axis and legend, under lines of text: whole without the page. */
  picture(title: string, text: string[]): HTMLCanvasElement {
    const left = Math.max(120, this.margins.names.clientWidth);
    return paintPicture(this.sight(), this.layers, left, title, text, this.words, this.texts);
  }

  // --- pointer ---------------------------------------------------------------------------------------------------

  private targetAt(x: number, y: number): Target | null {
    const found = targetAt(this.view, this.scene, this.viewport, x, y);
    const target = found && halfAt(this.view, this.sight(), found, this.viewport.ns(x));
    if (!this.path) {
      return target;
    }
    const top = this.scene.tops[this.firstRow] ?? 0;
    const isOver = target !== null && !isGap(target);
    const piece = this.overlay.pathAt(this.sight(), x, y - top, isOver);
    return targetOnPath(target, piece, (op) => this.findOp(op));
  }

  private click(target: Target | null, event: PointerEvent): void {
    if (this.options.onClick !== undefined) {
      this.options.onClick(target, event);
    } else {
      this.pin(target);
    }
  }

  private hover(target: Target | null, event: PointerEvent): void {
    if (target === null) {
      this.tip.hide();
    } else {
      this.tip.show(this.detailsOf(target), this.theme, event.clientX, event.clientY);
    }
    if (!isSame(target, this.hovered)) {
      this.hovered = target;
      this.drawOver();
    }
  }

  // --- keys ------------------------------------------------------------------------------------------------------

  /** Arrows go from block to block. After a click they move the window, as everywhere on the page. */
  private key(event: KeyboardEvent): void {
    const isArrow =
      event.key.startsWith("Arrow") && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (!isArrow || event.shiftKey || !this.layers.over.matches(":focus-visible")) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const next = targetAfter(this.view, this.sight(), this.viewport, this.pinned_, event.key);
    if (next !== null) {
      this.bringIntoSight(next);
      this.pin(next);
      this.say(next);
    }
  }

  /** The window moves no more than it must. */
  private bringIntoSight({ row, lane, index }: Target): void {
    const { start, end } = this.view.rows[row][lane];
    this.viewport.reveal(start[index], end[index]);
    this.scrollTo(row);
    this.moved();
  }

  /** What the block is, below it; read out. */
  private say(target: Target): void {
    const plot = this.plot.getBoundingClientRect();
    const { start } = laneOf(this.view, target);
    const x = Math.max(0, Math.min(this.width, this.viewport.x(start[target.index])));
    const y = plot.top + this.scene.tops[target.row] + this.scene.blockH;
    this.tip.show(this.detailsOf(target), this.theme, plot.left + x, y, true);
  }

  private detailsOf(target: Target): Details {
    const { view, words, texts } = this;
    const lane = laneOf(view, target);
    const ofTheory = isTheory(target);
    const row = view.rows[target.row];
    if (isOther(target)) {
      return otherDetails(row, target.index, texts);
    }
    if (isGap(target)) {
      return bubbleDetails(this.chart, row, target.index, words, texts, ofTheory);
    }
    const chart = ofTheory ? this.against! : this.chart;
    const op = lane.id[target.index];
    if (target.from !== undefined) {
      return linkDetails(chart, op, target.from, lane.look[target.index], texts);
    }
    // Where the op lies in the view says how far its own time is from it.
    const shift = chart.start[op] - lane.start[target.index];
    const pair = pairAt(view, this.sight(), target);
    const lit = pair === null ? undefined : pair[target.isSecond === true ? 1 : 0];
    const look = lane.look[target.index];
    const said = opDetails(chart, op, view, words, texts, look, ofTheory, shift, lit);
    const other = this.otherLineOf(target);
    return other === null ? said : { ...said, lines: [...said.lines, other] };
  }

  /** The same op on the other side of the row; null: there is none. */
  private otherLineOf(target: Target): Details["lines"][number] | null {
    const other = counterpart(this.view, this.sight(), target);
    if (other === null) {
      return null;
    }
    const [own, there] = [target, other].map((of) => {
      const { start, end } = laneOf(this.view, of);
      return { startNs: start[of.index], durationNs: end[of.index] - start[of.index] };
    });
    const by = {
      startNs: there.startNs - own.startNs,
      durationNs: there.durationNs - own.durationNs,
    };
    const name = isTheory(other) ? this.texts.theory : this.texts.measured;
    return otherLine(name, by, there.durationNs, this.texts);
  }
}
