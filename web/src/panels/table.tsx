/** The table of data: over a route of the server (`<DataTable path="view" params={{name: "overall", rank}} />`) or over a table that
 * is here (`<LocalTable table={...} />`). Only rows in sight are fetched and drawn.
 *
 * Headers sort, the row below them filters each column, columns can be hidden and made wider, rows be copied; all of it also
 * as csv and json. A column `level` makes a tree. A row with a column `slice` leads to the timeline. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { get, type Params } from "../api/client";
import type { Cell, Ref, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { exactText, grouped, valueText } from "../base/format";
import { offer, saveAs } from "../model/exports";
import { fail, notify } from "../model/notices";
import { rankOf, ranks, show, tab } from "../model/session";
import { language, t, viewTitle } from "../words";
import { Empty, Failed, Loading } from "./empty";
import { Icon } from "./icons";
import { fit, measure, ROW_PX, Scroller } from "./table_layout";
import { TableBar } from "./table_bar";
import { TableHead } from "./table_head";
import { keepTableState, sameQuery, tableStates } from "./table_state";
import {
  filterOf,
  levelColumn,
  nextSort,
  Rows,
  tabbedOf,
  treeOf,
  treeOrder,
  type Column,
  type Query,
  type TreeRow,
} from "./table_model";
import { everyRow, localSource, remoteSource, type TableSource } from "./table_source";

/** A row, for those who are told of clicks. */
export interface TableRow {
  cells: Cell[];
  /** The cell of a column, null where there is no such column. */
  get: (column: string) => Cell;
}

export interface TableOptions {
  /** Over the table; else the title that it has. "" for none. */
  title?: string;
  /** Names the table in files and remembers its columns; else the name that it has. */
  name?: string;
  /** Called with a row that was clicked, or on which Enter was pressed. */
  onRow?: (row: TableRow) => void;
  /** Called with the row under the pointer, null when it leaves. */
  onHover?: (row: TableRow | null) => void;
  /** Marks rows that something else has chosen. */
  isMarked?: (row: TableRow) => boolean;
  /** Key of the rank of rows that have no column `rank`. */
  rank?: string | undefined;
  /** Columns that are hidden at first. */
  hidden?: string[];
  /** Columns that have a bar behind their numbers; the value is a colour variable ("--computing"). */
  bars?: Record<string, string>;
  sort?: { column: string; desc: boolean };
  /** By column, as typed. */
  filter?: Record<string, string>;
  onQuery?: (query: Query) => void;
  /** The address remembers order and filters under this key. */
  urlKey?: string;
  /** What stands there instead of no rows. */
  empty?: ComponentChildren;
  /** Rows at most before it scrolls by itself; not given: it fills the room that it has. */
  maxRows?: number;
  /** Tells the page what came. */
  onTable?: (table: Table) => void;
}

export interface DataTableProps extends TableOptions {
  path: string;
  params: Params;
  /** Of a reply of several tables, the one of that name. */
  pick?: string;
}

/** Most rows that go to the clipboard. */
const MAX_COPIED = 20_000;
const MAX_TREE = 200_000;
/** Room for the sentence that there are none. */
const EMPTY_ROWS = 4;
const SERVICE_COLUMNS = ["slice", "level", "path", "lane", "tint", "row", "operator slice"];
/** What rows are found by. A figure with a unit is none, whatever its name: the share of the critical path. */
const isService = (column: { name: string; unit: string }): boolean =>
  column.unit === "" && SERVICE_COLUMNS.includes(column.name);

export function DataTable({ path, params, pick, ...options }: DataTableProps) {
  const key = JSON.stringify([path, params, pick]);
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

/** Leads to the slice of a row. `rank` of a row may be its key or its number. */
export async function jumpTo(row: TableRow, fallback: string | undefined): Promise<void> {
  const slice = row.get("slice");
  if (slice === null) {
    return;
  }
  const named = row.get("rank") ?? row.get("Rank");
  const known =
    named === null
      ? undefined
      : (rankOf(String(named)) ??
        ranks.get().find((r) => r.label === String(named) || String(r.rank) === String(named)));
  const rank = known?.key ?? fallback;
  if (rank !== undefined) {
    try {
      show(await get<Ref>("slice", { rank, slice: Number(slice) }));
    } catch (error) {
      fail(error);
    }
  }
}

/** What a user did to a table of that name, for as long as the page lives. */
const remembered = new Map<string, { hidden: string[] | null; widths: Record<string, number> }>();

interface GridProps extends TableOptions {
  source: TableSource;
}

function Grid({ source, ...options }: GridProps) {
  useAtom(language);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const initial: Query = { sort: options.sort ?? null, filter: options.filter ?? {} };
  const kept = useAtom(tableStates)[options.urlKey ?? ""];
  const [query, setOwn] = useState<Query>(kept ?? initial);
  const setQuery = (next: Query): void => {
    setOwn(next);
    if (options.urlKey !== undefined) {
      keepTableState(options.urlKey, next, initial);
    }
  };
  // The user went back in the history.
  useEffect(() => {
    const now = kept ?? initial;
    if (options.urlKey !== undefined && !sameQuery(now, query)) {
      setOwn(now);
      setFilterShown(Object.keys(now.filter).length > 0);
    }
  }, [kept]);
  const rows = useMemo(() => new Rows(source.rows, () => redraw(0)), [source]);
  const tree = useTree(source, rows);
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const [filterShown, setFilterShown] = useState(Object.keys(query.filter).length > 0);
  const [focus, setFocus] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const box = useRef<HTMLDivElement>(null);
  const scroller = useMemo(() => new Scroller(() => redraw(0)), []);

  useEffect(() => {
    if (tree === null || rows.table === null) {
      rows.start(query);
    }
    options.onQuery?.(query);
    setFocus(-1);
    setAnchor(-1);
    scroller.toTop(box.current);
    return () => rows.stop();
  }, [rows, tree === null ? query : null]);
  useEffect(() => {
    if (rows.table !== null) {
      options.onTable?.(rows.table);
    }
  }, [rows.table]);
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
  }, [rows.table === null]);

  const name = options.name ?? rows.table?.name ?? "table";
  const own = remembered.get(name) ?? { hidden: null, widths: {} };
  const remember = (change: Partial<typeof own>): void => {
    remembered.set(name, { ...own, ...change });
    redraw(0);
  };
  const hidden = own.hidden ?? [
    ...rows.columns.filter(isService).map((c) => c.name),
    ...(options.hidden ?? []),
  ];
  const columns = rows.columns.filter((c) => !hidden.includes(c.name));
  const measured = useMemo(
    () => measure(rows.columns, rows.loaded().slice(0, 60), cellText),
    [rows.columns, rows.columns.length > 0 && rows.row(0) !== undefined],
  );
  const order = useMemo(
    () => (tree === null ? null : treeOrder(tree, rows.columns, query, closed)),
    [tree, rows.columns, query, closed],
  );
  const total = order?.length ?? rows.total;
  const canJump = rows.columns.some((c) => c.name === "slice");
  const lead = canJump ? 28 : 0;
  const widths = fit(columns, measured, own.widths, size.width - lead);
  const template = `${lead > 0 ? `${lead}px ` : ""}${widths.map((w) => `${w}px`).join(" ")}`;
  const headPx = ROW_PX + (filterShown ? 28 : 0);
  const viewPx = Math.max(0, size.height - headPx);
  scroller.layout(total * ROW_PX, viewPx);
  const first = Math.max(0, Math.floor(scroller.at / ROW_PX));
  const end = Math.min(total, Math.ceil((scroller.at + viewPx) / ROW_PX) + 1);

  useEffect(() => {
    if (tree === null) {
      rows.need(Math.max(0, first - 20), end + 40);
    }
  });

  const cellsAt = (i: number): Cell[] | undefined =>
    order === null ? rows.row(i) : tree![order[i] ?? -1]?.cells;
  const rowAt = (i: number): TableRow | null => {
    const cells = cellsAt(i);
    return cells === undefined
      ? null
      : {
          cells,
          get: (column) => cells[rows.columns.find((c) => c.name === column)?.index ?? -1] ?? null,
        };
  };
  const toggle = (i: number, open: boolean): void => {
    const at = order?.[i];
    if (at !== undefined && tree![at].hasChildren) {
      const next = new Set(closed);
      if (open) {
        next.delete(at);
      } else {
        next.add(at);
      }
      setClosed(next);
    }
  };
  const act = (i: number, how: "click" | "open"): void => {
    const row = rowAt(i);
    if (row === null) {
      return;
    }
    options.onRow?.(row);
    if (canJump && (how === "open" || (options.onRow === undefined && tab.get() === "timeline"))) {
      void jumpTo(row, options.rank);
    }
  };
  const moveTo = (i: number, extend: boolean): void => {
    const to = Math.max(0, Math.min(total - 1, i));
    setFocus(to);
    if (!extend) {
      setAnchor(to);
    }
    scroller.reveal(to * ROW_PX, (to + 1) * ROW_PX, box.current);
  };
  const copy = async (only: boolean): Promise<void> => {
    const shown = columns.map((c) => c.index);
    const names = columns.map((c) => (c.unit === "" ? c.name : `${c.name} (${c.unit})`));
    try {
      const all = only
        ? range(anchor, focus)
            .map(cellsAt)
            .filter((r): r is Cell[] => r !== undefined)
        : order !== null
          ? order.map((i) => tree![i].cells)
          : await everyRow(source, query, rows.columns, MAX_COPIED, new AbortController().signal);
      await navigator.clipboard.writeText(
        tabbedOf(
          names,
          all.map((r) => shown.map((i) => r[i] ?? null)),
        ),
      );
      notify(
        "info",
        all.length < total && !only
          ? t("table.copied-some", grouped(String(all.length)), grouped(String(total)))
          : t("table.copied", grouped(String(all.length))),
      );
    } catch (error) {
      fail(error);
    }
  };
  const save = async (kind: "csv" | "json"): Promise<string> =>
    source.file(kind, query, filterOf(query, rows.columns).values);
  const title = options.title ?? capital(rows.table === null ? "" : viewTitle(rows.table));

  useEffect(() => {
    if (rows.table === null) {
      return undefined;
    }
    return offer({
      tab: tab.get(),
      title: () => (title !== "" ? title : name),
      kinds: ["csv", "json"],
      make: (kind) => save(kind === "csv" ? "csv" : "json"),
      isOff: () => box.current?.offsetParent == null,
    });
  }, [rows.table === null, title, query, source]);

  const key = (e: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(viewPx / ROW_PX) - 1);
    const moves: Record<string, number> = {
      ArrowDown: focus + 1,
      ArrowUp: focus - 1,
      PageDown: focus + page,
      PageUp: focus - page,
      Home: 0,
      End: total - 1,
    };
    if ((e.target as HTMLElement).tagName === "INPUT") {
      return;
    }
    const to = moves[e.key];
    if (to !== undefined && !e.ctrlKey && !e.altKey && !e.metaKey) {
      moveTo(to, e.shiftKey);
    } else if (e.key === "Enter" && focus >= 0 && (e.target as HTMLElement).tagName !== "BUTTON") {
      act(focus, "open");
    } else if ((e.key === "ArrowLeft" || e.key === "ArrowRight") && order !== null && focus >= 0) {
      toggle(focus, e.key === "ArrowRight");
    } else if (
      (e.ctrlKey || e.metaKey) &&
      e.key === "c" &&
      focus >= 0 &&
      getSelection()?.isCollapsed !== false
    ) {
      void copy(true);
    } else if ((e.ctrlKey || e.metaKey) && e.key === "a") {
      setAnchor(0);
      setFocus(total - 1);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };

  if (rows.table === null) {
    return rows.error === null ? (
      <Loading />
    ) : (
      <Failed error={rows.error} retry={() => rows.start(query)} />
    );
  }
  const { wrong } = filterOf(query, rows.columns);
  const chosen = focus < 0 ? null : [Math.min(anchor, focus), Math.max(anchor, focus)];
  const height =
    options.maxRows === undefined
      ? undefined
      : headPx +
        (total === 0 ? EMPTY_ROWS : Math.max(2, Math.min(options.maxRows, total))) * ROW_PX +
        2;
  return (
    <section class="table" aria-label={title !== "" ? title : name}>
      <TableBar
        title={title}
        total={total}
        notes={rows.table.notes ?? []}
        isFiltered={Object.values(query.filter).some((f) => f !== "")}
        columns={rows.columns.filter((c) => !isService(c))}
        hidden={hidden}
        setHidden={(next) => remember({ hidden: next })}
        filterShown={filterShown}
        setFilterShown={(on) => {
          setFilterShown(on);
          if (!on) {
            setQuery({ ...query, filter: {} });
          }
        }}
        canReset={!sameQuery(query, { ...initial, filter: {} })}
        reset={() => setQuery({ ...initial, filter: {} })}
        copy={() => void copy(false)}
        save={(kind) =>
          void save(kind).then((text) => saveAs(title !== "" ? title : name, kind, text), fail)
        }
      />
      {rows.error !== null && <Failed error={rows.error} retry={() => rows.start(query)} />}
      <div
        ref={box}
        class={rows.isLoading ? "grid waiting" : "grid"}
        role={order === null ? "grid" : "treegrid"}
        aria-rowcount={total + 1}
        aria-colcount={columns.length}
        aria-busy={rows.isLoading}
        aria-label={title !== "" ? title : name}
        tabIndex={0}
        style={height === undefined ? {} : { height: `${height}px`, flex: "none" }}
        onScroll={(e) => scroller.scrolled(e.currentTarget)}
        onWheel={(e) => scroller.wheel(e, e.currentTarget)}
        onKeyDown={key}
        onFocus={(e) =>
          e.target === e.currentTarget &&
          focus < 0 &&
          total > 0 &&
          e.currentTarget.matches(":focus-visible") &&
          moveTo(first, false)
        }
        onPointerLeave={() => options.onHover?.(null)}
      >
        <div class="grid-inner" style={{ width: `${lead + widths.reduce((a, b) => a + b, 0)}px` }}>
          <TableHead
            columns={columns}
            query={query}
            template={template}
            hasLead={lead > 0}
            filterShown={filterShown}
            wrong={wrong}
            onSort={(column) => setQuery({ ...query, sort: nextSort(query, column) })}
            onFilter={(column, text) =>
              setQuery({ ...query, filter: { ...query.filter, [column.name]: text } })
            }
            widths={widths}
            onWidth={(column, width) =>
              remember({
                widths:
                  width === null
                    ? without(own.widths, column.name)
                    : { ...own.widths, [column.name]: width },
              })
            }
          />
          <div class="grid-space" style={{ height: `${scroller.spacePx}px` }}>
            {range(first, end - 1).map((i) => (
              <GridRow
                key={i}
                row={rowAt(i)}
                index={i}
                top={scroller.topOf(i * ROW_PX)}
                columns={columns}
                template={template}
                hasLead={lead > 0}
                isChosen={chosen !== null && i >= chosen[0] && i <= chosen[1]}
                isFocus={i === focus}
                branch={
                  order === null ? null : { row: tree![order[i]], isOpen: !closed.has(order[i]) }
                }
                options={options}
                most={mostOf(rows, columns, options.bars)}
                onClick={(extend) => {
                  moveTo(i, extend);
                  if (!extend) {
                    act(i, "click");
                  }
                }}
                onOpen={() => act(i, "open")}
                onToggle={(open) => toggle(i, open)}
              />
            ))}
          </div>
        </div>
        {total === 0 && !rows.isLoading && (
          <div class="grid-none">
            {Object.values(query.filter).some((f) => f !== "") ? (
              <Empty title={t("table.none-left")} />
            ) : (
              (options.empty ?? <Empty title={t("table.none")} />)
            )}
          </div>
        )}
      </div>
    </section>
  );
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const without = (from: Record<string, number>, name: string): Record<string, number> =>
  Object.fromEntries(Object.entries(from).filter(([k]) => k !== name));

function range(a: number, b: number): number[] {
  const from = Math.min(a, b);
  return b < a && a - b === 1
    ? []
    : Array.from({ length: Math.abs(b - a) + 1 }, (_, i) => from + i);
}

const cellText = (cell: Cell, column: Column): string =>
  column.name.toLowerCase() === "rank" && typeof cell === "string"
    ? (rankOf(cell)?.label ?? cell)
    : valueText(cell, column.shown);

function mostOf(
  rows: Rows,
  columns: Column[],
  bars: Record<string, string> | undefined,
): Map<number, number> {
  const out = new Map<number, number>();
  for (const column of bars === undefined
    ? []
    : columns.filter((c) => bars[c.name] !== undefined)) {
    out.set(
      column.index,
      column.shown.kind === "percent"
        ? 100
        : Math.max(...rows.loaded().map((r) => Number(r[column.index] ?? 0)), 0),
    );
  }
  return out;
}

/** All rows of a tree, once the first page shows that it is one; where that page is all of it, nothing more is asked for. */
function useTree(source: TableSource, rows: Rows): TreeRow[] | null {
  const [tree, setTree] = useState<{ of: TableSource; rows: TreeRow[] } | null>(null);
  const table = rows.table;
  const level = table === null ? -1 : levelColumn(table);
  const isWhole = level >= 0 && rows.isWhole;
  const whole = useMemo(
    () => (isWhole ? treeOf(table!.rows, level) : null),
    [isWhole ? table : null],
  );
  useEffect(() => {
    if (level < 0 || isWhole) {
      return undefined;
    }
    const stop = new AbortController();
    everyRow(source, { sort: null, filter: {} }, [], MAX_TREE, stop.signal).then(
      (all) => setTree({ of: source, rows: treeOf(all, level) }),
      fail,
    );
    return () => stop.abort();
  }, [source, level >= 0, isWhole]);
  return whole ?? (tree !== null && tree.of === source ? tree.rows : null);
}

interface GridRowProps {
  row: TableRow | null;
  index: number;
  top: number;
  columns: Column[];
  template: string;
  hasLead: boolean;
  isChosen: boolean;
  isFocus: boolean;
  branch: { row: TreeRow; isOpen: boolean } | null;
  options: TableOptions;
  most: Map<number, number>;
  onClick: (extend: boolean) => void;
  onOpen: () => void;
  onToggle: (open: boolean) => void;
}

function GridRow({
  row,
  index,
  top,
  columns,
  template,
  hasLead,
  isChosen,
  isFocus,
  branch,
  options,
  most,
  onClick,
  onOpen,
  onToggle,
}: GridRowProps) {
  const marked = row !== null && (options.isMarked?.(row) ?? false);
  const labelAt = branch === null ? -1 : columns.findIndex((c) => !c.isNumber);
  return (
    <div
      class={`grid-row${isChosen ? " chosen" : ""}${isFocus ? " focus" : ""}${marked ? " marked" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      aria-level={branch === null ? undefined : branch.row.depth + 1}
      aria-expanded={branch?.row.hasChildren === true ? branch.isOpen : undefined}
      style={{ gridTemplateColumns: template, transform: `translateY(${top}px)` }}
      onClick={(e) => getSelection()?.isCollapsed !== false && onClick(e.shiftKey)}
      onDblClick={onOpen}
      onPointerEnter={() => row !== null && options.onHover?.(row)}
    >
      {hasLead && (
        <span class="grid-lead">
          {(row?.get("slice") ?? null) !== null && (
            <button
              type="button"
              class="flat tiny"
              tabIndex={-1}
              aria-label={t("table.jump")}
              title={t("table.jump")}
              onClick={(e) => (e.stopPropagation(), onOpen())}
            >
              <Icon name="jump" />
            </button>
          )}
        </span>
      )}
      {columns.map((column, i) => {
        const cell = row?.cells[column.index] ?? null;
        const text = row === null ? "…" : cellText(cell, column);
        const exact = row === null ? "" : exactText(cell, column.shown, column.unit);
        const bar = options.bars?.[column.name];
        const share =
          bar === undefined || typeof cell !== "number"
            ? 0
            : Math.max(0, Math.min(1, cell / (most.get(column.index) ?? 1)));
        return (
          <span
            role="gridcell"
            class={column.isNumber ? "num" : "text"}
            title={exact !== "" ? exact : text.length > 12 ? text : undefined}
          >
            {share > 0 && (
              <i
                class="cell-bar"
                style={{ width: `${share * 100}%`, background: `var(${bar!})` }}
              />
            )}
            {i === labelAt && branch !== null && (
              <>
                <i class="indent" style={{ width: `${branch.row.depth * 16}px` }} />
                {branch.row.hasChildren ? (
                  <button
                    type="button"
                    class="flat tiny"
                    tabIndex={-1}
                    aria-label={branch.isOpen ? t("table.close") : t("table.open")}
                    onClick={(e) => (e.stopPropagation(), onToggle(!branch.isOpen))}
                  >
                    <Icon name={branch.isOpen ? "down" : "right"} />
                  </button>
                ) : (
                  <i class="indent" style={{ width: "20px" }} />
                )}
              </>
            )}
            {i === labelAt ? <span class="tree-text">{text}</span> : text}
          </span>
        );
      })}
    </div>
  );
}
