/** What the page knows and what it looks at. Pages and panels read these atoms and set them; nothing else is shared. */
import { ApiError, get, hasToken, post } from "../api/client";
import type { Rank, Ref, Session } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";

export type Tab = "timeline" | "pipeline" | "summary" | "operator" | "memory" | "communication";
export const TABS: Tab[] = ["timeline", "pipeline", "summary", "operator", "memory", "communication"];

/** A span of time over lanes: what was drawn with the mouse, or taken from a slice with M. Times are viewNs. */
export interface Box {
  from: Ns;
  to: Ns;
  /** By rank; null: every lane that is shown. `rows`: only rows crossed by the box, [first, end). */
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
/** By how much the user moved a rank, ns to the right; by rank key. */
export const offsets = new Atom<ReadonlyMap<string, Ns>>(new Map());
/** Where the pages want to go in the timeline: it takes the request and sets it back to null. */
export interface Goto {
  ref?: Ref;
  /** viewNs; shown with some room around. */
  span?: { from: Ns; to: Ns };
  /** Scrolls there. */
  lane?: { rank: string; lane: number };
}
export const goto = new Atom<Goto | null>(null);
/** Where the timeline wants to go in the pipeline page: the rank and the time there, rankNs. */
export const gotoPipeline = new Atom<{ rank: string; at: Ns } | null>(null);

export const rankOf = (key: string): Rank | undefined => ranks.get().find((r) => r.key === key);

/** viewNs - rankNs of a rank: where its origin lies from that of the first ready rank, and what the user moved. */
export function shiftOf(rank: Rank): Ns {
  const first = ranks.get().find((r) => r.origin_ns !== undefined);
  const own = offsets.get().get(rank.key) ?? 0;
  return first === undefined || rank.origin_ns === undefined ? own : Number(BigInt(rank.origin_ns) - BigInt(first.origin_ns!)) + own;
}

/** Shows a slice in the timeline, from any page. */
export function show(ref: Ref): void {
  selected.set(ref);
  goto.set({ ref });
  tab.set("timeline");
}

/** Whether the server answers. "no-token": the page was opened without one; "denied": the server does not take it (it was started
 * anew). */
export type Connection = "starting" | "ok" | "lost" | "no-token" | "denied";
export const connection = new Atom<Connection>("starting");

const isDenied = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
const pause = (): Promise<void> => new Promise((done) => setTimeout(done, 2000));

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
      connection.set("lost");
      await pause();
    }
  }
}

/** Reads what is served and follows its changes, for as long as the page lives or the token is taken. */
export async function start(): Promise<void> {
  if (!hasToken()) {
    connection.set("no-token");
    return;
  }
  connection.set("starting");
  const opened = await insist(() => get<Session>("session"));
  if (opened === null) {
    return;
  }
  session.set(opened);
  let known = await insist(() => get<{ seq: number; ranks: Rank[] }>("ranks"));
  if (known !== null) {
    ranks.set(known.ranks);
  }
  while (known !== null) {
    const { seq } = known;
    known = await insist(() => get<{ seq: number; ranks: Rank[] }>("events", { after: seq }));
    if (known !== null && known.ranks.length > 0) {
      const by = new Map(known.ranks.map((r) => [r.key, r]));
      ranks.set(ranks.get().map((r) => by.get(r.key) ?? r));
    }
  }
}

export const load = (keys: string[]): Promise<unknown> => post("load", { keys });
export const loadAll = (): Promise<unknown> => post("load", { all: true });
