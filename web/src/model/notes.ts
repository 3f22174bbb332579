/** What there is to say of a capture: what of it is used, what is missing and how to collect it, what is odd. */
import { RUNS_ON_DEVICE, type Rank, type Session } from "../api/types";
import { rankWord, t } from "../words";
import { openCaptures, shortNames } from "./captures";

/** What is said of a rank whose capture lacks most of what its profiler numbered. */
const thinnedOf = (rank: Rank) => (rank.oddities ?? []).find((oddity) => oddity.id === "thinned");
export const isThinned = (rank: Rank): boolean => thinnedOf(rank) !== undefined;

/** Where figures of these ranks stand that are smaller for it: how much there is of each; "": all of it. */
export function thinnedText(ranks: readonly Rank[]): string {
  const thin = ranks.filter(isThinned);
  if (thin.length === 0) {
    return "";
  }
  const part = thin.length === 1 ? (thinnedOf(thin[0])?.places?.[0] ?? "") : "";
  return t(
    "notes.thinned",
    thin.length === ranks.length && part !== ""
      ? part
      : t(thin.length === 1 ? "notes.thinned-rank" : "notes.thinned-ranks", ranksText(thin)),
  );
}

export interface Missing {
  part: string;
  what: string;
  id: string;
  remedy: string;
  ranks: Rank[];
}

/** What ranks lack, said once for all that lack it, the most frequent first. */
export function missingOf(ranks: readonly Rank[]): Missing[] {
  const by = new Map<string, Missing>();
  for (const rank of ranks) {
    for (const missing of rank.missing ?? []) {
      const key = `${missing.part} ${missing.id}`;
      const known = by.get(key) ?? { ...missing, ranks: [] };
      known.ranks.push(rank);
      by.set(key, known);
    }
  }
  return [...by.values()].sort((a, b) => b.ranks.length - a.ranks.length);
}

export interface Oddity {
  severity: string;
  /** Begins with the number of all ranks where the program counts. */
  text: string;
  n: number;
  /** The text says the number itself. */
  isCounted: boolean;
  /** None: of the capture as a whole. */
  ranks: Rank[];
  /** The first ones, with their ranks. */
  places: string[];
}

/** Of a kind; the count says how many there are. */
const MOST_PLACES = 3;

const WEIGHT: Record<string, number> = { error: 0, loss: 1, "data loss": 1, data_loss: 1, info: 2 };

export function odditiesOf(ranks: readonly Rank[], session: Session | null): Oddity[] {
  const by = new Map<string, Oddity>();
  const add = (
    { severity, text, n, places }: NonNullable<Rank["oddities"]>[number],
    rank: Rank | null,
  ): void => {
    // "500 slices ..." of one rank and "498 slices ..." of another are 998; one of something has a sentence of its own.
    const rest = n > 1 && text.startsWith(`${n} `) ? text.slice(String(n).length) : null;
    const key = `${severity}\n${rest ?? text}`;
    const known = by.get(key) ?? {
      severity,
      text,
      n: 0,
      isCounted: rest !== null || (n === 1 && text.startsWith("1 ")),
      ranks: [],
      places: [],
    };
    known.n += n;
    known.text = rest === null ? text : `${known.n}${rest}`;
    if (rank !== null) {
      known.ranks.push(rank);
      const own = (places ?? []).map((place) => `${rankWord(rank.label)}: ${place}`);
      known.places = [...known.places, ...own].slice(0, MOST_PLACES);
    }
    by.set(key, known);
  };
  for (const text of session?.clusters
    .filter((c) => c.closed !== true)
    .flatMap((c) => c.oddities) ?? []) {
    add({ severity: "info", text, n: 1 }, null);
  }
  for (const rank of ranks) {
    (rank.oddities ?? []).forEach((oddity) => add(oddity, rank));
  }
  return [...by.values()].sort(
    (a, b) => (WEIGHT[a.severity] ?? 2) - (WEIGHT[b.severity] ?? 2) || b.n - a.n,
  );
}

export interface Loading {
  n: number;
  ready: number;
  failed: number;
  /** Queued and being read. */
  active: number;
  waiting: number;
  /** 0..1 of those that are asked for. */
  progress: number;
}

export function loadingOf(ranks: readonly Rank[]): Loading {
  const count = (...states: Rank["state"][]): number =>
    ranks.filter((r) => states.includes(r.state)).length;
  const asked = ranks.filter((r) => r.state !== "waiting");
  const done = asked.reduce(
    (sum, r) => sum + (r.state === "reading" ? r.progress : r.state === "queued" ? 0 : 1),
    0,
  );
  return {
    n: ranks.length,
    ready: count("ready"),
    failed: count("failed"),
    active: count("queued", "reading"),
    waiting: count("waiting"),
    progress: asked.length === 0 ? 0 : done / asked.length,
  };
}

/** The same of each capture that is open. */
export const loadingOfEach = (
  opened: Session,
  known: readonly Rank[],
): (Loading & { name: string })[] =>
  shortNames(openCaptures(opened)).map(([i, name]) => ({
    name,
    ...loadingOf(known.filter((r) => r.cluster === i)),
  }));

/** "ranks 0-3, 7" for lists of many. */
export function ranksText(ranks: readonly Rank[]): string {
  const numbers = [...new Set(ranks.map((r) => r.rank))].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < numbers.length;) {
    let j = i;
    while (numbers[j + 1] === numbers[j] + 1) {
      j++;
    }
    parts.push(i === j ? `${numbers[i]}` : `${numbers[i]}–${numbers[j]}`);
    i = j + 1;
  }
  return parts.join(", ");
}

/** Oddities that leave slices without their links. */
const OF_LINKS = ["flow-one-sided", "flow-on-one-slice", "flow-without-slice"];
const NO_CALL = "kernel-without-call";
/** What a call of the host launches. */
const LAUNCHED: ReadonlySet<string> = new Set(["kernel", "communication-kernel"]);

/** Why a slice of that kind may have no links, in the words in which the notes on the capture say it; of a kernel what is so of itself. */
export const whyNoLinks = (rank: Pick<Rank, "missing" | "oddities">, kind: string): string[] => [
  ...(rank.missing ?? [])
    .filter((m) => m.part === "flows")
    .map((m) => `${t("frame.missing", m.what)}. ${m.remedy}`),
  ...(rank.oddities ?? []).flatMap(({ id = "", text, n }) =>
    OF_LINKS.includes(id) || (id === NO_CALL && RUNS_ON_DEVICE.has(kind))
      ? [id === NO_CALL && LAUNCHED.has(kind) ? t("detail.no-call", n) : text]
      : [],
  ),
];
