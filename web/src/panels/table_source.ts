/** Rows of a data table from the server or from a table that is here, and the same as a file. */
import { address, get, getText, type Params } from "../api/client";
import type { Cell, Table } from "../api/types";
import { afterLanes } from "../model/lanes_first";
import {
  choose,
  columnsOf,
  csvOf,
  fileNameOf,
  filterOf,
  recordsOf,
  type FilterValue,
  type Query,
  type Source,
} from "./table_model";

/** At most this many rows at once (docs/serve-api.md). */
const LARGEST = 5000;

export interface TableSource {
  /** Which table it is, for those who read the document: what the server was asked, of a table that is made here its name. */
  of: string;
  rows: Source;
  /** All rows that the filter leaves, as a file. */
  file: (
    kind: "csv" | "json",
    query: Query,
    filter: Record<string, FilterValue>,
  ) => Promise<string>;
}

interface Several {
  tables: Table[];
}

const isSeveral = (reply: Table | Several): reply is Several => "tables" in reply;

/** Pages of a table that is here; its rows are put in order once for all pages of a query. */
function pagesOf(table: Table): (query: Query, offset: number, limit: number) => Table {
  const columns = columnsOf(table);
  let chosen: { query: Query; rows: Cell[][] } | null = null;
  return (query, offset, limit) => {
    if (chosen?.query !== query) {
      chosen = { query, rows: choose(table, columns, query) };
    }
    const { rows } = chosen;
    return { ...table, total: rows.length, offset, rows: rows.slice(offset, offset + limit) };
  };
}

export function localSource(table: Table): TableSource {
  const page = pagesOf(table);
  return {
    of: table.name,
    rows: (query, _filter, offset, limit) => Promise.resolve(page(query, offset, limit)),
    file: (kind, query) => {
      const names = table.columns.map(([name, , unit, isMoment]) =>
        fileNameOf({ name, unit, isMoment }),
      );
      const rows = choose(table, columnsOf(table), query);
      return Promise.resolve(kind === "csv" ? csvOf(names, rows) : recordsOf(names, rows));
    },
  };
}

const queryParams = (query: Query, filter: Record<string, FilterValue>): Params => ({
  sort: query.sort?.column,
  desc: query.sort?.desc,
  filter: Object.keys(filter).length > 0 ? JSON.stringify(filter) : undefined,
});

/** `pick`: of a reply of several tables, the one of that name. Several come whole: they are sorted here. */
export function remoteSource(path: string, params: Params, pick?: string): TableSource {
  let whole: Table | null = null;
  let page: ReturnType<typeof pagesOf> | null = null;
  const reply = async (extra: Params, signal?: AbortSignal): Promise<Table> => {
    await afterLanes();
    const got = await get<Table | Several>(path, { ...params, ...extra }, signal);
    if (!isSeveral(got)) {
      return got;
    }
    whole = got.tables.find((table) => table.name === pick) ??
      got.tables[0] ?? { name: pick ?? "", title: "", columns: [], total: 0, offset: 0, rows: [] };
    page = pagesOf(whole);
    return whole;
  };
  return {
    of: address(path, params) + (pick === undefined ? "" : `#${pick}`),
    rows: async (query, filter, offset, limit, signal) => {
      const table =
        whole ?? (await reply({ ...queryParams(query, filter), offset, limit }, signal));
      return page?.(query, offset, limit) ?? table;
    },
    file: (kind, query, filter) =>
      whole !== null
        ? localSource(whole).file(kind, query, filter)
        : getText(path, {
            ...params,
            ...queryParams(query, filter),
            format: kind === "csv" ? "csv" : "records",
          }),
  };
}

/** Every row, in the order of the table: for trees, and to copy. At most `most`. */
export async function everyRow(
  source: TableSource,
  query: Query,
  columns: Parameters<typeof filterOf>[1],
  most: number,
  signal: AbortSignal,
): Promise<Cell[][]> {
  const { values } = filterOf(query, columns);
  const out: Cell[][] = [];
  for (;;) {
    const table = await source.rows(
      query,
      values,
      out.length,
      Math.min(LARGEST, most - out.length),
      signal,
    );
    for (const row of table.rows) {
      out.push(row);
    }
    if (table.rows.length === 0 || out.length >= Math.min(table.total, most)) {
      return out;
    }
  }
}
