/** Which rank of the job has how much of what, without a document: figures by rank, filters of places, and what a rank is linked with.
 * Nothing that no table says is taken for 0. */
import type { Cell, Table } from "../api/types";
import { nsReader, reader } from "./data";
import {
  endToEnd,
  INDICATORS,
  ofStep,
  type Entry,
  type Indicator,
  type Place,
} from "./summary_model";

/** A column of a mode's table (or of the chart's, "chart", or the replay's, "whatif") that has rows for each rank. */
export interface Source {
  mode: string;
  table: string;
  rank: string;
  /** None: of all steps together. */
  step: string | null;
  column: string;
  /** Several rows of a rank: of steps the mean; what is counted by communicator or kind adds up. */
  joins: "mean" | "sum";
}

export type Unit = "ns" | "%" | "x" | "n";

export interface Metric {
  id: string;
  unit: Unit;
  /** null: of the table of steps, which the page has anyway. */
  source: Source | null;
  of: ((e: Entry) => number | null) | null;
}

const ofSteps = (id: string, unit: Unit, of: (e: Entry) => number | null): Metric => ({
  id,
  unit,
  source: null,
  of,
});

const ofIndicator = (name: Indicator): Metric => ofSteps(name, "ns", (e) => e.values[name]);

/** null where any part of the step is not known. */
function shareOf(name: Indicator): (e: Entry) => number | null {
  return ({ values }) => {
    const part = values[name];
    const isWhole = values.computing !== null && values.exposed !== null && values.free !== null;
    return part === null || !isWhole || endToEnd(values) <= 0
      ? null
      : (100 * part) / endToEnd(values);
  };
}

const ofMode =
  (mode: string, table: string, rank: string, step: string | null, joins: Source["joins"]) =>
  (id: string, unit: Unit, column: string): Metric => ({
    id,
    unit,
    source: { mode, table, rank, step, column, joins },
    of: null,
  });

const summary = ofMode("cluster_time_summary", "ClusterTimeSummary", "rank", "step", "mean");
const launch = ofMode("cluster_time_summary", "ClusterTimeSummaryExtra", "rank", "step", "mean");
const bubble = ofMode("chart", "PipelineBubble", "rank", "step", "mean");
const late = ofMode("slow_rank", "SlowRankLateness", "rankId", null, "sum");
const experts = ofMode("ep_load_balance", "EPTokensSummary", "rank", null, "sum");
const worker = ofMode("whatif", "whatif_workers", "rank", null, "mean");

/** The bubble has metrics of its own, by its causes. */
const OF_PIPELINE: readonly Indicator[] = ["stage", "receives", "pipeline_bubble"];

/** By what they are about. */
export const METRICS: Readonly<
  Record<"step" | "pipeline" | "waits" | "experts", readonly Metric[]>
> = {
  step: [
    ...INDICATORS.filter((i) => !OF_PIPELINE.includes(i)).map(ofIndicator),
    ofSteps("computing_share", "%", shareOf("computing")),
    ofSteps("exposed_share", "%", shareOf("exposed")),
    ofSteps("free_share", "%", shareOf("free")),
    summary("copies", "ns", "memory"),
    launch("launch_delay", "ns", "taskLaunchDelayAvgTime"),
  ],
  pipeline: [
    bubble("busy", "ns", "busy"),
    bubble("idle", "ns", "bubble"),
    bubble("idle_share", "%", "idle"),
    bubble("warm_up", "ns", "warm-up"),
    bubble("stall", "ns", "stall"),
    bubble("cool_down", "ns", "cool-down"),
    bubble("own_share", "%", "own"),
    worker("slowdown", "x", "slowdown"),
    ofIndicator("stage"),
    ofIndicator("receives"),
  ],
  waits: [
    summary("waiting", "ns", "communicationWaitStageTime"),
    summary("transmitting", "ns", "communicationTransmitStageTime"),
    late("late", "ns", "lateTime(us)"),
    late("waited", "ns", "waitTime(us)"),
    late("came_last", "n", "cameLast"),
  ],
  experts: [experts("tokens", "n", "inputShapesSummary")],
};

const ALL: readonly Metric[] = Object.values(METRICS).flat();
export const metricOf = (id: string): Metric =>
  ALL.find((m) => m.id === id) ?? ALL.find((m) => m.id === "computing")!;

/** What is shown before anybody chooses: what a marks-only capture knows nothing of is no answer, and neither is a figure of a
 * pipeline of which no chart is known. */
export function metricAtFirst(entries: readonly Entry[]): string {
  const knows = (name: Indicator): boolean => entries.some((e) => e.values[name] !== null);
  return knows("computing")
    ? "computing"
    : knows("pipeline_bubble")
      ? "busy"
      : knows("receives")
        ? "receives"
        : "communication";
}

/** A figure of each rank (by its number as text): of one step, or of all. Ranks that are not in it are not known. */
export type Figures = ReadonlyMap<string, number>;

const sumOf = (all: number[]): number => all.reduce((a, b) => a + b, 0);

export function figuresOfSteps(entries: Entry[], step: string | null, metric: Metric): Figures {
  const ranks = ofStep(
    entries.filter((e) => e.type === "rank"),
    step,
  );
  return known(ranks.map((e) => [e.index, metric.of!(e)]));
}

/** By how much a figure is more than that of the baseline, of ranks that both know. */
export const differenceOf = (now: Figures, base: Figures): Figures =>
  new Map(
    [...now].flatMap(([rank, value]) => {
      const before = base.get(rank);
      return before === undefined ? [] : [[rank, value - before] as const];
    }),
  );

const known = (all: (readonly [string, number | null])[]): Figures =>
  new Map(all.filter((one): one is readonly [string, number] => one[1] !== null));

const stepText = (cell: Cell): string => String(cell ?? "");

export function figuresOfTable(
  table: Table,
  from: Source,
  unit: Unit,
  step: string | null,
): Figures {
  const rank = reader(table, from.rank);
  const at = reader(table, from.step ?? "");
  const plain = reader(table, from.column);
  const time = nsReader(table, from.column);
  // Columns that have their unit in their name have none of their own.
  const per = from.column.endsWith("(us)") ? 1e3 : 1;
  const by = new Map<string, number[]>();
  for (const row of table.rows) {
    const cell = unit === "ns" ? time(row) : plain(row);
    if (
      typeof cell === "number" &&
      (step === null || from.step === null || stepText(at(row)) === step)
    ) {
      const key = String(rank(row));
      by.set(key, [...(by.get(key) ?? []), cell * per]);
    }
  }
  return new Map(
    [...by].map(([key, all]) => [key, sumOf(all) / (from.joins === "mean" ? all.length : 1)]),
  );
}

/** The step in which a rank has the most of it, where it is told by steps. */
export function worstStep(
  rank: string,
  steps: readonly string[],
  figures: (step: string) => Figures,
): string | null {
  let worst: string | null = null;
  let most = -Infinity;
  for (const step of steps) {
    const value = figures(step).get(rank);
    if (value !== undefined && value > most) {
      most = value;
      worst = step;
    }
  }
  return worst;
}

// --- places ---------------------------------------------------------------------------------------------------------------

export interface Spot extends Place {
  rank: string;
  ep: number;
  /** Of its profile; "" where the capture has none. */
  key: string;
}

export const DIMENSIONS = ["pp", "dp", "cp", "tp", "ep"] as const;
export type Dimension = (typeof DIMENSIONS)[number];
/** Ranks of one group have equal numbers; by rank. */
export type Groups = Readonly<Partial<Record<Dimension, readonly number[]>>>;

/** The same rank among others of its group, in the order of their numbers. */
export function membersOf(groups: Groups, kind: Dimension, rank: string): string[] {
  const all = groups[kind];
  const own = all?.[Number(rank)];
  return all === undefined || own === undefined
    ? []
    : all.flatMap((group, other) => (group === own ? [String(other)] : []));
}

/** "pp1 dp0 tp3": the dimensions that have more than one place. */
export const placeText = (s: Spot, many: readonly Dimension[]): string =>
  many.map((d) => `${d}${s[d]}`).join(" ");

/** Dimensions in which the ranks differ. */
export const dimensionsOf = (spots: readonly Spot[]): Dimension[] =>
  DIMENSIONS.filter((d) => spots.some((s) => s[d] !== spots[0][d]));

/** `figure` null: whether it is known does not count. */
export type Accepts = (s: Spot, figure: number | undefined | null) => boolean;

const TERM = /^(rank|pp|dp|cp|tp|ep)=([\d,-]+)$/;

/** "pp=2 dp=0-3 unknown": what a filter lets through; null: it is not one. */
export function filterOf(text: string): Accepts | null {
  const terms = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const tests: Accepts[] = [];
  for (const term of terms) {
    const [, name, list] = TERM.exec(term) ?? [];
    const spans = list === undefined ? null : spansOf(list);
    if (term === "known" || term === "unknown") {
      tests.push((_, figure) => figure === null || (figure === undefined) === (term === "unknown"));
    } else if (spans === null) {
      return null;
    } else {
      tests.push((s) => {
        const at = name === "rank" ? Number(s.rank) : s[name as Dimension];
        return spans.some(([from, to]) => at >= from && at <= to);
      });
    }
  }
  return (s, figure) => tests.every((test) => test(s, figure));
}

/** "0-3,9" */
function spansOf(list: string): [number, number][] | null {
  const spans = list.split(",").map((part): [number, number] | null => {
    const [, from, to] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    return from === undefined ? null : [Number(from), Number(to ?? from)];
  });
  return spans.every((s) => s !== null) ? spans : null;
}

/** Places of ranks whose arrangement nobody knows: by their numbers. */
export const unplaced = (ranks: { rank: string; key: string }[]): Spot[] =>
  [...ranks]
    .sort((a, b) => Number(a.rank) - Number(b.rank))
    .map((r, i) => ({ ...r, pp: 0, dp: i, cp: 0, tp: 0, ep: 0 }));

// --- the grid -------------------------------------------------------------------------------------------------------------

/** Stages one below the other; in each its replicas, side by side as far as they fit and then on the next line; of a replica the
 * ranks of cp and tp stay together (viewer.md, S-10). Lengths are pixels. */
export interface Grid {
  cell: number;
  /** Replicas in a line, and lines of a stage. */
  perLine: number;
  lines: number;
  /** Ranks of a replica in a stage. */
  inner: number;
  tp: number;
  stages: number;
  /** Between replicas, and between stages. */
  gap: number;
  stageGap: number;
  width: number;
  height: number;
}

const LARGEST_CELL = 44;
/** Smaller cells touch one another. */
const APART_PX = 6;

function gridWith(lines: number, dims: GridDims, width: number, height: number): Grid {
  const perLine = Math.ceil(dims.dp / lines);
  const inner = dims.cp * dims.tp;
  const rough = Math.min(LARGEST_CELL, width / (perLine * inner), height / (dims.pp * lines));
  const gap = inner > 1 && rough >= APART_PX ? 3 : 0;
  const stageGap = dims.pp > 1 && (lines > 1 || rough >= APART_PX) ? 4 : 0;
  const cell = Math.min(
    LARGEST_CELL,
    (width - gap * (perLine - 1)) / (perLine * inner),
    (height - stageGap * (dims.pp - 1)) / (dims.pp * lines),
  );
  return {
    cell,
    perLine,
    lines,
    inner,
    tp: dims.tp,
    stages: dims.pp,
    gap,
    stageGap,
    width: cell * perLine * inner + gap * (perLine - 1),
    height: cell * dims.pp * lines + stageGap * (dims.pp - 1),
  };
}

export type GridDims = Record<"pp" | "dp" | "cp" | "tp", number>;

/** The grid with the largest cells in that room. */
export function gridFor(dims: GridDims, width: number, height: number): Grid {
  let best = gridWith(1, dims, width, height);
  for (let lines = 2; lines <= dims.dp && best.cell < LARGEST_CELL; lines++) {
    const next = gridWith(lines, dims, width, height);
    best = next.cell > best.cell * 1.001 ? next : best;
  }
  return best;
}

export const dimsOf = (spots: readonly Spot[]): GridDims => {
  const size = (d: "pp" | "dp" | "cp" | "tp"): number =>
    spots.reduce((most, s) => Math.max(most, s[d] + 1), 1);
  return { pp: size("pp"), dp: size("dp"), cp: size("cp"), tp: size("tp") };
};

/** From here cells hold figures, in their middle. */
export const NUMBER_PX = 24;

/** Of the dot where a link meets a cell. */
export const DOT_PX = 3;

/** Where links meet a cell, from its corner: in the corner below where figures stand in the middle. */
export const linkOffset = (g: Grid): number =>
  g.cell >= NUMBER_PX ? g.cell - DOT_PX - 1 : g.cell / 2;

/** The left upper corner of a place. */
export function cornerOf(g: Grid, s: Place): [x: number, y: number] {
  const column = s.dp % g.perLine;
  const line = s.pp * g.lines + Math.floor(s.dp / g.perLine);
  return [
    (column * g.inner + s.cp * g.tp + s.tp) * g.cell + column * g.gap,
    line * g.cell + s.pp * g.stageGap,
  ];
}

/** The place below a point; null: beside all. */
export function placeAt(g: Grid, x: number, y: number): Place | null {
  const block = g.inner * g.cell + g.gap;
  const band = g.lines * g.cell + g.stageGap;
  const [column, pp] = [Math.floor(x / block), Math.floor(y / band)];
  const inner = Math.floor((x - column * block) / g.cell);
  const line = Math.floor((y - pp * band) / g.cell);
  const isIn = column >= 0 && column < g.perLine && pp >= 0 && pp < g.stages;
  return !isIn || inner < 0 || inner >= g.inner || line < 0 || line >= g.lines
    ? null
    : {
        pp,
        dp: line * g.perLine + column,
        cp: Math.floor(inner / g.tp),
        tp: inner % g.tp,
      };
}
