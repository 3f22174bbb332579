/** What the server says of the steps of a job (/api/whatif, /api/plan), as the What-if page shows it. */
import type { Cell, Table } from "../api/types";
import { nsReader, reader } from "./data";

export interface Tables {
  tables: Table[];
  notes?: string[];
  sentences: string[];
  /** "15.2 %", or "none". */
  waste?: string;
  /** What usual is, in a sentence. */
  usual?: string;
  /** How the list of plans is to be read; what is to be known before lines are pasted, "" nothing. */
  remarks?: string[];
  doubt?: string;
}

export const tableOf = (reply: Tables, name: string): Table | null =>
  reply.tables.find((t) => t.name === name) ?? null;

/** The only row of a table by the names of its columns. */
export function firstRow(table: Table | null): (name: string) => Cell {
  const row = table?.rows[0];
  return (name) => (table === null || row === undefined ? null : reader(table, name)(row));
}

export interface Cause {
  name: string;
  holds: "yes" | "no" | "unknown";
  figure: number | null;
  threshold: number;
  evidence: string;
  remedy: string;
}

const figureOf = (cell: Cell): number | null => (typeof cell === "number" ? cell : null);

export function causesOf(table: Table | null): Cause[] {
  return (table?.rows ?? []).map((row) => {
    const at = (name: string): Cell => reader(table!, name)(row);
    return {
      name: String(at("cause")),
      holds: at("holds") as Cause["holds"],
      figure: figureOf(at("figure")),
      threshold: Number(at("threshold")),
      evidence: String(at("evidence")),
      remedy: String(at("remedy")),
    };
  });
}

export interface Worker {
  rank: number;
  stage: number;
  replica: number;
  tp: number;
  slowdown: number;
  isWorst: boolean;
}

export function workersOf(table: Table | null): Worker[] {
  return (table?.rows ?? []).map((row) => {
    const at = (name: string): number => Number(reader(table!, name)(row));
    return {
      rank: at("rank"),
      stage: at("stage"),
      replica: at("replica"),
      tp: at("tp"),
      slowdown: at("slowdown"),
      isWorst: at("is worst") !== 0,
    };
  });
}

/** The scale of the map: from as usual to the slowest, as in pictures (src/write/report/whatif_svg.c); what is faster than usual, and what differs
 * by nothing that counts, has no strong colour. */
export const slowdownEnds = (workers: Worker[]): [least: number, most: number] => [
  1,
  Math.max(1.01, ...workers.map((w) => w.slowdown)),
];

export interface StepParts {
  step: string;
  ideal: number;
  /** What ops that are slower than usual add to the ideal step, and what passes between ops. */
  slower: number;
  between: number;
}

export function stepsOf(table: Table | null): StepParts[] {
  return (table?.rows ?? []).map((row) => {
    const ns = (name: string): number => nsReader(table!, name)(row) ?? 0;
    const ideal = Math.min(ns("ideal"), ns("no delay"));
    return {
      step: String(reader(table!, "step")(row)),
      ideal,
      slower: ns("no delay") - ideal,
      between: Math.max(0, ns("measured") - ns("no delay")),
    };
  });
}

/** By how much each stage of a plan takes longer than now, for those that change. */
export function factorsOf(stages: Table): Record<number, number> {
  const now = nsReader(stages, "microbatch now");
  const then = nsReader(stages, "microbatch planned");
  const factors: Record<number, number> = {};
  for (const row of stages.rows) {
    const [before, after] = [now(row) ?? 0, then(row) ?? 0];
    const factor = before > 0 ? Math.round((after / before) * 10000) / 10000 : 1;
    if (factor > 0 && factor !== 1) {
      factors[Number(reader(stages, "stage")(row))] = factor;
    }
  }
  return factors;
}

export interface PasteLine {
  name: string;
  line: string;
}

export const linesOf = (table: Table | null): PasteLine[] =>
  (table?.rows ?? []).map((row) => ({
    name: String(reader(table!, "framework")(row)),
    line: String(reader(table!, "line")(row)),
  }));

/** A reason stands once, with all schedules that it holds for. */
export function leftOutOf(table: Table | null): { schedules: string[]; why: string }[] {
  const by = new Map<string, string[]>();
  for (const row of table?.rows ?? []) {
    const why = String(reader(table!, "why")(row));
    by.set(why, [...(by.get(why) ?? []), String(reader(table!, "schedule")(row))]);
  }
  return [...by].map(([why, schedules]) => ({ schedules, why }));
}

// --- questions ----------------------------------------------------------------------------------------------------

/** "worker=3,1; kind=forward-compute" as its parts. */
export const partsOf = (text: string): string[] =>
  text
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** A part that is asked for is let go, another one is added. */
export function toggled(text: string, part: string): string {
  const parts = partsOf(text);
  return (parts.includes(part) ? parts.filter((p) => p !== part) : [...parts, part]).join(";");
}

/** How a question names a worker: those of one stage and replica have the same tensor-parallel group. */
export const workerPart = (w: Worker, nTp: number): string =>
  nTp > 1 ? `rank=${w.rank}` : `worker=${w.stage},${w.replica}`;
