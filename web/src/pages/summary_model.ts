/** What the Summary page works out of the table of steps (ClusterStepTraceTime), and of how long steps
 * are and what a pipeline has of bubble, which other tables say, without a document. Times are ns. */
import type { Cell, Table } from "../api/types";
import { nsReader, reader } from "./data";

export const INDICATORS = [
  "step_time",
  "computing",
  "communication",
  "pure_computing",
  "overlapped",
  "exposed",
  "free",
  "preparing",
  "after",
  "exposed_no_receive",
  "stage",
  "receives",
  "pipeline_bubble",
] as const;
export type Indicator = (typeof INDICATORS)[number];
export type Values = Record<Indicator, number | null>;

export interface Entry {
  /** "rank", "stage" */
  type: string;
  step: string;
  /** Rank or stage as the table names it. */
  index: string;
  /** Where it stands among the parallel dimensions, of a stage its number; null: not known. */
  dp: number | null;
  pp: number | null;
  tp: number | null;
  values: Values;
}

type Told = Exclude<Indicator, "pure_computing" | "step_time" | "after" | "pipeline_bubble">;
const COLUMN: Record<Told, string> = {
  computing: "computing",
  communication: "communication",
  overlapped: "overlapped",
  exposed: "communication not overlapped",
  free: "free",
  preparing: "preparing",
  exposed_no_receive: "communication not overlapped and exclude receive",
  stage: "stage",
  receives: "bubble",
};

/** What the table of steps does not say of them; null: nobody does. */
export interface Beside {
  /** ClusterTimeSummary: how long steps are. */
  summary: Table | null;
  /** PipelineBubble of the chart. */
  bubble: Table | null;
}
export const NOTHING_BESIDE: Beside = { summary: null, bubble: null };

/** By rank and step: the cells of a column in ns, in the order of their rows. */
function byRankAndStep(table: Table | null, rank: string, column: string): Map<string, number[]> {
  const by = new Map<string, number[]>();
  if (table !== null) {
    const [ofRank, step, ns] = [
      reader(table, rank),
      reader(table, "step"),
      nsReader(table, column),
    ];
    for (const row of table.rows) {
      const value = ns(row);
      const key = `${String(ofRank(row))} ${String(step(row) ?? "")}`;
      if (value !== null) {
        by.set(key, [...(by.get(key) ?? []), value]);
      }
    }
  }
  return by;
}

/** What of a step is in none of its other parts; sums of us may miss by their rounding. */
function restOf(v: Values): number | null {
  const { step_time, computing, exposed, free } = v;
  return step_time === null || computing === null || exposed === null || free === null
    ? null
    : Math.max(0, step_time - partsOf(v));
}

/** A stage has the largest value of its ranks, as in its own columns, and their number of the stage. */
function fillStage(stage: Entry, ranks: readonly Entry[]): void {
  const members = new Set(stage.index.replace(/[()]/g, "").split(","));
  const own = ranks.filter((e) => e.step === stage.step && members.has(e.index));
  for (const name of ["step_time", "after", "pipeline_bubble"] as const) {
    const known = own.map((e) => e.values[name]).filter((v): v is number => v !== null);
    stage.values[name] = known.length === 0 ? null : Math.max(...known);
  }
  const places = new Set(own.map((e) => e.pp));
  stage.pp = places.size === 1 ? [...places][0] : null;
}

export function entriesOf(table: Table, more: Beside = NOTHING_BESIDE): Entry[] {
  const text = (name: string) => {
    const read = reader(table, name);
    return (row: Cell[]): string => String(read(row) ?? "");
  };
  const number = (name: string) => {
    const read = reader(table, name);
    return (row: Cell[]): number | null => {
      const cell = read(row);
      return typeof cell === "number" ? cell : null;
    };
  };
  const [type, step, index] = [text("type"), text("step"), text("index")];
  const [dp, pp, tp] = [number("dp index"), number("pp index"), number("tp index")];
  const times = Object.entries(COLUMN).map(
    ([name, column]) => [name, nsReader(table, column)] as const,
  );
  const whole = byRankAndStep(more.summary, "rank", "stepTime");
  const bubble = byRankAndStep(more.bubble, "rank", "bubble");
  const all = table.rows.map((row): Entry => {
    const values = Object.fromEntries(times.map(([name, read]) => [name, read(row)])) as Values;
    values.pure_computing =
      values.computing === null ? null : values.computing - (values.overlapped ?? 0);
    const key = type(row) === "rank" ? `${index(row)} ${step(row)}` : "";
    values.step_time = whole.get(key)?.shift() ?? null;
    values.after = restOf(values);
    values.pipeline_bubble = bubble.get(key)?.[0] ?? null;
    return {
      type: type(row),
      step: step(row),
      index: index(row),
      dp: dp(row),
      pp: pp(row),
      tp: tp(row),
      values,
    };
  });
  const ranks = all.filter((e) => e.type === "rank");
  all.filter((e) => e.type === "stage").forEach((e) => fillStage(e, ranks));
  return all;
}

/** Computing, communication that it does not hide, free and preparing. */
const partsOf = (v: Values): number =>
  (v.computing ?? 0) + (v.exposed ?? 0) + (v.free ?? 0) + Math.max(0, v.preparing ?? 0);

/** How long the step took; where nobody says so, what is known of it. */
export const endToEnd = (v: Values): number => v.step_time ?? partsOf(v);

/** Of all steps the mean, of one the values of it: one entry for each rank (or stage). */
export function ofStep(entries: Entry[], step: string | null): Entry[] {
  const by = new Map<string, Entry[]>();
  for (const entry of entries) {
    if (step === null || entry.step === step) {
      const key = `${entry.type} ${entry.index}`;
      const same = by.get(key) ?? [];
      same.push(entry);
      by.set(key, same);
    }
  }
  return [...by.values()].map((same) => ({
    ...same[0],
    values: meanOf(same.map((e) => e.values)),
  }));
}

function meanOf(all: Values[]): Values {
  const mean = (name: Indicator): number | null => {
    const known = all.map((v) => v[name]).filter((v): v is number => v !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
  };
  return Object.fromEntries(INDICATORS.map((name) => [name, mean(name)])) as Values;
}

export type Order = "index" | Indicator;

/** By rank, or the largest first; the first `top` of them (0: all). */
export function ordered(entries: Entry[], by: Order, top: number): Entry[] {
  const sorted = [...entries].sort((a, b) =>
    by === "index"
      ? Number(a.index) - Number(b.index) || a.index.localeCompare(b.index)
      : (b.values[by] ?? -Infinity) - (a.values[by] ?? -Infinity) ||
        Number(a.index) - Number(b.index),
  );
  return top > 0 ? sorted.slice(0, top) : sorted;
}

export interface Spread {
  indicator: Indicator;
  spread_ns: number;
  least: string;
  most: string;
  /** Of the mean step. */
  share: number;
}

const METRIC: Readonly<Record<string, Indicator>> = {
  Computing: "computing",
  "Communication (not overlapped)": "exposed",
  Free: "free",
};

/** Times that differ over the ranks by more than the view spread allows (S-22). */
export function spreadsOf(view: Table): Spread[] {
  const [metric, spread, share, threshold, most, least] = [
    "metric",
    "spread",
    "share of mean e2e",
    "threshold",
    "rank of max",
    "rank of min",
  ].map((name) => reader(view, name));
  return view.rows
    .filter((row) => Number(share(row)) > Number(threshold(row)))
    .map((row) => ({
      indicator: METRIC[String(metric(row))] ?? "computing",
      spread_ns: Number(spread(row)),
      share: Number(share(row)) / 100,
      most: String(most(row)),
      least: String(least(row)),
    }));
}

export const ALGORITHMS = ["megatron", "megatron-pp-dp", "mindspeed", "mindie", "vllm"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];
export interface Sizes {
  pp: number;
  tp: number;
  cp: number;
  dp: number;
  ep: number;
  moetp: number;
}

export const hasCp = (a: Algorithm): boolean => a !== "mindie" && a !== "vllm";
export const hasMoeTp = (a: Algorithm): boolean => a === "mindie";

export interface Place {
  tp: number;
  cp: number;
  dp: number;
  pp: number;
}

/** Where ranks stand (S-6), by rank, as the server says it (/api/summary); without places, where sizes do not fit. */
export type Places = ReadonlyMap<string, Place>;

export const placesOf = (places: readonly (Place & { rank: number })[] | undefined): Places =>
  new Map((places ?? []).map((p) => [String(p.rank), p]));

/** Dimensions that a box of the overview keeps apart; those it leaves out are folded into it (S-7). */
export const FOLDS = ["none", "tp", "tp-cp", "stage"] as const;
export type Fold = (typeof FOLDS)[number];

export interface Box {
  label: string;
  ranks: string[];
  max: Values;
  min: Values;
}

export const FOLDED: Readonly<Record<Fold, readonly (keyof Place)[]>> = {
  none: [],
  tp: ["tp"],
  "tp-cp": ["tp", "cp"],
  stage: ["tp", "cp", "dp"],
};

/** Ranks that differ only in what is folded become one box with the largest and least of their values; a rank without a place
 * keeps a box of its own. */
export function foldOf(entries: Entry[], places: Places, s: Sizes, fold: Fold): Box[] {
  const kept = (["dp", "pp", "cp", "tp"] as const).filter((d) => !FOLDED[fold].includes(d));
  const by = new Map<string, { place: Place | undefined; entries: Entry[] }>();
  for (const entry of entries) {
    const place = places.get(entry.index);
    const key = place === undefined ? `rank ${entry.index}` : kept.map((d) => place[d]).join();
    const box = by.get(key) ?? { place, entries: [] };
    box.entries.push(entry);
    by.set(key, box);
  }
  return [...by.values()].map(({ place, entries: same }) => {
    const many = place === undefined ? [] : kept.filter((d) => s[d] > 1);
    const of = (pick: (...v: number[]) => number): Values =>
      Object.fromEntries(
        INDICATORS.map((name) => {
          const known = same.map((e) => e.values[name]).filter((v): v is number => v !== null);
          return [name, known.length === 0 ? null : pick(...known)];
        }),
      ) as Values;
    return {
      label:
        many.length === 0
          ? same.map((e) => e.index).join(",")
          : many.map((d) => `${d}${place![d]}`).join("-"),
      ranks: same.map((e) => e.index),
      max: of(Math.max),
      min: of(Math.min),
    };
  });
}

/** Sizes as the profile carries them (/api/summary), where it does. */
export const sizesOf = (collected: Record<string, number> | null): Partial<Sizes> =>
  Object.fromEntries(
    (["pp", "tp", "cp", "dp", "ep"] as const).flatMap((name) =>
      (collected?.[name] ?? 0) >= 1 ? [[name, collected![name]]] : [],
    ),
  );
