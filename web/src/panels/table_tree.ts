/** Rows as they stand under one another: as the source has them, or as a tree of which branches are closed. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Cell } from "../api/types";
import { fail } from "../model/notices";
import {
  closedAtFirst,
  filterOf,
  levelColumn,
  passingIn,
  rowOf,
  rowsAbove,
  treeOf,
  treeOrder,
  type Query,
  type Rows,
  type TreeRow,
} from "./table_model";
import type { TableOptions, TableRow } from "./table_options";
import { everyRow, type TableSource } from "./table_source";

const MAX_TREE = 200_000;

/** A row of a tree and whether what is below it is seen. */
export interface Branch {
  row: TreeRow;
  isOpen: boolean;
}

export interface ShownRows {
  total: number;
  /** How many the filter keeps for what they say themselves: not those of a tree that only have such below them. */
  passing: number;
  isTree: boolean;
  cells: (i: number) => Cell[] | undefined;
  row: (i: number) => TableRow | null;
  branch: (i: number) => Branch | null;
  /** `isDeep`: and everything below it. */
  toggle: (i: number, open: boolean, isDeep?: boolean) => void;
  /** Where the chosen row of a tree is; -1: there is none. */
  chosen: number;
}

/** What the user opened or closed of a tree; the rest is as it was at first. */
interface Touched {
  of: TreeRow[] | null;
  open: ReadonlyMap<number, boolean>;
}

export function useShownRows(
  tree: TreeRow[] | null,
  rows: Rows,
  query: Query,
  options: Pick<TableOptions, "tree">,
): ShownRows {
  const [touched, setTouched] = useState<Touched>({ of: null, open: new Map() });
  const first = useMemo(() => firstOf(tree, rows, options.tree), [tree, rows.columns]);
  const chosen = useMemo(
    () => chosenIn(tree, rows, options.tree),
    [tree, rows.columns, options.tree?.chosen],
  );
  const touch = (now: ReadonlyMap<number, boolean>): void =>
    setTouched((before) => ({
      of: tree,
      open: new Map(before.of === tree ? [...before.open, ...now] : now),
    }));
  useEffect(() => {
    if (tree !== null && chosen >= 0) {
      touch(new Map(rowsAbove(tree, chosen).map((at) => [at, true])));
    }
  }, [tree, chosen]);
  // What a filter looks for lies anywhere.
  const isSought = Object.keys(filterOf(query, rows.columns).values).length > 0;
  const closed = useMemo(() => {
    const own = touched.of === tree ? [...touched.open] : [];
    const out = new Set(isSought ? [] : first);
    own.forEach(([at, isOpen]) => (isOpen ? out.delete(at) : out.add(at)));
    return out;
  }, [first, touched, tree, isSought]);
  const order = useMemo(
    () => (tree === null ? null : treeOrder(tree, rows.columns, query, closed)),
    [tree, rows.columns, query, closed],
  );
  const passing = useMemo(
    () => (tree === null ? null : passingIn(tree, rows.columns, query)),
    [tree, rows.columns, query],
  );
  const cells = (i: number): Cell[] | undefined =>
    order === null ? rows.row(i) : tree![order[i] ?? -1]?.cells;
  return {
    total: order?.length ?? rows.total,
    passing: passing ?? rows.total,
    isTree: order !== null,
    cells,
    row: (i) => {
      const own = cells(i);
      return own === undefined ? null : rowOf(own, rows.columns);
    },
    branch: (i) =>
      order === null ? null : { row: tree![order[i]], isOpen: !closed.has(order[i]) },
    toggle: (i, open, isDeep = false) => {
      const at = order?.[i];
      if (at !== undefined && tree![at].hasChildren) {
        touch(new Map((isDeep ? branchOf(tree!, at) : [at]).map((row) => [row, open])));
      }
    },
    chosen: chosen < 0 || order === null ? -1 : order.indexOf(chosen),
  };
}

const indexOf = (rows: Rows, name: string): number =>
  rows.columns.find((c) => c.name === name)?.index ?? -1;

function firstOf(
  tree: TreeRow[] | null,
  rows: Rows,
  of: TableOptions["tree"],
): ReadonlySet<number> {
  const by = (of?.heaviest ?? []).map((name) => indexOf(rows, name)).find((at) => at >= 0);
  return tree === null ? new Set() : closedAtFirst(tree, by ?? -1);
}

function chosenIn(tree: TreeRow[] | null, rows: Rows, of: TableOptions["tree"]): number {
  const key = of === undefined ? -1 : indexOf(rows, of.key);
  return tree === null || key < 0 ? -1 : tree.findIndex((row) => row.cells[key] === of!.chosen);
}

/** A row and all below it: they follow it. */
function branchOf(tree: TreeRow[], at: number): number[] {
  const out = [at];
  for (let i = at + 1; i < tree.length && tree[i].depth > tree[at].depth; i++) {
    out.push(i);
  }
  return out;
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
