/** Rows as they stand under one another: as the source has them, or as a tree of which branches are closed. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Cell } from "../api/types";
import { fail } from "../model/notices";
import { levelColumn, treeOf, treeOrder, type Query, type Rows, type TreeRow } from "./table_model";
import type { TableRow } from "./table_options";
import { everyRow, type TableSource } from "./table_source";

const MAX_TREE = 200_000;

/** A row of a tree and whether what is below it is seen. */
export interface Branch {
  row: TreeRow;
  isOpen: boolean;
}

export interface ShownRows {
  total: number;
  isTree: boolean;
  cells: (i: number) => Cell[] | undefined;
  row: (i: number) => TableRow | null;
  branch: (i: number) => Branch | null;
  toggle: (i: number, open: boolean) => void;
}

export function useShownRows(tree: TreeRow[] | null, rows: Rows, query: Query): ShownRows {
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const order = useMemo(
    () => (tree === null ? null : treeOrder(tree, rows.columns, query, closed)),
    [tree, rows.columns, query, closed],
  );
  const cells = (i: number): Cell[] | undefined =>
    order === null ? rows.row(i) : tree![order[i] ?? -1]?.cells;
  return {
    total: order?.length ?? rows.total,
    isTree: order !== null,
    cells,
    row: (i) => rowOf(cells(i), rows),
    branch: (i) =>
      order === null ? null : { row: tree![order[i]], isOpen: !closed.has(order[i]) },
    toggle: (i, open) => {
      const at = order?.[i];
      if (at !== undefined && tree![at].hasChildren) {
        setClosed(toggled(closed, at, !open));
      }
    },
  };
}

function rowOf(cells: Cell[] | undefined, rows: Rows): TableRow | null {
  return cells === undefined
    ? null
    : {
        cells,
        get: (column) => cells[rows.columns.find((c) => c.name === column)?.index ?? -1] ?? null,
      };
}

function toggled(closed: ReadonlySet<number>, at: number, close: boolean): ReadonlySet<number> {
  const next = new Set(closed);
  if (close) {
    next.add(at);
  } else {
    next.delete(at);
  }
  return next;
}

/** All rows of a tree, once the first page shows that it is one; where that page is all of it, nothing more is asked for. */
export function useTree(source: TableSource, rows: Rows, isNone: boolean): TreeRow[] | null {
  const [tree, setTree] = useState<{ of: TableSource; rows: TreeRow[] } | null>(null);
  const table = rows.table;
  const level = table === null || isNone ? -1 : levelColumn(table);
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
