/** The search over everything: what is asked, how often it was found, which one is selected. The tools hold the field, the
 * Find panel lists; the timeline lights what was found. */
import { ApiError, get, type Params } from "../api/client";
import type { Rank, Ref, SearchCounts, Session } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import { openCaptures, shortNames } from "./captures";
import { fail, notify } from "./notices";
import { t } from "../words";
import { box, boxLocked, rankOf, ranks, selected, shiftOf, show } from "./session";

export interface Query {
  text: string;
  matchCase: boolean;
  word: boolean;
  regex: boolean;
  /** Values of arguments too. */
  args: boolean;
}

export const query = new Atom<Query>({
  text: "",
  matchCase: false,
  word: false,
  regex: false,
  args: false,
});
export const counts = new Atom<SearchCounts | null>(null);
/** Place of the one that is selected, from 0; -1: none yet. */
export const place = new Atom<number>(-1);
/** What is wrong with the text, as the server says it. */
export const mistake = new Atom<string | null>(null);
export const searching = new Atom<boolean>(false);
/** The list is of that lane alone. */
export const foundIn = new Atom<{ rank: string; lane: number } | null>(null);
/** The list is asked for; the lower panel shows it. */
export const findOpen = new Atom<boolean>(false);

let running: AbortController | null = null;

/** Where the box is locked: its span in the time of the first rank that is searched, from whose origin the server counts. */
function lockedSpan(): Params {
  const b = box.get();
  if (!boxLocked.get() || b === null) {
    return {};
  }
  const keys = b.lanes === null ? [] : [...new Set(b.lanes.map((l) => l.rank))];
  const rank = keys.length > 0 ? rankOf(keys[0]) : ranks.get().find((r) => r.state === "ready");
  if (rank === undefined) {
    return {};
  }
  const shift = shiftOf(rank);
  const span: Params = { from: Math.floor(b.from - shift), to: Math.ceil(b.to - shift) };
  return b.lanes === null || keys.length !== 1
    ? { ...span, ...(keys.length > 0 ? { ranks: keys.join(",") } : {}) }
    : { ...span, ranks: rank.key, lanes: b.lanes.map((l) => l.lane).join(",") };
}

/** The span that the counts are of. */
let countedIn = "";
/** What is counted follows the box: it is locked, let go or another one. */
for (const atom of [box, boxLocked]) {
  atom.listen(() => {
    if (query.get().text !== "" && JSON.stringify(lockedSpan()) !== countedIn) {
      void search(query.get());
    }
  });
}

/** And the ranks: those that are read later are counted, too. */
let countedRanks = 0;
const nReady = (): number => ranks.get().filter((r) => r.state === "ready").length;
ranks.listen(() => {
  const isReading = ranks.get().some((r) => r.state === "reading" || r.state === "queued");
  if (query.get().text !== "" && !isReading && nReady() !== countedRanks) {
    void count();
  }
});

export function paramsOf(q: Query): Params {
  return {
    q: q.text,
    case: q.matchCase,
    word: q.word,
    regex: q.regex,
    args: q.args,
    ...lockedSpan(),
  };
}

/** The same for the list, of one lane or of all: its times are those of the view, whichever rank the server counts from and whatever was moved. */
export function listParamsOf(q: Query, lane: { rank: string; lane: number } | null): Params {
  const params: Params = {
    ...paramsOf(q),
    ...(lane !== null ? { ranks: lane.rank, lanes: lane.lane } : {}),
  };
  const named = typeof params.ranks === "string" ? params.ranks.split(",") : null;
  const searched = ranks
    .get()
    .filter((r) => r.state === "ready" && r.origin_ns !== undefined)
    .filter((r) => named === null || named.includes(r.key));
  const first = searched.find((r) => named === null || r.key === named[0]);
  const moved = searched
    .map((r) => {
      const apart = Number(BigInt(r.origin_ns!) - BigInt(first?.origin_ns ?? r.origin_ns!));
      return [r.key, Math.round(shiftOf(r) - apart)] as const;
    })
    .filter(([, by]) => by !== 0);
  return moved.length === 0
    ? params
    : { ...params, moved: moved.map((m) => m.join(":")).join(",") };
}

/** Counts what matches; an empty text forgets the search. */
export async function search(next: Query): Promise<void> {
  query.set(next);
  placed = null;
  place.set(-1);
  await count();
}

async function count(): Promise<void> {
  const next = query.get();
  countedIn = JSON.stringify(lockedSpan());
  countedRanks = nReady();
  mistake.set(null);
  running?.abort();
  running = null;
  if (next.text === "") {
    counts.set(null);
    searching.set(false);
    return;
  }
  const own = new AbortController();
  running = own;
  searching.set(true);
  try {
    counts.set(await get<SearchCounts>("search", paramsOf(next), own.signal));
  } catch (error) {
    if (!own.signal.aborted) {
      counts.set(null);
      if (error instanceof ApiError && error.status === 400) {
        mistake.set(error.message);
      } else {
        fail(error);
      }
    }
  } finally {
    if (running === own) {
      running = null;
      searching.set(false);
    }
  }
}

/** How many were found in each capture that is open; null where only one is. */
export function foundByCapture(
  found: SearchCounts,
  opened: Session | null,
  known: readonly Rank[],
): [name: string, n: number][] | null {
  const captures = shortNames(openCaptures(opened));
  if (captures.length < 2) {
    return null;
  }
  const of = new Map(known.map((r) => [r.key, r.cluster]));
  const sums = new Map<number | undefined, number>();
  for (const { rank, total } of found.ranks) {
    sums.set(of.get(rank), (sums.get(of.get(rank)) ?? 0) + total);
  }
  return captures.map(([i, name]) => [name, sums.get(i) ?? 0]);
}

interface Step {
  index: number;
  total: number;
  ref: Ref | null;
}

const askStep = (params: Params): Promise<Step> =>
  get<Step>("search/step", { ...paramsOf(query.get()), ...params });

/** What `place` is of. */
let placed: Ref | null = null;
const isSame = (a: Ref | null, b: Ref | null): boolean =>
  a !== null && b !== null && a.rank === b.rank && a.slice === b.slice;

/** `otherwise`: where there is none. */
async function go(params: Params, otherwise?: () => Promise<void>): Promise<void> {
  try {
    const found = await askStep(params);
    if (found.ref === null && found.total > 0 && otherwise !== undefined) {
      await otherwise();
      return;
    }
    if (found.ref !== null) {
      placed = found.ref;
      place.set(found.index);
      show(found.ref);
    }
  } catch (error) {
    fail(error);
  }
}

/** The place of a slice that was reached otherwise: it is the one behind those before it, or none of those found. */
async function locate(at: Ref): Promise<void> {
  const before = await askStep({ rank: at.rank, slice: at.slice, dir: "previous" });
  const here = await askStep({ n: before.index + 1 });
  if (isSame(selected.get(), at) && isSame(here.ref, at)) {
    placed = at;
    place.set(here.index);
  }
}

selected.listen(() => {
  const now = selected.get();
  if (!isSame(now, placed)) {
    placed = null;
    place.set(-1);
    if (now !== null && (counts.get()?.total ?? 0) > 0) {
      locate(now).catch(() => undefined); // the counter says how many there are
    }
  }
});

/** The next one in time after the selected slice, or after `at` of the first rank; behind the last one the first one again. */
export function step(dir: "next" | "previous", at: Ns = 0): Promise<void> {
  const from = selected.get();
  if (query.get().text === "" || mistake.get() !== null) {
    return Promise.resolve();
  }
  const around = async (): Promise<void> => {
    notify("info", t(dir === "next" ? "search.from-first" : "search.from-last"));
    await goTo(dir === "next" ? 0 : (counts.get()?.total ?? 1) - 1);
  };
  return from === null
    ? go({ time: Math.round(at), dir }, around)
    : go({ rank: from.rank, slice: from.slice, dir }, around);
}

/** The n-th, counted from 0. */
export const goTo = (n: number): Promise<void> => go({ n });
