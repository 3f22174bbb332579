/** The page: one App owns the choice, the viewport and what is hovered; everything on screen follows from them.
 *
 * Three coordinate spaces: time (ns from the view's origin), CSS pixels of the plot, device pixels of the canvases.
 * Drawing happens in one animation frame, reads state and never changes it. */
import { context, el, FONT } from "../base/dom";
import { bubbleDetails, opDetails, type Details, type Words } from "./details";
import { CanvasGlyphs } from "./glyphs";
import { fit, levels, LEVELS, LEVELS_FLAT, NameChoice } from "./labels";
import { isTransfer, N_KINDS, N_PHASES, type Chart, type Table } from "./model";
import { colourOf, legend, plainTable, stageTable } from "./panels";
import { Raster, textWidth, type Scale, type Style } from "./raster";
import { firstAfter, hasPhases, hit, makeView, pipelinesOf, stepsOf, type Lane, type Row, type View } from "./rows";
import { at, makeScene, type LaneKind, type Scene } from "./scene";
import { pixel, rgb, textOn, type Theme } from "../base/theme";
import { axisFor, duration, percent, tickText } from "../base/time";
import { Viewport } from "./viewport";

export interface PageData extends Words {
  theme: { light: Theme; dark: Theme };
  view: { step: number; pipeline: number };
  chart: Chart;
  against: Chart | null;
  tables: Table[];
}

/** What the pointer is on: a block, or a gap of waiting. */
interface Target {
  row: number;
  lane: LaneKind | "bubbles" | "theoryBubbles";
  index: number;
}

/** The ops that stand out. */
interface Lit {
  chart: Chart;
  isTheory: boolean;
  matches: (op: number) => boolean;
}

const LABEL_SIZE = 11;
const LABEL_ROOM_MIN = 13; // lanes lower than this carry no text
const TWO_LINES_MIN = 25;
const ZOOM_KEY = 1.5;
const MAX_ARROWS = 3000;

export class App {
  private readonly viewport = new Viewport();
  private view!: View;
  private scene!: Scene;
  private theme!: Theme;
  private step: number | null;
  private pipeline: number;
  private byPhase: boolean;
  private allArrows = false;
  private hovered: Target | null = null;
  private pinned: Target | null = null;
  /** How names were shortened in the last frame. */
  private readonly shortened: { ops?: NameChoice; theory?: NameChoice } = {};
  private litFor: Target | null = null;
  private lit: Lit | null = null;
  private litLinks: number[] = [];
  private allLinks: number[] | null = null;
  private rowOfRank = new Int32Array(0);
  private scheduled = false;
  private baseDirty = true;
  private width = 0;
  /** The canvases show rows firstRow .. stopRow - 1; they are as high as the window needs. */
  private firstRow = 0;
  private stopRow = 0;
  private capacity = 1;
  private raster: Raster | null = null;
  private image: ImageData | null = null;
  private glyphs: CanvasGlyphs | null = null;
  private readonly texts = new Map<number, string[]>();
  private readonly theoryTexts = new Map<number, string[]>();
  private dragging: { x: number; moved: boolean } | null = null;

  private readonly base = el("canvas", { class: "base" });
  private readonly over = el("canvas", { class: "over", tabindex: "0", role: "img" });
  private readonly axis = el("canvas", { class: "axis" });
  private readonly names = el("div", { class: "names" });
  private readonly shares = el("div", { class: "shares" });
  private readonly plot = el("div", { class: "plot" });
  private readonly tip = el("div", { class: "tip", role: "tooltip", hidden: "" });
  private readonly title = el("h1");
  private readonly facts = el("p", { class: "facts" });
  private readonly below = el("div", { class: "below" });
  private readonly stepPicker = el("select", { "aria-label": "step" });
  private readonly themeButton = el("button", { type: "button", title: "light or dark (t)" });

  constructor(private readonly root: HTMLElement, private readonly data: PageData) {
    this.step = data.view.step;
    this.pipeline = data.view.pipeline;
    this.byPhase = hasPhases(data.chart);
    this.build();
    this.setTheme(null);
    this.listen();
    this.choose();
  }

  // --- building -------------------------------------------------------------------------------------------------

  private build(): void {
    const { chart } = this.data;
    this.title.textContent = chart.title !== "" ? chart.title : "pipeline chart";
    const controls = el("div", { class: "controls" });
    const steps = stepsOf(chart);
    if (steps.length > 1) {
      this.stepPicker.append(...steps.map((s) => el("option", { value: String(s) }, String(s))));
      this.stepPicker.append(el("option", { value: "all" }, "all"));
      this.stepPicker.value = String(this.step);
      this.stepPicker.addEventListener("change", () => this.setStep(this.stepPicker.value));
      controls.append(el("label", {}, "step ", this.stepPicker));
    }
    const pipelines = pipelinesOf(chart);
    if (pipelines.length > 1) {
      const picker = el("select", { "aria-label": "pipeline" },
        ...pipelines.map((p) => el("option", { value: String(p) }, String(p))));
      picker.value = String(this.pipeline);
      picker.addEventListener("change", () => {
        this.pipeline = Number(picker.value);
        this.choose();
      });
      controls.append(el("label", {}, "pipeline ", picker));
    }
    if (this.byPhase) {
      const picker = el("select", { "aria-label": "colour" },
        el("option", { value: "phase" }, "phase"), el("option", { value: "kind" }, "kind"));
      picker.addEventListener("change", () => {
        this.byPhase = picker.value === "phase";
        this.choose(true);
      });
      controls.append(el("label", {}, "colour by ", picker));
    }
    if (chart.links.n > 0) {
      const box = el("input", { type: "checkbox" });
      box.addEventListener("change", () => {
        this.allArrows = box.checked;
        this.draw();
      });
      controls.append(el("label", { title: "show all links, not only those of the microbatch under the pointer" }, box, " arrows"));
    }
    const button = (text: string, title: string, act: () => void): HTMLElement => {
      const b = el("button", { type: "button", title, "aria-label": title }, text);
      b.addEventListener("click", act);
      return b;
    };
    controls.append(
      el("span", { class: "group" },
        button("\u2212", "zoom out (-)", () => this.zoom(1 / ZOOM_KEY)),
        button("+", "zoom in (+)", () => this.zoom(ZOOM_KEY)),
        button("fit", "show everything (0)", () => this.fit())),
      this.themeButton);
    this.themeButton.addEventListener("click", () => this.toggleTheme());
    this.plot.append(this.base, this.over);
    this.root.append(
      el("header", {}, el("div", { class: "what" }, this.title, this.facts), controls),
      el("main", {},
        el("div", { class: "chart" }, this.names, this.plot, this.shares,
          el("div", { class: "corner" }, "from the step\u2019s start"), this.axis, el("div", { class: "corner" })),
        this.below),
      this.tip);
  }

  /** Takes the choice of step, pipeline and colours. */
  private choose(keepWindow = false): void {
    const { chart, against, causes } = this.data;
    const choice = { pipeline: this.pipeline, step: this.step, byPhase: this.byPhase };
    this.view = makeView(chart, against, choice, causes.length);
    this.scene = makeScene(this.view);
    this.hovered = this.pinned = this.litFor = this.lit = this.allLinks = null;
    this.firstRow = -1;
    this.rowOfRank = new Int32Array(chart.ranks.length).fill(-1);
    this.view.rows.forEach((row, i) => (this.rowOfRank[row.rankRow] = i));
    this.describe();
    this.layRows();
    this.measure();
    if (!keepWindow) {
      this.viewport.fit(this.view.endNs, this.width);
    }
    this.draw();
  }

  private setStep(value: string): void {
    this.step = value === "all" ? null : Number(value);
    this.choose();
  }

  private describe(): void {
    const { chart } = this.data;
    const rows = this.view.rows.filter((r) => r.ops.n > 0);
    const busy = rows.reduce((sum, r) => sum + r.busyNs, 0) / Math.max(1, rows.length * this.view.windowNs);
    const facts: string[] = [];
    const titled = chart.title.toLowerCase().includes(chart.schedule.toLowerCase());
    if (chart.how !== "") {
      facts.push(chart.schedule !== "" ? `${chart.schedule}, ${chart.how}` : chart.how);
    } else if (!titled) {
      facts.push(chart.schedule);
    }
    facts.push(this.step === null ? `all ${stepsOf(chart).length} steps` : `step ${this.step}`);
    if (pipelinesOf(chart).length > 1) {
      facts.push(`pipeline ${this.pipeline}`);
    }
    facts.push(duration(this.view.windowNs), `bubble ${percent(1 - busy)} %`);
    if (this.view.theoryShare !== null) {
      facts.push(`theory (${this.data.against?.schedule ?? ""}): bubble ${percent(1 - this.view.theoryShare)} %`);
    }
    this.facts.textContent = facts.join(" \u00b7 ");
    this.over.setAttribute("aria-label", `pipeline chart: ${facts.join(", ")}`);
    this.below.replaceChildren(
      legend(this.view, this.data, this.theme),
      el("p", { class: "hint" }, "Drag to pan, Ctrl + wheel or double-click to zoom; arrow keys, + \u2212 0; [ ] step; t theme. Click a block to keep its microbatch lit."),
      el("section", { class: "panel" }, el("h2", {}, "Stages"), el("div", { class: "scroll" }, stageTable(this.view, this.data, this.theme))),
      ...this.data.tables.map(plainTable));
  }

  private layRows(): void {
    const { pitch, blockH } = this.scene;
    const heads = [el("div", { class: "head" }, "busy %")];
    this.names.replaceChildren(...this.view.rows.map((row, i) => {
      const line = el("div", {}, el("b", {}, `stage ${row.stage < 0 ? "?" : row.stage}`), el("span", {}, `rank ${row.rank}`));
      line.style.top = `${i * pitch}px`;
      line.style.height = line.style.lineHeight = `${blockH}px`;
      return line;
    }));
    this.shares.replaceChildren(...heads, ...this.view.rows.map((row, i) => {
      const line = el("div", {}, row.ops.n === 0 ? "no ops" : percent(row.busyNs / this.view.windowNs));
      line.style.top = `${i * pitch}px`;
      line.style.height = line.style.lineHeight = `${blockH}px`;
      return line;
    }));
    this.root.classList.toggle("tiny", blockH < 12);
    for (const node of [this.plot, this.names, this.shares]) {
      node.style.height = `${this.scene.height}px`;
    }
  }

  // --- theme ----------------------------------------------------------------------------------------------------

  private isDark(): boolean {
    const set = document.documentElement.dataset.theme;
    return set !== undefined ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  private setTheme(name: "light" | "dark" | null): void {
    if (name !== null) {
      document.documentElement.dataset.theme = name;
    }
    this.theme = this.data.theme[this.isDark() ? "dark" : "light"];
    this.themeButton.textContent = this.isDark() ? "light" : "dark";
    this.style = null;
  }

  private toggleTheme(): void {
    this.setTheme(this.isDark() ? "light" : "dark");
    this.describe();
    this.draw();
  }

  // --- size -----------------------------------------------------------------------------------------------------

  private get ratio(): number {
    return Math.min(3, Math.max(1, window.devicePixelRatio));
  }

  /** Fits canvases and buffers to the plot; true when something changed. */
  private measure(): boolean {
    const width = Math.max(100, Math.floor(this.plot.clientWidth));
    const ratio = this.ratio;
    const w = Math.round(width * ratio);
    this.capacity = Math.min(this.scene.n, Math.ceil(window.innerHeight / this.scene.pitch) + 1);
    const h = Math.max(1, Math.round(this.capacity * this.scene.pitch * ratio));
    if (this.raster !== null && this.raster.width === w && this.raster.height === h) {
      return false;
    }
    this.width = width;
    this.image = new ImageData(w, h);
    this.raster = new Raster(w, h, new Uint32Array(this.image.data.buffer));
    this.glyphs = new CanvasGlyphs(LABEL_SIZE * ratio);
    for (const canvas of [this.base, this.over]) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = `${this.capacity * this.scene.pitch}px`;
    }
    this.axis.width = w;
    this.axis.height = Math.round(28 * ratio);
    this.style = null;
    return true;
  }

  // --- drawing --------------------------------------------------------------------------------------------------

  private style: (Style & { page: number; panel: number; line: number; hatch: number; onLook: Uint32Array }) | null = null;

  private styleNow(): NonNullable<App["style"]> {
    if (this.style === null) {
      const colours = new Uint32Array(16);
      const onLook = new Uint32Array(16);
      for (let look = 0; look < N_KINDS + N_PHASES; look++) {
        colours[look] = pixel(colourOf(this.theme, look));
        onLook[look] = pixel(textOn(colourOf(this.theme, look)));
      }
      const r = this.ratio;
      this.style = {
        colours, onLook, gap: Math.round(r), gapFrom: 3 * r, radius: Math.round(2 * r), runGap: 4,
        page: pixel(this.theme.page), panel: pixel(this.theme.panel), line: pixel(this.theme.line),
        hatch: pixel(this.theme.hatch),
      };
    }
    return this.style;
  }

  private draw(): void {
    this.baseDirty = true;
    this.drawOver();
  }

  private drawOver(): void {
    if (!this.scheduled) {
      this.scheduled = true;
      requestAnimationFrame(() => {
        this.scheduled = false;
        this.place();
        if (this.baseDirty) {
          this.baseDirty = false;
          this.paintBase();
          this.paintAxis();
        }
        this.paintOver();
      });
    }
  }

  /** Moves the canvases over the rows that are on screen. */
  private place(): void {
    const { pitch, n } = this.scene;
    const box = this.plot.getBoundingClientRect();
    const from = Math.max(0, Math.min(n - this.capacity, Math.floor(-box.top / pitch)));
    if (from !== this.firstRow) {
      this.firstRow = from;
      this.baseDirty = true;
      this.base.style.top = this.over.style.top = `${from * pitch}px`;
    }
    this.stopRow = Math.min(n, from + this.capacity);
  }

  private scale(): Scale {
    return { startNs: this.viewport.startNs, pxPerNs: this.ratio / this.viewport.nsPerPx };
  }

  private paintBase(): void {
    const raster = this.raster!;
    const style = this.styleNow();
    const ratio = this.ratio;
    const scale = this.scale();
    const from = this.firstRow;
    const to = this.stopRow;
    const px = (css: number): number => Math.round(css * ratio);
    raster.fill(0, raster.height, style.page);
    const { blockH, theoryY, theoryH, transferY, transferH, pitch } = this.scene;
    const pitchPx = Math.max(4, px(6));
    for (let r = from; r < to; r++) {
      const y = px((r - from) * pitch);
      const h = px(blockH);
      raster.fill(y, h, style.panel);
      if (theoryH > 0) {
        raster.fill(y + px(theoryY), px(theoryH), style.panel);
      }
    }
    this.paintGrid(raster, style.line);
    for (let r = from; r < to; r++) {
      const row = this.view.rows[r]!;
      const y = px((r - from) * pitch);
      const h = px(blockH);
      raster.hatch(row.bubbles, y, h, scale, style.hatch, pitchPx);
      raster.lane(row.ops, y, h, scale, style);
      if (theoryH > 0) {
        raster.hatch(row.theoryBubbles, y + px(theoryY), px(theoryH), scale, style.hatch, pitchPx);
        raster.lane(row.theory, y + px(theoryY), px(theoryH), scale, style);
      }
      if (transferH > 0) {
        raster.lane(row.transfers, y + px(transferY), px(transferH), scale, { ...style, radius: 0, runGap: 1.5 });
      }
    }
    this.paintLabels(raster, from, to, "ops", px(0), px(blockH), scale, style.onLook);
    this.paintLabels(raster, from, to, "theory", px(theoryY), px(theoryH), scale, style.onLook);
    context(this.base, { alpha: false }).putImageData(this.image!, 0, 0);
  }

  private textsOf(chart: Chart, known: Map<number, string[]>, op: number): string[] {
    const row = chart.label[op]!;
    let texts = known.get(row);
    if (texts === undefined) {
      texts = levels(chart.labels[row]!);
      known.set(row, texts);
    }
    return texts;
  }

  private paintLabels(
    raster: Raster, fromRow: number, toRow: number, kind: "ops" | "theory", dy: number, height: number, scale: Scale, onLook: Uint32Array,
  ): void {
    const ratio = this.ratio;
    const glyphs = this.glyphs!;
    const chart = kind === "ops" ? this.data.chart : this.data.against;
    const known = kind === "ops" ? this.texts : this.theoryTexts;
    if (height < LABEL_ROOM_MIN * ratio || chart === null) {
      return;
    }
    const least = textWidth("0", glyphs) + 4 * ratio;
    const width = (text: string): number => textWidth(text, glyphs);
    const endNs = scale.startNs + raster.width / scale.pxPerNs;
    const stop = height >= TWO_LINES_MIN * ratio ? LEVELS : LEVELS_FLAT;
    const choice = new NameChoice(stop);
    this.shortened[kind] = choice;
    const each = (act: (lane: Lane, i: number, x0: number, x1: number, texts: string[], row: number) => void, tiny: (look: number) => void): void => {
      for (let row = fromRow; row < toRow; row++) {
        const lane = this.view.rows[row]![kind];
        for (let i = firstAfter(lane, scale.startNs); i < lane.n && lane.start[i]! < endNs; i++) {
          if ((lane.end[i]! - lane.start[i]!) * scale.pxPerNs >= least) {
            // What is to be seen of the block.
            const x0 = Math.max(0, (lane.start[i]! - scale.startNs) * scale.pxPerNs);
            const x1 = Math.min(raster.width, (lane.end[i]! - scale.startNs) * scale.pxPerNs) - ratio;
            act(lane, i, x0, x1, this.textsOf(chart, known, lane.id[i]!), row);
          } else {
            tiny(lane.look[i]!);
          }
        }
      }
    };
    each((lane, i, x0, x1, texts) => choice.count(lane.look[i]!, texts, x1 - x0 - 2 * ratio, width),
      (look) => choice.countTiny(look));
    each((lane, i, x0, x1, texts, row) => {
      const look = lane.look[i]!;
      const text = fit(texts, choice.first(look), stop, x1 - x0 - 2 * ratio, width);
      if (text !== "") {
        const lines = text.split("\n");
        const step = Math.round(LABEL_SIZE * ratio);
        const block = glyphs.height + (lines.length - 1) * step;
        const y = Math.round((row - fromRow) * this.scene.pitch * ratio) + dy + Math.round((height - block) / 2);
        lines.forEach((line, k) => raster.text(line, (x0 + x1) / 2, y + k * step, glyphs, onLook[look]!));
      }
    }, () => undefined);
  }

  private ticks(): { ns: number; x: number; text: string }[] {
    const axis = axisFor(this.viewport.nsPerPx, this.width, this.viewport.stopNs);
    const found = [];
    for (let k = Math.ceil(this.viewport.startNs / axis.stepNs); k * axis.stepNs <= this.viewport.stopNs; k++) {
      const ns = k * axis.stepNs;
      found.push({ ns, x: this.viewport.x(ns), text: tickText(ns, axis) });
    }
    return found;
  }

  private paintGrid(raster: Raster, colour: number): void {
    for (const tick of this.ticks()) {
      raster.rect(Math.round(tick.x * this.ratio), 0, Math.max(1, Math.floor(this.ratio)), raster.height, colour);
    }
  }

  private paintAxis(): void {
    const ctx = context(this.axis);
    const ratio = this.ratio;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, 28);
    ctx.fillStyle = this.theme.quiet;
    ctx.fillRect(0, 0, this.width, 1);
    ctx.font = `11px ${FONT}`;
    ctx.textBaseline = "top";
    const axis = axisFor(this.viewport.nsPerPx, this.width, this.viewport.stopNs);
    const unit = axis.unit.name;
    const ticks = this.ticks();
    ticks.forEach((tick, i) => {
      ctx.fillRect(Math.round(tick.x), 0, 1, 5);
      // The first number carries the unit, so that no other number is pushed aside.
      const text = i === 0 ? `${tick.text} ${unit}` : tick.text;
      const half = ctx.measureText(tick.text).width / 2;
      const left = Math.max(0, tick.x - half);
      if (left + ctx.measureText(text).width <= this.width) {
        ctx.fillText(text, left, 9);
      }
    });
  }

  // --- what is hovered --------------------------------------------------------------------------------------------

  private laneOf(target: Target): Lane {
    return this.view.rows[target.row]![target.lane];
  }

  private targetAt(x: number, y: number): Target | null {
    const place = at(this.scene, y);
    if (place === null || x < 0 || x > this.width) {
      return null;
    }
    const row = this.view.rows[place.row]!;
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

  /** Ops of the same microbatch; of one without a microbatch, itself. */
  private litOps(target: Target): Lit | null {
    if (target.lane === "bubbles" || target.lane === "theoryBubbles") {
      return null;
    }
    const isTheory = target.lane === "theory";
    const chart = isTheory ? this.data.against! : this.data.chart;
    const op = this.laneOf(target).id[target.index]!;
    const label = chart.labels[chart.label[op]!]!;
    const wanted = new Set([label.microbatch, label.microbatch2].filter((m) => m >= 0));
    if (wanted.size === 0) {
      return { chart, isTheory, matches: (other) => other === op };
    }
    const lit = chart.labels.map((l) => wanted.has(l.microbatch) || (l.microbatch2 >= 0 && wanted.has(l.microbatch2)));
    const step = chart.step[op]!;
    return { chart, isTheory, matches: (other) => lit[chart.label[other]!]! && chart.step[other] === step };
  }

  private paintOver(): void {
    const ctx = context(this.over);
    const ratio = this.ratio;
    const height = this.capacity * this.scene.pitch;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, height);
    const target = this.hovered ?? this.pinned;
    if (target !== this.litFor) {
      this.litFor = target;
      this.lit = target === null ? null : this.litOps(target);
      this.litLinks = this.lit === null || this.lit.isTheory ? [] : this.linksWhere(this.lit.matches);
    }
    const lit = this.lit;
    if (lit !== null) {
      const [r, g, b] = rgb(this.theme.page);
      ctx.fillStyle = `rgba(${r},${g},${b},0.4)`;
      ctx.fillRect(0, 0, this.width, height);
      for (let row = this.firstRow; row < this.stopRow; row++) {
        this.paintLit(ctx, row, lit.isTheory ? ["theory"] : ["ops", "transfers"], lit);
      }
    }
    if (lit !== null) {
      this.paintArrows(ctx, this.litLinks, true);
    } else if (this.allArrows) {
      this.allLinks ??= this.linksWhere(() => true);
      this.paintArrows(ctx, this.allLinks, false);
    }
    if (target !== null) {
      this.paintFrame(ctx, target);
    }
  }

  private box(row: number, kind: LaneKind | "bubbles" | "theoryBubbles", start: number, end: number): [number, number, number, number] {
    const { pitch, blockH, theoryY, theoryH, transferY, transferH } = this.scene;
    const theory = kind === "theory" || kind === "theoryBubbles";
    const y = (row - this.firstRow) * pitch + (theory ? theoryY : kind === "transfers" ? transferY : 0);
    const h = theory ? theoryH : kind === "transfers" ? transferH : blockH;
    const x0 = Math.max(-4, this.viewport.x(start));
    const x1 = Math.min(this.width + 4, this.viewport.x(end));
    const w = x1 - x0;
    return [x0, y, w > 3 ? w - 1 : Math.max(1, w), h];
  }

  private paintLit(ctx: CanvasRenderingContext2D, rowIndex: number, kinds: LaneKind[], lit: { chart: Chart; matches: (op: number) => boolean }): void {
    const row = this.view.rows[rowIndex]!;
    ctx.font = `500 ${LABEL_SIZE}px ${FONT}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (const kind of kinds) {
      const lane = row[kind];
      for (let i = firstAfter(lane, this.viewport.startNs); i < lane.n && lane.start[i]! < this.viewport.stopNs; i++) {
        const op = lane.id[i]!;
        if (!lit.matches(op)) {
          continue;
        }
        const [x, y, w, h] = this.box(rowIndex, kind, lane.start[i]!, lane.end[i]!);
        const colour = colourOf(this.theme, lane.look[i]!);
        ctx.fillStyle = colour;
        ctx.beginPath();
        ctx.roundRect(x, y, w, h, w > 6 && kind !== "transfers" ? 2 : 0);
        ctx.fill();
        if (h >= LABEL_ROOM_MIN && w > 8) {
          const known = kind === "theory" ? this.theoryTexts : this.texts;
          const stop = h >= TWO_LINES_MIN ? LEVELS : LEVELS_FLAT;
          const first = Math.min(this.shortened[kind === "theory" ? "theory" : "ops"]?.first(lane.look[i]!) ?? 0, stop - 1);
          const lines = fit(this.textsOf(lit.chart, known, op), first, stop, w - 2, (t) => ctx.measureText(t).width).split("\n");
          ctx.fillStyle = textOn(colour);
          lines.forEach((line, k) => ctx.fillText(line, x + w / 2, y + h / 2 + 0.5 + (k - (lines.length - 1) / 2) * LABEL_SIZE));
        }
      }
    }
  }

  private paintFrame(ctx: CanvasRenderingContext2D, target: Target): void {
    const lane = this.laneOf(target);
    const [x, y, w, h] = this.box(target.row, target.lane, lane.start[target.index]!, lane.end[target.index]!);
    ctx.strokeStyle = this.theme.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.roundRect(x - 0.75, y - 0.75, w + 1.5, h + 1.5, 2);
    ctx.stroke();
  }

  /** Pairs of ops, from and to: links within the view between ops that both match. */
  private linksWhere(matches: (op: number) => boolean): number[] {
    const { chart } = this.data;
    const found: number[] = [];
    for (let i = 0; i < chart.links.n; i++) {
      const a = chart.links.from[i]!;
      const b = chart.links.to[i]!;
      if ((this.step === null || chart.step[a] === this.step) && matches(a) && matches(b) &&
          this.rowOfRank[chart.rank[a]!]! >= 0 && this.rowOfRank[chart.rank[b]!]! >= 0) {
        found.push(a, b);
      }
    }
    return found;
  }

  private paintArrows(ctx: CanvasRenderingContext2D, links: number[], areLit: boolean): void {
    const { chart } = this.data;
    const t0 = this.viewport.startNs + this.view.originNs;
    const t1 = this.viewport.stopNs + this.view.originNs;
    const inSight: number[] = [];
    for (let i = 0; i < links.length; i += 2) {
      const rowA = this.rowOfRank[chart.rank[links[i]!]!]!;
      const rowB = this.rowOfRank[chart.rank[links[i + 1]!]!]!;
      if (chart.end[links[i]!]! >= t0 && chart.start[links[i + 1]!]! <= t1 &&
          Math.max(rowA, rowB) >= this.firstRow && Math.min(rowA, rowB) < this.stopRow) {
        inSight.push(links[i]!, links[i + 1]!);
      }
    }
    if (inSight.length / 2 > MAX_ARROWS) {
      return; // a grey cloud: nothing could be followed
    }
    ctx.strokeStyle = ctx.fillStyle = areLit ? this.theme.accent : this.theme.quiet;
    ctx.globalAlpha = areLit ? 1 : 0.7;
    ctx.lineWidth = areLit ? 1.25 : 1;
    for (let i = 0; i < inSight.length; i += 2) {
      this.paintArrow(ctx, inSight[i]!, inSight[i + 1]!);
    }
    ctx.globalAlpha = 1;
  }

  private paintArrow(ctx: CanvasRenderingContext2D, a: number, b: number): void {
    const { chart } = this.data;
    const { pitch, blockH, transferY, transferH } = this.scene;
    const end = (op: number, isStart: boolean): [number, number] => {
      const kind = chart.labels[chart.label[op]!]!.kind;
      const row = this.rowOfRank[chart.rank[op]!]!;
      const transfer = isTransfer(kind);
      const y = (row - this.firstRow) * pitch + (transfer ? transferY + transferH / 2 : blockH / 2);
      const ns = (isStart || transfer ? chart.start[op]! : chart.end[op]!) - this.view.originNs;
      return [this.viewport.x(ns), y];
    };
    const [x0, y0] = end(a, false);
    const [x1, y1] = end(b, true);
    // A gentle S that leaves and arrives sideways.
    const reach = Math.max(10, Math.min(60, Math.abs(x1 - x0) / 2));
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1 - 4, y1);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 6, y1 - 3);
    ctx.lineTo(x1 - 6, y1 + 3);
    ctx.fill();
  }

  // --- tooltip --------------------------------------------------------------------------------------------------

  private detailsOf(target: Target): Details {
    const row: Row = this.view.rows[target.row]!;
    const lane = this.laneOf(target);
    if (target.lane === "bubbles" || target.lane === "theoryBubbles") {
      return bubbleDetails(this.data.chart, row, target.index, this.data, target.lane === "theoryBubbles");
    }
    const isTheory = target.lane === "theory";
    const chart = isTheory ? this.data.against! : this.data.chart;
    const op = lane.id[target.index]!;
    // Where the op lies in the view says how far its own time is from it.
    const shift = chart.start[op]! - lane.start[target.index]!;
    return opDetails(chart, op, this.view, this.data, lane.look[target.index]!, isTheory, shift);
  }

  private showTip(target: Target | null, clientX: number, clientY: number): void {
    if (target === null) {
      this.tip.hidden = true;
      return;
    }
    const d = this.detailsOf(target);
    const swatch = el("i", { class: d.look === null ? "swatch wait" : "swatch" });
    if (d.look !== null) {
      swatch.style.background = colourOf(this.theme, d.look);
    }
    this.tip.replaceChildren(
      el("div", { class: "tiphead" }, swatch, el("b", {}, d.title), el("span", {}, d.kind)),
      el("table", {}, ...d.lines.map(([name, value, exact]) =>
        el("tr", {}, el("th", {}, name), el("td", {}, value), el("td", { class: "quiet" }, exact)))));
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    const left = clientX + 16 + box.width > window.innerWidth ? clientX - 16 - box.width : clientX + 16;
    const top = clientY + 16 + box.height > window.innerHeight ? clientY - 12 - box.height : clientY + 16;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.max(4, top)}px`;
  }

  // --- input ----------------------------------------------------------------------------------------------------

  private zoom(factor: number, x = this.width / 2): void {
    this.viewport.zoom(factor, x);
    this.draw();
  }

  private fit(): void {
    this.viewport.fit(this.view.endNs, this.width);
    this.draw();
  }

  private pan(px: number): void {
    this.viewport.pan(px);
    this.draw();
  }

  private plotPoint(event: MouseEvent): [number, number] {
    const box = this.plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private listen(): void {
    const over = this.over;
    over.addEventListener("wheel", (event) => {
      const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * pixels * 0.002), this.plotPoint(event)[0]);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan((event.deltaX !== 0 ? event.deltaX : event.deltaY) * pixels);
      }
    }, { passive: false });
    over.addEventListener("pointerdown", (event) => {
      if (event.button === 0) {
        over.setPointerCapture(event.pointerId);
        this.dragging = { x: event.clientX, moved: false };
      }
    });
    over.addEventListener("pointermove", (event) => {
      if (this.dragging !== null) {
        const by = event.clientX - this.dragging.x;
        if (this.dragging.moved || Math.abs(by) > 3) {
          this.dragging.moved = true;
          this.dragging.x = event.clientX;
          over.classList.add("dragging");
          this.showTip(null, 0, 0);
          this.pan(-by);
        }
        return;
      }
      const [x, y] = this.plotPoint(event);
      const target = this.targetAt(x, y);
      const before = this.hovered;
      this.showTip(target, event.clientX, event.clientY);
      if (target?.row !== before?.row || target?.lane !== before?.lane || target?.index !== before?.index) {
        this.hovered = target;
        this.drawOver();
      }
    });
    over.addEventListener("pointerup", (event) => {
      const drag = this.dragging;
      this.dragging = null;
      over.classList.remove("dragging");
      if (drag !== null && !drag.moved) {
        this.pinned = this.targetAt(...this.plotPoint(event));
        this.drawOver();
      }
    });
    over.addEventListener("pointercancel", () => (this.dragging = null));
    over.addEventListener("pointerleave", () => {
      this.hovered = null;
      this.showTip(null, 0, 0);
      this.drawOver();
    });
    over.addEventListener("dblclick", (event) => this.zoom(2, this.plotPoint(event)[0]));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => this.resized());
    window.addEventListener("scroll", () => this.drawOver(), { passive: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.setTheme(null);
      this.describe();
      this.draw();
    });
  }

  private resized(): void {
    if (this.measure()) {
      this.viewport.resize(this.width);
    }
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement | null;
    if (event.ctrlKey || event.metaKey || event.altKey || (target !== null && /^(SELECT|INPUT|TEXTAREA)$/.test(target.tagName))) {
      return;
    }
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-this.width / 8),
      ArrowRight: () => this.pan(this.width / 8),
      "+": () => this.zoom(ZOOM_KEY),
      "=": () => this.zoom(ZOOM_KEY),
      "-": () => this.zoom(1 / ZOOM_KEY),
      "0": () => this.fit(),
      t: () => this.toggleTheme(),
      "[": () => this.stepBy(-1),
      "]": () => this.stepBy(1),
      Escape: () => {
        this.pinned = null;
        this.drawOver();
      },
    };
    const act = actions[event.key];
    if (act !== undefined) {
      event.preventDefault();
      act();
    }
  }

  private stepBy(by: number): void {
    const steps = stepsOf(this.data.chart);
    const next = this.step === null ? undefined : steps[steps.indexOf(this.step) + by];
    if (next !== undefined) {
      this.stepPicker.value = String(next);
      this.setStep(String(next));
    }
  }
}
