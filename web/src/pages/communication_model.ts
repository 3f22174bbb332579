/** What the Communication page makes of its tables, without a document. Times are ns, sizes bytes. */
import { IN_BYTES } from "../base/format";
import type { Cell, Table } from "../api/types";
import { whichOf, type Columns, type Texts } from "./columns";
import { reader } from "./data";

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

export const isChosenOp = (op: string, choice: string): boolean => {
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

/** Links by their columns. */
export interface Links {
  length: number;
  steps: Texts;
  ops: Texts;
  groups: Texts;
  source: Float64Array;
  destination: Float64Array;
  transports: Texts;
  examples: Texts;
  size: Float64Array;
  time_ns: Float64Array;
}

export const text = (v: Cell | undefined): string =>
  v === null || v === undefined ? "" : String(v);

export function bytesReader(table: Table, name: string): (row: Table["rows"][0]) => number {
  const at = table.columns.findIndex((c) => c[0].replace(/_/g, " ") === name);
  const unit = IN_BYTES[table.columns[at]?.[2] ?? "bytes"] ?? 1;
  return (row) => (typeof row[at] === "number" ? row[at] * unit : 0);
}

/** Tables of links: those of the matrix, and those with an end whose rank is not known. */
export interface LinkTables {
  main: Columns | null;
  placed: Columns | null;
  /** What communicators are called here that have other names there. */
  names?: ReadonlyMap<string, string>;
}

const groupsIn = (table: Columns, names?: ReadonlyMap<string, string>): Texts => {
  const own = table.texts("group name");
  return names === undefined ? own : { ...own, words: own.words.map((w) => names.get(w) ?? w) };
};

/** Places that any link of the tables has an end at, by group and place. */
export function strangersOf(...all: LinkTables[]): Stranger[] {
  const found = new Map<string, Stranger>();
  for (const { placed, names } of all) {
    for (const end of placed === null ? [] : ["src", "dst"]) {
      const { words, at } = groupsIn(placed!, names);
      placed!.numbers(`${end} place`).forEach((place, row) => {
        if (!Number.isNaN(place)) {
          const group = words[at[row]];
          found.set(`${group} ${place}`, { group, place });
        }
      });
    }
  }
  return [...found.values()].sort((a, b) => a.group.localeCompare(b.group) || a.place - b.place);
}

export function linksOf(tables: LinkTables, strangers: Stranger[]): Links[] {
  const placeOf = new Map(strangers.map(({ group, place }, i) => [`${group} ${place}`, -1 - i]));
  return [tables.main, tables.placed]
    .filter((table) => table !== null)
    .map((table): Links => {
      const groups = groupsIn(table, tables.names);
      const endsOf = (name: string): Float64Array => {
        const places = table.numbers(`${name} place`);
        return table
          .numbers(`${name} rank`)
          .map((rank, row) =>
            Number.isNaN(rank)
              ? (placeOf.get(`${groups.words[groups.at[row]]} ${places[row]}`) ?? 0)
              : rank,
          );
      };
      return {
        length: table.length,
        steps: table.texts("step"),
        ops: table.texts("hccl op name"),
        groups,
        source: endsOf("src"),
        destination: endsOf("dst"),
        transports: table.texts("transport type"),
        examples: table.texts("op name"),
        size: table.bytes("transit size"),
        time_ns: table.ns("transit time"),
      };
    });
}

export interface Choice {
  step: string;
  group: string;
  op: string;
}

/** Whether the operator of a row is among those of the choice. */
export const isChosen = (row: { step: string; group: string; op: string }, c: Choice): boolean =>
  isMet(row.step, c.step) && isMet(row.group, c.group) && isChosenOp(row.op, c.op);

const isMet = (own: string, choice: string): boolean => choice === "" || own === choice;

/** What rows say of their step, communicator and operator. */
interface Chosen {
  steps: Texts;
  groups: Texts;
  ops: Texts;
}

export const chosenIn = (table: Columns): Chosen => ({
  steps: table.texts("step"),
  groups: table.texts("group name"),
  ops: table.texts("hccl op name"),
});

/** Whether a row is of the choice. `ofOp` where the choice of operators is another one than its own. */
export function chosenRows(
  { steps, groups, ops }: Chosen,
  c: Choice,
  ofOp = (op: string): boolean => isChosenOp(op, c.op),
): (row: number) => boolean {
  const inStep = whichOf(steps, (step) => isMet(step, c.step));
  const inGroup = whichOf(groups, (group) => isMet(group, c.group));
  const isOp = whichOf(ops, ofOp);
  return (row) => (isOp[ops.at[row]] & inStep[steps.at[row]] & inGroup[groups.at[row]]) !== 0;
}

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
export function pairsOf(all: readonly Links[], choice: Choice, withInner: boolean): Pair[] {
  const by = new Map<number, Pair>();
  for (const links of all) {
    const isOwn = chosenRows(links, choice);
    const { source, destination, transports, examples, ops } = links;
    for (let row = 0; row < links.length; row++) {
      const [from, to] = [source[row], destination[row]];
      if (!isOwn(row) || (!withInner && from === to)) {
        continue;
      }
      const key = keyOfEnds(from, to);
      let pair = by.get(key);
      if (pair === undefined) {
        const [example, op] = [examples.words[examples.at[row]], ops.words[ops.at[row]]];
        pair = {
          source: from,
          destination: to,
          transport: [],
          example: example !== "" || op === TOTAL ? example : op,
          size: 0,
          time_ns: 0,
          bandwidth: NaN,
        };
        by.set(key, pair);
      }
      pair.size += links.size[row] || 0;
      pair.time_ns += links.time_ns[row] || 0;
      const transport = transports.words[transports.at[row]];
      if (!pair.transport.includes(transport)) {
        pair.transport.push(transport);
      }
    }
  }
  for (const pair of by.values()) {
    pair.bandwidth = pair.time_ns > 0 ? pair.size / pair.time_ns : NaN;
  }
  return [...by.values()].sort(
    (a, b) => compareEnds(a.source, b.source) || compareEnds(a.destination, b.destination),
  );
}

/** Ends are small whole numbers, those of strangers below 0. */
const keyOfEnds = (from: End, to: End): number => from * 2 ** 26 + to;

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

/* By name, then by the first rank. */
const asCounted = new Intl.Collator("en", { numeric: true }).compare;

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
        // Of one name that both use, single sends are in its sums.
        isP2p: text(type(row)) === "p2p" || by.get(text(name(row)))?.isP2p === true,
      });
    }
  }
  return used
    .map((name) => by.get(name) ?? { name, text: name, isP2p: false })
    .sort((a, b) => asCounted(a.text, b.text));
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
  table: Columns;
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

/** The ranks that have an operator of the choice; of a table of links, which tells of no single operators, whether there is any. */
function ranksWith(table: Columns, choice: Choice): ReadonlySet<number> {
  const isOwn = chosenRows(chosenIn(table), choice);
  return new Set(table.numbers("rank id", "rank").filter((_, row) => isOwn(row)));
}

/** A capture in which a choice is made. */
interface ChosenIn {
  table: Columns;
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
