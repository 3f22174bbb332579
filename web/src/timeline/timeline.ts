/** The timeline: owns the canvases, what is where, and the one animation frame in which everything is drawn. Drawing reads state
 * and never changes it; what follows from a frame (tiles to ask for, heights) is done after it. */
import { get } from "../api/client";
import type { Rank, Ref, Slice } from "../api/types";
import { context, el, FONT } from "../base/dom";
import type { Ns } from "../base/ns";
import { isDark, theme } from "../model/look";
import { counts, query } from "../model/search";
import { fail } from "../model/notices";
import { analysisSpan, box, boxLocked, goto, offsets, ranks, selected } from "../model/session";
import {
  baseSlice,
  editedMarker,
  flowKinds,
  followExtent,
  hovered,
  labelWidth,
  listScroll,
  markers,
  moveWindow,
  showInstants,
  viewport,
  windowChanged,
} from "../model/timeline";
import {
  layoutInput,
  marked,
  revealLane,
  touchTree,
  tree,
  treeChanged,
  wantLanes,
} from "../model/tree";
import { language, t } from "../words";
import { TimelineData } from "./data";
import { AXIS_PX, drawAxis, Minimap, MINIMAP_PX, STRIP_PX } from "./draw_axis";
import { BasePainter, LABEL_FONT_PX } from "./draw_base";
import { drawOver, flowsOnScreen, shiftAt, type DrawnFlow } from "./draw_over";
import { distanceTo } from "./flow_shape";
import { Flows } from "./flows";
import { HitFinder, type SliceHit } from "./hit";
import { TextWidths } from "./labels";
import { nameTest } from "./matches";
import { makePalette, type Palette } from "./palette";
import { Scene, type Region } from "./scene";

declare global {
  interface Window {
    /** How long each of the last frames took to draw, ms; and how many slices and densities the last one held. For benches. */
    pipescopeFrames?: number[];
    pipescopeDrawn?: number;
  }
}

const MOST_FRAMES = 5000;
const NEAR_FLOW_PX = 8;

export interface Listeners {
  /** The label column is to be rendered anew. */
  labels: () => void;
  /** What is under the pointer has changed. */
  tip: () => void;
}

export class Timeline {
  readonly scene = new Scene(tree);
  readonly data: TimelineData;
  readonly flows: Flows;
  readonly hits: HitFinder;
  readonly painter: BasePainter;
  readonly minimap: Minimap;
  readonly widths: TextWidths;
  palette: Palette;
  /** What the pointer is on. */
  hover: SliceHit | null = null;
  /** Pixels of the plot; null: elsewhere. */
  cursor: { x: number; y: number } | null = null;
  isZoomBox = false;

  readonly root = el("div", { class: "tl" });
  readonly minimapCanvas = el("canvas", { class: "tl-minimap" });
  readonly axisCanvas = el("canvas", { class: "tl-axis" });
  readonly scroller = el("div", { class: "tl-scroll", tabindex: "0" });
  readonly stick = el("div", { class: "tl-stick" });
  readonly labelColumn = el("div", { class: "tl-labels" });
  readonly plot = el("div", { class: "tl-plot" });
  readonly baseCanvas = el("canvas", { class: "tl-base" });
  readonly overCanvas = el("canvas", { class: "tl-over" });
  readonly corner = el("div", { class: "tl-corner" });
  readonly edge = el("div", {
    class: "tl-edge",
    role: "separator",
    "aria-orientation": "vertical",
    tabindex: "0",
  });
  private readonly spacer = el("div", { class: "tl-space" });

  private readonly stops: (() => void)[] = [];
  private frameId = 0;
  private isTreeDirty = true;
  private isBaseDirty = true;
  private areLabelsDirty = true;
  private wasDrawn = false;
  private isAtScroll = -1;
  /** A row to scroll to when the tree is laid out. */
  private pending: { id: string; row: number } | null = null;
  /** Where the list is to be scrolled to, once it is that long. */
  private wantedScroll: number | null = null;

  constructor(private readonly listeners: Listeners) {
    const measure = context(el("canvas"));
    measure.font = `${LABEL_FONT_PX}px ${FONT}`;
    this.widths = new TextWidths((char) => measure.measureText(char).width);
    this.data = new TimelineData(
      () => this.redraw(),
      () => this.redraw(),
    );
    this.painter = new BasePainter(this.scene, this.data, this.widths);
    this.painter.stepText = (id) => t("timeline.step", id);
    this.minimap = new Minimap(this.data);
    this.hits = new HitFinder(this.scene, this.data);
    this.flows = new Flows(() => this.redraw());
    this.palette = makePalette(theme.get(), isDark.get());
    this.build();
    this.listen();
    this.follow();
  }

  private build(): void {
    this.plot.append(this.baseCanvas, this.overCanvas);
    this.stick.append(this.labelColumn, this.plot);
    this.scroller.append(this.stick, this.spacer);
    this.overCanvas.setAttribute("role", "img");
    const axes = el("div", { class: "tl-axes" }, this.minimapCanvas, this.axisCanvas);
    this.root.append(el("div", { class: "tl-top" }, this.corner, axes), this.scroller, this.edge);
  }

  /** What is drawn follows the state of the page. */
  private listen(): void {
    const base = (): void => this.redraw();
    const over = (): void => this.redrawOver();
    const all = (): void => {
      this.isTreeDirty = true;
      this.redraw();
    };
    const on = (atoms: { listen: (f: () => void) => () => void }[], f: () => void): void => {
      atoms.forEach((atom) => this.stops.push(atom.listen(f)));
    };
    on([treeChanged, ranks], all);
    on([offsets], () => {
      this.isTreeDirty = true;
      this.redraw();
    });
    on([windowChanged, showInstants], base);
    on([marked, language], () => this.redrawLabels());
    on([box, boxLocked, markers, baseSlice, analysisSpan, editedMarker], over);
    on([theme, isDark], () => {
      this.palette = makePalette(theme.get(), isDark.get());
      this.redraw();
    });
    on([language], base);
    on([labelWidth], () => this.resize());
    on([selected], () => {
      this.flows.select(selected.get());
      this.redraw();
    });
    on([flowKinds], base);
    const search = (): void => {
      this.painter.matches.set(nameTest(query.get(), counts.get()));
      this.redraw();
    };
    on([query, counts], search);
    search();
    on([goto], () => this.follow());
    on([listScroll], () => {
      if (Math.abs(listScroll.get() - this.scene.scrollTop) > 1) {
        this.wantedScroll = listScroll.get();
        this.isTreeDirty = true;
        this.redraw();
      }
    });
    this.wantedScroll = listScroll.get() > 0 ? listScroll.get() : null;
    const watcher = new ResizeObserver(() => this.resize());
    watcher.observe(this.scroller);
    this.stops.push(() => watcher.disconnect());
    this.scroller.addEventListener("scroll", () => {
      if (this.scroller.scrollTop !== this.isAtScroll) {
        this.isAtScroll = this.scroller.scrollTop;
        this.scene.scrollTop = this.scroller.scrollTop;
        this.scene.update();
        this.wantedScroll = null;
        this.pending = null;
        listScroll.set(this.scene.scrollTop);
        this.redrawLabels();
        this.redraw();
      }
    });
    // A machine whose pixels change (another screen).
    const change = (): void => this.resize();
    window.addEventListener("resize", change);
    this.stops.push(() => window.removeEventListener("resize", change));
    this.flows.select(selected.get());
  }

  destroy(): void {
    this.stops.forEach((stop) => stop());
    cancelAnimationFrame(this.frameId);
    this.data.stop();
    this.flows.stop();
  }

  // --- where the pages want to go --------------------------------------------------------------------------------------

  private follow(): void {
    const to = goto.get();
    if (to !== null) {
      goto.set(null);
      void this.go(to);
    }
  }

  private async go(to: NonNullable<ReturnType<typeof goto.get>>): Promise<void> {
    const lane = to.ref ?? to.lane;
    if (lane !== undefined) {
      const id = await revealLane(lane);
      if (id !== null) {
        this.pending = { id, row: to.ref?.row ?? -1 };
      }
    }
    followExtent(); // before the first frame nothing is known of it, and the window would be cut to nothing
    if (to.span !== undefined) {
      const { from, to: end } = to.span;
      moveWindow((view) => (from === end ? view.centre(from) : view.showWithRoom(from, end)));
    } else if (to.ref !== undefined) {
      this.revealSlice(to.ref);
    }
    this.isTreeDirty = true;
    this.redraw();
  }

  /** Moves the window to a slice; it zooms in where the slice could not be seen. */
  revealSlice(ref: Ref): void {
    const shift = shiftAt(ref.rank, ref.lane);
    if (shift === null) {
      return;
    }
    const from = ref.start + shift;
    const end = from + ref.dur;
    moveWindow((view) => {
      const px = ref.dur / view.nsPerPx;
      if (px < 3 && ref.dur > 0) {
        view.show(from - ref.dur * 20, end + ref.dur * 20);
      } else {
        view.reveal(from, end);
      }
    });
  }

  // --- pointer ---------------------------------------------------------------------------------------------------------

  setCursor(x: number, y: number): void {
    this.cursor = { x, y };
    this.take(this.hits.at(viewport, x, y));
    this.listeners.tip();
    this.redrawOver();
  }

  /** Lanes scroll and the window moves below a pointer that rests. */
  private followPointer(): void {
    if (this.cursor !== null) {
      this.take(this.hits.at(viewport, this.cursor.x, this.cursor.y));
      this.listeners.tip();
    }
  }

  private take(hit: SliceHit | null): void {
    const isSame =
      hit === this.hover ||
      (hit !== null &&
        this.hover !== null &&
        hit.slice === this.hover.slice &&
        hit.rank.key === this.hover.rank.key &&
        hit.item === this.hover.item);
    this.hover = hit;
    if (!isSame) {
      hovered.set(hit === null ? null : this.refOf(hit));
    }
  }

  clearCursor(): void {
    this.cursor = null;
    this.hover = null;
    hovered.set(null);
    this.listeners.tip();
    this.redrawOver();
  }

  /** As well as tiles know it. */
  refOf(hit: SliceHit): Ref {
    const shift = shiftAt(hit.rank.key, hit.lane) ?? 0;
    return {
      rank: hit.rank.key,
      slice: hit.slice,
      lane: hit.lane,
      row: hit.row,
      start: Math.round(hit.from - shift),
      dur: Math.round(hit.to - hit.from),
      name: this.data.names.get(hit.rank.key, hit.name) ?? "",
      tint: hit.look < 12 ? hit.look : 0,
      kind: "",
    };
  }

  /** Selects what the server says of a slice. */
  async select(rank: string, slice: number): Promise<Slice | null> {
    try {
      const found = await get<Slice>("slice", { rank, slice });
      selected.set(found);
      return found;
    } catch (error) {
      fail(error);
      return null;
    }
  }

  /** The arrow of the selected slice that passes here. */
  flowAt(x: number, y: number): DrawnFlow | null {
    const near = flowsOnScreen(this.scene, viewport, this.palette, this.flows).filter(
      (f) => f.isOfSelected && distanceTo(f, x, y) <= NEAR_FLOW_PX,
    );
    return near[0] ?? null;
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------

  redraw(): void {
    this.isBaseDirty = true;
    this.schedule();
  }

  redrawOver(): void {
    this.schedule();
  }

  redrawLabels(): void {
    this.areLabelsDirty = true;
    this.schedule();
  }

  private schedule(): void {
    if (this.frameId === 0) {
      this.frameId = requestAnimationFrame(() => this.frame());
    }
  }

  resize(): void {
    const scale = Math.max(1, window.devicePixelRatio || 1);
    const width = Math.max(64, this.scroller.clientWidth - labelWidth.get());
    const height = Math.max(32, this.scroller.clientHeight);
    this.root.style.setProperty("--label-width", `${labelWidth.get()}px`);
    this.stick.style.height = `${height}px`;
    const { scene } = this;
    if (scene.width !== width || scene.height !== height || scene.scale !== scale) {
      scene.width = width;
      scene.height = height;
      scene.scale = scale;
      viewport.resize(width);
      sizeOf(this.baseCanvas, width, height, scale);
      sizeOf(this.overCanvas, width, height, scale);
      sizeOf(this.axisCanvas, width, AXIS_PX + STRIP_PX, scale);
      sizeOf(this.minimapCanvas, width, MINIMAP_PX, scale);
    }
    this.isTreeDirty = true;
    this.redraw();
  }

  private layout(): void {
    this.isTreeDirty = false;
    tree.layout(layoutInput());
    followExtent();
    for (const item of tree.items) {
      if (item.kind === "rank" && item.isOpen && item.lanes === null && item.rank !== null) {
        void wantLanes(item.rank.key);
      }
    }
    for (const id of tree.pinned) {
      const key = id.split("|")[0];
      if (ranks.get().some((r) => r.key === key && r.state === "ready")) {
        void wantLanes(key);
      }
    }
    this.scene.update();
    const { pending } = this;
    const item = pending === null ? undefined : tree.item(pending.id);
    if (pending !== null && item !== undefined) {
      // Ranks above it whose lanes are on their way will push it down: until then it is only shown where it is now.
      const isMoving = tree.items.some(
        (i) =>
          i.kind === "rank" &&
          i.isOpen &&
          i.lanes === null &&
          i.rank?.state === "ready" &&
          i.y < item.y,
      );
      this.pending = isMoving ? pending : null;
      this.scene.scrollTo(item, pending.row);
    }
    this.spacer.style.height = `${this.scene.mostScroll}px`;
    if (this.wantedScroll !== null && this.wantedScroll <= this.scene.mostScroll) {
      this.scene.scrollTop = this.wantedScroll;
      this.wantedScroll = null;
    }
    this.setScroll(this.scene.scrollTop);
    this.areLabelsDirty = true;
  }

  scrollRegion(region: Region, by: number): void {
    if (region.isPins) {
      this.scene.pinsScroll += by;
    }
    this.setScroll(this.scene.scrollTop + (region.isPins ? 0 : by));
  }

  /** Of the list. */
  setScroll(top: number): void {
    this.scene.scrollTop = top;
    this.scene.update();
    this.isAtScroll = Math.round(this.scene.scrollTop);
    if (Math.abs(this.scroller.scrollTop - this.scene.scrollTop) > 0.5) {
      this.scroller.scrollTop = this.scene.scrollTop;
      this.isAtScroll = this.scroller.scrollTop;
    }
    if (this.wantedScroll === null) {
      listScroll.set(this.scene.scrollTop);
    }
    this.areLabelsDirty = true;
    this.redraw();
  }

  private frame(): void {
    this.frameId = 0;
    const began = performance.now();
    if (this.isTreeDirty) {
      this.layout();
    }
    const wasBase = this.isBaseDirty;
    if (this.isBaseDirty) {
      this.isBaseDirty = false;
      this.drawBase();
      this.followPointer();
    }
    const cursorX = this.cursor?.x ?? null;
    drawOver(context(this.overCanvas), this.scene, viewport, {
      palette: this.palette,
      flows: this.flows,
      hover: this.hoverOf(),
      cursorX,
      isZoomBox: this.isZoomBox,
      widths: this.widths,
    });
    drawAxis(context(this.axisCanvas), viewport, this.scene.scale, this.palette, cursorX);
    if (wasBase) {
      this.noteFrame(performance.now() - began);
    }
    if (this.areLabelsDirty || this.painter.didScaleChange) {
      this.areLabelsDirty = false;
      this.painter.didScaleChange = false;
      this.listeners.labels();
    }
    if (wasBase) {
      this.after();
    }
  }

  private drawBase(): void {
    this.data.begin();
    this.painter.draw(context(this.baseCanvas), viewport, {
      palette: this.palette,
      isDim: this.flows.ofSelected.length > 0,
      showInstants: showInstants.get(),
    });
    this.minimap.draw(
      context(this.minimapCanvas),
      viewport,
      this.scene.scale,
      this.palette,
      ranks.get(),
    );
    this.data.end();
  }

  private hoverOf(): Parameters<typeof drawOver>[3]["hover"] {
    const hit = this.hover;
    return hit === null
      ? null
      : {
          ref: { rank: hit.rank.key, lane: hit.lane, row: hit.row, slice: hit.slice },
          from: hit.from,
          to: hit.to,
        };
  }

  private noteFrame(ms: number): void {
    const frames = (window.pipescopeFrames ??= []);
    frames.push(ms);
    if (frames.length > MOST_FRAMES) {
      frames.splice(0, MOST_FRAMES / 2);
    }
    window.pipescopeDrawn = this.painter.nDrawn;
    if (!this.wasDrawn && this.painter.nDrawn > 0) {
      this.wasDrawn = true;
      performance.mark("first-lanes");
    }
  }

  /** What follows from what was drawn. */
  private after(): void {
    this.flows.follow(this.ranksOnScreen());
    let changed = false;
    for (const [id, rows] of this.painter.rowsSeen) {
      if (tree.isAuto(id) && tree.rowsNeeded.get(id) !== rows) {
        tree.rowsNeeded.set(id, rows);
        changed = true;
      }
    }
    if (changed) {
      touchTree();
    }
  }

  ranksOnScreen(): Rank[] {
    const found = new Set<Rank>();
    for (const region of this.scene.regions) {
      const end = region.scroll + region.bottom - region.top;
      for (
        let i = this.scene.firstItem(region);
        i < region.items.length && region.items[i].y < end;
        i++
      ) {
        const { rank } = region.items[i];
        if (rank !== null && rank.state === "ready") {
          found.add(rank);
        }
      }
    }
    return [...found];
  }

  /** Everything is drawn as it will be. */
  get isSettled(): boolean {
    return this.frameId === 0 && this.data.isIdle && this.painter.nMissing === 0;
  }

  /** viewNs under a pixel, at the start or end of a slice that is near where there is one. */
  snap(x: number, y: number): Ns {
    const hit = this.hits.at(viewport, x, y);
    if (hit !== null) {
      for (const edge of [hit.from, hit.to]) {
        if (Math.abs(viewport.x(edge) - x) <= 4) {
          return Math.round(edge);
        }
      }
    }
    return viewport.ns(x);
  }
}

function sizeOf(canvas: HTMLCanvasElement, width: number, height: number, scale: number): void {
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
