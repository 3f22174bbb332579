/** Columns of a result as points of a plot. Without a document. */
import type { Cell } from "../api/types";
import { valueText } from "../base/format";
import { short } from "../base/time";
import type { PlotAxis } from "../panels/chart_plot";
import type { Column } from "../panels/table_model";

export interface Points {
  x: number[];
  y: (number | null)[];
  /** The row of each point. */
  rows: Cell[][];
  of: { x: PlotAxis; y: PlotAxis };
}

const numberOf = (cell: Cell): number | null =>
  cell === null || cell === "" || !Number.isFinite(Number(cell)) ? null : Number(cell);

/** Moments count from the first one, since a number of the page does not hold their digits. */
function fromFirst(rows: Cell[][], column: Column): (number | null)[] {
  const all = rows.map((row) => {
    const cell = row[column.index] ?? null;
    return cell === null ? null : BigInt(cell);
  });
  const first = all.reduce<bigint | null>(
    (least, m) => (m !== null && (least === null || m < least) ? m : least),
    null,
  );
  return all.map((m) => (m === null || first === null ? null : Number(m - first)));
}

const TIMES: [unit: string, ns: number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

interface Values {
  values: (number | null)[];
  axis: PlotAxis;
}

function valuesOf(rows: Cell[][], column: Column): Values {
  if (column.isMoment) {
    const ns = fromFirst(rows, column);
    const most = Math.max(0, ...ns.map((v) => v ?? 0));
    const [unit, size] = TIMES.find(([, each]) => most >= each) ?? TIMES[3];
    return {
      values: ns.map((v) => (v === null ? null : v / size)),
      axis: { name: column.name, unit, text: short },
    };
  }
  const per = column.shown.per;
  return {
    values: rows.map((row) => {
      const value = numberOf(row[column.index] ?? null);
      return value === null ? null : value / per;
    }),
    axis: { name: column.name, unit: column.shown.unit, text: short },
  };
}

/** Texts, or rows in their order: one place after the other, each with its text. */
function placesOf(rows: Cell[][], column: Column | null): Values {
  const texts = rows.map((row, i) =>
    column === null ? String(i + 1) : valueText(row[column.index] ?? null, column.shown),
  );
  return {
    values: rows.map((_, i) => i),
    axis: {
      name: column?.name ?? "",
      unit: "",
      text: (v) => (Number.isInteger(v) ? cutText(texts[v] ?? "") : ""),
      mostLetters: Math.min(MOST_LETTERS, Math.max(0, ...texts.map((text) => text.length))),
    },
  };
}

const MOST_LETTERS = 24;
const cutText = (text: string): string =>
  text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;

/** `x` null: the rows in their order. Bars stand in the order of the rows where x is text, else by x; rows without x or y are left out. */
export function pointsOf(rows: Cell[][], x: Column | null, y: Column): Points {
  const xs = x?.isNumber === true ? valuesOf(rows, x) : placesOf(rows, x);
  const ys = valuesOf(rows, y);
  const order = rows
    .map((_, i) => i)
    .filter((i) => xs.values[i] !== null && ys.values[i] !== null)
    .sort((a, b) => xs.values[a]! - xs.values[b]! || a - b);
  return {
    x: order.map((i) => xs.values[i]!),
    y: order.map((i) => ys.values[i]),
    rows: order.map((i) => rows[i]),
    of: { x: xs.axis, y: ys.axis },
  };
}

/** What is plotted at first: the first number that is no name of something, against the first other column. */
export function firstChoice(columns: Column[]): { x: string; y: string } | null {
  const isFigure = (c: Column): boolean =>
    c.isNumber && !c.isSlice && !c.isMoment && c.shown.kind !== "plain";
  const y = columns.find(isFigure) ?? columns.find((c) => c.isNumber && !c.isSlice);
  const x = columns.find((c) => c !== y && !isFigure(c)) ?? columns.find((c) => c !== y);
  return y === undefined ? null : { x: x?.name ?? "", y: y.name };
}
