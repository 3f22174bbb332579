/** The curves of the Memory page from the table memory_curve, without a document. */
import { cellWord, t } from "../words";
import { byteUnit } from "../base/format";
import { moment, significant } from "../base/time";
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

/** The unit in which the largest value reads well: 2 GiB are 2048 MiB, so that values that differ by little are told apart. */
const unitFor = (most: number) => byteUnit(most / 10);

export function unitOf(lines: Line[]): { name: string; bytes: number } {
  let most = 0;
  for (const line of lines) {
    for (const v of line.values) {
      most = Math.max(most, v ?? 0);
    }
  }
  const { unit, size } = unitFor(most);
  return { name: unit, bytes: size };
}

/** Sizes that add up, in the unit of the curves. */
function bytesAlike(bytes: number[]): string[] {
  const { unit, size } = unitFor(Math.max(...bytes));
  return bytes.map((b) => `${significant(Math.abs(b) / size)} ${unit}`);
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

/** The moment that a click about these points of the curves means: where most is allocated. */
export function peakAbout({ x, lines }: CurveData, from: number, to: number): number {
  const counts = lines.filter((l) => l.what === "allocated");
  const of = counts.length > 0 ? counts : lines;
  const sum = (i: number): number => of.reduce((n, l) => n + (l.values[i] ?? 0), 0);
  let best = from;
  for (let i = from + 1; i <= to; i++) {
    best = sum(i) > sum(best) ? i : best;
  }
  return x[best];
}

/** At which what memory_held says is held. */
export const momentsOf = (held: Table | null): number[] =>
  (held?.rows ?? [])
    .map((row) => reader(held!, "time")(row))
    .filter((v): v is number => typeof v === "number");

/** What memory_held says, a sentence each device: how much is held, and how it goes with the curve. `at`: the moment that was asked
 * for; null: the peak. */
export function heldLines(held: Table, at: number | null): string[] {
  const of = (row: Table["rows"][0], name: string) => reader(held, name)(row);
  return held.rows.map((row) => {
    const [time, allocated, rest] = ["time", "allocated", "unexplained"].map((name) =>
      of(row, name),
    );
    const when =
      typeof time !== "number"
        ? t("memory.at-end")
        : t(
            at === null && allocated !== null ? "memory.at-peak" : "memory.at-moment",
            moment(time),
          );
    const owner = cellWord("owner", String(of(row, "owner") ?? ""));
    const bytes = bytesAlike([of(row, "held"), allocated, rest].map(Number));
    const sum = t("memory.held-sum", owner, when, bytes[0], String(of(row, "number"))).trim();
    if (typeof allocated !== "number" || typeof rest !== "number") {
      return `${sum}.`;
    }
    const curve =
      rest === 0
        ? t("memory.held-all")
        : t(rest > 0 ? "memory.held-curve" : "memory.held-more", bytes[1], bytes[2]);
    return `${sum}, ${curve}.`;
  });
}
