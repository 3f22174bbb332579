/** The logic below a data table, without a document: where rows come from, how a local table is sorted and filtered, trees. */
import type { Cell, ColumnType, Table } from "../api/types";
import type { TableRow } from "./table_options";
import {
  parseRange,
  sampleOf,
  samplesAlike,
  shownAs,
  withDigits,
  type Range,
  type Shown,
} from "../base/format";

export interface Column {
  name: string;
  type: ColumnType;
  unit: string;
  index: number;
  isNumber: boolean;
  /** Numbers of slices of the row's rank. */
  isSlice: boolean;
  /** ns that count from 1970. */
  isMoment: boolean;
  shown: Shown;
}

export interface Query {
  sort: { column: string; desc: boolean } | null;
  /** As typed, by column. */
  filter: Readonly<Record<string, string>>;
}

/** A text that cells contain, any case, or "=" and all of the cell; behind a "!" what is not so; of numbers a range. */
export type FilterValue = string | Range;

/** As typed, for cells that are exactly this. */
export const exactly = (text: string): string => `=${text}`;

/** What the server takes of a filter, and the columns whose text it cannot be made of. */
export function filterOf(
  query: Query,
  columns: Column[],
): { values: Record<string, FilterValue>; wrong: string[] } {
  const values: Record<string, FilterValue> = {};
  const wrong: string[] = [];
  for (const column of columns) {
    const typed = query.filter[column.name] ?? "";
    const text = /^!?=/.test(typed) && !column.isNumber ? typed : typed.trim();
    if (text === "") {
      continue;
    }
    const range = column.isNumber ? parseRange(text, column.shown) : null;
    if (!column.isNumber) {
      values[column.name] = text;
    } else if (range !== null) {
      values[column.name] = range;
    } else {
      wrong.push(column.name);
    }
  }
  return { values, wrong };
}

const unitOf = ([name, type, own]: Table["columns"][0]): string =>
  own !== "" || type === "text" ? own : (/\((ns|us|ms|MB|GB\/s)\)$/.exec(name)?.[1] ?? "");

/** The mean of something, its least, its most: all of one occurrence. */
const OF_EACH = /^(average|avg|mean|median|min|minimum|max|maximum|std|longest|shortest)(?![a-z])/;

/** A step and what it gains by something: one is subtracted from the other. */
const OF_STEP = /^(step( time| then)?|gain)$/;

const comparesSides = (table: Table): boolean =>
  ["new", "base"].every((side) => table.columns.some(([n]) => n === side));

/** Of a call what it took with all that it called, and without. */
const OF_CALL = /^(host|device) ?(total|self)(Ns)?$/i;

/** Numbers that are read against one another have one unit: a number, that of the baseline and what lies between them; mean, least and
 * most; steps and gains; total and self; of a comparison all of them. Gives what a column has in common with others. */
function familyOf(table: Table): (column: Table["columns"][0]) => string {
  const isComparison = comparesSides(table);
  return (column) => `${unitOf(column)} ${isComparison ? "" : quantityOf(column[0])}`;
}

const quantityOf = (name: string): string =>
  name
    .replace(/ (base|difference)$/, "")
    .replace(/^./, (letter) => letter.toLowerCase())
    .replace(OF_EACH, "each")
    .replace(OF_STEP, "step")
    .replace(OF_CALL, "$1 time");

/** A number of one side of a comparison, the same of the other and what lies between them have as many decimals: what they have in common. */
function sidelessOf(table: Table): (name: string) => string {
  const isComparison = comparesSides(table);
  return (name) =>
    isComparison && !/(^| )(new|base|lost)$/.test(name)
      ? `only ${name}`
      : name.replace(isComparison ? /(^| )(new|base|lost)$/ : / (base|difference)$/, "");
}

/** For each column the numbers that its digits suit: its own and those that it is read against. */
function numbersBeside(table: Table, own: number[][]): number[][] {
  const sideless = sidelessOf(table);
  const names = table.columns.map(([name]) => sideless(name));
  const by = new Map<string, number[]>();
  names.forEach((name, i) => by.set(name, [...(by.get(name) ?? []), ...own[i]]));
  return names.map((name) => by.get(name)!);
}

const numbersAt = (tables: readonly Table[], index: number): number[] =>
  tables.flatMap(({ rows }) =>
    rows.map((row) => row[index]).filter((v): v is number => typeof v === "number"),
  );

/** By family the numbers that its unit suits. */
function samplesOf(table: Table, own: number[][]): (column: Table["columns"][0]) => number[] {
  const family = familyOf(table);
  const families = new Map<string, { unit: string; columns: number[][] }>();
  table.columns.forEach((column, i) => {
    const columns = families.get(family(column))?.columns ?? [];
    families.set(family(column), { unit: unitOf(column), columns: [...columns, own[i]] });
  });
  const samples = new Map(
    [...families].map(([key, { unit, columns }]) => [
      key,
      { unit, sample: sampleOf(unit, columns) },
    ]),
  );
  for (const unit of new Set([...samples.values()].map((s) => s.unit))) {
    const alike = [...samples.values()].filter((s) => s.unit === unit);
    samplesAlike(
      unit,
      alike.map((s) => s.sample),
    ).forEach((sample, i) => (alike[i].sample = sample));
  }
  return (column) => samples.get(family(column))?.sample ?? [];
}

/** `alike`: tables of the same columns that are read against one another, this one among them: units suit the rows of all. */
export function columnsOf(table: Table, alike: readonly Table[] = []): Column[] {
  const tables = alike.length > 0 ? alike : [table];
  const own = table.columns.map(([, type], i) => (type === "text" ? [] : numbersAt(tables, i)));
  const sampleOf = samplesOf(table, own);
  const ofBoth = numbersBeside(table, own);
  return table.columns.map((column, index) => {
    const [name, type, , exact, of] = column;
    const unit = unitOf(column);
    const sample = type === "text" ? [] : sampleOf(column);
    return {
      name,
      type,
      unit,
      index,
      isNumber: type !== "text",
      isSlice: of === "slice",
      isMoment: exact && type === "int" && unit === "ns",
      shown: shownAs(name, type, unit, exact, sample, ofBoth[index]),
    };
  });
}

/** Columns with the digits that rows ask for which came later. The same list where they ask for none. */
function withRows(columns: Column[], table: Table): Column[] {
  const own = table.columns.map(([, type], i) => (type === "text" ? [] : numbersAt([table], i)));
  const ofBoth = numbersBeside(table, own);
  const next = columns.map((column) => {
    const shown = column.isNumber ? withDigits(column.shown, ofBoth[column.index]) : column.shown;
    return shown === column.shown ? column : { ...column, shown };
  });
  return next.every((column, i) => column === columns[i]) ? columns : next;
}

export const rowOf = (cells: Cell[], columns: readonly Column[]): TableRow => ({
  cells,
  get: (name) => cells[columns.find((c) => c.name === name)?.index ?? -1] ?? null,
});

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Nothing comes last, whichever way. */
export function compareCells(a: Cell, b: Cell, desc: boolean): number {
  if (a === null || b === null) {
    return a === b ? 0 : a === null ? 1 : -1;
  }
  const order =
    typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  return desc ? -order : order;
}

/** As the server does (src/serve/select/table_order.c). */
function passesText(cell: string, wanted: string): boolean {
  if (wanted.startsWith("!")) {
    return wanted === "!" || !passesText(cell, wanted.slice(1));
  }
  return wanted.startsWith("=")
    ? cell === wanted.slice(1)
    : cell.toLowerCase().includes(wanted.toLowerCase());
}

export function passes(
  row: Cell[],
  columns: Column[],
  values: Record<string, FilterValue>,
): boolean {
  return columns.every((column) => {
    const wanted = values[column.name];
    if (wanted === undefined) {
      return true;
    }
    const cell = row[column.index] ?? null;
    if (typeof wanted === "string") {
      return passesText(String(cell ?? ""), wanted);
    }
    return typeof cell === "number" && cell >= wanted[0] && cell <= wanted[1];
  });
}

/** The column that makes a table a tree: how deep a row is below the one above it. */
export const levelColumn = (table: Table): number =>
  table.columns.findIndex(([name, type]) => name.toLowerCase() === "level" && type === "int");

export interface TreeRow {
  cells: Cell[];
  depth: number;
  parent: number;
  hasChildren: boolean;
}

/** Rows of a tree by their level; a row belongs to the nearest one above with a smaller level. */
export function treeOf(rows: Cell[][], level: number): TreeRow[] {
  const path: number[] = [];
  const out: TreeRow[] = [];
  rows.forEach((cells, i) => {
    const own = Number(cells[level] ?? 0);
    while (path.length > 0 && Number(rows[path[path.length - 1]][level] ?? 0) >= own) {
      path.pop();
    }
    const parent = path[path.length - 1] ?? -1;
    if (parent >= 0) {
      out[parent].hasChildren = true;
    }
    out.push({ cells, depth: path.length, parent, hasChildren: false });
    path.push(i);
  });
  return out;
}

/** Rows that are looked over without scrolling far: a tree of so many is open. */
const SHORT_TREE = 40;

/** What is closed of a long tree before anybody has opened or closed a row: everything beside the heaviest path by that column. */
export function closedAtFirst(tree: TreeRow[], by: number): ReadonlySet<number> {
  if (tree.length <= SHORT_TREE || by < 0) {
    return new Set();
  }
  const heaviest = new Map<number, number>();
  const weight = (i: number): number => Number(tree[i].cells[by] ?? 0);
  tree.forEach(({ parent }, i) => {
    const most = heaviest.get(parent);
    if (most === undefined || weight(i) > weight(most)) {
      heaviest.set(parent, i);
    }
  });
  const closed = new Set(tree.flatMap((row, i) => (row.hasChildren ? [i] : [])));
  for (let at = heaviest.get(-1); at !== undefined; at = heaviest.get(at)) {
    closed.delete(at);
  }
  return closed;
}

/** The rows that a row lies in, from the nearest out. */
export function rowsAbove(tree: TreeRow[], at: number): number[] {
  const out: number[] = [];
  for (let up = tree[at]?.parent ?? -1; up >= 0; up = tree[up].parent) {
    out.push(up);
  }
  return out;
}

const INDENT_PX = 16;
const DEEP = 8;
const DEEP_PX = 4;
const MOST_DEEP = 16;

/** How far a row of a tree is indented: less for each level of those that lie deep, so that their names stay in sight. */
export const indentOf = (depth: number): number =>
  Math.min(depth, DEEP) * INDENT_PX + Math.max(0, Math.min(depth - DEEP, MOST_DEEP)) * DEEP_PX;

/** How many rows of a tree a filter keeps for what they say themselves. */
export function passingIn(tree: TreeRow[], columns: Column[], query: Query): number {
  const { values } = filterOf(query, columns);
  return tree.filter((row) => passes(row.cells, columns, values)).length;
}

/** What is seen of a tree: siblings in order, a row that the filter keeps with all above it, nothing below a closed one.
 * Gives places in `tree`. */
export function treeOrder(
  tree: TreeRow[],
  columns: Column[],
  query: Query,
  closed: ReadonlySet<number>,
): number[] {
  const { values } = filterOf(query, columns);
  const kept = tree.map((row) => passes(row.cells, columns, values));
  for (let i = tree.length - 1; i >= 0; i--) {
    if (kept[i] && tree[i].parent >= 0) {
      kept[tree[i].parent] = true;
    }
  }
  const children = new Map<number, number[]>();
  tree.forEach((row, i) => {
    if (kept[i]) {
      const own = children.get(row.parent) ?? [];
      own.push(i);
      children.set(row.parent, own);
    }
  });
  const { sort } = query;
  const by = sort === null ? undefined : columns.find((c) => c.name === sort.column);
  const out: number[] = [];
  const visit = (parent: number): void => {
    const own = children.get(parent) ?? [];
    if (by !== undefined && sort !== null) {
      own.sort(
        (a, b) =>
          compareCells(
            tree[a].cells[by.index] ?? null,
            tree[b].cells[by.index] ?? null,
            sort.desc,
          ) || a - b,
      );
    }
    for (const i of own) {
      out.push(i);
      if (!closed.has(i)) {
        visit(i);
      }
    }
  };
  visit(-1);
  return out;
}

/** Rows of a local table in the order and choice of the query. */
export function choose(table: Table, columns: Column[], query: Query): Cell[][] {
  const { values } = filterOf(query, columns);
  const rows = table.rows.filter((row) => passes(row, columns, values));
  const { sort } = query;
  const by = sort === null ? undefined : columns.find((c) => c.name === sort.column);
  if (by !== undefined && sort !== null) {
    rows.sort((a, b) => compareCells(a[by.index] ?? null, b[by.index] ?? null, sort.desc));
  }
  return rows;
}

/** A click on a header: the first order is the one that people want of that type, the third click is the order of the table. */
export function nextSort(query: Query, column: Column): Query["sort"] {
  const first = column.isNumber;
  if (query.sort?.column !== column.name) {
    return { column: column.name, desc: first };
  }
  return query.sort.desc === first ? { column: column.name, desc: !first } : null;
}

const quoted = (text: string): string =>
  /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

/** A text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay. As the server and the command write it. */
const harmless = (cell: string | number | boolean): string =>
  typeof cell === "string" &&
  cell.length > 1 &&
  /^[=+\-@\t\r]/.test(cell) &&
  !/^-\d+(\.\d+)?([eE][+-]?\d+)?$/.test(cell)
    ? `'${cell}`
    : String(cell);

/** Comma-separated, first line the names. */
export function csvOf(names: string[], rows: Cell[][]): string {
  return (
    [names, ...rows]
      .map((row) => row.map((cell) => (cell === null ? "" : quoted(harmless(cell)))).join(","))
      .join("\r\n") + "\r\n"
  );
}

export function tabbedOf(names: string[], rows: Cell[][]): string {
  const flat = (cell: Cell): string =>
    cell === null ? "" : String(cell).replace(/[\t\r\n]+/g, " ");
  return [names, ...rows].map((row) => row.map(flat).join("\t")).join("\n");
}

export function recordsOf(names: string[], rows: Cell[][]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? null]))),
    null,
    1,
  );
}

/** The unit as names of columns end in it. */
export const endOf = (column: { unit: string }): string =>
  `_${column.unit === "%" ? "percent" : column.unit}`;

/** Moments of a rank's slices; others count from elsewhere, and say so by their names. */
const MOMENTS = ["start", "release", "active release"];

/** Name of a column in files, as the program writes it: with the unit. `start_ns` is ns since 1970, as in SQL. */
export const fileNameOf = (column: { name: string; unit: string; isMoment?: boolean }): string => {
  const isRelative =
    column.unit === "ns" && column.isMoment !== true && MOMENTS.includes(column.name);
  const name = isRelative ? `${column.name}_relative` : column.name;
  return column.unit === "" || name.endsWith(endOf(column)) ? name : name + endOf(column);
};

export const CHUNK = 200;

/** Where rows come from: pages of a table in some order. */
export type Source = (
  query: Query,
  filter: Record<string, FilterValue>,
  offset: number,
  limit: number,
  signal: AbortSignal,
) => Promise<Table>;

/** Rows of a source, fetched as they come into sight and kept. What was there stays to be seen until the first page of a new
 * order is here. */
export class Rows {
  private chunks = new Map<number, Cell[][]>();
  private asked = new Map<number, AbortController>();
  private query: Query = { sort: null, filter: {} };
  private fresh = true;
  private generation = 0;
  table: Table | null = null;
  columns: Column[] = [];
  total = 0;
  error: unknown = null;

  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
  ) {}

  /** Waiting for the first page. */
  get isLoading(): boolean {
    return this.asked.has(0);
  }

  start(query: Query): void {
    this.query = query;
    this.generation++;
    for (const controller of this.asked.values()) {
      controller.abort();
    }
    this.asked.clear();
    this.fresh = true;
    this.error = null;
    this.fetch(0);
    this.changed();
  }

  stop(): void {
    this.generation++;
    for (const controller of this.asked.values()) {
      controller.abort();
    }
  }

  /** The page that is here is the whole table, in its own order. */
  get isWhole(): boolean {
    const { table, query } = this;
    return (
      table !== null &&
      table.rows.length === table.total &&
      query.sort === null &&
      Object.values(query.filter).every((text) => text === "")
    );
  }

  need(first: number, end: number): void {
    if (this.fresh || this.error !== null) {
      return;
    }
    for (
      let chunk = Math.floor(first / CHUNK);
      chunk * CHUNK < Math.min(end, this.total);
      chunk++
    ) {
      if (!this.chunks.has(chunk) && !this.asked.has(chunk)) {
        this.fetch(chunk);
      }
    }
    // Pages that were scrolled past and are still on their way make others wait.
    for (const [chunk, controller] of this.asked) {
      if ((chunk + 4) * CHUNK < first || (chunk - 4) * CHUNK > end) {
        controller.abort();
        this.asked.delete(chunk);
      }
    }
  }

  row(i: number): Cell[] | undefined {
    return this.chunks.get(Math.floor(i / CHUNK))?.[i % CHUNK];
  }

  /** Those that are here, in order. */
  loaded(): Cell[][] {
    return [...this.chunks.keys()]
      .sort((a, b) => a - b)
      .flatMap((chunk) => this.chunks.get(chunk)!);
  }

  private fetch(chunk: number): void {
    const controller = new AbortController();
    const generation = this.generation;
    this.asked.set(chunk, controller);
    const { values } = filterOf(this.query, this.columns);
    this.source(this.query, values, chunk * CHUNK, CHUNK, controller.signal).then(
      (table) => {
        if (generation === this.generation && this.asked.get(chunk) === controller) {
          this.asked.delete(chunk);
          this.take(chunk, table);
        }
      },
      (error: unknown) => {
        if (generation === this.generation && this.asked.get(chunk) === controller) {
          this.asked.delete(chunk);
          this.error = error;
          this.changed();
        }
      },
    );
  }

  private take(chunk: number, table: Table): void {
    if (this.columns.length === 0) {
      // What is typed into filters is understood by the columns that they are of.
      this.takeUnits(table);
      if (Object.keys(filterOf(this.query, this.columns).values).length > 0) {
        this.start(this.query);
        return;
      }
    }
    if (this.fresh) {
      this.fresh = false;
      this.chunks.clear();
    }
    const names = (of: Table): string => of.columns.map((c) => c.join()).join(";");
    const isOther = this.table !== null && names(this.table) !== names(table);
    if (isOther || (!this.hasUnits && chunk === 0 && this.loaded().length === 0)) {
      this.takeUnits(table);
    } else {
      this.columns = withRows(this.columns, table);
    }
    this.table = table;
    this.total = table.total;
    this.chunks.set(chunk, table.rows);
    this.changed();
  }

  /** Units were chosen by values that were there; they stay while the order changes and more rows come. */
  private hasUnits = false;
  private unitsFrom: Table | null = null;
  private alike: readonly Table[] = [];

  private takeUnits(table: Table): void {
    this.unitsFrom = table;
    this.columns = columnsOf(table, this.alike);
    this.hasUnits = table.rows.length > 0;
  }

  /** Tables that have one unit in each column with this one. */
  shareUnits(alike: readonly Table[]): void {
    if (alike !== this.alike) {
      this.alike = alike;
      this.columns = this.unitsFrom === null ? [] : columnsOf(this.unitsFrom, alike);
    }
  }
}
