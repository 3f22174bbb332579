/** Which columns are shown, and how wide. What a user did to them is remembered by the table's name, for as long as the page lives. */
import { useMemo } from "preact/hooks";
import type { Cell } from "../api/types";
import { valueText } from "../base/format";
import { rankOf } from "../model/session";
import { cellWord, columnWord, rankWord, sliceWord } from "../words";
import { columnHint } from "../words/hints";
import { fit, leastOf, measure } from "./table_layout";
import { endOf, levelColumn, rowOf, type Column, type Rows } from "./table_model";
import type { TableOptions, TableRow } from "./table_options";

const LEAD_PX = 28;
const MEASURED_ROWS = 60;
const SERVICE_COLUMNS = ["slice", "level", "path", "lane", "tint", "row", "operator slice"];

/** What rows are found by. A figure with a unit is none, whatever its name: the share of the critical path. */
export const isService = (column: { name: string; unit: string }): boolean =>
  column.unit === "" && SERVICE_COLUMNS.includes(column.name);

/** What stands over a column. A name that ends in the unit of its column is the name without it: the unit stands beside it. */
export function headOf(column: { name: string; unit: string }, options: TableOptions): string {
  if (options.isPlain !== true) {
    return columnWord(column.name);
  }
  const end = endOf(column);
  const { name } = column;
  return column.unit !== "" && name.endsWith(end) ? name.slice(0, -end.length) : name;
}

/** What a column means, for the pointer on its head; "": its name says it. */
export const hintOf = (column: { name: string }, table: string, options: TableOptions): string =>
  options.hints?.[column.name] ?? (options.isPlain === true ? "" : columnHint(table, column.name));

/** Of a plain table as it is; else in the words of the page. */
export function cellText(
  row: TableRow,
  column: Column,
  { rankText, isPlain, nameOf }: Pick<TableOptions, "rankText" | "isPlain" | "nameOf">,
): string {
  const cell = row.cells[column.index] ?? null;
  if (column.name.toLowerCase() === "rank" && typeof cell === "string") {
    return rankText?.(cell) ?? rankWord(rankOf(cell)?.label ?? cell);
  }
  if (typeof cell !== "string" || isPlain === true) {
    return valueText(cell, column.shown);
  }
  if (column.name === "name" && nameOf !== undefined) {
    return nameOf(row);
  }
  return column.name === "name" ? sliceWord(cell) : cellWord(column.name, cell);
}

/** The first rows, and the last that are here: where numbers rise they are wider. */
const endsOf = <T>(rows: T[]): T[] =>
  rows.length <= 2 * MEASURED_ROWS
    ? rows
    : [...rows.slice(0, MEASURED_ROWS), ...rows.slice(-MEASURED_ROWS)];

/** The rows with the largest and the smallest number of each column: none is wider. */
export function extremesOf(rows: Cell[][], columns: readonly Column[]): Cell[][] {
  const found = new Set<Cell[]>();
  for (const { index, isNumber } of columns) {
    let least: Cell[] | null = null;
    let most: Cell[] | null = null;
    for (const row of isNumber ? rows : []) {
      const cell = row[index];
      if (typeof cell === "number") {
        least = least === null || cell < (least[index] as number) ? row : least;
        most = most === null || cell > (most[index] as number) ? row : most;
      }
    }
    [least, most].forEach((row) => row !== null && found.add(row));
  }
  return [...found];
}

interface Remembered {
  hidden: string[] | null;
  widths: Record<string, number>;
}

const remembered = new Map<string, Remembered>();

export interface ShownColumns {
  columns: Column[];
  hidden: string[];
  hide: (names: string[]) => void;
  /** Rows lead to the timeline: a column for the button. */
  canJump: boolean;
  widths: number[];
  /** null: as wide as its content again. */
  setWidth: (column: Column, width: number | null) => void;
  /** Of the grid. */
  template: string;
  widthPx: number;
  /** With less columns are cut. */
  leastPx: number;
}

export function useColumns(
  name: string,
  rows: Rows,
  options: TableOptions,
  roomPx: number,
  changed: () => void,
): ShownColumns {
  const own = remembered.get(name) ?? { hidden: null, widths: {} };
  const remember = (change: Partial<Remembered>): void => {
    remembered.set(name, { ...own, ...change });
    changed();
  };
  const service = options.isPlain === true ? [] : rows.columns.filter(isService).map((c) => c.name);
  const hidden = own.hidden ?? [...service, ...(options.hidden ?? [])];
  const columns = rows.columns.filter((c) => !hidden.includes(c.name));
  const measured = useMemo(
    () =>
      measure(
        rows.columns,
        [...endsOf(rows.loaded()), ...extremesOf(rows.loaded(), rows.columns)],
        (column) => headOf(column, options),
        (cells, column) => cellText(rowOf(cells, rows.columns), column, options),
        rows.table === null || options.isPlain === true ? -1 : levelColumn(rows.table),
      ),
    [rows.columns, rows.table], // another order has other rows, in as many pages
  );
  const canJump = options.jump?.isThere ?? rows.columns.some((c) => c.name === "slice");
  const lead = canJump ? LEAD_PX : 0;
  const widths = fit(columns, measured, own.widths, roomPx - lead);
  return {
    columns,
    hidden,
    hide: (names) => remember({ hidden: names }),
    canJump,
    widths,
    setWidth: (column, width) => {
      const others = Object.entries(own.widths).filter(([name]) => name !== column.name);
      const chosen = width === null ? [] : [[column.name, width] as const];
      remember({ widths: Object.fromEntries([...others, ...chosen]) });
    },
    template: `${canJump ? `${lead}px ` : ""}${widths.map((w) => `${w}px`).join(" ")}`,
    leastPx: lead + leastOf(columns, measured, own.widths),
    widthPx: lead + widths.reduce((a, b) => a + b, 0),
  };
}

/** The largest value of each column that has a bar, by the column's place; of percentages 100. */
export function mostOf(
  rows: Rows,
  columns: Column[],
  bars: Record<string, string> = {},
): Map<number, number> {
  const most = (column: Column): number =>
    column.shown.kind === "percent"
      ? 100
      : Math.max(...rows.loaded().map((r) => Number(r[column.index] ?? 0)), 0);
  return new Map(columns.filter((c) => bars[c.name] !== undefined).map((c) => [c.index, most(c)]));
}
