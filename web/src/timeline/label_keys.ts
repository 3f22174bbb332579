/** Keys of the column of lanes. It is a tree as assistive technology knows them: one of its rows has the focus, arrows go on from there,
 * Enter goes into a lane. */
import { get } from "../api/client";
import type { Table } from "../api/types";
import { Atom } from "../base/atom";
import type { Item } from "../model/lanes";
import { fail, notify } from "../model/notices";
import { load, rankOf, ranks, shiftOf } from "../model/session";
import { viewport } from "../model/timeline";
import { marked, shiftAt, touchTree, tree } from "../model/tree";
import { t } from "../words";
import { firstBlock } from "./pipeline_lane";
import { takeBlock } from "./pipeline_travel";
import type { Region } from "./scene";
import type { Timeline } from "./timeline";

/** The row that Tab leads to. `isPins`: pinned lanes stand twice. */
export interface Focused {
  id: string;
  isPins: boolean;
}
export const focused = new Atom<Focused | null>(null);
/** It has the focus, or is to have it as soon as it is drawn: rows are made anew when a rank is read. */
let hasFocus = false;

export function gotFocus(item: Item, region: Region): void {
  focused.set({ id: item.id, isPins: region.isPins });
  hasFocus = true;
}

/** Another part has it now; not when its row was taken away. */
export function lostFocus(to: EventTarget | null): void {
  hasFocus = hasFocus && to === null;
}

/** After a menu of the row that had it. */
export function refocus(item: Item): void {
  if (focused.get()?.id === item.id && document.activeElement instanceof HTMLElement) {
    hasFocus = true;
    document.activeElement.blur();
    touchTree();
  }
}

/** A click beside the tree takes it away, too. */
export function clickedBeside(root: HTMLElement): () => void {
  const check = (e: Event): void => {
    hasFocus = hasFocus && e.target instanceof Node && root.contains(e.target);
  };
  document.addEventListener("pointerdown", check, true);
  return () => document.removeEventListener("pointerdown", check, true);
}

/** Rows were drawn: the focus goes where it was, or is to be. */
export function followFocus(root: HTMLElement): void {
  const to = focused.get();
  const now = document.activeElement;
  if (to === null || !hasFocus || (now !== document.body && !root.contains(now))) {
    return;
  }
  const region = root.querySelector(to.isPins ? ".tl-pins" : ".tl-region:not(.tl-pins)");
  const row = region?.querySelector<HTMLElement>(`[data-id="${CSS.escape(to.id)}"]`);
  if (row !== now && row?.contains(now) !== true) {
    row?.focus({ preventScroll: true });
  }
}

export const isFocused = (item: Item, region: Region): boolean =>
  focused.get()?.id === item.id && focused.get()?.isPins === region.isPins;

/** Rows that keys stop at. */
export const isStop = (item: Item): boolean => !["hidden", "outline"].includes(item.kind);

/** Rows that are lanes, which keys mark and pin. */
const isLane = (item: Item): boolean => item.kind !== "idle" && item.kind !== "pipeline";

/** Where a key leads from a row; null: nowhere. */
export function stopAfter(items: readonly Item[], from: Item, key: string): Item | null {
  const stops = items.filter(isStop);
  const at = stops.indexOf(from);
  switch (key) {
    case "ArrowDown":
      return stops[at + 1] ?? null;
    case "ArrowUp":
      return stops[at - 1] ?? null;
    case "Home":
      return stops[0] ?? null;
    case "End":
      return stops[stops.length - 1] ?? null;
    case "ArrowRight": {
      const next = stops[at + 1];
      return from.isOpen && next !== undefined && next.depth > from.depth ? next : null;
    }
    case "ArrowLeft":
      return (
        stops
          .slice(0, at)
          .filter((item) => item.depth < from.depth)
          .pop() ?? null
      );
    default:
      return null;
  }
}

/** The row is scrolled into sight and has the focus. */
function focusRow(item: Item, region: Region, timeline: Timeline): void {
  gotFocus(item, region);
  const room = region.bottom - region.top;
  const above = item.y - region.scroll;
  const below = item.y + Math.min(item.height, room) - region.scroll - room;
  timeline.scrolling.by(region, above < 0 ? above : Math.max(0, below));
  touchTree();
}

/** The row that keys mean: the focus follows it with the next frame only, and keys may come faster. `from`: the one that the browser sent them to. */
export function rowOfKeys(from: Item, region: Region): Item {
  const to = focused.get();
  return hasFocus && to !== null && to.isPins === region.isPins
    ? (region.items.find((item) => item.id === to.id) ?? from)
    : from;
}

/** True: the key was one of the tree's. `from`: the row that the browser sent it to. */
export function treeKey(e: KeyboardEvent, from: Item, region: Region, timeline: Timeline): boolean {
  if (e.ctrlKey || e.altKey || e.metaKey || e.shiftKey) {
    return false;
  }
  const item = rowOfKeys(from, region);
  const isTurn = item.canOpen && (e.key === "ArrowRight" ? !item.isOpen : item.isOpen);
  if ((e.key === "ArrowRight" || e.key === "ArrowLeft") && isTurn) {
    tree.setOpen(item, !item.isOpen);
    touchTree();
    return true;
  }
  switch (e.key) {
    case "ArrowDown":
    case "ArrowUp":
    case "ArrowRight":
    case "ArrowLeft":
    case "Home":
    case "End": {
      const next = stopAfter(region.items, item, e.key);
      if (next !== null) {
        focusRow(next, region, timeline);
      }
      return true;
    }
    case "Enter":
      enter(item, timeline);
      return true;
    case " ":
      if (!isLane(item)) {
        return false;
      }
      marked.set(marked.get().has(item.id) ? new Set() : new Set([item.id]));
      return true;
    case "p":
      if (!isLane(item)) {
        return false;
      }
      togglePin(item);
      return true;
    default:
      return false;
  }
}

export function togglePin(item: Item): void {
  if (tree.isPinned(item.id)) {
    tree.unpin([item.id]);
  } else {
    tree.pin([item.id]);
  }
  touchTree();
}

/** Into a lane: its first slice in the window is selected, or its first block, and keys go on from there. A rank that is not read is
 * read; all else opens. */
function enter(item: Item, timeline: Timeline): void {
  const lane = item.lanes?.nodes[item.node]?.lane ?? -1;
  const block =
    item.kind === "pipeline" ? firstBlock(item.rank!, viewport, shiftOf(item.rank!)) : null;
  if (block !== null) {
    void takeBlock(timeline, block);
    return;
  }
  if (item.kind === "unread" || item.rank?.state === "waiting") {
    void read(item.rank!.key, timeline).catch(fail);
  } else if (item.kind === "lane" && lane >= 0) {
    void selectFirst(item.rank!.key, lane, timeline).catch(fail);
  } else if (item.kind === "pipeline") {
    notify("info", t("timeline.lane-empty"));
  } else if (item.canOpen) {
    tree.setOpen(item, !item.isOpen);
    touchTree();
  }
}

/** Ranks that are read stand before those that are not: the row is followed to where it goes. */
async function read(key: string, timeline: Timeline): Promise<void> {
  await load([key]);
  const stop = ranks.listen(() => {
    const state = rankOf(key)?.state;
    if (state === "ready" || state === "failed") {
      stop();
      timeline.scrolling.want(key, -1);
      touchTree();
    }
  });
}

async function selectFirst(rank: string, lane: number, timeline: Timeline): Promise<void> {
  const shift = shiftAt(rank, lane) ?? 0;
  const from = Math.round(viewport.from - shift);
  const found = await get<Table>("slices", {
    rank,
    lanes: String(lane),
    from,
    to: Math.round(from + viewport.span),
    limit: 1,
  });
  const at = found.columns.findIndex(([name]) => name === "slice");
  const slice = found.rows[0]?.[at];
  if (typeof slice === "number") {
    await timeline.select(rank, slice);
  } else {
    notify("info", t("timeline.lane-empty"));
  }
}
