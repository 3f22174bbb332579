/** What pages ask the server for, and how they read tables. */
import { useEffect, useState } from "preact/hooks";
import { get, type Params } from "../api/client";
import type { Cell, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { cellText, language } from "../words";

export interface Reply<T> {
  data: T | null;
  error: unknown;
  /** What is shown is of what was asked before. */
  isLoading: boolean;
  retry: () => void;
}

/** Asks again when `key` changes; what was there stays until the answer is here. `ask` null: not yet. */
export function useReply<T>(
  of: string,
  ask: ((signal: AbortSignal) => Promise<T>) | null,
): Reply<T> {
  const key = `${useAtom(language)} ${of}`;
  const [state, setState] = useState<{ key: string; data: T | null; error: unknown }>({
    key: "",
    data: null,
    error: null,
  });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (ask === null) {
      return undefined;
    }
    const stop = new AbortController();
    ask(stop.signal).then(
      (data) => !stop.signal.aborted && setState({ key, data, error: null }),
      (error: unknown) => !stop.signal.aborted && setState({ key, data: null, error }),
    );
    return () => stop.abort();
  }, [key, attempt, ask === null]);
  return {
    data: state.data,
    error: state.key === key ? state.error : null,
    isLoading: state.key !== key,
    retry: () => setAttempt(attempt + 1),
  };
}

interface Several {
  tables: Table[];
  notes?: string[];
}

const LARGEST = 5000;

/** A table of an analysis (docs/serve-api.md, /api/mode) with all its rows; null where the analysis makes none of that name. */
export const modeTable = (
  mode: string,
  name: string,
  params: Params,
  signal: AbortSignal,
): Promise<Table | null> =>
  wholeTable("mode", { ...params, name: mode, table: name }, name, signal);

/** Which ranks each communicator of a capture has. */
export const groupMapping = (cluster: number, signal: AbortSignal): Promise<Table | null> =>
  modeTable("communication_group_map", "CommunicationGroupMapping", { cluster }, signal);

/** A table of the chart, as the Pipeline page has it: what the mode pp_chart makes of marks alone knows nothing of work beside them. */
export const chartTable = (
  name: string,
  params: Params,
  signal: AbortSignal,
): Promise<Table | null> => wholeTable("chart", { ...params, table: name }, name, signal);

/** All pages of a table, of a route that gives one or several; none where it gives none of that name. */
export async function eachPage(
  path: string,
  params: Params,
  name: string | null,
  signal: AbortSignal,
  take: (page: Table) => void,
): Promise<void> {
  for (let n = 0; ;) {
    const reply: Table | Several = await get<Table | Several>(
      path,
      { ...params, offset: n, limit: LARGEST },
      signal,
    );
    const page: Table | undefined =
      "tables" in reply ? reply.tables.find((t) => name === null || t.name === name) : reply;
    if (page === undefined) {
      return;
    }
    take(page);
    n += page.rows.length;
    if (page.rows.length === 0 || n >= page.total || "tables" in reply) {
      return;
    }
  }
}

/** A table with all its rows. Null: the route gives none of that name. */
export async function wholeTable(
  path: string,
  params: Params,
  name: string | null,
  signal: AbortSignal,
): Promise<Table | null> {
  let out: Table | null = null as Table | null;
  await eachPage(path, params, name, signal, (page) => {
    if (out === null) {
      out = page;
    } else {
      page.rows.forEach((row) => out!.rows.push(row));
    }
  });
  return out;
}

export const columnIndex = (table: Table, ...names: string[]): number =>
  table.columns.findIndex(([name]) =>
    names.some((n) => n.toLowerCase() === name.toLowerCase().replace(/_/g, " ")),
  );

/** Cells of the first column that has one of these names ("_" counts as a space). */
export function reader(table: Table, ...names: string[]): (row: Cell[]) => Cell {
  const at = columnIndex(table, ...names);
  const name = table.columns[at]?.[0] ?? "";
  return (row) => {
    const cell = row[at] ?? null;
    return typeof cell === "string" ? cellText(name, cell) : cell;
  };
}

/** Above this many ranks what reads all of them is worked out when asked for. */
export const MOST_UNASKED = 16;

export const IN_NS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** The same as ns, by the unit of the column; null where there is nothing. */
export function nsReader(table: Table, ...names: string[]): (row: Cell[]) => number | null {
  const at = columnIndex(table, ...names);
  const unit = IN_NS[table.columns[at]?.[2] ?? "ns"] ?? 1;
  return (row) => {
    const cell = at < 0 ? null : row[at];
    return typeof cell === "number" ? cell * unit : null;
  };
}

/** In the order in which people count. */
export const inOrder = (texts: Iterable<string>): string[] =>
  [...texts].sort(new Intl.Collator("en", { numeric: true }).compare);

/** Different texts of a column. */
export function choicesOf(table: Table | null, ...names: string[]): string[] {
  if (table === null) {
    return [];
  }
  const read = reader(table, ...names);
  return inOrder(
    new Set(
      table.rows
        .map(read)
        .filter((c): c is string | number => c !== null)
        .map(String),
    ),
  );
}
