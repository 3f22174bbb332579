/** Two tables of the same columns as one: each number beside that of the baseline, with what lies between them; without a document. */
import type { Cell, Table } from "../api/types";

export interface Pairing {
  /** Rows that agree in these columns belong together; of several alike the first with the first, and so on. */
  keys: readonly string[];
  /** Numbers that are only shown: indices, places. */
  plain?: readonly string[];
  /** Sums: what one side does not have is 0 there. Of all others (means, ratios) it is not known. */
  sums?: readonly string[];
}

/** What stands behind a number of the table. */
export const BASE = " base";
export const DIFFERENCE = " difference";
export const CHANGE = " change";

const isCompared = (column: Table["columns"][0], { keys, plain }: Pairing): boolean =>
  column[1] !== "text" && !keys.includes(column[0]) && plain?.includes(column[0]) !== true;

/** The columns that a table needs to tell them apart are all there at first; of what else is compared only the difference. */
export function hiddenBeside(table: Table, pairing: Pairing, lead: readonly string[]): string[] {
  return table.columns
    .filter((c) => isCompared(c, pairing) && !lead.includes(c[0]))
    .flatMap(([name]) => [name + BASE, name + CHANGE]);
}

function rowsByKey(table: Table, keys: readonly string[]): { key: string; row: Cell[] }[] {
  const at = keys.map((key) => table.columns.findIndex(([name]) => name === key));
  const seen = new Map<string, number>();
  return table.rows.map((row) => {
    const key = JSON.stringify(at.map((i) => (i < 0 ? null : (row[i] ?? null))));
    const n = seen.get(key) ?? 0;
    seen.set(key, n + 1);
    return { key: `${key} ${n}`, row };
  });
}

/** Whether any row of one has its like in the other. */
export function hasCommon(now: Table, base: Table, { keys }: Pairing): boolean {
  const there = new Set(rowsByKey(base, keys).map(({ key }) => key));
  return rowsByKey(now, keys).some(({ key }) => there.has(key));
}

/** The rows of `now` in their order, then those that only the baseline has. */
export function beside(now: Table, base: Table, pairing: Pairing): Table {
  const baseColumn = new Map(base.columns.map(([name], i) => [name, i]));
  const others = new Map(rowsByKey(base, pairing.keys).map(({ key, row }) => [key, row]));
  const compared = now.columns.map((c) => isCompared(c, pairing));
  const join = (row: Cell[] | undefined, other: Cell[] | undefined): Cell[] =>
    now.columns.flatMap((column, i): Cell[] => {
      const there = baseColumn.get(column[0]);
      const old = other === undefined || there === undefined ? null : (other[there] ?? null);
      const own = row?.[i] ?? null;
      if (!compared[i]) {
        return [row === undefined ? old : own];
      }
      const absent = pairing.sums?.includes(column[0]) === true ? 0 : null;
      return figures(row === undefined ? absent : own, other === undefined ? absent : old);
    });
  const rows = rowsByKey(now, pairing.keys).map(({ key, row }) => {
    const other = others.get(key);
    others.delete(key);
    return join(row, other);
  });
  for (const other of others.values()) {
    rows.push(join(undefined, other));
  }
  return {
    ...now,
    name: `${now.name}_beside`,
    total: rows.length,
    offset: 0,
    rows,
    columns: now.columns.flatMap((column, i): Table["columns"] =>
      compared[i] ? columnsBeside(column) : [column],
    ),
    notes: [...new Set([...(now.notes ?? []), ...(base.notes ?? [])])],
  };
}

const columnsBeside = ([name, type, unit, exact]: Table["columns"][0]): Table["columns"] => [
  [name, type, unit, exact],
  [name + BASE, type, unit, exact],
  [name + DIFFERENCE, type, unit, exact],
  [name + CHANGE, "real", "%", false],
];

/** The number, that of the baseline, the difference, and its share of the baseline in percent. */
function figures(own: Cell, old: Cell): Cell[] {
  const isBoth = typeof own === "number" && typeof old === "number";
  const between = isBoth ? own - old : null;
  return [own, old, between, isBoth && old !== 0 ? (100 * between!) / Math.abs(old) : null];
}
