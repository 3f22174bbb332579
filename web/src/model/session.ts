/** What the page knows and what it looks at. Pages and panels read these atoms and set them; nothing else is shared. */
import { ApiError, get, post, tokenNow } from "../api/client";
import { borrowToken } from "../api/other_tabs";
import type { Rank, Ref, Session } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import { language } from "../words";

export type Tab =
  | "timeline"
  | "pipeline"
  | "summary"
  | "operator"
  | "calls"
  | "memory"
  | "communication"
  | "whatif"
  | "query"
  | "compare";
export const TABS: Tab[] = [
  "timeline",
  "pipeline",
  "summary",
  "operator",
  "calls",
  "memory",
  "communication",
  "whatif",
  "query",
  "compare",
];

/** A span of time over lanes: what was drawn with the mouse, or taken from a slice with M. Times are viewNs. */
export interface Box {
  from: Ns;
  to: Ns;
  /** By rank; null: every lane of ranks that are shown, what is closed with all that lies in it. `rows`: only rows crossed by the box, [first, end). */
  lanes: { rank: string; lane: number; rows: [number, number] | null }[] | null;
}

export const session = new Atom<Session | null>(null);
export const ranks = new Atom<Rank[]>([]);
export const tab = new Atom<Tab>("timeline");
/** The slice that was clicked. */
export const selected = new Atom<Ref | null>(null);
export const box = new Atom<Box | null>(null);
/** The box is frozen: search and flows keep to it (T-24). */
export const boxLocked = new Atom<boolean>(false);
/** Tables of the lower panel keep to this span (T-32); viewNs. */
export const analysisSpan = new Atom<{ from: Ns; to: Ns } | null>(null);
/** By how much the user moved a rank, ns to the right; by rank key. Lanes of one process or device that were moved apart from
 * their rank stand here too, by "KEY|PART" (model/lanes.ts, partOf). */
export const offsets = new Atom<ReadonlyMap<string, Ns>>(new Map());
/** Where the pages want to go in the timeline: it takes the request and sets it back to null. */
export interface Goto {
  ref?: Ref;
  /** viewNs; shown with some room around. */
  span?: { from: Ns; to: Ns };
  /** The span is all of the window. */
  isStep?: boolean;
  /** Scrolls there. */
  lane?: { rank: string; lane: number };
  /** Whose time it is, where no lane says it. */
  rank?: string;
}
export const goto = new Atom<Goto | null>(null);
/** Where the timeline wants to go in the pipeline page: a span of the rank's time, rankNs. `isHost`: of a host thread, so that ops are
 * found by when the host launched them; null: by either. */
export interface GotoPipeline {
  rank: string;
  from: Ns;
  to: Ns;
  isHost: boolean | null;
}
export const gotoPipeline = new Atom<GotoPipeline | null>(null);

export const rankOf = (key: string): Rank | undefined => ranks.get().find((r) => r.key === key);

/** What the origin of the view is taken from: the first rank that was ready. It stays, so that the view does not move when
 * others come or go. */
let reference: { origin: bigint; start: Ns; end: Ns } | null = null;
let known: { ranks: Rank[]; offsets: ReadonlyMap<string, Ns>; shifts: Map<string, Ns> } | null =
  null;

function referenceNow(): typeof reference {
  if (reference === null) {
    const first = ranks.get().find((r) => r.origin_ns !== undefined);
    if (first !== undefined) {
      reference = {
        origin: BigInt(first.origin_ns!),
        start: first.start ?? 0,
        end: first.end ?? 0,
      };
    }
  }
  return reference;
}

/** For tests, and when other data are served. */
export function forgetReference(): void {
  reference = null;
  known = null;
}

/** Nanoseconds since the epoch (or what the profiler counts from) of a time of the view; null before a rank is ready. */
export function absolute(viewNs: Ns): bigint | null {
  const from = referenceNow();
  return from === null ? null : from.origin + BigInt(Math.round(viewNs));
}

export function fromAbsolute(ns: bigint): Ns | null {
  const from = referenceNow();
  return from === null ? null : Number(ns - from.origin);
}

/** By how much a rank that was recorded at quite another time (its span does not meet the first one's) is moved so that it
 * begins with the first; 0 for all others. */
export function autoOffset(rank: Rank): Ns {
  const from = referenceNow();
  if (from === null || rank.origin_ns === undefined) {
    return 0;
  }
  const apart = Number(BigInt(rank.origin_ns) - from.origin);
  const start = (rank.start ?? 0) + apart;
  const end = (rank.end ?? 0) + apart;
  return start > from.end || end < from.start ? from.start - start : 0;
}

/** viewNs - rankNs of a rank: where its origin lies from that of the first ready rank, what brings ranks of quite another
 * time to its start, and what the user moved. */
export function shiftOf(rank: Rank): Ns {
  const from = referenceNow();
  if (known?.ranks !== ranks.get() || known.offsets !== offsets.get()) {
    known = { ranks: ranks.get(), offsets: offsets.get(), shifts: new Map() };
  }
  let shift = known.shifts.get(rank.key);
  if (shift === undefined) {
    const apart =
      from === null || rank.origin_ns === undefined
        ? 0
        : Number(BigInt(rank.origin_ns) - from.origin);
    shift = apart + movedBy(rank);
    known.shifts.set(rank.key, shift);
  }
  return shift;
}

/** What of it moves the rank from its own clock: what the user said, and what brings it to the first rank's time. */
export const movedBy = (rank: Rank): Ns => autoOffset(rank) + (offsets.get().get(rank.key) ?? 0);

let isShowing = false;
/** While `selected` or `box` changes because something led there, not because it was clicked in the timeline. */
export const wasLedTo = (): boolean => isShowing;

/** Shows a slice in the timeline, from any page and by every key (the window: Viewport.leadTo); with it the whole of `span`, viewNs. */
export function show(ref: Ref, span?: Goto["span"]): void {
  isShowing = true;
  selected.set(ref);
  isShowing = false;
  goto.set(span === undefined ? { ref } : { ref, span });
  tab.set("timeline");
}

/** Shows a step in the timeline, framed as by a click on its band, over `lanes`: all of the window is the step. A box that is locked stays. */
export function showStep(
  span: NonNullable<Goto["span"]>,
  at: Pick<Goto, "lane" | "rank">,
  lanes: Box["lanes"],
): void {
  isShowing = true;
  selected.set(null); // of what is left
  if (!boxLocked.get()) {
    box.set({ ...span, lanes });
  }
  isShowing = false;
  goto.set({ span, isStep: true, ...at });
  tab.set("timeline");
}

/** Whether the server answers. "no-token": the page was opened without one; "denied": the server does not take it (it was started
 * anew). */
export type Connection = "starting" | "ok" | "lost" | "no-token" | "denied";
export const connection = new Atom<Connection>("starting");

const isDenied = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
const pause = (): Promise<void> => new Promise((done) => setTimeout(done, 2000));

interface RankNews {
  seq: number;
  ranks: Rank[];
}

/** Asks until it is answered; null: the token is not taken. */
async function insist<T>(ask: () => Promise<T>): Promise<T | null> {
  for (;;) {
    try {
      const reply = await ask();
      connection.set("ok");
      return reply;
    } catch (error) {
      if (isDenied(error)) {
        connection.set("denied");
        return null;
      }
      // An answer is an answer, even one that says that it cannot be done.
      connection.set(error instanceof ApiError ? "ok" : "lost");
      await pause();
    }
  }
}

/** Ended when the page speaks another language: what ranks and captures lack is told anew. */
let following = new AbortController();

/** Reads what is served and follows its changes, for as long as the page lives or the token is taken. */
export async function start(): Promise<void> {
  if (tokenNow() === null && !(await borrowToken())) {
    if (tokenNow() === null) {
      connection.set("no-token");
    }
    return; // one that came meanwhile has begun by itself
  }
  connection.set("starting");
  const opened = await insist(() => get<Session>("session"));
  if (opened === null) {
    return;
  }
  session.set(opened);
  language.listen(() => following.abort());
  let seq = await askRanks();
  while (seq !== null) {
    seq = await followRanks(seq);
  }
}

/** Every rank as it is now; gives where changes are counted from, null where the token is not taken. */
async function askRanks(): Promise<number | null> {
  const all = await insist(() => get<RankNews>("ranks"));
  if (all !== null) {
    ranks.set(all.ranks);
  }
  return all?.seq ?? null;
}

/** Ranks that changed, that came with a capture, and that went with one. */
async function takeNews(news: readonly Rank[]): Promise<void> {
  const by = new Map(news.map((r) => [r.key, r]));
  const before = new Set(ranks.get().map((r) => r.key));
  const came = news.filter((r) => !before.has(r.key) && r.state !== "closed");
  const stays = (r: Rank): boolean => by.get(r.key)?.state !== "closed";
  if (came.length > 0 || !ranks.get().every(stays)) {
    session.set(await get<Session>("session"));
    const gone = selected.get();
    if (gone !== null && by.get(gone.rank)?.state === "closed") {
      selected.set(null);
    }
  }
  ranks.set([
    ...ranks
      .get()
      .filter(stays)
      .map((r) => by.get(r.key) ?? r),
    ...came,
  ]);
}

/** The changes since. A server that was away may have been started anew and count from the beginning: it is asked for all. */
async function followRanks(after: number): Promise<number | null> {
  try {
    const news = await get<RankNews>("events", { after }, following.signal);
    connection.set("ok");
    if (news.ranks.length > 0) {
      await takeNews(news.ranks);
    }
    return news.seq;
  } catch (error) {
    if (following.signal.aborted) {
      following = new AbortController();
      const retold = await insist(() => get<Session>("session"));
      session.set(retold ?? session.get());
    } else if (!isDenied(error)) {
      connection.set(error instanceof ApiError ? "ok" : "lost");
      await pause();
    }
    return askRanks();
  }
}

export const load = (keys: string[]): Promise<unknown> => post("load", { keys });
export const loadAll = (): Promise<unknown> => post("load", { all: true });
