/** What the Communication page makes of its tables, without a document. Times are ns, sizes bytes. */
import { IN_BYTES } from "../base/format";
import type { Cell, Table } from "../api/types";
import { nsReader, reader } from "./data";

export const TOTAL = "Total Op Info";
/** In front of a type: all operators of that type, whatever they are called. */
const TYPE = "type ";
/** In front of ranks: the communicator of exactly these, which no capture names. */
const RANKS = "ranks ";
export const ofRanks = (members: readonly string[]): string => RANKS + members.join(", ");
/** null: the choice is a communicator, or all of them. */
export const ranksWithout = (group: string): string | null =>
  group.startsWith(RANKS) ? group.slice(RANKS.length) : null;
export const ofType = (type: string): string => TYPE + type;
/** null: it is no choice of a type. */
export const chosenType = (op: string): string | null =>
  op.startsWith(TYPE) ? op.slice(TYPE.length) : null;

const isChosenOp = (op: string, choice: string): boolean => {
  const type = chosenType(choice);
  return type === null ? op === choice : op !== TOTAL && typeOf(op) === type;
};

/** A place in a group of which nobody says whose it is. */
export interface Stranger {
  group: string;
  place: number;
}

/** An end of a link: a global rank, or -1 - its place among the strangers. */
export type End = number;

export const strangerOf = (strangers: readonly Stranger[], end: End): Stranger | undefined =>
  end < 0 ? strangers[-1 - end] : undefined;

/** Strangers come after all ranks. */
export const compareEnds = (a: End, b: End): number =>
  Number(a < 0) - Number(b < 0) || (a < 0 ? b - a : a - b);

export interface LinkRow {
  step: string;
  op: string;
  group: string;
  source: End;
  destination: End;
  transport: string;
  example: string;
  size: number;
  time_ns: number;
}

export const text = (v: Cell | undefined): string =>
  v === null || v === undefined ? "" : String(v);

export function bytesReader(table: Table, name: string): (row: Table["rows"][0]) => number {
  const at = table.columns.findIndex((c) => c[0].replace(/_/g, " ") === name);
  const unit = IN_BYTES[table.columns[at]?.[2] ?? "bytes"] ?? 1;
  return (row) => (typeof row[at] === "number" ? row[at] * unit : 0);
}

/** Places that any link of the tables has an end at, by group and place. */
export function strangersOf(...tables: (Table | null)[]): Stranger[] {
  const found = tables
    .filter((placed) => placed !== null)
    .flatMap((placed) => {
      const group = reader(placed, "group name");
      return ["src", "dst"].flatMap((name) => {
        const place = reader(placed, `${name} place`);
        return placed.rows
          .filter((row) => place(row) !== null)
          .map((row) => ({ group: text(group(row)), place: Number(place(row)) }));
      });
    });
  return found
    .sort((a, b) => a.group.localeCompare(b.group) || a.place - b.place)
    .filter((s, i) => i === 0 || s.group !== found[i - 1].group || s.place !== found[i - 1].place);
}

/** Links of the matrix, and those with an end that is one of the strangers. */
export function linksOf(table: Table, placed: Table | null, strangers: Stranger[]): LinkRow[] {
  return [...rowsOf(table, strangers), ...(placed === null ? [] : rowsOf(placed, strangers))];
}

function endReader(
  table: Table,
  name: string,
  strangers: Stranger[],
): (row: Table["rows"][0], group: string) => End {
  const [rank, place] = [reader(table, `${name} rank`), reader(table, `${name} place`)];
  return (row, group) => {
    const known = rank(row);
    const own = Number(place(row));
    return known !== null
      ? Number(known)
      : -1 - strangers.findIndex((s) => s.group === group && s.place === own);
  };
}

function rowsOf(table: Table, strangers: Stranger[]): LinkRow[] {
  const [step, op, group] = [
    reader(table, "step"),
    reader(table, "hccl op name"),
    reader(table, "group name"),
  ];
  const source = endReader(table, "src", strangers);
  const destination = endReader(table, "dst", strangers);
  const [transport, example] = [reader(table, "transport type"), reader(table, "op name")];
  const [size, time] = [bytesReader(table, "transit size"), nsReader(table, "transit time")];
  return table.rows.map((row) => ({
    step: text(step(row)),
    op: text(op(row)),
    group: text(group(row)),
    source: source(row, text(group(row))),
    destination: destination(row, text(group(row))),
    transport: text(transport(row)),
    example: text(example(row)),
    size: size(row),
    time_ns: time(row) ?? 0,
  }));
}

export interface TimeRow {
  step: string;
  rank: number;
  op: string;
  group: string;
  /** Epoch as the profiler counts it. */
  start_ns: number | null;
  elapsed: number;
  transit: number;
  wait: number;
  sync: number;
  idle: number;
  /** The profile says how much of it was transit and how much waiting; else those are 0 and mean nothing. */
  isSplit: boolean;
  /** How long it waited is known, perhaps without the rest: from when the others began. */
  hasWait: boolean;
  /** So is how long it waited at first, which tasks do not tell. */
  hasSync: boolean;
}

export function timesOf(table: Table): TimeRow[] {
  const [step, rank, op, group] = [
    reader(table, "step"),
    reader(table, "rank id", "rank"),
    reader(table, "hccl op name"),
    reader(table, "group name"),
  ];
  const ns = (name: string) => {
    const read = nsReader(table, name);
    return (row: Table["rows"][0]): number => read(row) ?? 0;
  };
  const start = nsReader(table, "start timestamp");
  const [elapsed, transit, wait, sync, idle] = [
    ns("elapsed time"),
    ns("transit time"),
    ns("wait time"),
    ns("synchronization time"),
    ns("idle time"),
  ];
  const [split, waits, syncs] = [
    reader(table, "transit time"),
    reader(table, "wait time"),
    reader(table, "synchronization time"),
  ];
  const rows = table.rows.map((row) => ({
    isSplit: split(row) !== null,
    hasWait: waits(row) !== null,
    hasSync: syncs(row) !== null,
    step: text(step(row)),
    rank: Number(rank(row)),
    op: text(op(row)),
    group: text(group(row)),
    start_ns: start(row),
    elapsed: elapsed(row),
    transit: transit(row),
    wait: wait(row),
    sync: sync(row),
    idle: idle(row),
  }));
  fillTotals(rows);
  return rows;
}

const totalKey = (r: TimeRow): string => `${r.step} ${r.rank} ${r.group}`;

/** Totals of profiles that do not say how long they waited: what is known of their operators. Sends wait for nobody. */
function fillTotals(rows: TimeRow[]): void {
  const known = new Map<string, number>();
  for (const row of rows) {
    if (row.op !== TOTAL && row.hasWait) {
      known.set(totalKey(row), (known.get(totalKey(row)) ?? 0) + row.wait);
    }
  }
  for (const row of rows) {
    const wait = known.get(totalKey(row));
    if (row.op === TOTAL && !row.hasWait && wait !== undefined) {
      row.wait = wait;
      row.hasWait = true;
    }
  }
}

export interface Choice {
  step: string;
  group: string;
  op: string;
}

/** Whether the operator of a row is among those of the choice. */
export const isChosen = (row: { step: string; group: string; op: string }, c: Choice): boolean =>
  meets(row, c) && isChosenOp(row.op, c.op);

const meets = (row: { step: string; group: string }, c: Choice): boolean =>
  (c.step === "" || row.step === c.step) && (c.group === "" || row.group === c.group);

export interface Pair {
  source: End;
  destination: End;
  transport: string[];
  example: string;
  size: number;
  time_ns: number;
  /** GB/s; NaN: how long it took is not known. */
  bandwidth: number;
}

/** One entry for each pair of ranks: sums over what the choice leaves open. */
export function pairsOf(rows: LinkRow[], choice: Choice, withInner: boolean): Pair[] {
  const by = new Map<string, Pair>();
  for (const row of rows) {
    if (!isChosen(row, choice) || (!withInner && row.source === row.destination)) {
      continue;
    }
    const key = `${row.source} ${row.destination}`;
    const pair = by.get(key) ?? {
      source: row.source,
      destination: row.destination,
      transport: [],
      example: row.example !== "" || row.op === TOTAL ? row.example : row.op,
      size: 0,
      time_ns: 0,
      bandwidth: NaN,
    };
    pair.size += row.size;
    pair.time_ns += row.time_ns;
    if (!pair.transport.includes(row.transport)) {
      pair.transport.push(row.transport);
    }
    by.set(key, pair);
  }
  for (const pair of by.values()) {
    pair.bandwidth = pair.time_ns > 0 ? pair.size / pair.time_ns : NaN;
  }
  return [...by.values()].sort(
    (a, b) => compareEnds(a.source, b.source) || compareEnds(a.destination, b.destination),
  );
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
  isSplit: boolean;
  /** Of what is summed up, in part at least: `wait` is what is known. */
  hasWait: boolean;
  hasSync: boolean;
}

/** One entry a rank: sums over what the choice leaves open. */
export function rankTimes(rows: TimeRow[], choice: Choice): RankTime[] {
  const by = new Map<number, RankTime>();
  for (const row of rows) {
    if (!isChosen(row, choice)) {
      continue;
    }
    const sum = by.get(row.rank) ?? {
      rank: row.rank,
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
    };
    sum.isSplit ||= row.isSplit;
    sum.hasWait ||= row.hasWait;
    sum.hasSync ||= row.hasSync;
    sum.elapsed += row.elapsed;
    sum.transit += row.transit;
    sum.wait += row.wait;
    sum.sync += row.sync;
    sum.idle += row.idle;
    by.set(row.rank, sum);
  }
  const ratio = (part: number, rest: number): number | null =>
    part + rest > 0 ? part / (part + rest) : null;
  for (const sum of by.values()) {
    sum.syncRatio = sum.isSplit && sum.hasSync ? ratio(sum.sync, sum.transit) : null;
    sum.waitRatio = sum.isSplit ? ratio(sum.wait, sum.transit) : null;
  }
  return [...by.values()].sort((a, b) => a.rank - b.rank);
}

/** Operators of the choice in time, for the axis; totals have no place there. */
export const opsOf = (rows: TimeRow[], choice: Choice): TimeRow[] =>
  rows
    .filter(
      (r) =>
        meets(r, choice) &&
        r.op !== TOTAL &&
        r.start_ns !== null &&
        (choice.op === TOTAL || isChosenOp(r.op, choice.op)),
    )
    .sort((a, b) => a.rank - b.rank || a.start_ns! - b.start_ns!);

/** By how much each rank is moved so that the ends of one operator stand below one another, at the last of them (C-3). Ranks without it
 * stay. */
export function endsTogether(ops: readonly TimeRow[], of: TimeRow): Map<number, number> {
  const ends = new Map<number, number>();
  for (const { op, group, step, rank, start_ns, elapsed } of ops) {
    if (op === of.op && group === of.group && step === of.step && !ends.has(rank)) {
      ends.set(rank, start_ns! + elapsed);
    }
  }
  const last = Math.max(...ends.values());
  return new Map([...ends].map(([rank, end]) => [rank, last - end]));
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

/** "hcom_allReduce__860_3_1" -> "allreduce" */
export const typeOf = (op: string): string =>
  op
    .replace(/^(hcom|hccl|nccl)_?/i, "")
    .replace(/_*\d.*$/, "")
    .replace(/_+$/, "")
    .toLowerCase();

export interface GroupName {
  name: string;
  text: string;
  isP2p: boolean;
}

/** Communicators as people name them: what they are for and their ranks. */
export function groupsOf(mapping: Table | null, used: string[]): GroupName[] {
  const by = new Map<string, GroupName>();
  if (mapping !== null) {
    const [name, set, pg, type] = [
      reader(mapping, "group name"),
      reader(mapping, "rank set"),
      reader(mapping, "pg name"),
      reader(mapping, "type"),
    ];
    for (const row of mapping.rows) {
      by.set(text(name(row)), {
        name: text(name(row)),
        text: [text(pg(row)), text(set(row))].filter((s) => s !== "").join(" "),
        isP2p: text(type(row)) === "p2p",
      });
    }
  }
  return used.map((name) => by.get(name) ?? { name, text: name, isP2p: false });
}

/** The communicator of exactly these ranks; of several the one for data rather than for single sends. */
export function groupOfRanks(mapping: Table, members: readonly string[]): string | null {
  const [name, set, type] = [
    reader(mapping, "group name"),
    reader(mapping, "rank set"),
    reader(mapping, "type"),
  ];
  const wanted = [...members].map(Number).sort((a, b) => a - b);
  const found = mapping.rows.filter(
    (row) =>
      [...text(set(row)).matchAll(/\d+/g)]
        .map(Number)
        .sort((a, b) => a - b)
        .join() === wanted.join(),
  );
  const best = found.find((row) => text(type(row)) !== "p2p") ?? found[0];
  return best === undefined ? null : text(name(best));
}

/** The baseline's tables, and what of them is the same choice. */
export interface Beside {
  table: Table;
  more: Table | null;
  choice: Choice;
  /** What of the choice it has not. */
  lacks: ("step" | "group")[];
  /** Its communicators, by the name that they have here. */
  names: ReadonlyMap<string, string>;
}

/** The communicator of the same purpose and ranks, else of the same name. */
const groupBeside = (
  own: GroupName | undefined,
  there: readonly GroupName[],
): GroupName | undefined =>
  there.find((g) => g.text === own?.text && g.text !== g.name) ??
  there.find((g) => g.name === own?.name);

/** What the communicators of the other capture are called here. */
export const namesHere = (
  groups: readonly GroupName[],
  there: readonly GroupName[],
): Map<string, string> =>
  new Map(
    groups.flatMap((own): [string, string][] => {
      const other = groupBeside(own, there);
      return other === undefined ? [] : [[other.name, own.name]];
    }),
  );

/** A table of links with the communicators as they are called here. */
export function withNames(table: Table, names: ReadonlyMap<string, string>): Table {
  const at = table.columns.findIndex(([name]) => name.replace(/_/g, " ") === "group name");
  const rows = table.rows.map((row) =>
    row.map((cell, i) => (i === at ? (names.get(text(cell)) ?? cell) : cell)),
  );
  return { ...table, rows };
}

/** The ranks that have an operator of the choice; of a table of links, which tells of no single operators, whether there is any. */
function ranksWith(table: Table, choice: Choice): ReadonlySet<string> {
  const [step, op, group, rank] = [
    reader(table, "step"),
    reader(table, "hccl op name"),
    reader(table, "group name"),
    reader(table, "rank id", "rank"),
  ];
  const isOwn = (row: Cell[]): boolean =>
    isChosen({ step: text(step(row)), group: text(group(row)), op: text(op(row)) }, choice);
  return new Set(table.rows.filter(isOwn).map((row) => text(rank(row))));
}

/** A capture in which a choice is made. */
interface ChosenIn {
  table: Table;
  steps: readonly string[];
  groups: readonly GroupName[];
}

/** What stands for the choice in another capture: the step of the same place, the communicator of the same purpose and ranks, else of
 * the same name; the operator by its name where the same ranks have it in both, else all of its type: operators are numbered anew in
 * each capture, and the same number may be another operator's. What it has not is named as it is here, and found nothing. */
export function choiceBeside(choice: Choice, here: ChosenIn, there: ChosenIn): Choice {
  const group = groupBeside(
    here.groups.find((g) => g.name === choice.group),
    there.groups,
  );
  const same = {
    step: choice.step === "" ? "" : (there.steps[here.steps.indexOf(choice.step)] ?? choice.step),
    group: choice.group === "" ? "" : (group?.name ?? choice.group),
    op: choice.op,
  };
  if (choice.op === TOTAL || chosenType(choice.op) !== null) {
    return same;
  }
  const [own, others] = [ranksWith(here.table, choice), ranksWith(there.table, same)];
  const isOne = own.size === others.size && [...own].every((rank) => others.has(rank));
  return isOne ? same : { ...same, op: ofType(typeOf(choice.op)) };
}

/** What of the choice another capture has nothing for. */
export const lacking = (
  choice: Choice,
  there: { steps: readonly string[]; groups: readonly GroupName[] },
): Beside["lacks"] => [
  ...(choice.step === "" || there.steps.includes(choice.step) ? [] : ["step" as const]),
  ...(choice.group === "" || there.groups.some((g) => g.name === choice.group)
    ? []
    : ["group" as const]),
];

/** A link of both captures, and by how much it changed; null: only one of them has it. */
export interface PairChange {
  pair: Pair;
  base: Pair | null;
  now: Pair | null;
}

export function pairChanges(now: readonly Pair[], base: readonly Pair[]): PairChange[] {
  const key = (p: Pair): string => `${p.source} ${p.destination}`;
  const there = new Map(base.map((p) => [key(p), p]));
  const here = new Set(now.map(key));
  return [
    ...now.map((pair) => ({ pair, now: pair, base: there.get(key(pair)) ?? null })),
    ...base.filter((p) => !here.has(key(p))).map((pair) => ({ pair, now: null, base: pair })),
  ];
}
