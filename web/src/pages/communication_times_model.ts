/** How long the communication operators of each rank take, without a document. Times are ns. */
import type { Columns, Texts } from "./columns";
import {
  chosenIn,
  chosenRows,
  isChosenOp,
  TOTAL,
  typeOf,
  type Choice,
} from "./communication_model";

/** Operators by their columns, of which a thousand ranks have tens of thousands. NaN: not known. */
export interface Times {
  length: number;
  steps: Texts;
  ops: Texts;
  groups: Texts;
  /** By the place of an operator's name among them. */
  types: readonly string[];
  rank: Float64Array;
  /** Epoch as the profiler counts it. */
  start: Float64Array;
  elapsed: Float64Array;
  /** How much of it was transit, where the profile says how much was that and how much waiting. */
  transit: Float64Array;
  /** How long it waited, perhaps known without the rest: from when the others began. */
  wait: Float64Array;
  /** How long it waited at first, which tasks do not tell. */
  sync: Float64Array;
  idle: Float64Array;
}

export function timesOf(table: Columns): Times {
  const chosen = chosenIn(table);
  const times = {
    ...chosen,
    length: table.length,
    types: chosen.ops.words.map(typeOf),
    rank: table.numbers("rank id", "rank"),
    start: table.ns("start timestamp"),
    elapsed: table.ns("elapsed time"),
    transit: table.ns("transit time"),
    wait: table.ns("wait time").slice(),
    sync: table.ns("synchronization time"),
    idle: table.ns("idle time"),
  };
  fillTotals(times);
  return times;
}

/** All types of operators; a total has none. */
export const typesOf = ({ types, ops }: Times): Set<string> =>
  new Set(types.filter((_, place) => place > 0 && ops.words[place] !== TOTAL));

export const opAt = ({ ops }: Times, row: number): string => ops.words[ops.at[row]];

/** Totals of profiles that do not say how long they waited: what is known of their operators. Sends wait for nobody. */
function fillTotals(times: Times): void {
  const { steps, ops, groups, rank, wait } = times;
  const total = ops.words.indexOf(TOTAL);
  const keyOf = (row: number): string => `${steps.at[row]} ${rank[row]} ${groups.at[row]}`;
  const lacking = new Map<string, number[]>();
  for (let row = 0; row < times.length; row++) {
    if (ops.at[row] === total && Number.isNaN(wait[row])) {
      lacking.set(keyOf(row), [...(lacking.get(keyOf(row)) ?? []), row]);
    }
  }
  if (lacking.size === 0) {
    return;
  }
  const known = new Map<string, number>();
  for (let row = 0; row < times.length; row++) {
    if (ops.at[row] !== total && !Number.isNaN(wait[row])) {
      known.set(keyOf(row), (known.get(keyOf(row)) ?? 0) + wait[row]);
    }
  }
  for (const [key, rows] of lacking) {
    rows.forEach((row) => (wait[row] = known.get(key) ?? NaN));
  }
}

export interface RankTime {
  rank: number;
  elapsed: number;
  transit: number;
  wait: number;
  sync: number;
  idle: number;
  syncRatio: number | null;
  waitRatio: number | null;
  /** Of what is summed up, in part at least: what is not known is 0 and means nothing. */
  isSplit: boolean;
  hasWait: boolean;
  hasSync: boolean;
}

/** One entry a rank: sums over what the choice leaves open. */
export function rankTimes(times: Times, choice: Choice): RankTime[] {
  const { rank, elapsed, transit, wait, sync, idle } = times;
  const isOwn = chosenRows(times, choice);
  const by = new Map<number, RankTime>();
  for (let row = 0; row < times.length; row++) {
    if (!isOwn(row)) {
      continue;
    }
    const sum = by.get(rank[row]) ?? nothingOf(rank[row]);
    by.set(sum.rank, sum);
    sum.isSplit ||= !Number.isNaN(transit[row]);
    sum.hasWait ||= !Number.isNaN(wait[row]);
    sum.hasSync ||= !Number.isNaN(sync[row]);
    sum.elapsed += elapsed[row] || 0;
    sum.transit += transit[row] || 0;
    sum.wait += wait[row] || 0;
    sum.sync += sync[row] || 0;
    sum.idle += idle[row] || 0;
  }
  const ratio = (part: number, rest: number): number | null =>
    part + rest > 0 ? part / (part + rest) : null;
  for (const sum of by.values()) {
    sum.syncRatio = sum.isSplit && sum.hasSync ? ratio(sum.sync, sum.transit) : null;
    sum.waitRatio = sum.isSplit ? ratio(sum.wait, sum.transit) : null;
  }
  return [...by.values()].sort((a, b) => a.rank - b.rank);
}

const nothingOf = (rank: number): RankTime => ({
  rank,
  elapsed: 0,
  transit: 0,
  wait: 0,
  sync: 0,
  idle: 0,
  syncRatio: null,
  waitRatio: null,
  isSplit: false,
  hasWait: false,
  hasSync: false,
});

/** Rows of the operators of the choice, by rank and time, for the axis; totals have no place there. */
export function opsOf(times: Times, choice: Choice): number[] {
  const { rank, start } = times;
  const isOwn = chosenRows(
    times,
    choice,
    (op) => op !== TOTAL && (choice.op === TOTAL || isChosenOp(op, choice.op)),
  );
  const rows: number[] = [];
  for (let row = 0; row < times.length; row++) {
    if (isOwn(row) && !Number.isNaN(start[row])) {
      rows.push(row);
    }
  }
  return rows.sort((a, b) => rank[a] - rank[b] || start[a] - start[b]);
}

/** An operator, on whatever ranks. */
export interface Op {
  step: string;
  group: string;
  op: string;
}

/** By how much each rank is moved so that the ends of one operator stand below one another, at the last of them (C-3). Ranks without it
 * stay. */
export function endsTogether(times: Times, rows: readonly number[], of: Op): Map<number, number> {
  const { steps, groups, ops, rank, start, elapsed } = times;
  const [step, group, op] = [
    steps.words.indexOf(of.step),
    groups.words.indexOf(of.group),
    ops.words.indexOf(of.op),
  ];
  const ends = new Map<number, number>();
  for (const row of rows) {
    const isOwn = ops.at[row] === op && groups.at[row] === group && steps.at[row] === step;
    if (isOwn && !ends.has(rank[row])) {
      ends.set(rank[row], start[row] + (elapsed[row] || 0));
    }
  }
  const last = Math.max(...ends.values());
  return new Map([...ends].map(([own, end]) => [own, last - end]));
}

export interface SlowRank {
  rank: number;
  /** By how much less it communicates than the one that does so longest. */
  less_ns: number;
  share: number;
}

/** Who communicates at least a tenth less than the longest: the others wait for it (C-4). At most three, the least first. */
export const SLOW_SHARE = 0.1;

export function slowRanks(times: RankTime[]): SlowRank[] {
  const most = Math.max(0, ...times.map((r) => r.elapsed));
  return times
    .filter((r) => most > 0 && most - r.elapsed >= SLOW_SHARE * most)
    .map((r) => ({ rank: r.rank, less_ns: most - r.elapsed, share: (most - r.elapsed) / most }))
    .sort((a, b) => b.less_ns - a.less_ns)
    .slice(0, 3);
}
