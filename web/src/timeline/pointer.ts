/** What the pointer is on. */
import { get } from "../api/client";
import type { Ref, Slice } from "../api/types";
import type { Ns } from "../base/ns";
import { hovered, viewport } from "../model/timeline";
import { shiftAt } from "../model/tree";
import type { TimelineData } from "./data";
import type { OverState } from "./draw_over";
import type { HitFinder, SliceHit } from "./hit";
import type { PipelineHit } from "./pipeline_lane";

/** An edge of a slice attracts from so far (CSS pixels). */
const SNAP_PX = 4;

/** A place, and the slice at whose start or end it is. */
export interface Snapped {
  ns: Ns;
  hit: SliceHit | null;
  isEnd: boolean;
}

export class Pointer {
  hover: SliceHit | null = null;
  /** The line of the critical path, between two blocks: over whatever lies below it. */
  line: PipelineHit | null = null;
  /** Pixels of the plot; null: elsewhere. */
  cursor: { x: number; y: number } | null = null;

  /** `changed`: what is under the pointer may have. */
  constructor(
    private readonly hits: HitFinder,
    private readonly data: TimelineData,
    private readonly lineAt: (x: number, y: number) => PipelineHit | null,
    private readonly edgeAt: (x: number, y: number, farPx: number) => Ns | null,
    private readonly changed: () => void,
  ) {}

  moveTo(x: number, y: number): void {
    this.cursor = { x, y };
    this.follow();
  }

  /** Lanes scroll and the window moves below a pointer that rests. */
  follow(): void {
    if (this.cursor !== null) {
      const { x, y } = this.cursor;
      this.line = this.lineAt(x, y);
      this.take(this.line === null ? this.hits.at(viewport, x, y) : null);
      this.changed();
    }
  }

  leave(): void {
    this.cursor = null;
    this.hover = null;
    this.line = null;
    hovered.set(null);
    this.changed();
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

  /** As it is drawn. */
  shown(): OverState["hover"] {
    const hit = this.hover;
    return hit === null
      ? null
      : {
          ref: { rank: hit.rank.key, lane: hit.lane, row: hit.row, slice: hit.slice },
          from: hit.from,
          to: hit.to,
        };
  }

  /** viewNs under a pixel, at the start or end of a slice, or of a block of a pipeline, that is near where there is one: of which, as tiles know it. */
  snapTo(x: number, y: number): Snapped {
    const edge = this.edgeAt(x, y, SNAP_PX);
    if (edge !== null) {
      return { ns: Math.round(edge), hit: null, isEnd: false };
    }
    const hit = this.hits.at(viewport, x, y);
    const isNear = (edge: Ns): boolean => Math.abs(viewport.x(edge) - x) <= SNAP_PX;
    if (hit !== null && isNear(hit.from)) {
      return { ns: Math.round(hit.from), hit, isEnd: false };
    }
    return hit !== null && isNear(hit.to)
      ? { ns: Math.round(hit.to), hit, isEnd: true }
      : { ns: viewport.ns(x), hit: null, isEnd: false };
  }

  snap(x: number, y: number): Ns {
    return this.snapTo(x, y).ns;
  }
}

/** Tiles that span much round what they hold, by some ns: the server knows the edge itself. */
export async function exactly({ ns, hit, isEnd }: Snapped): Promise<Ns> {
  if (hit === null) {
    return ns;
  }
  const { start, dur } = await get<Slice>("slice", { rank: hit.rank.key, slice: hit.slice });
  return start + (isEnd ? dur : 0) + (shiftAt(hit.rank.key, hit.lane) ?? 0);
}
