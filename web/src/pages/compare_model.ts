/** What the page of comparisons works out of the tables of `compare` (docs/commands/compare.md), without a document. */
import type { Params } from "../api/client";
import type { Cell, Rank, Table } from "../api/types";
import { durations } from "../base/time";
import type { Word } from "../words";
import { isOneRank, isOneStep, ranksOf, type Side, type Sides } from "./compare_sides";
import { nsReader, reader } from "./data";

/** Tables by name, those that `compare` has; `row`: what the server calls the class of slices that their rows count, null where
 * they are none of single slices. */
export const NAMED = {
  KernelCompare: { word: "compare.kernels", row: "kernel" },
  KernelTypeCompare: { word: "compare.kernel-types", row: "kernel type" },
  OperatorCompare: { word: "compare.operators", row: "operator" },
  OperatorHostCompare: { word: "compare.operators-host", row: "operator, host time" },
  CommunicationCompare: { word: "compare.communication", row: "communication" },
  ModuleCompare: { word: "compare.modules", row: null },
  CopyCompare: { word: "compare.copies", row: "copy" },
  ApiCompare: { word: "compare.calls", row: "call" },
} as const;
export type Named = keyof typeof NAMED;
export const NAMES = Object.keys(NAMED) as Named[];

/** What of a row is not its name: shapes of a kernel, the group of a communication; "" where it has none. */
export const detailOf = (get: (column: string) => Cell): string =>
  String(get("shapes") ?? get("group") ?? "");

/** What the base calls it: communicators may have another name there. */
export function baseDetailOf(table: Table, name: string, detail: string): string {
  const [own, group, there] = [
    reader(table, "name"),
    reader(table, "group"),
    reader(table, "group base"),
  ];
  const row = table.rows.find((r) => own(r) === name && (group(r) ?? "") === detail);
  const called = row === undefined ? null : there(row);
  return called === null ? detail : String(called);
}

/** The sentences of the comparison. */
export const notesOf = (table: Table | undefined): string[] =>
  table === undefined ? [] : table.rows.map((row) => String(reader(table, "what")(row)));

/** What a search for the slices that a row counts is asked; null: it counts no single slices. */
export function slicesOf(table: Named, name: string, detail: string): Params | null {
  const { row } = NAMED[table];
  return row === null || name === ""
    ? null
    : { q: name, row, ...(detail === "" ? {} : { detail }) };
}

/** The parts of a step as a tree: what lies in something stands behind blanks in the program's table. */
export function nested(overall: Table): Table {
  const of = (row: Cell[]): string => String(row[0] ?? "");
  const level = (row: Cell[]): number => (of(row).length - of(row).trimStart().length) / 2;
  return {
    ...overall,
    columns: [...overall.columns, ["level", "int", "", false]],
    rows: overall.rows.map((row) => [of(row).trim(), ...row.slice(1), level(row)]),
  };
}

/** A step of both sides: what it took, what was lost. */
export interface Headline {
  now: number;
  base: number;
  lost: number;
}

export function headlineOf(overall: Table | null): Headline | null {
  if (overall === null || overall.rows.length === 0) {
    return null;
  }
  const [now, base] = [nsReader(overall, "new"), nsReader(overall, "base")];
  const [a, b] = [now(overall.rows[0]), base(overall.rows[0])];
  return a === null || b === null ? null : { now: a, base: b, lost: a - b };
}

const ALIKE = 0.01;

/** "1.14" times as long, as the command line has it. */
export function timesText({ now, base }: Headline): string {
  const ratio = now / base;
  return base > 0
    ? String(Number(ratio.toPrecision(Math.abs(ratio - 1) < ALIKE ? 5 : 3))) // "1 times" says nothing
    : "–";
}

/** Which sentence says it: both times stand in it only where few digits tell them apart. */
export function headlineWord({ now, base, lost }: Headline) {
  const isAlike = durations(now, base) === null;
  return lost === 0
    ? "compare.as-long"
    : lost > 0
      ? isAlike
        ? "compare.barely-longer"
        : "compare.longer"
      : isAlike
        ? "compare.barely-shorter"
        : "compare.shorter";
}

/** What lost most of all tables that do not lie in one another: kernels, communication, copies. */
export function slowest(
  tables: ReadonlyMap<string, Table>,
  n: number,
): {
  table: Named;
  name: string;
  detail: string;
  lost: number;
  now: number;
  base: number;
  /** How many times as long as there a call takes; null: one side has none. */
  aCall: number | null;
}[] {
  const out = (["KernelCompare", "CommunicationCompare", "CopyCompare"] as const).flatMap(
    (name) => {
      const table = tables.get(name);
      if (table === undefined) {
        return [];
      }
      const text = reader(table, "name");
      const detail = reader(table, "shapes", "group");
      const [lost, now, base] = ["lost", "new", "base"].map((column) => nsReader(table, column));
      const aCall = reader(table, "new / base a call");
      return table.rows.map((row) => ({
        table: name,
        name: String(text(row) ?? ""),
        detail: String(detail(row) ?? ""),
        lost: lost(row) ?? 0,
        now: now(row) ?? 0,
        base: base(row) ?? 0,
        aCall: aCall(row) as number | null,
      }));
    },
  );
  return out
    .filter((row) => row.lost > 0)
    .sort((a, b) => b.lost - a.lost || a.name.localeCompare(b.name))
    .slice(0, n);
}

/** How long a step of each rank of a side is: the one that is chosen, or the mean over those that it has. */
export function stepsOf(known: readonly Rank[], side: Side): ReadonlyMap<number, number> {
  const means = ranksOf(known, side).flatMap((r): [number, number][] => {
    const steps = (r.steps ?? []).filter(([id]) => !isOneStep(side) || String(id) === side.step);
    const sum = steps.reduce((all, [, start, end]) => all + end - start, 0);
    return steps.length === 0 ? [] : [[r.rank, Math.round(sum / steps.length)]];
  });
  return new Map(means);
}

/** Where a rank of the comparison is, and what its step took: by its steps, else as the view "overview" of both captures says. Those whose computing lost most first: the step of a pipeline is as long on all of them. */
export function ranksBeside(
  now: Table,
  base: Table,
  nowSteps: ReadonlyMap<number, number>,
  baseSteps: ReadonlyMap<number, number>,
): Table {
  const number = (table: Table, ...names: string[]) => {
    const read = reader(table, ...names);
    return (row: Cell[]): number | null => {
      const cell = read(row);
      return typeof cell === "number" ? cell : null;
    };
  };
  const parts = ["computing", "not overlapped", "free", "preparing", "after"];
  const of = (table: Table, steps: ReadonlyMap<number, number>) => {
    const [rank, whole] = [number(table, "rank id"), number(table, "e2e")];
    const step = (row: Cell[]): number | null => steps.get(rank(row) ?? -1) ?? whole(row);
    const times = parts.map((name) => number(table, name));
    return { rank, stage: number(table, "pp"), parts: [step, ...times] };
  };
  const [mine, theirs] = [of(now, nowSteps), of(base, baseSteps)];
  const others = new Map(base.rows.map((row) => [theirs.rank(row), row]));
  const rows = now.rows.flatMap((row): Cell[][] => {
    const other = others.get(mine.rank(row));
    if (other === undefined) {
      return [];
    }
    const [a, b] = [mine, theirs].map((side, i) => side.parts.map((p) => p(i === 0 ? row : other)));
    const lost = a.map((ns, i) => (ns === null || b[i] === null ? null : ns - b[i]));
    return [[mine.rank(row), mine.stage(row), a[0], b[0], ...lost]];
  });
  const more = (at: number, a: Cell[], b: Cell[]): number =>
    Number(b[at] ?? 0) - Number(a[at] ?? 0);
  rows.sort((a, b) => more(5, a, b) || more(4, a, b) || Number(a[0]) - Number(b[0]));
  const isPlaced = new Set(rows.map((row) => row[1])).size > 1; // one stage is none
  const columns: Table["columns"] = [
    ["rank", "int", "", false],
    ["stage", "int", "", false],
    ["new", "int", "ns", false],
    ["base", "int", "ns", false],
    ["lost", "int", "ns", false],
    ["in computing", "int", "ns", false],
    ["not overlapped", "int", "ns", false],
    ["in free", "int", "ns", false],
    ["before the first work", "int", "ns", false],
    ["after the last work", "int", "ns", false],
  ];
  const hasEnd = [8, 9].map((i) => rows.some((row) => row[i] !== null));
  const seen = <T>(all: T[]): T[] =>
    all.filter((_, i) => (i === 1 ? isPlaced : (hasEnd[i - 8] ?? true)));
  return {
    name: "RankCompare",
    title: "",
    columns: seen(columns),
    rows: rows.map(seen),
    total: rows.length,
    offset: 0,
  };
}

export interface Slowed {
  /** Those that lost most first. */
  ranks: number[];
  /** Of all of them; null: of several, or not known. */
  stage: number | null;
  /** Of the first one, and the median of all others, ns. */
  lost: number;
  others: number;
  isOneOther: boolean;
}

/** Less than this share of a step is worth nobody's look. */
const LEAST_SHARE = 0.01;

/** Ranks whose computing lost at least half of what the first one's did, where that is at least twice the median of the others and matters to
 * the step; null: none stands out. */
export function slowedRanks(beside: Table | null): Slowed | null {
  if (beside === null) {
    return null;
  }
  const [rank, stage] = [reader(beside, "rank"), reader(beside, "stage")];
  const [computing, step] = [nsReader(beside, "in computing"), nsReader(beside, "new")];
  const all = beside.rows
    .flatMap((row) => {
      const lost = computing(row);
      return lost === null
        ? []
        : [{ rank: Number(rank(row)), stage: stage(row), lost, step: step(row) ?? 0 }];
    })
    .sort((a, b) => b.lost - a.lost);
  const lost = all[0]?.lost ?? 0;
  const slowed = all.filter((r) => 2 * r.lost >= lost);
  const others = all.slice(slowed.length);
  const middle = others[others.length >> 1]?.lost;
  const matters = lost > 0 && lost >= LEAST_SHARE * all[0].step;
  if (!matters || middle === undefined || lost < 2 * middle) {
    return null;
  }
  const place = slowed[0].stage;
  const isOne = typeof place === "number" && slowed.every((r) => r.stage === place);
  return {
    ranks: slowed.map((r) => r.rank),
    stage: isOne ? place : null,
    lost,
    others: middle,
    isOneOther: others.length === 1,
  };
}

/** The stage of each rank, of the view "overview"; of one stage there is none. */
export function stagesOf(overview: Table | null): ReadonlyMap<number, number> {
  if (overview === null) {
    return new Map();
  }
  const [rank, stage] = [reader(overview, "rank id"), reader(overview, "pp")];
  const places = overview.rows.flatMap((row) =>
    typeof stage(row) === "number" ? [[Number(rank(row)), Number(stage(row))] as const] : [],
  );
  return new Set(places.map(([, own]) => own)).size > 1 ? new Map(places) : new Map();
}

/** Whose times the tables by name are, for their titles. */
export function whoseWord({ now, base }: Sides): { word: Word; args: string[] } {
  const one = [now, base].filter(isOneRank).map((side) => side.rank);
  return one.length === 0
    ? { word: "compare.of-all", args: [] }
    : one.length === 2
      ? one[0] === one[1]
        ? { word: "where.rank", args: [one[0]] }
        : { word: "compare.of-two", args: one }
      : { word: isOneRank(now) ? "compare.of-one-now" : "compare.of-one-base", args: one };
}

/** What tells rows of one name apart: their shapes or group; "" where a name stands alone. */
export function apartBy<T extends { name: string; detail: string }>(rows: readonly T[]): string[] {
  const all = new Map<string, number>();
  rows.forEach(({ name }) => all.set(name, (all.get(name) ?? 0) + 1));
  return rows.map(({ name, detail }) => (all.get(name)! > 1 ? detail : ""));
}

/** Which ranks the slices below a name are of. */
export type PlacesAt = { rank: number } | { stage: number; ranks: readonly number[] } | null;

/** The rank that is chosen, else those of the stage that lost most; null: all, where no stage lost any. */
export function placesAt(
  chosen: string,
  stages: Table | undefined,
  stageOf: ReadonlyMap<number, number>,
): PlacesAt {
  if (chosen !== "") {
    return { rank: Number(chosen) };
  }
  if (stages === undefined) {
    return null;
  }
  const [stage, lost] = [reader(stages, "stage"), nsReader(stages, "lost")];
  const worst = stages.rows.reduce<{ stage: number; lost: number } | null>((most, row) => {
    const own = lost(row) ?? 0;
    return own > (most?.lost ?? 0) ? { stage: Number(stage(row)), lost: own } : most;
  }, null);
  const own = [...stageOf].filter(([, s]) => s === worst?.stage).map(([rank]) => rank);
  return worst === null || own.length === 0 ? null : { stage: worst.stage, ranks: own };
}

/** Ranks of the same number in both captures. */
export function pairsOf(
  ranks: readonly Rank[],
  now: number,
  base: number,
): { rank: number; now: Rank; base: Rank }[] {
  const of = (cluster: number): Map<number, Rank> =>
    new Map(ranks.filter((r) => r.cluster === cluster).map((r) => [r.rank, r]));
  const others = of(base);
  return [...of(now)].flatMap(([rank, one]) => {
    const other = others.get(rank);
    return other === undefined ? [] : [{ rank, now: one, base: other }];
  });
}
