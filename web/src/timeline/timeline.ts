/** The timeline: puts its parts together and has the one animation frame in which everything is drawn. Drawing reads state and
 * never changes it; what follows from a frame (tiles to ask for, heights) is done after it. */
import { get } from "../api/client";
import type { Rank, Slice } from "../api/types";
import { context, el, FONT } from "../base/dom";
import { lanesSettled } from "../model/lanes_first";
import { isDark, theme } from "../model/look";
import { counts, query } from "../model/search";
import { fail } from "../model/notices";
import {
  analysisSpan,
  box,
  boxLocked,
  goto,
  offsets,
  ranks,
  selected,
  type Goto,
  shiftOf,
} from "../model/session";
import {
  baseSlice,
  editedMarker,
  flowKinds,
  followExtent,
  labelWidth,
  listScroll,
  markers,
  showInstants,
  viewport,
  windowChanged,
} from "../model/timeline";
import { followOutline, outlinesChanged } from "../model/outlines";
import { pipelineRows, pipelineShown } from "../model/pipeline_rows";
import {
  layoutInput,
  marked,
  revealLane,
  touchTree,
  tree,
  treeChanged,
  laidOut,
  wantLanes,
} from "../model/tree";
import { language, t } from "../words";
import { TimelineData } from "./data";
import { drawAxis, Minimap } from "./draw_axis";
import { BasePainter, LABEL_FONT_PX } from "./draw_base";
import { drawOver, flowsOnScreen, type DrawnFlow } from "./draw_over";
import { distanceTo } from "./flow_shape";
import { Flows } from "./flows";
import { noteFrame, noteTimeline } from "./frame_times";
import { HitFinder } from "./hit";
import { TextWidths } from "./labels";
import { nameTest } from "./matches";
import { makePalette, type Palette } from "./palette";
import { Parts } from "./parts";
import { pathHit, pipelineEdge, pipelineHit, type PipelineHit } from "./pipeline_lane";
import { Pointer } from "./pointer";
import { Scene } from "./scene";
import { Scrolling } from "./scrolling";
import { travelTo } from "./travel";

const NEAR_FLOW_PX = 8;
const LEAST_WIDTH_PX = 64;
const LEAST_HEIGHT_PX = 32;

export interface Listeners {
  /** The label column is to be rendered anew. */
  labels: () => void;
  /** What is under the pointer has changed. */
  tip: () => void;
}

export class Timeline {
  readonly parts = new Parts();
  readonly scene = new Scene(tree);
  readonly scrolling: Scrolling;
  readonly data: TimelineData;
  readonly flows: Flows;
  readonly hits: HitFinder;
  readonly pointer: Pointer;
  readonly painter: BasePainter;
  readonly minimap: Minimap;
  readonly widths: TextWidths;
  palette: Palette;
  isZoomBox = false;

  private readonly stops: (() => void)[] = [];
  private frameId = 0;
  private isTreeDirty = true;
  private isBaseDirty = true;
  private areLabelsDirty = true;

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
    this.pointer = new Pointer(
      this.hits,
      this.data,
      (x, y) => this.lineAt(x, y),
      (x, y, farPx) => pipelineEdge(this.scene, viewport, x, y, farPx),
      () => this.listeners.tip(),
    );
    this.flows = new Flows(() => this.redraw());
    this.palette = makePalette(theme.get(), isDark.get());
    this.scrolling = new Scrolling(this.parts, this.scene, () => {
      this.redrawLabels();
      this.redraw();
    });
    noteTimeline();
    this.listen();
    this.watchSize();
    this.travel();
  }

  /** What is drawn follows the state of the page. */
  private listen(): void {
    const on = (atoms: { listen: (f: () => void) => () => void }[], f: () => void): void => {
      atoms.forEach((atom) => this.stops.push(atom.listen(f)));
    };
    on([treeChanged, ranks, offsets, outlinesChanged, pipelineRows, pipelineShown, language], () =>
      this.relay(),
    );
    on([windowChanged, showInstants, flowKinds, markers, language], () => this.redraw());
    on([marked, language], () => this.redrawLabels());
    on([box, boxLocked, baseSlice, analysisSpan, editedMarker], () => this.redrawOver());
    on([theme, isDark], () => {
      this.palette = makePalette(theme.get(), isDark.get());
      this.redraw();
    });
    on([labelWidth], () => this.resize());
    on([selected], () => {
      this.flows.select(selected.get());
      this.redraw();
    });
    const search = (): void => {
      this.painter.matches.set(nameTest(query.get(), counts.get()));
      this.redraw();
    };
    on([query, counts], search);
    search();
    on([goto], () => this.travel());
    on([listScroll], () => this.scrolling.takeWanted() && this.relay());
    this.flows.select(selected.get());
  }

  private watchSize(): void {
    const resize = (): void => this.resize();
    const watcher = new ResizeObserver(resize);
    watcher.observe(this.parts.scroller);
    this.stops.push(() => watcher.disconnect());
    // A machine whose pixels change (another screen).
    window.addEventListener("resize", resize);
    this.stops.push(() => window.removeEventListener("resize", resize));
  }

  destroy(): void {
    lanesSettled(); // nobody waits for them any more
    this.stops.forEach((stop) => stop());
    cancelAnimationFrame(this.frameId);
    this.data.stop();
    this.flows.stop();
  }

  // --- where the pages want to go --------------------------------------------------------------------------------------

  private travel(): void {
    const to = goto.get();
    if (to !== null) {
      goto.set(null);
      void this.go(to);
    }
  }

  private async go(to: Goto): Promise<void> {
    const lane = to.ref ?? to.lane;
    const id = lane === undefined ? null : await revealLane(lane);
    if (id !== null) {
      this.scrolling.want(id, to.ref?.row ?? -1);
    }
    travelTo(to);
    this.relay();
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
  /** The line of the critical path, between two blocks. */
  lineAt(x: number, y: number): PipelineHit | null {
    const isOver =
      this.hits.at(viewport, x, y) !== null ||
      pipelineHit(this.scene, viewport, x, y, shiftOf)?.kind === "ops";
    return pathHit(this.scene, viewport, x, y, shiftOf, isOver);
  }

  flowAt(x: number, y: number): DrawnFlow | null {
    const near = flowsOnScreen(this.scene, viewport, this.palette, this.flows).filter(
      (f) => f.isOfSelected && distanceTo(f, x, y) <= NEAR_FLOW_PX,
    );
    return near[0] ?? null;
  }

  /** The pointer is there, in pixels of the plot. */
  setCursor(x: number, y: number): void {
    this.pointer.moveTo(x, y);
    this.redrawOver();
  }

  clearCursor(): void {
    this.pointer.leave();
    this.redrawOver();
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

  /** Rows may lie elsewhere. */
  private relay(): void {
    this.isTreeDirty = true;
    this.redraw();
  }

  private schedule(): void {
    if (this.frameId === 0) {
      this.frameId = requestAnimationFrame(() => this.frame());
    }
  }

  resize(): void {
    this.measure();
    this.relay();
  }

  /** The place that the page gives it: while another page is seen it has none, and keeps what it had. */
  private measure(): void {
    const { parts, scene } = this;
    if (!parts.isSeen) {
      return;
    }
    const scale = Math.max(1, window.devicePixelRatio || 1);
    const width = Math.max(LEAST_WIDTH_PX, parts.scroller.clientWidth - labelWidth.get());
    const height = Math.max(LEAST_HEIGHT_PX, parts.scroller.clientHeight);
    parts.setLabelWidth(labelWidth.get());
    parts.setHeight(height);
    if (scene.width !== width || scene.height !== height || scene.scale !== scale) {
      scene.width = width;
      scene.height = height;
      scene.scale = scale;
      viewport.resize(width);
      parts.resizeCanvases(width, height, scale);
    }
  }

  private layout(): void {
    this.isTreeDirty = false;
    this.measure(); // a page that was just opened has its height in the frame after, and rows are scrolled to by it
    tree.layout(layoutInput());
    laidOut.update((n) => n + 1);
    followExtent();
    for (const item of tree.items) {
      if (item.kind === "rank" && item.isOpen && item.lanes === null && item.rank !== null) {
        void wantLanes(item.rank.key);
      }
      if (item.kind === "unread" && item.isOpen && item.rank !== null) {
        followOutline(item.rank);
      }
    }
    for (const id of tree.pinned) {
      const key = id.split("|")[0];
      if (ranks.get().some((r) => r.key === key && r.state === "ready")) {
        void wantLanes(key);
      }
    }
    this.scene.update();
    if (this.parts.isSeen) {
      this.scrolling.settle();
    }
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
      this.pointer.follow();
    }
    this.drawOver();
    if (wasBase) {
      noteFrame(performance.now() - began, this.painter.nDrawn, this.painter.nOutlined);
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
    const { parts, palette, scene } = this;
    this.data.begin();
    this.painter.draw(context(parts.base), viewport, {
      palette,
      isDim: this.flows.ofSelected.length > 0,
      showInstants: showInstants.get(),
    });
    this.minimap.draw(context(parts.minimap), viewport, scene.scale, palette, ranks.get());
    this.data.end();
  }

  private drawOver(): void {
    const { parts, palette, scene, pointer } = this;
    const cursorX = pointer.cursor?.x ?? null;
    drawOver(context(parts.over), scene, viewport, {
      palette,
      flows: this.flows,
      hover: pointer.shown(),
      cursorX,
      isZoomBox: this.isZoomBox,
      widths: this.widths,
    });
    drawAxis(context(parts.axis), viewport, scene.scale, palette, cursorX, this.widths);
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
    return this.scene
      .itemsOnScreen()
      .map((item) => item.rank)
      .filter((rank, i, all) => rank !== null && all.indexOf(rank) === i)
      .filter((rank): rank is Rank => rank?.state === "ready");
  }
}
