/** The table of data: over a route of the server (`<DataTable path="view" params={{name: "overall", rank}} />`) or over a table that
 * is here (`<LocalTable table={...} />`). Only rows in sight are fetched and drawn.
 *
 * Headers sort, the row below them filters each column, columns can be hidden and made wider, rows be copied; all of it also
 * as csv and json. A column `level` makes a tree. A row with a column `slice` leads to the timeline. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Params } from "../api/client";
import type { Cell, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { offer, saveAs } from "../model/exports";
import { fail } from "../model/notices";
import { tab } from "../model/session";
import { language, t, viewTitle } from "../words";
import { Empty, Failed, Loading } from "./empty";
import { copyRows, jumpTo, MAX_COPIED } from "./table_actions";
import { TableBar } from "./table_bar";
import { headOf, hintOf, isService, mostOf, useColumns, type ShownColumns } from "./table_columns";
import { tableKey, useCursor, type Cursor } from "./table_cursor";
import { TableHead } from "./table_head";
import { ROW_PX, Scroller } from "./table_layout";
import { filterOf, nextSort, Rows, type Query } from "./table_model";
import type { TableOptions } from "./table_options";
import { isFiltered, useQuery, type QueryState } from "./table_query";
import { GridRow } from "./table_row";
import { everyRow, localSource, remoteSource, type TableSource } from "./table_source";
import { useShownRows, useTree, type ShownRows } from "./table_tree";

export type { TableRow } from "./table_options";

export interface DataTableProps extends TableOptions {
  path: string;
  params: Params;
  /** Of a reply of several tables, the one of that name. */
  pick?: string;
}

const FILTER_PX = 28;
/** Room for the sentence that there are none. */
const EMPTY_ROWS = 4;
const NONE_ALIKE: readonly Table[] = [];
/** Rows that are fetched before they come into sight, above and below. */
const AHEAD = { above: 20, below: 40 };

export function DataTable({ path, params, pick, ...options }: DataTableProps) {
  const key = JSON.stringify([path, params, pick, useAtom(language)]);
  const source = useMemo(() => remoteSource(path, params, pick), [key]);
  return (
    <Grid
      key={`${path} ${String(params.name ?? "")} ${pick ?? ""}`}
      source={source}
      {...options}
      rank={options.rank ?? (typeof params.rank === "string" ? params.rank : undefined)}
    />
  );
}

export function LocalTable({ table, ...options }: TableOptions & { table: Table }) {
  const source = useMemo(() => localSource(table), [table]);
  return <Grid key={table.name} source={source} {...options} />;
}

/** All that is known of a table while it is drawn. */
interface GridState {
  options: TableOptions;
  source: TableSource;
  rows: Rows;
  asked: QueryState;
  shown: ShownRows;
  columns: ShownColumns;
  cursor: Cursor;
  scroller: Scroller;
  /** Names it in files; and what stands over it, "" for nothing. */
  name: string;
  title: string;
  /** Rows in sight are first .. end - 1. */
  first: number;
  end: number;
  headPx: number;
  viewPx: number;
}

function Grid({ source, ...options }: TableOptions & { source: TableSource }) {
  const box = useRef<HTMLDivElement>(null);
  const state = useGrid(source, options, box);
  const { rows, asked } = state;
  useOffer(state, box);
  if (rows.table === null) {
    return rows.error === null ? (
      <Loading />
    ) : (
      <Failed error={rows.error} retry={() => rows.start(asked.query)} />
    );
  }
  return (
    <section
      class="table"
      data-table={source.of}
      aria-label={labelOf(state)}
      style={{ "--least": `${state.columns.leastPx}px` }}
    >
      <Bar {...state} />
      {rows.error !== null && <Failed error={rows.error} retry={() => rows.start(asked.query)} />}
      <Body state={state} box={box} />
    </section>
  );
}

const labelOf = ({ title, name }: GridState): string => (title !== "" ? title : name);

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

// --- state -------------------------------------------------------------------------------------------------------------

interface Box {
  current: HTMLDivElement | null;
}

function useGrid(source: TableSource, options: TableOptions, box: Box): GridState {
  useAtom(language);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const asked = useQuery(options);
  const rows = useMemo(() => new Rows(source.rows, () => redraw(0)), [source]);
  rows.shareUnits(options.alike ?? NONE_ALIKE);
  const tree = useTree(source, rows, options.isPlain === true);
  const shown = useShownRows(tree, rows, asked.query, options);
  const scroller = useMemo(() => new Scroller(() => redraw(0)), []);
  const cursor = useCursor(shown.total, (i) =>
    scroller.reveal(i * ROW_PX, (i + 1) * ROW_PX, box.current),
  );
  useEffect(() => {
    if (tree === null || rows.table === null) {
      rows.start(asked.query);
    }
    options.onQuery?.(asked.query);
    cursor.clear();
    scroller.toTop(box.current);
    return () => rows.stop();
  }, [rows, tree === null ? asked.query : null]);
  const { follow } = options;
  useEffect(() => {
    const i = follow === undefined ? -1 : placeOf(follow, shown, asked.query);
    if (i >= 0 && i !== cursor.at) {
      cursor.moveTo(i, false);
    }
  }, [follow?.key, follow?.at, rows.table]);
  useEffect(() => {
    if (rows.table !== null) {
      options.onTable?.(rows.table);
    }
  }, [rows.table]);
  const size = useSize(box, rows.table === null);
  const name = options.name ?? rows.table?.name ?? "table";
  const columns = useColumns(name, rows, options, size.width, () => redraw(0));
  const headPx = ROW_PX + (asked.filterShown ? FILTER_PX : 0);
  const viewPx = Math.max(0, size.height - headPx);
  scroller.layout(shown.total * ROW_PX, viewPx);
  useChosen(shown, rows, options, viewPx > 0, (row) =>
    scroller.reveal(row * ROW_PX, (row + 1) * ROW_PX, box.current),
  );
  const first = Math.max(0, Math.floor(scroller.at / ROW_PX));
  const end = Math.min(shown.total, Math.ceil((scroller.at + viewPx) / ROW_PX) + 1);
  useEffect(() => {
    if (tree === null) {
      rows.need(Math.max(0, first - AHEAD.above), end + AHEAD.below);
    }
  });
  const title = options.title ?? capital(rows.table === null ? "" : viewTitle(rows.table));
  const seen = { name, title, first, end, headPx, viewPx };
  return { options, source, rows, asked, shown, columns, cursor, scroller, ...seen };
}

/** Brings the chosen row of a tree into sight: when another is chosen, and in rows that are new. Without room there is nothing to bring it into yet. */
function useChosen(
  shown: ShownRows,
  rows: Rows,
  options: TableOptions,
  hasRoom: boolean,
  reveal: (row: number) => void,
): void {
  const wanted = options.tree?.chosen ?? null;
  const brought = useRef<{ rows: Rows; chosen: Cell } | null>(null);
  useEffect(() => {
    const isThere = brought.current?.rows === rows && brought.current.chosen === wanted;
    if (hasRoom && shown.chosen >= 0 && !isThere) {
      brought.current = { rows, chosen: wanted };
      reveal(shown.chosen);
    }
  }, [shown.chosen, wanted, rows, hasRoom]);
}

/** Which row is followed: of those that are here, else where the list has it as long as nobody ordered or filtered it; -1: none. */
function placeOf(
  { is, at }: NonNullable<TableOptions["follow"]>,
  shown: ShownRows,
  query: Query,
): number {
  for (let i = 0; i < shown.total; i++) {
    const row = shown.row(i);
    if (row !== null && is(row)) {
      return i;
    }
  }
  return query.sort === null && !isFiltered(query) && at < shown.total ? at : -1;
}

/** Of the box, once it is there. */
function useSize(box: Box, isMissing: boolean): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (box.current === null) {
      return undefined;
    }
    const observer = new ResizeObserver(
      ([entry]) =>
        entry !== undefined &&
        setSize({ width: entry.contentRect.width, height: entry.contentRect.height }),
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isMissing]);
  return size;
}

/** The page's menu of files has the table while it is seen. */
function useOffer(state: GridState, box: Box): void {
  const { rows, asked, source } = state;
  useEffect(() => {
    if (rows.table === null) {
      return undefined;
    }
    return offer({
      tab: tab.get(),
      title: () => labelOf(state),
      kinds: ["csv", "json"],
      make: (kind) => fileOf(state, kind === "csv" ? "csv" : "json"),
      isOff: () => box.current?.offsetParent == null,
    });
  }, [rows.table === null, state.title, asked.query, source]);
}

// --- what is done with it ----------------------------------------------------------------------------------------------

const fileOf = ({ source, asked, rows }: GridState, kind: "csv" | "json"): Promise<string> =>
  source.file(kind, asked.query, filterOf(asked.query, rows.columns).values);

function act({ shown, columns, options }: GridState, i: number, how: "click" | "open"): void {
  const row = shown.row(i);
  if (row === null) {
    return;
  }
  options.onRow?.(row);
  const leads = how === "open" || (options.onRow === undefined && tab.get() === "timeline");
  if (columns.canJump && leads) {
    if (options.jump === undefined) {
      void jumpTo(row, options.rank);
    } else if (options.jump.can(row)) {
      options.jump.to(row);
    }
  }
}

const cellsOf = (shown: ShownRows, first: number, last: number): Cell[][] =>
  range(first, last)
    .map(shown.cells)
    .filter((r): r is Cell[] => r !== undefined);

function copyChosen({ shown, columns, cursor }: GridState): void {
  if (cursor.chosen !== null) {
    const rows = cellsOf(shown, ...cursor.chosen);
    void copyRows(Promise.resolve(rows), columns.columns, rows.length);
  }
}

function copyAll({ shown, source, asked, rows, columns }: GridState): void {
  const all = shown.isTree
    ? Promise.resolve(cellsOf(shown, 0, shown.total - 1))
    : everyRow(source, asked.query, rows.columns, MAX_COPIED, new AbortController().signal);
  void copyRows(all, columns.columns, shown.total);
}

function range(from: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - from + 1) }, (_, i) => from + i);
}

// --- parts -------------------------------------------------------------------------------------------------------------

function Bar(state: GridState) {
  const { rows, asked, columns, options } = state;
  return (
    <TableBar
      title={state.title}
      total={isFiltered(asked.query) ? state.shown.passing : state.shown.total}
      notes={rows.table?.notes ?? []}
      isFiltered={isFiltered(asked.query)}
      columns={rows.columns.filter((c) => options.isPlain === true || !isService(c))}
      wordOf={(column) => headOf(column, options)}
      hidden={columns.hidden}
      setHidden={columns.hide}
      filterShown={asked.filterShown}
      setFilterShown={asked.showFilter}
      canReset={asked.canReset}
      reset={asked.reset}
      copy={() => copyAll(state)}
      save={(kind) =>
        void fileOf(state, kind).then((text) => saveAs(labelOf(state), kind, text), fail)
      }
    />
  );
}

function Body({ state, box }: { state: GridState; box: Box }) {
  const { rows, shown, cursor, columns, scroller, options } = state;
  // An element that is new, or was made shorter, may stand elsewhere before any event says so.
  useLayoutEffect(() => {
    if (box.current !== null) {
      scroller.scrolled(box.current);
    }
  });
  const key = (e: KeyboardEvent): void =>
    tableKey(e, {
      cursor,
      total: shown.total,
      page: Math.max(1, Math.floor(state.viewPx / ROW_PX) - 1),
      open: (i) => act(state, i, "open"),
      toggle: shown.isTree ? shown.toggle : null,
      copy: () => copyChosen(state),
    });
  const isEntered = (e: FocusEvent): boolean =>
    e.target === e.currentTarget &&
    cursor.at < 0 &&
    shown.total > 0 &&
    (e.currentTarget as HTMLElement).matches(":focus-visible");
  return (
    <div
      ref={box}
      class={rows.isLoading ? "grid waiting" : "grid"}
      role={shown.isTree ? "treegrid" : "grid"}
      aria-rowcount={shown.total + 1}
      aria-colcount={columns.columns.length}
      aria-busy={rows.isLoading}
      aria-label={labelOf(state)}
      tabIndex={0}
      style={heightOf(state)}
      onScroll={(e) => scroller.scrolled(e.currentTarget)}
      onWheel={(e) => scroller.wheel(e, e.currentTarget)}
      onKeyDown={key}
      onFocus={(e) => isEntered(e) && cursor.moveTo(state.first, false)}
      onPointerLeave={() => options.onHover?.(null)}
    >
      <div class="grid-inner" style={{ width: `${columns.widthPx}px` }}>
        <Head {...state} />
        <div class="grid-space" style={{ height: `${scroller.spacePx}px` }}>
          <SeenRows {...state} />
        </div>
      </div>
      {shown.total === 0 && !rows.isLoading && (
        <None query={state.asked.query} empty={options.empty} />
      )}
    </div>
  );
}

/** Windows that are higher than that have higher tables. */
const USUAL_WINDOW_PX = 1000;

/** As high as its rows, up to so many; not limited: as its place is. */
function heightOf({ options, shown, headPx }: GridState): Record<string, string> {
  if (options.maxRows === undefined) {
    return {};
  }
  const most = Math.floor(options.maxRows * Math.max(1, innerHeight / USUAL_WINDOW_PX));
  const n = shown.total === 0 ? EMPTY_ROWS : Math.max(2, Math.min(most, shown.total));
  return { height: `${headPx + n * ROW_PX + 2}px`, flex: "none" };
}

function Head({ rows, asked, columns, options }: GridState) {
  const { query } = asked;
  return (
    <TableHead
      columns={columns.columns}
      query={query}
      template={columns.template}
      wordOf={(column) => headOf(column, options)}
      hintOf={(column) => hintOf(column, rows.table?.name ?? "", options)}
      hasLead={columns.canJump}
      filterShown={asked.filterShown}
      firstFilter={asked.firstFilter}
      wrong={filterOf(query, rows.columns).wrong}
      onSort={(column) => asked.set({ ...query, sort: nextSort(query, column) })}
      onFilter={(column, text) =>
        asked.set({ ...query, filter: { ...query.filter, [column.name]: text } })
      }
      widths={columns.widths}
      onWidth={columns.setWidth}
    />
  );
}

function SeenRows(state: GridState) {
  const { rows, shown, columns, cursor, scroller, options } = state;
  const { chosen } = cursor;
  const most = mostOf(rows, columns.columns, options.bars);
  const click = (i: number, extend: boolean): void => {
    cursor.moveTo(i, extend);
    if (!extend) {
      act(state, i, "click");
    }
  };
  return (
    <>
      {range(state.first, state.end - 1).map((i) => (
        <GridRow
          key={i}
          row={shown.row(i)}
          table={rows.table?.name ?? ""}
          index={i}
          top={scroller.topOf(i * ROW_PX)}
          columns={columns.columns}
          template={columns.template}
          hasLead={columns.canJump}
          isChosen={chosen !== null && i >= chosen[0] && i <= chosen[1]}
          isFocus={i === cursor.at}
          branch={shown.branch(i)}
          options={options}
          most={most}
          onClick={(extend) => click(i, extend)}
          onOpen={() => act(state, i, "open")}
          onToggle={(open, isDeep) => shown.toggle(i, open, isDeep)}
        />
      ))}
    </>
  );
}

function None({ query, empty }: { query: Query; empty: TableOptions["empty"] }) {
  return (
    <div class="grid-none">
      {isFiltered(query) ? (
        <Empty title={t("table.none-left")} />
      ) : (
        (empty ?? <Empty title={t("table.none")} />)
      )}
    </div>
  );
}
