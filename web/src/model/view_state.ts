/** What the timeline looks at as a flat record of texts, for the address; and back. Times in it count from the epoch, so that they
 * mean the same whichever rank is read first; what needs a rank waits until it is read. */
import { get } from "../api/client";
import type { Slice } from "../api/types";
import type { Ns } from "../base/ns";
import { LaneTree, rankOfId } from "./lanes";
import { fail } from "./notices";
import {
  absolute,
  analysisSpan,
  box,
  boxLocked,
  fromAbsolute,
  load,
  offsets,
  rankOf,
  ranks,
  selected,
  type Box,
} from "./session";
import { foundIn, query, search, type Query } from "./search";
import {
  BOTTOM_TABS,
  bottomHeight,
  bottomOpen,
  bottomTab,
  flowKinds,
  followExtent,
  labelWidth,
  listScroll,
  markers,
  rowsMode,
  showInstants,
  shownEvents,
  systemRank,
  systemView,
  viewport,
  windowChanged,
  type BottomTab,
  type Marker,
} from "./timeline";
import { lanesOf, mergeLanes, touchTree, tree, treeChanged, wantLanes } from "./tree";

export type ViewState = Record<string, string>;

const BOTTOM_PX = bottomHeight.get();
const LABEL_PX = labelWidth.get();

/** Commas stand between the parts. */
export const pack = (parts: Iterable<string>): string =>
  [...parts].map((p) => p.replace(/[%,~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)).join(",");
export const unpackList = (text: string | undefined): string[] =>
  text === undefined || text === ""
    ? []
    : text
        .split(",")
        .map((p) =>
          p.replace(/%(25|2c|7e)/g, (_, h: string) => String.fromCharCode(parseInt(h, 16))),
        );

// --- the tree ----------------------------------------------------------------------------------------------------------

/** Of a tree; only what is not as at first. */
export function treeState(of: LaneTree): ViewState {
  const state: ViewState = {};
  const put = (key: string, text: string): void => {
    if (text !== "") {
      state[key] = text;
    }
  };
  const signed = (all: ReadonlyMap<string, boolean>): string =>
    pack([...all].map(([id, open]) => (open ? "+" : "-") + id));
  put("open", signed(of.opened));
  put("all", signed(of.openedBelow));
  put("hide", pack(of.hidden));
  put("pin", pack(of.pinned));
  put("order", pack([...of.order].flatMap(([parent, ids]) => [`>${parent}`, ...ids])));
  put("ranks", of.shownRanks === null ? "" : `=${pack(of.shownRanks)}`);
  put("lanes", of.shownNames === null ? "" : `=${pack(of.shownNames)}`);
  put("auto", pack([...(of.isAutoAll ? ["*"] : []), ...of.autoHeight]));
  return state;
}

export function applyTree(of: LaneTree, state: ViewState): void {
  of.opened.clear();
  unpackList(state.open).forEach((p) => of.opened.set(p.slice(1), p.startsWith("+")));
  of.openedBelow.clear();
  unpackList(state.all).forEach((p) => of.openedBelow.set(p.slice(1), p.startsWith("+")));
  of.hidden.clear();
  unpackList(state.hide).forEach((id) => of.hidden.add(id));
  of.pinned = unpackList(state.pin);
  of.order.clear();
  let under: string[] = [];
  for (const part of unpackList(state.order)) {
    if (part.startsWith(">")) {
      of.order.set(part.slice(1), (under = []));
    } else {
      under.push(part);
    }
  }
  of.shownRanks = state.ranks === undefined ? null : new Set(unpackList(state.ranks.slice(1)));
  of.shownNames = state.lanes === undefined ? null : new Set(unpackList(state.lanes.slice(1)));
  of.autoHeight.clear();
  const auto = unpackList(state.auto);
  of.isAutoAll = auto.includes("*");
  auto.filter((id) => id !== "*").forEach((id) => of.autoHeight.add(id));
}

/** Streams that are drawn as one: "KEY" and the ids of each. */
function mergedState(): string {
  const parts: string[] = [];
  for (const rank of ranks.get()) {
    for (const { members } of lanesOf(rank.key)?.merged ?? []) {
      parts.push(pack([rank.key, ...members.map((n) => lanesOf(rank.key)!.nodes[n].id)]));
    }
  }
  return parts.join("~");
}

// --- times -------------------------------------------------------------------------------------------------------------

const abs = (ns: Ns): string => String(absolute(ns));
/** Between two texts of one span: its start, and how long it is. */
const span = (from: Ns, to: Ns): string => `${abs(from)}+${Math.round(to - from)}`;

function parseSpan(text: string | undefined): { from: Ns; to: Ns } | null {
  const found = /^(-?\d+)\+(\d+(?:\.\d+)?)$/.exec(text ?? "");
  const from = found === null ? null : fromAbsolute(BigInt(found[1]));
  return found === null || from === null ? null : { from, to: from + Number(found[2]) };
}

/** In place of a window: everything, where something else is shown first. */
const ALL = "all";

/** The window may be narrower than a nanosecond is exact. */
function windowState(): string {
  const whole = Math.floor(viewport.from);
  return `${abs(whole)}+${Number((viewport.from - whole).toFixed(3))}+${Number(viewport.span.toPrecision(9))}`;
}

function applyWindow(text: string | undefined): void {
  const found = /^(-?\d+)\+([\d.]+)\+([\d.e+-]+)$/.exec(text ?? "");
  const whole = found === null ? null : fromAbsolute(BigInt(found[1]));
  if (text === ALL) {
    viewport.fit();
  } else if (found === null || whole === null) {
    viewport.home();
  } else {
    viewport.show(whole + Number(found[2]), whole + Number(found[2]) + Number(found[3]));
  }
  windowChanged.update((n) => n + 1);
}

function boxState(b: Box): string {
  const lanes =
    b.lanes === null
      ? []
      : b.lanes.map(
          (l) => `${l.rank}:${l.lane}${l.rows === null ? "" : `:${l.rows[0]}-${l.rows[1]}`}`,
        );
  return [span(b.from, b.to), ...lanes].join(",");
}

function parseBox(text: string | undefined): Box | null {
  const [first, ...rest] = (text ?? "").split(",");
  const at = parseSpan(first);
  const lanes = rest.map((part) => {
    const [rank, lane, rows] = part.split(":");
    const [a, b] = (rows ?? "").split("-").map(Number);
    return {
      rank,
      lane: Number(lane),
      rows: rows === undefined ? null : ([a, b] as [number, number]),
    };
  });
  return at === null ? null : { ...at, lanes: lanes.length === 0 ? null : lanes };
}

const markerState = (m: Marker): string =>
  `${m.to === null ? abs(m.from) : span(m.from, m.to)}/${m.colour}/${m.name}`;

function parseMarker(text: string, id: number): Marker | null {
  const [at, colour, ...name] = text.split("/");
  const one = parseSpan(at.includes("+") ? at : `${at}+0`);
  return one === null
    ? null
    : {
        id,
        from: one.from,
        to: at.includes("+") ? one.to : null,
        colour: /^\d+$/.test(colour) ? Number(colour) : colour,
        name: name.join("/"),
      };
}

// --- the panel below, and the search -----------------------------------------------------------------------------------

const VIEW = systemView.get();

/** What is selected, or framed, brings its tab to the front. */
const tabAtFirst = (hasSelected: boolean, hasBox: boolean): BottomTab =>
  hasSelected ? "detail" : hasBox ? "list" : "system";

function panelState(): ViewState {
  const events = shownEvents.get();
  const tab = bottomTab.get();
  const isFirst = tab === tabAtFirst(selected.get() !== null, box.get() !== null);
  return {
    panel: isFirst ? "" : tab,
    view: systemView.get() === VIEW ? "" : systemView.get(),
    of: systemRank.get() ?? "",
    events: events === null ? "" : pack([events.rank, ...events.lanes.map(String)]),
    ...searchState(),
  };
}

/** A letter of each way to search that is on. */
const WAYS = { c: "matchCase", w: "word", r: "regex", a: "args" } as const;
const LETTERS = Object.keys(WAYS) as (keyof typeof WAYS)[];

function searchState(): ViewState {
  const q = query.get();
  const lane = foundIn.get();
  return q.text === ""
    ? {}
    : {
        q: q.text,
        how: LETTERS.filter((letter) => q[WAYS[letter]]).join(""),
        found: lane === null ? "" : `${lane.rank}:${lane.lane}`,
      };
}

const tabOf = (state: ViewState): BottomTab =>
  BOTTOM_TABS.find((tab) => tab === state.panel) ??
  tabAtFirst(state.sel !== undefined, state.box !== undefined);

function applyPanel(state: ViewState): void {
  const [rank, ...lanes] = unpackList(state.events);
  const numbers = lanes.map(Number).filter(Number.isSafeInteger);
  shownEvents.set(rank === undefined || numbers.length === 0 ? null : { rank, lanes: numbers });
  systemView.set(state.view ?? VIEW);
  systemRank.set(state.of ?? null);
  bottomTab.set(tabOf(state));
}

/** Where a rank is read: the server counts in those that are. */
function applySearch(state: ViewState): void {
  const at = (state.found ?? "").lastIndexOf(":");
  foundIn.set(
    at <= 0 ? null : { rank: state.found.slice(0, at), lane: Number(state.found.slice(at + 1)) },
  );
  const how = Object.fromEntries(
    LETTERS.map((letter) => [WAYS[letter], (state.how ?? "").includes(letter)]),
  );
  const wanted = { text: state.q ?? "", ...how } as Query;
  if (JSON.stringify(wanted) !== JSON.stringify(query.get())) {
    void search(wanted);
  }
}

// --- all ---------------------------------------------------------------------------------------------------------------

/** What waits until a rank is read. */
let waiting: ViewState | null = null;
let stopWaiting: (() => void) | null = null;

export function timelineState(): ViewState {
  if (waiting !== null) {
    return waiting;
  }
  const state = treeState(tree);
  const put = (key: string, text: string): void => {
    if (text !== "") {
      state[key] = text;
    }
  };
  const isKnown = absolute(0) !== null;
  const b = box.get();
  const analysed = analysisSpan.get();
  const at = selected.get();
  put("merge", mergedState());
  put("sel", at === null ? "" : `${at.rank}:${at.slice}`);
  put("off", pack([...offsets.get()].map(([key, ns]) => `${key}=${ns}`)));
  put("flows", pack(flowKinds.get()));
  put("rows", rowsMode.get() ? "1" : "");
  put("instants", showInstants.get() ? "" : "0");
  put(
    "bottom",
    bottomOpen.get() ? (bottomHeight.get() === BOTTOM_PX ? "" : String(bottomHeight.get())) : "0",
  );
  put("names", labelWidth.get() === LABEL_PX ? "" : String(labelWidth.get()));
  put("y", listScroll.get() > 0 ? String(Math.round(listScroll.get())) : "");
  if (isKnown) {
    put("w", viewport.isChosen ? windowState() : viewport.isAllChosen ? ALL : "");
    put("box", b === null ? "" : boxState(b));
    put("lock", b !== null && boxLocked.get() ? "1" : "");
    put("span", analysed === null ? "" : span(analysed.from, analysed.to));
    put("mark", pack(markers.get().map(markerState)));
  }
  Object.entries(panelState()).forEach(([key, text]) => put(key, text));
  return state;
}

/** What is not in it is as at first. */
export function applyTimelineState(state: ViewState): void {
  applyTree(tree, state);
  offsets.set(
    new Map(
      unpackList(state.off).map((p): [string, Ns] => [
        p.slice(0, p.lastIndexOf("=")),
        Number(p.slice(p.lastIndexOf("=") + 1)),
      ]),
    ),
  );
  flowKinds.set(unpackList(state.flows));
  rowsMode.set(state.rows === "1");
  showInstants.set(state.instants !== "0");
  bottomOpen.set(state.bottom !== "0");
  bottomHeight.set(
    state.bottom === undefined || state.bottom === "0"
      ? BOTTOM_PX
      : Number(state.bottom) || BOTTOM_PX,
  );
  labelWidth.set(Number(state.names) || LABEL_PX);
  applyPanel(state);
  touchTree();
  stopWaiting?.();
  stopWaiting = null;
  waiting = state;
  settle();
  if (waiting !== null) {
    stopWaiting = ranks.listen(settle);
  }
}

/** The rest, when a rank is there. */
function settle(): void {
  const state = waiting;
  if (state === null || absolute(0) === null) {
    return;
  }
  waiting = null;
  stopWaiting?.();
  stopWaiting = null;
  for (const group of (state.merge ?? "").split("~").map(unpackList)) {
    if (group.length > 2) {
      void mergeLanes(group[0], group.slice(1));
    }
  }
  followExtent();
  applyWindow(state.w);
  box.set(parseBox(state.box));
  boxLocked.set(state.lock === "1" && box.get() !== null);
  analysisSpan.set(parseSpan(state.span));
  markers.set(
    unpackList(state.mark)
      .map((m, i) => parseMarker(m, i + 1))
      .filter((m): m is Marker => m !== null),
  );
  listScroll.set(Number(state.y) || 0);
  readNamed(state);
  applySelected(state);
  applySearch(state);
  bottomTab.set(tabOf(state));
}

/** Ranks that were open or have pinned lanes, and are not read by themselves. */
function readNamed(state: ViewState): void {
  const open = unpackList(state.open).flatMap((p) => (p.startsWith("+") ? [p.slice(1)] : []));
  const named = new Set([
    ...open.filter((id) => rankOfId(id) === id),
    ...tree.pinned.map(rankOfId),
  ]);
  const unread = [...named].filter((key) => rankOf(key)?.state === "waiting");
  if (unread.length > 0) {
    load(unread).catch(fail);
  }
}

function applySelected(state: ViewState): void {
  const text = state.sel ?? "";
  const at = text.lastIndexOf(":");
  const key = text.slice(0, at);
  const slice = Number(text.slice(at + 1));
  if (at <= 0 || !Number.isSafeInteger(slice)) {
    selected.set(null);
    return;
  }
  const now = selected.get();
  if (now?.rank === key && now.slice === slice) {
    return;
  }
  const take = (): void => {
    void wantLanes(key);
    get<Slice>("slice", { rank: key, slice }).then(
      (found) => {
        selected.set(found);
        bottomTab.set(tabOf(state));
      },
      () => undefined,
    );
  };
  if (rankOf(key)?.state === "ready") {
    take();
  } else if (rankOf(key) !== undefined) {
    void load([key]).catch(() => undefined);
    const stop = ranks.listen(() => {
      if (rankOf(key)?.state === "ready") {
        stop();
        take();
      }
    });
  }
}

/** Called whenever timelineState() may have changed; returns how to stop. */
export function listenTimelineState(changed: () => void): () => void {
  const atoms = [
    treeChanged,
    windowChanged,
    selected,
    box,
    boxLocked,
    analysisSpan,
    offsets,
    flowKinds,
    rowsMode,
    showInstants,
    bottomOpen,
    bottomHeight,
    labelWidth,
    markers,
    listScroll,
    bottomTab,
    systemView,
    systemRank,
    shownEvents,
    query,
    foundIn,
  ];
  const stops = atoms.map((atom) => atom.listen(changed));
  return () => stops.forEach((stop) => stop());
}
