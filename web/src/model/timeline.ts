/** State of the timeline that others look at or set: panels, the frame, the address. */
import type { LaneNode, Rank, Ref } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import { Viewport, ZoomHistory } from "../base/viewport";
import { outlineOf, outlineShift } from "./outlines";
import { analysisSpan, goto, rankOf, ranks, shiftOf, show, tab } from "./session";
import { lanesOf } from "./tree";
import { t } from "../words";

/** The one window; `windowChanged` tells of changes. */
export const viewport = new Viewport();
export const zoomHistory = new ZoomHistory();
export const windowChanged = new Atom<number>(0);

/** Everything that moves the window goes through here, so that it can be undone. */
export function moveWindow(change: (view: Viewport) => void): void {
  zoomHistory.note(viewport, performance.now());
  change(viewport);
  windowChanged.update((n) => n + 1);
}

export function undoZoom(): void {
  if (zoomHistory.undo(viewport)) {
    windowChanged.update((n) => n + 1);
  }
}

/** Of a rank that is read, or of what is there of it so far; viewNs. */
function spanOf(rank: Rank, isSoFar: boolean): { from: Ns; to: Ns } | null {
  const outline = isSoFar ? outlineOf(rank.key) : undefined;
  if (outline !== undefined) {
    const shift = outlineShift(rank, outline);
    return { from: outline.start + shift, to: outline.end + shift };
  }
  return rank.state === "ready" && rank.start !== undefined && rank.end !== undefined
    ? { from: rank.start + shiftOf(rank), to: rank.end + shiftOf(rank) }
    : null;
}

/** What there is to see, over all ranks that are read; until there is one, over what is there so far. */
export function followExtent(): void {
  const isSoFar = !ranks.get().some((rank) => rank.state === "ready");
  const spans = ranks.get().map((rank) => spanOf(rank, isSoFar));
  const least = Math.min(...spans.map((span) => span?.from ?? Infinity));
  const most = Math.max(...spans.map((span) => span?.to ?? -Infinity));
  const { from, to } = viewport.extent;
  const first = workSpan(least, most);
  const isNew = first?.from !== shownFirst?.from || first?.to !== shownFirst?.to;
  if (least <= most && (least !== from || most !== to || isNew)) {
    shownFirst = first;
    viewport.setExtent(least, most, first);
  }
}

let shownFirst: { from: Ns; to: Ns } | null = null;
/** Of less than that there is nothing to be seen in most of the window. */
const BLANK_SHARE = 0.5;

/** Where work was recorded, when that is but a part of what there is: a profiler may say by one slice how long it ran itself, long before
 * the first step and after the last. Null: everywhere. */
function workSpan(least: Ns, most: Ns): { from: Ns; to: Ns } | null {
  let [from, to] = [Infinity, -Infinity];
  for (const rank of ranks.get()) {
    const lanes = rank.state === "ready" ? lanesOf(rank.key) : undefined;
    const shift = shiftOf(rank);
    const own = lanes?.nodes.filter((n) => n.lane >= 0 && n.slices > 0 && !isFrame(n)) ?? [];
    if (rank.state === "ready") {
      from = Math.min(from, ...(own.length > 0 ? own.map((n) => n.start + shift) : [least]));
      to = Math.max(to, ...(own.length > 0 ? own.map((n) => n.end + shift) : [most]));
    }
  }
  return from < to && to - from < BLANK_SHARE * (most - least) ? { from, to } : null;
}

/** A lane of one slice that is neither of a thread nor of a device. */
const isFrame = (node: LaneNode): boolean => node.kind === "other" && node.slices === 1;

/** Shows everything. */
export function resetWindow(): void {
  moveWindow((view) => view.fit());
}

/** A box counts only the rows that it crosses (T-23). */
export const rowsMode = new Atom<boolean>(false);
/** Kinds of flows that are drawn for all slices, at most MAX_FLOW_KINDS. */
export const flowKinds = new Atom<readonly string[]>([]);
export const MAX_FLOW_KINDS = 10;
/** Where alignment starts from (T-21). */
export const baseSlice = new Atom<Ref | null>(null);
/** The slice under the pointer. */
export const hovered = new Atom<Ref | null>(null);
/** "Show in Events View": the lanes whose slices the lower panel lists; it sets it back to null when it has taken it. */
export const eventsOf = new Atom<{ rank: string; lanes: number[] } | null>(null);
/** The lanes that the Events View lists. */
export const shownEvents = new Atom<{ rank: string; lanes: number[] } | null>(null);
/** Ranks whose communicator the Communication page is to show. */
export const groupInCommunication = new Atom<readonly string[] | null>(null);
/** "Find in Communication": a communication operator that the other page shows. */
export const findInCommunication = new Atom<Ref | null>(null);
/** Instants (marks, waits of no length) are drawn. */
export const showInstants = new Atom<boolean>(true);

/** The lower panel: its tabs, which one is shown, and what the System View shows of which rank. */
export const BOTTOM_TABS = ["detail", "list", "system", "find", "events", "markers"] as const;
export type BottomTab = (typeof BOTTOM_TABS)[number];
export const bottomTab = new Atom<BottomTab>("system");
/** null: the first that there is. */
export const systemView = new Atom<string>("overall");
export const systemRank = new Atom<string | null>(null);
// Who comes from another page finds the tables of the rank that was gone to, and of the step where one is framed.
goto.listen(() => {
  const to = goto.get();
  const rank = to?.ref?.rank ?? to?.lane?.rank ?? to?.rank;
  if (rank !== undefined && tab.get() !== "timeline") {
    systemRank.set(rank);
  }
  if (to?.isStep === true && to.span !== undefined) {
    analyse(to.span);
  }
});
export const bottomOpen = new Atom<boolean>(true);
export const bottomHeight = new Atom<number>(
  typeof innerHeight === "number"
    ? Math.round(Math.max(160, Math.min(280, innerHeight * 0.28)))
    : 220,
);
/** Brings a tab of the lower panel to the front, also of one that was closed. */
export function openPanel(name: BottomTab): void {
  bottomTab.set(name);
  bottomOpen.set(true);
}

/** Leads to a slice from afar: it is shown in its whole length, or in the whole of `span` (viewNs), with what is known of it. */
export function showWhole(ref: Ref, span?: { from: Ns; to: Ns }): void {
  const from = ref.start + shiftOf(rankOf(ref.rank)!);
  openPanel("detail");
  show(ref, span ?? { from, to: from + ref.dur });
}

export const labelWidth = new Atom<number>(220);
/** How far the list of lanes is scrolled, pixels. Set from outside, the timeline follows. */
export const listScroll = new Atom<number>(0);

/** Tables keep to a span, and the panel shows one of those that do (T-32); null: to all of the recording. */
export function analyse(span: { from: Ns; to: Ns } | null): void {
  analysisSpan.set(span === null ? null : { from: Math.round(span.from), to: Math.round(span.to) });
  if (span !== null) {
    bottomTab.update((now) => (now === "events" ? now : "system"));
    bottomOpen.set(true);
  }
}

export interface Marker {
  id: number;
  /** viewNs; `to` only of a region. */
  from: Ns;
  to: Ns | null;
  name: string;
  /** 0..11, a tint of the theme; or a colour. */
  colour: number | string;
}

export const markers = new Atom<readonly Marker[]>([]);
/** The marker whose dialog is open. */
export const editedMarker = new Atom<number | null>(null);

export function addMarker(from: Ns, to: Ns | null): Marker {
  const all = markers.get();
  const id = all.reduce((most, m) => Math.max(most, m.id), 0) + 1;
  const added: Marker = { id, from, to, name: "", colour: (id - 1) % 12 };
  markers.set([...all, added].sort((a, b) => a.from - b.from || a.id - b.id));
  return added;
}

export function changeMarker(id: number, change: Partial<Omit<Marker, "id">>): void {
  markers.update((all) => all.map((m) => (m.id === id ? { ...m, ...change } : m)));
}

export function removeMarker(id: number): void {
  markers.update((all) => all.filter((m) => m.id !== id));
  if (editedMarker.get() === id) {
    editedMarker.set(null);
  }
}

export function clearMarkers(): void {
  markers.set([]);
  editedMarker.set(null);
}

/** What a marker or a region is called, also where it has no name. */
export const markerName = (m: Marker): string =>
  m.name !== "" ? m.name : t("markers.unnamed", m.id);

/** Shows a marker in the timeline, from any page. */
export function jumpToMarker(m: Marker): void {
  tab.set("timeline");
  goto.set({ span: { from: m.from, to: m.to ?? m.from } });
}
