/** The curves of the Memory page from the table memory_curve, without a document. */
import { cellWord } from "../words";
import { byteUnit } from "../base/format";
import type { Table } from "../api/types";
import { reader } from "./data";

export interface Line {
  name: string;
  owner: string;
  what: string;
  /** Bytes; null: nothing is known at that time. */
  values: (number | null)[];
}

export interface CurveData {
  /** ns from the rank's origin, ascending. */
  x: number[];
  lines: Line[];
}

/** Series of the table on one axis of times. */
export function curvesOf(table: Table): CurveData {
  const [series, owner, what, device, time, value] = [
    "series",
    "owner",
    "what",
    "device",
    "time",
    "value",
  ].map((name) => reader(table, name)) as [
    ReturnType<typeof reader>,
    ReturnType<typeof reader>,
    ReturnType<typeof reader>,
    ReturnType<typeof reader>,
    ReturnType<typeof reader>,
    ReturnType<typeof reader>,
  ];
  const devices = new Set(table.rows.map(device).filter((d) => d !== null));
  const x = [
    ...new Set(table.rows.map(time).filter((v): v is number => typeof v === "number")),
  ].sort((a, b) => a - b);
  const place = new Map(x.map((v, i) => [v, i]));
  const by = new Map<number, Line>();
  for (const row of table.rows) {
    const at = place.get(Number(time(row)));
    if (at === undefined) {
      continue;
    }
    const key = Number(series(row));
    let line = by.get(key);
    if (line === undefined) {
      const parts = [
        cellWord("owner", String(owner(row) ?? "")),
        cellWord("what", String(what(row) ?? "")),
        devices.size > 1 && device(row) !== null ? `device ${device(row)}` : null,
      ];
      line = {
        name: parts.filter((p) => p !== null && p !== "").join(" "),
        owner: String(owner(row) ?? ""),
        what: String(what(row) ?? ""),
        values: new Array<number | null>(x.length).fill(null),
      };
      by.set(key, line);
    }
    const cell = value(row);
    line.values[at] = typeof cell === "number" ? cell : null;
  }
  const lines = [...by.values()];
  lines.forEach((line) => hold(line.values));
  return { x, lines };
}

/** What a curve said last holds until something else is said, also where others end later. Before its first value nothing is known. */
function hold(values: (number | null)[]): void {
  for (let i = 1; i < values.length; i++) {
    values[i] ??= values[i - 1];
  }
}

/** The unit in which the largest value reads well. */
export function unitOf(lines: Line[]): { name: string; bytes: number } {
  let most = 0;
  for (const line of lines) {
    for (const v of line.values) {
      most = Math.max(most, v ?? 0);
    }
  }
  const { unit, size } = byteUnit(most / 10); // 2 GiB are 2048 MiB: curves that differ by little are told apart
  return { name: unit, bytes: size };
}

/** The series of both: those of the baseline behind the others, their times moved by `shift` ns. */
export function curvesBeside(now: Table, base: Table, shift: number, word: string): CurveData {
  const at = (table: Table, name: string): number =>
    table.columns.findIndex(([column]) => column === name);
  const [series, what, time] = ["series", "what", "time"].map((name) => at(base, name));
  const first = 1 + Math.max(-1, ...now.rows.map((row) => Number(row[at(now, "series")])));
  const moved = base.rows.map((row) =>
    row.map((cell, i) =>
      i === series
        ? Number(cell) + first
        : i === time && typeof cell === "number"
          ? cell + shift
          : i === what
            ? `${cellWord("what", String(cell))} ${word}`
            : cell,
    ),
  );
  return curvesOf({ ...now, rows: [...now.rows, ...moved] });
}
