/** What a user can do in the timeline, for keys and menus alike. */
import { get } from "../api/client";
import { RUNS_ON_DEVICE, type Rank, type Ref } from "../api/types";
import type { Ns } from "../base/ns";
import { headId, nodeOfId, rankOfId, type Item } from "../model/lanes";
import { laneShift } from "../model/rank_lanes";
import { fail, notify } from "../model/notices";
import {
  box,
  gotoPipeline,
  offsets,
  rankOf,
  ranks,
  selected,
  shiftOf,
  show,
  tab,
  type Box,
} from "../model/session";
import {
  addMarker,
  analyse,
  baseSlice,
  eventsOf,
  systemRank,
  moveWindow,
  removeMarker,
  markers,
  viewport,
} from "../model/timeline";
import {
  lanesOf,
  layoutInput,
  marked,
  mergeLanes,
  shiftAt,
  touchTree,
  tree,
  wantAllLanes,
} from "../model/tree";
import { rankWord, sliceWord, t } from "../words";
import { alignStart, alignTo, movedBetween, movedText, withOffset, type Placed } from "./alignment";
import type { Timeline } from "./timeline";

export const ZOOM_KEY = 1.5;
const PAN_SHARE = 0.12;
const SCROLL_PX = 60;

export type Near = "next" | "previous" | "next-same" | "previous-same" | "parent" | "child";

export class Actions {
  constructor(readonly timeline: Timeline) {}

  // --- window ----------------------------------------------------------------------------------------------------------

  /** At the pointer, or in the middle. */
  zoom(factor: number): void {
    const x = this.timeline.pointer.cursor?.x ?? viewport.width / 2;
    moveWindow((view) => view.zoom(factor, x));
    this.followPointer();
  }

  pan(direction: number): void {
    moveWindow((view) => view.pan(direction * view.width * PAN_SHARE));
    this.followPointer();
  }

  scroll(direction: number): void {
    this.timeline.scrolling.set(this.timeline.scene.scrollTop + direction * SCROLL_PX);
    this.followPointer();
  }

  /** What is under a pointer that did not move. */
  private followPointer(): void {
    const { cursor } = this.timeline.pointer;
    if (cursor !== null && cursor.y >= 0) {
      this.timeline.setCursor(cursor.x, cursor.y);
    }
  }

  zoomToBox(): void {
    const span = box.get() ?? this.selectedSpan();
    if (span !== null) {
      moveWindow((view) => view.show(span.from, span.to));
    }
  }

  /** A slice with some room around it. */
  fitTo(ref: Ref): void {
    const span = spanOf(ref);
    if (span !== null) {
      moveWindow((view) => view.showWithRoom(span.from, span.to));
    }
  }

  selectedSpan(): { from: Ns; to: Ns } | null {
    const ref = selected.get();
    return ref === null ? null : spanOf(ref);
  }

  // --- box -------------------------------------------------------------------------------------------------------------

  /** Exactly the selected slice, or nothing when that is what it was (M). */
  toggleSliceBox(): void {
    const ref = selected.get();
    const span = this.selectedSpan();
    if (ref === null || span === null) {
      box.set(null);
      return;
    }
    const now = box.get();
    const isSame = now !== null && now.from === span.from && now.to === span.to;
    box.set(isSame ? null : { ...span, lanes: [{ rank: ref.rank, lane: ref.lane, rows: null }] });
  }

  /** Of the box, else at the pointer (K); once more takes it away. */
  toggleMarker(): void {
    const span = box.get();
    const { cursor } = this.timeline.pointer;
    const ref = this.selectedSpan();
    const from =
      span !== null
        ? Math.round(span.from)
        : cursor !== null
          ? Math.round(this.timeline.pointer.snap(cursor.x, cursor.y))
          : ref?.from;
    const to = span !== null ? Math.round(span.to) : null;
    if (from === undefined) {
      return;
    }
    const same = markers.get().find((m) => m.from === from && m.to === to);
    if (same !== undefined) {
      removeMarker(same.id);
    } else {
      addMarker(from, to);
    }
  }

  /** T-32: tables keep to the box, or to the selected slice, and show the rank that it is of. */
  analyse(span: (Pick<Box, "from" | "to"> & Partial<Box>) | null): void {
    const of = new Set(span?.lanes?.map((lane) => lane.rank));
    if (of.size === 1) {
      systemRank.set([...of][0]);
    }
    analyse(span);
  }

  // --- selection -------------------------------------------------------------------------------------------------------

  async go(to: Near): Promise<void> {
    const from = selected.get();
    if (from === null) {
      return;
    }
    try {
      const { ref } = await get<{ ref: Ref | null }>("near", {
        rank: from.rank,
        slice: from.slice,
        to,
      });
      if (ref !== null) {
        show(ref);
      }
    } catch (error) {
      fail(error);
    }
  }

  /** To the pipeline chart: to what is selected, else to the time of the box on its rank. */
  toPipeline(): void {
    const ref = selected.get();
    const boxed = box.get();
    const of = rankOf(boxed?.lanes?.[0]?.rank ?? this.timeline.ranksOnScreen()[0]?.key ?? "");
    if (ref !== null) {
      void this.sliceToPipeline(ref);
    } else if (boxed !== null && of !== undefined) {
      this.spanToPipeline(of, boxed);
    }
  }

  /** Times of the view. */
  spanToPipeline(rank: Rank, { from, to }: { from: Ns; to: Ns }): void {
    const [start, end] = [from, to].map((ns) => Math.round(ns - shiftOf(rank)));
    gotoPipeline.set({ rank: rank.key, from: start, to: end, isHost: null });
    tab.set("pipeline");
  }

  /** The op of a slice in the pipeline chart. Tiles do not say where a slice ran: then the server is asked. */
  async sliceToPipeline(ref: Ref): Promise<void> {
    const known = ref.kind !== "" ? ref : await this.timeline.select(ref.rank, ref.slice);
    if (known !== null) {
      gotoPipeline.set({
        rank: known.rank,
        from: known.start,
        to: known.start + known.dur,
        isHost: !RUNS_ON_DEVICE.has(known.kind),
      });
      tab.set("pipeline");
    }
  }

  clear(): void {
    if (marked.get().size > 0) {
      marked.set(new Set());
    } else if (box.get() !== null) {
      box.set(null);
    } else {
      selected.set(null);
    }
  }

  // --- alignment -------------------------------------------------------------------------------------------------------

  /** The selected slice's start (or end) moves to that of the base slice (T-21). */
  align(atEnd: boolean): void {
    const base = placed(baseSlice.get());
    const moved = placed(selected.get());
    if (base === null || moved === null) {
      notify("info", t("timeline.align-none"));
      return;
    }
    const next = alignTo(offsets.get(), base, moved, atEnd);
    if (next === null) {
      notify("info", t("timeline.align-same"));
      return;
    }
    moveTo(next);
  }

  /** What others are aligned with. */
  setBase(ref: Ref): void {
    baseSlice.set(ref);
    const rank = rankWord(rankOf(ref.rank)?.label ?? "");
    notify("info", t("timeline.base-set", sliceWord(ref.name), rank));
  }

  /** By how much a rank, or the part of it that a row lies in, was moved. */
  offsetOf(item: Item): Ns {
    return offsets.get().get(offsetKey(item)) ?? 0;
  }

  setOffset(item: Item, offset: Ns): void {
    offsets.set(withOffset(offsets.get(), offsetKey(item), offset));
  }

  /** The offset with which it begins where the window's first rank does. */
  offsetToStart(item: Item): Ns {
    const { rank, lanes } = item;
    const target = viewport.extent.from;
    if (rank?.start === undefined) {
      return 0;
    }
    if (item.node < 0 || lanes === null) {
      return alignStart(this.offsetOf(item), rank.start + shiftOf(rank), target);
    }
    const part = lanes.partOf(item.node);
    const starts = lanes.nodes
      .filter((n, i) => n.lane >= 0 && n.slices > 0 && lanes.partOf(i) === part)
      .map((n) => n.start);
    return starts.length === 0
      ? 0
      : alignStart(
          this.offsetOf(item),
          Math.min(...starts) + laneShift(rank, lanes, item.node),
          target,
        );
  }

  recoverOffsets(): void {
    moveTo(new Map());
  }

  /** Offsets that the server works out for all ranks. */
  async alignAll(by: "clock" | "start" | "steps"): Promise<void> {
    try {
      const found = await get<{
        offsets: { rank: string; offset_ns: Ns; uncertainty_ns: Ns | null }[];
        how: string;
      }>("align", { by });
      moveTo(
        new Map(found.offsets.filter((o) => o.offset_ns !== 0).map((o) => [o.rank, o.offset_ns])),
        found.how,
      );
    } catch (error) {
      fail(error);
    }
  }

  // --- lanes -----------------------------------------------------------------------------------------------------------

  /** The marked rows, or the one that the menu was opened on. */
  rowsFor(item: Item): string[] {
    const now = marked.get();
    return now.has(item.id) ? [...now] : [item.id];
  }

  change(change: () => void): void {
    change();
    touchTree();
  }

  hide(ids: string[]): void {
    this.change(() => tree.hide(ids));
    marked.set(new Set());
  }

  /** All others of the same parent. */
  hideSiblings(item: Item): void {
    const { ids } = tree.siblings(layoutInput(), item);
    const marks = new Set(this.rowsFor(item));
    const keep = new Set(tree.items.filter((i) => marks.has(i.id)).map(headId));
    this.hide(ids.filter((id) => !keep.has(id)));
  }

  /** Lanes of Python frames of a rank, hidden or shown (T-11). */
  togglePython(item: Item): void {
    const { rank, lanes } = item;
    if (rank === null || lanes === null) {
      return;
    }
    const ids = lanes.nodes.filter((n) => n.kind === "python").map((n) => `${rank.key}|${n.id}`);
    this.change(() => (ids.some((id) => tree.hidden.has(id)) ? tree.show(ids) : tree.hide(ids)));
  }

  async pinSame(item: Item, isPinning: boolean): Promise<void> {
    await wantAllLanes();
    const ids = tree.sameAs(layoutInput(), item);
    this.change(() => (isPinning ? tree.pin(ids) : tree.unpin(ids)));
  }

  /** Marked streams of one rank that may become one (T-17). */
  mergeable(item: Item): { key: string; ids: string[] } | null {
    const ids = this.rowsFor(item);
    const key = rankOfId(item.id);
    const lanes = lanesOf(key);
    if (ids.length < 2 || lanes === undefined || ids.some((id) => rankOfId(id) !== key)) {
      return null;
    }
    const nodes = ids.map((id) => lanes.find(nodeOfId(id)));
    const areStreams = nodes.every((n) => n >= 0 && lanes.nodes[n].kind === "device");
    return areStreams ? { key, ids: ids.map(nodeOfId) } : null;
  }

  async merge(what: { key: string; ids: string[] }): Promise<void> {
    marked.set(new Set());
    await mergeLanes(what.key, what.ids);
  }

  unmerge(item: Item): void {
    const { lanes } = item;
    if (lanes !== null) {
      this.change(() => lanes.unmerge(item.node));
    }
  }

  events(item: Item): void {
    const { rank, lanes } = item;
    if (rank !== null && lanes !== null) {
      eventsOf.set({ rank: rank.key, lanes: lanes.lanesBelow(item.node) });
    }
  }

  openAll(item: Item | null, open: boolean): void {
    this.change(() => tree.openAll(layoutInput(), item, open));
  }
}

/** Moves ranks and parts of them, and says which, and by how much. `how`: what was aligned. */
function moveTo(next: ReadonlyMap<string, Ns>, how = ""): void {
  const before = offsets.get();
  const moved = movedBetween(before, next);
  const said = movedText(moved, movedName);
  offsets.set(next);
  notify(
    "info",
    how === "" ? said : `${how}: ${said}`,
    moved.length === 0 ? undefined : () => offsets.set(before),
  );
}

/** "rank 1", or "rank 1 \u203a device/0" of a part that was moved apart. */
function movedName(key: string): string {
  const [rank, part] = key.split("|");
  const name = rankWord(rankOf(rank)?.label ?? rank);
  return part === undefined ? name : `${name} \u203a ${part}`;
}

export function spanOf(ref: Ref): { from: Ns; to: Ns } | null {
  const shift = shiftAt(ref.rank, ref.lane);
  return shift === null ? null : { from: ref.start + shift, to: ref.start + ref.dur + shift };
}

function placed(ref: Ref | null): Placed | null {
  const lanes = ref === null ? undefined : lanesOf(ref.rank);
  const rank = ref === null ? undefined : rankOf(ref.rank);
  if (ref === null || lanes === undefined || rank === undefined) {
    return null;
  }
  const node = lanes.nodeOfLane(ref.lane);
  return { ref, shift: laneShift(rank, lanes, node), part: lanes.partOf(node) };
}

function offsetKey(item: Item): string {
  return item.node < 0 || item.lanes === null
    ? rankOfId(item.id)
    : `${item.lanes.key}|${item.lanes.partOf(item.node)}`;
}

export const areRanksWaiting = (): boolean =>
  ranks.get().some((r) => r.state === "waiting" || r.state === "failed");
