import { pipelineHit, type PipelineHit } from "./pipeline_lane";
/** What the mouse does: over the rows, the axis with its strip of markers, the minimap, and the edge of the label column. */
import type { Ns } from "../base/ns";
import { followDrag, placeIn, wheelMove, wheelUnit } from "../base/pointer";
import { fail } from "../model/notices";
import { box, boxLocked, shiftOf, type Box } from "../model/session";
import {
  addMarker,
  editedMarker,
  labelWidth,
  markers,
  moveWindow,
  rowsMode,
  systemRank,
  viewport,
} from "../model/timeline";
import { tree, wantLanes } from "../model/tree";
import { boxRank } from "../model/working_lanes";
import { lanesCrossed } from "../model/boxes";
import { analysisAt, AXIS_PX, markerAt } from "./draw_axis";
import type { SliceHit } from "./hit";
import { exactly, type Snapped } from "./pointer";
import type { Region } from "./scene";
import type { Timeline } from "./timeline";

const LABELS_LEAST = 120;

export interface GestureListeners {
  click: (hit: SliceHit | null, e: PointerEvent) => void;
  clickPipeline: (hit: PipelineHit) => void;
  openAt: (hit: SliceHit) => void;
  menu: (hit: SliceHit | null, x: number, y: number, clientX: number, clientY: number) => void;
}

export class Gestures {
  constructor(
    private readonly timeline: Timeline,
    private readonly listeners: GestureListeners,
  ) {
    this.rows();
    this.axis();
    this.minimap();
    this.edge();
  }

  // --- rows ------------------------------------------------------------------------------------------------------------

  private rows(): void {
    const { timeline } = this;
    const plot = timeline.parts.over;
    plot.addEventListener("pointermove", (e) => {
      const { x, y } = placeIn(plot, e);
      timeline.setCursor(x, y);
    });
    plot.addEventListener("pointerleave", () => timeline.clearCursor());
    plot.addEventListener("pointerdown", (e) => {
      timeline.parts.scroller.focus({ preventScroll: true });
      if (e.button === 1 || (e.button === 0 && (e.ctrlKey || e.metaKey))) {
        e.preventDefault();
        this.pan(plot, e);
      } else if (e.button === 0) {
        this.drawBox(plot, e);
      }
    });
    plot.addEventListener("dblclick", (e) => {
      const { x, y } = placeIn(plot, e);
      const hit = timeline.hits.at(viewport, x, y);
      const step = timeline.hits.stepAt(viewport, x, y);
      if (hit !== null) {
        this.listeners.openAt(hit);
      } else if (step !== null) {
        moveWindow((view) => view.show(step.from, step.to));
      }
    });
    plot.addEventListener("contextmenu", (e) => {
      e.preventDefault();
      if (!e.ctrlKey) {
        const { x, y } = placeIn(plot, e);
        this.listeners.menu(timeline.hits.at(viewport, x, y), x, y, e.clientX, e.clientY);
      }
    });
    timeline.parts.scroller.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    timeline.parts.axes.addEventListener("wheel", (e) => this.wheel(e, true), { passive: false });
  }

  private pan(plot: HTMLElement, e: PointerEvent): void {
    let lastX = e.clientX;
    let lastY = e.clientY;
    const { timeline } = this;
    followDrag(plot, e, {
      move: (now) => {
        const dx = lastX - now.clientX;
        moveWindow((view) => view.pan(dx));
        timeline.scrolling.set(timeline.scene.scrollTop + lastY - now.clientY);
        lastX = now.clientX;
        lastY = now.clientY;
      },
      click: (now) => this.click(now),
    });
  }

  private click(e: PointerEvent): void {
    const { x, y } = placeIn(this.timeline.parts.over, e);
    const step = this.timeline.hits.stepAt(viewport, x, y);
    if (step !== null && !boxLocked.get()) {
      systemRank.set(step.rank);
      void boxRank(step.rank, step);
      return;
    }
    const { scene } = this.timeline;
    const found = this.timeline.lineAt(x, y) ?? pipelineHit(scene, viewport, x, y, shiftOf);
    if (found !== null) {
      this.listeners.clickPipeline(found);
      return;
    }
    this.listeners.click(this.timeline.hits.at(viewport, x, y), e);
  }

  /** A box over the lanes from where the drag began to where it is; with Alt it zooms. */
  private drawBox(plot: HTMLElement, e: PointerEvent): void {
    const { timeline } = this;
    const { scene } = timeline;
    const begin = placeIn(plot, e);
    const region = scene.regionAt(begin.y);
    const from = timeline.pointer.snapTo(begin.x, begin.y);
    let to = from;
    const beginY = scene.inside(region, begin.y);
    const pipeline = scene.itemAt(begin.y)?.item;
    if (pipeline?.kind === "pipeline" && pipeline.rank !== null) {
      void wantLanes(pipeline.rank.key); // of a closed rank: the box is of its lanes
    }
    const isZoom = e.altKey;
    const before = box.get();
    followDrag(plot, e, {
      move: (now) => {
        if (boxLocked.get() && !isZoom) {
          return;
        }
        const { x, y } = placeIn(plot, now);
        timeline.isZoomBox = isZoom;
        this.scrollWhileDragging(region, y);
        to = timeline.pointer.snapTo(Math.max(0, Math.min(scene.width, x)), y);
        this.setBox(
          region,
          from.ns,
          to.ns,
          beginY,
          scene.inside(region, Math.max(region.top, Math.min(region.bottom, y))),
          isZoom,
        );
        timeline.setCursor(x, y);
      },
      end: () => {
        timeline.isZoomBox = false;
        const drawn = box.get();
        if (isZoom && drawn !== null) {
          box.set(before);
          moveWindow((view) => view.show(drawn.from, drawn.to));
        } else if (drawn !== null && drawn !== before) {
          void this.settleBox(drawn, from, to);
        }
      },
      click: (now) => this.click(now),
    });
  }

  /** What its edges are attracted to is inside of it or outside, to the ns. */
  private async settleBox(drawn: Box, from: Snapped, to: Snapped): Promise<void> {
    const { over } = this.timeline.parts;
    over.ariaBusy = "true"; // the box may become another one yet
    try {
      const [a, b] = await Promise.all([exactly(from), exactly(to)]);
      const exact = { ...drawn, from: Math.min(a, b), to: Math.max(a, b) };
      if (box.get() === drawn && (exact.from !== drawn.from || exact.to !== drawn.to)) {
        box.set(exact);
      }
    } catch (error) {
      fail(error);
    }
    over.ariaBusy = null;
  }

  private scrollWhileDragging(region: Region, y: number): void {
    if (!region.isPins) {
      const over = y > region.bottom ? y - region.bottom : y < region.top ? y - region.top : 0;
      if (over !== 0) {
        this.timeline.scrolling.set(this.timeline.scene.scrollTop + over / 4);
      }
    }
  }

  private setBox(region: Region, a: Ns, b: Ns, y0: number, y1: number, isZoom: boolean): void {
    const first = tree.indexAt(Math.min(y0, y1), region.isPins);
    const lanes = isZoom ? null : lanesCrossed(region.items, first, y0, y1, rowsMode.get());
    box.set({
      from: Math.min(a, b),
      to: Math.max(a, b),
      lanes: lanes !== null && lanes.length === 0 ? null : lanes,
    });
  }

  private wheel(e: WheelEvent, isAxis = false): void {
    const { timeline } = this;
    const { x, y } = placeIn(timeline.parts.over, e);
    const move = wheelMove(e, timeline.scene.height, isAxis);
    if (move === null) {
      this.scrollPins(e, y);
    } else {
      e.preventDefault();
      moveWindow((view) =>
        "zoom" in move
          ? view.zoom(move.zoom, Math.max(0, Math.min(view.width, x)))
          : view.pan(move.pan),
      );
    }
    if (timeline.pointer.cursor !== null && y >= 0) {
      timeline.setCursor(x, y);
    }
  }

  /** Pinned lanes scroll by themselves where they do not all fit. */
  private scrollPins(e: WheelEvent, y: number): void {
    const { timeline } = this;
    const { scene } = timeline;
    if (y < scene.regions[0].bottom && tree.pinsHeight > scene.regions[0].bottom) {
      e.preventDefault();
      scene.pinsScroll += e.deltaY * wheelUnit(e, scene.height);
      scene.update();
      timeline.redrawLabels();
      timeline.redraw();
    }
  }

  // --- axis ------------------------------------------------------------------------------------------------------------

  private axis(): void {
    const { timeline } = this;
    const canvas = timeline.parts.axis;
    canvas.addEventListener("pointermove", (e) => {
      const { x, y } = placeIn(canvas, e);
      const isStrip = y >= AXIS_PX;
      const marker = isStrip ? markerAt(viewport, x) : null;
      canvas.style.cursor = marker !== null ? "pointer" : isStrip ? "crosshair" : "col-resize";
      canvas.title = isStrip
        ? (markers.get().find((m) => m.id === marker)?.name ?? "")
        : analysisAt(viewport, x);
      timeline.pointer.cursor = { x, y: -1 };
      timeline.redrawOver();
    });
    canvas.addEventListener("pointerleave", () => timeline.clearCursor());
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) {
        return;
      }
      const begin = placeIn(canvas, e);
      const beginNs = viewport.ns(begin.x);
      const isStrip = begin.y >= AXIS_PX;
      followDrag(canvas, e, {
        move: (now) => {
          if (!boxLocked.get()) {
            const at = viewport.ns(Math.max(0, Math.min(viewport.width, placeIn(canvas, now).x)));
            box.set({ from: Math.min(beginNs, at), to: Math.max(beginNs, at), lanes: null });
          }
        },
        click: () => {
          if (isStrip && markerAt(viewport, begin.x) === null) {
            addMarker(Math.round(beginNs), null);
          }
        },
      });
    });
    canvas.addEventListener("dblclick", (e) => {
      const { x, y } = placeIn(canvas, e);
      const marker = y >= AXIS_PX ? markerAt(viewport, x) : null;
      if (marker !== null) {
        editedMarker.set(marker);
      }
    });
  }

  // --- minimap ---------------------------------------------------------------------------------------------------------

  private minimap(): void {
    const { timeline } = this;
    const canvas = timeline.parts.minimap;
    const part = (x: number): "from" | "to" | "inside" | "outside" => {
      const [x0, x1] = timeline.minimap.edges(viewport);
      const near = Math.min(5, Math.max(2, (x1 - x0) / 3));
      return Math.abs(x - x0) <= near
        ? "from"
        : Math.abs(x - x1) <= near
          ? "to"
          : x > x0 && x < x1
            ? "inside"
            : "outside";
    };
    canvas.addEventListener("pointermove", (e) => {
      const at = part(placeIn(canvas, e).x);
      canvas.style.cursor = at === "inside" ? "grab" : at === "outside" ? "crosshair" : "ew-resize";
    });
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button === 0) {
        this.dragMinimap(canvas, e, part(placeIn(canvas, e).x));
      }
    });
  }

  private dragMinimap(
    canvas: HTMLElement,
    e: PointerEvent,
    part: "from" | "to" | "inside" | "outside",
  ): void {
    const { whole } = this.timeline.minimap;
    const begin = whole.ns(placeIn(canvas, e).x);
    const { from, to } = viewport;
    const at = (now: PointerEvent): Ns => whole.ns(placeIn(canvas, now).x);
    followDrag(canvas, e, {
      move: (now) => {
        const ns = at(now);
        moveWindow((view) => {
          if (part === "inside") {
            view.show(from + ns - begin, to + ns - begin);
          } else {
            const fixed = part === "from" ? to : part === "to" ? from : begin;
            view.show(Math.min(fixed, ns), Math.max(fixed, ns));
          }
        });
      },
      click: (now) => {
        const middle = at(now);
        moveWindow((view) => view.show(middle - (to - from) / 2, middle + (to - from) / 2));
      },
    });
  }

  // --- label column ----------------------------------------------------------------------------------------------------

  private edge(): void {
    const { edge } = this.timeline.parts;
    edge.addEventListener("pointerdown", (e) => {
      const from = e.clientX;
      const width = labelWidth.get();
      const set = (now: PointerEvent): void => labelWidth.set(bounded(width + now.clientX - from));
      followDrag(edge, e, { move: set });
    });
    edge.addEventListener("dblclick", () => labelWidth.set(220));
    edge.addEventListener("keydown", (e) => {
      if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
        e.preventDefault();
        e.stopPropagation();
        labelWidth.update((w) => bounded(w + (e.key === "ArrowLeft" ? -16 : 16)));
      }
    });
  }
}

const bounded = (width: number): number =>
  Math.round(Math.max(LABELS_LEAST, Math.min(window.innerWidth * 0.6, width)));
